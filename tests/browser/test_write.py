"""Reports on disk: whole or not at all, never over what is not ours, and the same bytes from the same data."""

from __future__ import annotations

import json
import os
import re
import signal
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import warm
from tests.browser import filler

from neardup.errors import OutputError
from neardup.pages.site.render import json_bytes
from neardup.pages.site.write import check_file, check_site, write_pair, write_site

Report = tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@given(st.text(st.characters(categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Ll", "So", "Po", "Sm"])))
def test_json_is_the_value_and_has_nothing_that_markup_could_read(text: str) -> None:
    data = json_bytes({"text": text})
    assert json.loads(data.decode("utf-8")) == {"text": text}
    assert not set(data.decode("utf-8")) & set("<>&\u2028\u2029")


def test_the_same_data_gives_the_same_bytes(abstracts: Report, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_site(tmp_path / name, *abstracts, single_file=False)
        write_site(tmp_path / f"{name}.html", *abstracts, single_file=True)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_what_is_written_is_told(abstracts: Report, tmp_path: Path) -> None:
    written = write_site(tmp_path / "report", *abstracts, single_file=False)
    found = contents(tmp_path / "report")
    assert (written.files, written.bytes) == (len(found), sum(map(len, found.values())))
    assert written.path == tmp_path / "report" / "index.html"
    assert sorted(found) == sorted(
        ["index.html", "neardup-report.json", *(f"data/{name}.js" for name, _ in abstracts[1])]
    )
    single = write_site(tmp_path / "report.html", *abstracts, single_file=True)
    assert (single.files, single.bytes) == (1, (tmp_path / "report.html").stat().st_size)


def test_a_chunk_is_a_call_with_json(abstracts: Report, tmp_path: Path) -> None:
    write_site(tmp_path / "report", *abstracts, single_file=False)
    for name, value in abstracts[1]:
        text = (tmp_path / "report" / "data" / f"{name}.js").read_text("utf-8")
        found = re.fullmatch(r'neardup\.take\("([^"]+)", (.*)\);\n', text, re.DOTALL)
        assert found is not None
        assert found[1] == name
        assert json.loads(found[2]) == value


def test_a_single_file_holds_everything(abstracts: Report, tmp_path: Path) -> None:
    meta, chunks = abstracts
    text = write_site(tmp_path / "report.html", meta, chunks, single_file=True).path.read_text("utf-8")
    found = dict(re.findall(r'<script type="application/json" id="([^"]+)">(.*?)</script>', text, re.DOTALL))
    assert {name: json.loads(value) for name, value in found.items()} == {"meta": meta, **dict(chunks)}
    assert not re.search(r"""\b(?:src|href)=["'](?!#|data:image/svg)""", text)


def test_the_policy_allows_the_script_of_the_page_and_no_other(abstracts: Report, tmp_path: Path) -> None:
    text = write_site(tmp_path / "report", *abstracts, single_file=False).path.read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    assert len(re.findall(r"<script>", text)) == 1
    assert not re.search(r"<[^>]+\s(?:style|on\w+)=", re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.DOTALL))


def test_hostile_words_are_escaped_in_the_summary(abstracts: Report, tmp_path: Path) -> None:
    meta, chunks = abstracts
    bad = '"><script>alert(1)</script><!--chunks-->\u202e\x00'
    hostile = {
        **meta,
        "title": bad,
        "facts": [[bad, bad]],
        "faults": [bad],
        "limits": [bad],
        "spec": {bad: bad},
    }
    for single in (True, False):
        page = write_site(tmp_path / f"report{single}", hostile, chunks, single_file=single).path.read_text("utf-8")
        assert "<script>alert" not in page
        assert page.count("<!--chunks-->") == 0
        body = page[page.index("<body>") : page.index('<script type="application/json" id="meta">')]
        assert not set(body) & {"\u202e", "\x00"}
        assert 'data-name="RLO"' in body


def test_a_report_is_replaced_and_an_empty_folder_filled(abstracts: Report, tmp_path: Path) -> None:
    target = tmp_path / "report"
    target.mkdir()
    meta, chunks = abstracts
    write_site(target, meta, chunks, single_file=False)
    write_site(target, {**meta, "title": "Another"}, chunks[:2], single_file=False)
    assert "Another" in (target / "index.html").read_text("utf-8")
    assert len(list((target / "data").iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize("name", ["notes.txt", "index.html", "data/mine.csv"])
def test_a_folder_of_somebody_else_is_left_alone(name: str, abstracts: Report, tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (target / name).parent.mkdir(parents=True)
    (target / name).write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(OutputError, match="new or an empty folder"):
        write_site(target, *abstracts, single_file=False)
    assert contents(tmp_path) == before


def test_a_report_with_a_file_of_the_user_in_it_is_left_alone(abstracts: Report, tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_site(target, *abstracts, single_file=False)
    (target / "my notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"'my notes\.txt', which no report has"):
        write_site(target, *abstracts, single_file=False)
    assert (target / "my notes.txt").read_text() == "mine"


def test_a_file_of_somebody_else_is_left_alone(abstracts: Report, tmp_path: Path) -> None:
    target = tmp_path / "thesis.html"
    target.write_text("<!doctype html><title>Years of work</title>")
    with pytest.raises(OutputError, match="not a page that neardup made"):
        write_site(target, *abstracts, single_file=True)
    with pytest.raises(OutputError, match="not a page that neardup made"):
        write_pair(target, *filler.pair_page("a", "b"))
    with pytest.raises(OutputError, match="it is a file, and a report is a folder"):
        check_site(target, single_file=False)
    with pytest.raises(OutputError, match="it is a folder"):
        check_file(tmp_path)
    assert "Years of work" in target.read_text()
    write_pair(tmp_path / "pair.html", *filler.pair_page("one text", "another text"))
    write_pair(tmp_path / "pair.html", *filler.pair_page("one text", "another text"))


@pytest.mark.parametrize("single", [True, False])
def test_no_such_folder_is_told_with_the_cure(single: bool, abstracts: Report, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"Make .* first"):
        write_site(tmp_path / "absent" / "report", *abstracts, single_file=single)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, OSError])
def test_what_goes_wrong_midway_leaves_the_old_report(
    single: bool, error: type[BaseException], abstracts: Report, tmp_path: Path
) -> None:
    meta, chunks = abstracts
    target = tmp_path / "report"
    write_site(target, meta, chunks, single_file=single)
    before = contents(tmp_path)

    def failing() -> Iterator[tuple[str, dict[str, Any]]]:
        yield chunks[0]
        raise error("midway")

    with pytest.raises((error, OutputError)):
        write_site(target, {**meta, "title": "Another"}, failing(), single_file=single)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("single", [True, False])
def test_a_killed_process_leaves_nothing_that_looks_like_a_report(single: bool, tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import os, signal, sys
        sys.path.insert(0, {os.getcwd()!r})
        from tests.browser import filler
        from neardup.pages.site.write import write_site
        meta, chunks = filler.large(20, chunk=10)
        def dying():
            yield chunks[0]
            os.kill(os.getpid(), signal.SIGKILL)
        write_site({str(tmp_path / "report")!r}, meta, dying(), single_file={single})
    """)
    done = warm.run(["-c", program])
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "report").exists()
    assert list(tmp_path.iterdir())  # the temporary one, which the next run clears away
    write_site(tmp_path / "report", *filler.large(20, chunk=10), single_file=single)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
