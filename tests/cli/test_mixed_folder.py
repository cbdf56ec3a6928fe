"""A folder of many formats, nested, read by one command: counts equal to an oracle, and nothing passed over unsaid."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests.unit.reading import lz4, zstd

from neardup.cli import main
from neardup.inputs.passed import suffix_of
from neardup.inputs.reader import open_inputs

pytest.importorskip("lxml")
pytest.importorskip("pypdfium2")

TEXTS = [
    "The quick brown fox jumps over the lazy dog near the bank of the river, and goes home before it is dark.",
    "A committee of nine members has looked at each of the papers and has not found that one of them is a copy.",
    "Flour, two eggs, a little salt, some milk; whisk it well, let it rest for an hour, and bake it on both sides.",
]
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".zst": zstd, ".bz2": bz2.compress, ".xz": lzma.compress, ".lz4": lz4,
}  # fmt: skip


def jsonl(texts: list[str]) -> bytes:
    return "".join(json.dumps({"id": f"{i}", "text": text}) + "\n" for i, text in enumerate(texts)).encode()


def table(texts: list[str], delimiter: str) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([["key", "title"], *([i, text] for i, text in enumerate(texts))])
    return out.getvalue().encode()


def stored(save: Callable[[Any, Any], Any], texts: list[str]) -> bytes:
    sink = pa.BufferOutputStream()
    save(pa.table({"doc_id": list(range(len(texts))), "story": texts}), sink)
    return sink.getvalue().to_pybytes()


def workbook(texts: list[str]) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in [["id", "title"], *([i, text] for i, text in enumerate(texts))]:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


def docx(text: str) -> bytes:
    out = io.BytesIO()
    main_part = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f'<w:document xmlns:w="{main_part}"><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>'
    with zipfile.ZipFile(out, "w") as package:
        package.writestr("word/document.xml", body)
    return out.getvalue()


def archive(files: dict[str, bytes], kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as package:
            for name, content in files.items():
                package.writestr(name, content)
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Makes ``mix``, and tells how many documents each of its files has; of what is not to be read none."""
    monkeypatch.chdir(tmp_path)
    records: dict[str, bytes] = {f"r.jsonl{suffix}": pack(jsonl(TEXTS)) for suffix, pack in PACKINGS.items()}
    records |= {"lines.json": jsonl(TEXTS), "t.csv": table(TEXTS, ","), "t.tsv.xz": lzma.compress(table(TEXTS, "\t"))}
    records |= {"p.parquet": stored(pq.write_table, TEXTS), "a.feather": stored(feather.write_feather, TEXTS)}
    records |= {"w.xlsx": workbook(TEXTS)}
    singles = {"one.txt": TEXTS[0].encode(), "two.MD": TEXTS[0].encode(), "page.html": f"<p>{TEXTS[0]}</p>".encode()}
    singles |= {"three.txt.bz2": bz2.compress(TEXTS[0].encode()), "letter.docx": docx(TEXTS[0])}
    packed = {"in.jsonl": jsonl(TEXTS), "deep/x.txt": TEXTS[0].encode(), "p.parquet": records["p.parquet"]}
    archives = {"z.zip": archive(packed, "zip"), "z.tar.gz": archive(packed, "tar")}
    unread = {
        "old.doc": b"x", "memo.wps": b"x", "mail.msg": b"x", "photo.jpg": b"x", "README": b"x", "conf.json": b"{\n}",
        "grades.csv": b"name,grade\nA,1\n", ".hidden.txt": b"x", "~$letter.docx": b"x",
    }  # fmt: skip
    counts: dict[str, int] = {}
    for where in ("", "a", "a/b", "a/b/c"):
        Path("mix", where).mkdir()
        for files, number in ((records, 3), (singles, 1), (archives, 7), (unread, 0)):
            for name, content in files.items():
                path = os.path.join("mix", where, name)
                Path(path).write_bytes(content)
                counts[path] = number
    return counts


def run(*args: str) -> Result:
    result = CliRunner().invoke(main, list(args), prog_name="neardup")
    assert result.exit_code == 0, result.output
    return result


def test_all_of_a_mixed_folder_is_read_or_said(folder: dict[str, int]) -> None:
    summary = json.loads(run("find", "mix", "-o", "mix/pairs.csv", "--json").stdout)
    assert summary["documents"] == sum(folder.values())
    assert summary["bad"] == 0
    unread = Counter(
        "lock" if "~$" in path else "hidden" if "/." in path else suffix_of(path)
        for path, documents in folder.items()
        if not documents
    )
    passed = Counter[str]()
    for each in summary["passed_over"]:
        passed[each["suffix"] or {"lock file": "lock", "hidden file": "hidden"}.get(each["reason"], "")] += each[
            "count"
        ]
    assert passed == unread
    assert all(each["cure"] for each in summary["passed_over"] if each["suffix"] in (".doc", ".wps", ".msg"))
    kinds = Counter(folder.values())  # the first text is in all files, twice more than the others in archives
    copies = [kinds[3] + kinds[1] + 3 * kinds[7], *[kinds[3] + 2 * kinds[7]] * 2]
    assert summary["pairs"] == sum(n * (n - 1) // 2 for n in copies)
    assert summary["exact_copies"] == summary["documents"] - 3
    assert summary["clusters"] == 3
    again = json.loads(run("find", "mix", "-o", "mix/pairs.csv", "--json").stdout)
    assert again["documents"] == summary["documents"]
    assert sum(e["count"] for e in again["passed_over"] if e["reason"] == "written by neardup") == 2


def test_a_damaged_file_of_a_folder_ends_the_run_or_is_skipped_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    names = ["a.parquet", "b.xlsx", "c.feather", "d.zip", "e.tar.gz", "f.jsonl.gz"]
    for name in names:
        Path("d", name).write_bytes(b"junk " * 100)
    for name in ("empty.jsonl", "empty.csv"):
        Path("d", name).touch()
    Path("d", "good.txt").write_text(TEXTS[0])
    failed = CliRunner().invoke(main, ["find", "d"])
    assert failed.exit_code == 1
    assert "d/a.parquet cannot be read as Parquet" in failed.stderr
    assert "Or pass over such files of the folder with --on-bad skip" in failed.stderr
    summary = json.loads(run("find", "d", "--on-bad", "skip", "--json").stdout)
    assert summary["documents"] == 1
    assert {(each["reason"], each["suffix"]) for each in summary["passed_over"]} == {
        ("damaged", suffix_of(name)) for name in names
    }
    for name in names:
        Path("d", name).unlink()
    run("dedup", "d", "-o", "clean", "--quiet")
    assert sorted(os.listdir("clean")) == ["empty.csv", "empty.jsonl", "good.txt"]


def test_its_ids_and_their_order_are_the_same_each_time(folder: dict[str, int]) -> None:
    def names() -> list[str]:
        return [
            f"{batch.source} {row}" for batch in (task() for task in open_inputs("mix").tasks()) for row in batch.rows
        ]

    first = names()
    assert first == names()
    assert len(set(first)) == len(first) == sum(folder.values())


def test_every_other_command_reads_the_same(folder: dict[str, int]) -> None:
    documents = sum(folder.values())
    assert json.loads(run("plan", "mix", "--json").stdout)["collection"]["documents"] == documents
    assert json.loads(run("audit", "mix", "--json").stdout)["documents"] == 3  # distinct texts
    built = run("index", "build", "x.index", "mix", "--on-duplicate", "skip", "--json")
    assert json.loads(built.stdout)["added"] + json.loads(built.stdout)["skipped"] == documents
    assert f"documents     {documents:,} " in run("report", "mix", "-o", "pages").stderr


def test_dedup_writes_each_file_of_a_folder_back_in_its_own_format(folder: dict[str, int]) -> None:
    for path in folder:
        if path.endswith((".zip", ".tar.gz")):
            os.unlink(path)
    kept = {path: count for path, count in folder.items() if os.path.exists(path) and count}
    run("dedup", "mix", "-o", "clean", "--keep", "first", "--quiet")
    left = {
        os.path.relpath(os.path.join(where, name), "clean") for where, _, names in os.walk("clean") for name in names
    }
    wanted = {os.path.relpath(path, "mix") for path in kept if kept[path] > 1}
    singles = {os.path.relpath(path, "mix") for path in kept if kept[path] == 1}
    assert wanted <= left <= wanted | singles
    reader = open_inputs("clean", on_bad="skip")
    assert sum(len(task().documents) for task in reader.tasks()) == 3
    for suffix in (".gz", ".zst", ".xz", ".lz4"):
        mine, other = (Path(root, "a", f"r.jsonl{suffix}").read_bytes() for root in ("mix", "clean"))
        assert mine[:4] == other[:4]
    assert bz2.decompress(Path("clean", "a", "r.jsonl.bz2").read_bytes()) == b""
