"""Units of texts as plainly as can be: each character of a normalised text with where it came from, one by one.

For texts of letters, marks that follow them, punctuation and white space: a form is taken group by group, a group being
a character and the marks behind it. Places are characters (code points) of the text as it was written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from tests.oracles.repeats import FIRST, OTHER, OWN, windows

POLICIES = {
    "first": ((OWN, OTHER), (FIRST,)),
    "first-greedy": ((OWN, OTHER), ()),
    "none": ((FIRST, OWN, OTHER), ()),
    "other-documents": ((OTHER,), (FIRST, OWN)),
}


class Unit(NamedTuple):
    """A unit and the characters of the original from ``start`` to ``end`` that it came from."""

    text: str
    start: int
    end: int


def formed(units: list[Unit], form: str) -> list[Unit]:
    """NFC or NFKC."""
    groups: list[list[Unit]] = []
    for unit in units:
        if groups and unicodedata.combining(unit.text):
            groups[-1].append(unit)
        else:
            groups.append([unit])
    done = []
    for group in groups:
        old = "".join(unit.text for unit in group)
        new = unicodedata.normalize(form, old)  # type: ignore[arg-type]
        done += group if new == old else [Unit(char, group[0].start, group[-1].end) for char in new]
    return done


def normalised(text: str, steps: str) -> list[Unit]:
    """The characters of a text after some steps, named as the option names them."""
    names = steps.split(",")
    form = next((name.upper() for name in names if name.startswith("nf")), None)
    units = [Unit(char, i, i + 1) for i, char in enumerate(text)]
    if form:
        units = formed(units, form)
    if "casefold" in names:
        units = [Unit(char, unit.start, unit.end) for unit in units for char in unit.text.casefold()]
        if form:
            units = formed(units, form)
    if "digits" in names:
        units = [Unit("0" if unicodedata.category(unit.text) == "Nd" else unit.text, *unit[1:]) for unit in units]
    if "punct" in names:
        units = [unit for unit in units if not unicodedata.category(unit.text).startswith("P")]
    if "strip" in names:
        units = [unit for unit in units if not unit.text.isspace()]
    if "space" in names:
        spaced: list[Unit] = []
        for unit in units:
            if not unit.text.isspace():
                spaced.append(unit)
            elif spaced and spaced[-1].text == " ":
                spaced[-1] = Unit(" ", spaced[-1].start, unit.end)
            else:
                spaced.append(Unit(" ", unit.start, unit.end))
        while spaced and spaced[0].text == " ":
            spaced.pop(0)
        while spaced and spaced[-1].text == " ":
            spaced.pop()
        units = spaced
    return units


def words(units: list[Unit]) -> list[Unit]:
    """Runs of letters, marks and numbers."""
    found: list[Unit] = []
    inside = False
    for unit in units:
        if unicodedata.category(unit.text)[0] not in "LMN":
            inside = False
        elif inside:
            found[-1] = Unit(found[-1].text + unit.text, found[-1].start, unit.end)
        else:
            found.append(unit)
            inside = True
    return found


def cut_characters(texts: Sequence[str], documents: Sequence[list[Unit]], span: int, policy: str) -> list[set[int]]:
    """The characters of each original that a policy cuts.

    Of each run of units that go: from its first unit's begin to its last one's end, and nothing that a unit which
    stays came from. A run ends where text stands before the next unit, and no window that goes has both.
    """
    goes, stays = POLICIES[policy]
    gone: set[tuple[int, int]] = set()
    kept: set[tuple[int, int]] = set()
    together: set[tuple[int, int]] = set()
    for (d, i), window in windows([tuple(unit.text for unit in units) for units in documents], span).items():
        for into, kinds in ((gone, goes), (kept, stays)):
            if window.kind in kinds:
                into |= {(d, j) for j in range(i, i + span)}
        if window.kind in goes:
            together |= {(d, j) for j in range(i, i + span - 1)}
    gone -= kept
    cut: list[set[int]] = []
    for d, (text, units) in enumerate(zip(texts, documents, strict=True)):
        characters: set[int] = set()
        i = 0
        while i < len(units):
            j = i
            while j < len(units) and (d, j) in gone:
                j += 1
                if j < len(units) and (d, j - 1) not in together and text[units[j - 1].end : units[j].start].strip():
                    break
            if j > i:
                characters |= set(range(units[i].start, units[j - 1].end))
            i = max(j, i + 1)
        for j, unit in enumerate(units):
            if (d, j) not in gone:
                characters -= set(range(unit.start, unit.end))
        cut.append(characters)
    return cut
