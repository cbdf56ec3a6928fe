"""Altered copies of real texts by seeded rules: the errors of a scan, and edits of texts without spaces.

Labels made this way are synthetic: they say what a rule did, not what a reader would call a duplicate.
Not here: the collections that the copies belong to (``labels_data.py``).

Scan (``scans``). The text is set anew in lines of about 70 characters; a word at the end of a line is broken with a
hyphen in one line of four. Then a share p of the characters goes wrong, p being 1, 2, 5 or 10 %, dealt to the
documents in turn: of the errors 15 % are spaces lost or set where none was, 10 % characters lost, 10 % characters
replaced by any letter; the rest are confusions that scanners make (rn for m, 1 for l, O for 0 and others of
``CONFUSIONS``) where the text has a character that has one, else a replacement.

Edit (``edits``). A share of 2, 5, 10 or 20 % of the characters, at least one, is deleted, inserted or replaced in
runs of one to four; what is put in comes from any text of the collection in the same language. In every second
document the punctuation changes too: full-width marks to ASCII or away, and line ends away.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

SCAN_GRADES = (0.01, 0.02, 0.05, 0.10)
EDIT_GRADES = (0.02, 0.05, 0.10, 0.20)
WIDTH = 70
BROKEN = 0.25
"""Share of the lines whose last word is broken, where it can be."""

UDHR = ("cmn_hans", "jpn", "tha", "khm", "lao", "mya")
"""Translations in scripts without spaces between words: Chinese, Japanese, Thai, Khmer, Lao, Burmese."""
LEAST = 5
"""Characters that a text must have to be edited."""

CONFUSIONS = (
    ("rn", "m"), ("m", "rn"), ("cl", "d"), ("d", "cl"), ("vv", "w"), ("w", "vv"), ("ii", "u"), ("li", "h"),
    ("fi", "ﬁ"), ("fl", "ﬂ"), ("l", "1"), ("1", "l"), ("I", "l"), ("l", "I"), ("i", "l"), ("i", "j"), ("O", "0"),
    ("0", "O"), ("o", "0"), ("S", "5"), ("5", "S"), ("B", "8"), ("8", "B"), ("e", "c"), ("c", "e"), ("h", "b"),
    ("b", "h"), ("n", "u"), ("u", "n"), ("a", "o"), ("g", "q"), ("t", "f"), ("f", "t"), ("r", "n"), ("s", "a"),
    (",", "."), (".", ","), ("'", "’"), ("-", "—"), ("y", "v"),
)  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MARKS = {
    "，": ",",
    "。": ".",
    "、": ",",
    "；": ";",
    "：": ":",
    "？": "?",
    "！": "!",
    "「": '"',
    "」": '"',
    "（": "(",
    "）": ")",
}

_STARTS: dict[str, list[tuple[str, str]]] = {}
for _wrong in CONFUSIONS:
    _STARTS.setdefault(_wrong[0][0], []).append(_wrong)


@dataclass(frozen=True, slots=True)
class Copies:
    """Altered texts, the row of the text that each was made from, and how much of it was altered."""

    texts: list[str]
    of: list[int]
    grades: list[float]

    def with_more(self, more: Copies, *, shift: int) -> Copies:
        """These and others, whose texts come ``shift`` rows later."""
        return Copies(self.texts + more.texts, self.of + [row + shift for row in more.of], self.grades + more.grades)


def scans(base: Sequence[str], *, seed: str) -> Copies:
    """A scan of each text."""
    rng = random.Random(seed)
    grades = [SCAN_GRADES[row % len(SCAN_GRADES)] for row in range(len(base))]
    texts = [scan(text, grade, rng) for text, grade in zip(base, grades, strict=True)]
    return Copies(texts, list(range(len(base))), grades)


def edits(base: Sequence[str], *, seed: str) -> Copies:
    """An edited copy of each text."""
    rng = random.Random(seed)
    grades = [EDIT_GRADES[row % len(EDIT_GRADES)] for row in range(len(base))]
    texts = [edit(text, grade, base, rng) for text, grade in zip(base, grades, strict=True)]
    return Copies(texts, list(range(len(base))), grades)


def scan(text: str, grade: float, rng: random.Random) -> str:
    """A text as a scanner would have it, with ``grade`` errors a character."""
    text = set_in_lines(text, rng)
    wrong = set(rng.sample(range(len(text)), round(grade * len(text))))
    out, at = [], 0
    while at < len(text):
        taken, put = _misread(text, at, rng) if at in wrong else (1, text[at])
        out.append(put)
        at += taken
    return "".join(out)


def set_in_lines(text: str, rng: random.Random) -> str:
    """The words in lines of about ``WIDTH`` characters, some words broken at the end of a line."""
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) >= WIDTH:
            if len(word) >= 5 and word.isalpha() and rng.random() < BROKEN:
                cut = rng.randrange(2, len(word) - 2)
                line, word = f"{line} {word[:cut]}-", word[cut:]
            lines.append(line.strip())
            line = ""
        line = f"{line} {word}"
    return "\n".join([*lines, line.strip()])


def _misread(text: str, at: int, rng: random.Random) -> tuple[int, str]:
    """How many characters one error takes, and what stands for them."""
    draw = rng.random()
    if draw < 0.15:
        return (1, "") if text[at].isspace() else (1, text[at] + " ")
    if draw < 0.25:
        return 1, ""
    known = [wrong for wrong in _STARTS.get(text[at], ()) if text.startswith(wrong[0], at)]
    if draw < 0.35 or not known:
        return 1, rng.choice(LETTERS)
    seen, put = rng.choice(known)
    return len(seen), put


def edit(text: str, grade: float, others: Sequence[str], rng: random.Random) -> str:
    """A text of which ``grade`` of the characters were changed in runs, and perhaps the punctuation."""
    characters = list(text)
    left = max(1, round(grade * len(text)))
    while left > 0 and characters:
        run = min(left, rng.randint(1, 4))
        at = rng.randrange(len(characters))
        how = rng.choice(("delete", "insert", "replace"))
        until = at if how == "insert" else min(at + run, len(characters))
        characters[at:until] = "" if how == "delete" else _piece(others, run, rng)
        left -= run
    changed = "".join(characters)
    return repunctuated(changed, rng) if rng.random() < 0.5 else changed


def _piece(others: Sequence[str], run: int, rng: random.Random) -> str:
    """Up to ``run`` characters in a row out of any text of the collection."""
    other = rng.choice(others)
    start = rng.randrange(max(1, len(other) - run + 1))
    return other[start : start + run]


def repunctuated(text: str, rng: random.Random) -> str:
    """The same words with other marks: full-width ones to ASCII or away, and line ends away."""
    gone = rng.random() < 0.5
    return text.replace("\n", "").translate({ord(mark): None if gone else put for mark, put in MARKS.items()})
