"""``neardup dedup --passages``: what two commands do behind each other, in one run, one write, one summary."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests.cli.crashing import contents
from tests.cli.test_passages_resumed import STAGES, stop_behind

import neardup
from neardup.cli import main
from neardup.spool.manifest import MANIFEST
from neardup.tasks.dedup import passage_step
from neardup.tasks.dedup import run as cleaning_run
from neardup.tasks.repeats.decided import DecidedCuts

Rows = list[dict[str, Any]]
NEAR = ("--shingle", "word:2", "-t", "0.7", "--threads", "1", "-q")
CUT = ("--min-bytes", "40", "--snap", "sentence", "--min-left", "25")
POLICY = "first"


def some_rows(seed: int, count: int = 60) -> Rows:
    """Documents of sentences, a third of them near-copies of others, and sentences that many have."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghié", k=draw.randint(2, 8))) for _ in range(200)]

    def sentence() -> str:
        return " ".join(draw.choices(words, k=draw.randint(8, 14))).capitalize() + "."

    shared = [sentence() for _ in range(8)]
    bodies: list[list[str]] = []
    for _ in range(count):
        if bodies and draw.random() < 0.35:
            bodies.append([*draw.choice(bodies), draw.choice(words)])
        else:
            bodies.append(draw.choices([*shared, sentence(), sentence()], k=draw.randint(1, 5)))
    return [{"id": f"d{i}", "n": i / 2, "text": " ".join(body)} for i, body in enumerate(bodies)]


def jsonl(rows: Rows) -> bytes:
    """Lines, with blank ones and one that is no JSON."""
    lines = [json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" * (1 + (i % 7 == 0)) for i, row in enumerate(rows)]
    return "".join([*lines[:9], "not JSON\n", *lines[9:]]).encode()


def delimited(rows: Rows) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, ["id", "text", "n"])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode("utf-8-sig")


def parquet(rows: Rows) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out, row_group_size=17)
    return out.getvalue()


def arrow(rows: Rows) -> bytes:
    out = io.BytesIO()
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=13)
    return out.getvalue()


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    "jsonl": jsonl,
    "jsonl.gz": lambda rows: gzip.compress(jsonl(rows)),
    "lines": lambda rows: "\n".join(row["text"] for row in rows).encode(),
    "csv": delimited,
    "parquet": parquet,
    "arrow": arrow,
}


def run(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, list(words), prog_name="neardup")
    assert done.exit_code == code, done.output
    return done


def by_two_commands(inputs: list[str], output: Path, policy: str, *more: str) -> list[dict[str, Any]]:
    """Write what ``dedup`` and ``passages --cut`` leave, in the order that the policy asks for; the table of cuts."""
    cut = ["--cut", policy, "--cuts", "wanted.jsonl", *CUT, "--threads", "1", "-q"]
    steps = [("dedup", [*NEAR]), ("passages", cut)]
    between = [f"between/{Path(name).name}" for name in inputs]
    (first, how), (second, then) = steps[::-1] if policy == "none" else steps
    run(first, *inputs, "-o", "between", *how, *more)
    run(second, *between, "-o", str(output), *then, *more)
    return [json.loads(line) for line in Path("wanted.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("policy", [POLICY, "none"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_one_command_writes_what_two_write(
    suffix: str, policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = some_rows(2)
    more = ["--on-bad", "skip", *(["--input-format", "lines"] if suffix == "lines" else [])]
    inputs = [f"{name}.{suffix}" for name in "ab"]
    for name, some in zip(inputs, (rows[:35], rows[35:]), strict=True):
        Path(name).write_bytes(FORMATS[suffix](some))
    for folder in ("between", "two", "one"):
        Path(folder).mkdir()
    wanted = by_two_commands(inputs, Path("two"), policy, *more)
    tables = ("--removed", "removed.jsonl", "--cuts", "cuts.jsonl")
    run("dedup", *inputs, "-o", "one", *tables, "--passages", policy, *CUT, *NEAR, *more)
    found = contents(Path("one"))
    assert found.keys() == set(inputs)
    if suffix == "parquet":  # the second command joins row groups that the first made small
        for name in inputs:
            assert pq.read_table(Path("one", name)).equals(pq.read_table(Path("two", name)))
    else:
        assert found == contents(Path("two"))
    cuts = [json.loads(line) for line in Path("cuts.jsonl").read_text().splitlines()]
    names = [each["id"] for each in wanted] if suffix != "lines" else [each["id"] for each in cuts]
    assert cuts == [{**each, "id": name} for each, name in zip(wanted, names, strict=True)]
    assert len(cuts) > 5
    assert not all(each["kept"] for each in cuts)
    if policy == POLICY:  # by none, what near-copies share is cut before they are compared
        assert len(Path("removed.jsonl").read_text().splitlines()) > 5


def test_files_of_a_folder_and_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("in", "between"):
        Path(folder).mkdir()
    for row in some_rows(4):
        Path("in", f"{row['id']}.txt").write_text(row["text"])
    run("dedup", "in", "-o", "between/", *NEAR)
    run("passages", "between", "-o", "two/", "--cut", POLICY, *CUT, "-q")
    run("dedup", "in", "-o", "one/", "--passages", POLICY, *CUT, *NEAR)
    assert contents(Path("one")) == contents(Path("two"))
    assert 10 < len(contents(Path("one"))) < 50
    Path("a.jsonl").write_bytes(jsonl(some_rows(2)))
    how = ("--passages", POLICY, *CUT, *NEAR, "--on-bad", "skip")
    run("dedup", "a.jsonl", "-o", "clean.jsonl", *how)
    assert run("dedup", "a.jsonl", "-o", "-", *how).stdout_bytes == Path("clean.jsonl").read_bytes()


def test_the_summary_says_what_was_removed_and_what_was_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(jsonl(some_rows(2)))
    how = [*CUT, *NEAR[:-1], "--on-bad", "skip", "--passages", POLICY]
    told = json.loads(run("dedup", "a.jsonl", "-o", "c.jsonl", *how, "--json").stdout)
    cut = told["passages"]["cut"]
    lines = [json.loads(line) for line in Path("c.jsonl").read_text().splitlines() if line.startswith("{")]
    assert told["kept"] == len(lines)
    assert told["documents"] == told["kept"] + told["removed"] + cut["left_out"]
    said = run("dedup", "a.jsonl", "--dry-run", *how, "--cuts", "cuts.csv").stderr
    assert "cut           none; would be cut: " in said
    assert f"out of {cut['documents']} documents" in said
    assert len(Path("cuts.csv").read_text().splitlines()) == 1 + cut["documents"]


def run_whole(policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run a command whole in the folder "plain", go to the folder "stopped", and return the words of the command."""
    (tmp_path / "in.jsonl").write_bytes(jsonl(some_rows(2)))
    words = ["dedup", "../in.jsonl", "-o", "clean.jsonl", "--removed", "removed.csv", "--cuts", "cuts.csv"]
    words += ["--passages", policy, *CUT, *NEAR, "--on-bad", "skip"]
    for name in ("plain", "stopped"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    run(*words)
    monkeypatch.chdir(tmp_path / "stopped")
    return words


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = run_whole(POLICY, tmp_path, monkeypatch)
    with monkeypatch.context() as patched:
        stop_behind(stage, patched)
        run(*words, "--workdir", "work", code=1)
    assert Path("work", MANIFEST).exists()
    assert Path("work-passages", MANIFEST).exists()
    differs = run(*words, "--workdir", "work", "--resume", "--snap", "word", code=1).stderr
    assert 'dedup.passages.snap is "word" and was "sentence"' in " ".join(differs.split())
    Path("work").rename("away")
    refused = run(*words, "--workdir", "work", code=1).stderr
    assert "work-passages holds the work of an interrupted run. Go on with --resume" in " ".join(refused.split())
    assert not Path("work").exists()
    Path("away").rename("work")
    run(*words, "--workdir", "work", "--resume")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "plain")
    assert not Path("work-passages").exists()


@pytest.mark.parametrize("stage", [*STAGES, "search"])
def test_a_run_that_cuts_first_goes_on_to_the_same_bytes(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = run_whole("none", tmp_path, monkeypatch)
    with monkeypatch.context() as patched:
        if stage == "search":
            patched.setattr(cleaning_run, "choose", lambda *_: 1 / 0)
        else:
            stop_behind(stage, patched)
        run(*words, "--workdir", "work", code=1)
    assert Path("work-passages", MANIFEST).exists()
    assert Path("work", MANIFEST).exists() == (stage == "search")
    assert "work-passages holds the work" in " ".join(run(*words, "--workdir", "work", code=1).stderr.split())
    run(*words, "--workdir", "work", "--resume")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "plain")
    assert not Path("work-passages").exists()
    assert not Path("work").exists()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_text_edited_with_its_old_time_is_noticed_by_the_policy_none(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text that is cut and removed, its keeper, or a text that is only cut."""
    path, plain = tmp_path / "in.jsonl", cleaning_run.choose
    texts = [f"{story}\n{FOOTERS[0]}" for story in ("the same story", "the same story", "another story altogether")]
    texts = [text.replace("herald. ", "herald, ", 1) for text in texts]
    rows = [{"id": i, "text": text} for i, text in enumerate(texts)]
    path.write_bytes(jsonl(rows).replace(b"not JSON\n", b""))

    def change(*args: Any) -> Any:
        facts, old = path.stat(), path.read_text().splitlines(keepends=True)
        old = [line.replace("story", "tales") if f'"id": {place}' in line else line for line in old]
        path.write_text("".join(old))
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        return plain(*args)

    monkeypatch.setattr(cleaning_run, "choose", change)
    how = ("--passages", "none", "--snap", "line", "--shingle", "char:4", "-q")
    done = run("dedup", str(path), "-o", str(tmp_path / "out.jsonl"), *how, code=1)
    assert "in.jsonl was changed since it was read" in done.stderr


def test_protected_documents_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = some_rows(2)
    Path("a.jsonl").write_bytes(jsonl(rows[:30]))
    Path("b.jsonl").write_bytes(jsonl(rows[30:]))
    Path("out").mkdir()
    how = ("--passages", POLICY, *CUT, *NEAR, "--on-bad", "skip")
    run("dedup", "a.jsonl", "b.jsonl", "--protect", "a.jsonl", "-o", "out", *how)
    assert Path("out/a.jsonl").read_bytes() == Path("a.jsonl").read_bytes()
    left = json_rows("out/b.jsonl")
    run("dedup", "b.jsonl", "--protect", "a.jsonl", "-o", "b-alone.jsonl", *how)
    assert left == json_rows("b-alone.jsonl")
    assert any(row not in rows for row in left)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--snap", "line"], "--snap is for passages that are cut. Give --passages too, or leave it out."),
        (["--passages", "first", "--annotate"], "--annotate copies everything as it is."),
        (["--passages", "first", "--engine", "spark", "--workdir", "w"], "--passages is for --engine local."),
        (["--passages", "first", "--cuts", "clean.jsonl"], "clean.jsonl is named for two outputs."),
        (["--passages", "first", "--cuts", "a.jsonl"], "a.jsonl is an input too"),
        (["--passages", "first", "--min-bytes", "20", "--min-words", "9"], "min_bytes and min_words are given."),
        (["--passages", "first", "--text", "text,id"], "Give one with --text."),
        (["a.html", "--passages", "first"], "cannot be written back into it"),
    ],
)
def test_what_cannot_be_is_refused_with_a_cure(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(jsonl(some_rows(2)[:9]).replace(b"not JSON\n", b""))
    Path("a.html").write_text("<p>Hello</p>")
    done = CliRunner().invoke(main, ["dedup", "a.jsonl", "-o", "clean.jsonl", *words], prog_name="neardup")
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.stderr.split())
    assert not Path("clean.jsonl").exists()


def json_rows(name: str) -> Rows:
    return [json.loads(line) for line in Path(name).read_text().splitlines() if line.startswith("{")]


@pytest.mark.parametrize("policy", [POLICY, "none"])
def test_a_small_limit_of_memory_changes_nothing(policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, anchors, segments and cuts of the step go to files, beside the output, and these are gone in the end."""
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(jsonl(some_rows(2)))
    how = ("--passages", policy, *CUT, *NEAR, "--on-bad", "skip", "--removed", "removed.csv", "--cuts", "cuts.csv")
    run("dedup", "a.jsonl", "-o", "clean.jsonl", *how)
    wanted = contents(tmp_path)
    seen: list[list[str]] = []
    table = DecidedCuts.table

    def look(self: DecidedCuts) -> pa.Table:
        folder = Path("clean.jsonl.neardup-work-passages")
        seen.append([path.name for path in folder.glob("*.spool")])
        return table(self)

    monkeypatch.setattr(DecidedCuts, "table", look)
    monkeypatch.setattr(passage_step, "SHARE", 1e-6)
    run("dedup", "a.jsonl", "-o", "clean.jsonl", *how)
    assert contents(tmp_path) == wanted
    assert {"cuts.spool", "segments.spool", "end-to-end.spool"} <= set(seen[0])


def test_sets_have_no_passages(tmp_path: Path) -> None:
    text = "some words that are long enough together to be a passage of a hundred bytes and of a few more than that"
    docs = tmp_path / "docs.jsonl"
    docs.write_text(
        "".join(json.dumps({"text": each}) + "\n" for each in (f"{text} a", f"{text.replace(' ', '  ')} b"))
    )
    done = CliRunner().invoke(
        main, ["dedup", str(docs), "--shingle", "item", "--passages", "first", "-o", str(tmp_path / "clean.jsonl")]
    )
    assert done.exit_code == 1
    assert "documents are sets here" in done.stderr
    with pytest.raises(neardup.InputError, match="documents are sets here"):
        neardup.dedup(str(docs), shingle="item", passages="first", output=str(tmp_path / "clean.jsonl"))
    assert not (tmp_path / "clean.jsonl").exists()


FOOTERS = [f"Footer {size}. " + "All rights are reserved by the herald. " * size for size in (3, 12, 60)]


@pytest.mark.parametrize("policy", ["first", "none"])
@pytest.mark.parametrize("threshold", ["0.6", "0.8", "0.9"])
@pytest.mark.parametrize("shingle", ["char:9", "word:5"])
def test_footers_of_several_lengths_and_shares_remove_nobody_by_what_is_then_cut(
    policy: str, threshold: str, shingle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle compares what is left by plain sets; both orders of two commands are tried beside the one command."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(9)
    words = ["".join(draw.choices("abcdefgh", k=6)) for _ in range(900)]
    texts = []
    for i in range(60):
        story = " ".join(draw.sample(words, draw.choice([1, 3, 8, 40])))
        footer = FOOTERS[i % 3] if i % 7 < (2, 4, 6)[i % 3] else ""
        texts.append(f"{story}\n{footer}")
    texts += [FOOTERS[1], texts[4]]
    Path("in.jsonl").write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)))
    near = ("--shingle", shingle, "-t", threshold, "--exact", "--threads", "1", "-q")
    cut = ("--snap", "line", "--min-docs", "3")
    run("dedup", "in.jsonl", "-o", "one.jsonl", "--removed", "gone.jsonl", "--passages", policy, *cut, *near)
    steps = [("dedup", near), ("passages", ("--cut", policy, *cut, "-q"))]
    (first, how), (second, then) = steps[::-1] if policy == "none" else steps
    run(first, "in.jsonl", "-o", "between.jsonl", *how)
    run(second, "between.jsonl", "-o", "two.jsonl", *then)
    assert Path("one.jsonl").read_bytes() == Path("two.jsonl").read_bytes()
    left = {row["id"]: row["text"] for row in json_rows("one.jsonl")}
    assert all(text.strip() for text in left.values())
    if policy == "none":
        bare = [text.partition("\n")[0] if text.partition("\n")[2] else text.rstrip() for text in texts]
        gone = json_rows("gone.jsonl")
        assert left.keys() | {row["id"] for row in gone} == set(range(len(texts)))
        for row in gone:  # copies of one story and of one footer only; two stories have no shingle in common
            assert bare[row["id"]].strip() == bare[row["keeper"]].strip()
        assert not any(footer in text for i, text in left.items() for footer in FOOTERS if texts[i] != footer)


def test_exact_copies_are_removed_and_not_lost_by_the_policy_none() -> None:
    texts = ["what else is there to tell", FOOTERS[1], FOOTERS[1], "short"]
    cleaned = neardup.dedup(texts, passages="none", min_bytes=40)
    assert cleaned.data == [texts[0], texts[1], texts[3]]
    assert cleaned.summary.passages is not None
    assert cleaned.summary.passages["cut"]["left_whole"] == 2
