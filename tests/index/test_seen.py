"""Questions that end at the first match, and single texts: held against comparing every pair, and against a batch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.specs import KINDS, Kind, text_near
from tests.index.tiny import tiny
from tests.oracles.index import NaiveIndex

from neardup import Index
from neardup.index import answers
from neardup.index.answers import quick
from neardup.kernels.asking import FEW

KIND = Kind("word:1", threshold=0.5)
WORDS = [f"w{i}" for i in range(40)]


def crowded(draw: random.Random) -> str:
    """A text of one of three templates with some words exchanged, or now and then one of its own."""
    template = draw.choice([WORDS[:8], WORDS[4:12], WORDS[20:26]]) if draw.random() < 0.9 else draw.sample(WORDS, 6)
    return " ".join(word if draw.random() < 0.75 else draw.choice(WORDS) for word in template)


@pytest.fixture(params=["memory", "disk", "segments"])
def crowd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, NaiveIndex, random.Random]]:
    """An index of crowds, some documents removed and some replaced, and its twin."""
    draw, naive = random.Random(5), KIND.naive()
    with (
        Index.create(None if request.param == "memory" else tmp_path / "index", **KIND.options) as index,
        tiny(admit_at_once=1024),
    ):
        for start in range(0, 240, 40):
            ids = list(range(start, start + 40))
            texts = [crowded(draw) for _ in ids]
            index.add(ids, texts)
            naive.add(ids, texts)
        gone = [*range(30), *range(30, 240, 7)]
        index.remove(gone)
        naive.remove(gone)
        changed = list(range(31, 240, 9))
        texts = [crowded(draw) for _ in changed]
        index.add(changed, texts, on_duplicate="replace")
        naive.add(changed, texts, on_duplicate="replace")
        if request.param != "segments":
            yield index, naive, draw
            return
        index.compact()
        more = [f"late {i}" for i in range(10)]
        index.remove(list(range(33, 45)), missing="skip")
        naive.remove(list(range(33, 45)), missing="skip")
        texts = [crowded(draw) for _ in more]
        index.add(more, texts)
        naive.add(more, texts)
        with Index.open(tmp_path / "index", read_only=True) as reader:
            yield reader, naive, draw


def check_seen(index: Any, naive: NaiveIndex, texts: list[str], found: list[Any]) -> None:
    """Hold matches against every document: there is one if any is alike, it is exact, and best of few candidates."""
    for text, hit in zip(texts, found, strict=True):
        near = naive.query(text)
        assert (hit is None) == (near == []), text
        if hit is not None:
            assert (hit.id, hit.similarity) in near
            candidates = index.query(text, exact=False, top=None)
            assert hit.bands == next(each.bands for each in candidates if each.id == hit.id)
            if len(candidates) <= answers.AT_ONCE and answers.FIRST_POSTINGS >= answers.AT_ONCE:
                assert (hit.id, hit.similarity) == near[0]


@pytest.mark.parametrize(("postings", "at_once"), [(64, 32), (64, 5), (3, 2), (1, 1)])
def test_a_match_is_found_exactly_if_there_is_one(
    crowd: tuple[Any, NaiveIndex, random.Random], monkeypatch: pytest.MonkeyPatch, postings: int, at_once: int
) -> None:
    index, naive, draw = crowd
    monkeypatch.setattr(answers, "FIRST_POSTINGS", postings)
    monkeypatch.setattr(answers, "AT_ONCE", at_once)
    texts = [*(crowded(draw) for _ in range(25)), *(" ".join(draw.sample(WORDS, 7)) for _ in range(10)), ""]
    check_seen(index, naive, texts, index.seen(texts))
    check_seen(index, naive, texts[::3], [index.seen(text) for text in texts[::3]])
    for text, hit in zip(texts, index.seen(texts, threshold=0.8), strict=True):
        assert (hit is None) == (naive.query(text, threshold=0.8) == []), text
    assert any(index.query(text, top=None) == [] for text in texts)
    assert any(index.seen(texts))
    for text in texts[:12]:
        assert [(hit.id, hit.similarity) for hit in index.query(text, top=None)] == naive.query(text)


def test_only_the_whole_lookup_finds_the_one_match_behind_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first documents of each key are alike in half of their words; removed copies come before the match, too."""
    monkeypatch.setattr(answers, "FIRST_POSTINGS", 4)
    query = " ".join(WORDS[:10])
    with Index.create(**{**KIND.options, "threshold": 0.8}) as index:
        index.add(
            [f"half {i}" for i in range(20)], [" ".join([*WORDS[:5], *WORDS[10 + i : 15 + i]]) for i in range(20)]
        )
        index.add(
            [f"other half {i}" for i in range(20)], [" ".join(WORDS[5:10] + WORDS[15 + i : 20 + i]) for i in range(20)]
        )
        index.add([f"copy {i}" for i in range(9)], [query] * 9)
        index.remove([f"copy {i}" for i in range(8)])
        assert index.seen(query) == index.query(query, top=1)[0]
        assert index.add_if_new("new", query, threshold=0.9).match.id == "copy 8"
        index.remove("copy 8")
        assert index.seen(query) is None
        assert index.add_if_new("new", query).is_new


@pytest.mark.parametrize("on_duplicate", ["skip", "replace"])
@pytest.mark.parametrize("postings", [64, 2])
def test_a_cut_lookup_does_not_change_what_is_new(
    monkeypatch: pytest.MonkeyPatch, postings: int, on_duplicate: str
) -> None:
    monkeypatch.setattr(answers, "FIRST_POSTINGS", postings)
    monkeypatch.setattr(answers, "AT_ONCE", 2)
    draw, naive = random.Random(7), KIND.naive()
    with Index.create(**KIND.options) as index:
        for number in range(120):
            id, text = draw.randrange(40), crowded(draw)
            others = [hit for hit in naive.query(text) if on_duplicate == "skip" or hit[0] != id]
            made = index.add_if_new(id, text, threshold=0.6, on_duplicate=on_duplicate)
            near = [hit for hit in others if hit[1] >= 0.6]
            is_new = not near and (on_duplicate == "replace" or id not in naive)
            assert made.is_new == is_new, number
            assert (made.match is None) == (near == [])
            assert not near or (made.match.id, made.match.similarity) in near
            if is_new:
                naive.add([id], [text], on_duplicate="replace")
        assert list(index) == naive.ids


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.shingle)
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_a_single_text_is_answered_as_one_of_many(kind: Kind, data: st.DataObject) -> None:
    """Also texts that must be normalised first, sets, and those that have no shingle."""
    known: list[Any] = []
    for _ in range(data.draw(st.integers(1, 12))):
        known.append(data.draw(text_near(kind, known)))
    naive = kind.naive()
    with Index.create(**kind.options) as index:
        index.add(list(range(len(known))), known)
        naive.add(range(len(known)), known)
        asked: list[Any] = [*known, *(data.draw(text_near(kind, known)) for _ in range(4))]
        if kind.shingle == "item":  # a list of strings would be one set
            asked = [text.split() if isinstance(text, str) else text for text in asked]
        many = index.query(asked, top=3)
        for text, hits in zip(asked, many, strict=True):
            assert index.query(text, top=3) == hits
            assert [(hit.id, hit.similarity) for hit in hits] == naive.query(text, top=3)
            assert index.seen(text) == (hits[0] if hits else None)
        assert index.seen(asked) == [hits[0] if hits else None for hits in many]


def test_quick_answers_as_a_query_or_declines() -> None:
    with Index.create(**KIND.options) as index:
        index.add(list(range(5)), [" ".join(WORDS[i : i + 9]) for i in range(5)])
        text = " ".join(WORDS[:9])
        how = {"top": 2, "threshold": 0.6}
        assert quick(index._core, text, **how) == index.query(text, **how) != []
        assert quick(index._core, text, **how, most=2) is None
        assert quick(index._core, text + " x" * answers.QUICK_BYTES, **how) is None
        index.add([f"crowd {i}" for i in range(FEW)], [text] * FEW)
        assert quick(index._core, text, **how) is None
        assert quick(index._core, "", **how) == []


def test_a_crowd_is_not_read_for_its_first_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 500 near-copies 32 are read, whether one text is asked about, several, or one is to be added."""
    with Index.create(**KIND.options) as index:
        draw = random.Random(3)
        index.add(list(range(500)), [" ".join([*WORDS[:12], draw.choice(WORDS)]) for _ in range(500)])
        read: list[int] = []
        plain = answers.Reading.rows
        monkeypatch.setattr(
            answers.Reading, "rows", lambda self, numbers: read.append(len(numbers)) or plain(self, numbers)
        )
        text = " ".join(WORDS[:12])
        assert index.seen(text) is not None
        assert sum(read) <= 34
        read.clear()
        assert None not in index.seen([text, text + " w1"])
        assert sum(read) <= 68
        read.clear()
        assert not index.add_if_new("new", text).is_new
        assert sum(read) <= 34
