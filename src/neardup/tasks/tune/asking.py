"""Who is asked about a pair, and what may come back."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from neardup.errors import InputError
from neardup.tasks.tune.answers import WORDS
from neardup.tasks.tune.outcome import AskedPair


class Reply(Enum):
    """What comes back."""

    YES = "yes"
    NO = "no"
    SKIP = "skip"
    UNDO = "undo"
    """Take the answer before back, and ask for it again."""
    STOP = "stop"
    """Ask nothing more, and use what is known."""

    @property
    def says(self) -> bool | None:
        """Whether the pair is a duplicate; None: nobody can tell."""
        return WORDS[self.value]


class Asker(Protocol):
    """Somebody who can be asked."""

    name: str
    """As it stands in the file of answers."""

    def ask(self, pair: AskedPair) -> Reply:
        """Ask, and wait for the reply."""


class Function:
    """A function of Python as the judge."""

    name = "function"

    def __init__(self, ask: Callable[[AskedPair], bool | str | None]) -> None:
        self._ask = ask

    def ask(self, pair: AskedPair) -> Reply:
        """The reply for what the function returns: True, False, None, or one of the words of ``Reply``."""
        said = self._ask(pair)
        if said is None:
            return Reply.SKIP
        if isinstance(said, Reply):
            return said
        if isinstance(said, str):
            word = said.strip().casefold()
            if word in Reply._value2member_map_:
                return Reply(word)
        elif said in (True, False):  # numpy's too
            return Reply.YES if said else Reply.NO
        raise InputError(f"ask returned {said!r}. Return True, False or None, or yes, no, skip, undo or stop.")
