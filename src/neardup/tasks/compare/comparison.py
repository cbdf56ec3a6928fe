"""``Comparison``, the outcome of holding two documents against each other, and the values that its page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neardup._version import __version__
from neardup.pages.pairs import LISTED, pair_data, text_data
from neardup.params import Bands, Spec
from neardup.shown import counted, similarity_text
from neardup.stages.passages import Passages

PAGE_CHARACTERS = 400_000
"""Characters of each text on a page, at most; of a longer one its windows."""
SHOWN_CHARACTERS = 4000
"""The same in a notebook, which is saved with all that it shows."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two documents share, exactly, and what signatures and bands make of them."""

    texts: tuple[str, str] = field(repr=False)
    """The two texts as they were given; of sets, the items as they are compared with a space between."""
    sizes: tuple[int, int, int]
    """Distinct shingles of the first, of the second, and of both."""
    jaccard: float
    """Exact Jaccard similarity, shared shingles over all; two empty documents are alike (1.0)."""
    containment_a_in_b: float
    """Share of the first one's shingles that the second has; 1.0 of an empty first."""
    containment_b_in_a: float
    """Share of the second one's shingles that the first has; 1.0 of an empty second."""
    estimate: float
    """The share of slots in which the signatures agree; 1.0 of two empty documents, which have none."""
    estimate_error: float
    """Standard error of an estimate of this similarity from so many slots: sqrt(J (1 - J) / slots)."""
    probability: float
    """Probability that some band agrees for a pair of this similarity: the S-curve of the bands."""
    found: bool
    """Whether these very signatures agree in a band, and in enough bits to pass the screen. Then a search checks this
    pair, and lists it if ``jaccard`` is no less than the threshold. Never for an empty document."""
    agreeing_bands: int
    """Bands in which the signatures agree."""
    bands: Bands
    """Bands and rows of the search."""
    passages: Passages = field(repr=False)
    """The shared passages: runs of the characters that a shingle of both covers, as spans of ``texts``."""
    longest: tuple[int, int, int]
    """Characters of the longest shared passage, and where it begins in each text; (0, 0, 0) without one. A passage is
    a run in one text and the run of the other that it is linked to, and counts as the shorter of them."""
    covered_a: float
    """Share of the first text's characters that the passages cover."""
    covered_b: float
    """The same of the second text."""
    spec: Spec
    """All settings."""

    def as_dict(self) -> dict[str, Any]:
        """Everything but the texts, as JSON values."""
        size_a, size_b, common = self.sizes
        length, start_a, start_b = self.longest
        return {
            "jaccard": self.jaccard,
            "containment_a_in_b": self.containment_a_in_b,
            "containment_b_in_a": self.containment_b_in_a,
            "shingles": {"a": size_a, "b": size_b, "common": common},
            "characters": {"a": len(self.texts[0]), "b": len(self.texts[1])},
            "estimate": self.estimate,
            "estimate_error": self.estimate_error,
            "probability": self.probability,
            "found": self.found,
            "agreeing_bands": self.agreeing_bands,
            "bands": str(self.bands),
            "slots": self.spec.slots,
            "threshold": self.spec.threshold,
            "covered_a": self.covered_a,
            "covered_b": self.covered_b,
            "longest": {"characters": length, "start_a": start_a, "start_b": start_b},
            "passages": {
                "a": [list(span) for span in self.passages.a],
                "b": [list(span) for span in self.passages.b],
                "links": list(self.passages.links),
                "back": list(self.passages.back),
            },
            "spec": self.spec.as_dict(),
            "spec_id": self.spec.id,
        }

    def html(self, names: tuple[str, str] = ("A", "B")) -> str:
        """The whole page that ``neardup compare --html`` writes, of two texts that have ``names``: to be saved or sent.

        >>> import neardup
        >>> page = neardup.compare("a rose is a rose", "a rose is a rose!").html(("mine.txt", "yours.txt"))
        >>> page.startswith("<!doctype html>"), "yours.txt" in page
        (True, True)
        """
        from neardup.pages.site.render import pair_page as rendered

        return rendered(*pair_page(self, names)).decode("utf-8")

    def __repr__(self) -> str:
        at = f"at {self.spec.threshold}, shingle {self.spec.shingle}"
        how = f"similarity {self._told(self.jaccard)}, {counted(len(self.passages.a), 'shared passage')}"
        return f"<neardup.Comparison: {how}, {'found' if self.found else 'not found'} by a search {at}>"

    def _repr_html_(self) -> str:
        from neardup.pages.beside import pair_within
        from neardup.pages.fragments import framed
        from neardup.pages.notebook import MOST_BYTES

        size_a, size_b, common = self.sizes
        facts = [
            ("similarity", self._told(self.jaccard)),
            ("A in B", self._told(self.containment_a_in_b)),
            ("B in A", self._told(self.containment_b_in_a)),
            ("shingles", f"{size_a:,} and {size_b:,}, {common:,} in both ({self.spec.shingle})"),
            ("estimate", f"{self.estimate:.3f} ± {self.estimate_error:.3f}"),
            ("a search finds it", "yes" if self.found else "no"),
        ]
        room = MOST_BYTES - 20_000  # for the styles
        return framed(pair_within(self.texts, self.passages, ("A", "B"), facts, most=SHOWN_CHARACTERS, room=room))

    def _told(self, value: float) -> str:
        return similarity_text(value, self.spec.threshold)


def pair_page(
    found: Comparison, names: tuple[str, str], about: Sequence[Mapping[str, Any]] = ({}, {})
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What ``write_pair`` is given: the facts, and the two texts with their passages.

    ``about`` is what is known of some documents only: ``pages``, where each begins in code points, and ``file``, the
    address of the file.
    """
    size_a, size_b, common = found.sizes
    meta = {
        "title": " and ".join(_short(names)),
        "version": f"neardup {__version__}",
        "measure": "jaccard",
        "spec": found.spec.as_dict(),
        "spec_id": found.spec.id,
        "facts": [
            ["shingles", f"{size_a:,} and {size_b:,}, {common:,} in both ({found.spec.shingle})"],
            ["normalised by", str(found.spec.normalize)],
            ["bands that agree", f"{found.agreeing_bands:,} of {found.bands.bands:,}"],
            ["a search checks this pair", "yes" if found.found else "no"],
        ],
        "estimate": found.estimate,
        "estimate_error": found.estimate_error,
        "slots": found.spec.slots,
        "probability": found.probability,
        "bands": str(found.bands),
        "threshold": found.spec.threshold,
    }
    first, second = found.texts
    spans = found.passages.a[:LISTED], found.passages.b[:LISTED]
    page = {
        "members": [
            {"id": name, "characters": len(text), "text": place, **more}
            for place, (name, text, more) in enumerate(zip(names, found.texts, about, strict=True))
        ],
        "texts": [text_data(text, marks, most=PAGE_CHARACTERS) for text, marks in zip(found.texts, spans, strict=True)],
        "pair": {"a": 0, "b": 1, **pair_data(found.passages, (len(first), len(second)), measure="jaccard")},
    }
    return meta, page


def _short(names: tuple[str, str]) -> tuple[str, str]:
    """The names of files without their folders, where that tells them apart."""
    first, second = (name.rstrip("/").rpartition("/")[2] for name in names)
    return (first, second) if first != second and first and second else names
