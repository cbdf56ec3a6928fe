"""A run that ends anywhere is gone on with: the same answer, and no finished stage is done again.

What is not as it was is noticed: inputs, the setting, files that stages wrote. Of two attempts of a task one counts.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import MEMORY, assert_equal
from tests.spark.inprocess import InProcess
from tests.spark.test_search import collection, write

from neardup import tuning
from neardup.errors import InputChanged, SpoolError
from neardup.params import InputOptions, RunOptions, SearchOptions, Spec
from neardup.result import Result
from neardup.session import Run
from neardup.spark.exchange import Facts
from neardup.spark.run import ClusterRun
from neardup.spark.storage import Storage
from neardup.tasks.find import open_across

SPEC = tuning.make_spec(SearchOptions(threshold=0.5, crowd=30))


class Stopping(InProcess):
    """Ends as a driver that is killed, after so many stages and, with ``inside``, after some tasks of the next."""

    def __init__(self, after: int, *, inside: bool) -> None:
        super().__init__()
        self.after, self.inside = after, inside

    def _stop(self) -> None:
        if len(self.stages) == self.after:
            raise KeyboardInterrupt

    def map(self, name: str, tasks: Any, work: Any) -> Any:
        if self.inside and len(self.stages) == self.after:
            super().map(name, tasks[: len(tasks) // 2], work)
            raise KeyboardInterrupt
        self._stop()
        return super().map(name, tasks, work)

    def exchange(self, name: str, tasks: Any, give: Any, parts: int, take: Any) -> Any:
        if self.inside and len(self.stages) == self.after:
            super().exchange(name, tasks, give, parts, lambda part, blobs: take(part, blobs) if part == 0 else {})
            raise KeyboardInterrupt
        self._stop()
        return super().exchange(name, tasks, give, parts, take)


def run(path: Path, storage: Storage, cluster: InProcess, *, go_on: bool, spec: Spec = SPEC, **more: Any) -> Result:
    reader = _reader(path)
    how: dict[str, Any] = {"cluster": cluster, "storage": storage, "worker_memory": MEMORY, "go_on": go_on}
    with ClusterRun(reader, spec, RunOptions(threads=1), **how | more) as found:
        return found.find("star").result()


def _reader(path: Path) -> Any:
    return open_across(path, None, InputOptions(), item=False)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("inside", [False, True])
def test_a_run_that_is_stopped_at_any_stage_goes_on_behind_the_finished_ones(tmp_path: Path, inside: bool) -> None:
    path = write(tmp_path / "in", collection(5, [200, 180, 90, 3]))
    with Run(_reader(path), SPEC, RunOptions(threads=1)) as here:
        one = here.find("star").result()
    whole = InProcess()
    run(path, Storage(str(tmp_path / "whole")), whole, go_on=False)
    assert "crowd texts" in whole.stages
    for after in range(len(whole.stages)):
        storage = Storage(str(tmp_path / f"work-{after}"))
        first, second = Stopping(after, inside=inside), InProcess()
        with pytest.raises(KeyboardInterrupt):
            run(path, storage, first, go_on=False)
        assert_equal(one, run(path, storage, second, go_on=True))
        assert second.stages == whole.stages[after:]
        assert not Path(storage.root).exists()


def test_work_of_another_run_is_neither_gone_on_with_nor_written_over(tmp_path: Path) -> None:
    path = write(tmp_path / "in", collection(6, [5, 9]))
    storage = Storage(str(tmp_path / "work"))
    with pytest.raises(SpoolError, match="no work of an interrupted run"):
        run(path, storage, InProcess(), go_on=True)
    with pytest.raises(KeyboardInterrupt):
        run(path, storage, Stopping(2, inside=False), go_on=False)
    with pytest.raises(SpoolError, match="holds the work of an interrupted run"):
        run(path, storage, InProcess(), go_on=False)
    (path / "0.jsonl").write_text('{"text": "another text"}\n')
    with pytest.raises(SpoolError, match="made from something else"):
        run(path, storage, InProcess(), go_on=True)


def interrupted(path: Path, work: Path, stage: str = "check") -> Storage:
    """Work that was interrupted before a stage."""
    storage, whole = Storage(str(work)), InProcess()
    run(path, Storage(f"{work}-whole"), whole, go_on=False)
    with pytest.raises(KeyboardInterrupt):
        run(path, storage, Stopping(whole.stages.index(stage), inside=False), go_on=False)
    return storage


def touch(path: Path) -> None:
    os.utime(path / "0.jsonl", ns=(1, 1))


def lengthen(path: Path) -> None:
    with (path / "0.jsonl").open("a") as file:
        file.write("\n")


def add_a_file(path: Path) -> None:
    (path / "9.jsonl").write_text('{"text": "one more"}\n')


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        (touch, {}, r"inputs.*0\.jsonl is"),
        (lengthen, {}, r"inputs.*0\.jsonl is"),
        (add_a_file, {}, r"inputs.*9\.jsonl is .* and was absent"),
        (
            None,
            {"spec": tuning.make_spec(SearchOptions(threshold=0.6, crowd=30))},
            r"spec.*threshold is 0\.6 and was 0\.5",
        ),
        (None, {"split_bytes": 1 << 30}, "sizes of tasks"),
        (None, {"task": {"link": "connected"}}, 'link is "connected" and was absent'),
    ],
    ids=["touched", "longer", "one more file", "another threshold", "other splits", "another task"],
)
def test_each_change_of_what_the_work_was_made_from_is_named(
    tmp_path: Path, change: Any, more: dict[str, Any], words: str
) -> None:
    path = write(tmp_path / "in", collection(6, [5, 9]))
    storage = interrupted(path, tmp_path / "work")
    if change is not None:
        change(path)
    with pytest.raises(SpoolError, match=f"made from something else: .*{words}"):
        run(path, storage, InProcess(), go_on=True, **more)
    assert storage.has_work()


def test_work_of_another_version_is_named_with_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "in", collection(6, [5, 9]))
    storage = interrupted(path, tmp_path / "work")
    monkeypatch.setattr("neardup.session.__version__", "9.9.9")
    with pytest.raises(SpoolError, match=r'version is "9\.9\.9" and was "\d'):
        run(path, storage, InProcess(), go_on=True)


def test_an_input_with_other_words_of_the_same_size_and_time_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "in", collection(6, [5, 9]))
    storage, file = interrupted(path, tmp_path / "work"), path / "1.jsonl"
    info = file.stat()
    file.write_text(file.read_text().replace("a", "e"))
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    with pytest.raises(InputChanged, match=r"1\.jsonl was changed"):
        run(path, storage, InProcess(), go_on=True)


def test_workers_with_more_memory_go_on(tmp_path: Path) -> None:
    path = write(tmp_path / "in", collection(6, [5, 9]))
    storage, second = interrupted(path, tmp_path / "work"), InProcess()
    run(path, storage, second, go_on=True, worker_memory=2 * MEMORY)
    assert second.stages == ["check"]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("before", "after"), [(20, 10_000), (10_000, 20)])
def test_a_driver_with_another_memory_limit_continues_after_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    path, storage = write(tmp_path / "in", collection(6, [30, 20])), Storage(str(tmp_path / "work"))
    one = run(path, Storage(str(tmp_path / "whole")), InProcess(), go_on=False)
    with monkeypatch.context() as patched:
        patched.setattr("neardup.engine.banding.laid_out.pairs_at_once", lambda space: before)
        patched.setattr("neardup.spark.search.follow_leaders", stop)
        with pytest.raises(KeyboardInterrupt):
            run(path, storage, InProcess(), go_on=False)
    monkeypatch.setattr("neardup.engine.banding.laid_out.pairs_at_once", lambda space: after)
    second = InProcess()
    assert_equal(one, run(path, storage, second, go_on=True))
    assert not second.stages


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))


@pytest.mark.usefixtures("small_parts")
def test_a_stage_whose_files_are_not_as_they_were_written_is_done_again_and_no_other(tmp_path: Path) -> None:
    path = write(tmp_path / "in", collection(6, [5, 9]))
    whole = InProcess()
    one = run(path, Storage(str(tmp_path / "whole")), whole, go_on=False)
    first = interrupted(path, tmp_path / "work")
    (folder,) = Path(first.root).glob("run-*")
    records = sorted((folder / "done").iterdir())
    assert len(records) == len(whole.stages) - 1
    for number, record in enumerate(records):
        files = json.loads(record.read_text())["facts"]["files"]
        assert files
        for harm, victim in ((cut_short, min(files)), (Path.unlink, max(files)), (damage, f"done/{record.name}")):
            storage, second = Storage(str(tmp_path / "copy")), InProcess()
            shutil.copytree(first.root, storage.root)
            harm(Path(storage.root) / folder.name / victim)
            assert_equal(one, run(path, storage, second, go_on=True))
            assert second.stages == [whole.stages[number], whole.stages[-1]], (victim, harm)


@pytest.mark.usefixtures("small_parts")
def test_a_damaged_file_of_the_old_size_is_named_and_written_once_more_by_a_run_that_goes_on(tmp_path: Path) -> None:
    path = write(tmp_path / "in", collection(6, [5, 9]))
    whole = InProcess()
    one = run(path, Storage(str(tmp_path / "whole")), whole, go_on=False)
    storage = interrupted(path, tmp_path / "work", "keys")
    damage(next(Path(storage.root).glob("run-*/keys/000000.arrays")))
    with pytest.raises(SpoolError, match=r"keys/000000\.arrays is damaged.*--resume"):
        run(path, storage, InProcess(), go_on=True)
    second = InProcess()
    assert_equal(one, run(path, storage, second, go_on=True))
    assert second.stages == ["read", *whole.stages[whole.stages.index("keys") :]]


class Interleaved(InProcess):
    """Begins each task twice: the first attempt waits at one of its files until the second has done all of it.

    ``is_cut``: then the first ends there, with its file half written. Else it goes on, and its answer counts.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_cut: bool) -> None:
        super().__init__()
        self.is_cut, self.met = is_cut, 0
        self._second: Callable[[], Facts] | None = None
        self._answer: Facts = {}
        monkeypatch.setattr("neardup.spark.storage.os.replace", self._replace)

    def _do(self, work: Callable[..., Facts], *given: Any) -> Facts:
        self._second = partial(work, *given)
        try:
            return work(*given)
        except _CutOff:
            return self._answer
        finally:
            self._second = None

    def _replace(self, begun: str, path: str, replace: Any = os.replace) -> None:
        if self._second is not None:
            second, self._second = self._second, None
            self._answer = second()
            self.met += 1
            if self.is_cut:
                cut_short(Path(begun))
                raise _CutOff
        replace(begun, path)


class _CutOff(BaseException):
    """The end of an attempt."""


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("is_cut", [False, True])
def test_of_two_attempts_of_a_task_at_the_same_time_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_cut: bool
) -> None:
    path = write(tmp_path / "in", collection(5, [150, 90, 5, 3]))
    one = run(path, Storage(str(tmp_path / "one")), InProcess(), go_on=False)
    with monkeypatch.context() as patched:
        cluster = Interleaved(patched, is_cut=is_cut)
        assert_equal(one, run(path, Storage(str(tmp_path / "two")), cluster, go_on=False))
    assert cluster.met > len(cluster.stages)
