"""Between shared passages: which of them follow each other in both texts, and the words that changed in a small gap.

What is marked as shared is decided by shingles alone (``neardup.engine.results.passages``); the words here are beside
that, so that a reader sees what was put in place of what.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter

from neardup.stages.passages import Passages, Span

GAP_WORDS = 40
"""Words of a gap that are held against each other, at most, in either text."""
BUDGET = 4_000_000
"""Pairs of words that are held against each other in one comparison; about a second."""
_WORD = re.compile(r"\w+|[^\w\s]")


def chain(passages: Passages) -> list[tuple[int, int]]:
    """Most pairs of mutually linked runs that rise in both texts. O(runs log runs)."""
    mutual = [(i, j) for i, j in enumerate(passages.links) if passages.back[j] == i]
    tails: list[int] = []  # least end in b of a chain of each length
    ends: list[int] = []  # which pair that is
    before: list[int] = []
    for at, (_, j) in enumerate(mutual):
        length = bisect_left(tails, j)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [j]
        ends[length : length + 1] = [at]
    out: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        out.append(mutual[at])
        at = before[at]
    return out[::-1]


def changed_words(texts: tuple[str, str], passages: Passages, *, until: int) -> tuple[list[Span], list[Span], int]:
    """The words that only one text has, in gaps between neighbouring passages that are neighbours in both texts.

    Gaps of more than GAP_WORDS words in either text are left alone, and all of them once the budget is spent; those
    that begin behind the place ``until`` of the first text are not looked at. Gives spans in either text, rising,
    apart, none inside a passage; and the gaps that were left alone for want of budget.
    """
    changed: tuple[list[Span], list[Span]] = ([], [])
    budget, left_alone = BUDGET, 0
    for gaps in _gaps(passages):
        if gaps[0][0] > until:
            break
        words = [_words(text, gap) for text, gap in zip(texts, gaps, strict=True)]
        if max(map(len, words)) > GAP_WORDS:
            continue
        cost = len(words[0]) * len(words[1])
        if cost > budget:
            left_alone += 1
            continue
        budget -= cost
        written = [[text[start:end] for start, end in found] for text, found in zip(texts, words, strict=True)]
        for spans, found, is_kept in zip(changed, words, _kept(*written), strict=True):
            spans.extend(_runs_of_changed(found, is_kept))
    return *changed, left_alone


def _gaps(passages: Passages) -> Iterator[tuple[Span, Span]]:
    """Both sides of each gap whose passages before and behind it are neighbours in both texts."""
    links, back = passages.links, passages.back
    for i in range(len(links) - 1):
        j = links[i]
        if links[i + 1] == j + 1 and back[j] == i and back[j + 1] == i + 1:
            yield (passages.a[i][1], passages.a[i + 1][0]), (passages.b[j][1], passages.b[j + 1][0])


def _words(text: str, gap: Span) -> list[Span]:
    """The words of a gap; of a large one only GAP_WORDS + 1, which is enough to tell that it is too large."""
    return [found.span() for found in islice(_WORD.finditer(text, *gap), GAP_WORDS + 1)]


def _kept(a: Sequence[str], b: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which words of either side belong to their longest common subsequence."""
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            same = a[i] == b[j]
            lengths[i][j] = lengths[i + 1][j + 1] + 1 if same else max(lengths[i + 1][j], lengths[i][j + 1])
    in_a, in_b = [False] * len(a), [False] * len(b)
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            in_a[i] = in_b[j] = True
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return in_a, in_b


def _runs_of_changed(words: Sequence[Span], is_kept: Sequence[bool]) -> Iterator[Span]:
    """The words that are not kept; those that follow each other as one span."""
    for kept, run in groupby(zip(words, is_kept, strict=True), key=itemgetter(1)):
        if not kept:
            spans = [word for word, _ in run]
            yield spans[0][0], spans[-1][1]
