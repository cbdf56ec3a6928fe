"""The passages that two texts share, as spans of the texts as they were written: what is marked is what is counted."""

from __future__ import annotations

from neardup.params import Normalize, Shingle
from neardup.stages import offsets, passages
from neardup.stages import text as text_stage
from neardup.stages.passages import Occurrences, Passages
from neardup.stages.shingle import Hasher


class Marker:
    """Finds shared passages under one spec. A text that is held against many is looked through once."""

    def __init__(self, *, shingle: Shingle, normalize: Normalize) -> None:
        self._normalize = normalize
        self._hasher = Hasher.private(shingle)

    def occurrences(self, text: str) -> Occurrences:
        """Every shingle of a text as it was written, in order. Linear."""
        traced = offsets.trace(text, self._normalize)
        assert traced.text == text_stage.normalize_text(text, self._normalize), "offsets follow another normalisation"
        return passages.find_occurrences(traced.text, traced.starts, traced.ends, self._hasher)

    def shared(self, a: Occurrences, b: Occurrences) -> Passages:
        """What two texts share: marked are the characters that a shingle of both sets covers, and no others. Linear."""
        return passages.find_passages(a, b)


def shared_passages(a: str, b: str, *, shingle: Shingle, normalize: Normalize) -> Passages:
    """The passages that two texts share: marked are the characters that a shingle of both sets covers, and no others.

    Linear but for one sort; two texts of a megabyte take about half a second. ``.jaccard`` of the answer is
    ``neardup.jaccard`` of the texts. These are as they were written; a set is its items with white space between.

    >>> found = shared_passages(
    ...     "I love chocolate.", "You love chocolate!", shingle=Shingle("char", 9), normalize=Normalize("nfc")
    ... )
    >>> found.a, found.b, found.links
    ([(1, 16)], [(3, 18)], [0])
    """
    marker = Marker(shingle=shingle, normalize=normalize)
    return marker.shared(marker.occurrences(a), marker.occurrences(b))
