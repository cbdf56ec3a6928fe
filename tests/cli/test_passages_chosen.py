"""``neardup passages`` that finds some passages only: as it is typed, and from Python, held against brute force."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests.oracles.chosen_repeats import Chosen, chosen, left_by

import neardup
from neardup.cli import main
from neardup.engine.reading.template import passages_as_written
from neardup.errors import InputError
from neardup.stages.repeats.policies import POLICIES

Cli = Callable[..., Result]
SPAN = 20
LETTERS, ASCII = "abcdefghij é日\n", "abcdefghij \n"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run ``neardup passages …`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> Result:
        return CliRunner().invoke(main, ["passages", *args, "--threads", "1"], prog_name="neardup")

    return run


def collection(seed: int, documents: int, letters: str = LETTERS) -> tuple[list[str], list[str]]:
    """Texts made of a few passages and of new words, and the passages."""
    drawn = random.Random(seed)

    def words(least: int, most: int) -> str:
        return "".join(drawn.choices(letters, k=drawn.randint(least, most)))

    passages = [words(15, 60) for _ in range(5)]
    texts = ["".join(drawn.choice([*passages, words(3, 30)]) for _ in range(4)) for _ in range(documents)]
    return texts, passages


def covered_by(table: pa.Table, ids: list[Any]) -> set[tuple[int, int]]:
    rows = table.select(["id", "start_byte", "end_byte"]).to_pylist()
    return {(ids.index(row["id"]), i) for row in rows for i in range(row["start_byte"], row["end_byte"])}


def covered(found: Chosen) -> set[tuple[int, int]]:
    return {(d, j) for d, i in found.counted for j in range(i, i + SPAN)}


def encoded(texts: list[str]) -> list[bytes]:
    return [text.encode() for text in texts]


def write(path: str, texts: list[str], **more: list[Any]) -> None:
    rows = [
        {"id": f"t{i}", "text": text, **{name: values[i] for name, values in more.items()}}
        for i, text in enumerate(texts)
    ]
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, {"min_count": 3}, {"min_docs": 2}, {"min_share": 0.3}])
def test_of_another_collection_all_that_stands_there_is_found_and_cut(seed: int, options: dict[str, Any]):
    texts, passages = collection(seed, 12)
    other = [f"{passages[0]}!{passages[1]}", "?" + passages[2]]
    how = {**options, **({"min_share": "0.3"} if "min_share" in options else {})}
    wanted = chosen(encoded(texts), SPAN, against=encoded(other), **how)
    found = neardup.passages(texts, against=other, min_bytes=SPAN, threads=1, **options)
    assert covered_by(found.spans, list(range(12))) == covered(wanted)
    for row in found.spans.to_pylist():
        span = texts[row["id"]][row["start"] : row["end"]].encode()
        assert span[:SPAN] in other[row["source_id"]].encode()
        start = row["start_byte"]
        windows = [wanted.counted[row["id"], i] for i in range(start, row["end_byte"] - SPAN + 1)]
        assert (row["count"], row["documents"]) == (
            max(window.places for window in windows),
            max(window.documents for window in windows),
        )
        assert (row["first"], row["elsewhere"]) == (False, True)
    told = found.summary
    assert told.documents_with_spans == len({d for d, _ in wanted.counted})
    assert (told.repeated_bytes, told.bytes) == (len(covered(wanted)), sum(map(len, encoded(texts))))
    assert told.against == {"documents": 2, "bytes": sum(map(len, encoded(other)))}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_cuts_all_that_stands_in_another_collection_out_of_the_inputs_only(cli: Cli, policy: str):
    texts, passages = collection(7, 10, ASCII)
    write("train.jsonl", texts)
    write("test.jsonl", passages[:2])
    options = ("--min-bytes", str(SPAN), "--cut", policy, "--snap", "char", "--min-cut", "1", "-o", "clean.jsonl", "-q")
    assert cli("train.jsonl", "--against", "test.jsonl", *options).exit_code == 0
    rows = [json.loads(line) for line in Path("clean.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"t{i}" for i in range(10)]
    wanted = chosen(encoded(texts), SPAN, against=encoded(passages[:2]))
    left = left_by(encoded(texts), SPAN, policy, wanted)
    assert ["".join(row["text"].split()) for row in rows] == ["".join(text.decode().split()) for text in left]
    assert sorted(path.name for path in Path().iterdir()) == ["clean.jsonl", "test.jsonl", "train.jsonl"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(2))
def test_what_stands_in_a_template_is_neither_reported_nor_cut(tmp_path: Path, seed: int, policy: str):
    texts, passages = collection(seed, 12, ASCII)
    path = tmp_path / "template.txt"
    path.write_text("\n---\n".join(passages[:2]) + "\n", newline="")
    templates = encoded(passages_as_written(path.read_text()))
    assert [template.strip() for template in templates] == [text.strip() for text in encoded(passages[:2])]
    wanted = chosen(encoded(texts), SPAN, templates=templates)
    found = neardup.passages(texts, ignore=path, min_bytes=SPAN, threads=1)
    assert covered_by(found.spans, list(range(12))) == covered(wanted)
    ignored = {(d, j) for d, i in wanted.ignored for j in range(i, i + SPAN)}
    assert found.summary.ignored == {
        "passages": len(templates),
        "too_short": sum(len(template) < SPAN for template in templates),
        "bytes": len(ignored),
    }
    assert ignored
    left = left_by(encoded(texts), SPAN, policy, wanted)
    texts_left = found.cut(policy, snap="char", min_cut=0)["text"].to_pylist()
    assert ["".join(text.split()) for text in texts_left] == ["".join(text.decode().split()) for text in left]


@pytest.mark.parametrize("options", [{}, {"min_docs": 2}, {"min_share": 0.5}, {"min_count": 3, "min_docs": 2}])
def test_inside_groups_passages_are_those_of_each_group_by_itself(options: dict[str, Any]):
    texts, _ = collection(3, 16)
    names = [f"site{i % 3}" for i in range(16)]
    ids = [f"{name}/{i}" for i, name in enumerate(names)]
    how = {**options, **({"min_share": "0.5"} if "min_share" in options else {})}
    wanted = chosen(encoded(texts), SPAN, groups=names, **how)
    pairs = list(zip(ids, texts, strict=True))
    found = neardup.passages(pairs, group_by="^site[0-9]", min_bytes=SPAN, threads=1, **options)
    assert covered_by(found.spans, ids) == covered(wanted)
    for row in found.spans.to_pylist():
        assert row["group"] == row["id"][:5] == row["source_id"][:5]
        assert row["group_documents"] == names.count(row["group"])
        windows = [
            wanted.counted[ids.index(row["id"]), i] for i in range(row["start_byte"], row["end_byte"] - SPAN + 1)
        ]
        assert row["documents"] == max(window.documents for window in windows)
    assert found.groups is not None
    told = {row["group"]: (row["documents"], row["bytes"], row["repeated_bytes"]) for row in found.groups.to_pylist()}
    bytes_of = {name: [i for i, each in enumerate(names) if each == name] for name in set(names)}
    assert told == {
        name: (len(rows), sum(len(texts[i].encode()) for i in rows), sum(d in rows for d, _ in covered(wanted)))
        for name, rows in bytes_of.items()
        if any(d in rows for d, _ in wanted.counted)
    }
    order = found.groups["repeated_bytes"].to_pylist()
    assert order == sorted(order, reverse=True)


def test_groups_are_told_by_folders_and_columns_and_those_without_one_are_by_themselves(cli: Cli):
    notice = "A notice of this site, at every place."
    for site, page in (("a", 1), ("a", 2), ("b", 1), ("b", 2)):
        Path("in", site).mkdir(parents=True, exist_ok=True)
        Path("in", site, f"{page}.txt").write_text(f"Page {page} of {site}. {notice if site == 'a' else ''}\n")
    Path("in", "3.txt").write_text(f"Page 3. {notice}\n")
    done = cli("in", "--min-bytes", "30", "--group-by", "folder:1", "--min-share", "0.6", "-o", "spans.csv", "--json")
    assert done.exit_code == 0, done.stderr
    rows = list(csv.DictReader(Path("spans.csv").read_text().splitlines()))
    assert [(row["id"], row["group"], row["group_documents"]) for row in rows] == [
        ("in/a/1.txt", "a", "2"),
        ("in/a/2.txt", "a", "2"),
    ]
    told = json.loads(done.stdout)
    assert told["groups"] == {"count": 3, "untold": 1}
    assert [(each["group"], each["documents"], each["spans"]) for each in told["top_groups"]] == [("a", 2, 2)]
    assert told["min_share"] == 0.6
    texts = [f"{i}. {notice}" for i in range(5)]
    table = pa.table({"site": ["x", None, "y", "y", " x "], "text": texts})
    for path in ("in.parquet", "in.jsonl"):
        if path == "in.parquet":
            pq.write_table(table, path)
        else:
            Path(path).write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        found = neardup.passages(path, group_by="column:site", min_bytes=30, threads=1)
        assert found.spans["group"].to_pylist() == ["x", "y", "y", "x"]
    rows = neardup.passages(table, group_by="column:site", min_bytes=30, threads=1).spans["group"].to_pylist()
    assert rows == ["x", "y", "y", "x"]


def test_a_template_is_left_out_of_the_boilerplate_of_each_group(tmp_path: Path):
    licence, footer = "Anyone may copy this text and print it again.", "Printed by the committee of the harbour."
    texts = {f"{site}/{i}": f"{i} {licence}{footer} {i}" for site in "ab" for i in range(3)}
    Path(tmp_path / "licence.txt").write_text(licence)
    found = neardup.passages(texts, ignore=[tmp_path / "licence.txt"], group_by="^.", min_bytes=30, threads=1)
    names = list(texts)
    wanted = chosen(encoded(list(texts.values())), 30, templates=[licence.encode()], groups=[name[0] for name in names])
    assert covered_by(found.spans, names) == {(d, j) for d, i in wanted.counted for j in range(i, i + 30)}
    assert found.cut("none", snap="char", min_cut=0)["text"].to_pylist() == [
        f"{i} {licence}{i}" for _ in "ab" for i in range(3)
    ]


def test_words_and_normalised_text_are_held_against_another_collection(tmp_path: Path):
    question = "Which of these rivers is the longest one, and through how many states does it flow?"
    texts = ["Unrelated words that nobody asked for.", f"Quiz! {question.upper()} The answer", f"Tests -- {question}"]
    options: dict[str, Any] = {"min_words": 8, "normalize": "nfc,casefold", "threads": 1}
    found = neardup.passages(texts, against=[f"Q: {question}"], **options)
    assert [row["id"] for row in found.spans.to_pylist()] == [1, 2]
    assert found.cut()["text"].to_pylist() == [texts[0], "Quiz! ? The answer", "Tests -- ?"]
    template = tmp_path / "question.txt"
    template.write_text(question.replace(" ", "\n"))
    assert len(neardup.passages(texts, ignore=template, **options).spans) == 0


def test_a_limit_of_memory_and_threads_change_nothing_of_what_is_chosen(tmp_path: Path):
    texts, passages = collection(11, 40)
    template = tmp_path / "template.txt"
    template.write_text(passages[3] * 2)
    for how in ({"against": passages[:2]}, {"group_by": "[0-4]$"}, {"min_docs": 3, "min_count": 5}):
        options: dict[str, Any] = {**how, "ignore": template, "min_bytes": SPAN}
        one = neardup.passages(texts, threads=1, **options)
        two = neardup.passages(texts, threads=3, block=1, memory="4GB", workdir=tmp_path / "work", **options)
        assert one.spans.equals(two.spans)
        assert one.cut().equals(two.cut())
        two.close()  # which gives the folder back


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--against", "in.jsonl"], "is an input, and the inputs are compared with it too"),
        (["--against", "other.jsonl", "--group-by", "x"], "Leave --group-by (group_by=) or --against (against=) out."),
        (["--group-by", "column:site"], "site"),
        (["--group-by", "("], "which is no regular expression"),
        (["--min-count", "1"], "min_count is 1. Give a whole number from 2 to 4,294,967,295."),
        (["--min-docs", "0"], "Give a whole number from 1 to 4294967295."),
        (["--min-share", "2"], "min_share is 2. Give a share from 0 to 1."),
        (["--ignore", "short.txt"], "short.txt: its longest passage has 19 bytes, and passages of 100 bytes or more"),
        (["--ignore", "short.txt"], "Give --min-bytes 19 (min_bytes=) or less, or leave --ignore (ignore=) out."),
        (["--ignore", "empty.txt"], "empty.txt holds no text that could be ignored."),
        (["--ignore", "in.jsonl"], "in.jsonl is an input, and a template to ignore."),
        (["--ignore", "short.txt", "-o", "short.txt.csv", "--min-words", "40"], "its longest passage has 4 words"),
        (["--against", "other.jsonl", "-o", "other.jsonl"], "other.jsonl is an input too"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_a_cure(cli: Cli, args: list[str], message: str):
    write("in.jsonl", ["one text", "another text"])
    write("other.jsonl", ["one text"])
    Path("short.txt").write_text("All rights of it. \n")
    Path("empty.txt").write_text(" \n---\n")
    done = cli("in.jsonl", *args)
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.stderr.split())


def test_what_python_cannot_use_is_refused_with_a_cure():
    for options, message in (
        ({"min_count": True}, "min_count is True"),
        ({"min_docs": 2.5}, "min_docs is 2.5"),
        ({"min_share": -1}, "min_share is -1. Give a share from 0 to 1."),
        ({"ignore": 3}, "ignore is 3. Give the name of a file, or a list of names."),
    ):
        with pytest.raises(InputError, match=message):
            neardup.passages(["a text"], **options)  # type: ignore[arg-type]


def test_the_summary_says_what_was_chosen(cli: Cli):
    notice = "We use cookies so that the site works, and to show you what you may like."
    write("in.jsonl", [f"{i}. {notice} {i}" for i in range(4)] + ["short"], site=["a", "a", "b", "b", "c"])
    write("other.jsonl", [notice])
    Path("cookies.txt").write_text(f"{notice}\n---\ntoo short\n")
    done = cli("in.jsonl", "--against", "other.jsonl", "--min-bytes", "40", "--min-docs", "2")
    assert "against       1 document (73 B)\n" in done.stderr
    assert "% of the text stands in the other collection, in 4 of 5 documents\n" in done.stderr
    assert "spans         4 spans of 40 bytes or more in 2 or more documents\n" in done.stderr
    assert "most weight   4 x 73 bytes  We use cookies" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("neardup: 4 spans in ")
    done = cli("in.jsonl", "--ignore", "cookies.txt", "--min-bytes", "40")
    assert "of the text, which stands in a template; 1 of its 2 passages are too short to be looked for" in done.stderr
    done = cli("in.jsonl", "--group-by", "column:site", "--min-bytes", "40", "--min-share", "0.5")
    assert "groups        3 groups by column:site\n" in done.stderr
    assert "of 40 bytes or more in 50 % or more of the documents of its group, in 4 spans\n" in done.stderr
    assert "most in       a  " in done.stderr
    done = cli("in.jsonl", "--against", "other.jsonl", "--min-bytes", "60", "--min-count", "9")
    assert "no passage of 60 bytes or more at 9 or more places stands in the other collection." in done.stderr
    assert "give a smaller length or --min-count, or look at what --text reads." in done.stderr
