"""Run one command pinned to cores and say what it took. Shared by the benchmark programs of this folder."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

ONE_THREAD = dict.fromkeys(("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class Run:
    """What one process took, and what it said."""

    seconds: float
    cpu_seconds: float
    peak_mib: float
    load_before: float
    """Processes waiting in the minute before: near the number of cores, distrust the seconds."""
    stdout: str


def measure(
    command: list[str],
    cores: str,
    *,
    environment: dict[str, str] | None = None,
    limit: float = 3600.0,
) -> Run:
    """Run a command under `taskset -c cores` and return its times and peak memory, with its children.

    Raises:
        TimeoutError: it ran longer than ``limit`` seconds and was ended.
        RuntimeError: it failed; its last lines of error output are in the message.
    """
    env = {**os.environ, **ONE_THREAD, **(environment or {})}
    load = os.getloadavg()[0]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(["taskset", "-c", cores, *command], env=env, stdout=out, stderr=err)
        alarm = threading.Timer(limit, process.kill)
        alarm.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, errors = out.read().decode(), err.read().decode()
    if seconds >= limit:
        raise TimeoutError(f"{shlex.join(command)} took more than {limit:.0f} s")
    if process.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)} ended with {process.returncode}:\n{errors[-2000:]}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, load, said)
