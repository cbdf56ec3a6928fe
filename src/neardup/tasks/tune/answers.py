"""Answers on pairs that outlive a run: a file of JSON lines that grows by one with each answer, and files of labels.

A line is written whole, and reaches the disk before the next question is asked. An answer that is taken back has a line
of its own (``undo``), so that nothing is ever written over.
"""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from neardup.errors import InputError
from neardup.outputs.atomic import writing

YES, NO, SKIP, UNDO = "yes", "no", "skip", "undo"
WORDS: dict[str, bool | None] = {YES: True, NO: False, SKIP: None}
"""What may be said of a pair."""
_TRUE = frozenset({"yes", "y", "true", "1", "1.0", "duplicate", "dup", "match"})
_FALSE = frozenset({"no", "n", "false", "0", "0.0", "different", "distinct", "non-match", "nonmatch"})
_COLUMNS = ("id_a", "id_b", "label")
_SHOWN = 3
"""Contradicting labels that are named."""

Key = tuple[str, str]
"""The ids of a pair as text, the lesser first."""


def key_of(id_a: object, id_b: object) -> Key:
    """The name of a pair in any order; the number 7 and the text "7" are one id."""
    a, b = str(id_a), str(id_b)
    return (a, b) if a <= b else (b, a)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said of a pair."""

    id_a: int | str
    id_b: int | str
    is_duplicate: bool | None
    """None: whoever was asked could not tell."""
    probability: float | None
    """With which the pair was drawn; None where it was not."""
    by: str
    """Who was asked: ``terminal``, ``page``, ``labels``, or the program or function."""
    when: str = ""
    """UTC, in the form of ISO 8601."""


@dataclass(slots=True)
class AnswerFile:
    """The answers that are kept for later runs; without a path none is."""

    path: Path | None = None
    told: dict[Key, list[Answer]] = field(default_factory=dict)
    """Answers of earlier runs, of each pair in the order in which they came."""
    cut_off: int = 0
    """Bytes of a line that an earlier run could not write to its end; it is taken away with the first answer."""
    _file: BinaryIO | None = None
    _end: int = 0

    @classmethod
    def of(cls, path: str | os.PathLike[str] | None) -> AnswerFile:
        """Read what is there, if anything.

        Raises:
            InputError: a line is no answer.
        """
        own = cls(None if path is None else Path(path))
        if own.path is None or not own.path.exists():
            return own
        with writing(own.path):
            whole = own.path.read_bytes()
        own._end = whole.rfind(b"\n") + 1
        own.cut_off = len(whole) - own._end
        for number, line in enumerate(whole[: own._end].split(b"\n")[:-1], start=1):
            own._enter(_parsed(line, f"{own.path}:{number}"))
        return own

    def __len__(self) -> int:
        return sum(map(len, self.told.values()))

    def _enter(self, answer: tuple[Answer, bool] | None) -> None:
        if answer is None:
            return
        one, is_undone = answer
        of_pair = self.told.setdefault(key_of(one.id_a, one.id_b), [])
        if not is_undone:
            of_pair.append(one)
        elif of_pair:
            of_pair.pop()

    def add(self, answer: Answer, *, is_undone: bool = False) -> None:
        """Write one line, to the disk."""
        if self.path is None:
            return
        word = UNDO if is_undone else next(word for word, said in WORDS.items() if said is answer.is_duplicate)
        facts = {
            "id_a": answer.id_a,
            "id_b": answer.id_b,
            "answer": word,
            "probability": answer.probability,
            "by": answer.by,
            "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        with writing(self.path):
            if self._file is None:
                self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 open until close
                if self.cut_off:
                    self._file.truncate(self._end)
            self._file.write(json.dumps(facts).encode() + b"\n")
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _parsed(line: bytes, place: str) -> tuple[Answer, bool] | None:
    """The answer of a line and whether it is one that is taken back; None for a blank line."""
    if not line.strip():
        return None
    cure = "Mend the line or delete it; each has id_a, id_b and answer (yes, no, skip or undo)."
    try:
        facts = json.loads(line)
        ids, word = (facts["id_a"], facts["id_b"]), facts["answer"]
        if not all(isinstance(each, (str, int)) for each in ids) or word not in {*WORDS, UNDO}:
            raise ValueError
        chance = facts.get("probability")
        probability = None if chance is None else float(chance)
    except (ValueError, TypeError, KeyError, RecursionError) as exc:
        raise InputError(f"{place} is no answer. {cure}") from exc
    said = WORDS.get(word)
    one = Answer(*ids, said, probability, str(facts.get("by", "")), str(facts.get("when", "")))
    return one, word == UNDO


@dataclass(slots=True)
class Labels:
    """Labels of pairs that are there before anybody is asked."""

    said: dict[Key, bool] = field(default_factory=dict)
    contradicting: int = 0
    """Pairs that are labelled both ways, which count as not labelled."""
    examples: list[Key] = field(default_factory=list)
    same: int = 0
    """Labels of a document with itself."""

    @classmethod
    def of(cls, given: Any) -> Labels:
        """Labels of a file (.csv or .jsonl with id_a, id_b, label), or of an iterable of (id_a, id_b, label).

        Raises:
            InputError: the file cannot be read, a column or a value is not there, or a label is no yes or no.
        """
        if given is None:
            return cls()
        rows = _file_rows(Path(given)) if isinstance(given, (str, os.PathLike)) else _value_rows(given)
        said: dict[Key, set[bool]] = {}
        same = 0
        for place, id_a, id_b, label in rows:
            key = key_of(id_a, id_b)
            same += key[0] == key[1]
            if key[0] != key[1]:
                said.setdefault(key, set()).add(_label(label, place))
        both = [key for key, labels in said.items() if len(labels) > 1]
        one = {key: next(iter(labels)) for key, labels in said.items() if len(labels) == 1}
        return cls(one, len(both), both[:_SHOWN], same)


Row = tuple[str, object, object, object]
"""Where a label stands, its two ids, and itself."""


def _label(value: object, place: str) -> bool:
    word = str(value).strip().casefold()
    if word not in _TRUE | _FALSE:
        raise InputError(f"{place}: the label is {value!r}. Give yes or no (or 1 or 0, or true or false).")
    return word in _TRUE


def _value_rows(given: Any) -> Iterator[Row]:
    if not isinstance(given, Iterable):
        raise InputError(f"labels is of type {type(given).__name__}. Give a file, or rows of (id_a, id_b, label).")
    for position, row in enumerate(given):
        place = f"labels, row {position} (counted from 0)"
        if isinstance(row, Mapping):
            yield _named(row, place)
            continue
        try:
            id_a, id_b, label = row
        except (TypeError, ValueError) as exc:
            raise InputError(f"{place} is {row!r}. Give (id_a, id_b, label).") from exc
        yield place, id_a, id_b, label


def _named(row: Mapping[str, Any], place: str) -> Row:
    for name in _COLUMNS:
        if row.get(name) is None:
            raise InputError(f"{place} has no {name}. Each row needs id_a, id_b and label.")
    return place, row["id_a"], row["id_b"], row["label"]


def _file_rows(path: Path) -> Iterator[Row]:
    if path.suffix.lower() not in (".csv", ".jsonl", ".ndjson"):
        raise InputError(f"the labels {path} are no .csv and no .jsonl. Give one of these, with id_a, id_b and label.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _csv_rows(file, path) if path.suffix.lower() == ".csv" else _json_rows(file, path)
    except OSError as exc:
        raise InputError(f"cannot read the labels {path}: {exc.strerror or exc}.") from exc
    except UnicodeDecodeError as exc:
        raise InputError(f"the labels {path} are no UTF-8. Save them as UTF-8.") from exc


def _csv_rows(file: Iterable[str], path: Path) -> Iterator[Row]:
    reader = csv.DictReader(file)
    try:
        missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{path} has no column {missing[0]}. Its first line must name id_a, id_b and label.")
        for row in reader:
            yield _named(row, f"{path}:{reader.line_num}")
    except csv.Error as exc:
        raise InputError(f"{path}:{reader.line_num}: {exc}.") from exc


def _json_rows(file: Iterable[str], path: Path) -> Iterator[Row]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise InputError(f"{path}:{number} is no JSON: {exc}.") from exc
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number} is no JSON object. Each line needs id_a, id_b and label.")
        yield _named(row, f"{path}:{number}")
