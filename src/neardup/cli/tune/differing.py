"""The words that only one of two texts has, for the eye of whoever judges them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

Span = tuple[int, int]
MOST_WORDS = 3000
"""Words of a text that are held against those of the other; behind these nothing is marked."""
_WORD = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]|[^\\W_]+|[^\\w\\s]|_"
)
"""A word, a mark, or a character of a script that has no spaces between words."""


def differing(a: str, b: str) -> tuple[list[Span], list[Span]]:
    """Spans of either text, rising and apart, whose words are not in the other there; cases count as equal.

    >>> differing("A new method for  tests.", "a method for many tests")
    ([(2, 5), (23, 24)], [(13, 17)])
    """
    words_a, words_b = _words(a), _words(b)
    written_a, written_b = (
        [text[start:end].casefold() for start, end in words] for text, words in ((a, words_a), (b, words_b))
    )
    ahead = _shared(written_a, written_b)
    behind = _shared(written_a[ahead:][::-1], written_b[ahead:][::-1])
    inner_a, inner_b = written_a[ahead : len(written_a) - behind], written_b[ahead : len(written_b) - behind]
    spans_a: list[Span] = []
    spans_b: list[Span] = []
    # autojunk leaves the commonest words of long texts out as anchors, without which equal words take quadratic time
    for kind, i, j, k, m in SequenceMatcher(None, inner_a, inner_b).get_opcodes():
        if kind != "equal":
            spans_a += _span(words_a, ahead + i, ahead + j)
            spans_b += _span(words_b, ahead + k, ahead + m)
    return spans_a, spans_b


def _words(text: str) -> list[Span]:
    found = []
    for each in _WORD.finditer(text):
        found.append(each.span())
        if len(found) == MOST_WORDS:
            break
    return found


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    """Words that both begin with."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _span(words: Sequence[Span], first: int, last: int) -> list[Span]:
    return [(words[first][0], words[last - 1][1])] if first < last else []
