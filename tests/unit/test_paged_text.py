"""Where the pages of a document begin: known to its reader, carried to the page that shows it, and right."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.documents import making

import neardup
from neardup.inputs.documents import PagedText, child, process, read_document
from neardup.inputs.documents.pool import Readers
from neardup.pages.links import file_link
from neardup.tasks.compare.documents import read_document as read_compared

LINES = ("the first page ends with these words", "words of the second page", "and the third page has these")


@given(st.lists(st.text("ab \n", max_size=6), min_size=1, max_size=6))
def test_each_page_begins_where_its_text_does(pages: list[str]) -> None:
    text = PagedText.of(pages)
    assert text == "\n".join(pages).strip()
    assert len(text.starts) == len(pages)
    assert [0, *text.starts, len(text)] == sorted([0, *text.starts, len(text)])
    ends = [*text.starts[1:], len(text)]
    for page, start, end in zip(pages, text.starts, ends, strict=True):
        assert text[start:end].strip() == page.strip()


def three_pages() -> bytes:
    pypdf = pytest.importorskip("pypdf")
    pytest.importorskip("pypdfium2")
    writer = pypdf.PdfWriter()
    for line in LINES:
        writer.append(io.BytesIO(making.pdf(line)))
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "essays").mkdir()
    for name in ("a.pdf", "b c.pdf"):
        (tmp_path / "essays" / name).write_bytes(three_pages())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_pages_of_a_pdf_come_through_the_process_that_reads_it(folder: Path) -> None:
    for text in (read_document("essays/a.pdf"), Readers().read("essays/a.pdf")):
        assert isinstance(text, PagedText)
        assert tuple(text.index(line) for line in LINES) == text.starts
    assert read_compared("essays/a.pdf", item=False).pages == text.starts
    assert read_compared("essays/a.pdf", item=True).pages == ()


@pytest.mark.parametrize("starts", ["", "[]", "[true]", "[0, -1]", "[3, 1]", "[0, 9]", "{}", '["0"]'])
def test_beginnings_of_pages_that_cannot_be_are_not_believed(starts: str) -> None:
    with pytest.raises((child.GarbledError, ValueError)):
        process._understood(child.PAGED, starts.encode() + b"\n" + b"text")
    assert process._understood(child.PAGED, b"[0, 4]\ntext") == "text"


def members(report: Path) -> dict[str, dict[str, object]]:
    (data,) = report.glob("data/pages-*.js")
    text = data.read_text("utf-8")
    value = json.loads(text[text.index(", ") + 2 : text.rindex(")")])
    return {member["id"]: member for member in value["clusters"]["0"]["members"]}


def test_a_report_links_to_the_files_beside_it_and_knows_their_pages(folder: Path) -> None:
    neardup.report("essays", "report", shingle="word:3", threshold=0.3)
    found = members(Path("report"))
    assert {name: member["file"] for name, member in found.items()} == {
        "a.pdf": "../essays/a.pdf",
        "b c.pdf": "../essays/b%20c.pdf",
    }
    starts = list(read_document("essays/a.pdf").starts)  # type: ignore[attr-defined]
    assert all(member["pages"] == starts for member in found.values())


def test_a_report_elsewhere_and_one_of_records_have_no_links(folder: Path) -> None:
    Path("elsewhere").mkdir()
    neardup.report("essays", "elsewhere/report", shingle="word:3", threshold=0.3)
    assert not any("file" in member for member in members(Path("elsewhere/report")).values())
    text = "one text that stands in two records of a file"
    Path("two.jsonl").write_text("".join(json.dumps({"id": str(k), "text": text}) + "\n" for k in range(2)))
    neardup.report("two.jsonl", "records")
    assert not any("file" in member or "pages" in member for member in members(Path("records")).values())


def test_a_link_never_tells_what_lies_above_the_page(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    odd = tmp_path / "in" / "deep" / "50% #1?.txt"
    odd.write_text("text")
    assert file_link(str(odd), str(tmp_path / "in")) == "deep/50%25%20%231%3F.txt"
    assert file_link(os.path.relpath(odd), str(tmp_path), up="../") == "../in/deep/50%25%20%231%3F.txt"
    for folder in (tmp_path / "in" / "dee", tmp_path / "other", tmp_path / "in" / "deep" / "report"):
        assert file_link(str(odd), str(folder)) is None
    assert file_link(str(tmp_path / "in" / "gone.txt"), str(tmp_path)) is None
