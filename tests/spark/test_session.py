"""With Spark itself: the command, frames in and out, progress, an end in between. One session, ``local[2]``."""

from __future__ import annotations

import datetime
import decimal
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests.spark.session import missing
from tests.spark.test_search import collection, write

import neardup
import neardup.spark
from neardup.cli import main
from neardup.errors import InputError, MissingDependency, NeardupError, SpoolError
from neardup.inputs.reader import open_inputs
from neardup.params import RunOptions
from neardup.spark import open

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

needs_spark = pytest.mark.skipif(missing() is not None, reason=f"needs PySpark and Java: {missing()}")


@pytest.fixture(scope="session")
def session(spark: SparkSession) -> SparkSession:
    return spark


@pytest.fixture
def texts() -> list[str]:
    return collection(5, [2, 3, 5, 8, 30])


def in_order(folder: Path) -> pa.Table:
    """The rows of a frame as it was written: its files by name."""
    return pa.concat_tables([pq.read_table(file) for file in sorted(folder.glob("part-*.parquet"))])


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.collect()]


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


class Noting:
    """An observer that remembers stages, and stops a run that reaches a certain one."""

    def __init__(self, stop_at: str | None = None) -> None:
        self.stages: list[list[Any]] = []
        self._stop_at = stop_at

    def stage(self, name: str, total: int | None, unit: str) -> None:
        self.stages.append([name, total, 0])

    def advance(self, amount: int) -> None:
        self.stages[-1][2] += amount
        if self.stages[-1][0] == self._stop_at:
            raise KeyboardInterrupt

    def note(self, message: str) -> None: ...


@needs_spark
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("partitions", "families", "single"),
    [
        (1, [2, 3, 5, 8, 30], 60),
        (7, [2, 3, 5, 8, 30], 60),
        pytest.param(24, [2, 9], 5, id="more than rows"),
        pytest.param(200, [2, 3, 5, 8, 30], 60, marks=pytest.mark.soak),
    ],
)
def test_a_frame_in_any_partitions_gives_what_its_rows_give_on_one_machine(
    session: SparkSession, tmp_path: Path, partitions: int, families: list[int], single: int
) -> None:
    texts = collection(5, families, single)
    assert (partitions > len(texts)) == (partitions > 7)
    frame = session.createDataFrame(pa.table({"body": texts})).repartition(partitions)
    found = neardup.spark.find(frame, text="body", workdir=tmp_path / "work", threshold=0.6, crowd=6)
    rows = in_order(tmp_path / "work" / "frame")
    assert sorted(rows["body"].to_pylist()) == sorted(texts)
    one = neardup.find(rows, text="body", threshold=0.6, crowd=6)
    assert len(one.pairs) > 10
    assert len(one.crowds)
    for name in ("pairs", "clusters", "crowds"):
        assert rows_of(getattr(found, name)) == getattr(one, name).to_pylist()
    assert (found.summary.engine, found.summary.master) == ("spark", "local[2]")
    assert found.summary.documents == len(texts)
    assert found.summary.exchanged["keys"] > 12 * len(texts)


@needs_spark
def test_the_command_writes_the_same_bytes_and_tells_who_did_the_work(
    session: SparkSession, texts: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "in", texts)
    (path / "1.jsonl").write_text((path / "1.jsonl").read_text() + '{"text"\n\n{"text": 3}\n')
    arguments = ["find", path, "-t", 0.6, "--json", "--on-bad", "skip"]
    outputs = {}
    for engine in ("local", "spark"):
        names = [tmp_path / f"{engine}-{name}" for name in ("pairs.jsonl", "clusters.csv")]
        more = ["-o", names[0], "--clusters", names[1], "--engine", engine]
        more += ["--workdir", tmp_path / "work"] if engine == "spark" else []
        done = command(*arguments, *more)
        assert done.exit_code == 0, done.output
        outputs[engine] = [name.read_bytes() for name in names], json.loads(done.stdout)
    assert outputs["local"][0] == outputs["spark"][0]
    one, other = outputs["local"][1], outputs["spark"][1]
    assert {name: one[name] for name in ("documents", "bad", "blank", "pairs", "clusters")} == {
        name: other[name] for name in ("documents", "bad", "blank", "pairs", "clusters")
    }
    assert (one["engine"], one["master"], one["exchanged"]) == ("local", None, {})
    assert (other["engine"], other["master"]) == ("spark", "local[2]")
    assert set(other["exchanged"]) >= {"prints", "keys", "check"}
    assert not (tmp_path / "work").exists()


@needs_spark
def test_a_bad_record_ends_the_command_as_on_one_machine_and_the_work_so_far_is_named(
    session: SparkSession, texts: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "in", texts)
    (path / "1.jsonl").write_text('{"text": "good"}\n\n{"txt": 1}\n')
    work = tmp_path / "work"
    one = command("find", path, "-o", tmp_path / "pairs.jsonl")
    other = command("find", path, "-o", tmp_path / "pairs.jsonl", "--engine", "spark", "--workdir", work)
    assert (one.exit_code, other.exit_code) == (1, 1)
    first = next(line for line in one.stderr.splitlines() if line.startswith("Error"))
    assert "1.jsonl:3" in first
    assert first in other.stderr.splitlines()
    assert f"The work so far is in {work}" in other.stderr
    assert not (tmp_path / "pairs.jsonl").exists()


@needs_spark
@pytest.mark.usefixtures("small_parts")
def test_a_clean_frame_has_the_rows_that_stay_with_all_columns_as_they_were(
    session: SparkSession, texts: list[str], tmp_path: Path
) -> None:
    long_ago = datetime.datetime(1500, 1, 1, 1, 2, 3)
    rows = [
        (i % 9, text, {"a": i}, [i, None], decimal.Decimal(i) / 8, long_ago, bytearray(b"\xff"), (f"x{i}", [1.5]))
        for i, text in enumerate(texts)
    ]
    types = (
        "n int, body string, m map<string,int>, l array<int>, d decimal(20,3), at timestamp, raw binary, "
        "s struct<a: string, b: array<double>>, `a name` string"
    )
    given = [(*row, None) for row in rows]
    frame = session.createDataFrame(given, types).repartition(3)
    protect = session.createDataFrame([("a text of its own, which nobody has",), (texts[0],)], "body string").coalesce(
        1
    )
    work = tmp_path / "a [work] folder"
    options: dict[str, Any] = {"text": "body", "threshold": 0.6, "keep": "max:n"}
    found = neardup.spark.dedup(frame, workdir=work, protect=protect, **options)
    written = in_order(work / "frame").select(["body", "n"])
    one = neardup.dedup(written, protect=pa.table({"body": protect.toArrow()["body"]}), **options)
    assert rows_of(found.removals) == one.removed.to_pylist()
    gone = {row - 1 for row in one.removed["row"].to_pylist()}
    assert len(gone) > 20
    assert found.clean.schema == frame.schema
    clean = found.clean.collect()
    assert _sorted(clean) == _sorted(_stay(session, work, gone))
    assert len(clean) == found.summary.kept - 2
    assert [(each.source, each.documents, each.removed) for each in found.summary.sources] == [
        ("input", len(texts), len(gone)),
        ("protect", 2, 0),
    ]


def _pattern(path: Path) -> str:
    return str(path).replace("[", r"\[").replace("]", r"\]")


def _stay(session: SparkSession, work: Path, gone: set[int]) -> list[Any]:
    """The rows that Spark reads of the files of a frame one by one, in order, but for those of some numbers."""
    files = sorted((work / "frame").glob("part-*.parquet"))
    rows = [row for file in files for row in session.read.parquet(_pattern(file)).collect()]
    return [row for i, row in enumerate(rows) if i not in gone]


def _sorted(rows: list[Any]) -> list[str]:
    return sorted(map(repr, rows))


@needs_spark
def test_parquet_files_are_cleaned_in_their_order(session: SparkSession, texts: list[str], tmp_path: Path) -> None:
    names = [tmp_path / "in" / name / "same.parquet" for name in ("b", "a")]
    for name, some in zip(names, (texts[:40], texts[40:]), strict=True):
        name.parent.mkdir(parents=True)
        pq.write_table(pa.table({"text": some, "row": range(len(some))}), name, row_group_size=16)
    found = neardup.spark.dedup(names, workdir=tmp_path / "work", threshold=0.6, prefer=str(names[1]))
    one = neardup.dedup(names, output=tmp_path / "clean", threshold=0.6, prefer=str(names[1]))
    assert rows_of(found.removals) == one.removed.to_pylist()
    clean = [row for name in one.data for row in pq.read_table(name).to_pylist()]
    assert _sorted(rows_of(found.clean)) == _sorted(clean)


@needs_spark
@pytest.mark.usefixtures("small_parts")
def test_each_stage_tells_of_its_tasks_and_a_run_that_is_stopped_is_gone_on_with(
    session: SparkSession, texts: list[str], tmp_path: Path
) -> None:
    frame = session.createDataFrame(pa.table({"text": texts})).repartition(3)
    how: dict[str, Any] = {"workdir": tmp_path / "work", "threshold": 0.6}
    with pytest.raises(KeyboardInterrupt):
        neardup.spark.find(frame, observer=Noting(stop_at="keys"), **how)
    while session.sparkContext.statusTracker().getActiveJobsIds():  # an end takes a moment, and hangs if there is none
        time.sleep(0.1)
    with pytest.raises(SpoolError, match="resume=True"):
        neardup.spark.find(frame, **how)
    noting = Noting()
    found = neardup.spark.find(frame, resume=True, observer=noting, **how)
    one = neardup.find(in_order(tmp_path / "work" / "frame"), threshold=0.6)
    assert rows_of(found.pairs) == one.pairs.to_pylist()
    done = {name: (total, done) for name, total, done in noting.stages}
    assert done["keys"][0] == done["keys"][1] > 3
    assert done["check"][0] == done["check"][1]
    with pytest.raises(SpoolError, match="holds the answer"):
        neardup.spark.find(frame, **how)
    with pytest.raises(SpoolError, match="answer of a run that is done"):
        neardup.spark.find(frame, resume=True, **how)


@needs_spark
def test_what_a_cluster_cannot_give_back_is_said_before_the_work(session: SparkSession, tmp_path: Path) -> None:
    frame = session.createDataFrame([("a text",)], "text string")
    path = write(tmp_path / "in", ["one text", "another text"])
    work = tmp_path / "work"
    for given, more, words in (
        (frame, {"prefer": "a"}, "keep='max:COLUMN'"),
        (frame, {"protect": path}, "Give both as frames"),
        (path, {}, "spark.read.json"),
        (frame.selectExpr("text", "make_interval(1) AS span"), {}, "cannot be written as Parquet"),
    ):
        with pytest.raises(InputError, match=words):
            neardup.spark.dedup(given, workdir=work, **more)
    with pytest.raises(TypeError, match="exact"):
        neardup.spark.find(frame, workdir=work, exact=True)  # type: ignore[call-arg]


def test_relative_inputs_are_refused_where_workers_have_other_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=rf"workers of spark://host:7077 .* Give {tmp_path}/in.jsonl"):
        open.check_absolute(open_inputs("in.jsonl"), "spark://host:7077")
    open.check_absolute(open_inputs("in.jsonl"), "local[2]")
    open.check_absolute(open_inputs(tmp_path / "in.jsonl"), "spark://host:7077")
    assert open.place_of_work(RunOptions(workdir="work")) == str(tmp_path / "work")
    for given in ("s3://bucket/work", Path("s3://bucket/work")):
        assert open.place_of_work(RunOptions(workdir=given)) == "s3://bucket/work"
    with pytest.raises(InputError, match="--workdir"):
        open.place_of_work(RunOptions())


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingDependency, match=r"openjdk-17-jre-headless"):
        open.check_java()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    with pytest.raises(MissingDependency, match=r"bin/java is Java 11"):
        open.check_java()


def test_a_machine_without_pyspark_is_told_the_install_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(NeardupError, match=r"pip install 'neardup\[spark\]'"):
        neardup.spark.find(tmp_path, workdir=tmp_path / "work")
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    done = command("find", tmp_path / "in.jsonl", "--engine", "spark", "--workdir", tmp_path / "work")
    assert done.exit_code == 1
    assert "pip install 'neardup[spark]'" in done.stderr


def passage_texts() -> list[str]:
    """Texts with a notice that comes again, in two languages."""
    notice = "Alle Rechte sind vorbehalten, überall und für immer; niemand darf es kopieren. "
    return [f"{i} {text} {notice * (i % 2)}" for i, text in enumerate(collection(4, [2, 3], single=20))]


@needs_spark
def test_passages_of_a_frame_are_those_of_its_rows(session: SparkSession, tmp_path: Path) -> None:
    texts = passage_texts()
    frame = session.createDataFrame(
        [(i, text, [i, None]) for i, text in enumerate(texts)], "n int, body string, more array<int>"
    ).repartition(3, "n")
    how: dict[str, Any] = {"text": "body", "min_bytes": 40}
    found = neardup.spark.passages(frame, cut="first", min_cut=20, workdir=tmp_path / "work", **how)
    rows = in_order(tmp_path / "work" / "frame")
    one = neardup.passages(rows, **how)
    names = [name for name in one.spans.column_names if name not in ("id", "source_id")]
    ours = in_order(tmp_path / "work" / "spans")
    assert ours.select(names).equals(one.spans.select(names))
    assert ours["id"].to_pylist() == one.spans["id"].to_pylist()
    assert one.summary.spans > 10
    assert found.clean is not None
    wanted = one.cut("first", min_cut=20)["text"].to_pylist()
    expected = [row | {"body": text} for row, text in zip(rows.to_pylist(), wanted, strict=True)]
    assert sorted(rows_of(found.clean), key=lambda row: row["n"]) == sorted(expected, key=lambda row: row["n"])
    assert found.clean.schema == frame.schema
    assert not (tmp_path / "work" / "work").exists()


@needs_spark
def test_the_command_for_passages_writes_the_same_bytes_with_spark(session: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in passage_texts()))
    written = []
    for number, more in enumerate(([], ["--engine", "spark", "--workdir", tmp_path / "work"])):
        folder = tmp_path / f"out{number}"
        folder.mkdir()
        names = ["-o", folder / "clean.jsonl", "--spans", folder / "spans.csv", "--cuts", folder / "cuts.csv"]
        done = command("passages", path, "--min-bytes", 40, "--cut", "first", *names, *more, "-q")
        assert done.exit_code == 0, done.output
        written.append({file.name: file.read_bytes() for file in sorted(folder.iterdir())})
    assert written[1] == written[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gaps", "5"], "--gaps: a cluster does not do this"),
        (["--unit", "line"], "--unit: a cluster does not do this"),
        (["--preset", "c4"], "only passages that begin and end anywhere"),
        (["--min-words", "5"], "Give --min-chars"),
        (["--against", "in.jsonl"], "--against: a cluster does not do this"),
        (["--report", "page.html"], "--report: a cluster does not do this"),
    ],
)
def test_what_a_cluster_does_not_find_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"text": "one"}\n')
    done = command("passages", "in.jsonl", "-o", "out.jsonl", "--engine", "spark", "--workdir", "work", *options)
    assert done.exit_code in (1, 2)
    assert message in done.output
    assert not (tmp_path / "work").exists()
