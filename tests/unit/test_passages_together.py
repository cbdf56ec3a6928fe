"""Options of passages together: pages, a second pass and passages with changes where only some of them are wanted."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracles import chosen_repeats as plain
from tests.unit.test_near_passages import LETTERS, STORY, changed
from tests.unit.test_passage_page import after, data_of, merged

import neardup
from neardup.engine.repeats import chains, kept
from neardup.errors import InputError
from neardup.stages.repeats.policies import POLICIES
from neardup.tasks.repeats import heaviest
from neardup.tasks.repeats.census import take_census
from neardup.tasks.repeats.overview import top_passages
from neardup.tasks.repeats.places import read_spans

LONG = "We shall print the letters of our readers as long as they are of general interest, and not too long."


def printed(seed: int, stories: int = 5, papers: int = 9) -> list[str]:
    """Papers of stories with errors, each story at most once in a paper."""
    draw = random.Random(seed)
    known = ["".join(draw.choices(LETTERS + "  ", k=250)) for _ in range(stories)]
    noise = ["".join(draw.choices("0123456789 ", k=80)) for _ in range(papers)]
    return [
        "\n".join([noise[i], *(changed(story, 0.02, draw) for story in draw.sample(known, 2))]) for i in range(papers)
    ]


def told(found: neardup.RepeatedPassages, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.spans.select(list(names)).to_pylist()]


PLACE = ("id", "start", "end", "source_id", "source_start", "source_end", "similarity")


def test_changes_inside_groups_are_those_of_each_group_alone() -> None:
    texts = printed(1)
    ids = [f"{'ab'[i % 2]}{i}" for i in range(len(texts))]
    how: dict[str, Any] = {"min_bytes": 80, "gaps": 40, "threads": 1}
    found = neardup.passages(list(zip(ids, texts, strict=True)), group_by="^.", **how)
    alone = [
        neardup.passages([each for each in zip(ids, texts, strict=True) if each[0][0] == group], **how)
        for group in "ab"
    ]
    names = (*PLACE, "count", "documents", "first")
    assert sorted(told(found, *names)) == sorted(told(alone[0], *names) + told(alone[1], *names))
    assert min(each.summary.spans for each in alone) > 3
    assert set(told(found, "group", "group_documents")) == {("a", 5), ("b", 4)}
    assert found.summary.groups == {"count": 2, "untold": 0}


def test_numbers_are_of_places_of_a_passage_with_changes_and_not_of_its_equal_stretches() -> None:
    texts = printed(2)
    how: dict[str, Any] = {"min_bytes": 80, "gaps": 40, "threads": 1}
    every = neardup.passages(texts, **how)
    assert {count for (count,) in told(every, "count")} >= {3, 6}
    for more, name in (({"min_count": 4}, "count"), ({"min_docs": 4}, "documents"), ({"min_share": 0.4}, "documents")):
        found = neardup.passages(texts, **how, **more)
        wanted = [row for row in every.spans.to_pylist() if row[name] >= 4]
        rows = found.spans.to_pylist()
        assert [{**row, "passage": 0} for row in rows] == [{**row, "passage": 0} for row in wanted]
        numbers = {row["passage"] for row in rows}
        assert numbers == set(range(len({row["passage"] for row in wanted})))


def test_against_another_collection_changes_are_those_of_both_read_one_after_the_other() -> None:
    """No story stands twice in one of the two, so its first place is the one in the other collection."""
    draw = random.Random(3)
    stories = ["".join(draw.choices(LETTERS + "  ", k=250)) for _ in range(6)]
    other = [("o1", "\n".join(stories[:2])), ("o2", "\n".join(stories[2:4]))]
    inputs = [("i1", changed(stories[1], 0.02, draw)), ("i2", changed(stories[2], 0.02, draw)), ("i3", stories[5] * 2)]
    how: dict[str, Any] = {"min_bytes": 80, "gaps": 40, "threads": 1}
    found = neardup.passages(inputs, against=other, **how)
    both = neardup.passages([*other, *inputs], **how)
    assert told(found, *PLACE) == [row for row in told(both, *PLACE) if row[0] in ("i1", "i2")]
    assert told(found, "id", "source_id", "count", "documents", "first", "elsewhere") == [
        ("i1", "o1", 1, 1, False, True),
        ("i2", "o2", 1, 1, False, True),
    ]
    assert found.cut(min_cut=0, min_left=0)["text"].to_pylist() == ["", "", inputs[2][1]]
    assert neardup.passages(inputs, against=other, min_count=2, **how).summary.spans == 0


def test_reprints_of_one_story_are_told_once_by_the_place_in_the_other_collection() -> None:
    """They begin at other characters of it, since each has its own errors."""
    draw = random.Random(3)
    stories = ["".join(draw.choices(LETTERS + "  ", k=250)) for _ in range(2)]
    inputs = [f"{changed(stories[0][9 * i :], 0.03, draw)}\n\n{i}" for i in range(4)] + [stories[1]]
    found = neardup.passages(inputs, against=[stories[1] + "\n" + stories[0]], min_bytes=80, gaps=40, threads=1)
    rows = found.spans.to_pylist()
    assert len({row["source_start"] for row in rows}) > 2
    sizes = [row["end_byte"] - row["start_byte"] for row in rows]
    first, second = top_passages(found._run)
    assert (first["count"], first["bytes"], first["bytes_in_all"]) == (4, max(sizes[:4]), sum(sizes[:4]))
    assert (first["start_byte"], first["opening"][:9]) == (251, stories[0][:9])
    assert (second["count"], second["start_byte"], second["bytes_in_all"]) == (1, 0, 250)


def test_a_number_that_holds_two_stories_is_one_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a chain led to both: each has a first place, and they have one number."""
    draw = random.Random(4)
    stories = ["".join(draw.choices(LETTERS + "  ", k=300)) for _ in range(2)]
    texts = [*stories, *(f"x{story}" for story in stories)]
    how: dict[str, Any] = {"min_bytes": 80, "gaps": 40, "threads": 1}
    assert neardup.passages(texts, **how).summary.passages == 2
    group = chains.group_chains

    def united(*given: Any) -> Any:
        found = group(*given)
        return replace(found, passage=np.zeros_like(found.passage))

    monkeypatch.setattr(chains, "group_chains", united)
    found = neardup.passages(texts, **how)
    assert sum(row["first"] for row in found.spans.to_pylist()) == 2
    assert found.summary.passages == 1


def test_a_text_of_short_period_is_no_copy_of_a_shorter_one_elsewhere() -> None:
    texts, other = ["ab" * 200 + STORY], ["ab" * 20, f"{STORY[:90]}!{STORY[90:]}"]
    found = neardup.passages(texts, against=other, min_bytes=60, gaps=10, threads=1).spans.to_pylist()
    assert [(row["id"], row["source_id"], row["end"]) for row in found] == [(0, 1, 400 + len(STORY))]


def test_a_masthead_is_no_reprint_and_is_not_cut(tmp_path: Path) -> None:
    masthead = (
        "THE ARGUS. A journal of news, commerce and letters, printed every Saturday at the corner of Bay Street.\n"
    )
    (tmp_path / "masthead.txt").write_text(masthead)
    draw = random.Random(4)
    texts = [masthead + "".join(draw.choices(LETTERS + " ", k=200)) for _ in range(4)]
    texts[1:3] = [texts[1] + STORY, texts[2] + changed(STORY, 0.02, draw)]
    how: dict[str, Any] = {"min_bytes": 80, "gaps": 30, "threads": 1}
    assert set(told(neardup.passages(texts, **how), "count")) == {(4,), (2,)}
    found = neardup.passages(texts, ignore=tmp_path / "masthead.txt", **how)
    assert told(found, "id", "count") == [(1, 2), (2, 2)]
    assert found.summary.ignored == {"passages": 1, "too_short": 0, "bytes": 4 * len(masthead)}
    for policy in POLICIES:
        left = found.cut(policy, min_cut=0, snap="char")["text"].to_pylist()
        assert all(text.startswith(masthead) for text in left)
        assert [text for i, text in enumerate(left) if i in (0, 3)] == [texts[0], texts[3]]


SITES = [
    *((f"a/{i}", f"Menu | Home | Imprint\n{LONG}\n{'Story of the bridge.' * (i + 1)}") for i in range(3)),
    *((f"b/{i}", f"{LONG}\nMenu | Home | Imprint\nNo rain {i}.\nMenu | Home | Imprint") for i in range(2)),
]
OTHER = [("other", f"x\n{LONG[:90]}\n{LONG}\nNo rain 1.\nMenu | Home | Imprint")]
ASKED: list[dict[str, Any]] = [
    {"unit": "line"},
    {"unit": "line", "span": 2, "min_docs": 2},
    {"unit": "line", "group_by": "^.", "min_share": 0.5},
    {"unit": "line", "against": OTHER},
    {"min_bytes": 18, "against": OTHER},
    {"min_bytes": 18, "group_by": "^."},
    {"min_bytes": 40, "gaps": 20},
    {"min_bytes": 40, "gaps": 20, "against": OTHER},
    {"unit": "line", "ignore": "menu"},
    {"min_bytes": 18, "ignore": "menu"},
    {"min_bytes": 40, "gaps": 20, "ignore": "menu"},
]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: " ".join(f"{k}={str(v)[:8]}" for k, v in asked.items()))
def test_a_page_has_every_span_once_and_leaves_what_cut_leaves(asked: dict[str, Any], tmp_path: Path) -> None:
    if "ignore" in asked:
        (tmp_path / "menu.txt").write_text("Menu | Home | Imprint\n")
        asked = {**asked, "ignore": tmp_path / "menu.txt"}
    found = neardup.passages(SITES, threads=1, **asked)
    assert found.summary.spans > 1
    is_across = "against" in asked
    for policy in ("first", "none"):
        meta, chunks = data_of(found.report(tmp_path / "page.html", policy=policy, min_left=0).path)
        rows, passages = chunks["repeats-0000"], merged(chunks, "places", "passages")
        shown = [
            (number, place["id"], place["start"], place["end"])
            for number in passages
            for place in passages[number]["places"]
        ]
        assert sorted(each[1:] for each in shown) == sorted(told(found, "id", "start", "end"))
        spans = {tuple(row[name] for name in ("id", "start", "end")): row for row in found.spans.to_pylist()}
        for number, *place in shown:
            span = spans[tuple(place)]
            if span["first"] and "gaps" not in asked:
                assert (rows["id"][number], rows["start"][number]) == tuple(place[:2])
            if "group_by" in asked:
                assert rows["id"][number][0] == place[0][0]
            if is_across:
                assert (rows["id"][number], span["source_id"]) == ("other", "other")
        left = {row["id"]: row["text"] for row in found.cut(policy, min_left=0).to_pylist()}
        documents = merged(chunks, "documents", "documents")
        lost = {chunks["losses-0000"]["id"][number] for number in documents}
        assert lost >= {name for name, text in SITES if left[name] != text}
        for number, data in documents.items():
            name = chunks["losses-0000"]["id"][number]
            assert after(data, dict(SITES)[name]) == left[name]
        assert meta["passages"]["total"] == len(rows["id"]) == sum(row[2] for row in meta["passages"]["lengths"])
    assert str(found.show(3, characters=20))


def test_a_page_tells_a_share_of_nothing_which_is_of_two_documents(tmp_path: Path) -> None:
    found = neardup.passages([f"{LONG} {LONG}", STORY, STORY], min_bytes=80, min_share=0.0, threads=1)
    assert told(found, "id", "documents") == [(1, 2), (2, 2)]
    meta, _ = data_of(found.report(tmp_path / "page.html").path)
    wanted = "those of 80 bytes or more in 0 % or more of the documents"
    assert dict(meta["facts"])["passages"] == wanted


def test_a_page_says_which_passages_were_wanted(tmp_path: Path) -> None:
    (tmp_path / "menu.txt").write_text("Menu | Home | Imprint\n")
    how: dict[str, Any] = {"group_by": "^.", "min_docs": 2, "ignore": tmp_path / "menu.txt"}
    page = neardup.passages(SITES, unit="line", threads=1, **how).report(tmp_path / "page.html").path
    meta, _ = data_of(page)
    facts = dict(meta["facts"])
    assert facts["groups"] == "2 groups by ^."
    assert facts["passages"] == "those of 1 line or more in 2 or more documents"
    assert facts["ignored"].endswith("of the text, which stands in a template")
    assert facts["cut"] == "by the policy first, to whole lines"
    assert meta["passages"]["groups"]["label"] == "Group"
    assert [row[:2] for row in meta["passages"]["groups"]["rows"]] == [["a", 3], ["b", 2]]
    text = page.read_text("utf-8")
    assert "of the text stands at two or more places of its group, in passages of 1 line or more in 2 or more" in text
    other = neardup.passages(SITES, unit="line", against=OTHER, threads=1).report(tmp_path / "other.html").path
    assert "of the text stands in the other collection, in passages of 1 line or more" in other.read_text("utf-8")


@pytest.mark.parametrize("policy", ["first", "none"])
@pytest.mark.parametrize("kind", ["plain", "against", "group_by", "ignore"])
def test_a_second_pass_over_lines_is_held_against_the_same(kind: str, policy: str, tmp_path: Path) -> None:
    draw = random.Random(kind)
    texts = ["\n".join(draw.choices("abcdefgh", k=7)) for _ in range(9)]
    ids = [f"{'xy'[i % 2]}{i}" for i in range(9)]
    (tmp_path / "t.txt").write_text("a\nb")
    asked: dict[str, dict[str, Any]] = {
        "plain": {},
        "against": {"against": ["ab\na\nb", "c\nd\ne"]},
        "group_by": {"group_by": "^.", "min_docs": 2},
        "ignore": {"ignore": tmp_path / "t.txt"},
    }
    found = neardup.passages(list(zip(ids, texts, strict=True)), unit="line", span=2, threads=1, **asked[kind])
    told_left = found.cut(policy, min_left=4).to_pylist()
    blobs = [row["text"].replace("\n", "").encode() for row in told_left]
    assert len(blobs) > 1
    how: dict[str, dict[str, Any]] = {
        "plain": {},
        "against": {"against": [b"-ab", b"cde"]},
        "group_by": {"groups": [row["id"][0] for row in told_left], "min_docs": 2},
        "ignore": {"templates": [b"ab"]},
    }
    wanted = plain.chosen(blobs, 2, **how[kind])
    covered = {(d, j) for d, i in wanted.counted for j in (i, i + 1)}
    summary = found.second_pass(policy, min_left=4)
    assert summary.documents == len(blobs)
    # a run of n lines of a letter each has 2 n - 1 bytes
    runs = [place for place in covered if (place[0], place[1] - 1) not in covered]
    assert abs(summary.repeated_bytes - (2 * len(covered) - len(runs))) <= summary.spans
    assert (summary.spans > 0) == bool(covered)


def test_a_second_pass_counts_the_groups_of_which_a_document_is_left() -> None:
    texts = [("a1", f"{LONG}\n1"), ("a2", f"{LONG}\n2"), ("b1", LONG), ("b2", LONG), ("-", STORY)]
    found = neardup.passages(texts, unit="line", group_by="[a-z]", threads=1)
    assert found.summary.groups == {"count": 3, "untold": 1}
    assert found.second_pass("none", min_left=1).groups == {"count": 2, "untold": 1}


def test_a_second_pass_finds_changes_that_are_left() -> None:
    draw = random.Random(9)
    texts = [changed(STORY, 0.01, draw) + "".join(draw.choices("0123456789", k=50)) for _ in range(4)]
    found = neardup.passages(texts, min_bytes=80, gaps=20, threads=1)
    assert found.second_pass().spans == 0
    assert found.second_pass(min_cut=10_000).later_bytes == found.summary.later_bytes


def test_near_duplicate_lines_take_least_numbers_and_no_other_selection() -> None:
    texts = [f"{LONG[i:]}\n{STORY[: 100 + i]}" for i in range(3)] + [f"{STORY[:99]}\nx\n{STORY[:98]}", LONG[::-1]]
    how: dict[str, Any] = {"unit": "line", "threshold": 0.8, "threads": 1}
    every = neardup.passages(texts, **how).spans.to_pylist()
    assert {(row["count"], row["documents"]) for row in every} == {(3, 3), (5, 4)}
    for more, least in (({"min_count": 4}, 4), ({"min_docs": 4}, 4), ({"min_share": 0.7}, 4), ({"min_docs": 5}, 6)):
        wanted = [row for row in every if row["count"] >= least]
        assert neardup.passages(texts, **how, **more).spans.to_pylist() == wanted
    with pytest.raises(InputError, match="Leave --threshold"):
        neardup.passages(texts, group_by="folder:1", **how)


@pytest.mark.parametrize("is_filed", [False, True])
@pytest.mark.parametrize("asked", [{"min_bytes": 16}, {"unit": "line"}, {"min_bytes": 16, "group_by": "^."}], ids=str)
def test_what_weighs_most_is_what_the_census_of_a_page_says(
    asked: dict[str, Any], is_filed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heaviest, "BLOCK", 5)
    if is_filed:
        monkeypatch.setattr(heaviest, "SHARE", 0.0)
        monkeypatch.setattr(kept, "MEMORY_SHARE", 0.0)
    draw = random.Random(str(asked))
    words = ["".join(draw.choices("abcdé", k=draw.randint(1, 9))) for _ in range(9)]
    texts = [(f"{'xy'[i % 2]}{i}", draw.choice(" \n").join(draw.choices([*words, "ab" * 12], k=25))) for i in range(40)]
    found = neardup.passages(texts, threads=1, **asked)
    spans = read_spans(found._run)
    census = take_census(spans, most=30, least=1)
    rows = census.rows
    wanted = zip(census.weight, spans.document[rows], spans.bytes[rows], census.spans, census.documents, strict=True)
    got = heaviest.heaviest(found._run, 30)
    assert [(each.weight, each.document, each.bytes, each.places, each.documents) for each in got] == [*wanted]
    assert len(got) >= 8
    top = top_passages(found._run, 3)
    assert [(each["count"], each["documents"], each["bytes_in_all"]) for each in top] == [
        (each.places, each.documents, each.weight) for each in got[:3]
    ]
