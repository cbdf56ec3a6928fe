"""From options to a run on Spark: what cannot be done there is said first, then a session is opened."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

from neardup.engine.observe import Observer
from neardup.engine.reading.families import needs_memory
from neardup.engine.space import PROGRAM, Budget
from neardup.errors import InputError, MissingDependency
from neardup.inputs.addresses import is_remote, place_of
from neardup.inputs.reader import Reader
from neardup.params import DEFAULT_MEASURE, ClusterOptions, RunOptions, Spec
from neardup.shown import shown_path
from neardup.spark.faults import PYTHON_MEMORY
from neardup.spark.run import ClusterRun
from neardup.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = 17
"""The oldest Java that PySpark 4 runs on."""
WORKER_MEMORY = 1 << 30
"""What the Python process of a task may take where nothing says it."""
LEAST_WORKER_MEMORY = 500 << 20
MAPPED = 700 << 20
"""Address space of such a process beside the memory that it takes: Spark limits that. Measured: 550 to 660 MB."""
ARENA = 1 << 30
"""What Arrow's usual allocator takes of it ahead, used or not, where it finds as much."""
LIGHT_JAVA = "-XX:TieredStopAtLevel=1"
"""Java compiles quickly, not well: here it moves bytes. A find of 100,000 documents takes 12.9 s of CPU, not 21.6."""
_ARROW_POOL = "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL"


def open_cluster_run(reader: Reader, spec: Spec, run: RunOptions, cluster: ClusterOptions, **how: Any) -> ClusterRun:
    """A run whose search Spark does, not entered yet; ``how``: further arguments of ``Run``.

    Raises:
        InputError: something is asked for that a cluster does not do, or the session cannot be opened.
        MissingDependency: PySpark or Java is not there.
    """
    check_clustered(reader, spec, run)
    return run_of(open_session(cluster.master, cluster.conf), reader, spec, run, **how)


def run_of(session: SparkSession, reader: Reader, spec: Spec, run: RunOptions, **how: Any) -> ClusterRun:
    """A run of a session, not entered yet; ``how``: further arguments of ``ClusterRun``."""
    return ClusterRun(reader, spec, **options_of(session, reader, run, how.get("observer")), **how)


def options_of(session: SparkSession, reader: Reader, run: RunOptions, observer: Observer | None) -> dict[str, Any]:
    """What a run of a session has beside what it looks for: arguments of ``ClusterRun`` and ``ClusterPassageRun``."""
    from neardup.spark.cluster import SparkCluster

    cluster = SparkCluster(session, observer)
    check_absolute(reader, cluster.master)
    here = replace(run, workdir=None, resume=False)
    return {
        "options": here,
        "cluster": cluster,
        "storage": Storage(place_of_work(run)),
        "worker_memory": worker_memory(session, Budget.of(here.memory_limit)),
        "go_on": run.resume,
    }


def check_clustered(reader: Reader, spec: Spec, run: RunOptions) -> None:
    """Raise InputError for what a cluster does not do."""
    place_of_work(run)
    asked = [
        ("--exact and --against", spec.exact),
        (f"--measure {spec.measure}", spec.measure != DEFAULT_MEASURE),
        (f"--sketch {spec.sketch}", needs_memory(spec)),
    ]
    for name, is_asked in asked:
        if is_asked:
            raise InputError(f"{name}: a cluster does not do this. Leave it out, or --engine spark (engine='spark').")
    check_files(reader)


def check_files(reader: Reader) -> None:
    """Raise InputError for what workers cannot read."""
    if not reader.is_lasting:
        raise InputError("standard input and values in memory cannot be read by the workers of a cluster. Save files.")


def place_of_work(run: RunOptions) -> str:
    """The workdir, as an absolute path or an address: workers have other current folders."""
    if not run.workdir:
        raise InputError(
            "a run on a cluster needs a folder for its work that driver and workers see. Name it with --workdir "
            "(workdir=): a path of a shared file system, or an address such as s3://bucket/folder."
        )
    place = place_of(os.fspath(run.workdir))
    return place if is_remote(place) else os.path.abspath(place)


def check_absolute(reader: Reader, master: str) -> None:
    """Raise InputError for an input that workers on other machines would look for in another folder."""
    for part in () if master.startswith("local") else reader.parts:
        path = (part.paths or [part.name])[0]
        if not is_remote(path) and not os.path.isabs(path):
            raise InputError(
                f"{shown_path(path)} is a relative path, and the workers of {master} have other current folders. Give "
                f"{shown_path(os.path.abspath(path))}, under which all machines must see it."
            )


def open_session(master: str | None, conf: Sequence[str]) -> SparkSession:
    """The Spark session of this process, or a new one."""
    sql = pyspark_sql()
    active: SparkSession | None = sql.SparkSession.getActiveSession()
    if active is not None:
        return active
    check_java()
    builder = sql.SparkSession.builder.appName("neardup").config("spark.ui.showConsoleProgress", "false")
    if master is not None:
        builder = builder.master(master)
    if master is None or master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config("spark.driver.defaultJavaOptions", LIGHT_JAVA)
    if any(each.startswith(f"{PYTHON_MEMORY}=") for each in conf):
        builder = builder.config(_ARROW_POOL, "system")
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # for workers on this machine
    for each in conf:
        key, _, value = each.partition("=")
        builder = builder.config(key, value)
    with tempfile.TemporaryFile() as log:
        try:
            with _stderr_to(log.fileno()):  # which the process of Spark writes to as long as it lives
                session: SparkSession = builder.getOrCreate()
        except Exception as exc:
            told = re.findall(r"^(?:Caused by: )?[\w.]*(?:Exception|Error): .*", f"{exc}\n{_text(log)}", re.MULTILINE)
            why = told[-1] if told else next(iter(str(exc).splitlines()), type(exc).__name__)
            raise InputError(f"the Spark session cannot be opened: {why.strip()}. Check --master and --conf.") from exc
    session.sparkContext.setLogLevel("ERROR")
    return session


def pyspark_sql() -> Any:
    """The module ``pyspark.sql``; MissingDependency where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pyspark.sql
    except ImportError as exc:
        raise MissingDependency(
            "a run on Spark needs PySpark, which is not installed. pip install 'neardup[spark]' brings it; it needs "
            f"Java {JAVA} or later."
        ) from exc
    return pyspark.sql


def _text(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode("utf-8", "replace")


@contextmanager
def _stderr_to(place: int) -> Iterator[None]:
    """Let what is written to stderr, by processes that are started too, go to an open file."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(place, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def check_java() -> None:
    """Raise MissingDependency where there is no Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    cure = f"Install Java {JAVA} (Debian: apt install openjdk-17-jre-headless), or name it with JAVA_HOME."
    if java is None:
        raise MissingDependency(f"Spark needs Java {JAVA} or later, and there is none. {cure}")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    if version is not None and int(version[1]) < JAVA:
        raise MissingDependency(f"Spark needs Java {JAVA} or later, and {java} is Java {version[1]}. {cure}")


def worker_memory(session: SparkSession, driver: Budget) -> int:
    """Bytes that the Python process of one task may take.

    What spark.executor.pyspark.memory leaves to each core of an executor, if it is set; else, on one machine, a share
    of what the driver may use. InputError where the setting is too little for any task.
    """
    context = session.sparkContext
    conf = context.getConf()
    limit, cores = conf.get(PYTHON_MEMORY), int(conf.get("spark.executor.cores") or 1)
    if limit is None and str(context.master).startswith("local"):
        return max(LEAST_WORKER_MEMORY, min(WORKER_MEMORY, PROGRAM + driver.work // (2 * context.defaultParallelism)))
    if limit is None:
        return WORKER_MEMORY
    mine = bytes_of(limit) // cores
    if mine < MAPPED + LEAST_WORKER_MEMORY:
        least = cores * (MAPPED + LEAST_WORKER_MEMORY) >> 20
        raise InputError(
            f"{PYTHON_MEMORY} is {limit}, for {cores} core{'s' if cores > 1 else ''} of an executor; libraries and a "
            f"task take {least // cores} MiB for each. Set it to {least}m or more, or leave it out."
        )
    arena = 0 if conf.get(_ARROW_POOL) == "system" else ARENA
    return max(LEAST_WORKER_MEMORY, mine - MAPPED - arena)


def bytes_of(size: str) -> int:
    """A size as Spark writes it (512m, 2g, 2gb; 2048 are MiB there) in bytes; InputError for anything else."""
    found = re.fullmatch(r"(\d+)([kmgtp]?)b?", size.strip().lower())
    if found is None:
        raise InputError(f"{PYTHON_MEMORY} is {size!r}, which is no size. Give one such as 2g.")
    return int(found[1]) << 10 * ("kmgtp".index(found[2] or "m") + 1)
