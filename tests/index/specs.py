"""Indexes whose banding misses nothing, so that they can be held against a dictionary; texts that collide; ids.

Bands of one row: a pair that reaches the threshold stays unseen with a chance of 0.5 ** 128 at most; what the filter
of estimates may lose is put to 1e-7 by the promise that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.oracles.index import NaiveIndex
from tests.properties.strategies import edited, texts

TEXTS = {
    "rose": "a rose is a rose is a rose",
    "rose too": "a rose is a rose is a rose!",
    "tulip": "tulips from amsterdam are no roses",
    17: "seventeen syllables are a haiku, they say",
}
"""The documents of the plain tests."""


@dataclass(frozen=True)
class Kind:
    """What an index is made with."""

    shingle: str
    normalize: str = "nfc"
    threshold: float = 0.5

    @property
    def options(self) -> dict[str, Any]:
        """For ``Index.create``."""
        return {
            "threshold": self.threshold,
            "recall": 0.9999999,
            "shingle": self.shingle,
            "normalize": self.normalize,
            "slots": 128,
            "bands": "128x1",
        }

    def naive(self) -> NaiveIndex:
        """Its twin."""
        return NaiveIndex(self.threshold, self.shingle, self.normalize)


KINDS = [
    Kind("char:3"),
    Kind("char:2", "nfkc,casefold,space", 0.6),
    Kind("word:2", "nfc,casefold,punct"),
    Kind("byte:3", "none", 0.75),
    Kind("item", "none"),
]

IDS: st.SearchStrategy[int | str] = st.one_of(
    st.integers(0, 12),
    st.integers(0, 12).map(str),
    st.sampled_from(["a", "A", "é", "e\u0301", "007", "-7", -7, "1.0", " 1", "a b", "日本", "\U0001f600", 2**63 - 1]),
)
"""Few, so that they meet again; 7 and "7" are one, "007" is another."""

_SETS = st.lists(st.one_of(st.sampled_from(["a", "b", "é", "x y"]), st.integers(0, 5)), max_size=7)
_CROWDED = st.text(alphabet="ab ", max_size=9)
_ODD = st.sampled_from(
    ["", " ", "x", "?!", "\ufeff", "日", "\x00", "a\x00b\x00c", "a" * 300, "é", "e\u0301", "ß SS ﬁ fi"]
)


def texts_for(kind: Kind) -> st.SearchStrategy[Any]:
    """Texts of which many have the same set; for items also lists and sets."""
    plain = st.one_of(_CROWDED, _CROWDED, texts(most=6), _ODD)
    return (
        st.one_of(_SETS, _SETS.map(set), plain.map(lambda text: text.replace("\x00", "")))
        if kind.shingle == "item"
        else plain
    )


def text_near(kind: Kind, known: list[Any]) -> st.SearchStrategy[Any]:
    """A new text, a copy of a known one, or an edit of it."""
    if not known:
        return texts_for(kind)
    some = st.sampled_from(known)
    near = some.flatmap(lambda text: edited(text) if isinstance(text, str) else st.just([*text, 9]))
    return st.one_of(texts_for(kind), some, near)
