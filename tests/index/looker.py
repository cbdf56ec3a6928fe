"""A process that reads all the time: ``python -m tests.index.looker INDEX SEED``, until its input ends.

Whatever happens to the writer, each answer must be of one version of a group, whole. It opens the index anew now and
then, and says at the end how many questions it asked.
"""

from __future__ import annotations

import random
import sys
import threading
import time

from tests.index.tiny import tiny
from tests.index.workload import GROUPS, base, version_seen

from neardup import Index

QUESTIONS = 60
"""To one opened index."""


def main(path: str, seed: int) -> None:
    """Ask until the input ends."""
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    rng = random.Random(seed)
    asked = seen = opened = 0
    with tiny():
        while not over.is_set():
            with Index.open(path, read_only=True) as index:
                opened += 1
                for _ in range(rng.randrange(QUESTIONS)):
                    groups = rng.sample(range(GROUPS), 2)
                    answers = index.query([base(group) for group in groups for _ in range(2)], top=None)
                    versions = [version_seen(groups[i // 2], hits) for i, hits in enumerate(answers)]
                    assert versions[::2] == versions[1::2], f"one call, two states: {versions}"
                    asked += 1
                    time.sleep(0.02)  # the writer is to get on, too
                    seen += sum(version is not None for version in versions)
    print(asked, seen, opened)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
