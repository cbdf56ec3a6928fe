"""Clean-ups by a cluster, which is one process here: the same tables and the same files as those of one machine."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.cleaning import as_jsonl, documents, files_in, found, on_cluster, on_one_machine, write_as
from tests.spark.inprocess import InProcess
from tests.spark.test_resume import Stopping

from neardup.errors import InputChanged, InputError, OutputError
from neardup.spark import rewriting
from neardup.spark.exchange import Facts
from neardup.spark.run import ClusterRun
from neardup.tasks.rewrite import writer as copy_writer

pytestmark = pytest.mark.usefixtures("small_tasks")

POLICIES = ["first", "last", "longest", "shortest", "max:worth", "min:worth", "none"]
FORMATS = ["jsonl", "jsonl.gz", "csv", "tsv", "parquet", "arrow", "lines", "texts"]


def three_files(folder: Path, *, more: str = "") -> list[Path]:
    """A collection in three files of JSON Lines."""
    paths = [folder / name for name in ("a.jsonl", f"b.jsonl{more}", "c.jsonl")]
    for i, path in enumerate(paths):
        data = as_jsonl(documents(7, 90)[i::3], seed=i)
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return paths


class Twice(InProcess):
    """Does each task twice, as a cluster does with one whose machine is slow; the first answer counts."""

    def map(self, name: str, tasks: Sequence[int], work: Callable[[int], Facts]) -> list[Facts]:
        answers = super().map(name, tasks, work)
        super().map(name, tasks, work)
        return answers


@pytest.mark.parametrize("keep", POLICIES)
def test_every_policy_removes_the_same_documents(tmp_path: Path, keep: str) -> None:
    paths = three_files(tmp_path)
    how: dict[str, Any] = {"keep": keep, "on_bad": "skip"}
    one = on_one_machine(paths, tmp_path / "one", **how)
    assert one.removed.num_rows > 10
    cluster = InProcess(backwards=True)
    assert on_cluster(paths, tmp_path / "two", cluster=cluster, **how) == one
    assert "join" in cluster.stages, "no copy was written in pieces"
    assert ("column" in cluster.stages) == (":" in keep)


@pytest.mark.parametrize("keep", ["longest", "max:worth", "none"])
def test_preferred_and_protected_sources_are_honoured_alike(tmp_path: Path, keep: str) -> None:
    a, b, c = three_files(tmp_path, more=".gz")
    held = tmp_path / "held.jsonl"
    held.write_bytes(as_jsonl(documents(7, 20), seed=2))
    for protect in ([held], [held, c]):
        how: dict[str, Any] = {"keep": keep, "on_bad": "skip", "protect": protect}
        how |= {} if keep == "none" else {"prefer": [str(b), str(c)]}
        one = on_one_machine([a, b, c], tmp_path / f"one{len(protect)}", **how)
        assert {"protect"} < set(one.removed["rule"].to_pylist())
        assert on_cluster([a, b, c], tmp_path / f"two{len(protect)}", **how) == one


@pytest.mark.parametrize("annotate", [False, True])
@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_written_to_the_same_bytes(tmp_path: Path, kind: str, annotate: bool) -> None:
    records = documents(11, 70)
    folder = tmp_path / "in"
    folder.mkdir()
    write_as(kind, folder / f"a.{kind}", records[:50])
    write_as(kind, folder / f"b.{kind}", records[50:])
    how: dict[str, Any] = {"on_bad": "skip", "annotate": annotate, "keep": "last"}
    if kind == "lines":
        how["input_format"] = "lines"
    inputs = [folder / f"a.{kind}", folder / f"b.{kind}"] if kind != "texts" else folder
    if annotate and kind in ("lines", "texts"):
        with pytest.raises(InputError) as one:
            on_one_machine(inputs, tmp_path / "one", **how)
        with pytest.raises(InputError) as two:
            on_cluster(inputs, tmp_path / "two", **how)
        assert str(two.value) == str(one.value)
        assert not (tmp_path / "two").exists()
        return
    assert on_cluster(inputs, tmp_path / "two", **how) == on_one_machine(inputs, tmp_path / "one", **how)


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv"])
def test_one_input_has_one_file_as_its_copy(tmp_path: Path, kind: str) -> None:
    source = tmp_path / f"in.{kind}"
    write_as(kind, source, documents(5, 60))
    names = (tmp_path / f"{name}.{kind}" for name in ("one", "two"))
    one, two = (
        answer(source, path, on_bad="skip", keep="max:worth")
        for answer, path in zip((on_one_machine, on_cluster), names, strict=True)
    )
    assert one == two


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_several_inputs_become_one_stream(tmp_path: Path, kind: str, capfdbinary: Any) -> None:
    paths = [tmp_path / f"{name}.{kind}" for name in "abc"]
    records = documents(3, 60)
    paths[0].write_bytes(b"" if kind == "csv" else b"\n")
    write_as(kind, paths[1], records[:40])
    write_as(kind, paths[2], records[40:])
    on_one_machine(paths, Path("-"), on_bad="skip")
    one = capfdbinary.readouterr().out
    on_cluster(paths, Path("-"), on_bad="skip", work=tmp_path / "work")
    assert capfdbinary.readouterr().out == one
    assert one.count(b"\n") > 20


def test_texts_and_examples_are_those_of_one_machine(tmp_path: Path) -> None:
    paths = three_files(tmp_path)
    for with_text in (True, 20):
        how: dict[str, Any] = {"with_text": with_text, "show": 6, "normalize": "nfkc,casefold", "on_bad": "skip"}
        one = on_one_machine(paths, tmp_path / f"one{with_text}", **how)
        assert one.examples.num_rows == 6
        assert on_cluster(paths, tmp_path / f"two{with_text}", **how) == one


def test_a_few_examples_ask_for_no_other_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    from neardup.spark.written import Brought

    bring = Brought.bring
    monkeypatch.setattr(Brought, "bring", lambda self, rows: asked.append(rows.size) or bring(self, rows))
    on_cluster(three_files(tmp_path), tmp_path / "out", show=3, on_bad="skip")
    assert asked == [6]


def test_many_texts_are_kept_on_the_drivers_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup.spark.written.MOST_HELD", 0.0)
    paths, how = three_files(tmp_path), {"with_text": True, "on_bad": "skip"}
    assert on_cluster(paths, tmp_path / "two", **how) == on_one_machine(paths, tmp_path / "one", **how)


def test_crowds_are_broken_up_alike(tmp_path: Path) -> None:
    rng = random.Random(1)
    base = [f"w{i}" for i in range(40)]
    lines = [" ".join(rng.choice("xyz") if rng.random() < 0.06 else word for word in base) for _ in range(80)]
    path = tmp_path / "in.txt"
    path.write_text("\n".join(lines + lines[:5]))
    for keep in ("shortest", "last", "none"):
        how: dict[str, Any] = {"input_format": "lines", "crowd": 5, "keep": keep}
        one = on_one_machine(path, tmp_path / f"one-{keep}.txt", **how)
        assert one.facts["crowds"]
        assert on_cluster(path, tmp_path / f"two-{keep}.txt", **how) == one


@pytest.mark.parametrize("split", [40, 300, 1 << 20])
def test_splits_of_any_size_give_the_same(tmp_path: Path, split: int) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(as_jsonl(documents(2, 12), seed=1))
    one = on_one_machine(path, tmp_path / "one.jsonl", on_bad="skip", annotate=True)
    assert on_cluster(path, tmp_path / "two.jsonl", split=split, on_bad="skip", annotate=True) == one


LINES = st.lists(
    st.sampled_from(["a b c d e", "a b c d f", "g h i j k l", "", " ", "\ufeffa b c d e", "x" * 90, "é ü ö ä ß"]),
    max_size=8,
)


@settings(max_examples=8)
@given(LINES, st.booleans(), st.sampled_from([3, 20, 64]), st.sampled_from(["first", "last", "none"]))
def test_any_lines_are_cut_alike(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], is_ended: bool, split: int, keep: str
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    path = folder / "in.txt"
    path.write_text("\n".join(lines) + "\n" * is_ended, encoding="utf-8")
    how: dict[str, Any] = {"input_format": "lines", "keep": keep, "shingle": "word:1"}
    one = on_one_machine(path, folder / "one.txt", **how)
    assert on_cluster(path, folder / "two.txt", split=split, **how) == one


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "texts"])
def test_tasks_that_are_done_twice_leave_nothing_behind(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "in" / f"a.{kind}"
    source.parent.mkdir()
    write_as(kind, source, documents(4, 50))
    one = on_one_machine(tmp_path / "in", tmp_path / "one", on_bad="skip")
    assert on_cluster(tmp_path / "in", tmp_path / "two", cluster=Twice(), on_bad="skip") == one


@pytest.mark.parametrize("inside", [False, True])
def test_a_run_that_is_stopped_while_it_writes_goes_on(tmp_path: Path, inside: bool) -> None:
    paths = three_files(tmp_path, more=".gz")
    one = on_one_machine(paths, tmp_path / "one", on_bad="skip")
    whole = InProcess()
    assert on_cluster(paths, tmp_path / "two", cluster=whole, on_bad="skip") == one
    for stage in ("write", "join"):
        after, out = whole.stages.index(stage), tmp_path / stage
        with pytest.raises(KeyboardInterrupt):
            on_cluster(paths, out, cluster=Stopping(after, inside=inside), on_bad="skip")
        assert stage == "join" or files_in(out) == {}
        second = InProcess()
        assert on_cluster(paths, out, cluster=second, on_bad="skip", go_on=True) == one
        assert second.stages == whole.stages[after:]


def test_copies_that_have_their_names_when_a_run_goes_on_are_written_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, out = three_files(tmp_path), tmp_path / "out"
    one = on_one_machine(paths, tmp_path / "one", on_bad="skip")
    with monkeypatch.context() as patched:
        patched.setattr(ClusterRun, "__exit__", lambda *_: None)  # as if it were killed behind its last rename
        on_cluster(paths, out, on_bad="skip")
    assert on_cluster(paths, out, on_bad="skip", go_on=True) == one


def changing(path: Path, change: Callable[[Path], None]) -> InProcess:
    """A cluster whose inputs are changed when the copies are about to be written, with their old times."""

    class Changing(InProcess):
        def map(self, name: str, tasks: Sequence[int], work: Callable[[int], Facts]) -> list[Facts]:
            if name == "write":
                info = path.stat()
                change(path)
                os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
            return super().map(name, tasks, work)

    return Changing()


def other_words(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"word1", b"wurd1").replace(b"word2", b"wurd2"))


def another_line(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'\n{"id": "new", "text": "something new"}\n')


def last_lines_gone(path: Path) -> None:
    path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:-4]))


@pytest.mark.parametrize("change", [other_words, another_line, last_lines_gone])
@pytest.mark.parametrize("name", ["a.jsonl", "c.jsonl"])
def test_an_input_that_changes_between_the_readings_is_named_and_nothing_is_written(
    tmp_path: Path, change: Callable[[Path], None], name: str
) -> None:
    paths, out = three_files(tmp_path), tmp_path / "out"
    with pytest.raises(InputChanged, match=str(tmp_path / name)):
        on_cluster(paths, out, cluster=changing(tmp_path / name, change), on_bad="skip")
    assert files_in(out) == {}


def test_a_protected_file_that_changes_is_named(tmp_path: Path) -> None:
    path, held = tmp_path / "in.jsonl", tmp_path / "held.jsonl"
    records = documents(6, 60)
    path.write_bytes(as_jsonl(records[:30], is_hard=False))
    held.write_bytes(as_jsonl(records[30:], is_hard=False))
    out = tmp_path / "out.jsonl"
    with pytest.raises(InputChanged, match="held"):
        on_cluster(path, out, protect=held, cluster=changing(held, other_words))
    assert not out.exists()


def test_a_file_that_is_only_touched_is_read_again_and_passes(tmp_path: Path) -> None:
    paths = three_files(tmp_path)
    cluster = changing(paths[1], lambda path: path.chmod(0o600))
    one = on_one_machine(paths, tmp_path / "one", on_bad="skip")
    assert on_cluster(paths, tmp_path / "two", cluster=cluster, on_bad="skip") == one
    assert "check again" in cluster.stages


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_text_file_that_is_touched_is_read_again(tmp_path: Path, is_changed: bool) -> None:
    folder = tmp_path / "in"
    write_as("texts", folder, documents(8, 40))
    path = folder / "part 1" / "4.txt"
    path.write_text("no other document says this")

    def change(path: Path) -> None:
        path.chmod(0o600)
        if is_changed:
            path.write_text("no other document says thus")

    cluster = changing(path, change)
    if is_changed:
        with pytest.raises(InputChanged, match="was changed since"):
            on_cluster(folder, tmp_path / "two", cluster=cluster)
        assert not (tmp_path / "two").exists()
        return
    assert on_cluster(folder, tmp_path / "two", cluster=cluster) == on_one_machine(folder, tmp_path / "one")


@pytest.mark.parametrize("synced", [3, 9])
def test_a_disk_that_is_full_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: int
) -> None:
    paths, out = three_files(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "a.jsonl").write_text("old")
    one, written = on_one_machine(paths, tmp_path / "one", on_bad="skip"), []

    def fsync(number: int, plain: Callable[[int], None] = os.fsync) -> None:
        written.append(number)
        if len(written) > synced:
            raise OSError(28, os.strerror(28))
        plain(number)

    first, second = InProcess(), InProcess()
    with monkeypatch.context() as patched:
        patched.setattr(copy_writer.os, "fsync", fsync)
        with pytest.raises(OutputError, match="No space left on device"):
            on_cluster(paths, out, cluster=first, on_bad="skip")
    left = files_in(out)
    assert left.pop("a.jsonl") == b"old"
    # what all workers have written stays for a run that goes on, and what some have does not
    assert all(name.endswith(".neardup-part") for name in left)
    assert bool(left) == (synced == 9)
    assert on_cluster(paths, out, cluster=second, on_bad="skip", go_on=True) == one
    assert second.stages[0] == ("join" if left else "write")


def test_what_a_worker_wrote_where_the_driver_does_not_see_it_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = tmp_path / "in.csv"
    write_as("csv", path, documents(1, 20))
    write_part = rewriting._write_part

    def write_elsewhere(job: Any, final: str, *given: Any) -> int:
        return write_part(job, str(elsewhere / Path(final).name), *given)

    monkeypatch.setattr(rewriting, "_write_part", write_elsewhere)
    with pytest.raises(OutputError, match="as the driver sees it"):
        on_cluster(path, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_values_of_two_types_are_refused_as_on_one_machine(tmp_path: Path) -> None:
    records = [record | {"worth": 2**53 + 1 if i == 3 else 0.5} for i, record in enumerate(documents(9, 40))]
    path = tmp_path / "in.jsonl"
    path.write_bytes(as_jsonl([records[0]] * 4 + records, is_hard=False))
    records[0]["worth"] = 2**53 + 1
    path.write_bytes(as_jsonl([records[0], *records], is_hard=False))
    with pytest.raises(InputError) as one:
        on_one_machine(path, tmp_path / "one.jsonl", keep="max:worth")
    with pytest.raises(InputError) as two:
        on_cluster(path, tmp_path / "two.jsonl", keep="max:worth")
    assert str(two.value) == str(one.value)


def test_protected_files_without_text_are_refused(tmp_path: Path) -> None:
    path, held = tmp_path / "in.jsonl", tmp_path / "held.jsonl"
    path.write_bytes(as_jsonl(documents(1, 20), is_hard=False))
    held.write_text('{"text": ""}\n' * 3)
    with pytest.raises(InputError, match=r"there is no text in what is protected .*held"):
        on_cluster(path, tmp_path / "out.jsonl", protect=held)


def test_an_empty_collection_is_copied(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n\n")
    assert on_cluster(path, tmp_path / "two.jsonl") == on_one_machine(path, tmp_path / "one.jsonl")
    assert (tmp_path / "two.jsonl").read_text() == "\n\n"


def test_pairs_and_clusters_are_found_with_their_texts(tmp_path: Path) -> None:
    paths = three_files(tmp_path)
    for crowd in (50, 4):
        one = found(paths, None, tmp_path / "work", crowd=crowd)
        two = found(paths, InProcess(backwards=True), tmp_path / "work", crowd=crowd)
        assert [table.equals(other) for table, other in zip(one[:3], two[:3], strict=True)] == [True] * 3
        assert one[3] == two[3]
        assert one[0].num_rows > 20


@pytest.mark.parametrize("letter", ["n", "é", "日"])
def test_parts_of_files_with_long_names_have_names_of_their_own(tmp_path: Path, letter: str) -> None:
    stem = letter * (230 // len(letter.encode()))
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        (folder / f"{stem}{i}.txt").write_text(f"text {i}")
    answer = on_one_machine(folder, tmp_path / "out")
    assert answer.files == files_in(folder)


@pytest.mark.shared_data
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_a_collection_of_posts_is_cleaned_alike(tmp_path: Path, shared_data: Path, keep: str) -> None:
    source = next((shared_data / "newsgroups").glob("*.jsonl.gz"))
    lines = gzip.decompress(source.read_bytes()).splitlines(keepends=True)[5300:5800]  # with many copies
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(lines))
    how: dict[str, Any] = {"keep": keep, "show": 5, "crowd": 6}
    one = on_one_machine(path, tmp_path / "one.jsonl", **how)
    assert one.removed.num_rows > 20
    assert on_cluster(path, tmp_path / "two.jsonl", split=200_000, **how) == one
