"""A run that ends anywhere is gone on with: the same answer, and no finished stage is done again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import MEMORY, assert_equal
from tests.spark.inprocess import InProcess
from tests.spark.test_search import collection, write

from neardup import tuning
from neardup.errors import SpoolError
from neardup.params import InputOptions, RunOptions, SearchOptions
from neardup.result import Result
from neardup.session import Run
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


def run(path: Path, storage: Storage, cluster: InProcess, *, go_on: bool) -> Result:
    reader = _reader(path)
    how: dict[str, Any] = {"cluster": cluster, "storage": storage, "worker_memory": MEMORY, "go_on": go_on}
    with ClusterRun(reader, SPEC, RunOptions(threads=1), **how) as found:
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
