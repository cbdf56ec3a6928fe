"""Passages with changes as plainly as can be: for each unit there is a note where it leads to.

It takes the segments of exact repeats, which have oracles of their own (``repeats``), and says which places of passages
come of them. ``levenshtein`` is the edit distance of the textbook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

FIRST = 1
LOOK_BACK = 64


class Rules(NamedTuple):
    match: int
    gap: int
    length: int
    similarity: int
    """In thousandths."""


class Found(NamedTuple):
    """A place and its source, both from the begin of the collection."""

    begin: int
    end: int
    source: int
    source_end: int
    differences: int


def levenshtein(a: Sequence[Any], b: Sequence[Any]) -> list[list[int]]:
    """Edit distances of all beginnings of two texts."""
    table = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(table[i - 1][j - 1] + (x != y), table[i - 1][j] + 1, row[j - 1] + 1))
        table.append(row)
    return table


def later_places(blobs: Sequence[Sequence[Any]], segments: Sequence[Sequence[int]], rules: Rules) -> list[Found]:
    """Places that are copies, in the order of the text; of two of one stretch the one with the higher score.

    ``segments``: document, start, end, kind, source and start in the source of each, in the order of the text.
    """
    text = [unit for blob in blobs for unit in blob]
    begins = [0]
    for blob in blobs:
        begins.append(begins[-1] + len(blob))
    leads: dict[int, tuple[int | None, int]] = {}
    found: list[Found] = []
    for d in range(len(blobs)):
        pieces: list[tuple[int, int, int]] = []
        for document, start, end, kind, source, source_start in segments:
            if document == d and kind != FIRST:
                pieces += lead_on(begins[d] + start, begins[source] + source_start, end - start, leads, rules)
        root_of = [max(i for i in range(len(blobs)) if begins[i] <= source) for _, _, source in pieces]
        passages = []
        for chain in chains(pieces, root_of, d, rules):
            passages += aligned(chain, text, begins, d, rules)
        chosen: list[Any] = []
        for each in sorted(passages, key=lambda each: each[0].begin):
            one, score, _ = each
            if chosen:
                last = chosen[-1][0]
                if 2 * (last.end - one.begin) > min(one.end - one.begin, last.end - last.begin):
                    if score > chosen[-1][1]:
                        chosen[-1] = each
                    continue
            chosen.append(each)
        at = 0
        for one, _, its_pieces in chosen:
            at = max(at, one.begin)
            for place in range(at, one.end):
                leads[place] = (None, -place)
            for begin, end, source in its_pieces:
                for place in range(max(at, begin), end):
                    leads[place] = (source + place - begin, begin)
            at = max(at, one.end)
            found.append(one)
    return found


def lead_on(begin: int, source: int, size: int, leads: Any, rules: Rules) -> list[tuple[int, int, int]]:
    """A segment, cut where what its units lead to changes."""
    pieces: list[tuple[int, int, int]] = []
    last = None
    for k in range(size):
        to, link = leads.get(source + k, (source + k, -1))
        if to is None:
            last = None
            continue
        if last is not None and link == last:
            pieces[-1] = (pieces[-1][0], begin + k + 1, pieces[-1][2])
        else:
            pieces.append((begin + k, begin + k + 1, to))
        last = link
    least = max(1, rules.match // 4)
    return [piece for piece in pieces if piece[1] - piece[0] >= least]


def chains(pieces: list[tuple[int, int, int]], root_of: list[int], own: int, rules: Rules) -> list[Any]:
    """The pieces of each chain, without what two of them share."""
    order = sorted(range(len(pieces)), key=lambda i: pieces[i][0])
    score: dict[int, int] = {}
    before: dict[int, int | None] = {}
    head: dict[int, int] = {}
    for at, i in enumerate(order):
        b, e, s = pieces[i]
        if root_of[i] == own and s + e - b > b:
            continue
        score[i], before[i], head[i] = e - b, None, b
        for j in reversed(order[max(0, at - LOOK_BACK) : at]):
            if j not in score or root_of[j] != root_of[i]:
                continue
            b2, e2, s2 = pieces[j]
            ahead, source_ahead = b - e2, s - (s2 + e2 - b2)
            over = max(0, -ahead, -source_ahead)
            if s < s2 or e - b <= over or max(ahead, source_ahead) + over > rules.gap:
                continue
            if root_of[i] == own and s + e - b > head[j]:
                continue
            total = score[j] + e - b - over - abs(ahead - source_ahead)
            if total > score[i]:
                score[i], before[i], head[i] = total, j, head[j]
    used: set[int] = set()
    found = []
    for i in sorted(score, key=lambda i: (-score[i], i)):
        chain: list[tuple[int, int, int]] = []
        at = i
        while at is not None and at not in used:
            used.add(at)
            chain.insert(0, pieces[at])
            at = before[at]  # type: ignore[assignment]
        for k in range(1, len(chain)):
            (b, e, s), (b2, e2, s2) = chain[k], chain[k - 1]
            over = max(0, e2 - b, s2 + e2 - b2 - s)
            chain[k] = (b + over, e, s + over)
        equal = sum(e - b for b, e, _ in chain)
        is_enough = equal >= min(2 * rules.match, (rules.length + 1) // 2)
        if chain and is_enough and chain[-1][1] - chain[0][0] + rules.gap >= rules.length:
            found.append(chain)
    return found


def aligned(chain: list[tuple[int, int, int]], text: list[Any], begins: list[int], own: int, rules: Rules) -> list[Any]:
    """Passages of a chain: each with its score and its pieces."""
    kept = 1000 - rules.similarity
    root = max(i for i in range(len(begins) - 1) if begins[i] <= chain[0][2])
    runs: list[Any] = []  # pieces, score, differences, and these of its best beginning
    for piece in chain:
        worth = kept * (piece[1] - piece[0])
        if runs:
            pieces, total, lost, best = runs[-1]
            b, e, s = pieces[-1]
            a, c = text[e : piece[0]], text[s + e - b : piece[2]]
            differences = levenshtein(a, c)[-1][-1]
            total += kept * max(len(a), len(c)) - 1000 * differences
            if total > 0:
                total, lost, pieces = total + worth, lost + differences, [*pieces, piece]
                runs[-1] = (pieces, total, lost, max(best, (total, lost, pieces), key=lambda each: each[0]))
                continue
        runs.append(([piece], worth, 0, (worth, 0, [piece])))
    found = []
    for *_, (score, lost, pieces) in runs:
        begin, end, source = pieces[0][0], pieces[-1][1], pieces[0][2]
        source_end = pieces[-1][2] + pieces[-1][1] - pieces[-1][0]
        reach = rules.gap // 2
        stop = min(source_end + reach, begins[root + 1], begin if root == own else begins[root + 1])
        more = best_beginning(text[end : min(end + reach, begins[own + 1])], text[source_end:stop], kept)
        end, source_end, lost, score = end + more[0], source_end + more[1], lost + more[2], score + more[3]
        low = max(begin - reach, begins[own], source_end if root == own else 0)
        more = best_beginning(text[low:begin][::-1], text[max(source - reach, begins[root]) : source][::-1], kept)
        begin, source, lost, score = begin - more[0], source - more[1], lost + more[2], score + more[3]
        longer, shorter = max(end - begin, source_end - source), min(end - begin, source_end - source)
        if shorter >= rules.length and kept * longer >= 1000 * lost:
            found.append((Found(begin, end, source, source_end, lost), score, pieces))
    return found


def best_beginning(a: list[Any], b: list[Any], kept: int) -> tuple[int, int, int, int]:
    """How much of two texts is worth most: units of each, differences, score; the shortest of equals."""
    table = levenshtein(a, b)
    best = (0, 0, 0, 0)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            score = kept * max(i, j) - 1000 * table[i][j]
            if score > best[3]:
                best = (i, j, table[i][j], score)
    return best
