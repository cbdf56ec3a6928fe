"""Collections for the invariants: few characters, many near-copies, and all that is short or empty or odd."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = st.sampled_from(["a", "bc", "été", "e\u0301t", "日本", "x9", "No", "the", "same", "word", "क्ष"])
GAPS = st.sampled_from([" ", "  ", "\n", ", ", "-", "."])


@st.composite
def texts(draw: st.DrawFn, *, most: int = 20) -> str:
    """A text of up to ``most`` words."""
    parts = draw(st.lists(st.tuples(WORDS, GAPS), max_size=most))
    return "".join(word + gap for word, gap in parts)


@st.composite
def edited(draw: st.DrawFn, original: str) -> str:
    """A copy of a text with up to three characters gone or put in."""
    text = original
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(["", "z", " "])) + text[at + draw(st.integers(0, 1)) :]
    return text


@st.composite
def collections(draw: st.DrawFn, *, most: int = 24) -> list[tuple[str, str]]:
    """(id, text) of documents of which many are edits of each other; ids are unique."""
    originals = draw(st.lists(texts(), min_size=1, max_size=6))
    odd = st.sampled_from(["", " ", "x", "?!", "\ufeff", "日", "\x00", "a" * 60])
    some = st.sampled_from(originals).flatmap(edited)
    documents = draw(st.lists(st.one_of(some, some, some, odd), max_size=most))
    return [(f"d{i}", text) for i, text in enumerate(documents)]


SHINGLES = st.sampled_from(["char:3", "char:5", "char:9", "word:1", "word:3", "byte:4"])
THRESHOLDS = st.sampled_from([0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
LINKS = st.sampled_from(["star", "connected"])
NORMALIZE = st.sampled_from(["none", "nfc", "nfkc,casefold,space", "nfc,punct,strip"])
