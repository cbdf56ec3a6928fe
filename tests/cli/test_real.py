"""The command as it is, on the example collections, in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def examples(tmp_path: Path, repository: Path) -> Path:
    shutil.copytree(repository / "examples", tmp_path / "examples")
    return tmp_path / "examples"


def shingles(text: str, k: int = 9) -> set[str]:
    """Character shingles, in the obvious way."""
    return {text[i : i + k] for i in range(len(text) - k + 1)} or {text}


def jaccard(a: str, b: str) -> float:
    left, right = shingles(a), shingles(b)
    return len(left & right) / len(left | right)


def test_the_pairs_of_the_abstracts_are_exact_and_complete(command: Command, examples: Path) -> None:
    done = command("find", "examples/abstracts.jsonl", "-t", "0.8")
    assert done.returncode == 0, done.stderr
    lines = (examples / "abstracts.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["id"]: row["text"] for row in map(json.loads, lines)}
    found = {(row["id_a"], row["id_b"]): row["similarity"] for row in map(json.loads, done.stdout.splitlines())}
    for (a, b), similarity in found.items():
        assert similarity == jaccard(texts[a], texts[b]) >= 0.8
    papers = {name.partition("@")[0] for name in texts}
    versions = [(f"{paper}@2019", f"{paper}@2020") for paper in papers]
    alike = {pair for pair in versions if jaccard(texts[pair[0]], texts[pair[1]]) >= 0.8}
    assert len(alike) == 106
    assert len(alike & set(found)) >= 105  # promised: 0.99 of them, at the threshold itself


def test_output_does_not_depend_on_threads(command: Command, examples: Path) -> None:
    outcomes = {
        command("find", "examples/chapters", "examples/abstracts.jsonl", "-t", "0.6", *options).stdout
        for options in ([], ["--threads", "1"], ["--threads", "7"])
    }
    assert len(outcomes) == 1
    assert len(outcomes.pop().splitlines()) > 150


def test_files_and_summary_agree(command: Command, examples: Path, tmp_path: Path) -> None:
    args = ["-t", ".7", "-o", "p.parquet", "--clusters", "c.parquet", "--json"]
    done = command("find", "examples/chapters", *args)
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    pairs, clusters = pq.read_table(tmp_path / "p.parquet"), pq.read_table(tmp_path / "c.parquet")
    assert summary["documents"] == 30
    assert summary["pairs"] == pairs.num_rows > 0
    assert summary["clusters"] == len(set(clusters["cluster"].to_pylist())) > 0
    assert json.loads(pairs.schema.metadata[b"neardup"]) == summary["spec"]
    assert all(name.startswith("examples/chapters/") for name in pairs["id_a"].to_pylist())
    listed = set(zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True))
    for row in clusters.to_pylist():
        keeper, member = row["keeper"], row["id"]
        assert keeper == member or (keeper, member) in listed or (member, keeper) in listed


def test_stdin_is_read(command: Command) -> None:
    text = "".join(json.dumps({"id": n, "text": "a text that comes twice, to be found"}) + "\n" for n in (5, 6))
    done = command("find", "-", "--quiet", input=text)
    assert done.returncode == 0, done.stderr
    assert done.stdout == '{"id_a": 5, "id_b": 6, "similarity": 1.0}\n'
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["none.jsonl"], "none.jsonl"),
        (["bad.jsonl"], "bad.jsonl:2"),
        (["docs.jsonl", "--text", "txet"], "Did you mean 'text'?"),
        (["empty"], "empty"),
        (["data.xyz"], "--input-format"),
    ],
)
def test_an_input_that_cannot_be_used_is_told_with_exit_code_1(
    command: Command, tmp_path: Path, args: list[str], words: str
) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": 1, "text": "fine"}\n')
    (tmp_path / "bad.jsonl").write_text('{"id": 1, "text": "fine"}\n{"id": 2, "te\n')
    (tmp_path / "data.xyz").write_text("?")
    (tmp_path / "empty").mkdir()
    done = command("find", *args, "-o", "pairs.csv")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith("Error: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "pairs.csv").exists()


def test_bad_records_are_skipped_and_counted_when_asked(command: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": 1, "text": "fine"}\n{"id": 2, "te\n\n{"id": 3, "text": 4}\n')
    done = command("find", "bad.jsonl", "--on-bad", "skip")
    assert done.returncode == 0, done.stderr
    assert "bad records, left out (2):" in done.stderr
    assert "  bad.jsonl:2: " in done.stderr
    assert "  bad.jsonl:4: " in done.stderr


def test_bands_by_hand_have_their_recall_in_the_summary(command: Command, examples: Path) -> None:
    done = command("find", "examples/abstracts.jsonl", "--bands", "9x13", "--json")
    summary = json.loads(done.stdout)
    assert summary["bands"] == "9x13"
    assert summary["recall"] == pytest.approx(1 - (1 - 0.8**13) ** 9, abs=0.01)
