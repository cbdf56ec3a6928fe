"""Two documents held against each other: texts or sets to a Comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from neardup import params, tuning
from neardup.calls import hinted
from neardup.engine.results.passages import Marker
from neardup.errors import InputError
from neardup.inputs.items import ITEM_SEPARATOR, ItemError, join_items
from neardup.params import Bands, Normalize, Preset, SearchOptions, Shingle, Spec, with_preset
from neardup.stages import bands as band_stage
from neardup.stages import screen as screen_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages.passages import Occurrences, Passages, find_passages
from neardup.stages.text import normalize_text
from neardup.tasks.compare.comparison import Comparison
from neardup.tasks.measures import sketch_all
from neardup.types import Batch, Documents

_ODD = 0x9E3779B97F4A7C15
"""Times an odd number, different numbers stay different and their leading bits are spread (Fibonacci hashing)."""


@hinted
@with_preset
def compare(
    a: str | Iterable[str | int],
    b: str | Iterable[str | int],
    *,
    preset: str | Preset | None = None,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = params.DEFAULT_SEED,
) -> Comparison:
    """Compare two texts, or two sets.

    Similarity and containment are exact. The shared passages are spans of the texts as they were given, and cover
    exactly those characters that a shingle of both texts covers: what is marked is what was counted. The estimate and
    the bands are those of a search with the same settings, so that you can see why it found a pair or did not.
    Linear in the lengths of the texts.

    Args:
        a, b: two texts; or with ``shingle="item"`` two sets, as iterables of strings and whole numbers. With ``item``
            a text is the set of its words.
        preset: settings for a kind of text, as of ``find``.
        shingle, normalize: what documents are compared by, as of ``find``.
        threshold, recall: for which slots and bands are chosen, as of ``find``.
        sketch, slots, bands, seed: of the signatures, as of ``find``.

    Returns:
        Comparison with the measures, the estimate and its standard error, the probability that the bands find a pair
        of this similarity and whether they find this one, the passages, the longest of them, and the share of each
        text that they cover; ``as_dict()`` has all but the texts as JSON values.

    Raises:
        InputError: an option is out of range, one is a text and the other is not, or a text or an item cannot be used.

    >>> import neardup
    >>> first, second = "A rose is a rose is a rose.", "Indeed, a rose is a rose!"
    >>> found = neardup.compare(first, second, shingle="word:3", normalize="nfc,casefold")
    >>> found.jaccard == neardup.jaccard(first, second, "word:3", normalize="nfc,casefold")
    True
    >>> found.sizes, found.containment_a_in_b, found.containment_b_in_a
    ((3, 4, 3), 1.0, 0.75)
    >>> [second[start:end] for start, end in found.passages.b]
    ['a rose is a rose']
    """
    spec = tuning.make_spec(SearchOptions.of(locals()))
    if isinstance(a, str) and isinstance(b, str):
        return compare_texts(a, b, spec)
    for name, value in (("a", a), ("b", b)):
        if isinstance(value, (bytes, bytearray)) or not isinstance(value, Iterable):
            raise InputError(f"{name} is of type {type(value).__name__}, neither a text nor a set. Give two of one.")
    if isinstance(a, str) or isinstance(b, str):
        raise InputError(f"a is of type {type(a).__name__} and b of {type(b).__name__}. Give two texts or two sets.")
    if spec.shingle.kind != "item":
        raise InputError(f"a and b are sets, and shingle is {spec.shingle}. Compare sets with shingle='item'.")
    return compare_sets(a, b, spec)


def compare_texts(a: str, b: str, spec: Spec) -> Comparison:
    """Compare two texts. Linear in their lengths.

    With ``item`` shingles a text is the set of its words between white space.
    """
    for name, text in (("a", a), ("b", b)):
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise InputError(
                f"text {name} has the lone surrogate U+{ord(text[exc.start]):04X} at character {exc.start + 1}. "
                "Decode the text with errors='replace' where it is read."
            ) from exc
    marker = Marker(shingle=spec.shingle, normalize=spec.normalize)
    passages = marker.shared(marker.occurrences(a), marker.occurrences(b))
    normal = [normalize_text(text, spec.normalize) for text in (a, b)]
    blobs = [join_items(text.split()) if spec.shingle.kind == "item" else text.encode() for text in normal]
    return _compared((a, b), passages, blobs, spec)


def compare_sets(a: Iterable[str | int], b: Iterable[str | int], spec: Spec) -> Comparison:
    """Hold two sets of items against each other; the number 7 and the string "7" are one item.

    Items are normalised one by one, as a search does it. The texts of the outcome are the items with a space between,
    in the order given, or of sets, which have none, sorted.
    """
    first, second = sets = [_items(name, values, spec.normalize) for name, values in (("a", a), ("b", b))]
    numbers: dict[str, int] = {}
    passages = find_passages(*(_placed(items, numbers) for items in sets))
    return _compared((" ".join(first), " ".join(second)), passages, list(map(join_items, sets)), spec)


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
    lengths = np.array([len(item) for item in items], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1
    return Occurrences(hashes * np.uint64(_ODD), ends - lengths, ends)


def _signed(blobs: Sequence[bytes], spec: Spec) -> tuple[float, int, bool]:
    """Return the estimate of two normalised documents, the number of agreeing bands, and whether a search finds them.

    Their signatures are those that a search would make.
    """
    batch = Batch(Documents.from_bytes(blobs), "pair", np.array([1, 2]))
    # some normalisations change a text again when they are repeated
    values, _ = sketch_all(iter([lambda: batch]), replace(spec, normalize=Normalize("none")))
    keys = band_stage.keys_of(values, spec.bands)
    agreeing = int(np.count_nonzero(keys[:, 0] == keys[:, 1]))
    bits, row = screen_stage.bits_of(values, spec.screening), np.arange(2)
    passed = screen_stage.passes(bits, row[:1], bits, row[1:], spec.screening, np.array([agreeing == 1]))
    return sketch_stage.estimate(values[0], values[1]), agreeing, agreeing > 0 and bool(passed[0])


def _compared(texts: tuple[str, str], passages: Passages, blobs: Sequence[bytes], spec: Spec) -> Comparison:
    a_in_b, b_in_a = passages.containments
    covered_a, covered_b = passages.covered((len(texts[0]), len(texts[1])))
    if passages.size_a and passages.size_b:
        estimate, agreeing, found = _signed(blobs, spec)
    else:  # of what is empty there is nothing to sketch
        estimate, agreeing, found = float(passages.size_a == passages.size_b), 0, False
    jaccard = passages.jaccard
    return Comparison(
        texts=texts,
        sizes=(passages.size_a, passages.size_b, passages.common),
        jaccard=jaccard,
        containment_a_in_b=a_in_b,
        containment_b_in_a=b_in_a,
        estimate=estimate,
        estimate_error=math.sqrt(jaccard * (1.0 - jaccard) / spec.slots),
        probability=tuning.s_curve(jaccard, spec.bands.bands, spec.bands.rows),
        found=found,
        agreeing_bands=agreeing,
        bands=spec.bands,
        passages=passages,
        longest=passages.longest,
        covered_a=covered_a,
        covered_b=covered_b,
        spec=spec,
    )
