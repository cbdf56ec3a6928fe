"""Texts that are not kept: read again by their places, the same ones, or the file is said to have changed."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.engine.observe import Silent
from neardup.engine.reading.collection import collect
from neardup.engine.space import Budget, Space
from neardup.errors import InputChanged
from neardup.inputs.names import Provenance
from neardup.inputs.reader import open_inputs
from neardup.kernels.reading import NEAR, STAGE, copy_pieces, read_pieces
from neardup.tuning import make_spec
from neardup.types import Documents

pytestmark = pytest.mark.usefixtures("none_at_hand")
PLENTY = 1 << 30
AWKWARD = [
    "plain",
    "",
    "tab\there",
    'a "quote"',
    "line\nbreak",
    "é",
    "日本語のテキスト",
    "\u0065\u0301 apart",
    "\\",
    "x" * 5000,
]
SPEC = make_spec(shingle="char:3", threshold=0.5)


def collected(path: Path, *, workdir: Path | None = None, threads: int = 2, **options):
    reader = open_inputs(path, **options)
    space = Space(Budget(PLENTY, PLENTY), workdir, {}, at_once=workdir is not None)
    collection = collect(
        reader.tasks(),
        SPEC,
        total_bytes=reader.total_bytes,
        threads=threads,
        names=Provenance(),
        observer=Silent(),
        space=space,
        reopened=reader.reopened,
    )
    return collection, space, reader


def texts_of(collection, rows: np.ndarray) -> list[str]:
    found = [""] * rows.size
    for documents, local, part in collection.texts.parts(rows):
        for place, at in zip(local.tolist(), range(part.start, part.stop), strict=True):
            found[at] = documents.blob(place).decode()
    return found


def jsonl(texts: list[str], *, ascii_only: bool) -> str:
    lines = []
    for i, text in enumerate(texts):
        record = {"more": [1, {"text": "no"}], "text": text, "id": i} if i % 3 else {"id": i, "text": text}
        lines.append(json.dumps(record, ensure_ascii=ascii_only))
        if i % 4 == 0:
            lines.append(" " * (i % 3))
    return "\n".join(lines)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ["", "\n"])
@pytest.mark.parametrize("block", [None, 3])
def test_each_record_of_a_plain_file_is_found_at_its_place(tmp_path: Path, mark: str, ending: str, block: int | None):
    texts = [f"{text} {i}" if i % 7 else text for i, text in enumerate(AWKWARD * 5)]
    for name, content, expected in (
        ("a.jsonl", jsonl(texts, ascii_only=False), texts),
        ("b.jsonl", jsonl(texts, ascii_only=True), texts),
        ("c.txt", "\r\n".join(flat := [text.replace("\n", " ") or "-" for text in texts]), flat),
    ):
        path = tmp_path / name
        path.write_bytes((mark + content + ending).encode())
        collection, _, _ = collected(path, input_format="lines" if name == "c.txt" else None, block=block)
        assert len(collection.texts.kept) == 0
        everyone = np.arange(len(expected))
        wanted = [text.replace("e\u0301", "é") for text in expected]
        assert texts_of(collection, everyone) == wanted
        some = everyone[:: 3 if block else 2]
        assert texts_of(collection, some) == [wanted[row] for row in some]
        assert collection.texts.lengths(everyone[::-1]).tolist() == [len(text.encode()) for text in wanted[::-1]]


def test_what_cannot_be_read_in_parts_is_kept(tmp_path: Path):
    content = jsonl(AWKWARD, ascii_only=False).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(content))
    (tmp_path / "b.jsonl").write_bytes(content.decode().encode("utf-16"))
    for name, encoding in (("a.jsonl.gz", "utf-8"), ("b.jsonl", "utf-16")):
        collection, _, _ = collected(tmp_path / name, encoding=encoding)
        assert len(collection.texts.kept) == len(AWKWARD)
        assert texts_of(collection, np.arange(3)) == AWKWARD[:3]


def test_a_folder_of_both_gives_every_text_to_its_row(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    expected = []
    for i in range(6):
        texts = [f"{text} of {i}" for text in AWKWARD]
        content = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
        (folder / (f"{i}.jsonl.gz" if i % 2 else f"{i}.jsonl")).write_bytes(
            gzip.compress(content) if i % 2 else content
        )
        expected += [text.replace("e\u0301", "é") for text in texts]
    for workdir in (None, tmp_path / "work"):
        collection, space, _ = collected(folder, workdir=workdir)
        assert 0 < len(collection.texts.kept) < len(collection)
        rows = np.arange(1, len(expected), 2)
        assert texts_of(collection, rows) == [expected[row] for row in rows]
        same = collection.texts.same(rows, rows[::-1].copy(), 1 << 20)
        assert same.tolist() == [expected[a] == expected[b] for a, b in zip(rows, rows[::-1], strict=True)]
        space.close(finished=True)


def test_files_that_are_one_document_each_are_read_again(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    texts = [f"{text} in file {i}" for i, text in enumerate(AWKWARD)]
    for i, text in enumerate(texts):
        (folder / f"{i}.txt").write_bytes(text.encode())
    collection, _, _ = collected(folder)
    assert len(collection.texts.kept) == 0
    rows = np.array([1, 4, 7, 9])
    assert texts_of(collection, rows) == [texts[row].replace("e\u0301", "é") for row in rows]
    (folder / "4.txt").write_text("another")
    with pytest.raises(InputChanged, match=r"4\.txt was changed while"):
        texts_of(collection, rows)
    (folder / "4.txt").unlink()
    with pytest.raises(InputChanged, match=r"4\.txt was removed while"):
        texts_of(collection, rows)


def pairs_after(path: Path, change, monkeypatch: pytest.MonkeyPatch):
    """``find`` on a file to which something happens when all of it was read."""
    from neardup.engine import run

    found = run.find_copies

    def changed(collection, **more):
        change(path)
        return found(collection, **more)

    monkeypatch.setattr(run, "find_copies", changed)
    return neardup.find(path, threshold=0.5)


def longer(path: Path) -> None:
    with path.open("a") as file:
        file.write("\n")


def another_text_of_one_length(path: Path) -> None:
    facts = path.stat()
    path.write_bytes(path.read_bytes().replace(b"seventh", b"SEVENTH"))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def no_record_any_more(path: Path) -> None:
    facts = path.stat()
    path.write_bytes(path.read_bytes().replace(b'{"text"', b'["text"'))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def touched(path: Path) -> None:
    os.utime(path, ns=(0, 0))


@pytest.mark.parametrize(
    "change", [longer, another_text_of_one_length, no_record_any_more, touched, a_pipe, Path.unlink]
)
def test_a_file_that_changed_is_named_and_never_compared(tmp_path: Path, change, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "changing.jsonl"
    path.write_text(
        "".join(json.dumps({"text": f"this is the seventh text of all, {i // 2}"}) + "\n" for i in range(40))
    )
    with pytest.raises(InputChanged, match=r"changing\.jsonl (was changed|was removed) while the run went on"):
        pairs_after(path, change, monkeypatch)


def test_a_file_that_stays_as_it_is_does_not_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "same.jsonl"
    path.write_text(
        "".join(json.dumps({"text": f"this is the seventh text of all, {i // 2}"}) + "\n" for i in range(40))
    )
    assert pairs_after(path, lambda path: None, monkeypatch).summary.exact_copies == 20


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are Unicode")
def test_a_name_that_is_no_unicode_is_told_by_its_bytes(tmp_path: Path):
    path = tmp_path / os.fsdecode(b"n\xff.jsonl")
    path.write_text('{"text": "one text that comes twice"}\n' * 2)
    assert neardup.find(path).pairs.to_pylist()[0]["id_a"] == str(tmp_path / "n\\xff.jsonl:1")
    removed = neardup.dedup(path, output=tmp_path / "clean.jsonl")[1]
    assert removed["source"].to_pylist() == [str(tmp_path / "n\\xff.jsonl")]


sizes = st.lists(st.tuples(st.sampled_from([0, 1, 7, 90, NEAR, NEAR + 1, STAGE]), st.integers(0, 40)), max_size=30)


@given(sizes, st.integers(0, 3))
def test_pieces_of_a_file_are_its_bytes(pieces, spare):
    """Gaps below, at and above what is read over; pieces that touch; more of them than the stage holds."""
    content = np.random.default_rng(len(pieces)).integers(0, 256, sum(map(sum, pieces)) + 1, dtype=np.uint8)
    stops = np.cumsum([gap + size for gap, size in pieces], dtype=np.int64)
    size = np.array([size for _, size in pieces], dtype=np.int64)
    begins = stops - size
    places = np.cumsum(size + spare) - size
    out = np.full(int(size.sum()) + spare * size.size + 1, 7, dtype=np.uint8)
    expected = out.copy()
    for begin, stop, place in zip(begins.tolist(), stops.tolist(), places.tolist(), strict=True):
        expected[place : place + stop - begin] = content[begin:stop]
    with tempfile.TemporaryFile() as file:
        file.write(content.tobytes())
        file.flush()
        assert read_pieces(file.fileno(), begins, size, out, places) == size.size
        assert out.tolist() == expected.tolist()
        if size.any():  # of a file that is too short, all that come before the first piece that is not there
            file.truncate(int(stops[size > 0][-1]) - 1)
            done = read_pieces(file.fileno(), begins, size, out, places)
            assert done < size.size
            assert (size[done:] > 0).any()
    copied = np.full(expected.size, 7, dtype=np.uint8)
    data = Documents.from_bytes([content.tobytes()]).data
    copy_pieces(data, begins, size, copied, places)
    assert copied.tolist() == expected.tolist()
