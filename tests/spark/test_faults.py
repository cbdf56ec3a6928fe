"""What ends a job of Spark is told with its cause and its cure. The texts are those of Spark 4.3 and Python 3.11."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from neardup.cli import main
from neardup.engine.space import Budget
from neardup.errors import InputError, MissingDependency, NeardupError
from neardup.spark import cluster, open
from neardup.spark.faults import explained

TRACEBACK = (
    "\n  An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
    '  File "worker.py", line 8, in read\n    raise MemoryError()\n'
)
ABORTED = (
    "An error occurred while calling o103.collectToPython.\n: org.apache.spark.SparkException: Job aborted due to "
    "stage failure: Task 0 in stage 2.0 failed 4 times, most recent failure: Lost task 0.3 in stage 2.0 (TID 2) (host "
    "executor 1): "
)
STACK = "\n\tat org.apache.spark.api.python.BasePythonRunner.compute(PythonRunner.scala:1136)\n"


def context(master: str = "spark://host:7077", **settings: str) -> Any:
    conf = {f"spark.executor.{name.replace('_', '.')}": value for name, value in settings.items()}
    return SimpleNamespace(master=master, getConf=lambda: conf, defaultParallelism=2)


@pytest.mark.parametrize(
    "last",
    [
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 GiB for an array with shape (1,)",
        "pyarrow.lib.ArrowMemoryError: malloc of size 1125899906842624 failed",
        "RuntimeError: can't start new thread",
    ],
)
def test_a_task_that_is_out_of_memory_names_the_setting_and_what_it_is(last: str) -> None:
    text = f"{TRACEBACK}{last}\n"
    told = explained(Exception(text), "keys", context(pyspark_memory="1200m", cores="2"))
    assert str(told).startswith("a task ran out of memory on a worker (")
    assert "spark.executor.pyspark.memory is 1200m for 2 cores of an executor. Raise it" in str(told)
    assert "is not set: set it to 2g for each core" in str(explained(Exception(text), "keys", context()))
    assert "'local[1]'" in str(explained(Exception(text), "keys", context("local[4]")))


@pytest.mark.parametrize(
    "why",
    [
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting 'x' to 'true'.",
        "ExecutorLostFailure (executor 1 exited caused by a running task) Reason: Command exited with code 137",
        "ExecutorLostFailure (executor 1 exited) Reason: container failed with exit code: 137 (SIGKILL, OOMKilled)",
    ],
)
def test_a_process_that_the_kernel_killed_names_the_setting(why: str) -> None:
    told = str(explained(Exception(ABORTED + why + STACK), "check", context()))
    assert told.startswith("a worker lost its process again and again")
    assert "spark.executor.pyspark.memory is not set" in told


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (ABORTED + "java.lang.OutOfMemoryError: Java heap space" + STACK, NeardupError, "Raise spark.executor.memory"),
        (TRACEBACK + "OSError: [Errno 28] No space left on device\n", NeardupError, "spark.local.dir"),
        (
            TRACEBACK + "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
            "version: 3.12 than that in driver: 3.11, PySpark cannot run with different minor versions.\n",
            NeardupError,
            "workers run Python 3.12, and the driver Python 3.11",
        ),
        (
            ABORTED
            + 'java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such file'
            + STACK,
            NeardupError,
            "cannot start Python: ./environment/bin/python is not there.* PYSPARK_PYTHON",
        ),
        (TRACEBACK + "ModuleNotFoundError: No module named 'pyarrow'\n", MissingDependency, "workers has no pyarrow"),
        (
            ": org.apache.spark.SparkException: Job 0 cancelled because SparkContext was shut down" + STACK,
            NeardupError,
            "the application was ended while it ran",
        ),
        (
            ABORTED + "java.io.InvalidClassException: something else" + STACK,
            NeardupError,
            r"stage 'check' up: Task 0 in stage 2\.0 .*something else",
        ),
    ],
)
def test_other_causes_are_told_in_a_line_with_a_cure(text: str, kind: type[NeardupError], words: str) -> None:
    with pytest.raises(kind, match=words) as told:
        raise explained(Exception(text), "check", context()) or AssertionError
    assert "\n" not in told.value.args[0]
    assert "scala" not in str(told.value)


def test_a_fault_of_our_own_stays_what_it_is() -> None:
    assert explained(Exception(TRACEBACK + "IndexError: index 3 is out of bounds\n"), "keys", context()) is None
    assert explained(KeyError("x"), "keys", context()) is None


class Rows:
    """A frame of Spark, of which nothing comes."""

    def mapInArrow(self, work: Any, schema: str) -> Rows:  # noqa: N802 as Spark has it
        return self

    def collect(self) -> Any:
        raise AssertionError


def test_the_command_ends_with_1_and_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="no PySpark")

    def followed(*_: object) -> None:
        raise RuntimeError(f"{TRACEBACK}MemoryError\n")

    session = SimpleNamespace(sparkContext=context(pyspark_memory="2g"), range=lambda *_: Rows())
    monkeypatch.setattr(open, "open_session", lambda *_: session)
    monkeypatch.setattr(cluster, "followed", followed)
    (tmp_path / "in.jsonl").write_text('{"text": "one"}\n')
    given = ["find", tmp_path / "in.jsonl", "-o", tmp_path / "o.csv", "--engine", "spark", "--workdir", tmp_path / "w"]
    done = CliRunner().invoke(main, list(map(str, given)))
    assert done.exit_code == 1
    assert (
        "Error: a task ran out of memory on a worker (MemoryError). spark.executor.pyspark.memory is 2g" in done.stderr
    )
    assert "fault in neardup" not in done.stderr
    assert f"The work so far is in {tmp_path / 'w'}: continue with the same command and --resume" in done.stderr


def test_workers_with_another_neardup_or_none_do_nothing_and_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", reason="no PySpark")

    def work(batches: Any) -> Any:
        for batch in batches:
            yield cluster._answer(batch, {"done": 1})

    sent = cloudpickle.dumps(cluster.shipped(work))
    do = cloudpickle.loads(sent)
    assert [pa.RecordBatch.to_pylist(each) for each in do(iter([7]))] == [[{"task": 7, "facts": '{"done": 1}'}]]
    with monkeypatch.context() as patched:
        patched.setattr("neardup._version.__version__", "0.0.9")
        with pytest.raises(RuntimeError, match=r"neardup-failed.*NeardupError.*have neardup 0\.0\.9 .* driver has"):
            list(do(iter([7])))
    for name in [name for name in sys.modules if name.partition(".")[0] == "neardup"]:
        monkeypatch.setitem(sys.modules, name, None)  # so that no import of it succeeds
    do = cloudpickle.loads(sent)
    with pytest.raises(RuntimeError, match=r"neardup-failed.*MissingDependency.*has no neardup"):
        list(do(iter([7])))


def test_memory_of_a_worker_is_what_spark_leaves_beside_the_libraries() -> None:
    def of(master: str = "spark://host:7077", pool: str | None = "system", **settings: str) -> int:
        found = context(master, **settings)
        if pool is not None:
            found.getConf()["spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL"] = pool
        return open.worker_memory(SimpleNamespace(sparkContext=found), Budget(4 << 30, 3 << 30))  # type: ignore[arg-type]

    assert of() == 1 << 30
    assert of(pyspark_memory="3g") == (3 << 30) - open.MAPPED
    assert of(pyspark_memory="6G", cores="2") == (3 << 30) - open.MAPPED
    assert of(pyspark_memory="3072") == (3 << 30) - open.MAPPED
    assert of(pyspark_memory="3g", pool=None) == (2 << 30) - open.MAPPED
    assert of("local[2]") <= 1 << 30
    assert of("local[2]", pyspark_memory="2g") == (2 << 30) - open.MAPPED
    with pytest.raises(InputError, match=r"memory is 1g, for 2 cores of an executor; .* Set it to 2400m or more"):
        of(pyspark_memory="1g", cores="2")
    with pytest.raises(InputError, match="'lots', which is no size"):
        of(pyspark_memory="lots")
