"""Two texts, or two sets, under a spec: the exact measures, the passages, and the signatures of a search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from neardup.engine.observe import Silent
from neardup.engine.reading.collection import collect
from neardup.engine.results.passages import Marker, Occurrences, Passages
from neardup.engine.space import Budget, Space
from neardup.errors import InputError
from neardup.inputs.items import ITEM_SEPARATOR, ItemError, join_items
from neardup.inputs.names import Provenance
from neardup.params import Normalize, Spec
from neardup.stages import bands as band_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages.passages import find_passages
from neardup.stages.text import normalize_text
from neardup.tasks.compare.comparison import Comparison
from neardup.tuning import s_curve
from neardup.types import Batch, Documents

__all__ = ["compare_sets", "compare_texts"]

_ROOM = 1 << 62
_ODD = 0x9E3779B97F4A7C15
"""Times an odd number, different numbers stay different and their leading bits are spread (Fibonacci hashing)."""


def compare_texts(a: str, b: str, spec: Spec) -> Comparison:
    """Hold two texts against each other. Linear in their lengths.

    With ``item`` shingles a text is the set of its words between white space.

    Raises:
        InputError: a text has a lone surrogate, which no UTF-8 has.
    """
    for name, text in (("a", a), ("b", b)):
        _check_unicode(name, text)
    marker = Marker(shingle=spec.shingle, normalize=spec.normalize)
    passages = marker.shared(marker.occurrences(a), marker.occurrences(b))
    if spec.shingle.kind == "item":
        sets = [normalize_text(text, spec.normalize).split() for text in (a, b)]
        blobs = [join_items(items) for items in sets]
    else:
        blobs = [normalize_text(text, spec.normalize).encode() for text in (a, b)]
    return _compared((a, b), passages, blobs, spec)


def compare_sets(a: Iterable[str | int], b: Iterable[str | int], spec: Spec) -> Comparison:
    """Hold two sets of items against each other; the number 7 and the string "7" are one item.

    Items are normalised one by one, as a search does it. The texts of the outcome are the items with a space between,
    in the order given, or of sets, which have none, sorted.

    Raises:
        InputError: a member is neither a string nor a whole number.
    """
    first, second = (_items(name, values, spec.normalize) for name, values in (("a", a), ("b", b)))
    numbers: dict[str, int] = {}
    occurrences = [_placed(items, numbers) for items in (first, second)]
    blobs = [join_items(items) for items in (first, second)]
    return _compared((" ".join(first), " ".join(second)), find_passages(*occurrences), blobs, spec)


def _check_unicode(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise InputError(
            f"text {name} has the lone surrogate U+{ord(text[exc.start]):04X} at character {exc.start + 1}. "
            "Decode the text with errors='replace' where it is read."
        ) from exc


def _items(name: str, values: Iterable[str | int], normalize: Normalize) -> list[str]:
    listed = sorted(values, key=str) if isinstance(values, (set, frozenset)) else list(values)
    try:
        blob = join_items(listed)
    except ItemError as exc:
        raise InputError(f"set {name}: {exc}.") from exc
    items = (normalize_text(part.decode(), normalize) for part in blob.split(ITEM_SEPARATOR))
    return [item for item in items if item]


def _placed(items: Sequence[str], numbers: dict[str, int]) -> Occurrences:
    """Where each item lies among the items with a space between. Equal items have one hash, others another."""
    hashes = np.array([numbers.setdefault(item, len(numbers) + 1) for item in items], dtype=np.uint64)
    ends = np.cumsum(np.array([len(item) + 1 for item in items], dtype=np.int64)) - 1
    starts = ends - np.array([len(item) for item in items], dtype=np.int64)
    return Occurrences(hashes * np.uint64(_ODD), starts, ends)


@dataclass(frozen=True, slots=True)
class _Signed:
    estimate: float
    agreeing_bands: int
    found: bool


def _signed(blobs: Sequence[bytes], spec: Spec) -> _Signed:
    """What the signatures of two normalised documents say: those that a search would make."""
    batch = Batch(Documents.from_bytes(blobs), "pair", np.array([1, 2]))
    collection = collect(
        iter([lambda: batch]),
        _as_normalised(spec),
        total_bytes=None,
        threads=1,
        names=Provenance(),
        observer=Silent(),
        space=Space(Budget(_ROOM, _ROOM), None, {}),
    )
    values = collection.resident
    assert values is not None
    keys = band_stage.keys_of(values, spec.bands)
    agreeing = int(np.count_nonzero(keys[:, 0] == keys[:, 1]))
    slots = int(np.count_nonzero(values[0] == values[1]))
    return _Signed(sketch_stage.estimate(values[0], values[1]), agreeing, agreeing > 0 and slots >= spec.min_matches)


def _as_normalised(spec: Spec) -> Spec:
    """The same for texts that are normalised already: some normalisations change a text again when repeated."""
    return replace(spec, normalize=Normalize("none"))


def _compared(texts: tuple[str, str], passages: Passages, blobs: Sequence[bytes], spec: Spec) -> Comparison:
    jaccard = passages.jaccard
    a_in_b, b_in_a = passages.containments
    covered_a, covered_b = passages.covered((len(texts[0]), len(texts[1])))
    signed = _signed(blobs, spec)
    if passages.size_a == passages.size_b == 0:
        signed = _Signed(1.0, 0, False)  # of what is empty there is nothing to sketch
    elif passages.size_a == 0 or passages.size_b == 0:
        signed = _Signed(0.0, 0, False)
    return Comparison(
        texts=texts,
        sizes=(passages.size_a, passages.size_b, passages.common),
        jaccard=jaccard,
        containment_a_in_b=a_in_b,
        containment_b_in_a=b_in_a,
        estimate=signed.estimate,
        estimate_error=math.sqrt(jaccard * (1.0 - jaccard) / spec.slots),
        probability=s_curve(jaccard, spec.bands.bands, spec.bands.rows),
        found=signed.found,
        agreeing_bands=signed.agreeing_bands,
        bands=spec.bands,
        passages=passages,
        longest=passages.longest,
        covered_a=covered_a,
        covered_b=covered_b,
        spec=spec,
    )
