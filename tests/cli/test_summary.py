"""Figures turned into words: rounding never tells a falsehood."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup import Summary
from neardup.cli.summary import closing_line, duration, megabytes, similarity_text, summary_lines


@given(value=st.floats(0, 1), threshold=st.floats(0.001, 1))
@example(value=0.99999, threshold=0.8)
@example(value=1 - 2**-53, threshold=0.8)
@example(value=2 / 3, threshold=2 / 3)
@example(value=0.79996, threshold=0.8)
def test_a_shown_similarity_is_on_the_right_side_of_one_and_of_the_threshold(value: float, threshold: float) -> None:
    shown = float(similarity_text(value, threshold))
    assert (shown == 1.0) == (value == 1.0)
    assert (shown >= threshold) == (value >= threshold)
    assert abs(shown - value) <= 0.5001e-4


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1.0000"), (0.8, "0.8000"), (0.87654321, "0.8765"), (0.99999, "0.99999")]
)
def test_similarities_have_four_places_where_that_is_true(value: float, text: str) -> None:
    assert similarity_text(value, 0.8) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 s"),
        (9.99, "9.99 s"),
        (9.999, "10 s"),
        (59.6, "1 min 00 s"),
        (185, "3 min 05 s"),
        (7800, "2 h 10 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (999_990, "1.0 MB"), (5e9, "5.0 GB"), (2e15, "2000.0 TB")],
)
def test_sizes(count: float, text: str) -> None:
    assert megabytes(count) == text


def test_the_summary_says_all_that_the_contract_promises(summary: dict[str, Any]) -> None:
    text = "\n".join(summary_lines(summary, crowds=[], faults=[], verbose=False))
    for part in (
        "1,234 (5.6 MB), 1 empty, 2 shorter than one shingle",
        "left out      3 blank lines",
        "exact copies  4",
        "56 pairs sharing a band; 50 checked exactly",
        "2 of similarity 0.8 or more",
        "clusters      1, linked as star",
        "0.9931 promised for a pair at 0.8 (32x8 bands, 256 slots, hybrid)",
        "time          read 0.50 s, candidates 0.10 s, check 0.20 s",
        "7 MB/s with 2 threads",
        "210.0 MB",
        summary["spec_id"],
    ):
        assert part in text


def test_a_cluster_is_named_with_what_its_tasks_sent_to_each_other(summary: dict[str, Any]) -> None:
    summary.update(engine="spark", master="spark://host:7077", exchanged={"prints": 1_200_000, "keys": 23_000_000})
    lines = summary_lines(summary, crowds=[], faults=[], verbose=False)
    assert "speed         7 MB/s with Spark at spark://host:7077" in lines
    assert "exchanged     24.2 MB between tasks: prints 1.2 MB, keys 23.0 MB" in lines
    assert "peak memory   210.0 MB of 2.0 GB on the driver" in lines


def test_a_limit_that_was_passed_is_said_in_a_line_of_its_own_with_a_cure(summary: dict[str, Any]) -> None:
    summary["peak_memory"] = 2_040_000_000
    (line,) = [line for line in summary_lines(summary, crowds=[], faults=[], verbose=False) if "OVER LIMIT" in line]
    assert "by 40.0 MB" in line
    assert "--memory" in line


def test_ids_that_repeat_are_mentioned_only_when_there_are_any(summary: dict[str, Any]) -> None:
    def first() -> str:
        return summary_lines(summary, crowds=[], faults=[], verbose=False)[0]

    assert "seen before" not in first()
    summary.update(duplicate_ids=3, duplicate_id_example="a7")
    assert "3 with an id seen before, such as a7" in first()


def test_the_closing_line_is_one_line(summary: dict[str, Any]) -> None:
    assert closing_line(summary, ["a", "b", "c"]) == "neardup: 2 pairs in 0.80 s; a, b and c written"


def test_what_is_zero_is_not_shown(summary: dict[str, Any]) -> None:
    summary.update(empty=0, short=0, blank=0, exact_copies=0, candidates=0, checked=0, pairs=0, clusters=0)
    lines = summary_lines(summary, crowds=[], faults=[], verbose=False)
    assert [line[:14].strip() for line in lines] == [
        "documents", "candidates", "pairs", "recall", "time", "speed", "peak memory", "spec",
    ]  # fmt: skip
    assert lines[:3] == [
        "documents     1,234 (5.6 MB)",
        "candidates    none: no two distinct texts share a band",
        "pairs         none of similarity 0.8 or more",
    ]


def test_the_summary_stands_for_the_one_of_the_library(summary: dict[str, Any]) -> None:
    assert set(summary) == {field.name for field in fields(Summary)}
