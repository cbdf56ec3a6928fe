"""What ended a job of Spark, as an error of ours with its cure, where the cause is a setting, a machine, or a worker.

What a task of ours raised on purpose is no business of this module: ``cluster`` brings that back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from neardup.errors import MissingDependency, NeardupError

if TYPE_CHECKING:
    from pyspark import SparkContext

PYTHON_MEMORY = "spark.executor.pyspark.memory"


def explained(error: BaseException, stage: str, context: SparkContext) -> NeardupError | None:
    """The error that tells what ended the job of a stage; None: an exception of Python on a worker, or one of ours."""
    text = str(error)
    for pattern, tell in _CAUSES:
        found = pattern.search(text)
        if found is not None:
            return tell(found, context)
    found = re.search(r"Job aborted due to stage failure: (.*)|: ([\w.]*(?:Exception|Error): .*)", text)
    if found is None or "Traceback (most recent call last)" in text:
        return None
    return NeardupError(
        f"Spark has given the stage {stage!r} up: {(found[1] or found[2]).strip()} The logs of the workers tell more."
    )


def _out_of_memory(found: re.Match[str], context: SparkContext) -> NeardupError:
    why = " ".join(found[0].split())
    return NeardupError(f"a task ran out of memory on a worker ({why}). {_more_memory(context)}")


def _killed(found: re.Match[str], context: SparkContext) -> NeardupError:
    why = " ".join(found[0].split())
    return NeardupError(
        f"a worker lost its process again and again ({why}), as happens where memory is short. {_more_memory(context)}"
    )


def _more_memory(context: SparkContext) -> str:
    """The cure where the processes of Python want more memory than they have."""
    conf = context.getConf()
    if str(context.master).startswith("local"):
        return "Take fewer cores, such as --master 'local[1]', or close other programs."
    limit, cores = conf.get(PYTHON_MEMORY), conf.get("spark.executor.cores") or "1"
    if limit is None:
        return (
            f"{PYTHON_MEMORY} is not set: set it to 2g for each core of an executor, where the machines or containers "
            "have that beside the JVM."
        )
    return (
        f"{PYTHON_MEMORY} is {limit} for {cores} core{'s' if cores != '1' else ''} of an executor. Raise it, or lower "
        "spark.executor.cores."
    )


def _java_memory(found: re.Match[str], context: SparkContext) -> NeardupError:
    is_local = str(context.master).startswith("local")
    names = "spark.driver.memory" if is_local else "spark.executor.memory, or spark.driver.memory if it was the driver"
    return NeardupError(f"Java ran out of memory ({found[0].strip()}). Raise {names}.")


def _disk(found: re.Match[str], context: SparkContext) -> NeardupError:
    return NeardupError(
        "a disk of a worker is full. Name a larger one with spark.local.dir, to which Spark writes what is shuffled, "
        "or make room where the workdir or TMPDIR is."
    )


def _python_version(found: re.Match[str], context: SparkContext) -> NeardupError:
    return NeardupError(
        f"the workers run Python {found[1]}, and the driver Python {found[2]}: both must be of the same minor version. "
        "Name the Python of the workers with PYSPARK_PYTHON."
    )


def _no_python(found: re.Match[str], context: SparkContext) -> NeardupError:
    return NeardupError(
        f"the workers cannot start Python: {found[1]} is not there or cannot be run. Name a Python that all workers "
        "have with PYSPARK_PYTHON; an archive that brings one is unpacked by spark.archives."
    )


def _no_module(found: re.Match[str], context: SparkContext) -> NeardupError:
    return MissingDependency(
        f"the Python of the workers has no {found[1]}. Install it there: pip install 'neardup[spark]'; or name a "
        "Python that has it with PYSPARK_PYTHON."
    )


def _stopped(found: re.Match[str], context: SparkContext) -> NeardupError:
    return NeardupError(
        "the application was ended while it ran: its driver was asked to stop, or the master of the cluster, or all "
        "executors, were lost."
    )


def _too_large(found: re.Match[str], context: SparkContext) -> NeardupError:
    return NeardupError("the answers of a stage are more than Spark hands over. Raise spark.driver.maxResultSize.")


_CAUSES: list[tuple[re.Pattern[str], Callable[[re.Match[str], SparkContext], NeardupError]]] = [
    (re.compile(r"different version: (\S+) than that in driver:? (\d[\d.]*\d)"), _python_version),
    (re.compile(r'Cannot run program "([^"]*)"'), _no_python),
    (re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'"), _no_module),
    (re.compile(r"java\.lang\.OutOfMemoryError: [^\n]*"), _java_memory),
    (
        re.compile(r"^[\w.]*MemoryError\b[^\n]*|Cannot allocate memory|can't start new thread", re.MULTILINE),
        _out_of_memory,
    ),
    (re.compile(r"No space left on device|Disk quota exceeded"), _disk),
    (re.compile(r"bigger than spark\.driver\.maxResultSize"), _too_large),
    (re.compile(r"Python worker exited unexpectedly|exit(?:ed with)? code:? 137\b|OOMKilled"), _killed),
    (re.compile(r"SparkContext was shut down|stopped SparkContext"), _stopped),
]
"""What is in the text of an exception that comes from Spark, and what it means; the first that is found."""
