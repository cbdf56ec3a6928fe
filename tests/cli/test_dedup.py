"""``neardup dedup`` as it is typed: what is written where, what is said, and what is refused before the search."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from neardup import session
from neardup.cli import main
from neardup.cli.summary import ALARM, clean_lines, percent
from neardup.cli.voice import say
from neardup.errors import SpoolError
from neardup.tasks.dedup import run as cleaning_run

Cli = Callable[..., Result]

BASE = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
LONG = BASE + " seventeen"
OTHER = " ".join(reversed(BASE.split()))
DOCS = [
    {"id": "a1", "text": BASE, "stars": 3},
    {"id": "a2", "text": OTHER, "stars": 1},
    {"id": "a3", "text": LONG, "stars": 2},
    {"id": "a4", "text": "", "stars": 9},
]
MORE = [
    {"id": "b1", "text": BASE, "stars": 5},
    {"id": "b2", "text": "nothing like the others", "stars": 0},
]


def jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


@pytest.fixture
def dedup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run ``neardup dedup …`` in a folder with a.jsonl and b.jsonl."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text(jsonl(DOCS))
    (tmp_path / "b.jsonl").write_text(jsonl(MORE))

    def run(*args: str) -> Result:
        return CliRunner().invoke(main, ["dedup", *args], prog_name="neardup")

    return run


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("first", ["a1", "a2", "a4"]),
        ("last", ["a2", "a3", "a4"]),
        ("longest", ["a2", "a3", "a4"]),
        ("shortest", ["a1", "a2", "a4"]),
        ("max:stars", ["a1", "a2", "a4"]),
        ("min:stars", ["a2", "a3", "a4"]),
    ],
)
def test_the_rule_decides_and_lines_stay_byte_for_byte(dedup: Cli, tmp_path: Path, rule: str, kept: list[str]) -> None:
    result = dedup("a.jsonl", "-o", "clean.jsonl", "--keep", rule)
    assert result.exit_code == 0, result.stderr
    lines = {json.loads(line)["id"]: line for line in (tmp_path / "a.jsonl").read_text().splitlines(keepends=True)}
    assert (tmp_path / "clean.jsonl").read_text() == "".join(lines[name] for name in kept)
    assert result.stdout == ""


def test_each_input_gets_a_copy_in_a_folder(dedup: Cli, tmp_path: Path) -> None:
    result = dedup("a.jsonl", "b.jsonl", "-o", "clean", "--keep", "first")
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "clean").iterdir()) == ["a.jsonl", "b.jsonl"]
    assert ids(tmp_path / "clean" / "a.jsonl") == ["a1", "a2", "a4"]
    assert ids(tmp_path / "clean" / "b.jsonl") == ["b2"]
    assert "; clean (2 files) written\n" in result.stderr


def test_a_stream_goes_to_stdout_alone(dedup: Cli) -> None:
    result = dedup("a.jsonl", "b.jsonl", "-o", "-", "--keep", "first", "--quiet")
    assert result.exit_code == 0
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["a1", "a2", "a4", "b2"]
    assert result.stderr == ""


def test_compressed_copies_stay_compressed(dedup: Cli, tmp_path: Path) -> None:
    (tmp_path / "z.jsonl.gz").write_bytes(gzip.compress(jsonl(DOCS).encode()))
    assert dedup("z.jsonl.gz", "-o", "out.jsonl.gz", "--keep", "first").exit_code == 0
    lines = gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a1", "a2", "a4"]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_removals_tell_who_went_for_whom_and_why(dedup: Cli, tmp_path: Path, suffix: str) -> None:
    args = ("a.jsonl", "b.jsonl", "--protect", "b.jsonl", "-o", "clean", "--removed", f"gone.{suffix}")
    assert dedup(*args).exit_code == 0
    path = tmp_path / f"gone.{suffix}"
    if suffix == "csv":
        rows = pa.csv.read_csv(path).to_pylist()
    elif suffix == "parquet":
        rows = pq.read_table(path).to_pylist()
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    grams = [{text[i : i + 9] for i in range(len(text) - 8)} for text in (BASE, LONG)]
    near = len(grams[0] & grams[1]) / len(grams[0] | grams[1])
    common = {"source": "a.jsonl", "keeper": "b1", "keeper_source": "b.jsonl", "cluster": 0, "rule": "protect"}
    assert rows == [
        {"id": "a1", "row": 1, "similarity": 1.0, **common},
        {"id": "a3", "row": 3, "similarity": near, **common},
    ]
    assert (tmp_path / "clean" / "b.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_protected_input_beside_is_read_and_not_written(dedup: Cli, tmp_path: Path) -> None:
    result = dedup("a.jsonl", "--protect", "b.jsonl", "-o", "clean.jsonl")
    assert result.exit_code == 0, result.stderr
    assert ids(tmp_path / "clean.jsonl") == ["a2", "a4"]
    assert "kept          4, by the rule longest; 2 documents protected\n" in result.stderr


def test_a_preferred_source_wins_over_the_rule(dedup: Cli, tmp_path: Path) -> None:
    assert dedup("a.jsonl", "b.jsonl", "-o", "clean", "--prefer", "b.jsonl").exit_code == 0
    assert ids(tmp_path / "clean" / "a.jsonl") == ["a2", "a4"]
    assert ids(tmp_path / "clean" / "b.jsonl") == ["b1", "b2"]


def test_annotating_removes_nothing_and_adds_three_columns(dedup: Cli, tmp_path: Path) -> None:
    result = dedup("a.jsonl", "-o", "noted.jsonl", "--annotate")
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in (tmp_path / "noted.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["a1", "a2", "a3", "a4"]
    assert [(row["cluster"], row["keeper"]) for row in rows] == [(0, "a3"), (None, None), (0, "a3"), (None, None)]
    assert rows[0]["similarity"] < rows[2]["similarity"] == 1.0
    assert "removed       none; would be removed: 1 of 4 documents (25.0 %)" in result.stderr


def test_a_dry_run_writes_no_copy_but_the_removals(dedup: Cli, tmp_path: Path) -> None:
    result = dedup("a.jsonl", "--dry-run", "-o", "clean.jsonl", "--removed", "gone.csv")
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl", "gone.csv", "gone.csv.spec.json"]
    with (tmp_path / "gone.csv").open(newline="") as stream:
        assert [row["id"] for row in csv.DictReader(stream)] == ["a1"]
    assert "removed       none; would be removed: 1 of 4 documents (25.0 %)\n" in result.stderr
    assert "1 would be removed, 3 would be kept" in result.stderr.splitlines()[-1]


def test_a_dry_run_over_stdin_needs_no_output(dedup: Cli) -> None:
    result = CliRunner().invoke(main, ["dedup", "-", "--dry-run", "--json"], input=jsonl(DOCS))
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["removed"] == 1


def test_removals_may_go_to_stdout(dedup: Cli) -> None:
    result = dedup("a.jsonl", "--dry-run", "--removed", "-", "-q")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["a1"]


def test_the_summary_as_json_has_counts_sources_and_alarms(dedup: Cli) -> None:
    result = dedup("a.jsonl", "b.jsonl", "-o", "clean", "--keep", "first", "--alarm", "0.25", "--json")
    summary = json.loads(result.stdout)
    assert (summary["documents"], summary["kept"], summary["removed"]) == (6, 4, 2)
    assert summary["sources"] == [
        {"source": "a.jsonl", "documents": 4, "removed": 1, "share": 0.25},
        {"source": "b.jsonl", "documents": 2, "removed": 1, "share": 0.5},
    ]
    assert summary["alarms"] == ["b.jsonl"]
    assert (summary["largest_cluster"], summary["largest_keeper"]) == (3, "a1")
    assert len(result.stderr.splitlines()) == 1


def test_the_summary_tells_sources_clusters_and_alarms(dedup: Cli) -> None:
    err = dedup("a.jsonl", "b.jsonl", "-o", "clean", "--keep", "first", "--alarm", "0.4").stderr
    assert "removed       2 of 6 documents (33.3 %)\n" in err
    assert "kept          4, by the rule first\n" in err
    assert "clusters      1; the largest has 3 documents, kept is a1\n" in err
    assert "sources       a.jsonl  1 of 4 (25.0 %)\n              b.jsonl  1 of 2 (50.0 %)\n" in err
    assert "ALARM         b.jsonl loses 50.0 % of 2 documents, more than 40 %\n" in err
    assert "ALARM         a.jsonl" not in err
    assert "promised for a pair at 0.8" in err
    assert "peak memory   " in err


def test_texts_of_a_folder_are_copied_or_left_out(dedup: Cli, tmp_path: Path) -> None:
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    for name, text in (("a.txt", BASE), ("b.txt", OTHER), ("deep/c.txt", LONG)):
        (tmp_path / "texts" / name).write_text(text)
    result = dedup("texts", "-o", "clean", "--keep", "first", "--json")
    assert result.exit_code == 0, result.stderr
    written = sorted(str(path.relative_to("clean")) for path in Path("clean").rglob("*") if path.is_file())
    assert written == ["a.txt", "b.txt"]
    assert sorted(Path(name).name for name in json.loads(result.stdout)["written"]) == ["a.txt", "b.txt"]


def test_a_protected_folder_is_counted(dedup: Cli, tmp_path: Path) -> None:
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "x.txt").write_text(BASE)
    summary = json.loads(dedup("a.jsonl", "--protect", "held", "-o", "c.jsonl", "--json").stdout)
    assert (summary["removed"], summary["protected"]) == (2, 1)
    assert summary["alarms"] == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["a.jsonl"], "there is no place for the clean copies. Give -o, or --dry-run to write none."),
        (["a.jsonl", "-o", "-", "--json"], "stdout can take one thing only."),
        (["a.jsonl", "-o", "-", "--removed", "-"], "stdout can take one thing only."),
        (["-", "-o", "x.jsonl"], "inputs are read twice, and stdin can be read once."),
        (["a.jsonl", "-o", "x", "--protect", "-"], "inputs are read twice, and stdin can be read once."),
        (["a.jsonl", "-o", "a.jsonl"], "a.jsonl is the input a.jsonl."),
        (["a.jsonl", "b.jsonl", "-o", "."], "is the input"),
        (["a.jsonl", "b.jsonl", "-o", "b.jsonl"], "need a folder"),
        (["a.jsonl", "-o", "x.csv"], "x.csv"),
        (["a.jsonl", "-o", "x.jsonl.gz"], "compressed"),
        (["a.jsonl", "-o", "x.jsonl", "--protect", "x.jsonl"], "x.jsonl"),
        (["a.jsonl", "-o", "x.jsonl", "--removed", "x.jsonl"], "x.jsonl is named for two outputs."),
        (["a.jsonl", "-o", "x.jsonl", "--removed", "a.jsonl"], "a.jsonl is an input too"),
        (["a.jsonl", "-o", "x.jsonl", "--protect", "b.jsonl", "--removed", "b.jsonl"], "b.jsonl is an input too"),
        (["a.jsonl", "b.jsonl", "-o", "there", "--removed", "there/b.jsonl"], "could be the copy of the input b.jsonl"),
        (["a.jsonl", "-o", "x.jsonl", "--removed", "x.txt"], "x.txt does not tell a format."),
        (["a.jsonl", "-o", "x", "--keep", "best"], "keep is 'best'; known are first, last"),
        (["a.jsonl", "-o", "x", "--keep", "max:"], "keep is 'max:'"),
        (["a.jsonl", "-o", "x", "--alarm", "2"], "alarm is 2. Give a share from 0 to 1."),
        (["a.jsonl", "-o", "x", "--alarm", "many"], "alarm is many."),
        (["a.jsonl", "-o", "x", "--quiet", "--verbose"], "exclude each other"),
        (["a.jsonl", "-o", "x", "--bands", "32x8", "--slots", "128"], "--bands 32x8 needs 256 slots"),
        (["a.jsonl", "-o", "x", "--link", "star"], "No such option"),
    ],
)
def test_wrong_usage_is_told_before_the_search(
    dedup: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], words: str
) -> None:
    (tmp_path / "there").mkdir()
    if "--protect" in args and "x.jsonl" in args[-1]:
        (tmp_path / "x.jsonl").write_text(jsonl(MORE))
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(session.Run, "search", lambda run: pytest.fail("the search began"))
    result = dedup(*args)
    assert result.exit_code == 2, result.stderr
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["a.jsonl", "-o", "none/x.jsonl"], "cannot write none/x.jsonl"),
        (["a.jsonl", "b.jsonl", "-o", "none/x"], "cannot write none/x"),
        (["a.jsonl", "-o", "x.jsonl", "--removed", "none/r.csv"], "cannot write none/r.csv"),
        (["none.jsonl", "-o", "x.jsonl"], "none.jsonl"),
        (["a.jsonl", "-o", "x.jsonl", "--keep", "max:star"], "Did you mean 'stars'?"),
        (["a.jsonl", "-o", "x.jsonl", "--memory", "10MB"], "a memory limit of 10 MB is too small"),
    ],
)
def test_what_cannot_be_done_is_told_before_the_search(
    dedup: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], words: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(session.Run, "search", lambda run: pytest.fail("the search began"))
    result = dedup(*args)
    assert result.exit_code == 1, result.stderr
    assert words in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_preferred_source_that_is_no_input_is_told_with_the_inputs(dedup: Cli, tmp_path: Path) -> None:
    result = dedup("a.jsonl", "-o", "x.jsonl", "--prefer", "c.jsonl")
    assert result.exit_code == 1
    assert "no input is 'c.jsonl'" in result.stderr
    assert not (tmp_path / "x.jsonl").exists()


def test_a_workdir_gives_the_same_and_goes(dedup: Cli, tmp_path: Path) -> None:
    outcomes = []
    for name, more in (("ram", ()), ("disk", ("--workdir", "work", "--memory", "20GB", "--threads", "1"))):
        result = dedup("a.jsonl", "b.jsonl", "-o", name, "--removed", f"{name}.csv", *more)
        assert result.exit_code == 0, result.stderr
        outcomes.append([(tmp_path / name / file).read_bytes() for file in ("a.jsonl", "b.jsonl")])
        outcomes[-1].append((tmp_path / f"{name}.csv").read_bytes())
        assert (" on disk\n" in result.stderr) == (name == "disk")
    assert outcomes[0] == outcomes[1]
    assert not (tmp_path / "work").exists()


def test_an_interrupted_run_goes_on_and_is_gone_afterwards(
    dedup: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = dedup("a.jsonl", "b.jsonl", "-o", "plain", "--removed", "plain.csv")
    assert plain.exit_code == 0, plain.stderr
    args = ("a.jsonl", "b.jsonl", "-o", "clean", "--removed", "gone.csv", "--workdir", "work")
    with monkeypatch.context() as patched:

        def full(*args: Any, **kwargs: Any) -> None:
            raise SpoolError("work is full.")

        patched.setattr(cleaning_run, "choose", full)
        stopped = dedup(*args)
    assert stopped.exit_code == 1
    assert stopped.stderr.endswith(
        "Error: work is full.\nThe work so far is in work: continue with the same command and --resume, or delete it.\n"
    )
    again = dedup(*args)
    assert again.exit_code == 1
    assert "work holds the work of an interrupted run. Go on with --resume" in again.stderr
    for option, words in (
        (("--keep", "first"), 'dedup.keep is "first" and was "longest"'),
        (("--annotate",), "dedup.annotate is true and was false"),
        (("--prefer", "b.jsonl"), 'dedup.prefer[0] is "b.jsonl" and was absent'),
        (("--threshold", "0.5"), "spec.threshold is 0.5 and was 0.8"),
    ):
        other = dedup(*args, "--resume", *option)
        assert other.exit_code == 1
        assert words in other.stderr
    done = dedup(*args, "--resume")
    assert done.exit_code == 0, done.stderr
    for name in ("a.jsonl", "b.jsonl"):
        assert (tmp_path / "clean" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
    assert (tmp_path / "gone.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()
    assert not (tmp_path / "work").exists()


def test_work_goes_beside_the_output(dedup: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    places = []
    real = session.Run.search

    def noted(run: session.Run) -> Any:
        places.append((str(run.spill_to), run.options.workdir))
        return real(run)

    monkeypatch.setattr(session.Run, "search", noted)
    for output in ("clean/", "x.jsonl", "-"):
        assert dedup("a.jsonl", "-o", output).exit_code == 0
    assert dedup("a.jsonl", "--dry-run", "--removed", "r.csv").exit_code == 0
    assert places == [
        ("clean.neardup-work", None),
        ("x.jsonl.neardup-work", None),
        ("neardup-work", None),
        ("r.csv.neardup-work", None),
    ]


def test_sources_that_lost_most_are_told_and_the_others_counted() -> None:
    sources = [{"source": f"s{i:02}", "documents": 100, "removed": i} for i in range(14)]
    summary = _summary(sources=sources, alarms=[source["source"] for source in sources[2:]], alarm=0.01)
    lines = clean_lines(summary, faults=[], verbose=False)
    start = next(i for i, line in enumerate(lines) if line.startswith("sources"))
    assert lines[start].split() == ["sources", "s13", "13", "of", "100", "(13.0", "%)"]
    assert lines[start + 9].split()[0] == "s04"
    assert lines[start + 10].strip() == "and 3 more that lost some, 1 that lost nothing"
    alarms = [line for line in lines if line.startswith(ALARM)]
    assert alarms == ["ALARM         12 sources in one place lose 7.5 % of 1,200 documents, more than 1 % of each"]


def test_the_shards_of_a_folder_share_one_alarm_and_others_have_their_own() -> None:
    names = [*(f"corpus/shard-{i}.jsonl" for i in range(3)), *(f"f{i}/a.jsonl" for i in range(11))]
    sources = [{"source": name, "documents": 100, "removed": 60} for name in names]
    lines = clean_lines(_summary(sources=sources, alarms=names, alarm=0.5), faults=[], verbose=False)
    alarms = [line.split(maxsplit=1)[1] for line in lines if line.startswith(ALARM)]
    assert alarms[0] == "3 sources in corpus lose 60.0 % of 300 documents, more than 50 % of each"
    assert alarms[1] == "f0/a.jsonl loses 60.0 % of 100 documents, more than 50 %"
    assert alarms[10:] == ["and 2 folders more"]


def test_the_share_that_is_removed_is_of_the_documents_that_are_not_protected() -> None:
    summary = _summary(documents=1000, protected=400, removed=150, kept=850)
    lines = clean_lines(summary, faults=[], verbose=False)
    assert "removed       150 of 600 documents (25.0 %) that are not protected" in lines


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 5, "0 %"),
        (5, 5, "100 %"),
        (0, 0, "0 %"),
        (1, 3, "33.3 %"),
        (1, 10**6, "< 0.1 %"),
        (10**6 - 1, 10**6, "> 99.9 %"),
    ],
)
def test_shares_say_nothing_and_all_only_where_it_is_true(part: int, whole: int, text: str) -> None:
    assert percent(part, whole) == text


def test_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    sources = [{"source": "\x1b[31m", "documents": 2, "removed": 2}, {"source": "b", "documents": 2, "removed": 0}]
    summary = _summary(sources=sources, alarms=["\x1b[31m"], alarm=0.5, largest_keeper="\x07")
    say(*clean_lines(summary, faults=[], verbose=False))
    text = capsys.readouterr().err
    assert "\\x1b[31m loses 100 %" in text
    assert "\x1b" not in text
    assert "\x07" not in text


def _summary(**changes: Any) -> dict[str, Any]:
    from tests.cli.conftest import SUMMARY

    return {
        **SUMMARY,
        "keep": "longest",
        "kept": 1000,
        "removed": 234,
        "protected": 0,
        "unreadable": 0,
        "largest_cluster": 12,
        "largest_keeper": "x",
        "sources": [],
        "alarm": 0.5,
        "alarms": [],
        "written": [],
        "dry_run": False,
        "annotated": False,
        **changes,
    }
