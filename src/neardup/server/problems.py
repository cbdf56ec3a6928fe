"""What goes wrong, as an HTTP status and a JSON body ``{"error": …, "field"?: …}``.

An unexpected error shows a client nothing but a number, under which the log has the traceback. What the error says
stands there only where it is neardup's own or the system's: others quote the values that they stumbled over, which may
be a user's text.
"""

from __future__ import annotations

import logging
import secrets

import msgspec

from neardup.errors import InputError, NeardupError, OutputError
from neardup.logs import traced
from neardup.shown import shown

_log = logging.getLogger("neardup.server")
RETRY_SECONDS = 1
"""What Retry-After says: queues here empty within a second, or the load is too high for good."""


class Problem(Exception):
    """An answer other than success.

    ``field``: of the body, or the parameter, that is wrong. ``incident``: number of an unexpected error. ``refused``:
    the word under which ``/metrics`` counts the refusal; None when it is none.
    """

    def __init__(
        self,
        status: int,
        error: str,
        *,
        field: str | None = None,
        incident: str | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        refused: str | None = None,
    ) -> None:
        super().__init__(error)
        self.status, self.error = status, error
        self.field, self.incident = field, incident
        self.headers, self.refused = headers, refused

    def body(self) -> bytes:
        told = {"error": self.error, "field": self.field, "incident": self.incident}
        return msgspec.json.encode({name: value for name, value in told.items() if value is not None})

    @classmethod
    def busy(cls, error: str, refused: str) -> Problem:
        """503 with Retry-After: nothing was done, and the same request may be made again."""
        return cls(503, error, headers=((b"retry-after", b"%d" % RETRY_SECONDS),), refused=refused)


class Disconnected(Exception):
    """The client has gone; nobody is left to answer to."""


def problem_of(exc: Exception) -> Problem:
    """Return the answer to an error; one that neardup did not raise on purpose is logged."""
    if isinstance(exc, Problem):
        return exc
    if isinstance(exc, InputError):
        return Problem(422, str(exc))
    if isinstance(exc, OutputError):
        return Problem(507, str(exc))
    incident = secrets.token_hex(4)
    told = str(exc) if isinstance(exc, NeardupError) else traced(exc)
    _log.error("%s", "\n".join(shown(line) for line in f"incident {incident}: {told}".split("\n")))
    return Problem(500, f"the service failed; its log tells more under incident {incident}.", incident=incident)
