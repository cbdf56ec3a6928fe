"""Passages of what is in memory: frames, tables and lists go in, and come back without passages, with their own ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import neardup

NOTICE = "All rights are reserved by us, everywhere and for all times."
TEXTS = [
    f"The first of all. {NOTICE}",
    f"The first of all. {NOTICE}",
    f"Another, é, of other words. {NOTICE}",
    NOTICE,
    "Alone.",
]
KEPT = [0, 2, 4]
"""Of TEXTS: the second is a copy, and of the fourth nothing is left."""
LEFT = [TEXTS[0], "Another, é, of other words.", TEXTS[4]]
HOW: dict[str, Any] = {"min_bytes": 40, "threads": 1}
CUT: dict[str, Any] = {"snap": "sentence", "min_left": 1}
COLUMNS = {"key": [10, 20, 30, 40, 50], "text": TEXTS, "score": [0.5, None, 2.5, 3.5, 4.5]}
FRAMES = {
    "pandas": lambda: pd.DataFrame(COLUMNS, index=list("vwxyz")),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "table": lambda: pa.table(COLUMNS),
    "batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "dictionary": lambda: pa.table({**COLUMNS, "text": pa.array(TEXTS).dictionary_encode()}),
}
LISTS = {
    "list": lambda: list(TEXTS),
    "tuple": lambda: tuple(TEXTS),
    "pairs": lambda: list(zip(COLUMNS["key"], TEXTS, strict=True)),
    "mapping": lambda: dict(zip(COLUMNS["key"], TEXTS, strict=True)),
    "iterator": lambda: iter(TEXTS),
    "array": lambda: pa.array(TEXTS),
    "chunks": lambda: pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
    "numpy": lambda: np.array(TEXTS, dtype=object),
    "pandas": lambda: pd.Series(TEXTS, index=list("vwxyz")),
    "polars": lambda: pl.Series("words", TEXTS),
}


def rows_of(value: Any) -> list[dict[str, Any]]:
    """The rows of a frame or table."""
    if isinstance(value, pd.DataFrame):
        return [{name: None if row != row else row for name, row in each.items()} for each in value.to_dict("records")]
    return value.to_dicts() if isinstance(value, pl.DataFrame) else value.to_pylist()


@pytest.mark.parametrize("kind", FRAMES)
def test_spans_and_texts_have_the_ids_of_the_frame(kind: str) -> None:
    found = neardup.passages(FRAMES[kind](), **HOW)
    assert set(found.spans["id"].to_pylist()) == {10, 20, 30, 40}
    plain = neardup.passages(list(TEXTS), **HOW)
    places = [name for name in found.spans.column_names if "id" not in name]
    assert found.spans.select(places).equals(plain.spans.select(places))
    cut = found.cut(**CUT)
    assert cut.to_pylist() == [
        {"id": key, "text": text, "cut_bytes": gone}
        for key, text, gone in zip([10, 30, 50], LEFT, [0, 1 + len(NOTICE), 0], strict=True)
    ]
    assert found.to_pandas()["id"].tolist() == found.spans["id"].to_pylist()
    assert found.to_polars().to_dicts() == found.spans.to_pylist()
    assert pa.table(found).equals(found.spans)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_comes_back_without_copies_and_passages(kind: str) -> None:
    given = FRAMES[kind]()
    before = rows_of(given)
    done = neardup.dedup(given, passages="first", **HOW, **CUT)
    assert type(done.data) is type(given)
    wanted = [{**before[row], "text": text} for row, text in zip(KEPT, LEFT, strict=True)]
    assert rows_of(done.data) == wanted
    assert rows_of(given) == before
    assert done.cuts is not None
    assert done.cuts.to_pylist() == [
        {"id": 30, "cut_bytes": 1 + len(NOTICE), "left": len(LEFT[1]), "kept": True},
        {"id": 40, "cut_bytes": len(NOTICE), "left": 0, "kept": False},
    ]
    assert (done.summary.removed, done.summary.kept) == (1, 3)
    assert done.summary.passages is not None
    assert done.summary.passages["cut"]["left_out_ids"] == [40]


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_comes_back_without_copies_and_passages(kind: str) -> None:
    given = LISTS[kind]()
    data = neardup.dedup(given, passages="first", **HOW, **CUT).data
    if kind == "mapping":
        assert data == dict(zip([10, 30, 50], LEFT, strict=True))
    elif kind == "pairs":
        assert data == list(zip([10, 30, 50], LEFT, strict=True))
    else:
        assert type(data) is (list if kind == "iterator" else type(given))
        assert [str(text) for text in data] == LEFT
        assert kind != "pandas" or list(data.index) == ["v", "x", "z"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"snap": "line"}, "snap is for passages that are cut. Give passages too"),
        ({"passages": "all"}, "policy is 'all'"),
        ({"passages": "first", "annotate": True}, "annotate copies everything as it is"),
        ({"passages": "first", "min_bytes": 20, "min_words": 9}, "min_bytes and min_words are given"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(neardup.InputError, match=message):
        neardup.dedup(TEXTS, **given)
