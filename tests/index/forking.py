"""An index that a fork takes along: ``python -m tests.index.forking INDEX``."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings

from tests.index.workload import OPTIONS, base, members

from neardup import Index, NeardupError


def main(path: str) -> None:
    """The child may be refused; it may not answer wrong, hang, or harm what the parent does afterwards."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
    with Index.create(path, **OPTIONS) as index:
        documents = members(1, 1)
        index.add(list(documents), list(documents.values()))
        expected = index.query(base(1), top=None)
        assert len(expected) == len(documents)
        child = os.fork()
        if child == 0:
            code = 3
            try:
                try:
                    assert index.query(base(1), top=None) == expected
                    index.add("of the child", "a text of the child")
                except NeardupError as exc:
                    print(exc, file=sys.stderr)
                print("child refused or right", flush=True)
                code = 0
            finally:
                os._exit(code)
        idle = os.fork()
        if idle == 0:
            time.sleep(60)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        index.add("of the parent", "a text of the parent")
        assert index.query(base(1), top=None) == expected
    with Index.open(path) as index:  # the child that sleeps has the lock file open, and must not hold the lock
        assert "of the parent" in index
        assert index.verify().ok
    os.kill(idle, signal.SIGKILL)
    os.waitpid(idle, 0)
    print("parent right", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
