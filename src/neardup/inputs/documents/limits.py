"""What reading one document may take, so that no document can stop a run or take the memory of the machine.

Processor time and memory are measured in the child that reads (``child``); wall time by whoever waits for it
(``readers``), as a last resort, since it depends on what else the machine does. None depends on the run: not on
``--memory`` and not on ``--threads``.
"""

from __future__ import annotations

from dataclasses import dataclass

from neardup.inputs.documents.unreadable import Unreadable

__all__ = ["LIMITS", "MOST_BYTES", "MOST_TIMES", "Limits", "too_large"]

MOST_BYTES = 256 << 20
"""Bytes of a document, unpacked, that are read at most, and bytes of its text."""
MOST_TIMES = 100
"""How many times its own size a package may unpack to; the XML of real ones shrinks 5 to 50 times, pictures hardly."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one document."""

    seconds: float = 30.0
    """Processor time: a PDF of a thousand pages takes about 3."""
    seconds_per_mb: float = 2.0
    """And for each 10^6 bytes of its file: large ones of few words take about 0.1."""
    memory: int = 1 << 30
    """Resident bytes of the process that reads it, which is alone with this much."""
    shared_memory: int = 256 << 20
    """Resident bytes at the first attempt, which several make at a time. A reader takes 20 to 60 MB as a rule."""
    wall_times: float = 10.0
    """How many times its processor time it may take by the clock, on a machine that has other work."""
    wall_seconds: float = 600.0
    """And seconds beside, for a disk or a network that is slow to answer."""

    def processor(self, size: int) -> float:
        """Seconds of processor time for a file of ``size`` bytes."""
        return self.seconds + self.seconds_per_mb * size / 1e6

    def wall(self, size: int) -> float:
        """Seconds by the clock for a file of ``size`` bytes."""
        return self.wall_seconds + self.wall_times * self.processor(size)


LIMITS = Limits()


def too_large() -> Unreadable:
    """The fault of a file that would take all memory, or all day."""
    return Unreadable(
        f"it unpacks to more than {MOST_BYTES >> 20} MB, or to more than {MOST_TIMES} times its size",
        "Split it, or leave it out.",
    )
