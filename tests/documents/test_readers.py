"""A document that hangs, crashes or fills the memory of its reader costs that document, and no other thing.

Where a reader must misbehave, the library of ``conftest`` does what the document says.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lxml")
pytest.importorskip("pypdfium2")


from tests.documents.living import is_alive, until

from neardup.errors import InputError
from neardup.inputs.documents import Unreadable, pool, read_document
from neardup.inputs.documents.pool import Readers
from neardup.inputs.documents.process import Limits
from neardup.inputs.stream import ByteStream

FIXTURES = Path(__file__).parent / "fixtures"
MB = 1 << 20

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

# the same texts


def test_readers_give_the_texts_of_this_process_in_any_number_and_order() -> None:
    names = [str(path) for path in sorted(FIXTURES.glob("*.*")) if path.suffix not in (".md",)]

    def outcome(read: Callable[[str], str], name: str) -> str:
        try:
            return read(name)
        except Unreadable as exc:
            return f"fault: {exc}"

    alone = [outcome(read_document, name) for name in names]
    assert sum(text.startswith("fault: ") for text in alone) == 3
    for most in (1, 3):
        shared = Readers(most=most)
        with ThreadPoolExecutor(8) as threads:
            again = list(threads.map(outcome, [shared.read] * 2 * len(names), [*names, *reversed(names)]))
        assert again == [*alone, *reversed(alone)]


def test_no_more_children_read_than_may_and_all_end_with_the_readers(write: Callable[..., str]) -> None:
    write("a.pdf", "time.sleep(0.02); text = str(os.getpid())")
    shared = Readers(most=2)
    with ThreadPoolExecutor(6) as threads:
        pids = {int(text) for text in threads.map(shared.read, ["a.pdf"] * 30)}
    assert len(pids) <= 2
    assert os.getpid() not in pids


@linux
def test_children_end_with_their_readers_whatever_was_read(write: Callable[..., str]) -> None:
    gc.disable()  # what is in a cycle would live on, in a notebook for hours
    try:
        shared = Readers(limits=Limits(seconds=0.2), most=1)
        for code in ("raise ValueError", "os._exit(1)", "while True: pass", "x = bytearray(1 << 40)"):
            with suppress(Unreadable):
                shared.read(write("a.pdf", code))
        pid = int(shared.read(write("a.pdf", "text = str(os.getpid())")))
        assert is_alive(pid)
        del shared
        assert not is_alive(pid)
    finally:
        gc.enable()


def test_a_child_loads_none_of_the_large_libraries(write: Callable[..., str]) -> None:
    heavy = ("numpy", "numba", "pyarrow", "click", "rich", "jinja2", "multiprocessing")
    write("a.pdf", f"text = str([name for name in {heavy!r} if name in sys.modules])")
    assert Readers().read("a.pdf") == "[]"


@pytest.mark.usefixtures("write")
def test_what_is_said_of_files_that_cannot_be_opened_is_said_of_their_names(tmp_path: Path) -> None:
    shared = Readers()
    Path("there.html").write_text("<p>x", encoding="utf-8")
    with pytest.raises(Unreadable, match=r"^does not exist\. Did you mean 'there\.html'\?"):
        shared.read("ther.html")
    (tmp_path / "folder.pdf").mkdir()
    with pytest.raises(Unreadable, match=r"^is a folder, not a file"):
        shared.read("folder.pdf")


@posix
def test_names_that_are_no_unicode_and_a_changed_folder_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shared = Readers()
    name = os.fsdecode(b"caf\xe9 \xf0\x9f\x98\x80\n\x1b.html")
    Path(name).write_text("<p>one", encoding="utf-8")
    assert shared.read(name) == "one"
    (tmp_path / "below").mkdir()
    monkeypatch.chdir("below")
    Path(name).write_text("<p>two", encoding="utf-8")
    assert shared.read(name) == "two"


@posix
def test_a_document_may_come_through_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    os.mkfifo("a.html")

    def read(page: bytes) -> str:
        writer = threading.Thread(target=lambda: Path("a.html").write_bytes(page))
        writer.start()
        try:
            return Readers().read("a.html", stream=ByteStream("a.html"))
        finally:
            writer.join()

    assert read(b"<p>one") == "one"
    monkeypatch.setattr(pool, "MOST_BYTES", 1000)
    with pytest.raises(Unreadable, match="it unpacks to more than"):
        read(b"<p>" + b"x" * 2000)
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]  # nothing is left of the copies


# readers that break

FINE = "it answers"
CRASHES = {
    "os.kill(os.getpid(), signal.SIGSEGV)": r"^its reader crashed on it \(SIGSEGV\)\. Open it in its program",
    "os.kill(os.getpid(), signal.SIGKILL)": r"crashed on it \(SIGKILL\)",
    "os.abort()": r"crashed on it \(SIGABRT\)",
    "os._exit(0)": r"crashed on it \(exit code 0\)",
    "raise SystemExit": r"crashed on it \(exit code 0\)",
    "child.send = lambda pipe, *_: (pipe.write(b'nonsense' * 99), pipe.flush())": "answered what is no text",
    "child.send = lambda pipe, *_: (pipe.write(b'nd'), pipe.flush(), os._exit(3))": r"\(exit code 3\)",
    "send = child.send; child.send = lambda pipe, number, *rest: send(pipe, number + 1, *rest)": "what is no text",
    "send = child.send; child.send = lambda pipe, number, *_: send(pipe, number, b'+', b'')": "what is no text",
    "send = child.send; child.send = lambda pipe, number, *_: send(pipe, number, b't', b'')": "what is no text",
    "send = child.send; child.send = lambda pipe, number, *_: send(pipe, number, b't', b'a\\xff')": "what is no text",
    "send = child.send; child.send = lambda pipe, number, *_: send(pipe, number, b't', b'a\\0')": "what is no text",
    "send = child.send; child.send = lambda pipe, number, *_: send(pipe, number, b'u', b'{}')": "what is no text",
    "send = child.send; child.send = lambda pipe, number, *_: send(pipe, number, b'u', b'[' * 65000)": "is no text",
    "send = child.send; child.send = lambda pipe, number, *_: send(pipe, number, b'u', b'[1, 2]')": "what is no text",
    "child.send = lambda pipe, n, *_: pipe.write(child.sys.modules['struct'].pack('>4sIcQ', b'nd\\xf6\\1', n, b't', "
    "1 << 62)) and pipe.flush()": "what is no text",
    "raise ValueError('\\x1b[2J')": r"^reading it failed with ValueError: \\x1b\[2J\. Open it in its program",
}


@posix
@pytest.mark.parametrize("code", CRASHES)
def test_a_reader_that_breaks_costs_its_document_and_no_other(code: str, write: Callable[..., str]) -> None:
    write("bad.pdf", code)
    write("good.pdf", "text = 'as before'")
    shared = Readers(most=1)
    for _ in range(2):
        assert shared.read("good.pdf") == "as before"
        with pytest.raises(Unreadable, match=CRASHES[code]):
            shared.read("bad.pdf")
    assert shared.read("good.pdf") == "as before"


def test_what_libraries_print_and_signals_of_the_terminal_do_no_harm(write: Callable[..., str]) -> None:
    write("a.pdf", "os.write(1, b'x' * 100_000); os.write(2, b'x' * 100_000); print('x')")
    write("b.pdf", "os.kill(os.getpid(), signal.SIGINT)")
    shared = Readers(most=1)
    assert [shared.read(name) for name in ("a.pdf", "b.pdf", "a.pdf")] == ["fine"] * 3


def test_a_reader_that_was_killed_by_another_is_replaced(write: Callable[..., str]) -> None:
    write("once.pdf", "os.path.exists('x') or (open('x', 'w').close(), os._exit(9))")
    write("a.pdf", "text = str(os.getpid())")
    shared = Readers(most=1)
    assert shared.read("once.pdf") == "fine"
    first = int(shared.read("a.pdf"))
    os.kill(first, getattr(signal, "SIGKILL", signal.SIGTERM))  # between two documents
    assert int(shared.read("a.pdf")) != first


@linux
def test_many_crashes_leave_no_process_and_no_open_file(write: Callable[..., str]) -> None:
    write("bad.pdf", "os._exit(1)")
    shared = [Readers(most=2)]
    gc.collect()  # what other tests left in tracebacks
    before, processes = len(os.listdir("/proc/self/fd")), _children()

    def crash(_: int) -> None:
        with pytest.raises(Unreadable):
            shared[0].read("bad.pdf")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(crash, range(20)))
    shared.clear()  # which ends the children
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
    assert _children() == processes  # none runs, and none waits to be reaped


def _children() -> set[int]:
    """The processes that this one has started and not yet reaped."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(path.parent.name))
    return found


# the start


@pytest.mark.usefixtures("write")
def test_a_program_that_is_no_python_is_said_to_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.html").write_text("<p>x", encoding="utf-8")
    for program, said in (
        (sys.executable + "-not-there", "No such file"),
        ("/bin/echo", "ended with"),
        ("", "is known"),
    ):
        monkeypatch.setattr("multiprocessing.spawn._python_exe", os.fsencode(program))
        with pytest.raises(InputError, match=f"none can be started: .*{said}"):
            Readers().read("a.html")
    monkeypatch.undo()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(InputError, match=r"multiprocessing\.set_executable"):
        Readers().read("a.html")


def test_why_a_child_cannot_start_is_said(write: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "library" / "json.py").write_text("raise RuntimeError('of no use')", encoding="utf-8")
    (tmp_path / "library" / "zipfile.py").write_text("", encoding="utf-8")
    (tmp_path / "library" / "struct.py").write_text("raise RuntimeError('of no use')", encoding="utf-8")
    write("a.pdf")
    with pytest.raises(InputError, match=r"none can be started: .* ended with exit code 1: RuntimeError: of no use"):
        Readers().read("a.pdf")


def test_where_only_some_can_be_started_they_do(write: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    child = pool.Child

    def start(*args: Any) -> Any:
        if len(started) == 2:
            raise OSError(24, "Too many open files")
        started.append(None)
        return child(*args)

    monkeypatch.setattr(pool, "Child", start)
    write("a.pdf", "time.sleep(0.01); text = str(os.getpid())")
    shared = Readers(most=6)
    with ThreadPoolExecutor(6) as threads:
        assert len(set(threads.map(shared.read, ["a.pdf"] * 40))) <= 2


# the end

RUN = """
import sys, threading
sys.path.insert(0, {library!r})
from neardup.inputs.documents.pool import Readers
readers = Readers()
print(readers.read("pid.pdf"), flush=True)
{then}
"""


@pytest.fixture
def running(write: Callable[..., str], tmp_path: Path) -> Iterator[Callable[[str], tuple[subprocess.Popen[str], int]]]:
    """Starts a process that has read a document; it and the child that did."""
    write("pid.pdf", "text = str(os.getpid())")
    started: list[subprocess.Popen[str]] = []

    def start(then: str) -> tuple[subprocess.Popen[str], int]:
        code = RUN.format(library=str(tmp_path / "library"), then=then)
        run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(run)
        assert run.stdout is not None
        return run, int(run.stdout.readline())

    yield start
    for run in started:
        run.kill()
        run.communicate()


@linux
def test_children_end_with_a_run_that_is_killed(
    write: Callable[..., str], running: Callable[[str], tuple[subprocess.Popen[str], int]]
) -> None:
    write("busy.pdf", "open('begun', 'w').close()\nwhile True: pass")
    for then in ("threading.Event().wait()", "readers.read('busy.pdf')"):
        run, pid = running(then)
        if "busy" in then:
            until(Path("begun").exists)
        assert is_alive(pid)
        run.kill()
        until(lambda pid=pid: not is_alive(pid))  # type: ignore[misc]


@linux
def test_children_end_with_a_run_that_ends_by_itself_or_by_an_error(
    running: Callable[[str], tuple[subprocess.Popen[str], int]],
) -> None:
    for then, code in (("", 0), ("raise SystemExit(4)", 4), ("import os; os._exit(5)", 5)):
        run, pid = running(then)
        _, errors = run.communicate()
        assert (run.returncode, errors) == (code, "")
        until(lambda pid=pid: not is_alive(pid))  # type: ignore[misc]
