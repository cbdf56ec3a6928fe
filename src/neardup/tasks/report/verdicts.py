"""What graders decided about pairs: read from the files that pages export, and merged for a new report."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from neardup.errors import InputError

VERDICTS = ("copied", "allowed", "unclear", "not copied")
KIND, FORMAT = "neardup verdicts", 1
_TEXTS = ("a", "b", "a_text", "b_text", "grader", "verdict", "note", "at")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z")
_CURE = "Give a file that a report exported (its button Export the verdicts)."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one grader decided about a pair."""

    a: str
    """Ids as the pages show them, in order."""
    b: str
    a_text: str
    """``text_hash`` of the texts that the grader saw."""
    b_text: str
    grader: str
    verdict: str
    """One of VERDICTS."""
    note: str
    at: str
    """When, in UTC, such as 2026-11-23T10:00:00.000Z."""


def text_hash(text: str) -> str:
    """Sixteen hexadecimal digits that tell whether a text is still the one that was judged."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_verdicts(paths: Iterable[str | os.PathLike[str]]) -> list[Verdict]:
    """The verdicts of some files, merged: of a grader about a pair the newest one counts.

    InputError names the file and what is wrong with it.
    """
    newest: dict[tuple[str, str, str], Verdict] = {}
    for path in paths:
        for verdict in _read(os.fspath(path)):
            key = (verdict.a, verdict.b, verdict.grader)
            if key not in newest or _order(verdict) > _order(newest[key]):
                newest[key] = verdict
    return [newest[key] for key in sorted(newest)]


def _order(verdict: Verdict) -> tuple[str, ...]:
    """By time; of one moment by what it says, so that the order of files decides nothing."""
    return (verdict.at.removesuffix("Z"), verdict.verdict, verdict.note, verdict.a_text, verdict.b_text)


def _read(name: str) -> list[Verdict]:
    try:
        with open(name, encoding="utf-8") as stream:
            found = json.load(stream)
    except OSError as exc:
        raise InputError(f"{name} cannot be read: {exc.strerror or exc}. {_CURE}") from exc
    except (ValueError, RecursionError) as exc:
        raise InputError(f"{name} is no JSON ({exc}). {_CURE}") from exc
    if not isinstance(found, dict) or found.get("kind") != KIND or not isinstance(found.get("verdicts"), list):
        raise InputError(f"{name} is no file of verdicts. {_CURE}")
    if found.get("format") != FORMAT:
        raise InputError(f"{name} has format {found.get('format')!r}, and this neardup knows {FORMAT}. {_CURE}")
    return [_verdict(name, number, each) for number, each in enumerate(found["verdicts"], start=1)]


def _verdict(name: str, number: int, given: Any) -> Verdict:
    where = f"{name}, verdict {number}"
    if not isinstance(given, dict) or not all(isinstance(given.get(key), str) for key in _TEXTS):
        raise InputError(f"{where} has not the texts {', '.join(_TEXTS)}. {_CURE}")
    made = Verdict(**{key: given[key] for key in _TEXTS})
    if made.verdict not in VERDICTS:
        raise InputError(f"{where}: the verdict is {made.verdict!r}; known are {', '.join(VERDICTS)}.")
    if not _TIME.fullmatch(made.at):
        raise InputError(f"{where}: at is {made.at!r}. Give a time such as 2026-11-23T10:00:00.000Z.")
    if made.a > made.b:
        return Verdict(**{**asdict(made), "a": made.b, "b": made.a, "a_text": made.b_text, "b_text": made.a_text})
    return made


def verdict_data(verdicts: Sequence[Verdict]) -> list[dict[str, str]]:
    """Verdicts as plain JSON values."""
    return [asdict(verdict) for verdict in verdicts]
