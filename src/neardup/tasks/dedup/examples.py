"""A few of the documents that go, each beside the one that stays for it, both cut round the place where they differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers, strings
from neardup.engine.reading.written import WrittenTexts
from neardup.inputs.names import Ids
from neardup.shown import CUT, cut_text, whole_before
from neardup.tasks.dedup.choose import Removals
from neardup.types import I64

LENGTH = 200
"""Characters of a text that are shown."""
CONTEXT = 30
"""Characters before the first difference."""


def pick_examples(chosen: Removals, count: int) -> I64:
    """int64[up to count]: places in ``chosen`` of those to look at, the least similar first.

    They are spread over the similarities there are, each from a cluster of its own, and no copies, as long as there are
    enough of these. Decided by similarities and the order of the input only. O(m log m).
    """
    order = np.lexsort((chosen.rows, chosen.similarity))
    _, first = np.unique(chosen.cluster[order], return_index=True)
    heads = order[np.sort(first)]  # the least similar of each cluster
    heads = heads[chosen.similarity[heads] < 1.0]
    if heads.size <= count:
        others = order[~np.isin(order, heads)]
        picked = np.concatenate((heads, others[: count - heads.size]))
        return picked[np.lexsort((chosen.rows[picked], chosen.similarity[picked]))]
    known = chosen.similarity[heads]
    places: list[int] = []
    for i, wanted in enumerate(np.linspace(known[0], known[-1], count).tolist()):
        low, high = (places[-1] + 1 if places else 0), known.size - (count - i)
        places.append(int(np.clip(np.searchsorted(known, wanted), low, high)))
    return heads[places]


def example_table(
    chosen: Removals,
    picked: I64,
    ids: Ids,
    texts: WrittenTexts,
    rules: pa.Array,
    starts: Sequence[tuple[int, int] | None],
) -> pa.Table:
    """id, keeper, similarity, rule, text, keeper_text of the removals at ``picked``; ``rules`` has the rule of each.

    ``starts``: where both texts have the passage that they share, to be shown from there on; None: from where they
    differ.
    """
    cuts: list[tuple[str, str]] = []
    for at, shared in zip(picked.tolist(), starts, strict=True):
        first, second = texts.take(np.array([chosen.rows[at], chosen.keeper[at]]), None).to_pylist()
        if shared is None:
            cuts.append(cut_at_difference(first, second))
        else:
            cuts.append((_cut_before(first, shared[0], LENGTH), _cut_before(second, shared[1], LENGTH)))
    columns = {
        "id": ids.take(chosen.rows[picked]),
        "keeper": ids.take(chosen.keeper[picked]),
        "similarity": numbers(chosen.similarity[picked]),
        "rule": rules,
        "text": strings(text for text, _ in cuts),
        "keeper_text": strings(text for _, text in cuts),
    }
    return pa.table(columns)


def cut_at_difference(first: str, second: str, length: int = LENGTH) -> tuple[str, str]:
    """Both texts from some words before the first character in which they differ, at most ``length`` of each.

    Texts that are the same are shown from their beginning.

    >>> cut_at_difference("It is known that a rose is red", "It is known that a rose was red", 12)
    ('…is red', '…was red')
    """
    same = _common(first, second)
    context = min(CONTEXT, length // 3)
    if same == len(first) == len(second) or same <= context:
        return cut_text(first, length), cut_text(second, length)
    start = whole_before(first, same - context)
    words = next((at + 1 for at in range(start, same) if first[at].isspace()), start)
    return CUT + cut_text(first[words:], length), CUT + cut_text(second[words:], length)


def _cut_before(text: str, at: int, length: int) -> str:
    """A text from some words before a place on, or from its beginning where that is near."""
    if at <= CONTEXT:
        return cut_text(text, length)
    start = whole_before(text, at - CONTEXT)
    words = next((place + 1 for place in range(start, at) if text[place].isspace()), start)
    return CUT + cut_text(text[words:], length)


def _common(first: str, second: str) -> int:
    """Characters that both begin with."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
