"""``dedup`` with ``passages`` on made crawls: one call equals two, and text that is cut removes nobody."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.oracles.text import shingles

import neardup

CRAWLS = [(120, 0.4), (400, 0.4), (1500, 0.9)]
"""Characters of the footer, and the share of pages that have it."""


def crawl(seed: int) -> list[tuple[str, str]]:
    """Make pages of 8 to 40 words, a third of them another page with one word changed, and two that are all footer."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(3, 8))) for _ in range(600)]
    length, share = CRAWLS[seed]
    footer = " ".join(draw.choices(words, k=length // 6))
    bodies: list[str] = []
    for _ in range(60):
        body = draw.choices(words, k=draw.randint(8, 40))
        if bodies and draw.random() < 0.3:
            body = draw.choice(bodies).split()
            body[draw.randrange(len(body))] = "changed"
        bodies.append(" ".join(body))
    pages = [f"{body} {footer}" if draw.random() < share else body for body in bodies]
    return [(f"d{i}", page) for i, page in enumerate([*pages, footer, footer])]


def cut(rows: list[tuple[str, str]], policy: str) -> list[tuple[str, str]]:
    """Cut repeated passages with ``passages`` alone."""
    table = neardup.passages(rows, min_bytes=60, threads=1).cut(policy)
    return list(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))


@pytest.mark.parametrize("seed", range(len(CRAWLS)))
@pytest.mark.parametrize("policy", ["none", "first"])
def test_one_call_is_two_and_removes_only_what_is_alike_in_what_is_compared(seed: int, policy: str) -> None:
    rows = crawl(seed)
    compared = dict(cut(rows, policy) if policy == "none" else rows)
    removed = 0
    for shingle in ("char:9", "word:5"):
        for threshold in (0.6, 0.8, 0.9):
            how: dict[str, Any] = {"threshold": threshold, "shingle": shingle, "threads": 1}
            one = neardup.dedup(rows, passages=policy, min_bytes=60, **how)
            two = neardup.dedup(list(compared.items()), **how).data
            assert list(one.data) == (two if policy == "none" else cut(two, policy))
            assert all(text.strip() for _, text in one.data)
            for id, keeper in zip(one.removed["id"].to_pylist(), one.removed["keeper"].to_pylist(), strict=True):
                a, b = (shingles(compared[each], shingle) for each in (id, keeper))
                assert len(a & b) >= threshold * len(a | b)
            removed += one.removed.num_rows
    assert removed > 20
