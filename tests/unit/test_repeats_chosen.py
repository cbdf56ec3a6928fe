"""Passages of which only some count: small examples worked out by hand, for neardup and for the oracle."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracles import chosen_repeats as plain

import neardup
from neardup.engine.reading.template import passages_as_written, passages_of
from neardup.engine.repeats.choice import Choice
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.tasks.grouping import GroupBy, Groups
from neardup.tasks.repeats.selection import Selection

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
SPAN = 16


def spans(texts: Any, **how: Any) -> list[tuple[int, ...]]:
    """id, start_byte, end_byte, source, source_start, count_min, count, documents of each span."""
    table = neardup.passages(texts, min_bytes=SPAN, threads=1, **how).spans
    names = ["id", "start_byte", "end_byte", "source_id", "source_start", "count_min", "count", "documents"]
    return [tuple(row.values()) for row in table.select(names).to_pylist()]


def test_a_passage_is_divided_where_it_stands_too_seldom():
    texts = [ALPHABET[:20], ALPHABET[:20], ALPHABET[:19]]
    for how in ({"min_count": 3}, {"min_docs": 3}, {"min_share": 0.9}):
        assert spans(texts, **how) == [
            (0, 0, 19, 0, 0, 3, 3, 3),
            (1, 0, 19, 0, 0, 3, 3, 3),
            (2, 0, 19, 0, 0, 3, 3, 3),
        ]
    wanted = plain.chosen(texts, SPAN, min_count=3)
    assert wanted == plain.chosen(texts, SPAN, min_docs=3) == plain.chosen(texts, SPAN, min_share="0.9")
    assert set(wanted.counted) == {(d, i) for d in range(3) for i in range(4)}
    assert wanted.counted[2, 0] == (plain.OTHER, 3, 3)
    assert spans(texts, min_count=4) == []


def test_a_line_of_short_period_is_two_spans_of_another_collection():
    """The first as long as what stands there; the second goes on with itself, and its first window stands there."""
    texts, other = ["ab" * 20], ["ab" * 8 + "a"]
    assert spans(texts, against=other) == [(0, 0, 17, 0, 0, 12, 13, 1), (0, 2, 40, 0, 0, 12, 13, 1)]
    assert spans(["ab" * 40, "ab" * 8], min_docs=3) == []


def test_of_a_long_line_of_short_period_only_the_windows_count_that_stand_in_another_collection():
    """The line has 65 windows: 33 begin with a, 32 with b."""
    for piece, first, count in (("ab", 0, 33), ("ba", 1, 32)):
        every_other = [(0, i, i + 16, 0, 0, count, count, 1) for i in range(first, 65, 2)]
        assert spans(["ab" * 40], against=[piece * 8], min_count=count) == every_other
        assert spans(["ab" * 40], against=[piece * 8], min_count=count + 1) == []


def test_what_stands_once_in_the_inputs_counts_if_it_stands_in_another_collection():
    texts, other = [f"1 {ALPHABET}", "nothing of it at all"], [ALPHABET[:18]]
    assert spans(texts, against=other) == [(0, 2, 20, 0, 0, 1, 1, 1)]
    assert spans(texts, against=other, min_count=2) == []
    assert plain.chosen(texts, SPAN, against=other).counted == {(0, i): (plain.OTHER, 1, 1) for i in (2, 3, 4)}
    assert spans([*texts, *texts], against=[]) == []


def test_a_window_in_part_of_a_template_is_found_and_no_byte_of_the_template_is_cut(tmp_path: Path):
    path = tmp_path / "template.txt"
    path.write_text(ALPHABET[:20])
    texts = [f"{number}{ALPHABET}" for number in "12"]
    found = neardup.passages(texts, ignore=path, min_bytes=SPAN, threads=1)
    # the windows from f (the sixth letter) on reach behind t, with which the template ends
    assert [(row["id"], row["start"], row["end"]) for row in found.spans.to_pylist()] == [(0, 6, 27), (1, 6, 27)]
    assert found.cut(snap="char", min_cut=0)["text"].to_pylist() == [texts[0], f"2{ALPHABET[:20]}"]
    assert found.summary.ignored == {"passages": 1, "too_short": 0, "bytes": 40}
    wanted = plain.chosen([text.encode() for text in texts], SPAN, templates=[ALPHABET[:20].encode()])
    assert wanted.ignored == {(d, i) for d in (0, 1) for i in range(1, 6)}
    left = plain.left_by([text.encode() for text in texts], SPAN, "first", wanted)
    assert left == [texts[0].encode(), f"2{ALPHABET[:20]}".encode()]


def test_what_stands_in_a_template_is_ignored_though_it_stands_in_another_collection_too(tmp_path: Path):
    path = tmp_path / "template.txt"
    path.write_text(f"{ALPHABET[:18]}!")
    texts, other = [f"1 {ALPHABET}"], [ALPHABET]
    assert spans(texts, against=other, ignore=path) == [(0, 5, 28, 0, 3, 1, 1, 1)]
    wanted = plain.chosen(texts, SPAN, against=other, templates=[path.read_text()])
    assert wanted == ({(0, i): (plain.OTHER, 1, 1) for i in range(5, 13)}, {(0, 2), (0, 3), (0, 4)})


def test_a_share_is_that_of_the_decimal_number():
    sizes = np.array([1, 2, 20, 21, 40, 60, 7])
    assert Selection(min_share=0.05).least_documents(sizes).tolist() == [2, 2, 2, 2, 2, 3, 2]
    assert Selection(min_share=0.1).least_documents(np.array([30, 31])).tolist() == [3, 4]
    assert Selection(min_share=0.1, min_docs=4).least_documents(np.array([30, 50])).tolist() == [4, 5]
    assert Selection().least_documents(sizes).tolist() == [1] * 7
    assert [Selection().least_count(), Selection(against=["a"]).least_count()] == [2, 1]


def test_members_are_divided_by_groups_and_foreign_ones_are_in_each():
    choice = Choice(3, 4, groups=np.array([1, 0, 1], dtype=np.int32), min_documents=np.array([5, 6]))
    # rows: 0 is a template's; 1 to 4 are of the documents 0, 1, 2 and 0
    documents = np.array([3, 0, 1, 2, 0])
    members, starts, least = choice.grouped(np.array([1, 2, 0, 3, 4, 0]), np.array([0, 3, 5, 6]), documents)
    groups = [members[first:end].tolist() for first, end in itertools.pairwise(starts)]
    assert groups == [[0, 2], [0, 1], [3, 4]]
    assert least.tolist() == [5, 6, 6]


def test_the_passages_of_a_template_keep_their_white_space_where_it_counts():
    text = "\n One \n --- \nTwo\n---\n\n"
    assert passages_as_written(text) == ["\n One \n", "Two\n"]
    assert passages_of(text) == ["One", "Two"]
    assert passages_as_written("no end") == ["no end"]
    assert passages_as_written("") == []


def test_documents_that_tell_no_group_are_counted():
    groups = Groups(["a", None, "b", None], np.array([0, 1, 2, 0, 3], dtype=np.int32))
    assert groups.untold == 2
    assert groups.sizes().tolist() == [2, 1, 1, 1]


def test_a_column_that_can_be_read_once_only_is_refused_before_the_inputs_are_read():
    by = GroupBy.parse("column:site")
    assert by is not None
    with pytest.raises(InputError, match="no columns"):
        by.check(open_inputs(["a text"]))


def test_more_groups_than_fit_into_memory_are_refused_with_the_limit_that_would_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("neardup.tasks.grouping.NAME_BYTES", 1 << 40)
    with pytest.raises(InputError, match=r"the names of 2 groups or more need about .* Raise --memory"):
        neardup.passages({"a/1": "text", "b/2": "text"}, group_by="^.")
