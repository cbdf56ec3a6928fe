"""Judging what was found: texts beside ids, the most similar first, examples of what goes."""

from __future__ import annotations

import csv
import json
import random
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

import neardup
from neardup.cli import main
from neardup.cli.pair_table import one_line
from neardup.cli.voice import wrapped
from neardup.tasks.dedup.examples import cut_at_difference

WORDS = [
    "rose",
    "tulip",
    "daisy",
    "poppy",
    "lily",
    "iris",
    "aster",
    "peony",
    "orchid",
    "heather",
    "thistle",
    "clover",
    "violet",
    "pansy",
]
ODD = [
    "naïve e\u0301\u0301 text",
    "日本語の文章です",
    "tab\tand \x1b[31m red",
    'quotes " and, commas',
    "\n  leading lines\n",
]
CHOICES = ("--shingle", "word:1", "-t", "0.4", "--normalize", "nfc,casefold,punct,space")
KEYWORDS: dict[str, Any] = {"shingle": "word:1", "threshold": 0.4, "normalize": "nfc,casefold,punct,space"}


def texts_of(seed: int, count: int = 40) -> list[str]:
    """Texts of few words in odd writing, so that normalisation changes most and many pairs are equally similar."""
    draw = random.Random(seed)
    return [
        f"{draw.choice(ODD)}  {' '.join(draw.choice((str.upper, str.title))(word) for word in draw.sample(WORDS, 6))}!"
        for _ in range(count)
    ]


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    made = texts_of(7)
    lines = (json.dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(made))
    Path("docs.jsonl").write_text("".join(lines), encoding="utf-8")
    return made


def run(*args: str, **how: Any) -> Result:
    return CliRunner().invoke(main, args, prog_name="neardup", **how)


def words_of(text: str) -> frozenset[str]:
    """The set of words of a text by the plain words of the manual: NFC, folded, no punctuation, white space apart."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return frozenset("".join(c for c in folded if not unicodedata.category(c).startswith("P")).split())


def near_pairs(texts: list[str]) -> list[tuple[int, int, Fraction]]:
    sets = [words_of(text) for text in texts]
    likeness = (
        (a, b, Fraction(len(sets[a] & sets[b]), len(sets[a] | sets[b]))) for a, b in combinations(range(len(sets)), 2)
    )
    return [pair for pair in likeness if pair[2] >= Fraction(2, 5)]


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.split("\n") if line]
    with path.open(newline="", encoding="utf-8") as stream:
        return [{**row, "similarity": float(row["similarity"])} for row in csv.DictReader(stream)]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_pairs_and_clusters_have_the_texts_as_they_were_written(texts: list[str], suffix: str) -> None:
    names = f"pairs.{suffix}", f"clusters.{suffix}"
    done = run("find", "docs.jsonl", *CHOICES, "--exact", "--with-text", "-o", names[0], "--clusters", names[1])
    assert done.exit_code == 0, done.stderr
    pairs, clusters = (rows_of(Path(name)) for name in names)
    assert list(pairs[0]) == ["id_a", "id_b", "similarity", "text_a", "text_b"]
    assert list(clusters[0]) == ["id", "cluster", "keeper", "similarity", "text", "keeper_text"]
    assert {(row["id_a"], row["id_b"]) for row in pairs} == {(f"d{a}", f"d{b}") for a, b, _ in near_pairs(texts)}
    by_id = {f"d{i}": text for i, text in enumerate(texts)}
    assert all((row["text_a"], row["text_b"]) == (by_id[row["id_a"]], by_id[row["id_b"]]) for row in pairs)
    assert all((row["text"], row["keeper_text"]) == (by_id[row["id"]], by_id[row["keeper"]]) for row in clusters)


def test_texts_of_stdin_which_can_be_read_once_come_too(texts: list[str]) -> None:
    piped = run("find", "-", *CHOICES, "--with-text", "--input-format", "jsonl", input=Path("docs.jsonl").read_bytes())
    assert piped.exit_code == 0, piped.stderr
    named = run("find", "--with-text", "docs.jsonl", *CHOICES)
    assert piped.stdout_bytes == named.stdout_bytes
    assert json.loads(named.stdout.splitlines()[0])["text_a"] in texts


@pytest.mark.parametrize("top", [1, 5, 17, 10_000])
@pytest.mark.parametrize("sort", [None, "similarity", "input"])
def test_the_top_pairs_are_the_most_similar_and_ties_go_by_input(texts: list[str], top: int, sort: str | None) -> None:
    expected = sorted(near_pairs(texts), key=lambda pair: (-pair[2], pair[0], pair[1]))[:top]
    if sort == "input":
        expected.sort()
    assert len({pair[2] for pair in near_pairs(texts)}) < len(near_pairs(texts)) / 3, "there are no ties to test"
    found = neardup.find(texts, **KEYWORDS, exact=True, top=top, sort=sort)
    listed = [
        (row["id_a"], row["id_b"], float(likeness))
        for row, (_, _, likeness) in zip(found.pairs.to_pylist(), expected, strict=True)
    ]
    assert listed == [(a, b, float(likeness)) for a, b, likeness in expected]
    assert found.summary.pairs == len(near_pairs(texts))
    order = () if sort is None else ("--sort", sort)
    done = run("find", "docs.jsonl", *CHOICES, "--exact", "--top", str(top), *order)
    ids = [tuple(json.loads(line).values())[:2] for line in done.stdout.splitlines()]
    assert ids == [(f"d{a}", f"d{b}") for a, b, _ in expected]


def test_the_bytes_are_the_same_for_any_threads_memory_and_workdir(tmp_path: Path) -> None:
    draw = random.Random(3)
    with (tmp_path / "many.jsonl").open("w", encoding="utf-8") as stream:
        for i in range(600):
            words = " ".join(draw.choice(WORDS).title() for _ in range(5))
            common = " ".join(str(number) for number in range(i % 30 * 100, i % 30 * 100 + 100))
            stream.write(json.dumps({"id": i, "text": f"É{words}, {common}"}, ensure_ascii=False) + "\n")
    written = []
    for i, more in enumerate((["--threads", "1"], ["--threads", "4"], ["--workdir", str(tmp_path / "work")])):
        for format in ("csv", "parquet"):
            target = tmp_path / f"{i}.{format}"
            how = ("--normalize", "casefold", "-t", "0.5", "--sort", "similarity", "--with-text", "100", "--quiet")
            done = run("find", str(tmp_path / "many.jsonl"), "-o", str(target), *how, *more)
            assert done.exit_code == 0, done.stderr
            written.append((format, target.read_bytes()))
    assert len(set(written)) == 2
    assert written[0][1].count(b"\n") > 1000


def test_the_removals_have_both_texts_and_the_examples_show_where_they_differ(texts: list[str]) -> None:
    by_id = {f"d{i}": text for i, text in enumerate(texts)}
    done = run("dedup", "docs.jsonl", *CHOICES, "--dry-run", "--removed", "gone.csv", "--with-text", "--show", "3")
    assert done.exit_code == 0, done.stderr
    gone = rows_of(Path("gone.csv"))
    assert list(gone[0])[-2:] == ["text", "keeper_text"]
    assert all((row["text"], row["keeper_text"]) == (by_id[row["id"]], by_id[row["keeper"]]) for row in gone)
    assert f"examples      3 of {len(gone)} that would be removed\n" in done.stderr
    assert "\x1b" not in done.stderr
    told = json.loads(run("dedup", "docs.jsonl", *CHOICES, "--dry-run", "--show", "3", "--json").stdout)["examples"]
    likeness = [each["similarity"] for each in told]
    assert len(told) == 3
    assert likeness == sorted(likeness)
    assert likeness[0] == min(row["similarity"] for row in gone)
    python = neardup.dedup(dict(by_id), **KEYWORDS, show=3)
    assert python.examples is not None
    assert python.examples.to_pylist() == told
    for each in told:
        goes, stays = by_id[each["id"]], by_id[each["keeper"]]
        assert each["text"].strip("…") in goes
        assert each["keeper_text"].strip("…") in stays


def test_copies_are_examples_only_where_there_is_nothing_else() -> None:
    base = "one two three four five six seven eight nine ten"
    copies = [base] * 20 + [f"{base} eleven"] + ["quite another text of some words"] * 5
    kind: dict[str, Any] = {"shingle": "word:1", "threshold": 0.8}
    told = neardup.dedup(copies, **kind, show=2).examples
    assert told is not None
    assert told["similarity"].to_pylist()[0] < 1.0
    only = neardup.dedup([base] * 3, **kind, show=5).examples
    assert only is not None
    assert (only["id"].to_pylist(), set(only["text"].to_pylist())) == ([1, 2], {base})
    assert neardup.dedup([base, "no", "nothing"], **kind, show=5).examples.num_rows == 0  # type: ignore[union-attr]
    assert neardup.dedup([base] * 3, **kind).examples is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("", "x"),
        ("same", "same"),
        ("a" * 500 + "b", "a" * 500 + "c"),
        ("a" * 500, "a" * 501),
        ("日本" * 99, "日本" * 98 + "語"),
    ],
)
def test_both_texts_are_cut_at_one_place_before_they_differ(first: str, second: str) -> None:
    shown = cut_at_difference(first, second, 60)
    for text, whole in zip(shown, (first, second), strict=True):
        assert text.strip("…") in whole
        assert len(text.strip("…")) <= 60
    assert (shown[0] == shown[1]) == (first == second)


def test_an_index_gives_texts_beside_its_pairs_and_hits(texts: list[str]) -> None:
    by_id = {f"d{i}": text for i, text in enumerate(texts)}
    making = ("--shingle", "word:1", "-t", "0.5", "--normalize", "nfc,casefold,punct,space")
    assert run("index", "build", "a.index", "docs.jsonl", *making, "--quiet").exit_code == 0
    for args, columns in (
        (("pairs", "a.index", "--sort", "similarity"), ("id_a", "id_b", "text_a", "text_b")),
        (("query", "a.index", "docs.jsonl", "--top", "all"), ("query", "id", "query_text", "text")),
    ):
        done = run("index", *args, "--with-text", "--quiet")
        assert done.exit_code == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.split("\n") if line]
        assert rows
        one, other, text_one, text_other = columns
        assert list(rows[0])[-2:] == [text_one, text_other]
        assert all(row[text_one] == by_id[row[one]] and row[text_other] == by_id[row[other]] for row in rows)


def test_a_table_on_the_terminal_has_one_line_of_each_text_and_no_control(texts: list[str]) -> None:
    done = run(
        "find",
        "docs.jsonl",
        *CHOICES,
        "--format",
        "table",
        "--with-text",
        "--top",
        "8",
        "--quiet",
        env={"COLUMNS": "60"},
    )
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["similarity", "id", "text"]
    assert len(lines) == 1 + 8 * 3 - 1
    assert all(cell_len(line.rstrip()) <= 60 for line in lines)
    assert not any(unicodedata.category(char) == "Cc" for line in lines for char in line)
    folded = run(
        "find",
        "docs.jsonl",
        *CHOICES,
        "--format",
        "table",
        "--with-text",
        "60",
        "--top",
        "8",
        "--quiet",
        env={"COLUMNS": "60"},
    )
    assert len(folded.stdout.splitlines()) > len(lines)


@pytest.mark.parametrize("text", ["日本語" * 20, "e\u0301" * 40, "plain words " * 9, "🇫🇷" * 30, "short", ""])
def test_a_line_of_a_text_fits_and_ends_between_characters(text: str) -> None:
    for width in (5, 20, 21, 40):
        shown = one_line(text, width)
        assert cell_len(shown) <= width
        kept = shown.removesuffix("…")
        assert text.startswith(kept)
        assert shown == text or not unicodedata.combining(text[len(kept)])


def test_lines_wider_than_the_terminal_are_broken_between_words() -> None:
    line = "time          read 0.31 s, candidates 0.01 s, check 0.03 s, cluster 0.01 s, write 0.01 s, 12 threads"
    for width in range(30, 110):
        parts = wrapped(line, width)
        assert all(len(part) <= width for part in parts)
        assert " ".join(part.strip() for part in parts).split() == line.split()
        assert all(part.startswith(" " * 14) for part in parts[1:])
        assert not any(part.strip().startswith("s,") for part in parts)
    path = "neardup: 3 pairs, written to " + "x" * 50 + ".csv, in 0.1 s"
    assert any("x" * 50 + ".csv," in part for part in wrapped(path, 40))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("find", "docs.jsonl", "--with-text", "--json"), "--with-text is for tables"),
        (("find", "docs.jsonl", "--top", "3", "--json"), "--sort and --top are for the table of pairs"),
        (("find", "docs.jsonl", "--with-text", "0"), "at least 1"),
        (("find", "docs.jsonl", "--sort", "id"), "'input', 'similarity'"),
        (("find", "docs.jsonl", "--top", "0"), "top is 0"),
        (("dedup", "docs.jsonl", "--dry-run", "--with-text"), "Give --removed FILE too"),
        (("dedup", "docs.jsonl", "--dry-run", "--show", "2", "--quiet"), "Give one of them"),
        (("dedup", "docs.jsonl", "--dry-run", "--show", "0"), "show is 0"),
    ],
)
def test_what_has_nothing_to_work_on_is_an_error_of_usage(texts: list[str], args: tuple[str, ...], words: str) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert words in done.stderr


@pytest.mark.parametrize("name", [{"with_text": 0}, {"with_text": "all"}, {"sort": "id"}, {"top": 0}, {"top": True}])
def test_python_refuses_the_same(name: dict[str, Any]) -> None:
    with pytest.raises(neardup.InputError, match=next(iter(name))):
        neardup.find(["a text", "another"], **name)


def test_progress_and_summary_count_the_same_pairs(texts: list[str], tmp_path: Path) -> None:
    class Told:
        def __init__(self) -> None:
            self.stages: list[list[Any]] = []

        def stage(self, name: str, total: int | None, unit: str) -> None:
            self.stages.append([name, total, unit, 0])

        def advance(self, amount: int) -> None:
            self.stages[-1][3] += amount

        def note(self, message: str) -> None: ...

    ways: list[Callable[[], dict[str, Any]]] = [dict, lambda: {"workdir": tmp_path / "work"}]
    for way in ways:
        told = Told()
        found = neardup.find(texts, **KEYWORDS, observer=told, **way())
        name, total, unit, done = told.stages[-1]
        assert (name, done) == ("check", total)
        assert found.summary.pairs <= found.summary.checked <= found.summary.candidates
        assert not unit or total == found.summary.checked
