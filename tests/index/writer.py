"""A process that writes until it is killed: ``python -m tests.index.writer INDEX SEED DONE``.

It says ``ready`` when everything is compiled and the index is open, then the number of each batch as soon as it is
acknowledged.
"""

from __future__ import annotations

import sys

from tests.index.tiny import tiny
from tests.index.workload import OPTIONS, Plan, carry_out

from neardup import Index


def warm_up() -> None:
    """Have everything compiled, which on a new machine takes longer than the process will live."""
    plan = Plan.begin(0)
    with tiny(), Index.create(**OPTIONS) as index:
        while plan.done < 12:
            carry_out(index, plan.step())


def main(path: str, seed: int, done: int) -> None:
    """Go on after batch ``done``."""
    plan = Plan.begin(seed)
    while plan.done < done:
        plan.step()
    warm_up()
    with tiny(), Index.open(path) as index:
        print("ready", flush=True)
        for change in plan.changes():
            carry_out(index, change)
            print(plan.done, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
