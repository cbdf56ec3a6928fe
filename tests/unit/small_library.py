"""A few kernels that use all that wrappers know, and a library of them: ``python -m tests.unit.small_library FILE``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neardup.native.declare import DECLARED, also, kernel, record


class Row(NamedTuple):
    """Arrays that belong together."""

    words: Any
    count: Any


ROW = record(Row, "read(uint64[:, ::1])", "int64")


@kernel("read(uint8[::1]), int32[:, ::1], float64, boolean, uint64, Tuple((int64, UniTuple(float64, 2)))")
def takes(data, table, real, is_so, word, pair):
    """Write a sum of all arguments, and return what they were."""
    table[0, 0] += data.size + pair[0]
    return real + pair[1][1], is_so, word, -np.int64(data[0])


@kernel(ROW, "int64")
def gives(row, extra):
    """Return arrays in a tuple: one of two dimensions, the front of one, and one twice."""
    made = np.zeros((row.count, 2), np.uint32)
    made[:, 1] = 7
    rising = np.arange(row.words.shape[0] + extra)
    return made, rising[: row.count], (rising, rising)


@kernel("int64, int64")
def divides(a, b):
    return a // b


@kernel("int64[::1], int64[::1]")
def assigns(to, source):
    to[:] = source


@also("uint8[::1]")
@kernel("uint64[::1]")
def doubles(values):
    for i in range(values.size):
        values[i] *= 2


@kernel("int64, uint64[::1]")
def mixes(rounds, state):
    """Take as long as it is told to."""
    word = state[0]
    for _ in range(rounds):
        word = word * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    state[0] = word


def main(target: Path) -> None:
    """Compile the kernels and link them."""
    from neardup.native import build, compile, library, wrappers

    source, machine_code = target.with_suffix(".c"), target.with_suffix(".o")
    names = [name for name in DECLARED if name.startswith("small_library.")]
    kernels = compile.compile_into(machine_code, names, build.PROCESSORS[build.platform.machine()])
    source.write_text(wrappers.module(sorted(kernels), library.NAME, "none"))
    subprocess.run(build.link_command(target, source, [machine_code]), check=True)


if __name__ == "__main__":
    from tests.unit import small_library  # whose kernels have its name

    small_library.main(Path(sys.argv[1]))
