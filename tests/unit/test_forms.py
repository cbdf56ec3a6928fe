"""Unicode forms: the result of ``unicodedata`` for every text, and no run of marks that it would sort slowly."""

from __future__ import annotations

import functools
import itertools
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neardup.params import Normalize
from neardup.stages import unicode_forms
from neardup.stages.characters import DECOMPOSED, FORMS
from neardup.stages.offsets import trace
from neardup.stages.text import normalize_documents, normalize_text
from neardup.stages.unicode_forms import formed, to_form
from neardup.types import Documents

normalize = unicodedata.normalize

RUNS = ["\u0301\u0323", "\u0f73", "\u0344\u0323", "\uff9e\u0301", "\u0345\u0301\u0323", "\u0651\u064b", "\u05bc\u05b8"]
"""Repeated, these are out of order throughout in a form. U+0F73 and U+FF9E are marks only once they decompose."""
LETTERS = [
    "",
    "e",
    "\u00e9",
    "\u1ed9",
    "\uac00",
    "\u1100",
    "\u05d0",
    "\u304b",
    "\u0f40",
    "\u03b1",
    "\ufdfa",
    "\U0001d15e",
]
FEW = [
    "e",
    "\u00e9",
    "\u0301",
    "\u0323",
    "\u0344",
    "\u0f73",
    "\u0f71",
    "\uff9e",
    "\u3099",
    "\u304b",
    "\u1161",
    "\u0345",
]
MANY = [*FEW, *RUNS, *LETTERS, "\u1100", "\u0338", "\u0342", "\u212b", "\u1e9b", "\u0130", "\ud800", " "]


def swaps(written: str, form: str) -> int:
    """How often an insertion sort swaps two marks: pairs of one run of which the later has the smaller class."""
    parts = (part for char in written for part in normalize(DECOMPOSED[FORMS[form]], char))
    total = 0
    for is_mark, run in itertools.groupby(map(unicodedata.combining, parts), key=bool):
        seen = np.zeros(256, dtype=np.int64)
        for one in run if is_mark else ():
            total += int(seen[one + 1 :].sum())
            seen[one] += 1
    return total


@functools.cache
def all_marks(form: str) -> list[str]:
    """The characters that become nothing but marks; to look at each of a million takes half a second."""
    return [char for char in map(chr, range(sys.maxunicode + 1)) if unicode_forms._is_mark(char, form)]


@pytest.fixture
def handed_on(monkeypatch):
    """The texts that ``unicodedata`` is given."""
    seen: list[str] = []

    def watched(form: str, written: str) -> str:
        seen.append(written)
        return normalize(form, written)

    monkeypatch.setattr(unicodedata, "normalize", watched)
    return seen


# The result


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("run", RUNS)
def test_long_runs_on_every_kind_of_letter_become_what_unicodedata_says(form, run):
    for letter, tail, length in itertools.product(LETTERS, ["", "e", "\u0301", "\u3099"], [255, 256, 257, 600]):
        written = f"x{letter}" + (run * length)[:length] + tail
        assert to_form(written, FORMS[form]) == normalize(FORMS[form], written)


@pytest.mark.parametrize("form", FORMS)
def test_every_mark_within_a_long_run_becomes_what_unicodedata_says(form):
    for mark, letter in itertools.product(all_marks(FORMS[form]), ["a", "\u0f40\u304b\u03b9"]):
        written = letter + "\u0301\u0323" * 100 + mark + "\u0323\u0344\u0f71\u3099" * 15 + mark + "\u0345\u0338" * 10
        assert to_form(written, FORMS[form]) == normalize(FORMS[form], written)


@pytest.mark.parametrize("form", FORMS)
def test_all_sequences_of_four_become_what_unicodedata_says(form):
    written = list(map("".join, itertools.product(FEW, repeat=4)))
    done = formed(Documents.from_texts(written), Normalize(form), items=False)
    assert [done.blob(i).decode() for i in range(len(done))] == [normalize(FORMS[form], each) for each in written]


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(st.sampled_from(MANY), max_size=60).map("".join), st.integers(1, 6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_rich_in_marks_becomes_what_unicodedata_says(form, written, long):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unicode_forms, "_LONG", long)
        assert to_form(written, FORMS[form]) == normalize(FORMS[form], written)


def test_a_sort_that_does_not_keep_marks_of_one_class_in_order_would_be_seen():
    written = "e" + "\u0301\u0300\u0323" * 60
    backwards = "e" + "".join(sorted(written[:0:-1], key=unicodedata.combining))
    assert normalize("NFC", backwards) != normalize("NFC", written) == to_form(written, "NFC")


# The table


@pytest.mark.parametrize("form", FORMS)
def test_what_becomes_a_mark_becomes_nothing_but_marks(form):
    marks = set(all_marks(FORMS[form]))
    for char in map(chr, range(sys.maxunicode + 1)):
        classes = [*map(unicodedata.combining, normalize(DECOMPOSED[FORMS[form]], char))]
        assert (char in marks) == (classes[0] > 0) == all(classes), f"U+{ord(char):04X}"


# The cost


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("letter", ["", "e", "\u1ed9", "\u0f40"])
@pytest.mark.parametrize("run", RUNS)
def test_what_reaches_unicodedata_takes_few_swaps_for_each_mark(handed_on, form, letter, run):
    """With the runs as they are it would be at least 477 for each: 5,000 marks of two classes take 3 * 10^6."""
    written = (letter + run * (5_000 // len(run)) + "e") * 2 + (run * 80 + "e") * 20
    parts = "".join(normalize(DECOMPOSED[FORMS[form]], char) for char in written)
    pieces = itertools.groupby(parts, key=lambda char: unicodedata.combining(char) > 0)
    ordered = "".join("".join(sorted(piece, key=unicodedata.combining)) for _, piece in pieces)
    assert to_form(written, FORMS[form]) == normalize(FORMS[form], ordered)
    assert all(swaps(one, form) < 128 * len(written) for one in set(handed_on))


def test_the_count_of_swaps_sees_an_attack():
    assert swaps("e" + "\u0301\u0323" * 1_000, "nfc") == 1_000 * 999 // 2 + 1_000


@pytest.mark.parametrize("options", ["nfc", "nfkc", "nfc,casefold,space", "nfkc,casefold,punct,strip"])
def test_every_way_to_normalise_hands_on_only_what_is_in_order(handed_on, options):
    """A text, a block, a set and the trace for the passages; the form before and after case folding."""
    steps = Normalize.parse(options)
    written = "Some: E" + "\u0345\u0301\u0323" * 1_000 + " more \u0130" + "\u0323\u0301" * 1_000
    block = Documents.from_texts([written, "e"])
    trace(written, steps)
    normalize_text(written, steps)
    normalize_documents(block, steps)
    normalize_documents(block, steps, items=True)
    assert len(handed_on) >= 4
    for one in set(handed_on):
        assert swaps(one, steps.form) < 128 * len(written)


@pytest.mark.parametrize("options", ["nfc", "nfkc", "nfc,casefold,space", "nfkc,casefold,punct,strip"])
@pytest.mark.parametrize("run", RUNS)
def test_a_trace_of_long_runs_is_the_text_and_places_each_run_within_itself(options, run):
    steps = Normalize.parse(options)
    written = "before e" + run * 300 + "X after"
    traced = trace(written, steps)
    assert traced.text == normalize_text(written, steps)
    assert (traced.starts < traced.ends).all()
    begin, end = len("before "), len(written) - len("X after")
    within = (traced.starts >= begin) & (traced.ends <= end)
    apart = (traced.ends <= begin) | (traced.starts >= end)
    assert (within | apart).all()
    assert within.any()
