"""Tokens and what each may do: read from a file, and read again when the file has changed.

A line of the file is a role and a token. The token stands there as it is, or as ``sha256:`` and its SHA-256 in
hexadecimal, so that the file lets nobody in who reads it. In memory are the hashes alone, and no message shows a word
of the file. Where a request brings its token is in ``security``.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path

from neardup.errors import InputError

READ, WRITE = "read", "write"
ROLES = (READ, WRITE)
"""``read``: all that changes nothing. ``write``: everything."""
LOOK_SECONDS = 1.0
"""Seconds after which a request has the file looked at again: a new token counts from then on, an old one no more."""
_MOST_BYTES = 1 << 20
_HASHED = "sha256:"
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_log = logging.getLogger("neardup.server")


class Tokens:
    """Some tokens, each with its role.

    >>> tokens = Tokens({"a-long-random-word": WRITE})
    >>> tokens.role(b"a-long-random-word"), tokens.role(b"another")
    ('write', None)
    """

    def __init__(self, roles: dict[str, str]) -> None:
        """``roles``: token, as it is or hashed, to its role."""
        self._known = [(_digest(token), role) for token, role in roles.items()]

    def role(self, given: bytes) -> str | None:
        """The role of a token that a request brought; None when it is none of these.

        It is compared with each token in constant time, whatever was found: the time must not tell what was right.
        """
        digest = hashlib.sha256(given).digest()
        found = None
        for known, role in self._known:
            if hmac.compare_digest(digest, known):
                found = role
        return found


class TokenFile(Tokens):
    """The tokens of a file, which count as they are there now.

    When the file has changed and cannot be used, the tokens from before stay in force, and an error is logged. A pipe
    is read once.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        look_seconds: float = LOOK_SECONDS,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Read the file. Raises InputError, which names the file and the line, when it cannot be used."""
        self.path = Path(path)
        self._look_seconds, self._clock = look_seconds, clock or time.monotonic
        self._looked = self._clock()
        self._told = ""
        """The error that was logged last; one that stays is logged once."""
        self._seen = _state(self.path)
        self._is_pipe = isinstance(self._seen, tuple) and not stat.S_ISREG(self._seen[0])
        super().__init__(read_tokens(self.path))

    @property
    def warning(self) -> str | None:
        """What to say when others can read the file.

        That the group can is right where the file is another user's, as secrets of Kubernetes are: it is ours by the
        group alone.
        """
        if os.name != "posix":
            return None
        about = self.path.stat()
        mode = stat.S_IMODE(about.st_mode)
        is_by_group = about.st_uid != os.geteuid() and not mode & 0o037
        if not mode & 0o077 or is_by_group:
            return None
        return f"others can read the token file {self.path} (mode {mode:03o}): chmod 600 it."

    def role(self, given: bytes) -> str | None:
        """See ``Tokens.role``; before that the file is read again, if it has changed."""
        now = self._clock()
        if now - self._looked >= self._look_seconds:
            self._looked = now
            self._look()
        return super().role(given)

    def _look(self) -> None:
        if self._is_pipe:
            return
        seen = _state(self.path)  # before it is read: what changes meanwhile is seen the next time
        if seen == self._seen:
            return
        self._seen = seen
        if seen is not None and not stat.S_ISREG(seen[0]):  # to open a pipe would wait for who writes it
            _log.error("the token file %s is a file no more. The tokens from before stay in force.", self.path)
            return
        try:
            super().__init__(read_tokens(self.path))
        except InputError as exc:
            if isinstance(exc.__cause__, OSError):  # which may pass: it is read again then
                self._seen = None
            if self._told != str(exc):
                _log.error("%s The tokens from before stay in force.", exc)
            self._told = str(exc)
        else:
            self._told = ""
            _log.warning("the token file %s has changed: its %d tokens are in force.", self.path, len(self._known))


def read_tokens(path: Path) -> dict[str, str]:
    """The tokens of a file and their roles. A file of one word is one token, for everything.

    InputError: the file cannot be read, or a line of it. The message names the line and shows nothing of it.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        lines = content.decode("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        told = exc.strerror if isinstance(exc, OSError) and exc.strerror else "it is no text"
        raise InputError(f"the token file {path} cannot be read: {told}.") from exc
    if len(content) > _MOST_BYTES:
        raise InputError(f"the token file {path} is larger than {_MOST_BYTES >> 20} MiB. Is it the right file?")
    entries = [(number, line.split()) for number, line in enumerate(lines, 1)]
    entries = [(number, words) for number, words in entries if words and not words[0].startswith("#")]
    if not entries:
        raise InputError(f"the token file {path} is empty. Write a line into it: write, and a long random word.")
    if len(entries) == 1 and len(entries[0][1]) == 1 and entries[0][1][0] not in ROLES:
        entries = [(entries[0][0], [WRITE, *entries[0][1]])]
    roles: dict[str, str] = {}
    lines_of: dict[bytes, int] = {}
    for number, words in entries:
        fault = _fault(words)
        if fault is None and (before := lines_of.setdefault(_digest(words[1]), number)) != number:
            fault = f"is the token of line {before} again. Give each token once."
        if fault is not None:
            raise InputError(f"the token file {path}, line {number}, {fault}")
        roles[words[1]] = words[0]
    return roles


def _fault(words: list[str]) -> str | None:
    """What is wrong with a line, without a word of it: any may be a token."""
    if len(words) != 2 or words[0] not in ROLES:
        return "is no role and token. Write read or write, a space, and the token."
    if not words[1].isascii() or not words[1].isprintable():
        return "has a token that is not plain ASCII. Take letters, digits, - and _."
    if words[1].lower().startswith(_HASHED) and not _DIGEST.fullmatch(words[1].removeprefix(_HASHED)):
        return "has a hash that is no SHA-256. Write sha256: and 64 hexadecimal digits."
    return None


def _digest(token: str) -> bytes:
    """The SHA-256 of a token that stands in a file."""
    if token.startswith(_HASHED):
        return bytes.fromhex(token.removeprefix(_HASHED))
    return hashlib.sha256(token.encode()).digest()


def _state(path: Path) -> tuple[int, ...] | None:
    """What changes when a file is written, replaced or removed; None where it cannot be looked at."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mode, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
