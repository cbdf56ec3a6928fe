"""Merging in idle time, and the one segment of a build. No test waits: each gives the thread its orders."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import neardup
from neardup.index import bulk, upkeep
from neardup.index.upkeep import Upkeep

TEXTS = [f"{word} number {number}, which is unlike {word * 2}" for word in "abcdefgh" for number in range(40)]


@contextlib.contextmanager
def _grown(folder: Path, *sizes: int) -> Iterator[neardup.Index]:
    """An index of segments of these sizes, whose thread has not been started."""
    with neardup.Index.create(folder, shingle="char:5") as index:
        at = 0
        for size in sizes:
            index.add(list(range(at, at + size)), TEXTS[at : at + size])
            index._upkeep.flush()
            at += size
        assert index.info().segments == len(sizes)
        yield index


def _run(keeping: Upkeep, monkeypatch: pytest.MonkeyPatch, *orders: bool | None) -> list[float | None]:
    """Let the loop of the thread run here with these orders, where None is time that has passed; how long it waited."""
    given, waited = list(orders), list[float | None]()

    def next_order(seconds: float | None) -> bool | None:
        waited.append(seconds)
        return given.pop(0) if given else False

    monkeypatch.setattr(keeping, "_next_order", next_order)
    keeping._run()
    assert not given
    return waited


@pytest.mark.parametrize(
    ("sizes", "left"),
    [((40, 40), [80]), ((70, 9), [70, 9]), ((70, 10), [80]), ((150, 3, 2, 1), [150, 6]), ((3, 100, 3), [3, 100, 3]),
     ((100, 90, 5), [195]), ((7,), [7]), ((), [])],
)  # fmt: skip
def test_idle_time_merges_what_is_worth_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], left: list[int]
) -> None:
    with _grown(tmp_path / "i", *sizes) as index:
        before = index.query(TEXTS, top=None)
        _run(index._upkeep, monkeypatch, None)
        assert [documents for documents, _ in index.statistics().segments] == left
        assert index.query(TEXTS, top=None) == before
        assert index.verify() is not None
        assert len(list((tmp_path / "i" / "segments").iterdir())) == len(left)


def test_thread_waits_without_end_after_one_idle_time_until_the_next_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _grown(tmp_path / "i", 20, 20) as index:
        limit = upkeep.IDLE_SECONDS
        assert _run(index._upkeep, monkeypatch, None) == [limit, None]
        assert _run(index._upkeep, monkeypatch, True, None) == [limit, limit, None]


def test_a_change_while_the_thread_waits_starts_the_idle_time_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _grown(tmp_path / "i", 20, 20) as index:
        keeping, changes = index._upkeep, 3

        def next_order(seconds: float | None) -> bool | None:
            nonlocal changes
            assert seconds == upkeep.IDLE_SECONDS
            if not changes:
                return False
            changes -= 1
            keeping._all_changes += 1
            return None

        monkeypatch.setattr(keeping, "_next_order", next_order)
        keeping._run()
        assert index.info().segments == 2


def test_a_merge_for_idle_time_is_given_up_when_the_index_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _grown(tmp_path / "i", 20, 20) as index:
        keeping = index._upkeep
        real, rows = upkeep.write_merged, list[int]()

        def stopped(*args: object, check: object = None) -> None:
            def counting() -> None:
                rows.append(1)
                if len(rows) == 3:
                    keeping._stopping = True
                check()  # type: ignore[operator]

            real(*args, check=counting)  # type: ignore[arg-type]

        monkeypatch.setattr(upkeep, "write_merged", stopped)
        _run(keeping, monkeypatch, None)
        assert len(rows) == 3
        assert index.info().segments == 2
        assert len(list((tmp_path / "i" / "segments").iterdir())) == 2
        assert index.info().trouble is None


def test_a_fault_while_idle_is_reported_and_not_tried_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(upkeep, "RETRY_SECONDS", 0.0)
    with _grown(tmp_path / "i", 20, 20) as index:
        monkeypatch.setattr(upkeep, "write_merged", fail)
        assert _run(index._upkeep, monkeypatch, None) == [upkeep.IDLE_SECONDS, None]
        assert index.info().trouble == "no room"


def test_the_first_change_of_an_index_of_several_segments_starts_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "IDLE_SECONDS", 0.0)
    with _grown(tmp_path / "i", 20, 20) as index:
        index.add("one more", "a text that is not there yet")
        thread = index._upkeep._thread
        assert thread is not None
        while index.info().segments > 1:
            assert thread.is_alive()
    assert not thread.is_alive()


def test_a_build_writes_the_segment_that_compact_would_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is so whatever its batches are, and for one segment as for several that are merged later."""
    texts = dict(enumerate([*TEXTS, "", "short", *TEXTS[:5]]))
    sources = [tmp_path / f"{number}.jsonl" for number in range(4)]
    for source, begin in zip(sources, range(0, len(texts), 82), strict=True):
        records = [json.dumps({"id": id, "text": texts[id]}) + "\n" for id in list(texts)[begin : begin + 82]]
        source.write_text("".join(records))
    with neardup.Index.create(tmp_path / "grown") as index:
        index.add(texts)
        index.compact()
    (expected,) = (tmp_path / "grown" / "segments").iterdir()
    puts, put = list[int](), bulk._Load.put
    monkeypatch.setattr(bulk._Load, "put", lambda load, *args: (puts.append(1), put(load, *args))[1])
    for most, segments in ((bulk.SEGMENT_DOCUMENTS, 1), (len(texts) // 2, 2)):
        monkeypatch.setattr(bulk, "SEGMENT_DOCUMENTS", most)
        with neardup.Index.build(tmp_path / f"{segments}.index", sources, id="id", text="text") as index:
            assert index.info().segments == segments
            index.compact()
        (segment,) = (tmp_path / f"{segments}.index" / "segments").iterdir()
        assert segment.read_bytes() == expected.read_bytes()
    assert len(puts) == 2 * len(sources)
