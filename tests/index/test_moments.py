"""Changes that fall between two steps of a question, put there on purpose; and of equals the first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.index.tiny import tiny
from tests.index.workload import OPTIONS, base, members, version_seen
from tests.warm import LIMIT

from neardup import Index

GROUP = 3


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A group in its first version, and enough beside it to make segments; who waits for a lock waits for an hour."""
    monkeypatch.setattr("neardup.index.database.BUSY_SECONDS", 3600.0)
    with tiny(), Index.create(tmp_path / "index", **OPTIONS) as index:
        for group in (5, GROUP, 6):
            documents = members(group, 0)
            index.add(list(documents), list(documents.values()))
        yield index


def replace(index: Any) -> None:
    documents = members(GROUP, 1)
    index.add(list(documents), list(documents.values()), on_duplicate="replace")


def done_without_waiting(work: Callable[[], None]) -> None:
    """Do it in a thread; that it waits for a reader shows by its not coming to an end."""
    done = threading.Event()
    threading.Thread(target=lambda: (work(), done.set()), daemon=True).start()
    assert done.wait(LIMIT), "a writer waits for a reader, or has failed"


def between(index: Any, monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Let ``change`` happen once, after a question's transaction has begun and before it looks at the postings."""
    views = index._core.views
    plain = views.of
    asking = threading.get_ident()
    waiting = [change]

    def of(reading: Any) -> Any:
        if waiting and threading.get_ident() == asking:
            reading.generation()
            done_without_waiting(waiting.pop())
        return plain(reading)

    monkeypatch.setattr(views, "of", of)


@pytest.mark.parametrize("upkeep", ["none", "compact"])
def test_a_replacement_that_comes_between_is_seen_whole_or_not_at_all(
    index: Any, monkeypatch: pytest.MonkeyPatch, upkeep: str
) -> None:
    def change() -> None:
        replace(index)
        if upkeep == "compact":
            index.compact()

    between(index, monkeypatch, change)
    assert version_seen(GROUP, index.query(base(GROUP), top=None)) in (0, 1)
    assert version_seen(GROUP, index.query(base(GROUP), top=None)) == 1


def test_a_removal_that_comes_between_is_seen_whole_or_not_at_all(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def change() -> None:
        index.remove(list(members(GROUP, 0)))
        index.compact()

    between(index, monkeypatch, change)
    assert version_seen(GROUP, index.query(base(GROUP), top=None)) in (0, None)


def test_compacting_does_not_wait_for_a_reader_that_reads_for_long(index: Any, tmp_path: Path) -> None:
    """The reader holds its moment; writer and upkeep go on."""
    with Index.open(tmp_path / "index", read_only=True) as reader, reader._core.database.reading() as reading:
        held = reading.generation()

        def write() -> None:
            replace(index)
            index.compact()
            index.add("after", "a text that comes after")

        done_without_waiting(write)
        assert reading.generation() == held
    assert "after" in index


def test_of_equal_matches_the_one_added_first_is_named() -> None:
    """Both halves are admitted; the whole is as like the one as the other, whatever band it meets them in."""
    for seed in range(1, 30):
        options = {"threshold": 0.5, "recall": 0.9999999, "shingle": "item", "bands": "128x1", "seed": seed}
        with Index.create(**options) as index:
            left, right = [f"a{i}" for i in range(9)], [f"b{i}" for i in range(9)]
            told = index.add_if_new(["left", "right", "both"], [left, right, [*left, *right]])
            assert [answer.is_new for answer in told] == [True, True, False]
            assert (told[2].match.id, told[2].match.similarity) == ("left", 0.5), f"seed {seed}"


def test_what_a_call_has_replaced_is_no_match_any_more() -> None:
    """One after the other: x gives its text up, so that the next document with that text is new."""
    options = {"threshold": 0.5, "recall": 0.9999999, "shingle": "word:1", "bands": "128x1"}
    ids, texts = ["x", "y"], ["quite another text", "the words of the first one"]
    with Index.create(**options) as single, Index.create(**options) as together:
        for index in (single, together):
            index.add("x", "the words of the first")
        one_by_one = [single.add_if_new(id, text, on_duplicate="replace") for id, text in zip(ids, texts, strict=True)]
        assert together.add_if_new(ids, texts, on_duplicate="replace") == one_by_one
        assert [answer.is_new for answer in one_by_one] == [True, True]
        assert list(single) == list(together)


def test_the_next_best_is_the_match_when_the_best_was_replaced() -> None:
    options = {"threshold": 0.5, "recall": 0.9999999, "shingle": "word:1", "bands": "128x1"}
    with Index.create(**options) as index:
        index.add(["best", "next"], ["a b c d", "a b c d e"])
        told = index.add_if_new(["best", "new"], ["v w x y", "a b c d"], on_duplicate="replace")
        assert [answer.is_new for answer in told] == [True, False]
        assert told[1].match.id == "next"
