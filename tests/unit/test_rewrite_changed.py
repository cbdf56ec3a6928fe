"""Inputs that change between the reading in which rows are decided on and the one in which they are cut out.

The oracle knows nothing of rows and prints: whatever is done to an input, either the run refuses and leaves all as it
was, or each text that is in the input is in the copy too.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import main
from neardup.errors import InputChanged, SpoolError
from neardup.inputs.reader import Stamps
from neardup.tasks.dedup import run as cleaning_run
from neardup.tasks.rewrite.model import Known

RNG = random.Random(20261122)
TEXTS = [" ".join("".join(RNG.choices("abcdefghij", k=6)) for _ in range(30)) for _ in range(12)]
"""All of one length and with no word in common, so that a file of other texts can be as large to the byte."""
ROWS = [TEXTS[i] for i in (0, 1, 2, 0, 3, 1, 4, 2, 5, 0)]
REMOVED, KEEPER, ALONE = 3, 0, 4
"""Places in ROWS: of a copy that goes, of the one that is kept for it, and of one that has no copy."""


def write_jsonl(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)))


def read_jsonl(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


def write_wide(path: Path, texts: list[str]) -> None:
    path.write_bytes("".join(json.dumps({"text": text}) + "\n" for text in texts).encode("utf-16"))


def read_wide(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_bytes().decode("utf-16").splitlines()]


def write_gz(path: Path, texts: list[str]) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps({"text": text}) + "\n" for text in texts).encode(), mtime=0))


def read_gz(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in gzip.decompress(path.read_bytes()).splitlines()]


def write_csv(path: Path, texts: list[str]) -> None:
    with path.open("w", newline="") as out:
        rows = csv.writer(out, delimiter="\t" if path.suffix == ".tsv" else ",", quoting=csv.QUOTE_ALL)
        rows.writerow(["id", "text"])
        rows.writerows([i, text.replace(" ", "\n", 2)] for i, text in enumerate(texts))  # three lines each


def read_csv(path: Path) -> list[str]:
    with path.open(newline="") as stream:
        rows = csv.reader(stream, delimiter="\t" if path.suffix == ".tsv" else ",")
        return [row[1].replace("\n", " ") for row in rows][1:]


def write_lines(path: Path, texts: list[str]) -> None:
    path.write_text("".join(text + "\n" for text in texts))


def read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def write_parquet(path: Path, texts: list[str]) -> None:
    pq.write_table(pa.table({"n": range(len(texts)), "text": texts}), path, row_group_size=4, compression="none")


def read_parquet(path: Path) -> list[str]:
    return [str(text) for text in pq.read_table(path)["text"].to_pylist()]


def write_feather(path: Path, texts: list[str]) -> None:
    table = pa.table({"n": range(len(texts)), "text": pa.array(texts).dictionary_encode()})
    pyarrow.feather.write_feather(table, path, chunksize=4, compression="uncompressed")


def read_feather(path: Path) -> list[str]:
    return [str(text) for text in pyarrow.feather.read_table(path)["text"].to_pylist()]


def write_dataset(path: Path, texts: list[str]) -> None:
    path.mkdir(exist_ok=True)
    table = pa.table({"text": texts})
    with pa.OSFile(str(path / "data.arrow"), "w") as out, pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table, max_chunksize=4)
    (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}], "_fingerprint": "x"}))
    (path / "dataset_info.json").write_text("{}")


def read_dataset(path: Path) -> list[str]:
    (shard,) = path.rglob("*.arrow")
    with pa.OSFile(str(shard)) as file, pa.ipc.open_stream(file) as stream:
        return [str(text) for text in stream.read_all()["text"].to_pylist()]


def write_texts(path: Path, texts: list[str]) -> None:
    path.mkdir(exist_ok=True)
    for i in range(30):
        file = path / f"{i:02}.txt"
        if i < len(texts):
            file.write_text(texts[i])
        else:
            file.unlink(missing_ok=True)


def read_texts(path: Path) -> list[str]:
    return [file.read_text() for file in sorted(path.glob("*.txt"))]


def write_pages(path: Path, texts: list[str]) -> None:
    write_texts(path, [])
    for i in range(30):
        file = path / f"{i:02}.html"
        if i < len(texts):
            file.write_text(f"<html><body><p>{texts[i]}</p></body></html>")
        else:
            file.unlink(missing_ok=True)


def read_pages(path: Path) -> list[str]:
    return [file.read_text().split("<p>")[1].split("</p>")[0] for file in sorted(path.glob("*.html"))]


Write, Read = Callable[[Path, list[str]], None], Callable[[Path], list[str]]
FORMATS: dict[str, tuple[Write, Read, dict[str, Any]]] = {
    "in.jsonl": (write_jsonl, read_jsonl, {}),
    "in.utf16.jsonl": (write_wide, read_wide, {"encoding": "utf-16"}),
    "in.jsonl.gz": (write_gz, read_gz, {}),
    "in.csv": (write_csv, read_csv, {}),
    "in.tsv": (write_csv, read_csv, {}),
    "in.lines": (write_lines, read_lines, {"input_format": "lines"}),
    "in.parquet": (write_parquet, read_parquet, {}),
    "in.feather": (write_feather, read_feather, {}),
    "dataset": (write_dataset, read_dataset, {}),
    "texts": (write_texts, read_texts, {}),
    "pages": (write_pages, read_pages, {}),
}
FOLDERS = ("texts", "pages")


def edited(place: int) -> list[str]:
    return [TEXTS[9] if i == place else text for i, text in enumerate(ROWS)]


CHANGES = {
    "other order": ROWS[::-1],
    "a removed one": edited(REMOVED),
    "a kept one": edited(KEEPER),
    "one more": [*ROWS, TEXTS[9]],
    "one less": ROWS[:-1],
    "none": [],
}
each_change = pytest.mark.parametrize("change", CHANGES)


def files_in(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.iterdir())


def with_old_times(path: Path, change: Callable[[], None]) -> None:
    """Change a file, or those of a folder, and set their times back."""
    times = {file: (file.stat().st_atime_ns, file.stat().st_mtime_ns) for file in files_in(path)}
    change()
    for file, ns in times.items():
        if file.exists():
            os.utime(file, ns=ns)


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Have something done when all texts were read and none was cut."""

    def do(change: Callable[[], None]) -> None:
        plain = cleaning_run.choose

        def choose(*args: Any) -> Any:
            change()
            return plain(*args)

        monkeypatch.setattr(cleaning_run, "choose", choose)

    return do


def run(path: Path, output: Path, **how: Any) -> Any:
    return neardup.dedup(path, output=output, keep="first", threads=1, **FORMATS[path.name][2], **how)


def place_for(path: Path) -> Path:
    """Where the copy goes: a file that is there already, or for folders a new one."""
    output = path.parent / "out" / path.name
    output.parent.mkdir()
    if path.is_file():
        output.write_bytes(b"the copy of last week")
    return output


def check_refused(path: Path, output: Path, **how: Any) -> None:
    with pytest.raises(InputChanged) as caught:
        run(path, output, **how)
    assert path.name in str(caught.value)
    assert "start" in str(caught.value)
    check_nothing_happened(output)


def check_nothing_happened(output: Path) -> None:
    left = [file.read_bytes() for file in output.parent.rglob("*") if file.is_file()]
    assert left in ([], [b"the copy of last week"])


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / request.param
    FORMATS[path.name][0](path, ROWS)
    return path


each_format = pytest.mark.parametrize("place", FORMATS, indirect=True)


@each_format
def test_an_input_that_stays_as_it_was_loses_its_copies_only(place: Path) -> None:
    output = place_for(place)
    run(place, output)
    assert sorted(FORMATS[place.name][1](output)) == sorted(TEXTS[:6])


@each_format
@each_change
def test_an_input_that_is_replaced_is_refused(place: Path, between: Any, change: str) -> None:
    other = place.with_name("other")
    FORMATS[place.name][0](other, CHANGES[change])

    def replace() -> None:
        if place.is_dir():
            shutil.rmtree(place)
        other.replace(place)

    between(replace)
    if place.name not in FOLDERS or change != "one more":  # a file that comes later is not of the input
        check_refused(place, place_for(place))


@each_format
@each_change
def test_an_input_that_is_changed_in_place_and_given_its_old_time_is_refused(
    place: Path, between: Any, change: str
) -> None:
    between(lambda: with_old_times(place, lambda: FORMATS[place.name][0](place, CHANGES[change])))
    if place.name not in FOLDERS or change != "one more":
        check_refused(place, place_for(place))


@each_format
def test_an_input_that_is_gone_is_refused(place: Path, between: Any) -> None:
    between(lambda: place.rename(place.with_name("elsewhere")))
    with pytest.raises(InputChanged, match=place.name):
        run(place, output := place_for(place))
    check_nothing_happened(output)


@each_format
def test_a_document_that_has_no_copy_may_have_changed_and_is_not_lost(place: Path, between: Any) -> None:
    between(lambda: with_old_times(place, lambda: FORMATS[place.name][0](place, edited(ALONE))))
    output = place_for(place)
    if place.name in (*FOLDERS, "in.jsonl.gz"):  # each file is looked at; the size is another
        check_refused(place, output)
        return
    run(place, output)
    assert set(edited(ALONE)) <= set(FORMATS[place.name][1](output))


@each_format
def test_rights_links_and_a_like_file_in_its_place_change_nothing(place: Path, between: Any) -> None:
    def touch() -> None:
        for file in files_in(place):
            os.link(file, file.with_name("link"))
            (file.with_name("link")).unlink()
            file.chmod(0o600)
        first = files_in(place)[0]
        shutil.copy2(first, first.with_name("copy"))
        first.with_name("copy").replace(first)

    between(touch)
    output = place_for(place)
    run(place, output)
    assert sorted(FORMATS[place.name][1](output)) == sorted(TEXTS[:6])


@pytest.mark.parametrize("place", [name for name in FORMATS if name not in (*FOLDERS, "in.lines")], indirect=True)
@pytest.mark.parametrize("change", ["other order", "a removed one", "a kept one"])
def test_an_input_that_is_annotated_is_held_against_what_was_read_too(place: Path, between: Any, change: str) -> None:
    between(lambda: with_old_times(place, lambda: FORMATS[place.name][0](place, CHANGES[change])))
    check_refused(place, place_for(place), annotate=True)


@pytest.mark.parametrize("place", ["in.jsonl", "in.csv", "in.parquet", "in.feather", "texts"], indirect=True)
@pytest.mark.parametrize("restored", [True, False])
def test_a_protected_input_that_changed_is_refused_though_it_is_not_written(
    place: Path, tmp_path: Path, between: Any, restored: bool
) -> None:
    mine = tmp_path / "mine.jsonl"
    write_jsonl(mine, [TEXTS[0], TEXTS[6]])

    def change() -> None:
        FORMATS[place.name][0](place, [TEXTS[9] if text == TEXTS[0] else text for text in ROWS])

    between(lambda: with_old_times(place, change) if restored else change())
    output = tmp_path / "out" / "clean.jsonl"
    output.parent.mkdir()
    with pytest.raises(InputChanged, match=place.name):
        neardup.dedup(mine, output=output, protect=place, threads=1)
    assert list(output.parent.iterdir()) == []


@pytest.mark.parametrize("place", ["in.parquet", "in.feather", "in.jsonl", "in.csv"], indirect=True)
def test_a_file_that_loses_nothing_is_held_against_what_was_read_where_others_go_for_its_documents(
    place: Path, between: Any
) -> None:
    FORMATS[place.name][0](place, TEXTS[:6])
    other = place.with_name("z.jsonl")
    write_jsonl(other, [TEXTS[0], TEXTS[7]])
    between(lambda: with_old_times(place, lambda: FORMATS[place.name][0](place, [TEXTS[9], *TEXTS[1:6]])))
    output = place.parent / "out"
    with pytest.raises(InputChanged, match=place.name):
        neardup.dedup([place, other], output=output, keep="first", threads=1)
    assert not output.exists()


def test_the_column_that_decides_is_read_later_and_must_be_of_the_same_file(tmp_path: Path, between: Any) -> None:
    path = tmp_path / "in.jsonl"

    def write(stars: int) -> None:
        rows = [{"text": TEXTS[0], "stars": 5}, {"text": TEXTS[0], "stars": stars}]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    write(3)
    between(lambda: write(77))
    for args in (["-o", str(tmp_path / "out.jsonl")], ["--dry-run", "--removed", str(tmp_path / "gone.csv")]):
        write(3)
        done = CliRunner().invoke(main, ["dedup", str(path), "--keep", "max:stars", *args])
        assert done.exit_code == 1
        assert "in.jsonl has" in done.stderr
        assert sorted(file.name for file in tmp_path.iterdir()) == ["in.jsonl"]


@pytest.mark.parametrize("restored", [True, False])
def test_nothing_goes_to_stdout_of_an_input_that_changed(tmp_path: Path, between: Any, restored: bool) -> None:
    path = tmp_path / "in.jsonl"
    write_jsonl(path, ROWS)

    def change() -> None:
        write_jsonl(path, ROWS[::-1])

    between(lambda: with_old_times(path, change) if restored else change())
    done = CliRunner().invoke(main, ["dedup", str(path), "-o", "-", "--removed", str(tmp_path / "gone.csv")])
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "in.jsonl was" in done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.jsonl"]


def test_a_run_that_is_resumed_after_the_input_changed_is_refused_and_its_work_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, work, output = tmp_path / "in.jsonl", tmp_path / "work", tmp_path / "out.jsonl"
    write_jsonl(path, ROWS)
    plain = cleaning_run.choose

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    def broken() -> None:
        monkeypatch.setattr(cleaning_run, "choose", stop)
        with pytest.raises(KeyboardInterrupt):
            neardup.dedup(path, output=output, workdir=work, threads=1)
        monkeypatch.setattr(cleaning_run, "choose", plain)

    broken()
    with_old_times(path, lambda: write_jsonl(path, ROWS[::-1]))  # of what a second process sees, nothing differs
    with pytest.raises(InputChanged, match=r"in\.jsonl was changed"):
        neardup.dedup(path, output=output, workdir=work, resume=True, threads=1)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.jsonl"]
    broken()
    write_jsonl(path, ROWS)
    with pytest.raises(SpoolError, match=r"inputs.*changed"):
        neardup.dedup(path, output=output, workdir=work, resume=True, threads=1)
    assert not output.exists()


def no_stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stamps, "look", lambda stamps: (None, []))


def no_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Known, "_check", lambda known, documents, part: None)
    monkeypatch.setattr(Known, "check_end", lambda known, tally: None)


@pytest.mark.parametrize("place", ["in.jsonl", "in.csv", "in.parquet", "dataset"], indirect=True)
def test_texts_alone_tell_and_stamps_alone_tell_and_without_both_documents_are_lost(
    place: Path, between: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    between(lambda: FORMATS[place.name][0](place, CHANGES["other order"]))
    output = place_for(place)

    def again() -> None:
        FORMATS[place.name][0](place, ROWS)

    with monkeypatch.context() as patched:
        no_stamps(patched)
        check_refused(place, output)
    again()
    with monkeypatch.context() as patched:
        no_prints(patched)
        check_refused(place, output)
    again()
    no_stamps(monkeypatch)
    no_prints(monkeypatch)
    run(place, output)
    assert not set(ROWS) <= set(FORMATS[place.name][1](output))


def test_the_number_of_records_tells_where_nothing_else_does(tmp_path: Path, between: Any) -> None:
    path = tmp_path / "in.jsonl"
    write_jsonl(path, ROWS)
    blank = path.read_text().replace(json.dumps({"id": ALONE, "text": TEXTS[3]}), "")
    short = blank + " " * (path.stat().st_size - len(blank))
    between(lambda: with_old_times(path, lambda: path.write_text(short) and None))
    check_refused(path, place_for(path))


def test_bad_records_are_counted_in_both_readings(tmp_path: Path) -> None:
    jsonl, table = tmp_path / "in.jsonl", tmp_path / "in.csv"
    jsonl.write_text(f'{{"text": "{TEXTS[0]}"}}\n\n{{"text": 5}}\nnonsense\n  \n{{"text": "{TEXTS[0]}"}}\n')
    table.write_text(f'id,text\n1,{TEXTS[1]}\n,{TEXTS[1]}\n3\n\n4,{TEXTS[1]}\n5,"open\n')
    parquet = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": [TEXTS[2], None, TEXTS[2]]}), parquet)
    for annotate in (False, True):
        output = tmp_path / f"out{annotate}"
        done = neardup.dedup([jsonl, table, parquet], output=output, on_bad="skip", annotate=annotate, threads=1)
        assert (done.summary.bad, done.summary.removed) == (6, 3)
        assert len(list(output.iterdir())) == 3
