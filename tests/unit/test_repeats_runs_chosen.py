"""Repeated lines of which only some count: groups, least numbers, another collection, templates, by brute force."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import chosen_repeats as plain
from tests.oracles.whole_units import units_of
from tests.properties.test_chosen_repeats import check, chooser
from tests.unit.repeating import BAD_KEY, rows_of
from tests.unit.test_repeats_runs import runs_of

import neardup
from neardup.engine.repeats.read_units import WholeUnits
from neardup.errors import InputError
from neardup.params import Normalize
from neardup.stages.repeats.policies import POLICIES

LINES = WholeUnits("line", Normalize("none"))
Asked = tuple[list[str], int, dict[str, Any]]


@st.composite
def asked_of_lines(draw: st.DrawFn) -> Asked:
    """Texts of a few lines that are often the same, and which runs of them are asked for."""
    words = ["a", "bb", "c d", "\u3000\u00e9", "X"][: draw(st.integers(1, 5))]
    texts = st.lists(st.sampled_from([*words, ""]), max_size=9).map("\n".join)
    some = draw(st.lists(texts, min_size=1, max_size=7))
    span = draw(st.integers(1, 4))
    how: dict[str, Any] = {}
    if draw(st.booleans()):
        how["templates"] = draw(st.lists(texts, min_size=1, max_size=2))
    kind = draw(st.sampled_from(["against", "groups", "plain"]))
    if kind == "against":
        how["against"] = draw(st.lists(texts, max_size=3))
    if kind == "groups":
        how["groups"] = draw(st.lists(st.sampled_from("xyz"), min_size=len(some), max_size=len(some)))
    for name, values in {
        "min_count": st.integers(2, 5),
        "min_docs": st.integers(1, 3),
        "min_share": st.sampled_from(["0.05", "0.5", "0.75"]),
    }.items():
        if draw(st.booleans()):
            how[name] = draw(values)
    return some, span, how


def lines_of(texts: list[str]) -> list[tuple[str, ...]]:
    return [tuple(unit.text for unit in units_of(text, "line")) for text in texts]


@given(asked_of_lines())
@settings(max_examples=150)
def test_every_run_that_counts_is_in_one_segment_and_no_other_run_is(asked: Asked) -> None:
    texts, span, how = asked
    others, templates = how.get("against") or [], how.get("templates") or []
    choose = chooser(len(texts), len(others), how)
    found = runs_of([*texts, *others, *templates], LINES, span, choose=choose)
    told = how | {name: lines_of(how[name]) for name in ("against", "templates") if name in how}
    check(lines_of(texts), span, found, told)


@pytest.mark.parametrize("span", [1, 2, 3])
def test_disk_threads_and_hashes_change_nothing_of_chosen_runs(span: int, tmp_path: Path) -> None:
    draw = random.Random(span)
    texts = ["\n".join(draw.choices(["a", "bb", "c", "dd", ""][span - 1 :], k=draw.randint(2, 14))) for _ in range(14)]
    for number, how in enumerate(
        ({"against": texts[9:12]}, {"groups": list("xyxyzxyxz"), "min_docs": 2, "templates": texts[12:]})
    ):
        others, templates = how.get("against", []), how.get("templates", [])
        every = [*texts[:9], *others, *templates]
        choose = chooser(9, len(others), how)
        folder = tmp_path / str(number)
        folder.mkdir()
        filed = runs_of(every, LINES, span, key=BAD_KEY, step=2, threads=2, folder=folder, choose=choose)
        assert rows_of(filed) == rows_of(runs_of(every, LINES, span, choose=choose))
        assert len(filed) >= 2


def test_a_policy_cuts_of_chosen_lines_what_it_should(tmp_path: Path) -> None:
    draw = random.Random(7)
    texts = ["\n".join(draw.choices("abcdefgh", k=9)) for _ in range(8)]
    (tmp_path / "template.txt").write_text("a\n---\nb\nc\n")
    names = [f"{'xy'[i % 2]}{i}" for i in range(8)]
    rows = list(zip(names, texts, strict=True))
    blobs = [text.replace("\n", "").encode() for text in texts]
    asked: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"ignore": tmp_path / "template.txt"}, {"templates": [b"a", b"bc"]}),
        ({"against": ["c\nd", "a"]}, {"against": [b"cd", b"a"]}),
        ({"group_by": "^.", "min_docs": 3}, {"groups": [name[0] for name in names], "min_docs": 3}),
        ({"min_share": 0.75}, {"min_share": "0.75"}),
    ]
    for given_, told in asked:
        found = neardup.passages(rows, unit="line", threads=1, **given_)
        wanted = plain.chosen(blobs, 1, **told)
        assert wanted.counted
        for policy in POLICIES:
            left = [text.replace("\n", "").encode() for text in found.cut(policy, min_left=0)["text"].to_pylist()]
            assert left == plain.left_by(blobs, 1, policy, wanted)


def test_groups_and_the_other_collection_are_told_in_the_table() -> None:
    rows = [(f"{site}/{i}", f"Menu\n{site}\nStory {i}") for site in ("a", "b") for i in range(3)]
    found = neardup.passages(rows, unit="line", group_by="^[^/]+", min_docs=3, threads=1)
    told = [
        (row["id"], row["end"], row["source_id"], row["group"], row["group_documents"])
        for row in found.spans.to_pylist()
    ]
    assert told == [(f"{site}/{i}", 6, f"{site}/0", site, 3) for site in ("a", "b") for i in range(3)]
    assert found.groups is not None
    assert found.groups["repeated_bytes"].to_pylist() == [18, 18]
    other = [("other", "Story 1\n\nMENU")]
    found = neardup.passages(rows, unit="line", against=other, normalize="casefold", threads=1)
    told = [
        (row["id"], row["start"], row["source_id"], row["source_start"], row["count"])
        for row in found.spans.to_pylist()
    ]
    assert told[:3] == [("a/0", 0, "other", 9, 6), ("a/1", 0, "other", 9, 6), ("a/1", 7, "other", 0, 2)]
    assert (found.summary.against, found.summary.later_bytes) == ({"documents": 1, "bytes": 13}, 6 * 4 + 2 * 7)


def test_a_template_with_too_few_lines_is_refused_or_told(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("One line\nx\nanother line\n---\nthe third\n")
    texts = ["One line\nx\nanother line\nz", "One line\nx\nanother line\ny"]
    assert neardup.passages(texts, unit="line", span=2, ignore=path).summary.ignored == {
        "passages": 2,
        "too_short": 1,
        "bytes": 46,
    }
    wanted = "its longest passage has 1 line, and passages of 2 lines or more are looked for, so nothing would be"
    with pytest.raises(InputError, match=re.escape(f"{wanted} ignored. Give --span 1 (span=) or less")):
        neardup.passages(texts, unit="line", span=2, min_chars=5, ignore=path)
