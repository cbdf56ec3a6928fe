"""A single text that is asked about: its candidates, and how similar a few stored documents are to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neardup.kernels import asking as kernels
from neardup.params import Spec
from neardup.stages.characters import table_of
from neardup.stages.shingle import Hasher
from neardup.stages.sketch import rounds_of
from neardup.stages.text import normalize_documents
from neardup.types import I64, SLACK, Documents

FEW = kernels.FEW
_SLACK = bytes(SLACK)


class Asking:
    """What the kernels for a single text take of a spec; may be used in many threads at once."""

    def __init__(self, spec: Spec, stored: Hasher, private: Hasher) -> None:
        self._stored, self._private = tuple(stored.params), tuple(private.params)
        self._normalize, self._is_item = spec.normalize, spec.shingle.kind == "item"
        self._table = table_of(spec.normalize)
        self._shape = (spec.slots, rounds_of(spec.slots), spec.bands.bands, spec.bands.rows)

    def candidates(self, blob: bytes, table: I64) -> tuple[bytes, list[list[int]] | None]:
        """Return a text normalised, and number and bands of its candidates.

        None if there are more than FEW, or a run is damaged: then the way for many texts tells. ``table`` has the
        fields of the runs, as for ``stages.postings.lookup``.
        """
        is_normal = not self._normalize.is_form_only
        if is_normal:
            blob = self._normalized(blob)
        out = np.empty((FEW, 2), dtype=np.int64)
        while True:
            data = np.frombuffer(blob + _SLACK, dtype=np.uint8)
            count = kernels.candidates(self._stored, *self._how(is_normal), data, len(blob), self._shape, table, out)
            if count != kernels.NOT_NORMAL:
                return blob, out[:count].tolist() if count >= 0 else None
            blob, is_normal = self._normalized(blob), True

    def similarities(self, normal: bytes, rows: Sequence[tuple[Any, ...]], threshold: float) -> list[float] | None:
        """Return the exact similarity of a normalised text to each stored document, -1 below the threshold.

        The documents are rows of number, id, kind, checksum and text. None if one must be normalised first, or is not
        what was stored: then the way for many texts tells.
        """
        if not self._normalize.is_form_only:
            return None
        numbers, ids, kinds, sums, texts = zip(*rows, strict=True)
        out = np.empty(len(rows), dtype=np.float64)
        try:
            blobs = [normal, *texts, *(id.encode() for id in ids)]
            data = np.frombuffer(b"".join([*blobs, _SLACK]), dtype=np.uint8)
            facts = np.array([*map(len, blobs), *numbers, *kinds, *sums], dtype=np.int64)
        except (AttributeError, TypeError, ValueError, OverflowError):  # not even of the type that was stored
            return None
        count = kernels.similarities(self._private, *self._how(False), data, facts, threshold, out)
        return out.tolist() if count >= 0 else None

    def _how(self, is_normal: bool) -> tuple[Any, ...]:
        return tuple(self._table.now), is_normal or self._normalize.form == "none", self._is_item

    def _normalized(self, blob: bytes) -> bytes:
        return normalize_documents(Documents.from_bytes([blob]), self._normalize, items=self._is_item).blob(0)
