"""Repeated lines, sentences and paragraphs: units and runs against brute force, cuts of whole units, memory."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import repeats as plain
from tests.oracles.text import shingles
from tests.oracles.whole_units import units_of
from tests.unit.repeating import BAD_KEY, check, rows_of

import neardup
from neardup.engine.observe import Silent
from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.read_units import WholeUnits
from neardup.engine.repeats.runs import find_runs
from neardup.engine.repeats.units import Key
from neardup.engine.space import Budget, Space
from neardup.errors import InputError, MissingDependency
from neardup.inputs.names import Provenance
from neardup.params import Normalize
from neardup.stages.repeats.policies import POLICIES
from neardup.stages.repeats.segments import Segments
from neardup.stages.repeats.splitting import is_long, split
from neardup.stages.repeats.surgery import UNIT, snap_cuts
from neardup.stages.text import normalize_text
from neardup.types import Batch, Documents

WHITE = [*filter(str.isspace, map(chr, range(0x110000)))]
PIECES = st.sampled_from(
    ["a", "B b", "é", "\u65e5", ".", " ", "\t", "\n", "\n", "\r\n", "\r", "\u3000", "\x85", "\u2028"]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)
UNITS = st.sampled_from(["line", "paragraph"])
EXAMPLE = [
    "Menu\n\nHome\nAbout\n\nThe bridge is closed.\nCopyright",
    "Menu\r\n\r\nhome\r\nAbout\r\n\r\nThe harvest came.\r\nCopyright\r\n",
    "About\n  Menu",
]


def split_texts(texts: Sequence[str], unit: str) -> list[list[str]]:
    documents = Documents.from_texts(texts)
    bounds, counts = split(documents, unit)
    found = [documents.data[begin:end].tobytes().decode() for begin, end in bounds.tolist()]
    ends = np.cumsum(counts).tolist()
    return [found[end - count : end] for end, count in zip(ends, counts.tolist(), strict=True)]


def runs_of(
    texts: Sequence[str],
    units: WholeUnits,
    span: int,
    *,
    key: Key | None = None,
    step: int = 3,
    threads: int = 1,
    folder: Path | None = None,
    choose: Callable[[int], Choice] = Choice.all_of,
) -> Segments:
    """All segments; with a ``folder``, found with next to no memory, in files there."""

    def task(first: int) -> Batch:
        some = texts[first : first + step]
        return Batch(Documents.from_texts(some), "texts", np.arange(first, first + len(some)))

    class Roomy(Space):
        def need_documents(self, count: int, expected: int) -> None:
            """A memory of a hundred bytes is for tests."""

        def need_memory(self, size: int, what: str) -> None:
            """The same."""

    budget = Budget(1 << 30, 1 << 29 if folder is None else 100)
    space = Roomy(budget, None if folder is None else folder / "work", {})
    repeats = find_runs(
        iter([lambda first=first: task(first) for first in range(0, len(texts), step)]),
        units,
        span,
        total_bytes=None,
        threads=threads,
        names=Provenance(),
        observer=Silent(),
        space=space,
        key=key,
        choose=choose,
    )
    found = Segments.together(list(repeats.segments()))
    assert folder is None or not any(texts) or space.workdir is not None
    space.close(finished=True)
    return found


@given(st.lists(TEXTS, max_size=4), UNITS)
def test_lines_and_paragraphs_are_those_of_the_plain_definition(texts: list[str], unit: str) -> None:
    documents = Documents.from_texts(texts)
    bounds, counts = split(documents, unit)
    wanted = [units_of(text, unit) for text in texts]
    assert counts.tolist() == [len(each) for each in wanted]
    places = [
        [int(base) + len(text[:at].encode()) for at in (one.start, one.end)]
        for text, base, each in zip(texts, documents.offsets, wanted, strict=False)
        for one in each
    ]
    assert bounds.tolist() == places


def test_white_space_is_what_python_says() -> None:
    others = [
        "\u200b",
        "\u180e",
        "\u2060",
        "\ufeff",
        "\x1b",
        "\x21",
        "\x7f",
        "\u00a1",
        "\u2010",
        "\u202a",
        "\u3001",
        "\u1681",
    ]
    for char in WHITE:
        assert split_texts([char, f"{char}a{char}b{char}"], "paragraph") == [[], [f"a{char}b"]], hex(ord(char))
    for char in others:
        assert split_texts([char, f"{char}a{char}"], "line") == [[char], [f"{char}a{char}"]], hex(ord(char))


def test_sentences_end_where_each_script_ends_them_and_not_behind_abbreviations() -> None:
    texts = {
        "Dr. Ray paid $3.50, e.g. for tea. Was it late? Yes!": [
            "Dr. Ray paid $3.50, e.g. for tea.",
            "Was it late?",
            "Yes!",
        ],
        "这是第一句。这是第二句！真的吗？": ["这是第一句。", "这是第二句！", "真的吗？"],
        "これは文です。\u3000次の文。": ["これは文です。", "次の文。"],
        "यह पहला वाक्य है। यह दूसरा है।": ["यह पहला वाक्य है।", "यह दूसरा है।"],
        "هذه جملة. هل هذا سؤال؟ نعم.": ["هذه جملة.", "هل هذا سؤال؟", "نعم."],
        "A heading\n\n It begins. 😀 It ends": ["A heading", "It begins.", "😀 It ends"],
        "": [],
        " \n ": [],
    }
    assert split_texts(list(texts), "sentence") == list(texts.values())


def test_without_the_library_sentences_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(MissingDependency, match=r"pip install 'neardup\[sentences\]'"):
        neardup.passages(["a"], unit="sentence")


@pytest.mark.parametrize(
    ("kind", "sizes"), [("byte", [0, 3, 7, 5, 4]), ("char", [0, 3, 5, 5, 3]), ("word", [0, 1, 2, 0, 2])]
)
def test_the_size_of_a_unit_is_counted_as_its_kind_says(kind: str, sizes: list[int]) -> None:
    texts = Documents.from_texts(["", "abc", "é, fü", "... -", "1 é"])
    for least in range(1, 9):
        assert is_long(texts, kind, least).tolist() == [size >= least for size in sizes]


@pytest.mark.parametrize("span", [1, 2, 3, 6])
def test_runs_are_those_of_brute_force_whatever_the_hashes_say_and_where_they_are_kept(
    span: int, tmp_path: Path
) -> None:
    for seed in range(12):
        draw = random.Random(seed)
        words = ["a", "bb", "c d", "\u3000é", "X", "a\tb"][: draw.randint(1, 6)]
        texts = ["\n".join(draw.choices([*words, ""], k=draw.randint(0, 14))) for _ in range(draw.randint(0, 9))]
        units = [tuple(unit.text for unit in units_of(text, "line")) for text in texts]
        found = runs_of(texts, WholeUnits("line", Normalize("none")), span)
        check(units, span, found)
        folder = tmp_path / f"{span}-{seed}"
        folder.mkdir()
        again = runs_of(
            texts, WholeUnits("line", Normalize("none")), span, key=BAD_KEY, step=2, threads=2, folder=folder
        )
        assert rows_of(again) == rows_of(found)


def test_units_are_normalised_one_by_one_and_small_ones_repeat_nothing() -> None:
    texts = ["The END\nof  it.\nxx\nNo 12!", "the end\n-- \nOf it\nXX\nno 34", "the end of it"]
    how = "nfc,casefold,space,punct,digits"
    compared = [[normalize_text(unit.text, Normalize.parse(how)) for unit in units_of(text, "line")] for text in texts]
    known = plain.windows([tuple(each) for each in compared], 1)
    wanted = {place for place in known if len(compared[place[0]][place[1]]) >= 3}
    found = runs_of(texts, WholeUnits("line", Normalize.parse(how), "char", 3), 1)
    units = {(row[0], i) for row in rows_of(found) for i in range(row[1], row[2])}
    assert units == wanted == {(0, 0), (0, 1), (0, 3), (1, 0), (1, 2), (1, 4)}
    table = neardup.passages(texts, unit="line", min_chars=3, normalize=how).spans.to_pylist()
    places = {(row["id"], texts[row["id"]][row["start"] : row["end"]]) for row in table}
    assert places == {(0, "The END\nof  it."), (0, "No 12!"), (1, "the end"), (1, "Of it"), (1, "no 34")}


def test_a_small_unit_or_one_of_punctuation_parts_a_run() -> None:
    texts = ["one line\n--\nanother line", "one line\n--\nanother line"]
    assert neardup.passages(texts, unit="line", span=2).summary.spans == 2
    assert neardup.passages(texts, unit="line", span=2, min_chars=3).summary.spans == 0
    assert neardup.passages(texts, unit="line", span=2, normalize="punct").summary.spans == 0
    assert neardup.passages(texts, unit="line", normalize="punct").summary.spans == 4


def test_the_span_table_has_the_columns_and_places_of_other_passages() -> None:
    found = neardup.passages(EXAMPLE, unit="line", threads=1)
    assert found.spans.schema == neardup.passages(EXAMPLE, min_bytes=16).spans.schema
    rows = found.spans.to_pylist()
    told = [(row["id"], EXAMPLE[row["id"]][row["start"] : row["end"]], row["source_id"], row["count"]) for row in rows]
    assert told == [
        (0, "Menu", 0, 3),
        (0, "About", 0, 3),
        (0, "Copyright", 0, 2),
        (1, "Menu", 0, 3),
        (1, "About", 0, 3),
        (1, "Copyright", 0, 2),
        (2, "About", 0, 3),
        (2, "Menu", 0, 3),
    ]
    assert (found.summary.unit, found.summary.span, found.summary.min_bytes) == ("line", 1, None)


def test_a_cut_takes_the_line_and_leaves_no_pile_of_empty_ones() -> None:
    found = neardup.passages(EXAMPLE, unit="line")
    assert found.cut(min_left=0)["text"].to_pylist() == [EXAMPLE[0], "home\r\n\r\nThe harvest came.\r\n", ""]
    assert found.cut("none", min_left=0)["text"].to_pylist() == [
        "Home\n\nThe bridge is closed.",
        "home\r\n\r\nThe harvest came.\r\n",
        "",
    ]
    with pytest.raises(InputError, match="Leave snap out"):
        found.cut(snap="line")


@pytest.mark.parametrize(
    ("text", "gone", "left"),
    [
        ("A\n    x()\ny()", "x()", "A\ny()"),
        ("    x()\n  y()\n", "x()", "  y()\n"),
        ("A. B. C.", "B.", "A. C."),
        ("A. B.\n\nC.", "B.", "A.\n\nC."),
        ("A.\n\nB. C.", "B.", "A.\n\nC."),
        ("A.\nB.\n\nC.", "B.", "A.\n\nC."),
        ("\n A.\nB.", "A.", "\nB."),
        ("甲。乙。丙。", "乙。", "甲。丙。"),
        ("A.\n\u3000B. \n", "B.", "A. \n"),
        (" A. ", "A.", ""),
    ],
)
def test_the_side_with_more_line_breaks_stays(text: str, gone: str, left: str) -> None:
    blob = text.encode()
    start = blob.index(gone.encode())
    [(begin, end)] = snap_cuts(blob, [(start, start + len(gone.encode()))], snap=UNIT, least=0)
    assert (blob[:begin] + blob[end:]).decode() == left


@given(TEXTS, UNITS, st.lists(st.booleans(), min_size=14, max_size=14))
def test_what_stays_stays_as_it_was_and_is_the_other_units(text: str, unit: str, choice: list[bool]) -> None:
    units = units_of(text, unit)
    goes = choice[: len(units)]
    runs: list[tuple[int, int]] = []
    for i, (each, gone) in enumerate(zip(units, goes, strict=True)):
        begin, end = len(text[: each.start].encode()), len(text[: each.end].encode())
        if gone and i and goes[i - 1]:
            runs[-1] = (runs[-1][0], end)
        elif gone:
            runs.append((begin, end))
    blob, left, at = text.encode(), b"", 0
    for begin, end in snap_cuts(blob, runs, snap=UNIT, least=0):
        assert at <= begin
        left, at = left + blob[at:begin], end
    left += blob[at:]
    kept = [each.text for each, gone in zip(units, goes, strict=True) if not gone]
    assert [each.text for each in units_of(left.decode(), unit)] == kept
    if runs and not kept:
        assert left == b""


def test_the_policies_go_by_units_as_by_bytes() -> None:
    draw = random.Random(5)
    texts = ["\n".join(draw.choices("abcdefgh", k=9)) for _ in range(8)]
    found = neardup.passages(texts, unit="line", span=2, threads=1)
    for policy in POLICIES:
        blobs = [text.replace("\n", "").encode() for text in texts]
        wanted = [blob.decode() for blob in plain.left_by(blobs, 2, policy)]
        assert [text.replace("\n", "") for text in found.cut(policy, min_left=0)["text"].to_pylist()] == wanted


@pytest.mark.parametrize("unit", ["line", "sentence", "paragraph"])
def test_threads_blocks_and_memory_change_nothing(unit: str, tmp_path: Path) -> None:
    draw = random.Random(unit)
    parts = [
        " ".join(draw.choices(["Die", "zweite", "Zeile", "ist", "é."], k=6)) + draw.choice(".!?") for _ in range(40)
    ]
    gaps = {"line": "\n", "sentence": " ", "paragraph": "\n \n"}
    texts = [gaps[unit].join(draw.choices(parts, k=draw.randint(0, 30))) for _ in range(60)]
    how: dict[str, Any] = {"unit": unit, "span": 2, "normalize": "casefold"}
    first = neardup.passages(texts, **how, threads=1)
    other = neardup.passages(texts, **how, threads=3, block=1000, workdir=tmp_path)
    assert first.summary.spans > 50
    assert other.spans == first.spans
    assert other.cut() == first.cut()


def near_texts(seed: int) -> list[str]:
    """Texts of long lines that are nearly the same, or not at all."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(4, 9))) for _ in range(400)]
    lines = [draw.choices(words, k=25) for _ in range(12)]

    def version() -> str:
        line = list(draw.choice(lines))
        if draw.random() < 0.6:
            line[draw.choice((0, 24))] = draw.choice(words)
        return " ".join(line)

    return ["\n".join(version() for _ in range(draw.randint(0, 5))) + "\nx" for _ in range(25)]


@pytest.mark.parametrize("seed", [1, 2])
def test_near_duplicate_units_go_with_the_first_of_which_they_are_one(seed: int) -> None:
    texts = near_texts(seed)
    units = [(d, unit) for d, text in enumerate(texts) for unit in units_of(text, "line")]
    sets = [shingles(unit.text, "char:5", "none") for _, unit in units]

    def similarity(i: int, j: int) -> float:
        return len(sets[i] & sets[j]) / len(sets[i] | sets[j])

    kept: list[int] = []
    groups: dict[int, list[int]] = {}
    for i, (_, unit) in enumerate(units):
        if len(unit.text) < 2:
            continue
        first = next((j for j in kept if similarity(i, j) >= 0.7), None)
        if first is None:
            kept.append(i)
        groups.setdefault(i if first is None else first, []).append(i)
    wanted = []
    for first, members in groups.items():
        places = [(units[i][0], units[i][1].start, units[i][1].end) for i in members]
        documents = len({d for d, *_ in places})
        for i, place in zip(members, places, strict=True):
            source = (units[first][0], units[first][1].start)
            if len(members) > 1:
                wanted.append((*place, *source, len(members), documents, i == first, similarity(i, first)))
    found = neardup.passages(texts, unit="line", threshold=0.7, shingle="char:5", min_chars=2)
    names = ["id", "start", "end", "source_id", "source_start", "count", "documents", "first", "similarity"]
    assert [tuple(row.values()) for row in found.spans.select(names).to_pylist()] == sorted(wanted)
    assert len(wanted) > 40
    assert {row[8] for row in wanted} > {1.0}
    gone = {row[:2] for row in wanted if not row[7]}
    left = [
        [unit.text for unit in units_of(text, "line") if (d, unit.start) not in gone] for d, text in enumerate(texts)
    ]
    assert [[unit.text for unit in units_of(text, "line")] for text in found.cut()["text"].to_pylist()] == left
    assert (found.summary.threshold, found.summary.shingle, found.summary.span) == (0.7, "char:5", 1)


def test_where_no_unit_has_a_near_duplicate_there_is_no_span(tmp_path: Path) -> None:
    for texts in ([], ["", " "], ["One line.", "Another one, of which there is no copy."]):
        found = neardup.passages(texts, unit="line", threshold=0.8, workdir=tmp_path / "work")
        assert (found.summary.spans, found.cut()["text"].to_pylist()) == (0, texts)
        found.close()
    with pytest.raises(InputError, match="cannot be resumed"):
        neardup.passages(texts, unit="line", threshold=0.8, workdir=tmp_path / "work", resume=True)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"threshold": 0.5}, "threshold is for lines"),
        ({"unit": "line", "shingle": "char:5"}, "Give threshold too"),
        ({"unit": "line", "threshold": 0.5, "shingle": "item"}, "a line is a text"),
        ({"unit": "line", "threshold": 1.5}, "threshold is 1.5"),
        ({"unit": "line", "threshold": 0.5, "span": 2}, "compared one by one"),
        ({"unit": "word"}, "unit is 'word'"),
        ({"unit": "line", "span": 0}, "span is 0. Give a whole number from 1 to 1,000."),
        ({"unit": "line", "min_chars": 0}, "min_chars is 0. Give a whole number from 1 to 65,536."),
        ({"unit": "line", "min_chars": 5, "min_words": 2}, "min_words and min_chars are given"),
        ({"span": 2}, "Give unit too"),
        ({"preset": "c5"}, "preset is 'c5'; known are c4, c4-lines, ccnet."),
    ],
)
def test_options_that_cannot_be_are_refused(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        neardup.passages(["a"], **given_)


def test_the_presets_do_what_the_pipelines_did() -> None:
    texts = ["One. Two is. Three.\nFour!", "Zero. one. TWO  is. Three. Five.", "Three.\n2 Four"]
    assert neardup.passages(texts, preset="c4").cut()["text"].to_pylist() == [texts[0], "Zero. Five.", texts[2]]
    lines = ["A line\nPage 1", "a LINE\npage 2", "Rest"]
    assert neardup.passages(lines, preset="c4-lines").cut()["text"].to_pylist() == [lines[0], "page 2", "Rest"]
    assert neardup.passages(lines, preset="ccnet").cut(min_left=0)["text"].to_pylist() == ["", "", "Rest"]
    assert neardup.passages(lines, preset="ccnet", normalize="none").summary.spans == 0
