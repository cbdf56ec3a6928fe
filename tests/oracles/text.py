"""Normalisation, tokens and shingles, as plainly as Python can say them. No numpy here."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

ShingleValue = tuple[object, ...]


def normalise(text: str, how: str = "nfc") -> str:
    """Apply the steps of ``how`` in the fixed order form, casefold, digits, punct, space or strip."""
    names = how.split(",")
    form = next((name.upper() for name in names if name in ("none", "nfc", "nfkc")), "NFC")

    def in_form(value: str) -> str:
        return value if form == "NONE" else unicodedata.normalize(form, value)

    text = in_form(text)
    if "casefold" in names:
        text = in_form(text.casefold())
    if "digits" in names:
        text = "".join("0" if unicodedata.category(c) == "Nd" else c for c in text)
    if "punct" in names:
        text = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
    if "space" in names:
        text = " ".join(text.split())
    if "strip" in names:
        text = "".join(text.split())
    return text


def words(text: str) -> list[str]:
    """Maximal runs of characters of category L*, M* or N*."""
    kept = "".join(c if unicodedata.category(c)[0] in "LMN" else "\0" for c in text)
    return [run for run in kept.split("\0") if run]


def tokens(text: str, kind: str) -> Sequence[object]:
    """The tokens of a normalised text: code points, words or bytes."""
    if kind == "word":
        return words(text)
    return list(text.encode("utf-8")) if kind == "byte" else list(text)


def windows(row: Sequence[object], k: int) -> list[ShingleValue]:
    """All runs of k consecutive tokens in order; fewer than k tokens are one run."""
    if len(row) < k:
        return [tuple(row)] if row else []
    return [tuple(row[i : i + k]) for i in range(len(row) - k + 1)]


def shingles(text: str, shingle: str = "char:9", how: str = "nfc") -> frozenset[ShingleValue]:
    """The shingle set of a text. A text without a token is its own one shingle; an empty one has none."""
    kind, _, size = shingle.partition(":")
    text = normalise(text, how)
    found = windows(tokens(text, kind), int(size))
    return frozenset(found or ([(text,)] if text else []))


def shingles_in_order(text: str, shingle: str = "char:9", how: str = "nfc") -> list[ShingleValue]:
    """Distinct shingles in the order of their first appearance."""
    kind, _, size = shingle.partition(":")
    text = normalise(text, how)
    found = windows(tokens(text, kind), int(size))
    return list(dict.fromkeys(found or ([(text,)] if text else [])))


def collection(texts: Iterable[str], shingle: str, how: str = "nfc") -> list[frozenset[ShingleValue]]:
    """The shingle sets of several texts."""
    return [shingles(text, shingle, how) for text in texts]
