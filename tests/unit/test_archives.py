"""Zip and tar archives are read as the folder that they were made of; bombs, tricks and damage end in a message."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.unit.reading import Everything, lz4, read, zstd

import neardup
from neardup.cli import main
from neardup.errors import InputError
from neardup.inputs import archives
from neardup.inputs.reader import open_inputs

KINDS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar.lz4")
TEXT = "a text of several words, the same in more than one of the files"


def fill(folder: Path) -> None:
    """A folder with files of most formats, some of which are passed over."""
    (folder / "in" / "deep").mkdir(parents=True)
    (folder / "one.txt").write_text(TEXT)
    (folder / "in" / "two.txt.gz").write_bytes(__import__("gzip").compress(TEXT.encode()))
    (folder / "in" / "page.html").write_text(f"<p>{TEXT}")
    lines = [json.dumps({"id": f"j{i}", "text": f"{TEXT} {i}"}) for i in range(3)]
    (folder / "in" / "some.jsonl").write_text("\n".join(lines))
    (folder / "in" / "deep" / "some.json.zst").write_bytes(zstd("\n".join(lines).encode()))
    (folder / "in" / "deep" / "t.csv").write_text(f'key,title\nc,"{TEXT}"\n')
    (folder / "side.csv").write_text("name,grade\na,1\n")
    (folder / "conf.json").write_text('{\n"a": 1}')
    (folder / ".hidden.txt").write_text(TEXT)
    (folder / "old.doc").write_text(TEXT)
    pq.write_table(pa.table({"text": [TEXT, None]}), folder / "in" / "p.parquet")


def pack(folder: Path, path: Path) -> Path:
    """An archive of a folder, in the order of the names."""
    names = sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
            for name in names:
                package.write(folder / name, name)
        return path
    codec = {".tgz": "gz", ".gz": "gz", ".bz2": "bz2", ".xz": "xz"}.get(path.suffix, "")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{codec}") as package:  # type: ignore[call-overload]
        for name in names:
            package.add(folder / name, f"./{name}")
    pack_more = {".zst": zstd, ".lz4": lz4}.get(path.suffix, bytes)
    path.write_bytes(pack_more(out.getvalue()))
    return path


def found(every: Everything, root: str) -> Counter[tuple[str, str]]:
    """Ids without the name of the folder or archive, with their texts."""
    return Counter((str(id).replace(f"{root}/", ""), text) for id, text in zip(every.ids, every.texts, strict=True))


def passed(reader: Any) -> dict[tuple[str, str], int]:
    return {(each.reason, each.suffix): each.count for each in reader.passed_over}


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_is_read_as_the_folder_that_it_was_made_of(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "docs"
    fill(folder)
    path = pack(folder, tmp_path / f"a{kind}")
    wanted, every = read(folder, on_bad="skip"), read(path, on_bad="skip")
    assert found(every, str(path)) == found(wanted, str(folder))
    assert (every.bad, len(every.texts)) == (wanted.bad, 11) == (1, 11)
    assert passed(open_inputs(path)) == passed(open_inputs(folder))
    assert every.ids == read(path, on_bad="skip").ids


@pytest.mark.parametrize("kind", [".zip", ".tar.gz"])
def test_what_is_asked_for_is_read_of_an_archive(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "docs"
    fill(folder)
    path = pack(folder, tmp_path / f"a{kind}")
    assert read(path, glob="*.csv", text="2", id="1").ids == ["c", "a"]
    assert len(read(path, glob="*.jsonl").texts) == 3
    assert len(read(path, input_format="jsonl", on_bad="skip").texts) == 6
    with pytest.raises(InputError, match="no column 'story'"):
        read(path, text="story")
    (tmp_path / "both").mkdir()
    shutil.copy(path, tmp_path / "both")
    (tmp_path / "both" / "z.txt").write_text("outside")
    assert len(read(tmp_path / "both", on_bad="skip").texts) == 12


def test_the_commands_take_an_archive_and_dedup_says_what_to_do_with_it(tmp_path: Path) -> None:
    fill(tmp_path / "docs")
    path = str(pack(tmp_path / "docs", tmp_path / "a.zip"))
    result = CliRunner().invoke(main, ["find", path, "--on-bad", "skip", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["documents"] == 11
    refused = CliRunner().invoke(main, ["dedup", path, "-o", str(tmp_path / "out")])
    assert refused.exit_code == 1
    assert "is an archive, of which no clean copy is made. Unpack it (unzip" in refused.stderr
    tar = pack(tmp_path / "docs", tmp_path / "a.tar.xz")
    cleaned = neardup.dedup(tmp_path / "docs" / "one.txt", protect=tar, output=tmp_path / "clean", on_bad="skip")
    assert cleaned.summary.removed == 1


def test_names_that_lead_out_and_links_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as package:
        for name in ("../../up.txt", "/abs.txt", "plain.txt", "plain.txt"):
            info = tarfile.TarInfo(name)
            info.size = 4
            package.addfile(info, io.BytesIO(b"text"))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo(f"link{kind.decode()}.txt")
            info.type, info.linkname = kind, "/etc/passwd"
            package.addfile(info)
    reader = open_inputs(path)
    assert sorted(map(str, read(path).ids)) == [f"{path}/{name}" for name in ("../../up.txt", "/abs.txt", "plain.txt")]
    assert passed(reader) == {("no regular file", ""): 3, ("replaced", ""): 1}
    assert os.listdir(tmp_path) == ["a.tar"]


@pytest.mark.parametrize("kind", [".zip", ".tar.gz", ".tar.xz"])
def test_a_bomb_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(archives, "UNSUSPICIOUS", 1 << 20)
    monkeypatch.setattr(archives, "MOST_TIMES", 20)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.jsonl").write_bytes(b'{"text": "x"}\n' * 1_000_000)
    path = pack(tmp_path / "docs", tmp_path / f"a{kind}")
    with pytest.raises(InputError, match=r"unpacks to more than .* Unpack it by hand"):
        read(path)


def test_a_text_that_is_too_large_is_a_bad_record_and_is_not_unpacked(tmp_path: Path) -> None:
    from neardup.inputs.source import RecordLimit

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("small")
    (tmp_path / "docs" / "b.txt").write_bytes(b"x" * 3_000_000)
    (tmp_path / "docs" / "c.txt").write_text("small too")
    path = pack(tmp_path / "docs", tmp_path / "a.zip")
    limit = RecordLimit()
    limit.set(1_000_000, memory=10**9, growth=1.0, together=1_000_000)
    reader = open_inputs(path, limit=limit, on_bad="skip")
    batches = [task() for task in reader.tasks()]
    assert [batch.rows.tolist() for batch in batches if len(batch.documents)] == [[1], [3]]
    assert sum(batch.bad for batch in batches) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_told(tmp_path: Path, kind: str) -> None:
    fill(tmp_path / "docs")
    path = pack(tmp_path / "docs", tmp_path / f"a{kind}")
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"junk" * 500, b""):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"cannot be read as an archive|damaged or cut short|no \w+ file|is empty"):
            read(path, on_bad="skip")


@pytest.mark.parametrize("kind", [".tar", ".tar.gz"])
def test_a_tar_that_ends_in_its_middle_is_refused(tmp_path: Path, kind: str) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as package:
        for i in range(3):
            info = tarfile.TarInfo(f"{i}.txt")
            info.size = len(TEXT)
            package.addfile(info, io.BytesIO(TEXT.encode()))
    whole = out.getvalue()
    second, end = 1024, 3 * 1024  # each member has a head and a block
    flipped = bytearray(whole)
    flipped[second + 150] ^= 1
    zeros = whole[:second] + bytes(512) + whole[second + 512 :]
    negative = bytearray(whole)
    negative[second + 124 : second + 136] = (-1024).to_bytes(12, "big", signed=True)
    negative[second + 148 : second + 156] = b" " * 8
    negative[second + 148 : second + 156] = b"%06o\0 " % sum(negative[second : second + 512])
    archive = tmp_path / f"b{kind}"
    for cut in (flipped, whole[: second + 100], whole[:second], whole[:end], zeros, whole + whole, negative):
        archive.write_bytes(gzip.compress(cut) if kind == ".tar.gz" else cut)
        with pytest.raises(InputError, match="cannot be read as an archive"):
            read(archive, on_bad="skip")
    for good in (whole, whole[: end + 1024], whole[: end + 512]):
        archive.write_bytes(gzip.compress(good) if kind == ".tar.gz" else good)
        assert read(archive).texts == [TEXT] * 3


@pytest.mark.parametrize("suffix", ["txt", "md", "html", "txt.gz"])
def test_a_damaged_text_in_a_zip_is_one_bad_document(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as package:
        for name in "abc":
            text = f"{TEXT} {name}".encode()
            package.writestr(f"{name}.{suffix}", gzip.compress(text, mtime=0) if suffix == "txt.gz" else text)
    data = bytearray(path.read_bytes())
    data[data.index(f"b.{suffix}".encode()) + len(f"b.{suffix}") + 12] ^= 1
    path.write_bytes(data)
    every = read(path, on_bad="skip")
    assert (every.texts, every.bad) == ([f"{TEXT} a", f"{TEXT} c"], 1)
    assert f"b.{suffix}" in every.faults[0]
    assert "CRC" in every.faults[0]
    if suffix != "html":  # a document that cannot be read ends no run
        with pytest.raises(InputError, match=rf"a\.zip/b\.{suffix} .*CRC"):
            read(path)


@pytest.mark.parametrize(("method", "name"), [(93, "Zstandard"), (99, "AES encryption"), (77, "77")])
def test_a_member_packed_by_another_method_is_named_with_the_method(tmp_path: Path, method: int, name: str) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("a.txt", TEXT)
        package.writestr("b.txt", TEXT)
    data = bytearray(path.read_bytes())
    for place in (data.rindex(b"PK\x03\x04") + 8, data.rindex(b"PK\x01\x02") + 10):
        data[place : place + 2] = method.to_bytes(2, "little")
    path.write_bytes(data)
    every = read(path, on_bad="skip")
    assert (every.texts, every.bad) == ([TEXT], 1)
    with pytest.raises(InputError, match=rf"b\.txt is packed by the method .*{name}.* Unpack .* \(7z x") as refused:
        read(path)
    assert "Fetch it again" not in str(refused.value)


def test_what_is_locked_or_nested_is_told_with_the_cure(tmp_path: Path) -> None:
    fill(tmp_path / "docs")
    inner = pack(tmp_path / "docs", tmp_path / "inner.zip")
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as package:
        package.write(inner, "inner.zip")
        package.writestr("a.txt", TEXT)
        package.writestr("secret.txt", TEXT)
    raw = bytearray(path.read_bytes())
    at = raw.rindex(b"PK\x01\x02")  # of secret.txt
    raw[at + 8] |= 1
    path.write_bytes(raw)
    reader = open_inputs(path)
    assert len(read(path).texts) == 1
    assert passed(reader) == {("archive in an archive", ".zip"): 1, ("encrypted", ".txt"): 1}
    assert all(each.cure for each in reader.passed_over)


def test_an_archive_with_nothing_to_read_says_what_it_holds(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as package:
        package.writestr("a.doc", "x")
    with pytest.raises(InputError, match=r"holds no file that is read, only 1 \.doc"):
        open_inputs(tmp_path / "a.zip")


def test_a_tar_is_read_from_its_beginning_as_few_times_as_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    for i in range(20):
        (tmp_path / "docs" / f"{i}.jsonl").write_text('{"text": "x"}\n')
        (tmp_path / "docs" / f"{i}.txt").write_text("text")
    path = pack(tmp_path / "docs", tmp_path / "a.tar.gz")
    times = []
    rewind = archives.Archive._rewind
    monkeypatch.setattr(archives.Archive, "_rewind", lambda self: (times.append(1), rewind(self))[1])
    assert len(read(path).texts) == 40
    assert len(times) == 3  # to look, for the texts, for the records
