"""A standalone Spark cluster on this machine beside one machine: the same bytes, CPU and memory.

    python benchmarks/spark_cluster.py FILE… [--command find] [--worker-python PYTHON] [--work FOLDER]

A master and two workers of one core each run as processes on the loopback. With ``--worker-python`` the workers have
an environment of their own, with neardup in it. CPU seconds are those of all processes of a cluster, looked at several
times a second while they live: what the kernel adds up of children that have ended lacks the Python processes of
executors. What a cluster takes that does nothing (a job of two empty tasks) is measured first and taken off. The input
is given as folders or files of any split; outputs are compared byte for byte. What kills do is in ``spark_kills.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import filecmp
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SUBREAPER = 36
"""prctl: orphans become children of this process, so that what they took is counted."""
OUTPUTS = {
    "find": ["-o", "pairs.jsonl", "--clusters", "clusters.csv"],
    "dedup": ["-o", "clean", "--removed", "r.jsonl"],
}


@dataclass
class Cluster:
    """A master and its workers."""

    work: Path
    python: str
    memory: str
    conf: list[str]
    port: int = field(default_factory=lambda: _free_port())
    master: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    peaks: dict[int, int] = field(default_factory=dict)
    """Peak resident bytes of each Python process of a worker."""
    used: dict[int, tuple[str, float]] = field(default_factory=dict)
    """Of each process what it is, and its CPU seconds as they were last seen."""

    def start(self) -> None:
        """Start all, and wait until the workers are known."""
        port = str(self.port)
        self.master = self._start("Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0")
        _until(lambda: b"elected leader" in self._log("Master"))
        for _ in range(2):
            self.add_worker()

    @property
    def url(self) -> str:
        """Of the master."""
        return f"spark://127.0.0.1:{self.port}"

    def add_worker(self) -> None:
        """Start one more worker, and wait until it is known."""
        known = self._log("Master").count(b"Registering worker")
        given = ["--host", "127.0.0.1", "--cores", "1", "--memory", "3g", "--webui-port", "0", self.url]
        self.workers.append(self._start("Worker", *given))
        _until(lambda: self._log("Master").count(b"Registering worker") > known)

    def _start(self, kind: str, *args: str) -> subprocess.Popen[bytes]:
        import pyspark

        home = Path(pyspark.__file__).parent
        env = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(self.work / "spark-work"),
            "SPARK_LOCAL_DIRS": str(self.work / "spark-local"),
        }
        if self.python != sys.executable:
            env.pop("PYTHONPATH", None)
        log = (self.work / f"{kind}.log").open("ab")
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}", *args]
        return subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)

    def _log(self, kind: str) -> bytes:
        path = self.work / f"{kind}.log"
        return path.read_bytes() if path.exists() else b""

    def stop(self) -> None:
        """End all, whatever became of them."""
        for process in (*self.workers, self.master):
            if process is not None and process.poll() is None:
                process.terminate()
        for process in (*self.workers, self.master):
            if process is not None:
                process.wait()
        (self.work / "Master.log").unlink(missing_ok=True)
        self.workers.clear()

    def options(self, workdir: Path, *more: str) -> list[str]:
        """Options of a command that runs here."""
        conf = [
            "spark.executor.cores=1",
            f"spark.executor.memory={self.memory}",
            "spark.driver.host=127.0.0.1",
            "spark.driver.bindAddress=127.0.0.1",
            "spark.ui.enabled=false",
            *self.conf,
        ]
        given = [each for setting in conf for each in ("--conf", setting)]
        return ["--engine", "spark", "--master", self.url, "--workdir", str(workdir), *given, *more]

    def watch(self, process: subprocess.Popen[bytes]) -> None:
        """Note what the processes take until one of them ends."""
        while process.poll() is None:
            for pid, name in descendants(os.getpid()):
                with contextlib.suppress(OSError, StopIteration, ValueError):
                    what, place = kind_of(name), Path(f"/proc/{pid}")
                    ticks = (place / "stat").read_text().rpartition(")")[2].split()[11:13]
                    self.used[pid] = what, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
                    if what == PYTHON:
                        lines = (place / "status").read_text().splitlines()
                        peak = next(line for line in lines if line.startswith("VmHWM"))
                        self.peaks[pid] = int(peak.split()[1]) * 1024
            time.sleep(0.2)

    def told(self) -> dict[str, float]:
        """CPU seconds by what took them, since they were last asked for."""
        found: dict[str, float] = {}
        for what, seconds in self.used.values():
            found[what] = found.get(what, 0.0) + seconds
        self.used.clear()
        return found


PYTHON = "Python of executors"


def kind_of(command: str) -> str:
    """What a process of a cluster is, by its command line."""
    if "pyspark.daemon" in command or "pyspark/daemon" in command:
        return PYTHON
    if "CoarseGrainedExecutorBackend" in command:
        return "executors"
    if "deploy.SparkSubmit" in command:
        return "Java of the driver"
    return "master and workers" if "org.apache.spark.deploy" in command else "driver"


def _free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port: int = some.getsockname()[1]
        return port


def descendants(of: int) -> Iterator[tuple[int, str]]:
    """Processes that a process started, and those that these did, with their command lines."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
                children.setdefault(int(parent), []).append(int(place.name))
    left = children.get(of, [])
    while left:
        pid = left.pop()
        left += children.get(pid, [])
        with contextlib.suppress(OSError):
            told = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if told:  # else it has ended, and nobody has asked for its exit code yet
                yield pid, told


def _until(is_so: object, limit: float = 120.0) -> None:
    end = time.monotonic() + limit
    while not is_so():  # type: ignore[operator]
        if time.monotonic() > end:
            raise SystemExit("the cluster does not start; see the logs in the work folder")
        time.sleep(0.2)


def spent() -> float:
    """CPU seconds of all children that have ended, orphans too."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if not pid:
            time.sleep(0.05)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def command(name: str, inputs: list[str], out: Path, *more: str) -> list[str]:
    """A command that writes into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    outputs = [each if each.startswith("-") else str(out / each) for each in OUTPUTS[name]]
    return [sys.executable, "-m", "neardup", name, *inputs, *outputs, "--quiet", *more]


def same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files."""
    found = filecmp.dircmp(one, other)
    if found.left_only or found.right_only or found.funny_files:
        return False
    _, differ, wrong = filecmp.cmpfiles(one, other, found.common_files, shallow=False)
    return not differ and not wrong and all(same(one / name, other / name) for name in found.common_dirs)


def compare(args: argparse.Namespace, cluster: Cluster, work: Path) -> None:
    """One machine, an empty cluster, the cluster."""
    begin = spent()
    subprocess.run(command(args.command, args.inputs, work / "one", "--threads", "2"), check=True)
    one = spent() - begin
    empty = work / "empty.jsonl"
    empty.write_text('{"text": "nothing"}\n' * 2)
    idle, _, _ = _on_cluster(cluster, command("find", [str(empty)], work / "nothing"), work)
    many, told, wall = _on_cluster(cluster, command(args.command, args.inputs, work / "many"), work)
    whole, nothing = sum(many.values()), sum(idle.values())
    print(f"one machine {one:.1f} CPU s; cluster {whole:.1f}, of which {nothing:.1f} for one that does nothing")
    print(f"ratio without that {(whole - nothing) / one:.2f}; {wall:.0f} s")
    for what, seconds in many.items():
        print(f"  {what}: {seconds:.1f} CPU s, {idle.get(what, 0.0):.1f} when nothing is done")
    sent = {stage: round(count / told["documents"], 1) for stage, count in told["exchanged"].items()}
    print(f"bytes sent for each of {told['documents']:,} documents: {sent}; seconds by stage: {told['seconds']}")
    print(f"peak of a Python process of an executor {max(cluster.peaks.values(), default=0) / 1e6:.0f} MB")
    print("same bytes" if same(work / "one", work / "many") else "NOT THE SAME")


def _on_cluster(cluster: Cluster, argv: list[str], work: Path) -> tuple[dict[str, float], Any, float]:
    """CPU seconds by process of a command on a cluster of its own, its summary, and its time."""
    cluster.start()
    start = time.monotonic()
    with (work / "told.json").open("wb") as out:
        run = subprocess.Popen([*argv, "--json", *cluster.options(work / "work")], stdout=out)
        cluster.watch(run)
    wall = time.monotonic() - start
    cluster.stop()
    if run.returncode:
        raise SystemExit(f"exit code {run.returncode}")
    return cluster.told(), json.loads((work / "told.json").read_bytes()), wall


def arguments(about: str | None) -> argparse.ArgumentParser:
    """What both programs take."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--command", choices=tuple(OUTPUTS), default="find")
    parser.add_argument("--worker-python", default=sys.executable)
    parser.add_argument("--executor-memory", default="1g")
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--work", type=Path)
    return parser


@contextlib.contextmanager
def cluster_of(args: argparse.Namespace) -> Iterator[tuple[Cluster, Path]]:
    """A cluster that is not started yet, stopped at the end, and a folder, removed then."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    os.environ["PYSPARK_PYTHON"] = args.worker_python  # the driver tells it to the workers
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        cluster = Cluster(Path(folder), args.worker_python, args.executor_memory, args.conf)
        try:
            yield cluster, cluster.work
        finally:
            cluster.stop()


def main() -> None:
    """See the head of the file."""
    args = arguments(__doc__).parse_args()
    with cluster_of(args) as (cluster, work):
        compare(args, cluster, work)


if __name__ == "__main__":
    main()
