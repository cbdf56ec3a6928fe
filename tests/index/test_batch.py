"""Documents that are added one at a time and stored together: as if added at once, and durable when it is said."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import neardup
from neardup.index import batch as batches

TEXTS = [
    f"document {number // 2} has words of its own, such as {number // 2 * 7919} and {number % 2}"
    for number in range(40)
]


@pytest.fixture(params=["memory", "disk"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[neardup.Index]:
    path = None if request.param == "memory" else tmp_path / "a.index"
    with neardup.Index.create(path, threshold=0.5, shingle="word:2") as made:
        yield made


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "DOCUMENTS", 8)


@pytest.mark.usefixtures("few")
def test_a_batch_gives_what_adding_all_at_once_gives(index: neardup.Index) -> None:
    with index.batch() as batch:
        for number, text in enumerate(TEXTS):
            batch.add(number, text)
    with neardup.Index.create(threshold=0.5, shingle="word:2") as whole:
        told = whole.add(range(len(TEXTS)), TEXTS)
        assert batch.added == told
        assert list(index) == list(whole)
        assert index.pairs().equals(whole.pairs())
        assert index.query(TEXTS) == whole.query(TEXTS)
        assert index.get_many(range(40)) == whole.get_many(range(40))


@pytest.mark.usefixtures("few")
def test_what_waits_is_not_there_until_it_is_flushed_or_enough(index: neardup.Index) -> None:
    with index.batch() as batch:
        for number in range(11):
            batch.add(number, TEXTS[number])
            assert (len(index), len(batch)) == ((0, number + 1) if number < 7 else (8, number - 7))
        batch.flush()
        assert (len(index), len(batch)) == (11, 0)
        batch.flush()
        batch.add("last", TEXTS[11])
    assert (len(index), batch.added.added) == (12, 12)


def test_megabytes_are_enough_too(index: neardup.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_BYTES", len(TEXTS[0].encode()) + 1)
    with index.batch() as batch:
        batch.add(0, TEXTS[0])
        assert len(index) == 0
        batch.add(1, TEXTS[1])
        assert len(index) == 2


@pytest.mark.usefixtures("few")
def test_an_exception_drops_what_waits_and_nothing_else(index: neardup.Index) -> None:
    batch = index.batch()

    def crawl() -> None:
        with batch:
            for number in range(10):
                batch.add(number, TEXTS[number])
            raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        crawl()
    assert list(index) == list(range(8))
    with pytest.raises(neardup.InputError, match="the batch has ended"):
        batch.add(10, TEXTS[10])


def test_an_id_that_is_there_is_named_and_none_of_those_that_waited_is_added(index: neardup.Index) -> None:
    index.add("a", TEXTS[0])
    batch = index.batch()
    batch.add("b", TEXTS[1])
    batch.add("a", TEXTS[2])
    with pytest.raises(neardup.InputError, match="the id 'a' is there already"):
        batch.flush()
    assert list(index) == ["a"]
    for rule, told, text in (("skip", (1, 0, 1), TEXTS[0]), ("replace", (1, 1, 0), TEXTS[2])):
        with index.batch(on_duplicate=rule) as batch:
            batch.add(rule, TEXTS[3])
            batch.add("a", TEXTS[2])
        assert (batch.added.added, batch.added.replaced, batch.added.skipped) == told
        stored = index.get("a")
        assert stored is not None
        assert stored.text == text


@pytest.mark.parametrize(
    ("id", "text", "told"),
    [
        (1.5, "a text", "the id 1.5 is of type float"),
        ("a", 5, "text: it is of type int. Give a string"),
        ("a", "\ud800", "text: it has a lone surrogate at character 1"),
        ("\ud800", "a text", "has a lone surrogate"),
    ],
)
def test_what_cannot_be_added_is_refused_at_once_and_the_others_stay(
    index: neardup.Index, id: object, text: object, told: str
) -> None:
    with index.batch() as batch:
        batch.add("before", TEXTS[0])
        with pytest.raises(neardup.InputError, match=told):
            batch.add(id, text)  # type: ignore[arg-type]
        batch.add("after", TEXTS[1])
    assert list(index) == ["before", "after"]


def test_sets_go_in_where_the_index_holds_sets() -> None:
    with neardup.Index.create(threshold=0.5, shingle="item") as index:
        with index.batch() as batch:
            batch.add(1, {"a", "b", "c"})
            batch.add(2, ["a", "b"])
            batch.add(3, "x y z")
        assert [hit.id for hit in index.query({"a", "b"})] == [2, 1]


@pytest.mark.usefixtures("few")
def test_many_threads_lose_nothing(index: neardup.Index) -> None:
    with index.batch() as batch:

        def work(begin: int) -> None:
            for number in range(begin, len(TEXTS), 4):
                batch.add(number, TEXTS[number])

        threads = [threading.Thread(target=work, args=(begin,)) for begin in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert sorted(int(id) for id in index) == list(range(len(TEXTS)))


def test_a_batch_of_an_index_for_reading_or_that_is_closed_is_refused(tmp_path: Path) -> None:
    with (
        neardup.Index.create(tmp_path / "a.index") as index,
        neardup.Index.open(tmp_path / "a.index", read_only=True) as other,
    ):
        with pytest.raises(neardup.InputError, match="open for reading only"):
            other.batch()
        with pytest.raises(neardup.InputError, match="on_duplicate"):
            index.batch(on_duplicate="no")
    with pytest.raises(neardup.InputError, match="closed"):
        index.batch()


def test_a_kill_loses_what_waits_and_keeps_what_was_flushed(tmp_path: Path) -> None:
    code = f"""
import os, neardup
index = neardup.Index.create({str(tmp_path / "a.index")!r}, threshold=0.5, shingle="word:2")
with index.batch() as batch:
    for number, text in enumerate({TEXTS!r}):
        if number == 25:
            batch.flush()
        batch.add(number, text)
    os._exit(3)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=600).returncode == 3
    with neardup.Index.open(tmp_path / "a.index") as index:
        assert list(index) == list(range(25))
        assert index.verify().ok
