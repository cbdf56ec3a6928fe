"""Documents that were made to stop a run: they are among the bad ones, and all others are read, by every way in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("lxml")
pytest.importorskip("pypdfium2")

from tests.documents import making

import neardup
from neardup.cli import main
from neardup.inputs.documents import Unreadable, pool
from neardup.inputs.documents.pool import Readers
from neardup.inputs.documents.process import Limits

FIXTURES = Path(__file__).parent / "fixtures"
MB = 1 << 20
SMALL = Limits(seconds=1.0, seconds_per_mb=0.0, memory=120 * MB, shared_memory=80 * MB)

posix = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is held against the limit as Linux tells it")


def drawn_twice(text: bytes) -> bytes:
    """A PDF of less than 1 kB whose form draws itself twice, and so on without end."""
    form = text + b" /X Do /X Do"
    return making.pdf_of(
        b"BT /F 12 Tf 50 700 Td (the quick brown fox) Tj ET /X Do",
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length %d /Resources << /Font << /F 5 0 R >> "
        b"/XObject << /X 6 0 R >> >> >>\nstream\n%b\nendstream" % (len(form), form),
        resources=b"/XObject << /X 6 0 R >>",
    )


def crowded(characters: int) -> bytes:
    """A PDF with one page of so many characters, packed."""
    lines = b"BT /F 9 Tf 12 TL 50 700 Td\n" + (b"(%b) Tj T*\n" % (b"word " * 20)) * (characters // 100) + b"ET"
    return making.pdf_of(zlib.compress(lines), filter=b"/Filter /FlateDecode")


def word(body: str) -> bytes:
    return making.docx(f"<w:p><w:r><w:t>{body}</w:t></w:r></w:p>")


TIME = r"^reading it takes more than 1 seconds of processor time\. Open it in its program and save it again"
MEMORY = r"^reading it takes more than 120 MB of memory\. Split it, or leave it out\.$"
SIZE = r"^it unpacks to more than 256 MB, or to more than 100 times its size\. Split it, or leave it out\.$"
DAMAGED = r"^it is damaged: "
HOSTILE = {
    "forms.pdf": (lambda: drawn_twice(b""), f"{TIME}|{MEMORY}"),
    "crowd.pdf": (lambda: crowded(21_000_000), f"{TIME}|{MEMORY}"),
    "forms and text.pdf": (lambda: drawn_twice(b"BT /F 9 Tf (x) Tj ET"), f"{TIME}|{MEMORY}"),
    "deep.docx": (lambda: making.docx("<w:tbl>" * 300_000), DAMAGED),
    "bomb.docx": (lambda: word("a" * 40_000_000), SIZE),
    "bomb.odt": (lambda: making.odt(f"<text:p>{'a' * 40_000_000}</text:p>"), SIZE),
    "spaces.odt": (lambda: making.odt('<text:p>x<text:s text:c="1000"/></text:p>' * 200_000), f"{TIME}|{MEMORY}"),
    "bomb.epub": (lambda: making.epub({f"p{i}": "<p>" + "a" * 5_000_000 for i in range(10)}), SIZE),
    "tags.html": (lambda: b"<b>" * 10_000_000 + b"deep", f"{TIME}|{MEMORY}"),
    "less.html": (lambda: b"<" * 30_000_000, f"{TIME}|{MEMORY}"),
    "words.rtf": (lambda: b"{\\rtf1" + b"\\b" * 5_000_000, f"{TIME}|{MEMORY}"),
    "html.eml": (lambda: b"Subject: s\nContent-Type: text/html\n\n" + b"<" * 30_000_000, f"{TIME}|{MEMORY}"),
    "long.html": (lambda: b"<p>" + "字".encode() * 40_000_000, f"{TIME}|{MEMORY}"),
}
AGAIN = {"forms.pdf", "less.html", "bomb.docx", "deep.docx"}
"""One of each reason (memory, time, size, damage) is given twice: a reader that was ended and begun anew ends again."""


@linux
@pytest.mark.parametrize("name", HOSTILE)
def test_a_document_made_to_stop_a_run_is_refused_and_the_next_one_is_read(name: str, tmp_path: Path) -> None:
    make, reason = HOSTILE[name]
    (tmp_path / name).write_bytes(make())
    # on a slow machine a second may be over before another limit is reached
    shared = Readers(limits=SMALL if TIME in reason else replace(SMALL, seconds=60.0), most=1)
    for _ in range(2 if name in AGAIN else 1):
        with pytest.raises(Unreadable, match=reason):
            shared.read(str(tmp_path / name))
        assert shared.read(str(FIXTURES / "serious_poem.odt")).startswith("The boy stood")


def test_nesting_that_people_write_is_read_within_the_limits(tmp_path: Path) -> None:
    deep = tmp_path / "deep.html"
    deep.write_text("<div>" * 100_000 + "deep", encoding="utf-8")
    boxes = tmp_path / "boxes.docx"
    boxes.write_bytes(making.docx("<w:p><w:r><w:t>x</w:t></w:r>" * 100 + "</w:p>" * 100))
    assert Readers().read(str(deep)) == "deep"
    assert Readers().read(str(boxes)).split() == ["x"] * 100


# every way in

TEXT = "one and the same text, read from two kinds of files; there is enough of it to be compared"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a document that takes too much, and two that are alike."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pool, "LIMITS", SMALL)
    given = Path("d")
    given.mkdir()
    (given / "a.pdf").write_bytes(drawn_twice(b""))
    (given / "b.txt").write_text(TEXT, encoding="utf-8")
    (given / "c.docx").write_bytes(word(TEXT))
    return given


def run(*args: str) -> str:
    found = CliRunner().invoke(main, list(args))
    assert found.exit_code == 0, found.output
    return found.output


FAULT = "d/a.pdf: reading it takes more than "


@posix
def test_find_counts_and_names_it(folder: Path) -> None:
    for memory, threads in (("3GB", "1"), ("6GB", "3")):  # of a process that has run many tests
        out = run("find", str(folder), "--memory", memory, "--threads", threads, "-o", f"{threads}.jsonl", "--json")
        summary = json.loads(out[out.index("{") : out.rindex("}") + 1])
        assert (summary["documents"], summary["bad"], summary["pairs"]) == (2, 1, 1)
    assert Path("1.jsonl").read_bytes() == Path("3.jsonl").read_bytes()
    assert FAULT in run("find", str(folder))


@posix
def test_dedup_keeps_it_as_it_is(folder: Path) -> None:
    assert FAULT in run("dedup", str(folder), "-o", "clean", "--keep", "first")
    assert {path.name for path in Path("clean").iterdir()} == {"a.pdf", "b.txt"}
    assert Path("clean/a.pdf").read_bytes() == (folder / "a.pdf").read_bytes()


@posix
def test_an_index_a_report_and_a_comparison_read_in_the_same_way(folder: Path) -> None:
    with neardup.Index.build("x.index", folder) as index:
        assert index.built is not None
        assert (index.built.added, index.built.bad) == (2, 1)
        (Path("more")).mkdir()
        Path("more/e.pdf").write_bytes(drawn_twice(b""))
        Path("more/f.html").write_text("<p>another text", encoding="utf-8")
        added = index.add("more")
        assert (added.added, added.bad) == (1, 1)
    assert FAULT in run("report", str(folder), "-o", "report.html")
    assert Path("report.html").exists()
    found = CliRunner().invoke(main, ["compare", str(folder / "a.pdf"), str(folder / "c.docx")])
    assert found.exit_code == 1
    assert "nothing could be read. d/a.pdf: reading it takes more than" in found.output
    assert "1.0" in run("compare", str(folder / "b.txt"), str(folder / "c.docx"), "--json")


# other surroundings


@posix
def test_a_script_without_a_guard_and_with_warnings_as_errors_reads_documents(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.docx").write_bytes(word(TEXT))
    for name in ("json", "struct", "zipfile", "lxml"):  # nothing of the current folder is loaded
        (tmp_path / f"{name}.py").write_text("open('loaded', 'w').close()", encoding="utf-8")
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / "run.py").write_text(
        "import neardup\nprint(neardup.find('d').summary.documents, flush=True)\n", encoding="utf-8"
    )
    source = str(Path(neardup.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "script/run.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source, "PYTHONDEVMODE": "", "PYTHONINSPECT": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert not (tmp_path / "loaded").exists()


@posix
def test_a_few_open_files_are_enough(tmp_path: Path) -> None:
    for i in range(6):
        (tmp_path / f"{i}.html").write_text(f"<p>{TEXT} {i}", encoding="utf-8")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); import os; os.cpu_count = lambda: 64; "
        f"import neardup; found = neardup.find({str(tmp_path)!r}, threads=32, block=1, memory='8GB'); "
        "print(found.summary.documents, found.summary.bad)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("6 0\n", "")


@linux
def test_a_run_that_is_killed_leaves_no_reader_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(drawn_twice(b""))
    with subprocess.Popen(
        [sys.executable, "-m", "neardup", "find", str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        children = Path(f"/proc/{process.pid}/task")

        def found() -> list[int]:
            try:
                return [int(pid) for task in children.iterdir() for pid in (task / "children").read_text().split()]
            except OSError:
                return []

        while not (pids := found()):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.02)
