"""The command and the Python call are one program: the same pairs, clusters, numbers and messages."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests import warm
from tests.oracles.results import groups, pair_map
from tests.parity.test_inputs import as_jsonl, documents

import neardup


def run(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    return warm.run(["-m", "neardup", *map(str, arguments)], encoding="utf-8", **options)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return as_jsonl(documents(), tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def expected(source: Path) -> neardup.Result:
    return neardup.find(source, threshold=0.6, shingle="char:5")


OPTIONS = ("-t", "0.6", "--shingle", "char:5")


def read(path: Path) -> list[tuple[str, str, float]]:
    """The pairs of a file, by a reader that is not ours."""
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
    elif path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    else:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    assert all(list(row) == ["id_a", "id_b", "similarity"] for row in rows)
    return [(row["id_a"], row["id_b"], float(row["similarity"])) for row in rows]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_the_pairs_of_a_file_are_those_of_the_call_to_the_last_bit(tmp_path: Path, source, expected, suffix):
    done = run("find", source, *OPTIONS, "-o", tmp_path / f"pairs.{suffix}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    table = expected.pairs
    rows = zip(*(table[name].to_pylist() for name in ("id_a", "id_b", "similarity")), strict=True)
    assert read(tmp_path / f"pairs.{suffix}") == list(rows)


def test_standard_output_is_what_a_file_would_hold(tmp_path: Path, source):
    done = run("find", source, *OPTIONS, "--format", "jsonl")
    run("find", source, *OPTIONS, "-o", tmp_path / "pairs.jsonl")
    assert done.returncode == 0
    assert done.stdout == (tmp_path / "pairs.jsonl").read_text(encoding="utf-8")
    assert done.stdout.count("\n") > 90


@pytest.mark.parametrize("link", ["star", "connected"])
def test_the_clusters_of_a_file_are_those_of_the_call(tmp_path: Path, source, link):
    done = run(
        "find",
        source,
        *OPTIONS,
        "--link",
        link,
        "-o",
        tmp_path / "p.jsonl",
        "--clusters",
        tmp_path / "c.parquet",
    )
    assert done.returncode == 0, done.stderr
    called = neardup.find(source, threshold=0.6, shingle="char:5", link=link)
    written = pq.read_table(tmp_path / "c.parquet")
    assert groups(written) == groups(called.clusters)
    assert written.to_pylist() == called.clusters.to_pylist()


def test_the_summary_of_the_command_is_that_of_the_call(tmp_path: Path, source, expected):
    done = run("find", source, *OPTIONS, "--json", "-o", tmp_path / "p.jsonl")
    said = json.loads(done.stdout)
    called = expected.summary.as_dict()
    for name in (
        "documents",
        "pairs",
        "clusters",
        "candidates",
        "checked",
        "recall",
        "spec_id",
        "slots",
        "bands",
        "empty",
    ):
        assert said[name] == called[name], name


def test_the_spec_travels_with_every_file(tmp_path: Path, source, expected):
    run("find", source, *OPTIONS, "-o", tmp_path / "p.parquet")
    run("find", source, *OPTIONS, "-o", tmp_path / "p.csv")
    inside = json.loads(pq.read_schema(tmp_path / "p.parquet").metadata[b"neardup"])
    beside = json.loads((tmp_path / "p.csv.spec.json").read_text())
    assert inside["id"] == beside["id"] == expected.spec.id


def test_threads_and_blocks_change_no_byte_of_any_file(tmp_path: Path, source):
    kinds = [(1, 100_000), (2, 1), (7, 100)]
    for n, (threads, block) in enumerate(kinds):
        done = run(
            "find", source, *OPTIONS, "--threads", threads, "--block-size", block,
            "-o", tmp_path / f"p{n}.parquet", "--clusters", tmp_path / f"c{n}.csv",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    for name in ("p{}.parquet", "c{}.csv"):
        assert len({(tmp_path / name.format(n)).read_bytes() for n in range(len(kinds))}) == 1


def test_standard_input_is_an_input(source, expected):
    done = run("find", "-", *OPTIONS, "--format", "jsonl", input=source.read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {frozenset((r["id_a"], r["id_b"])): r["similarity"] for r in rows} == pair_map(expected.pairs)


@pytest.mark.parametrize(
    ("option", "value", "argument"),
    [
        ("-t", "0", {"threshold": 0}),
        ("-t", "1.01", {"threshold": 1.01}),
        ("--recall", "1", {"recall": 1}),
        ("--shingle", "chars:3", {"shingle": "chars:3"}),
        ("--shingle", "char:0", {"shingle": "char:0"}),
        ("--normalize", "nfd", {"normalize": "nfd"}),
        ("--normalize", "nfc,nfkc", {"normalize": "nfc,nfkc"}),
        ("--bands", "8by4", {"bands": "8by4"}),
        ("--slots", "1", {"slots": 1}),
    ],
)
def test_a_wrong_value_is_refused_with_the_same_words(source, option, value, argument):
    with pytest.raises(neardup.InputError) as caught:
        neardup.find(source, **argument)
    done = run("find", source, option, value)
    assert done.returncode == 2
    cure = " ".join(str(caught.value).split()[-5:])
    assert cure in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize("arguments", [{"text": "no_such"}, {"id": "no_such"}, {"encoding": "no-such"}])
def test_a_wrong_column_or_encoding_is_refused_with_the_same_words(source, arguments):
    with pytest.raises(neardup.InputError) as caught:
        neardup.find(source, **arguments)
    ((name, value),) = arguments.items()
    done = run("find", source, f"--{name}", value)
    assert done.returncode in (1, 2)
    assert value in str(caught.value)
    assert value in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_line_is_refused_with_the_same_words(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "fine"}\n{"id": 2, "text": 3}\n')
    with pytest.raises(neardup.InputError) as caught:
        neardup.find(tmp_path / "a.jsonl")
    done = run("find", tmp_path / "a.jsonl")
    assert done.returncode == 1
    assert "a.jsonl:2" in str(caught.value)
    assert " ".join(str(caught.value).split()) in " ".join(done.stderr.split())
