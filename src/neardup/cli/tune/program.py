"""A program as the judge: pairs on its stdin as JSON lines, one at a time, and a word a line on its stdout.

Its answers are read by a thread of their own, and pairs are written by one: a program that talks before it listens, or
never listens, cannot hold up both sides. How long it thinks is its own affair.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import shutil
import subprocess
import threading
from contextlib import suppress
from types import TracebackType
from typing import IO

from neardup.errors import InputError
from neardup.tasks.tune.asking import Reply
from neardup.tasks.tune.outcome import AskedPair

PATIENCE = 2.0
"""Seconds that the program has to end by itself when its stdin is closed, and again when it is told to."""
LONGEST = 1000
"""Bytes of a line of its answers that are read."""
SHOWN = 60
"""Characters of a wrong answer that the message has."""
_REPLIES = {reply.value: reply for reply in (Reply.YES, Reply.NO, Reply.SKIP)}


def check_program(command: str) -> list[str]:
    """The words of a command whose program is there.

    Raises:
        InputError: there is none.
    """
    cure = "Give terminal, page, or a program with its arguments."
    try:
        words = shlex.split(command)
    except ValueError as exc:
        raise InputError(f"the program of --ask, {command!r}, cannot be parsed: {exc}. {cure}") from exc
    if not words or shutil.which(words[0]) is None:
        raise InputError(f"there is no program {words[0] if words else ''!r} to ask. {cure}")
    return words


class Program:
    """A program that is asked, from its start to its end."""

    def __init__(self, command: str) -> None:
        """Start it, without a shell.

        Raises:
            InputError: it cannot be started.
        """
        words = check_program(command)
        self.name = os.path.basename(words[0])  # its arguments may hold what belongs in no file
        self._answered = 0
        try:
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        except OSError as exc:
            raise InputError(f"the program of --ask, {command!r}, cannot be started: {exc.strerror or exc}.") from exc
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, pair: AskedPair) -> Reply:
        """Ask about a pair, and wait for its line.

        Raises:
            InputError: it has ended, or answered something else, or more than was asked.
        """
        self._check_silent()
        facts = {"id_a": pair.id_a, "id_b": pair.id_b, "text_a": pair.text_a, "text_b": pair.text_b}
        line = json.dumps(facts).encode() + b"\n"  # ASCII: no character of a text can end the line
        threading.Thread(target=self._write, args=(line,), daemon=True).start()
        said = self._lines.get()
        if said is None:
            raise InputError(f"{self._ended()} No answer came for the pair {pair.id_a} and {pair.id_b}.")
        word = said.decode("utf-8", "replace").strip()
        reply = _REPLIES.get(word.casefold())
        if reply is None:
            raise InputError(
                f"the program of --ask answered {word[:SHOWN]!r} for the pair {pair.id_a} and {pair.id_b}. It must"
                " write one line for each pair: yes, no or skip. Messages belong on its stderr."
            )
        self._answered += 1
        return reply

    def _check_silent(self) -> None:
        """Raise where a line is there that nobody asked for: it would be taken for the answer on the next pair."""
        with suppress(queue.Empty):
            said = self._lines.get_nowait()
            if said is None:
                raise InputError(self._ended())
            word = said.decode("utf-8", "replace").strip()
            when = f"after its answer {self._answered}" if self._answered else "before it was asked"
            raise InputError(
                f"the program of --ask wrote {word[:SHOWN]!r} {when}. It must write one line for each pair, when it is"
                " asked. Messages belong on its stderr."
            )

    def _read(self, stdout: IO[bytes]) -> None:
        """Hand on lines until the end; a longer line than any answer comes in pieces."""
        pending = b""
        with suppress(OSError, ValueError):
            while block := stdout.read(4096):
                *lines, pending = (pending + block).split(b"\n")
                for line in lines:
                    self._lines.put(line)
                if len(pending) > LONGEST:
                    self._lines.put(pending)
                    pending = b""
        if pending.strip():
            self._lines.put(pending)
        self._lines.put(None)

    def _write(self, line: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(OSError, ValueError):  # it has closed its stdin; whether it still answers is seen on its stdout
            rest = memoryview(line)
            while rest:
                rest = rest[stdin.write(rest) :]

    def _ended(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        code = self._process.returncode
        how = (
            "closed its stdout"
            if code is None
            else f"was ended by signal {-code}"
            if code < 0
            else f"ended with {code}"
        )
        after = f"after {self._answered:,} answer{'' if self._answered == 1 else 's'}"
        return f"the program of --ask, {self.name!r}, {how} {after}."

    def close(self) -> None:
        """Close its stdin and see to its end."""
        process = self._process
        with suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        for end in (None, process.terminate, process.kill):
            if end is not None:
                end()
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
                break
        if process.stdout is not None and process.poll() is not None:
            with suppress(OSError):
                process.stdout.close()
