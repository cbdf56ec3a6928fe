"""Who is told when machine code is being made: it takes seconds in which nothing else happens.

Here and not beside the compiling, since the command line sets this before it knows whether numba is needed at all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[str], None]


def _to_a_person(message: str) -> None:
    """Say it on stderr in an interactive session; in a program that only uses neardup nobody is told."""
    if hasattr(sys, "ps1") or ("IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None):
        print(f"neardup: {message}", file=sys.stderr, flush=True)


_listeners: list[Tell] = [_to_a_person]


def announce(message: str) -> None:
    """Tell whoever listens now."""
    _listeners[-1](message)


@contextmanager
def told(tell: Tell) -> Iterator[None]:
    """Tell ``tell``, and nobody else, of what is compiled inside of this."""
    _listeners.append(tell)
    try:
        yield
    finally:
        _listeners.remove(tell)
