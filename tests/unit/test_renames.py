"""Outputs that get their names together: failures leave the old ones, and a kill at any step is mended later."""

from __future__ import annotations

import json
import os
import secrets
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from neardup.errors import OutputError
from neardup.outputs import renames
from neardup.outputs.atomic import AtomicFiles
from neardup.outputs.renames import Rename, UnfinishedError, finish_names, give_names

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills are tried in a process that was forked")

NAMES = ("table.csv", "table.csv.spec.json", "copies/a.jsonl", "copies/b.jsonl", "plot.png")
STEPS = ("rename", "replace", "unlink", "fsync", "rmdir")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the outputs of last week."""
    (tmp_path / "copies").mkdir()
    for name in NAMES:
        (tmp_path / name).write_text("old")
    return tmp_path


def write_all(folder: Path) -> None:
    """What a run does: files of its own, and copies that somebody else has written."""
    with AtomicFiles() as files:
        for name in NAMES[:2]:
            files.open(folder / name).write(b"new")
        parts = [(folder / "copies" / f".{name}.part", folder / "copies" / name) for name in ("a.jsonl", "b.jsonl")]
        for part, _ in parts:
            part.write_text("new")
        files.take(
            folder / "copies",
            lambda: (Rename(str(part), str(final)) for part, final in parts),
            lambda error: [part.unlink(missing_ok=True) for part, _ in parts] and None,
        )
        files.open(folder / "plot.png").write(b"new")


def write_report(folder: Path) -> None:
    """A folder in the place of an earlier one."""
    temporary = folder / f".report.{os.getpid():x}-{secrets.token_hex(4)}.part"
    temporary.mkdir()
    (temporary / "index.html").write_text("new")
    rename = Rename(str(temporary), str(folder / "report"), replaces_folder=True)
    give_names(lambda: iter([rename]), [str(folder / "report")])


def killed_at(step: int, work: Callable[[], None]) -> bool:
    """Do some work in a process of its own that is killed before its system call of that number; whether it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads; this child starts none
        child = os.fork()
    if child == 0:
        count = 0

        def counted(plain: Any) -> Any:
            def call(*args: Any, **how: Any) -> Any:
                nonlocal count
                count += 1
                if count > step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return plain(*args, **how)

            return call

        try:
            for name in STEPS:
                setattr(os, name, counted(getattr(os, name)))
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def state(folder: Path) -> list[str]:
    return [(folder / name).read_text() for name in NAMES]


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob(".*"))


def test_a_kill_at_any_step_leaves_the_old_outputs_or_is_mended_to_the_new(folder: Path) -> None:
    step = mended = mixed = 0
    while killed_at(step, lambda: write_all(folder)):
        before = state(folder)
        assert before == sorted(before), "an output has its name before the table has"  # "new" < "old"
        told = finish_names([str(folder / "copies")])
        after = state(folder)
        assert len(set(after)) == 1, f"killed at step {step}: {after}"
        assert set(before) != {"new"} or after[0] == "new"
        if before != after:
            mended += 1
            mixed += len(set(before)) == 2
            assert len(told) == 1
            named = [str(folder / name) for name, was in zip(NAMES, before, strict=True) if was == "old"]
            assert told[0].endswith(": " + ", ".join(named))
        else:
            assert told == []
        if after[0] == "new":
            assert leftovers(folder) == []
        for path in folder.rglob(".*"):
            path.unlink()
        for name in NAMES:
            (folder / name).write_text("old")
        step += 1
    assert mixed == len(NAMES) - 1
    assert mended > mixed  # the journal was there before the first had its name
    assert state(folder) == ["new"] * len(NAMES)
    assert leftovers(folder) == []


@pytest.mark.parametrize("there", [True, False])
def test_a_report_is_replaced_by_another_or_that_is_mended(tmp_path: Path, there: bool) -> None:
    step = missing = 0
    report = tmp_path / "report"

    def begin() -> None:
        if there:
            report.mkdir()
            (report / "index.html").write_text("old")

    begin()
    while killed_at(step, lambda: write_report(tmp_path)):
        missing += there and not report.exists()
        finish_names([str(report)])
        left = (report / "index.html").read_text() if report.exists() else None
        assert left in ("new", "old" if there else None), f"killed at step {step}"
        for path in [*tmp_path.rglob("*.html"), *tmp_path.glob(".*.names*")]:
            path.unlink()
        for path in tmp_path.iterdir():
            path.rmdir()
        begin()
        step += 1
    assert missing == there  # between the two renames there is none
    assert (report / "index.html").read_text() == "new"
    assert leftovers(tmp_path) == []


def test_a_journal_is_found_from_each_output_and_from_no_other(folder: Path) -> None:
    for name in ("table.csv", "copies", "plot.png"):
        while True:
            step = next(step for step in range(50) if _is_mixed_after(folder, step))
            break
        assert finish_names([str(folder / "other.csv"), str(folder / "copies" / "a.jsonl")]) == []
        assert len(set(state(folder))) == 2
        assert len(finish_names([str(folder / name)])) == 1, step
        assert state(folder) == ["new"] * len(NAMES)
        for each in NAMES:
            (folder / each).write_text("old")


def _is_mixed_after(folder: Path, step: int) -> bool:
    for path in folder.rglob(".*"):
        path.unlink()
    killed_at(step, lambda: write_all(folder))
    return len(set(state(folder))) == 2


def test_outputs_in_several_folders_have_a_journal_in_each(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    def write() -> None:
        with AtomicFiles() as files:
            for name in ("one", "two"):
                files.open(tmp_path / name / "out").write(b"new")

    for found in ("one", "two"):
        step = 0
        while not ((tmp_path / "one" / "out").exists() and not (tmp_path / "two" / "out").exists()):
            for path in [*tmp_path.rglob(".*"), *tmp_path.rglob("out")]:
                path.unlink()
            assert killed_at(step, write)
            step += 1
        assert len(finish_names([str(tmp_path / found / "out")])) == 1
        assert (tmp_path / "two" / "out").read_text() == "new"
        assert leftovers(tmp_path) == []
        (tmp_path / "one" / "out").unlink()
        (tmp_path / "two" / "out").unlink()


def test_a_process_that_is_at_work_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    plain = os.replace

    def replace(*args: Any) -> None:
        plain(*args)
        seen.append(finish_names([str(folder / "copies")]))

    monkeypatch.setattr(os, "replace", replace)
    write_all(folder)
    assert seen == [[]] * len(NAMES)
    assert state(folder) == ["new"] * len(NAMES)


def test_a_living_process_is_left_alone_and_a_dead_one_of_our_number_is_not(folder: Path) -> None:
    part, final = folder / ".x.part", folder / "plot.png"
    journal = folder / ".neardup-1-abc.names"
    for process, is_left in ((["1", ""], True), ([str(os.getpid()), "0"], False), (["999999999", ""], False)):
        part.write_text("new")
        head = {"neardup": "names", "format": 1, "process": process, "outputs": [str(final)], "journals": []}
        journal.write_text(json.dumps(head) + "\n" + json.dumps([str(part), str(final), False]) + "\n1\n")
        assert finish_names([str(final)]) == ([] if is_left else [_told(final)])
        assert part.exists() == journal.exists() == is_left
        assert (final.read_text() == "old") == is_left
        final.write_text("old")


def _told(final: Path) -> str:
    return f"an earlier run was stopped while its outputs got their names; those that were left have them now: {final}"


def forged(folder: Path, rename: list, journals: list | None = None) -> Path:
    """A journal that says that a dead process of long ago had one rename left."""
    journal = folder / ".neardup-1-feed.names"
    outputs = [str(folder / "clean.jsonl")]
    head = {"neardup": "names", "format": 1, "process": [2**22 + 1, 0], "outputs": outputs, "journals": journals or []}
    journal.write_text(json.dumps(head) + "\n" + json.dumps(rename) + "\n1\n")
    return journal


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="only POSIX tells who wrote a file")
def test_a_journal_of_another_user_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loot").write_text("loot")
    forged(tmp_path, [str(tmp_path / "loot"), str(tmp_path / "mine"), False])
    plain = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: plain + 1)
    assert finish_names([str(tmp_path / "clean.jsonl")]) == []
    assert not (tmp_path / "mine").exists()
    monkeypatch.setattr(os, "geteuid", lambda: plain)
    assert len(finish_names([str(tmp_path / "clean.jsonl")])) == 1
    assert (tmp_path / "mine").read_text() == "loot"


def test_a_journal_moves_nothing_to_another_folder_and_takes_away_journals_only(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loot").write_text("loot")
    (tmp_path / "precious").write_text("mine")
    forged(tmp_path / "a", [str(tmp_path / "a" / "loot"), str(tmp_path / "precious"), False])
    with pytest.raises(OutputError, match="cannot be read"):
        finish_names([str(tmp_path / "a" / "clean.jsonl")])
    place = str(tmp_path / "a" / "named")
    forged(tmp_path / "a", [str(tmp_path / "a" / "loot"), place, False], [str(tmp_path / "precious")])
    assert len(finish_names([str(tmp_path / "a" / "clean.jsonl")])) == 1
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize("missing", ["process", "outputs", "journals"])
def test_a_journal_without_a_field_is_damaged(tmp_path: Path, missing: str) -> None:
    journal = forged(tmp_path, [str(tmp_path / "x"), str(tmp_path / "y"), False])
    head, rest = journal.read_text().split("\n", 1)
    kept = {name: value for name, value in json.loads(head).items() if name != missing}
    journal.write_text(json.dumps(kept) + "\n" + rest)
    with pytest.raises(OutputError, match="cannot be read"):
        finish_names([str(tmp_path / "clean.jsonl")])


@pytest.mark.parametrize("kept", [0, 20, -2, -30])
def test_a_damaged_journal_is_told(folder: Path, kept: int) -> None:
    step = next(step for step in range(50) if _is_mixed_after(folder, step))
    journal = next(folder.glob(".neardup-*.names"))
    journal.write_bytes(journal.read_bytes()[:kept])
    before = state(folder)
    with pytest.raises(OutputError, match=r"cannot be read\. Delete it"):
        finish_names([str(folder / "copies")])
    assert state(folder) == before, step
    journal.unlink()
    assert finish_names([str(folder / "copies")]) == []


class Failing:
    """A system call that fails the first time it is asked about a name."""

    def __init__(self, plain: Any, name: str, error: BaseException) -> None:
        self.plain, self.name, self.error = plain, name, error
        self.calls = 0

    def __call__(self, *args: Any, **how: Any) -> Any:
        if str(args[-1]).endswith(self.name):
            self.calls += 1
            if self.calls == 1:
                raise self.error
        return self.plain(*args, **how)


def test_the_first_name_that_cannot_be_given_leaves_all_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", Failing(os.replace, "table.csv", PermissionError(13, "Permission denied")))
    with pytest.raises(OutputError, match=r"cannot write .*table\.csv: Permission denied"):
        write_all(folder)
    assert state(folder) == ["old"] * len(NAMES)
    assert leftovers(folder) == []


def test_a_later_name_that_cannot_be_given_is_told_and_given_by_the_next_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", Failing(os.replace, "a.jsonl", PermissionError(13, "Permission denied")))
    with pytest.raises(UnfinishedError, match=r"a\.jsonl: Permission denied.*next run with these outputs"):
        write_all(folder)
    assert state(folder) == ["new", "new", "old", "new", "new"]
    told = finish_names([str(folder / "table.csv")])
    assert told[0].endswith(": " + str(folder / "copies" / "a.jsonl"))
    assert state(folder) == ["new"] * len(NAMES)
    assert leftovers(folder) == []


def test_a_name_that_can_still_not_be_given_is_told_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "plot.png").unlink()
    monkeypatch.setattr(os, "replace", Failing(os.replace, "plot.png", PermissionError(13, "Permission denied")))
    with pytest.raises(UnfinishedError):
        write_all(folder)
    (folder / "plot.png").mkdir()
    with pytest.raises(OutputError, match=r"plot\.png cannot get its own: Is a directory\. Free the name, or delete"):
        finish_names([str(folder / "table.csv")])
    (folder / "plot.png").rmdir()
    assert len(finish_names([str(folder / "table.csv")])) == 1
    assert state(folder) == ["new"] * len(NAMES)


def test_ctrl_c_between_names_is_heard_when_all_are_given(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", Failing(os.replace, "b.jsonl", KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        write_all(folder)
    assert state(folder) == ["new"] * len(NAMES)
    assert leftovers(folder) == []


def test_a_journal_that_cannot_be_written_leaves_all_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "rename", Failing(os.rename, ".names", OSError(28, "No space left on device")))
    with pytest.raises(OutputError, match="No space left on device"):
        write_all(folder)
    assert state(folder) == ["old"] * len(NAMES)
    assert leftovers(folder) == []


@pytest.mark.parametrize("failing", range(4))  # three files of its own, and the journal
def test_an_output_that_cannot_be_made_to_last_leaves_all_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    calls = iter(range(100))
    plain = os.fsync

    def fsync(descriptor: int) -> None:
        if next(calls) == failing:
            raise OSError(5, "Input/output error")
        plain(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OutputError, match="Input/output error"):
        write_all(folder)
    assert state(folder) == ["old"] * len(NAMES)
    assert leftovers(folder) == []


def test_a_check_that_fails_before_the_names_leaves_all_as_it_was(folder: Path) -> None:
    def refuse() -> None:
        raise ValueError("no")

    def write() -> None:
        with AtomicFiles() as files:
            files.check_before(refuse)
            for name in NAMES:
                files.open(folder / name).write(b"new")

    with pytest.raises(ValueError, match="no"):
        write()
    assert state(folder) == ["old"] * len(NAMES)
    assert leftovers(folder) == []


def test_one_output_needs_no_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renames, "_write_journals", None)
    with AtomicFiles() as files:
        files.open(tmp_path / "a.txt").write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_names_that_are_no_unicode_are_mended_too(tmp_path: Path) -> None:
    names = [os.fsdecode(b"\xff\n%d" % i) for i in range(2)]

    def write() -> None:
        with AtomicFiles() as files:
            for name in names:
                files.open(tmp_path / name).write(b"new")

    def there() -> Iterator[str]:
        return (name for name in names if (tmp_path / name).exists())

    step = 0
    while len(list(there())) != 1:
        for path in tmp_path.iterdir():
            path.unlink()
        assert killed_at(step, write)
        step += 1
    assert len(finish_names([str(tmp_path / names[1])])) == 1
    assert len(list(there())) == 2
