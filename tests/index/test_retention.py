"""When documents were added, and the removal of those that are older than an age."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from neardup import FormatError, Index, InputError
from neardup.cli import main
from neardup.index import retention
from neardup.index.ages import parse_age

OLD = Path(__file__).resolve().parents[1] / "golden" / "index-v1"
DAY = 86400
START = 1_800_000_000


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = START

    def __call__(self) -> int:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of all indexes in this process."""
    made = Clock()
    monkeypatch.setattr(retention, "now", made)
    return made


def text(number: int) -> str:
    return f"the document of number {number} has a text of its own {number * 7919}"


@pytest.mark.parametrize("in_memory", [True, False])
def test_what_goes_is_what_a_list_of_times_says(tmp_path: Path, clock: Clock, in_memory: bool) -> None:
    """Random additions, replacements, removals and ages, held against a dict of id to time."""
    rng = random.Random(2121)
    times: dict[str, int] = {}
    path = None if in_memory else tmp_path / "i"
    with Index.create(path) as index:
        for step in range(80):
            clock.seconds += rng.choice([0, 0, 1, DAY // 2, DAY])
            match rng.randrange(5):
                case 0 | 1:
                    ids = rng.sample([f"d{number}" for number in range(60)], 3)
                    index.add(ids, [text(rng.randrange(10**6)) for _ in ids], on_duplicate="replace")
                    times.update(dict.fromkeys(ids, clock.seconds))
                case 2:
                    id = f"d{rng.randrange(60)}"
                    if index.add_if_new(id, "" if step % 2 else text(step), on_duplicate="skip").is_new:
                        times[id] = clock.seconds
                case 3 if times:
                    gone = rng.choice(sorted(times))
                    index.remove(gone)
                    del times[gone]
                case _:
                    age = rng.choice([1, DAY, 3 * DAY])
                    old = {id for id, at in times.items() if clock.seconds - at > age}
                    told = index.remove_older_than(timedelta(seconds=age), dry_run=True)
                    assert (told.removed, told.undated, len(index)) == (len(old), 0, len(times))
                    assert index.remove_older_than(f"{age}s").removed == len(old)
                    times = {id: at for id, at in times.items() if id not in old}
            assert set(index) == set(times)
            assert len(index) == len(times)
        assert index.info().empty == sum(index.get(id).text == "" for id in times)
        page = index.page(size=1000, opening=0)
        assert {each.id: each.added for each in page.documents} == {id: iso(at) for id, at in times.items()}
        if not in_memory:
            index.compact()
        assert index.verify().ok
    if path is not None:
        with Index.open(path, read_only=True) as index:
            assert {each.id: each.added for each in index.page(size=1000).documents} == {
                id: iso(at) for id, at in times.items()
            }


def iso(seconds: int) -> str:
    """The time by SQLite, which is not what the index writes it with."""
    with closing(sqlite3.connect(":memory:")) as connection:
        told: str = connection.execute("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', ?, 'unixepoch')", (seconds,)).fetchone()[
            0
        ]
    return told


def test_what_is_removed_is_found_no_more_and_what_stays_is(tmp_path: Path, clock: Clock) -> None:
    with Index.create(tmp_path / "i") as index:
        index.add([f"old{n}" for n in range(50)], [text(n) for n in range(50)])
        clock.seconds += 10 * DAY
        index.add([f"new{n}" for n in range(50)], [text(n) for n in range(50)])
        told = index.remove_older_than("5d")
        assert told.as_dict() == {"removed": 50, "undated": 0, "before": iso(clock.seconds - 5 * DAY)}
        assert [[hit.id for hit in hits] for hits in index.query([text(n) for n in range(50)], threshold=1.0)] == [
            [f"new{n}"] for n in range(50)
        ]
        assert index.remove_older_than("5d").removed == 0


def test_the_age_itself_is_not_older(clock: Clock) -> None:
    with Index.create() as index:
        index.add("a", text(1))
        clock.seconds += 100
        assert index.remove_older_than("100s").removed == 0
        clock.seconds += 1
        assert index.remove_older_than("100s").removed == 1


def test_a_clock_that_was_set_back_makes_nothing_old(clock: Clock) -> None:
    """A machine that starts in 1970 must not have what it adds removed when its clock is right again."""
    with Index.create() as index:
        index.add("a", text(1))
        clock.seconds = 5
        index.add("b", text(2))
        clock.seconds = START + DAY
        index.add("c", text(3))
        assert index.remove_older_than("2d").removed == 0
        assert [each.added for each in index.page().documents] == [iso(START), iso(START), iso(START + DAY)]
        clock.seconds = 5
        assert index.remove_older_than("1s").removed == 0


def test_a_clock_that_was_ahead_keeps_nothing_for_longer(clock: Clock) -> None:
    with Index.create() as index:
        clock.seconds = START + 3650 * DAY  # a wrong clock, for one document
        index.add("ahead", text(1))
        clock.seconds = START
        assert index.page().documents[0].added is None
        assert index.remove_older_than("1s", dry_run=True).undated == 1
        index.add("right", text(2))
        assert [each.added for each in index.page().documents] == [iso(START)] * 2
        clock.seconds = START + 31 * DAY
        assert index.remove_older_than("30d").removed == 2


def test_no_document_is_removed_before_its_age_whatever_the_clock_did(clock: Clock) -> None:
    """The clock is right again when documents are removed, so a time after that is one that nothing says about."""
    draw = random.Random(4)
    for _ in range(60):
        shown = [START + draw.randrange(-6, 7) * DAY for _ in range(8)]
        with Index.create() as index:
            for number, clock.seconds in enumerate(shown):
                index.add(number, text(number))
            present = clock.seconds = START + draw.randrange(0, 4) * DAY
            added = [None if each.added is None else each.added for each in index.page().documents]
        for number, seconds in enumerate(shown):
            before = [at for at in shown[: number + 1] if at <= present]
            later = [at for at in shown[number:] if at <= present]
            if seconds > present:
                expected = iso(max(*before, later[0], 0)) if later else None
            else:
                expected = iso(max(before))
            assert added[number] == expected


def test_built_and_merged_documents_have_the_time_of_their_addition(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "docs.jsonl").write_text("".join(f'{{"id": "b{n}", "text": "{text(n)}"}}\n' for n in range(20)))
    Index.build(tmp_path / "i", tmp_path / "docs.jsonl").close()
    clock.seconds += DAY
    with Index.create(tmp_path / "j") as index:
        index.merge(tmp_path / "i")
        assert {each.added for each in index.page().documents} == {iso(START + DAY)}
    with Index.open(tmp_path / "i") as index:
        assert {each.added for each in index.page().documents} == {iso(START)}
        assert index.remove_older_than("23h").removed == 20
        assert len(index) == 0
        index.add("z", text(99))
        assert index.verify().ok
    with Index.open(tmp_path / "i") as index:
        assert list(index) == ["z"]


def test_times_are_in_a_copy(tmp_path: Path, clock: Clock) -> None:
    with Index.create(tmp_path / "i") as index:
        index.add("a", text(1))
        clock.seconds += DAY
        index.backup(tmp_path / "copy")
    with Index.open(tmp_path / "copy") as copy:
        assert [each.added for each in copy.page().documents] == [iso(START)]


def test_an_index_of_before_becomes_one_that_keeps_times_when_it_is_written(tmp_path: Path, clock: Clock) -> None:
    """Documents without a time are said and stay, whatever their age."""
    path = tmp_path / "i"
    shutil.copytree(OLD / "index", path)
    with Index.open(path, read_only=True) as index:
        count = len(index)
        assert index.info().format == 1
        assert {each.added for each in index.page().documents} == {None}
        told = index.remove_older_than("1s", dry_run=True)
        assert (told.removed, told.undated) == (0, count)
        with Index.open(path) as writer:  # while somebody reads it
            assert writer.info().format == 3
            writer.add("new", text(1))
        assert {each.id: each.added for each in index.page().documents}["new"] == iso(START)
        assert index.info().format == 3
    clock.seconds += DAY
    with Index.open(path) as index:
        told = index.remove_older_than("1h")
        assert (told.removed, told.undated) == (1, count)
        assert "new" not in index
        assert len(index) == count
        index.add("newer", text(2))
        clock.seconds += DAY
        told = index.remove_older_than("1h")
        assert (told.removed, told.undated) == (1, count)
        assert index.verify().ok


def test_an_index_of_before_that_cannot_be_used_stays_what_it_is(tmp_path: Path) -> None:
    """The neardup that wrote it can still read it then."""
    path = tmp_path / "i"
    shutil.copytree(OLD / "index", path)
    with closing(sqlite3.connect(path / "index.sqlite")) as database:
        database.execute("UPDATE meta SET value = '{}' WHERE name = 'spec'")
        database.commit()
    with pytest.raises(FormatError):
        Index.open(path)
    with closing(sqlite3.connect(path / "index.sqlite")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)


def test_a_copy_of_an_index_of_before_can_be_made_while_it_is_only_read(tmp_path: Path) -> None:
    shutil.copytree(OLD / "index", tmp_path / "i")
    with Index.open(tmp_path / "i", read_only=True) as index:
        index.backup(tmp_path / "copy")
        assert index.info().format == 1
    with Index.open(tmp_path / "copy") as copy:
        assert copy.verify().ok


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE added SET seconds = seconds - 1000000",
        "UPDATE added SET first = 5 WHERE first = 1",
        "UPDATE added SET seconds = 'x' WHERE first = 1",
        "UPDATE added SET sum = 0",
        "INSERT INTO added VALUES (100, 1, 1)",
        f"INSERT INTO added VALUES (100, {START + 10**6}, 1)",
    ],
)
def test_damaged_times_remove_nothing(tmp_path: Path, clock: Clock, damage: str) -> None:
    with Index.create(tmp_path / "i") as index:
        for number in range(3):
            index.add(f"d{number}", text(number))
            clock.seconds += 10
    with closing(sqlite3.connect(tmp_path / "i" / "index.sqlite")) as connection:
        connection.execute(damage)
        connection.commit()
    with Index.open(tmp_path / "i") as index:
        assert not index.verify().ok
        with pytest.raises(FormatError, match="times of addition"):
            index.remove_older_than("15s")
        assert len(index) == 3


def test_a_time_of_a_document_that_never_was_is_a_fault(tmp_path: Path, clock: Clock) -> None:
    with Index.create(tmp_path / "i") as index:
        index.add("a", text(1))
        with index._core.database.writing() as writing:
            writing.insert_added(7, START + 5)
        assert "time of addition for document 7" in index.verify(repair=False).faults[0]


@pytest.mark.parametrize(
    ("age", "seconds"),
    [("1s", 1), ("2min", 120), ("1.5h", 5400), (" 30 d ", 30 * DAY), ("8w", 56 * DAY), (timedelta(days=2), 2 * DAY)],
)
def test_ages_that_are_understood(age: str | timedelta, seconds: float) -> None:
    assert parse_age(age).total_seconds() == seconds


@pytest.mark.parametrize(
    "age", ["", "30", "d", "1m", "1y", "-1d", "0s", "0.0d", "1e3d", "٣d", "1d2h", "nan", "1" * 10 + "d", 30, None,
            timedelta(0), timedelta(days=-1)]
)  # fmt: skip
def test_ages_that_are_none(age: object) -> None:
    with Index.create() as index, pytest.raises(InputError, match="age"):
        index.remove_older_than(age)


def test_the_longest_age_that_can_be_written(clock: Clock) -> None:
    with Index.create() as index:
        index.add("a", text(1))
        assert index.remove_older_than("999999999.999999w").removed == 0


def test_who_only_reads_may_count_and_not_remove(tmp_path: Path, clock: Clock) -> None:
    with Index.create(tmp_path / "i") as index:
        index.add("a", text(1))
    clock.seconds += DAY
    with Index.open(tmp_path / "i", read_only=True) as index:
        assert index.remove_older_than("1h", dry_run=True).removed == 1
        with pytest.raises(InputError, match="reading only"):
            index.remove_older_than("1h")


def test_command_removes_by_age(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "i"
    shutil.copytree(OLD / "index", path)
    with Index.open(path) as index:
        count = len(index)
        index.add(["x", "y"], [text(1), text(2)])
        clock.seconds += DAY
        index.add("z", text(3))
    would = CliRunner().invoke(main, ["index", "remove", str(path), "--older-than", "12h", "--dry-run", "--json"])
    assert would.exit_code == 0, would.output
    told = json.loads(would.stdout)
    assert {name: told[name] for name in ("removed", "undated", "dry_run", "before")} == {
        "removed": 2,
        "undated": count,
        "dry_run": True,
        "before": iso(clock.seconds - DAY // 2),
    }
    assert told["documents"] == count + 3
    done = CliRunner().invoke(main, ["index", "remove", str(path), "--older-than", "12h"])
    assert done.exit_code == 0, done.output
    assert f"2 added before {iso(clock.seconds - DAY // 2)}" in done.stderr
    assert f"{count} documents of unknown age" in done.stderr
    with Index.open(path, read_only=True) as index:
        assert ("x" in index, "z" in index) == (False, True)
