"""Every error that neardup raises on purpose.

    NeardupError                     the root: catch this to catch all of them
    ├── InputError(ValueError)       an argument, a file, a line or a field that cannot be used
    │   └── InputChanged             an input is not what it was when the run read it first
    ├── SpecMismatch(ValueError)     two artefacts made under different specs were about to be compared
    ├── FormatError(ValueError)      a file of ours is damaged, cut short or of another version
    ├── OutputError(OSError)         the output cannot be written: no room, no right, no such folder
    ├── IndexNotFound(FileNotFoundError)   there is no index at the path
    ├── IndexLocked(RuntimeError)    another process writes to the index
    ├── SpoolError(RuntimeError)     the folder for work on disk cannot be used: taken, damaged, of another run, full
    └── MissingDependency(ImportError)   an optional library is needed and absent

A message states the fact with its values, then the cure, in one or two sentences on one line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from neardup.shown import shown


class NeardupError(Exception):
    """Root of all errors raised by neardup on purpose.

    ``str()`` of it is one line and safe to print: control characters of names and values are escaped. ``args`` has the
    message as it was made.
    """

    def __str__(self) -> str:
        return shown(super().__str__())


class InputError(NeardupError, ValueError):
    """An argument, file, line or field that cannot be used; the message names it and the cure."""


class InputChanged(InputError):
    """An input is not what it was when the run read it first, so nothing holds that was worked out of it."""


class SpecMismatch(NeardupError, ValueError):
    """Two artefacts of different specs were about to be compared."""


class FormatError(NeardupError, ValueError):
    """A file that neardup wrote is damaged, cut short or of a version it cannot read."""


class OutputError(NeardupError, OSError):
    """The output cannot be written; nothing half-written is left behind."""


class IndexNotFound(NeardupError, FileNotFoundError):
    """There is no index at the path that was given."""


class IndexLocked(NeardupError, RuntimeError):
    """Another process has the index open for writing; there can be one."""


class SpoolError(NeardupError, RuntimeError):
    """The work on disk cannot be begun, written or gone on with; the last checkpoint stays as it was.

    Not an OSError: what catches those to speak of the output would give the wrong path and the wrong cure.
    """


class MissingDependency(NeardupError, ImportError):
    """An optional library is needed and absent; the message has the install line."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` when a known name is near to ``name``, else an empty string."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
