"""A process that writes until the disk is full: ``python -m tests.index.filler INDEX SEED``.

It says how many batches were acknowledged and the error that ended it; what was there can still be asked then.
"""

from __future__ import annotations

import sys

from tests.index.crashing import check_answers
from tests.index.tiny import tiny
from tests.index.workload import Plan, carry_out

from neardup import Index, NeardupError


def main(path: str, seed: int) -> None:
    """Write, and look at what is there when it can go no further."""
    plan = Plan.begin(seed)
    with tiny(), Index.open(path) as index:
        while True:
            before = plan.copy()
            try:
                carry_out(index, plan.step())
            except NeardupError as exc:
                check_answers(index, before)
                print(before.done, type(exc).__name__)
                print(exc, file=sys.stderr)
                return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
