"""From columns of bytes to a ``Batch``, with the check for UTF-8: what every reader does last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import flags
from neardup.cutting import starts_of
from neardup.inputs.items import split_documents
from neardup.inputs.source import Faults
from neardup.kernels.delimited import copy_fields
from neardup.types import I64, SLACK, U8, Batch, Documents, Mask, Origin, Places, frozen


@dataclass(slots=True)
class Columns:
    """The rows of one task on their way to a batch; all of one length."""

    texts: Any
    """Arrow large_string or large_binary without nulls."""
    rows: I64
    """1-based line or row in the source."""
    ids: Any = None
    """Arrow int64, large_string or large_binary without nulls, or None."""
    spans: I64 | None = None
    """int64[n, 2]: where each record begins and ends in the file, where it can be read again."""
    more: list[str | None] | None = None
    """Further columns of each row as JSON, or None."""

    def keep(self, mask: Mask) -> None:
        """Leave out the rows where ``mask`` is False."""
        if mask.all():
            return
        chosen = flags(mask)
        self.texts = self.texts.filter(chosen)
        self.rows = self.rows[mask]
        if self.ids is not None:
            self.ids = self.ids.filter(chosen)
        if self.spans is not None:
            self.spans = self.spans[mask]
        if self.more is not None:
            self.more = list(compress(self.more, mask))


def make_batch(
    columns: Columns,
    faults: Faults,
    *,
    encoding: str = "utf-8",
    split: bool = False,
    check_texts: bool = True,
    blank: int = 0,
    consumed: int = 0,
    origin: Origin | None = None,
) -> Batch:
    """Check the texts (with ``check_texts``) and ids for UTF-8, leave out the bad ones, and wrap the rest.

    ``encoding`` is what the input was transcoded from, for the message; ``split`` turns each text into the set of its
    words; ``blank`` lines were passed over, and ``consumed`` bytes of input are what the batch stands for. ``origin``
    reads the records again by their ``spans``.
    """
    mask = np.ones(len(columns.rows), dtype=np.bool_)
    if check_texts:
        mask &= _valid(columns.texts, columns.rows, faults, "text", encoding)
    if columns.ids is not None and not pa.types.is_integer(columns.ids.type):
        mask &= _valid(columns.ids, columns.rows, faults, "id", encoding)
    columns.keep(mask)
    ids = columns.ids
    if ids is not None and pa.types.is_large_binary(ids.type):
        ids = ids.cast(pa.large_string())
    documents = documents_from(columns.texts)
    if split:
        documents = split_documents(documents)
    faults.first.sort(key=lambda fault: fault.row)
    places = places_in(origin, columns.spans)
    facts = {"columns": columns.more, "places": places}
    return faults.batch(documents, columns.rows, ids, blank=blank, consumed=consumed, **facts)


def places_in(origin: Origin | None, spans: I64 | None) -> Places | None:
    """Where records lie, by int64[n, 2]: the begin and the end of each; None where none can be read again."""
    return None if origin is None or spans is None else Places(origin, spans[:, 0].copy(), spans[:, 1].copy())


def _valid(texts: Any, rows: I64, faults: Faults, what: str, encoding: str) -> Mask:
    """Which texts are UTF-8; the others become faults."""
    mask = np.ones(len(texts), dtype=np.bool_)
    strings = pa.Array.from_buffers(pa.large_string(), len(texts), texts.buffers(), offset=texts.offset)
    try:
        strings.validate(full=True)  # 3-25 GB/s, and each text by itself
    except pa.ArrowInvalid:
        for i, text in enumerate(texts.cast(pa.large_binary())):
            try:
                text.as_py().decode("utf-8")
            except UnicodeDecodeError as exc:
                mask[i] = False
                faults.add(int(rows[i]), *undecodable(exc, what, encoding))
    return mask


def undecodable(error: UnicodeDecodeError, what: str, encoding: str) -> tuple[str, str]:
    """The reason and the cure for bytes that the encoding does not have."""
    if encoding == "utf-8":
        byte = error.object[error.start]
        reason = f"byte 0x{byte:02x} at byte {error.start + 1} of the {what} is no valid UTF-8"
    else:
        reason = f"the {what} has bytes that are no valid {encoding}"
    return reason, "Name the encoding of the file with --encoding (encoding=)."


def joined_texts(columns: Sequence[Any]) -> Any:
    """Several columns of texts as one: a newline between two that are not empty, null where all are null.

    Arrow large_binary arrays. A file of CSV cannot tell an empty field from none, so
    both add nothing, and the same records give the same texts in every format.
    """
    large = columns[0].type
    empty, newline, none = (pa.scalar(text, large) for text in (b"", b"\n", None))
    joined = pc.fill_null(columns[0], empty)
    for column in columns[1:]:
        more = pc.fill_null(column, empty)
        both = pc.and_(pc.not_equal(joined, empty), pc.not_equal(more, empty))
        # not all at once with null_handling="skip": pyarrow 26 then drops the rows where all are null
        joined = pc.binary_join_element_wise(joined, pc.if_else(both, newline, empty), more, empty)
    if all(column.null_count for column in columns):
        some = reduce(pc.or_, (column.is_valid() for column in columns))
        joined = pc.if_else(some, joined, none)
    return joined


def gather(data: U8, spans: I64) -> Any:
    """Copy pieces of a buffer, with SLACK bytes behind the last piece, end to end, as Arrow large_binary[n].

    ``spans``: int64[n, 3]: begin, end, and how many doubled quotes of each piece become one.
    """
    spans = np.ascontiguousarray(spans)
    offsets = starts_of(spans[:, 1] - spans[:, 0] - spans[:, 2])
    out = np.empty(int(offsets[-1]) + SLACK, dtype=np.uint8)
    copy_fields(frozen(data), spans, out, offsets)
    return pa.Array.from_buffers(pa.large_binary(), offsets.size - 1, [None, pa.py_buffer(offsets), pa.py_buffer(out)])


def documents_from(texts: Any) -> Documents:
    """Wrap an Arrow string or binary array, large or not; copied only when the bytes lack the slack."""
    _, offset_buffer, data_buffer = texts.buffers()
    if len(texts) == 0 or offset_buffer is None or data_buffer is None:
        return Documents.from_bytes([b""] * len(texts))
    is_large = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
    # a slice keeps the whole buffers: its own offset must be applied
    stored: NDArray[Any] = np.frombuffer(offset_buffer, dtype=np.int64 if is_large else np.int32)
    offsets: I64 = stored[texts.offset : texts.offset + len(texts) + 1].astype(np.int64, copy=False)
    return Documents.with_slack(np.frombuffer(data_buffer, dtype=np.uint8), offsets)
