"""Two documents held against each other: texts or sets to a Comparison."""

from __future__ import annotations

from collections.abc import Iterable

from neardup import params, tuning
from neardup.errors import InputError
from neardup.params import Bands, Normalize, SearchOptions, Shingle
from neardup.tasks.compare.build import compare_sets, compare_texts
from neardup.tasks.compare.comparison import Comparison

__all__ = ["compare"]


def compare(
    a: str | Iterable[str | int],
    b: str | Iterable[str | int],
    *,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = params.DEFAULT_SEED,
) -> Comparison:
    """Hold two texts, or two sets, against each other.

    Similarity and containment are exact. The shared passages are spans of the texts as they were given, and cover
    exactly those characters that a shingle of both texts covers: what is marked is what was counted. The estimate and
    the bands are those of a search with the same settings, so that you can see why it found a pair or did not.
    Linear in the lengths of the texts.

    Args:
        a, b: two texts; or with ``shingle="item"`` two sets, as iterables of strings and whole numbers. With ``item``
            a text is the set of its words.
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
