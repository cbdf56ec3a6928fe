"""Test data kept out of training data: by containment and by rules of overlap, as it is typed and from Python."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import neardup
from neardup.cli import main
from neardup.engine.joins import overlap as join
from neardup.engine.space import Budget

Cli = Callable[..., Result]
EXAMPLES = Path(__file__).parents[2] / "examples" / "abstracts.jsonl"
RULES = (("--measure", "containment"), ("--overlap", "gpt3"), ("--overlap", "llama3"), ("--overlap", "13"))
Texts = dict[str, str]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:  # type: ignore[operator]
        return [json.loads(line) for line in file]


def write_jsonl(path: Path, texts: Texts) -> None:
    path.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items()))


def read_csv(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def planted(
    articles: list[str], tests: list[str], folder: Path, *, pasted: int = 100
) -> tuple[Texts, Texts, dict[str, str]]:
    """Articles with a test text pasted into some of them, all tests, and which article has which."""
    chosen = random.Random(11)
    where = dict(zip(chosen.sample(range(len(articles)), pasted), range(pasted), strict=True))
    train: Texts = {}
    for i, article in enumerate(articles):
        words = article.split(" ")
        if i in where:
            words.insert(chosen.randrange(len(words) + 1), tests[where[i]])
        train[f"a{i}"] = " ".join(words)
    held = {f"t{n}": text for n, text in enumerate(tests)}
    write_jsonl(folder / "train.jsonl", train)
    write_jsonl(folder / "test.jsonl", held)
    return train, held, {f"a{i}": f"t{n}" for i, n in where.items()}


def has_run(train: Texts, held: Texts, size: int) -> set[str]:
    """An oracle of its own: articles in which so many words of a test stand side by side; words are between blanks."""

    def runs(text: str) -> set[str]:
        row = text.split()
        return {" ".join(row[i : i + size]) for i in range(len(row) - size + 1)}

    known = set().union(*map(runs, held.values()))
    return {id for id, text in train.items() if not known.isdisjoint(runs(text))}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run ``neardup dedup train.jsonl --protect test.jsonl …`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def invoke(*args: str) -> Result:
        given = ["dedup", "train.jsonl", "--protect", "test.jsonl", *args]
        return CliRunner().invoke(main, given, prog_name="neardup")

    return invoke


def check_all_found(run: Cli, folder: Path, train: Texts, held: Texts, truth: dict[str, str]) -> None:
    """Each rule removes exactly the articles with a pasted test, each for that test, with the pasted passage."""
    for rule in RULES:
        done = run(*rule, "-o", "clean.jsonl", "--removed", "gone.csv")
        assert done.exit_code == 0, done.output
        rows = read_csv(folder / "gone.csv")
        assert {row["id"]: row["keeper"] for row in rows} == truth, rule
        assert [row["id"] for row in read_jsonl(folder / "clean.jsonl")] == [id for id in train if id not in truth]
        for row in rows:
            mine, other = train[row["id"]], held[row["keeper"]]
            found = mine[int(row["start"]) : int(row["end"])]
            assert row["passage"] == found[:200]
            assert re.sub(r"^\W+|\W+$", "", other) in found
            assert len(found) < len(other) + 20
            there = other[int(row["keeper_start"]) : int(row["keeper_end"])]
            assert re.sub(r"^\W+|\W+$", "", there) in found
            assert float(row["similarity"]) == 1.0
            assert row["rule"] == "protect"


def test_every_test_text_that_was_pasted_into_an_article_is_removed_and_nothing_else(run: Cli, tmp_path: Path) -> None:
    texts = {row["id"].split("@")[0]: row["text"].split("\n", 1)[1].replace("\n", " ") for row in read_jsonl(EXAMPLES)}
    plain = [text for text in texts.values() if text.isascii() and len(text.split()) > 40]
    train, held, truth = planted(plain[80:], plain[:80], tmp_path, pasted=60)
    assert has_run(train, held, 13) == truth.keys()
    check_all_found(run, tmp_path, train, held, truth)


@pytest.mark.shared_data
def test_a_hundred_test_paragraphs_in_five_hundred_articles(run: Cli, tmp_path: Path, shared_data: Path) -> None:
    copies = {
        line.split(",")[1] for line in (shared_data / "mccormick_articles/articles_1000.pairs.csv").read_text().split()
    }
    articles = read_jsonl(shared_data / "mccormick_articles/articles_1000.jsonl.gz")
    texts = [row["text"] for row in articles if row["id"] not in copies][:500]
    tests = [row["text"].replace("\n", " ") for row in read_jsonl(shared_data / "arxiv_10k/abstracts.jsonl.gz")]
    long = [text for text in tests if text.isascii() and len(text.split()) > 40][:200]
    train, held, truth = planted(texts, long, tmp_path)
    assert (len(train), len(truth)) == (500, 100)
    assert has_run(train, held, 13) == truth.keys()
    check_all_found(run, tmp_path, train, held, truth)


# Small collections

HELD = {"t0": "the quick brown fox jumps over the lazy dog and runs away from it", "t1": "too short"}
TRAIN = {
    "a0": "A story.\nThe quick, brown fox jumps over the lazy dog and runs away from it.\nThe end of the story, it is.",
    "a1": "nothing of the kind stands here, in this text of more than a dozen words",
    "a2": "jumps over the lazy dog and runs",
    "a3": "too short",
    "a4": "nothing of the kind stands here, in this text of more than a dozen words",
}


@pytest.fixture
def small(run: Cli, tmp_path: Path) -> Cli:
    write_jsonl(tmp_path / "train.jsonl", TRAIN)
    write_jsonl(tmp_path / "test.jsonl", HELD)
    return run


def test_the_removals_tell_the_passage_and_its_places(small: Cli, tmp_path: Path) -> None:
    done = small("--overlap", "gpt3", "-o", "clean.jsonl", "--removed", "gone.jsonl")
    assert done.exit_code == 0, done.output
    rows = read_jsonl(tmp_path / "gone.jsonl")
    passage = "The quick, brown fox jumps over the lazy dog and runs away from it"
    assert [(row["id"], row["keeper"], row["rule"], row["cluster"]) for row in rows] == [
        *(("a0", "t0", "protect", 0), ("a3", "t1", "protect", 1))
    ]
    assert rows[0]["passage"] == passage == TRAIN["a0"][rows[0]["start"] : rows[0]["end"]]
    assert (rows[0]["keeper_start"], rows[0]["keeper_end"]) == (0, len(HELD["t0"]))
    assert "overlap       2 documents with a protected one, by the rule gpt3" in done.stderr
    short = "too short     1 protected document of less than one n-gram (word:13): only equal texts are found"
    assert short in done.stderr
    assert "1: the overlap join misses no pair" in done.stderr


def test_by_containment_it_goes_in_both_directions(small: Cli, tmp_path: Path) -> None:
    done = small(
        "--measure", "containment", "--normalize", "nfc,casefold,punct", "-o", "clean.jsonl", "--removed", "gone.csv"
    )
    assert done.exit_code == 0, done.output
    rows = {row["id"]: row for row in read_csv(tmp_path / "gone.csv")}
    assert {id: (row["keeper"], row["contained"]) for id, row in rows.items()} == {
        "a0": ("t0", "keeper"),
        "a2": ("t0", "removed"),
        "a3": ("t1", "both"),
        "a4": ("a1", "both"),
    }
    assert rows["a2"]["passage"] == TRAIN["a2"]
    assert "of distinct texts of containment 0.8 or more" in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_every_format_of_removals_has_the_passages(small: Cli, tmp_path: Path, suffix: str) -> None:
    name = f"gone.{suffix}"
    assert small("--overlap", "5", "-o", "clean.jsonl", "--removed", name, "--quiet").exit_code == 0
    path = tmp_path / name
    rows: Any = (
        read_csv(path)
        if suffix == "csv"
        else read_jsonl(path)
        if suffix == "jsonl"
        else pq.read_table(path).to_pylist()
    )
    assert [str(row["start"]) for row in rows] == ["9", "0", "0"]
    assert [str(row["keeper_end"]) for row in rows] == ["65", "52", "9"]
    assert list(rows[0])[8:] == ["start", "end", "keeper_start", "keeper_end", "passage"]


def test_without_protected_documents_the_part_goes_and_none_may_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    again = "one two three four five six seven " * 9  # longer in bytes, and yet a part: it repeats itself
    write_jsonl(
        tmp_path / "x.jsonl", {"again": again, "once": "x one two three four five six seven one two", "other": "no"}
    )

    def gone(*args: str) -> dict[str, str]:
        given = [
            "dedup",
            "x.jsonl",
            "--measure",
            "containment",
            "-t",
            "0.9",
            "-o",
            "y.jsonl",
            "--removed",
            "g.csv",
            *args,
        ]
        assert CliRunner().invoke(main, given).exit_code == 0
        return {row["id"]: row["keeper"] for row in read_csv(tmp_path / "g.csv")}

    assert gone() == {"again": "once"}
    assert gone("--keep", "shortest") == {"once": "again"}
    assert gone("--keep", "none") == {"again": "once", "once": "again"}


def test_the_summary_says_that_none_of_a_group_is_kept(small: Cli) -> None:
    def told(*args: str) -> Result:
        return CliRunner().invoke(main, ["dedup", "train.jsonl", "--keep", "none", "-o", "clean.jsonl", *args])

    summary = json.loads(told("--json", "-q").stdout)
    assert (summary["keep"], summary["removed"], summary["clusters"], summary["largest_keeper"]) == ("none", 2, 1, None)
    assert "clusters      1; the largest has 2 documents, none is kept" in told().stderr
    assert "2; the largest has 2 documents, kept is t1" in small("--keep", "none", "-o", "clean.jsonl").stderr


def test_examples_of_what_goes_begin_at_the_passage(small: Cli) -> None:
    told = " ".join(small("--overlap", "gpt3", "--dry-run", "--show", "2").stderr.split())
    assert "removed a0 A story.\\nThe quick, brown fox" in told
    assert "kept t0, by the rule protect the quick brown fox" in told


def test_marking_names_the_protected_document_too(small: Cli, tmp_path: Path) -> None:
    assert small("--overlap", "gpt3", "--annotate", "-o", "marked.jsonl", "-q").exit_code == 0
    marks = {row["id"]: row["keeper"] for row in read_jsonl(tmp_path / "marked.jsonl")}
    assert marks == {"a0": "t0", "a1": None, "a2": None, "a3": "t1", "a4": None}


def test_the_summary_as_json_has_the_rule_and_its_spec(small: Cli) -> None:
    summary = json.loads(small("--overlap", "llama3:0.9", "--dry-run", "--json", "-q").stdout)
    assert (summary["method"], summary["removed"], summary["short_protected"]) == ("overlap join", 2, 1)
    assert (summary["spec"]["overlap"], summary["spec"]["measure"], summary["threshold"]) == (
        "llama3:0.9",
        "overlap",
        0.9,
    )
    assert "plan" not in summary


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--overlap", "gpt4"), "overlap is 'gpt4'. Give gpt3, llama3, dolma, or N"),
        (("--overlap", "13:2"), "its share must be above 0 and at most 1"),
        (("--overlap", "0"), "K must be a whole number from 1 to 1000"),
        (("--overlap", "gpt3", "-t", "0.8"), "Leave --threshold out"),
        (("--overlap", "gpt3", "--measure", "containment"), "Leave --measure out"),
        (("--overlap", "gpt3", "--keep", "none"), "Leave --keep out"),
        (("--keep", "none", "--prefer", "train.jsonl"), "Leave --prefer out"),
        (("--measure", "containment", "--bands", "3x3"), "has no bands. Leave --bands out"),
        (("--keep", "nonne"), "Did you mean 'none'?"),
    ],
    ids=str,
)
def test_what_excludes_each_other_is_a_usage_error(small: Cli, words: tuple[str, ...], told: str) -> None:
    done = small(*words, "-o", "clean.jsonl")
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.split())


def test_overlap_needs_protected_documents(small: Cli) -> None:
    done = CliRunner().invoke(main, ["dedup", "train.jsonl", "--overlap", "gpt3", "-o", "clean.jsonl"])
    assert done.exit_code == 2
    assert "Name these with --protect" in done.stderr
    with pytest.raises(neardup.InputError, match="no documents are protected"):
        neardup.dedup(["a"], overlap=13)


def test_python_refuses_what_the_command_refuses() -> None:
    for options, name in (({"threshold": 0.7}, "threshold"), ({"keep": "first"}, "keep"), ({"prefer": "x"}, "prefer")):
        with pytest.raises(neardup.InputError, match=f"Leave {name} out"):
            neardup.dedup(["a"], protect=["b"], overlap="gpt3", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rule", [{"overlap": "gpt3"}, {"measure": "containment", "normalize": "nfc,casefold,punct"}], ids=str
)
def test_frames_tables_and_lists_are_cleaned_alike(rule: dict[str, Any]) -> None:
    columns = {"id": list(TRAIN), "text": list(TRAIN.values())}
    held = list(HELD.values())
    expected = neardup.dedup(columns["text"], protect=held, **rule)
    kept = expected.data
    assert 0 < len(kept) < len(TRAIN)
    for value in (pandas.DataFrame(columns), polars.DataFrame(columns), pa.table(columns)):
        done = neardup.dedup(value, protect=held, **rule)
        assert list(done.data["text"].to_pylist() if isinstance(value, pa.Table) else done.data["text"]) == kept
        assert done.removed["passage"].to_pylist() == expected.removed["passage"].to_pylist()


def many() -> Iterator[tuple[str, str]]:
    chosen = random.Random(5)
    words = ["".join(chosen.choices("abcdef", k=4)) for _ in range(3000)]
    for i in range(1500):
        yield (
            f"a{i}",
            " ".join(chosen.choices(words, k=30)) + (f" {words[i]}" * 2 if i % 3 else " " + " ".join(words[:25])),
        )


@pytest.mark.parametrize(
    "rule", [("--overlap", "5"), ("--overlap", "8:0.4"), ("--measure", "containment", "-t", "0.5")], ids=str
)
def test_threads_memory_and_a_second_half_of_a_run_change_no_byte(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: tuple[str, ...]
) -> None:
    train = dict(many())
    write_jsonl(tmp_path / "train.jsonl", train)
    write_jsonl(
        tmp_path / "test.jsonl",
        {f"t{i}": " ".join(text.split()[3:20]) for i, text in enumerate(train.values()) if i % 9 == 0},
    )

    def made(*args: str) -> tuple[bytes, bytes]:
        done = run(*rule, "-o", "clean.jsonl", "--removed", "gone.csv", "-q", *args)
        assert done.exit_code == 0, done.output
        return (tmp_path / "clean.jsonl").read_bytes(), (tmp_path / "gone.csv").read_bytes()

    plain = made("--threads", "1")
    assert len(plain[1].splitlines()) > 100
    assert made("--threads", "3") == plain
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(8_000_000, 6_000_000)))
    monkeypatch.setattr(join, "TABLE_SHARE", 0.001)
    assert made("--workdir", "work") == plain
    monkeypatch.setattr("neardup.tasks.dedup.again.write_copies", lambda *args, **how: 1 / 0)
    assert run(*rule, "-o", "clean.jsonl", "--removed", "gone.csv", "-q", "--workdir", "work").exit_code != 0
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert made("--workdir", "work", "--resume") == plain
