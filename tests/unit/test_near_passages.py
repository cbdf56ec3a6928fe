"""Passages with changes: against an oracle, by hand, with hard texts, and the same answer however it is computed."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import near_repeats as plain

import neardup
from neardup.engine.repeats.chains import ChainedRepeats
from neardup.engine.space import Budget
from neardup.errors import InputError
from neardup.inputs.names import Provenance
from neardup.inputs.reader import open_inputs
from neardup.params import InputOptions, RunOptions
from neardup.stages.repeats.chains import Chains, group_chains
from neardup.stages.repeats.segments import FIRST
from neardup.tasks.repeats.chains import ChainRun, Changes
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.settings import Length

STORY = (
    "A whale of uncommon size was seen off the point on Sunday last by the crew of the Mary Ann. The master says that "
    "it lay quite still upon the water for the better part of an hour, and that several of the men took it for a reef."
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def rows(texts: Sequence[str], **how: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = neardup.passages(list(texts), threads=1, **how).spans.to_pylist()
    return found


def run_of(texts: Sequence[str], length: int, **changes: Any) -> ChainRun:
    """A run that has not begun."""
    reader = open_inputs(list(texts), InputOptions())
    asked = Changes.of(Length("byte", length), **changes)
    assert asked is not None
    return ChainRun(reader, Length("byte", length), RunOptions(threads=1), changes=asked)


def changed(text: str, rate: float, draw: random.Random) -> str:
    """Some letters are others, some are lost, some come in."""
    out = []
    for char in text:
        x = draw.random()
        if x >= rate:
            out.append(char)
        elif x > rate / 4:
            out.append(draw.choice(LETTERS) + char * (x > rate * 3 / 4))
    return "".join(out)


def test_a_story_with_an_error_is_one_place_with_its_similarity():
    texts = [f"SHIPPING. {STORY} Wool.", "Nothing of it.", f"FROM THE COAST! {STORY.replace('hour', 'honr')}\nRain?"]
    first, second = rows(texts, min_bytes=100, gaps=20)
    size = len(STORY) + 1  # the blank before it is of both texts
    assert (first["id"], first["start"], first["end"], first["first"]) == (0, 9, 9 + size, True)
    assert (second["id"], second["start"], second["end"], second["first"]) == (2, 15, 15 + size, False)
    assert (second["source_id"], second["source_start"], second["source_end"]) == (0, 9, 9 + size)
    assert (first["similarity"], second["similarity"]) == (1.0, 1 - 1 / size)
    assert {row["passage"] for row in (first, second)} == {0}
    assert [row["count"] for row in (first, second)] == [row["documents"] for row in (first, second)] == [2, 2]


def test_a_third_copy_whose_pieces_come_from_two_earlier_ones_is_a_copy_of_the_first():
    draw = random.Random(2)
    blocks = ["".join(draw.choices(LETTERS, k=30)) for _ in range(7)]
    spoil = [{1}, {3, 5}, {1, 3}]  # blocks of each copy that have an error in the middle; that of 1 is the same twice
    texts = []
    for i, bad in enumerate(spoil):
        parts = [block[:15] + "*" * (k in bad and i != 2) + block[15:] for k, block in enumerate(blocks)]
        texts.append(f"{'XYZ'[i] * 9}{''.join(parts)}{'UVW'[i] * 9}")
    found = rows(texts, min_bytes=100, gaps=10)
    assert [(row["id"], row["source_id"], row["passage"]) for row in found] == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
    size = 7 * 30
    assert [(row["start"], row["end"]) for row in found] == [(9, 10 + size), (9, 11 + size), (9, 9 + size)]
    assert [row["similarity"] for row in found] == [1, 1 - 3 / (size + 2), 1 - 1 / (size + 1)]


def test_a_difference_longer_than_the_gaps_parts_a_passage():
    draw = random.Random(3)
    one, two, put_in = ("".join(draw.choices(LETTERS, k=n)) for n in (60, 80, 30))
    texts = [one + two, one + put_in + two]
    assert [(row["start"], row["end"]) for row in rows(texts, min_bytes=40, gaps=30)] == [(0, 140), (0, 170)]
    parted = [(row["start"], row["end"]) for row in rows(texts, min_bytes=40, gaps=29) if not row["first"]]
    assert parted == [(0, 60), (90, 170)]


def test_a_text_that_repeats_itself_at_once_is_no_passage_and_one_that_does_so_later_is():
    assert rows(["ab" * 200, "abc" * 100], min_bytes=40, gaps=10) == []
    again = rows([f"{STORY} And then, of all things: {STORY.replace('crew', 'men')}"], min_bytes=100, gaps=10)
    assert [(row["id"], row["first"], row["elsewhere"], row["documents"]) for row in again] == [
        (0, True, False, 1),
        (0, False, False, 1),
    ]
    assert again[1]["source_end"] <= again[1]["start"]


def test_what_is_cut_still_stands_whole_at_its_first_place():
    draw = random.Random(5)
    stories = ["".join(draw.choices(LETTERS + "  ", k=300)) for _ in range(4)]
    texts = []
    for _ in range(20):
        part = " ".join(changed(story, 0.03, draw) for story in draw.sample(stories, 2))
        texts.append(f"{''.join(draw.choices(LETTERS, k=60))} {part} {''.join(draw.choices(LETTERS, k=60))}")
    found = neardup.passages(texts, min_bytes=80, gaps=40, threads=1)
    spans = found.spans.to_pylist()
    left = found.cut(min_cut=0)["text"].to_pylist()
    assert sum(map(len, left)) < 0.5 * sum(map(len, texts))
    firsts = [row for row in spans if row["first"]]
    assert all(texts[row["id"]][row["start"] : row["end"]] in left[row["id"]] for row in firsts)
    for row in spans:
        assert any(
            first["id"] == row["source_id"]
            and first["start"] <= row["source_start"]
            and row["source_end"] <= first["end"]
            for first in firsts
        )


@given(st.data())
def test_chains_are_those_of_an_oracle(data: st.DataObject):
    draw = random.Random(data.draw(st.integers(0, 1 << 30)))
    letters = LETTERS[: data.draw(st.sampled_from([3, 8, 26]))]
    pieces = ["".join(draw.choices(letters, k=draw.randint(10, 60))) for _ in range(5)]
    rate = data.draw(st.sampled_from([0.0, 0.03, 0.1]))
    texts = [
        "".join(changed(piece, rate, draw) for piece in draw.choices(pieces, k=draw.randint(1, 6))) for _ in range(6)
    ]
    match, gaps = data.draw(st.integers(12, 20)), data.draw(st.integers(1, 40))
    length, similarity = data.draw(st.integers(20, 60)), data.draw(st.sampled_from([0.3, 0.5, 0.8, 1.0]))
    with run_of(texts, length, gaps=gaps, min_match=match, min_similarity=similarity) as run:
        exact = PassageRun.search(run, run.reader.tasks(1), total_bytes=None, names=Provenance(), space=run.space)
        names = ("document", "start", "end", "kind", "source", "source_start")
        parts = list(exact.segments())
        segments = [
            row for part in parts for row in zip(*(getattr(part, name).tolist() for name in names), strict=True)
        ]
        found = run.find()
    assert isinstance(found, ChainedRepeats)
    blobs = [text.encode() for text in texts]
    rules = plain.Rules(match, gaps, length, round(1000 * similarity))
    begins = np.cumsum([0, *map(len, blobs)])
    wanted = {tuple(each) for each in plain.later_places(blobs, segments, rules)}
    near, own = found.found, found.found.segments
    later = own.kind != FIRST
    sides = (
        begins[own.document] + own.start,
        begins[own.document] + own.end,
        begins[own.source] + own.source_start,
        begins[own.source] + near.source_end,
        near.differences,
    )
    places = set(zip(*(column[later].tolist() for column in sides), strict=True))
    assert places == wanted
    for begin, end, source, source_end, differences in places:
        whole = b"".join(blobs)
        true = plain.levenshtein(whole[begin:end], whole[source:source_end])[-1][-1]
        assert true <= differences
        assert differences <= (1 - similarity) * max(end - begin, source_end - source) + 1e-9
        assert min(end - begin, source_end - source) >= length
        assert source_end <= begin
    assert (own.end - own.start >= length).all()


@given(st.data())
def test_without_changes_the_places_are_the_exact_ones(data: st.DataObject):
    """Blocks of random letters, whole, each beside characters that stand once: spans and places are the blocks."""
    draw = random.Random(data.draw(st.integers(0, 1 << 30)))
    blocks = ["".join(draw.choices(LETTERS, k=draw.randint(40, 90))) for _ in range(4)]
    once = map(chr, range(0x3000, 0x4000))
    texts = [
        "".join(next(once) + draw.choice(blocks) + next(once) for _ in range(draw.randint(0, 3))) for _ in range(6)
    ]
    names = ["id", "start", "end", "source_id", "source_start", "first"]
    exact = neardup.passages(texts, min_chars=40, threads=1).spans
    near = neardup.passages(texts, min_chars=40, gaps=9, min_match=20, min_similarity=1.0, threads=1).spans
    assert near.select(names).to_pylist() == exact.select(names).to_pylist()


def test_a_first_place_is_as_long_as_was_asked_for_too():
    draw = random.Random(11)
    lost = "".join(draw.choices(LETTERS, k=98))
    texts = [f"1{lost}1", f"2{lost[:30]}***{lost[30:]}2"]  # 98 characters, and 101
    assert rows(texts, min_chars=99, gaps=20) == []
    assert [row["end"] - row["start"] for row in rows(texts, min_chars=98, gaps=20)] == [98, 101]


def test_threads_memory_and_files_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    draw = random.Random(6)
    stories = ["".join(draw.choices("aábcdeéfgh ", k=400)) for _ in range(15)]
    texts = [" ".join(changed(story, 0.02, draw) for story in draw.sample(stories, 3)) for _ in range(20)]
    whole = neardup.passages(texts, min_chars=100, gaps=50, threads=1)
    lines = tmp_path / "texts.jsonl"
    lines.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)), "utf-8")
    for budget in (None, 1000):
        if budget is not None:
            monkeypatch.setattr(Budget, "store", budget)
        workdir = None if budget is None else tmp_path / "work"
        other = neardup.passages(lines, min_chars=100, gaps=50, threads=2, block=1000, workdir=workdir)
        assert (tmp_path / "work").exists() == (budget is not None)
        assert other.spans.equals(whole.spans)
        assert other.cut().equals(whole.cut())
        other.close()
    bytes_too = neardup.passages(texts, min_bytes=100, gaps=50, threads=1).spans.to_pylist()
    for row in bytes_too:
        blob = texts[row["id"]].encode()
        assert texts[row["id"]][row["start"] : row["end"]] in blob[row["start_byte"] : row["end_byte"]].decode(
            "utf-8", "ignore"
        )


def test_work_grows_with_the_copies_and_not_with_their_pairs():
    draw = random.Random(7)
    story = "".join(draw.choices(LETTERS + "   ", k=300))
    work, found = {}, {}
    for copies in (500, 4000):
        texts = []
        for _ in range(copies):
            at = draw.randrange(len(story))
            texts.append(story[:at] + draw.choice("0123456789") + story[at + 1 :])
        with run_of(texts, 100, gaps=30) as run:
            repeats = run.find()
            assert isinstance(repeats, ChainedRepeats)
            work[copies], found[copies] = repeats.work, repeats.found
    assert work[4000] < 9 * work[500]
    assert work[4000] < 4000 * 300 * 30
    assert [(len(each), each.passage.max()) for each in found.values()] == [(500, 0), (4000, 0)]


def test_two_passages_of_which_one_place_is_a_copy_are_one():
    """Rows 0 and 1 are one place, found from sources that are apart; row 2 is a passage of its own."""
    begin, end, source, source_end = [200, 205, 300], [250, 252, 330], [0, 100, 60], [50, 150, 90]
    chains = Chains(*map(np.array, (begin, end, source, source_end, [3, 9, 1], [0, 0, 2])))
    found = group_chains(chains, np.array([0, 95, 200, 400]), 3)
    own = found.segments
    assert own.document.tolist() == [0, 0, 1, 2, 2]
    assert (own.start.tolist(), own.end.tolist()) == ([0, 60, 5, 0, 100], [50, 90, 55, 50, 130])
    assert found.passage.tolist() == [0, 1, 0, 0, 1]
    assert own.most.tolist() == [3, 2, 3, 3, 2]
    assert own.documents.tolist() == [3, 2, 3, 3, 2]
    assert own.kind.tolist() == [1, 1, 1, 3, 3]
    assert found.differences.tolist() == [0, 0, 0, 3, 1]


def test_words_are_compared_as_words():
    one = "The master says that it lay quite still upon the water for the better part of an hour before it went"
    two = "So, the master said that it lay quite STILL upon the waters for the better part of one hour before it went!"
    found = rows([one, two], min_words=12, gaps=6, normalize="casefold")
    assert [(row["start"], row["end"]) for row in found] == [(0, len(one)), (4, len(two) - 1)]
    assert found[1]["similarity"] == 1 - 3 / 21


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"gaps": 0}, "gaps is 0. Give a whole number of bytes from 1 to 1,000."),
        ({"gaps": 1001}, "gaps is 1001."),
        ({"gaps": True}, "gaps is True."),
        ({"gaps": 9, "min_match": 11}, "from 12 to 100, the length of the shortest passage."),
        ({"gaps": 9, "min_match": 101}, "from 12 to 100, the length of the shortest passage."),
        ({"gaps": 9, "min_similarity": 0.2}, "min_similarity is 0.2. Give a number from 0.3 to 1."),
        ({"min_match": 20}, "min_match is for passages with changes. Give gaps too, or leave it out."),
        ({"min_similarity": 0.5}, "min_similarity is for passages with changes."),
    ],
)
def test_what_cannot_be_used_is_refused(how: dict[str, Any], words: str):
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        neardup.passages(["a"], min_bytes=100, **how)
