"""What kills do to a run on a standalone Spark cluster: the same bytes, and no finished stage is done again.

    python benchmarks/spark_kills.py FILE… [--command dedup] [--what driver]… [--times 10] [--seed 1]

    executor   the Java process of an executor; the processes of Python beside it notice
    worker     a worker with all that it started, as when its machine is lost; another one is added for the next run
    driver     the command, alone or together with its Java process in turns; then the command goes on with --resume
    python     a process of Python that works on a task, as the kernel of a machine out of memory does

All runs share a process whose session stays open, until it is killed. Moments are spread over the stages: those of all
kills fall into different stages as far as there are enough, each at a random time of a stage, which is measured on a run
that nothing happens to. What was done is read from the records of finished stages in the workdir, and from Spark's own
log of its jobs.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from spark_cluster import Cluster, arguments, cluster_of, command, descendants, same

KINDS = ("executor", "worker", "driver", "python")
POLL = 0.02
Records = dict[str, tuple[int, int]]
"""Inode and time of the record of each finished stage."""


@dataclass
class Stage:
    """A stage as Spark's log has it."""

    name: str
    tasks: int = 0
    """That were begun."""
    failed: int = 0
    ended: float = 0.0
    """Seconds of the epoch."""


class Host:
    """A process that runs one command after the other in one session of Spark."""

    _PROGRAM = """
import json, sys
from neardup.cli import main
for line in sys.stdin:
    try:
        main(json.loads(line))
    except SystemExit as ended:
        print(ended.code or 0, flush=True)
"""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self.returncode: int | None = 0
        """Of the last command; None while it runs."""

    def ask(self, given: list[str]) -> None:
        """Begin a command: the arguments behind its name."""
        if self._process is None:
            with self._log.open("ab") as out:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", self._PROGRAM],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=out,
                    text=True,
                    start_new_session=True,
                )
        process, self.returncode = self._process, None
        assert process.stdin is not None
        process.stdin.write(json.dumps(given) + "\n")
        process.stdin.flush()
        threading.Thread(target=self._listen, args=(process.stdout,), daemon=True).start()

    def _listen(self, answers: IO[str]) -> None:
        self.returncode = int(answers.readline() or -signal.SIGKILL)

    def stop(self) -> None:
        """End it; another one begins with the next command."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def kill(self, *, with_jvm: bool) -> None:
        """SIGKILL it; the process of Java beside it is orphaned, or killed, too."""
        process, self._process = self._process, None
        assert process is not None
        if with_jvm:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


@dataclass
class Run:
    """One run of the command, from its start to its end."""

    host: Host
    work: Path
    log: Path
    begun: float = field(default_factory=time.time)
    ended: float = float("inf")
    begins: dict[str, float] = field(default_factory=dict)
    """When records were first seen."""
    records: Records = field(default_factory=dict)
    written_again: set[str] = field(default_factory=set)
    """Records that were there and are others now."""

    @property
    def has_begun(self) -> bool:
        """Whether the session is open and the first stage begun; true to the end."""
        return bool(self.records) or (self.work / "run.json").exists()

    def look(self) -> bool:
        """Look at the records once; whether the process still runs."""
        runs = self.host.returncode is None
        with contextlib.suppress(OSError):
            for entry in os.scandir(next(iter(self.work.glob("**/done")), self.work / "done")):
                with contextlib.suppress(OSError):
                    if not entry.name.endswith(".json"):
                        continue
                    found = entry.stat()
                    mark = found.st_ino, found.st_mtime_ns
                    if self.records.setdefault(entry.name, mark) != mark:
                        self.written_again.add(entry.name)
                    self.begins.setdefault(entry.name, time.monotonic())
        return runs

    def wait(self) -> int:
        """Look until the process has ended; its exit code."""
        while self.look():
            time.sleep(POLL)
        self.ended = time.time()
        return self.host.returncode or 0

    def stages(self) -> list[Stage]:
        """The stages that Spark began, in order."""
        found: dict[str, Stage] = {}
        of: dict[int, str] = {}
        jobs: dict[int, str] = {}
        for event in _events(self.log):
            kind = event["Event"]
            if kind == "SparkListenerJobStart" and "spark.jobGroup.id" in event.get("Properties", {}):
                if not self.begun <= event["Submission Time"] / 1000 < self.ended:
                    continue  # of another run
                group = event["Properties"]["spark.jobGroup.id"]
                name = event["Properties"].get("spark.job.description", "").removeprefix("neardup: ")
                found.setdefault(group, Stage(name))
                jobs[event["Job ID"]] = group
                of |= dict.fromkeys(event["Stage IDs"], group)
            elif kind == "SparkListenerJobEnd" and event["Job ID"] in jobs:
                if event["Job Result"]["Result"] == "JobSucceeded":
                    found[jobs[event["Job ID"]]].ended = event["Completion Time"] / 1000
            elif kind == "SparkListenerTaskStart" and event["Stage ID"] in of:
                found[of[event["Stage ID"]]].tasks += 1
            elif kind == "SparkListenerTaskEnd" and event["Stage ID"] in of:
                found[of[event["Stage ID"]]].failed += event["Task End Reason"]["Reason"] != "Success"
        return list(found.values())


def _events(folder: Path) -> Iterator[dict]:
    for path in sorted(folder.iterdir()):
        for line in path.read_text().splitlines():
            with contextlib.suppress(ValueError):  # cut off by the kill
                yield json.loads(line)


class Bench:
    """A cluster, a command, and what it gives where nothing happens."""

    def __init__(self, cluster: Cluster, work: Path, name: str, inputs: list[str], seed: int) -> None:
        """Ask one machine, and the cluster once; the bytes must be the same."""
        self.cluster, self.work, self.name, self.inputs = cluster, work, name, inputs
        self.rng = random.Random(seed)
        subprocess.run(command(name, inputs, work / "one"), check=True)
        cluster.start()
        self.host = Host(work / "command.log")
        for _ in range(2):  # the first opens the session
            shutil.rmtree(work / "many", ignore_errors=True)
            run = self.begin()
            begun = time.monotonic()
            if run.wait() or not self.is_same():
                raise SystemExit(f"NOT THE SAME, and nothing was killed: {(work / 'command.log').read_text()[-2000:]}")
        self.seconds = time.monotonic() - begun
        self.plan = run.stages()
        self.marks = sorted(run.begins.items(), key=lambda each: each[1])
        ends = [when for _, when in self.marks] + [time.monotonic()]
        self.lasted = [after - before for before, after in zip([begun, *ends[:-1]], ends, strict=True)]
        names = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in zip(self.phases, self.lasted, strict=True))
        print(f"{name}: {self.seconds:.0f} s: {names}", flush=True)
        self._left: list[int] = []

    @property
    def phases(self) -> list[str]:
        """What is done until each record is there, and behind the last."""
        return [*(name.removesuffix(".json").partition("-")[2] for name, _ in self.marks), "tables and files"]

    def begin(self, *more: str) -> Run:
        """Start the command."""
        log = self.work / "log"
        log.mkdir(exist_ok=True)
        told = (f"dir=file://{log}", "enabled=true", "compress=false", "rolling.enabled=false")
        conf = [option for each in told for option in ("--conf", f"spark.eventLog.{each}")]
        options = self.cluster.options(self.work / "work", *more, *conf)
        run = Run(self.host, self.work / "work", log)
        self.host.ask(command(self.name, self.inputs, self.work / "many", *options)[3:])
        return run

    def is_same(self) -> bool:
        """Whether the outputs are those of one machine, and nothing lies beside them."""
        return same(self.work / "one", self.work / "many")

    def moment(self) -> tuple[int, float]:
        """A stage, and seconds after it began. All stages come once before one comes again."""
        if not self._left:
            self._left = [phase for phase, seconds in enumerate(self.lasted) if seconds > POLL]
            self.rng.shuffle(self._left)
        phase = self._left.pop()
        return phase, self.rng.uniform(0, 1) * self.lasted[phase]

    def kill(self, kind: str, number: int) -> str:
        """Kill something in one run; a line that tells how that ended."""
        shutil.rmtree(self.work / "many", ignore_errors=True)
        shutil.rmtree(self.work / "work", ignore_errors=True)
        phase, delay = self.moment()
        run = self.begin()
        until = None
        victim = ""
        while run.look():
            if until is None and run.has_begun and len(run.records) >= phase:
                until = time.monotonic() + delay
            if until is not None and time.monotonic() >= until and (victim := self._hit(kind, number)):
                break
            time.sleep(POLL)
        killed_at, done = time.time(), len(run.records)
        code, runs = run.wait(), [run]
        if kind == "driver" and code:
            again = (self.work / "work" / "run.json").exists()
            rest = self.begin(*(["--resume"] if again else []))  # while the killed one's Java may still run
            rest.records = dict(run.records) if again else {}
            code = rest.wait()
            runs.append(rest)
        is_same = code == 0 and self.is_same()
        begun = [run.stages() for run in runs]
        repeated = self._repeated(begun, killed_at, sum("crowds" not in name for name in run.records))
        repeated += sum(len(each.written_again) for each in runs)
        lost = sum(stage.failed for stages in begun for stage in stages)
        verdict = "same bytes" if is_same else f"NOT THE SAME (exit code {code})"
        where = self.phases[min(done, len(self.phases) - 1)]
        if kind == "worker":
            self.cluster.add_worker()
        if not victim:
            where = "nothing: it had ended"
        return (
            f"{kind} {number}: {victim} in {where}, {done} records; {lost} tasks lost; {verdict}; repeated {repeated}"
        )

    def _repeated(self, begun: list[list[Stage]], killed: float, recorded: int) -> int:
        """Stages that had ended and were begun again, or of which tasks were begun once more."""
        usual = [(stage.name, stage.tasks) for stage in self.plan]
        pairs = zip(begun[0], usual, strict=False)
        found = sum(0 < stage.ended < killed and stage.tasks > tasks for stage, (_, tasks) in pairs)
        names = [stage.name for stage in begun[0]][: None if len(begun) == 1 else recorded]
        names += [stage.name for stages in begun[1:] for stage in stages]
        return found + abs(len(names) - len(usual)) if names != [name for name, _ in usual] else found

    def _hit(self, kind: str, number: int) -> str:
        """SIGKILL one of them; what it was, or nothing where there is none now."""
        workers = [worker for worker in self.cluster.workers if worker.poll() is None]
        if kind == "driver":
            self.host.kill(with_jvm=number % 2 == 0)
            return "it and its JVM" if number % 2 == 0 else "it"
        if kind == "worker":
            worker = self.rng.choice(workers)
            victims = [*(pid for pid, _ in descendants(worker.pid)), worker.pid]
        else:
            word = "CoarseGrainedExecutorBackend" if kind == "executor" else "pyspark.daemon"
            found = [pid for worker in workers for pid, line in descendants(worker.pid) if word in line]
            victims = [self.rng.choice(found)] if found else []
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return f"{len(victims)} processes" if victims else ""


def main() -> None:
    """See the head of the file."""
    parser = arguments(__doc__)
    parser.add_argument("--what", choices=KINDS, action="append")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with cluster_of(args) as (cluster, work):
        bench = Bench(cluster, work, args.command, args.inputs, args.seed)
        told: list[str] = []
        for kind in args.what or KINDS[:3]:
            for number in range(args.times):
                told.append(bench.kill(kind, number))
                print(told[-1], flush=True)
        bench.host.stop()
        good = sum("same bytes" in line for line in told)
        clean = sum(line.endswith("repeated 0") for line in told)
        print(f"{good} of {len(told)} the same bytes; in {clean} no finished stage was repeated")


if __name__ == "__main__":
    main()
