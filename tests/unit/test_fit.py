"""Hints: what is said where texts do not fit the setting, nothing where they do, and the same however it is run."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.oracles.text import shingles

import neardup
from neardup import tuning
from neardup.cli import main
from neardup.engine import fit
from neardup.engine.fit import PassingSample, changes_allowed, matching_slots, meeting, slow_hint
from neardup.engine.kind import kind_of, look
from neardup.stages.sketch import fingerprints
from neardup.types import Documents

LETTERS = "abcdefghijklmnopqrstuvwxyz"
CODE = """def {0}({1}, {2}):
    for {3} in range({1}):
        if {2}[{3}] == {4}({1}):
            return {{"{5}": {3}, "{0}": {2}}}
    return {4}({1}, {2})[{3}:{1}] if {5} else None
"""


def words(draw: random.Random, count: int, size: int = 5) -> list[str]:
    return ["".join(draw.choices(LETTERS, k=size)) for _ in range(count)]


def prose(count: int, length: int, *, seed: int = 1) -> list[str]:
    """Unrelated texts of so many words."""
    draw = random.Random(seed)
    return [" ".join(words(draw, length)) for _ in range(count)]


def sharing(count: int, *, quoted: bool = False) -> list[str]:
    """Texts of which each takes a third from the one before it: none is a copy, and most share passages."""
    draw = random.Random(2)
    texts, last = [], words(draw, 60)
    for _ in range(count):
        own = words(draw, 120)
        texts.append(("> " if quoted else "") + " ".join(last) + "\n" + " ".join(own))
        last = own[:80]
    return texts


def chinese(count: int, length: int) -> list[str]:
    draw = random.Random(3)
    return ["".join(chr(draw.randrange(0x4E00, 0x9000)) for _ in range(length)) + "。" for _ in range(count)]


def code(count: int) -> list[str]:
    draw = random.Random(4)
    return ["".join(CODE.format(*words(draw, 6)) for _ in range(6)) for _ in range(count)]


def hints(texts: Any, **options: Any) -> list[tuple[str, str | None]]:
    return [(hint.kind, hint.preset) for hint in neardup.find(texts, **options).summary.hints]


def jaccard(a: str, b: str, shingle: str) -> float:
    first, second = shingles(a, shingle), shingles(b, shingle)
    return len(first & second) / len(first | second)


# The rules


@pytest.mark.parametrize("texts", [prose(40, 12), [*prose(25, 10), *prose(15, 300)]], ids=["all short", "most short"])
def test_short_texts_under_long_shingles_are_for_articles(texts: list[str]) -> None:
    assert hints(texts) == [("short", "articles")]
    assert hints(texts, preset="articles") == []


@pytest.mark.parametrize("threshold", [0.9, 0.99, 1.0])
def test_a_strict_threshold_does_not_make_texts_short(threshold: float) -> None:
    assert hints(prose(40, 60), threshold=threshold) == []
    assert hints(prose(40, 12), threshold=threshold) == ([("short", "articles")] if threshold < 1 else [])


def test_short_texts_of_a_script_without_spaces_are_for_unsegmented() -> None:
    assert hints(chinese(40, 30)) == [("short", "unsegmented")]
    assert hints(chinese(40, 30), preset="unsegmented") == []
    assert hints(chinese(40, 400)) == []


@pytest.mark.parametrize("shingle", ["word:1", "word:3"])
def test_words_of_a_script_without_spaces_are_for_unsegmented_however_long(shingle: str) -> None:
    assert hints(chinese(40, 400), shingle=shingle) == [("script", "unsegmented")]


def test_source_code_under_characters_is_for_code() -> None:
    assert hints(code(40)) == [("code", "code")]
    assert hints(code(40), shingle="word:5") == []


def test_texts_that_share_passages_and_are_no_copies_are_for_essays_or_for_articles_where_they_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = sharing(60)
    assert hints(texts) == [("passages", "essays")]
    assert hints(texts, threshold=0.79) == []  # somebody chose it
    assert hints(texts, preset="copies") == []
    assert len(neardup.find(texts, preset="essays").pairs) > 10 * len(neardup.find(texts).pairs)
    monkeypatch.setattr(fit, "FEW_DOCUMENTS", 59)
    assert hints(texts) == [("passages", "articles")]


def test_messages_that_quote_each_other_are_not_taken_for_essays() -> None:
    assert hints(sharing(60, quoted=True)) == []


def test_who_removes_documents_is_not_told_to_remove_those_that_share_a_passage() -> None:
    assert neardup.dedup(sharing(60)).summary.hints == ()
    assert [hint.kind for hint in neardup.dedup(prose(40, 12)).summary.hints] == ["short"]


@pytest.mark.parametrize(
    "texts",
    [prose(40, 120), prose(19, 5), [], ["", *prose(30, 200)], prose(1, 5) * 50],
    ids=["long", "few", "no", "1", "copies"],
)
def test_nothing_is_said_where_the_texts_fit_or_are_few(texts: list[str]) -> None:
    assert hints(texts) == []


def test_nothing_is_said_of_sets() -> None:
    assert hints([["a", "b", str(i)] for i in range(40)], shingle="item") == []


def test_hints_are_in_the_words_of_python_too() -> None:
    (hint,) = neardup.find(prose(40, 12)).summary.hints
    assert str(hint).startswith("The texts are short: half of them have at most 71 characters")
    assert str(hint).endswith("Try preset='articles'.")


# What they are measured by


@pytest.mark.parametrize(
    ("shingle", "threshold", "length"),
    [("char:9", 0.8, 400), ("char:5", 0.4, 90), ("word:3", 0.2, 40), ("word:1", 0.5, 30), ("word:5", 0.6, 200)],
)
def test_a_text_with_as_many_changed_words_as_are_allowed_reaches_the_threshold_and_one_more_does_not(
    shingle: str, threshold: float, length: int
) -> None:
    draw = random.Random(5)
    text, changed_words = words(draw, length), [word.upper() for word in words(draw, length)]
    spec = tuning.make_spec(shingle=shingle, threshold=threshold)
    allowed = int(changes_allowed(len(shingles(" ".join(text), shingle)), spec))
    assert allowed >= 2
    for changed, reaches in ((allowed, True), (allowed + 1, False)):
        other, apart = list(text), length / changed
        for i in range(changed):
            other[int((i + 0.5) * apart)] = changed_words[i]
        assert (jaccard(" ".join(text), " ".join(other), shingle) >= threshold) == reaches


def test_scripts_and_marks_of_code_are_seen_in_most_of_the_texts() -> None:
    assert look(chinese(11, 50) + prose(10, 50)) == (True, False)
    assert look(chinese(10, 50) + prose(11, 50)) == (False, False)
    assert look(code(11) + prose(10, 50)) == (False, True)
    assert look(["สวัสดีครับ", "ខ្ញុំស្រឡាញ់", "ຂ້ອຍຮັກ", "မြန်မာစာ", "ひらがなカタカナ"]) == (True, False)
    assert look(["한국어 문장은 띄어쓰기를 한다", "Ελληνικά", "русский текст", "हिन्दी में", "العربية"]) == (False, False)


def test_slots_and_meetings_of_a_sample_are_those_counted_pair_by_pair() -> None:
    draw = np.random.default_rng(6)
    values = draw.integers(0, 3, size=(30, 16), dtype=np.uint32)
    keys = draw.integers(0, 20, size=(4, 30), dtype=np.uint64)
    matches, met = matching_slots(values), meeting(iter(keys), 30)
    for i, j in itertools.product(range(30), repeat=2):
        assert matches[i, j] == (sum(a == b for a, b in zip(values[i], values[j], strict=True)) if i < j else 0)
        assert met[i, j] == (i < j and any(band[i] == band[j] for band in keys))


def test_hints_and_the_proposal_without_an_answer_name_the_kind_by_one_rule() -> None:
    quoting = ["> what was said before\nand what is said to it"] * 30
    for texts, preset in ((chinese(40, 60), "unsegmented"), (code(40), "code"), (quoting, "web")):
        assert kind_of(texts).preset == neardup.tune(texts, budget=0).proposal.preset == preset
    assert hints(prose(40, 12)) == [("short", neardup.tune(prose(40, 12), budget=0).proposal.preset)]
    assert hints(chinese(40, 60)) == [("short", "unsegmented")]
    assert hints(code(40)) == [("code", "code")]


# Slow runs


@pytest.fixture
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "MANY_CANDIDATES", 300)


@pytest.mark.usefixtures("few_candidates")
def test_the_candidates_that_are_foretold_of_a_sample_of_everything_are_those_that_are_met() -> None:
    found = neardup.find(prose(150, 60), threshold=0.9, shingle="char:2", bands="3x1", slots=128, candidates=True)
    (hint,) = found.summary.hints
    assert (hint.kind, hint.preset, hint.options) == ("slow", None, {"slots": 256})
    share = float(hint.text.partition(" % of all")[0].split()[-1]) / 100
    assert 0.2 < share < 0.9
    assert share * 150 * 149 / 2 == pytest.approx(len(found.candidates), rel=0.02)


@pytest.mark.usefixtures("few_candidates")
def test_a_run_that_will_be_slow_says_so_before_it_is() -> None:
    class Noting:
        def __init__(self) -> None:
            self.told: list[str] = []

        def stage(self, name: str, total: int | None, unit: str) -> None:
            self.told.append(name)

        def advance(self, amount: int) -> None: ...

        def note(self, message: str) -> None:
            self.told.append(message)

    noting = Noting()
    neardup.find(prose(150, 60), threshold=0.2, shingle="char:2", observer=noting)
    told = [i for i, each in enumerate(noting.told) if "candidate pairs are to be expected" in each]
    assert len(told) == 1
    assert told[0] < noting.told.index("candidates")


@pytest.mark.parametrize(
    "given",
    [{}, {"slots": 256}, {"slots": 256, "recall": 0.9}, {"slots": 64, "threshold": 0.6}, {"bands": "40x1"}],
    ids=str,
)
def test_what_is_tried_against_a_slow_run_meets_fewer_pairs(given: dict[str, Any]) -> None:
    options = {"threshold": 0.4, **given}
    spec = tuning.make_spec(**options)
    (hint,) = slow_hint(1e10, 1e11, spec)
    tried = tuning.make_spec(**{**{name: value for name, value in options.items() if name != "bands"}, **hint.options})
    assert tried.bands.rows > spec.bands.rows
    low = 0.1
    assert tuning.s_curve(low, tried.bands.bands, tried.bands.rows) < tuning.s_curve(
        low, spec.bands.bands, spec.bands.rows
    )
    assert slow_hint(1e8, 1e11, spec) == []


# However it is run


@pytest.fixture
def files(tmp_path: Path) -> Callable[[list[str]], Path]:
    def write(texts: list[str]) -> Path:
        path = tmp_path / "texts.jsonl"
        path.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)))
        return path

    return write


@pytest.mark.parametrize(
    "make", [partial(prose, 900, 12), partial(sharing, 700), partial(code, 60)], ids=["short", "sharing", "code"]
)
def test_hints_do_not_depend_on_threads_blocks_order_or_the_place_of_the_work(
    make: Callable[[], list[str]], tmp_path: Path
) -> None:
    texts = make()
    plain = neardup.find(texts).summary.hints
    assert len(plain) == 1
    assert neardup.find(texts, threads=1, block=7).summary.hints == plain
    assert neardup.find(random.Random(7).sample(texts, len(texts))).summary.hints == plain
    assert neardup.find(texts, workdir=tmp_path / "work").summary.hints == plain


@pytest.mark.parametrize(
    "make", [partial(prose, 900, 12), partial(chinese, 40, 30), partial(code, 60)], ids=["short", "chinese", "code"]
)
def test_plan_and_index_say_what_find_says(make: Callable[[], list[str]], tmp_path: Path) -> None:
    texts = make()

    def told(found: tuple[neardup.Hint, ...]) -> list[tuple[str, str | None]]:
        return [(hint.kind, hint.preset) for hint in found]

    with neardup.Index.build(tmp_path / "index", texts) as made:
        assert made.built is not None
        assert told(made.built.hints) == told(neardup.plan(texts).hints) == hints(texts)


def test_a_sample_of_passing_batches_is_the_same_however_they_are_cut_and_has_each_text_once() -> None:
    texts = prose(1300, 12)
    spec, seen = tuning.make_spec(), set()
    for order, step in ((texts, 10), (texts[::-1], 700), ([*texts, *texts[:400]], 1700)):
        sample = PassingSample()
        for first in range(0, len(order), step):
            documents = Documents.from_texts(order[first : first + step])
            sample.add(documents, fingerprints(documents)[:, 0], np.ones(len(documents), dtype=np.bool_))
        assert len(set(sample._texts)) == len(sample._texts) == fit.SAMPLE
        seen.add((*sample._texts, *sample.hints(spec)[0].text))
    assert len(seen) == 1


# Through the command line


@pytest.mark.parametrize(
    ("texts", "preset"),
    [(prose(40, 12), "articles"), (sharing(60), "essays"), (code(40), "code")],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_the_command_that_a_hint_names_runs_and_has_no_hint(
    texts: list[str], preset: str, files: Callable[[list[str]], Path], tmp_path: Path
) -> None:
    out = tmp_path / "a b.csv"
    done = CliRunner().invoke(main, ["find", str(files(texts)), "-o", str(out), "--recall", "0.95", "--threads", "1"])
    lines = done.stderr.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("hint "))
    named = shlex.split(lines[at + 1].partition("try: ")[2])
    assert named[:2] == ["neardup", "find"]
    assert named[-2:] == ["--for", preset]
    again = CliRunner().invoke(main, [*named[1:], "--json"])
    told = json.loads(again.stdout)
    assert told["hints"] == []
    assert (told["preset"]["name"], told["preset"]["given"], told["threads"]) == (preset, {}, 1)


def test_options_that_the_preset_replaces_are_left_out_of_the_command(files: Callable[[list[str]], Path]) -> None:
    path = str(files(prose(40, 12)))
    args = [
        "find",
        path,
        "--for",
        "copies",
        "-t",
        "0.9",
        "--bands",
        "4x8",
        "--exact",
        "auto",
        "--crowd",
        "50",
        "--json",
    ]
    (hint,) = json.loads(CliRunner().invoke(main, args).stdout)["hints"]
    assert hint["command"] == f"neardup find {path} --exact auto --json --crowd 50 --for articles"


@pytest.mark.parametrize("command", ["find", "dedup", "report", "plan", "index build"])
def test_every_summary_of_a_search_has_the_hint(
    command: str, files: Callable[[list[str]], Path], tmp_path: Path
) -> None:
    path, out = str(files(prose(40, 12))), str(tmp_path / "out")
    args = {"plan": [path], "index build": [out, path], "find": [path]}.get(command, [path, "-o", out])
    done = CliRunner().invoke(main, [*command.split(), *args])
    assert done.exit_code == 0, done.output
    assert "hint          The texts are short" in done.output
    assert f"try: neardup {command} {' '.join(each for each in args if each != '-o').split()[0]}" in done.output


def test_a_report_has_what_its_preset_stands_for_and_the_hint_on_its_first_page(tmp_path: Path) -> None:
    for preset, words_of_it in (
        (None, "Try --for articles (preset=)."),
        ("web", "--for web = --shingle char:5 --normalize casefold,punct,space -t 0.8"),
    ):
        made = neardup.report(prose(40, 12), tmp_path / f"{preset}.html", single_file=True, preset=preset)
        assert words_of_it in made.path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "texts",
    [
        [chr(i) for i in range(33, 90)],
        ["\0" * i for i in range(1, 60)],
        [" " * i for i in range(1, 60)],
        ["\U0001f600" * i + "e\u0301" for i in range(60)],
        [f"{i} " + "x" * 200_000 for i in range(30)],
    ],
    ids=["one character", "zeros", "white space", "emoji", "long"],
)
def test_odd_texts_are_looked_at_without_harm(texts: list[str]) -> None:
    for options in ({}, {"preset": "records"}, {"preset": "scans"}, {"exact": True}, {"measure": "containment"}):
        assert len(hints(texts, **options)) <= 1


# On real texts

HINTED = {
    "clough_stevenson/docs.jsonl.gz": [("passages", "essays")],
    "records/dblp_acm.records.jsonl.gz": [("short", "articles")],
    "records/cora.records.jsonl.gz": [("short", "articles")],
    "multilingual/chinese_poems.jsonl.gz": [("short", "unsegmented")],
    "mccormick_articles/articles_1000.jsonl.gz": [],
    "arxiv_10k/abstracts.jsonl.gz": [],
    "newsgroups/messages.jsonl.gz": [],
    "multilingual/udhr.jsonl.gz": [],
}


@pytest.mark.shared_data
@pytest.mark.parametrize("name", HINTED)
def test_hints_on_the_collections(name: str, shared_data: Path) -> None:
    with gzip.open(shared_data / name, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    assert hints(texts) == HINTED[name]
    for _, preset in HINTED[name]:
        assert hints(texts, preset=preset) == []
