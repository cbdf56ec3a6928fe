"""Where pairs, clusters and the summary go, and which exit code each end of a run has."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result
from tests.cli.conftest import PAIRS, SPEC

from neardup import __version__, session
from neardup.errors import InputError, SpoolError
from neardup.params import RunOptions
from neardup.types import Fault

Cli = Callable[..., Result]
LINES = '{"id_a": "a", "id_b": "b", "similarity": 1.0}\n{"id_a": "b", "id_b": "c", "similarity": 0.8}\n'


def test_pairs_go_to_stdout_as_jsonl_and_the_summary_to_stderr(neardup_find: Cli) -> None:
    result = neardup_find()
    assert result.exit_code == 0
    assert result.stdout == LINES
    assert "documents     1,234 (5.6 MB), 1 empty, 2 shorter than one shingle" in result.stderr


def test_the_last_line_of_stderr_says_what_was_written_where_and_how_long_it_took(neardup_find: Cli) -> None:
    assert neardup_find().stderr.splitlines()[-1] == "neardup: 2 pairs in 0.80 s"
    last = neardup_find("-o", "pairs.csv", "--clusters", "clusters.csv").stderr.splitlines()[-1]
    assert last == "neardup: 2 pairs in 0.80 s; pairs.csv and clusters.csv written"


@pytest.mark.parametrize(("threshold", "code"), [("0.6", 3), ("0.99", 0)])
def test_a_check_has_an_exit_code_of_its_own_when_a_pair_is_found(
    threshold: str, code: int, tmp_path: Path, command: Any
) -> None:
    for name, text in (
        ("a.md", "a river that runs to the sea"),
        ("b.md", "a river that runs to the lake"),
        ("c.md", "no"),
    ):
        (tmp_path / name).write_text(text)
    done = command("find", ".", "-t", threshold, "--check", "--quiet", cwd=tmp_path)
    assert done.returncode == code
    assert ("./a.md  ./b.md" in done.stdout) == (code == 3)


@pytest.mark.parametrize(
    ("more", "format_"), [((), "id_a  id_b  similarity"), (("--format", "jsonl"), '{"id_a": "a"'), (("--json",), "{")]
)
def test_a_check_lists_pairs_for_people_unless_it_is_told_otherwise(
    neardup_find: Cli, more: tuple[str, ...], format_: str
) -> None:
    result = neardup_find("--check", *more)
    assert result.exit_code == 3
    assert result.stdout.startswith(format_)


@pytest.mark.parametrize("other", ["--dry-run", "--collapse-exact"])
def test_a_check_is_refused_where_pairs_would_not_be_seen(neardup_find: Cli, other: str) -> None:
    result = neardup_find("--check", other)
    assert result.exit_code == 2
    assert other in result.stderr


def test_a_check_that_fails_for_another_reason_has_not_the_code_of_pairs(tmp_path: Path, command: Any) -> None:
    assert command("find", "absent/", "--check", cwd=tmp_path).returncode == 1


def test_nothing_of_the_summary_is_told_twice(neardup_find: Cli) -> None:
    *block, last = neardup_find("-o", "pairs.csv").stderr.splitlines()
    assert not any("pairs.csv" in line or "0.80 s" in line for line in block)
    assert SPEC.id not in last
    assert len({line[:14] for line in block}) == len(block)


def test_options_reach_the_search_unchanged(neardup_find: Cli, search: Any) -> None:
    options = "-t .7 --recall .9 --shingle word:3 --normalize casefold,space --slots 100 --bands 20x5 --seed 7"
    options += " --sketch universal --threads 3 --link connected --collapse-exact --crowd 50 --text body --id key"
    options += " --glob *.rst --encoding latin-1 --on-bad skip --input-format jsonl"
    options += " --memory 20GB --workdir work"
    assert neardup_find(*options.split()).exit_code == 0
    asked = {
        "inputs": ["docs.jsonl"],
        "threshold": 0.7,
        "shingle": "word:3",
        "normalize": "nfc,casefold,space",
        "slots": 100,
        "bands": "20x5",
        "seed": 7,
        "sketch": "universal",
        "link": "connected",
        "collapse_exact": True,
        "crowd": 50,
        "text": "body",
        "id": "key",
        "encoding": "latin-1",
        "on_bad": "skip",
    }
    assert {name: search.calls[0][name] for name in asked} == asked
    assert search.runs[0].options == RunOptions(3, 20_000_000_000, Path("work"))


def test_glob_and_input_format_reach_the_reading(neardup_find: Cli, search: Any, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.rst").write_text("a text")
    (tmp_path / "plain.data").write_text('{"text": "x"}\n')
    assert neardup_find("more", "plain.data", "--glob", "*.rst", "--input-format", "jsonl").exit_code == 0
    assert [part.name for part in search.runs[0].reader.parts] == ["docs.jsonl", "more/a.rst", "plain.data"]


def test_recall_reaches_the_filter_of_candidates(neardup_find: Cli, search: Any) -> None:
    for recall in (".5", ".99"):
        assert neardup_find("--bands", "16x4", "--recall", recall).exit_code == 0
    careless, careful = search.calls
    assert careless["min_matches"] > careful["min_matches"]


def test_a_dash_is_passed_on_as_stdin(neardup_find: Cli, search: Any) -> None:
    assert neardup_find("-").exit_code == 0
    assert search.calls[0]["inputs"] == ["docs.jsonl", "-"]


def test_pairs_and_clusters_go_to_files(neardup_find: Cli, search: Any, tmp_path: Path) -> None:
    result = neardup_find("-o", "pairs.parquet", "--clusters", "clusters.csv")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert pq.read_table(tmp_path / "pairs.parquet").equals(search.pairs)
    with (tmp_path / "clusters.csv").open(newline="") as stream:
        assert list(csv.DictReader(stream))[1] == {
            "id": "b", "cluster": "0", "keeper": "a", "similarity": "0.9"
        }  # fmt: skip


@pytest.mark.parametrize(
    ("format", "start"),
    [("csv", b"id_a,id_b,similarity\r\n"), ("jsonl", b'{"id_a": "a"'), ("parquet", b"PAR1")],
)
def test_format_decides_what_goes_to_stdout(neardup_find: Cli, format: str, start: bytes) -> None:
    assert neardup_find("--format", format).stdout_bytes.startswith(start)


def test_format_decides_for_a_name_without_suffix(neardup_find: Cli, tmp_path: Path) -> None:
    assert neardup_find("-o", "pairs", "--format", "jsonl").exit_code == 0
    assert (tmp_path / "pairs").read_text() == LINES


def test_a_table_shows_rounded_similarities(neardup_find: Cli) -> None:
    rows = [line.split() for line in neardup_find("--format", "table").stdout.splitlines()]
    assert rows == [["id_a", "id_b", "similarity"], ["a", "b", "1.0000"], ["b", "c", "0.8000"]]


def test_a_long_table_is_cut_and_says_so(neardup_find: Cli, search: Any) -> None:
    search.pairs = pa.concat_tables([search.pairs] * 30)
    lines = neardup_find("--format", "table").stdout.splitlines()
    assert len(lines) == 52
    assert lines[-1] == "… and 10 more; -o FILE writes all"


def test_ids_cannot_steer_the_terminal(neardup_find: Cli, search: Any) -> None:
    search.pairs = pa.table({"id_a": ["\x1b[31m[b]x"], "id_b": ["a\nb"], "similarity": [1.0]})
    assert neardup_find("--format", "table").stdout.splitlines()[1].split() == [
        "\\x1b[31m[b]x", "a\\nb", "1.0000"
    ]  # fmt: skip


def test_json_prints_the_summary_and_no_pairs(neardup_find: Cli) -> None:
    result = neardup_find("--json")
    summary = json.loads(result.stdout)
    assert summary["documents"] == 1234
    assert set(summary["seconds"]) == {"read", "candidates", "check", "cluster", "write"}
    assert summary["total_seconds"] == 0.8  # the run counts its writing itself
    assert len(result.stderr.splitlines()) == 1


def test_json_with_an_output_writes_the_pairs_there(neardup_find: Cli, tmp_path: Path) -> None:
    assert json.loads(neardup_find("--json", "-o", "pairs.jsonl").stdout)["pairs"] == 2
    assert (tmp_path / "pairs.jsonl").read_text() == LINES


def test_quiet_says_nothing_on_stderr(neardup_find: Cli, search: Any) -> None:
    search.notes = ["compiling"]
    result = neardup_find("--quiet")
    assert result.stderr == ""
    assert result.stdout == LINES


def test_notes_are_passed_on(neardup_find: Cli, search: Any) -> None:
    search.notes = ["compiling the kernels, once; about ten seconds"]
    assert "neardup: compiling the kernels, once; about ten seconds\n" in neardup_find().stderr


def test_verbose_shows_the_spec(neardup_find: Cli) -> None:
    assert "min_matches" in neardup_find("--verbose").stderr
    assert "min_matches" not in neardup_find().stderr


def test_an_expected_error_is_one_message_with_exit_code_1(neardup_find: Cli, search: Any) -> None:
    search.error = InputError("docs.jsonl:7: no field 'text'. Name it with --text.")
    for args in ((), ("--quiet",)):
        result = neardup_find(*args)
        assert result.exit_code == 1
        assert result.stderr == "Error: docs.jsonl:7: no field 'text'. Name it with --text.\n"


def test_an_unexpected_error_asks_for_a_report_and_hides_the_traceback(neardup_find: Cli, search: Any) -> None:
    search.error = ZeroDivisionError("division by zero")
    result = neardup_find("-o", "pairs.csv")
    assert result.exit_code == 1
    assert f"unexpected ZeroDivisionError: division by zero. This is a fault in neardup {__version__}" in result.stderr
    assert "--verbose" in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("pairs.csv").exists()


def test_verbose_shows_the_traceback_of_an_unexpected_error(neardup_find: Cli, search: Any) -> None:
    search.error = ZeroDivisionError("division by zero")
    stderr = neardup_find("--verbose").stderr
    assert "Traceback (most recent call last)" in stderr
    assert "Cli again with --verbose" not in stderr


@pytest.mark.parametrize("args", [("--log-file", "run.log"), (), ("--verbose",)], ids=" ".join)
def test_a_log_has_nothing_that_a_foreign_error_says(neardup_find: Cli, search: Any, args: tuple[str, ...]) -> None:
    """Such an error may quote the text that it stumbled over."""
    search.error = ValueError("cannot use 'a text of someone'")
    result = neardup_find("--log-format", "json", *args)
    log = Path("run.log").read_text() if args[:1] == ("--log-file",) else result.stderr
    assert "someone" not in log
    assert f"unexpected ValueError. This is a fault in neardup {__version__}" in log
    assert ("someone" in result.stderr) == (log != result.stderr)
    assert ("Traceback" in log) == (args == ("--verbose",))


def test_bad_records_are_listed_up_to_twenty(neardup_find: Cli, search: Any) -> None:
    search.summary = {"bad": 25}
    search.faults = [Fault("docs.jsonl", row, "no JSON") for row in range(1, 26)]
    lines = neardup_find("--on-bad", "skip").stderr.splitlines()
    start = lines.index("bad records, left out (25):")
    assert lines[start + 1] == "  docs.jsonl:1: no JSON"
    assert lines[start + 20] == "  docs.jsonl:20: no JSON"
    assert lines[start + 21] == "  and 5 more"


def test_crowds_are_named_with_their_size(neardup_find: Cli, search: Any) -> None:
    search.summary = {"crowds": 7, "crowd_documents": 10_015}
    search.crowds = pa.table({"leader": [f"page {n}" for n in range(7)], "documents": [2, 3, 10_000, 1, 4, 5, 0]})
    stderr = neardup_find().stderr
    assert "crowds        7 of 10,015 documents in all" in stderr
    assert "page 2: 10,000 documents" in stderr
    assert "and 2 more" in stderr


def test_documents_without_a_promise_are_told(neardup_find: Cli, search: Any) -> None:
    assert "overfull" not in neardup_find().stderr
    search.summary = {"overfull": 12_000}
    assert "overfull      12,000 documents in groups too large to pair up" in neardup_find().stderr


def test_memory_and_disk_are_told_together(neardup_find: Cli, search: Any) -> None:
    assert "peak memory   210.0 MB of 2.0 GB\n" in neardup_find().stderr
    search.summary = {"spooled": 4_100_000_000}
    assert "peak memory   210.0 MB of 2.0 GB; 4.1 GB on disk\n" in neardup_find().stderr


@pytest.mark.parametrize(
    ("args", "place"),
    [
        ([], "neardup-work"),
        (["-o", "-"], "neardup-work"),
        (["-o", "pairs.parquet"], "pairs.parquet.neardup-work"),
        (["-o", "sub/pairs.csv"], "sub/pairs.csv.neardup-work"),
        (["-o", os.devnull, "--format", "csv"], "neardup-work"),
        (["--clusters", "c.csv"], "neardup-work"),
    ],
)
def test_work_goes_beside_the_output(
    neardup_find: Cli, search: Any, tmp_path: Path, args: list[str], place: str
) -> None:
    (tmp_path / "sub").mkdir()
    assert neardup_find(*args).exit_code == 0
    assert (search.runs[0].spill_to, search.runs[0].options.workdir) == (Path(place), None)


def test_resuming_without_a_workdir_named_looks_beside_the_output(neardup_find: Cli, tmp_path: Path) -> None:
    result = neardup_find("--resume", "-o", "pairs.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: nothing to resume at pairs.csv.neardup-work:")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl"]


def test_stdin_cannot_be_resumed(neardup_find: Cli) -> None:
    result = neardup_find("-", "--resume")
    assert result.exit_code == 1
    assert "standard input or values in memory cannot be resumed" in result.stderr


def test_a_failed_run_says_where_its_work_is_and_the_next_goes_on_there(
    neardup_find: Cli, search: Any, tmp_path: Path
) -> None:
    search.error = InputError("docs.jsonl:7: no field 'text'.")
    failed = neardup_find("--workdir", "work")
    assert failed.exit_code == 1
    assert failed.stderr == (
        "Error: docs.jsonl:7: no field 'text'.\n"
        "The work so far is in work: with all inputs as they are --resume goes on from it, else delete it.\n"
    )
    search.error = None
    again = neardup_find("--workdir", "work")
    assert again.exit_code == 1
    assert "work holds the work of an interrupted run. Go on with --resume" in again.stderr
    assert "The work so far" not in again.stderr
    other = neardup_find("--workdir", "work", "--resume", "-t", "0.7")
    assert other.exit_code == 1
    assert "spec.threshold is 0.7 and was 0.8" in other.stderr
    linked = neardup_find("--workdir", "work", "--resume", "--link", "connected")
    assert 'link is "connected" and was "star"' in linked.stderr
    assert neardup_find("--workdir", "work", "--resume").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl"]


def test_work_left_beside_the_output_is_told_before_anything_is_read(
    neardup_find: Cli, search: Any, tmp_path: Path
) -> None:
    search.error = SpoolError("the disk is full.")
    assert neardup_find("--workdir", "pairs.csv.neardup-work", "-o", "pairs.csv").exit_code == 1
    search.error = None
    result = neardup_find("-o", "pairs.csv")
    assert result.exit_code == 1
    assert "pairs.csv.neardup-work holds the work of an interrupted run. Go on with --resume" in result.stderr
    assert len(search.calls) == 1
    assert neardup_find("-o", "pairs.csv", "--resume").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "pairs.csv", "pairs.csv.spec.json"]


def test_a_changed_input_cannot_be_gone_on_with(neardup_find: Cli, search: Any, tmp_path: Path) -> None:
    search.error = SpoolError("the disk is full.")
    neardup_find("--workdir", "work")
    (tmp_path / "docs.jsonl").write_text('{"text": "other"}\n')
    result = neardup_find("--workdir", "work", "--resume")
    assert result.exit_code == 1
    assert "inputs.docs.jsonl is " in result.stderr


def test_another_version_cannot_go_on(neardup_find: Cli, search: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    search.error = SpoolError("the disk is full.")
    neardup_find("--workdir", "work")
    monkeypatch.setattr(session, "__version__", "9.9")
    result = neardup_find("--workdir", "work", "--resume")
    assert result.exit_code == 1
    assert f'version is "9.9" and was "{__version__}"' in result.stderr


def test_a_folder_of_other_files_is_no_workdir(neardup_find: Cli, search: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    result = neardup_find("--workdir", "mine")
    assert result.exit_code == 1
    assert "mine holds other files" in result.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    assert search.calls == []


def test_a_limit_below_what_the_program_takes_is_refused(neardup_find: Cli, search: Any) -> None:
    result = neardup_find("--memory", "50MB")
    assert result.exit_code == 1
    assert "a memory limit of 50 MB is too small" in result.stderr
    assert search.calls == []


def test_a_failure_while_writing_keeps_the_work(neardup_find: Cli, search: Any, tmp_path: Path) -> None:
    def broken() -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            yield from PAIRS.to_batches()
            raise SpoolError("work/pairs.spool is damaged.")

        return pa.RecordBatchReader.from_batches(PAIRS.schema, batches())

    search.pairs = SimpleNamespace(to_reader=broken)
    result = neardup_find("--workdir", "work", "-o", "pairs.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: work/pairs.spool is damaged.\nThe work so far is in work:")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "work"]
