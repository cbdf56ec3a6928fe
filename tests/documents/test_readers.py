"""A document that hangs, crashes or fills the memory of its reader costs that document, and no other thing.

A library of the tests' own stands in for PDFium where a reader must misbehave: it does what the document says.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lxml")
pytest.importorskip("pypdfium2")


from neardup.errors import InputError
from neardup.formats.documents import Unreadable, read_document, readers
from neardup.formats.documents.limits import Limits
from neardup.formats.documents.readers import Readers
from neardup.formats.streams import open_bytes

FIXTURES = Path(__file__).parent / "fixtures"
MB = 1 << 20

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

STAND_IN = """
import os, re, signal, sys, time
import neardup.formats.documents.child as child
class raw: FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY = 4, 5
class PdfiumError(Exception): pass
class PdfDocument:
    def __init__(self, data):
        said = {**globals(), "text": "fine"}
        exec(data[5:-5].decode(), said)
        self.text = said["text"]
    def __len__(self): return 1
    def __getitem__(self, number): return self
    def close(self): pass
    def get_textpage(self): return self
    def get_text_range(self): return self.text
"""


def does(code: str) -> bytes:
    """A PDF that makes the reader of the tests do something; its text is ``text``."""
    return b"%PDF-" + code.encode() + b"%%EOF"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes documents; readers that are started use the library of the tests."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "pypdfium2.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "library"))
    monkeypatch.chdir(tmp_path)

    def put(name: str, code: str = "") -> str:
        Path(name).write_bytes(does(code))
        return name

    return put


def is_alive(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition: Callable[[], bool]) -> None:
    """Wait, for as long as it takes; a hang is the test's own fault and dumps its stacks."""
    while not condition():
        time.sleep(0.01)


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
        with ThreadPoolExecutor(8) as pool:
            again = list(pool.map(outcome, [shared.read] * 2 * len(names), [*names, *reversed(names)]))
        assert again == [*alone, *reversed(alone)]


def test_no_more_children_read_than_may_and_all_end_with_the_readers(write: Callable[..., str]) -> None:
    write("a.pdf", "time.sleep(0.02); text = str(os.getpid())")
    shared = Readers(most=2)
    with ThreadPoolExecutor(6) as pool:
        pids = {int(text) for text in pool.map(shared.read, ["a.pdf"] * 30)}
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
            return Readers().read("a.html", stream=open_bytes("a.html"))
        finally:
            writer.join()

    assert read(b"<p>one") == "one"
    monkeypatch.setattr(readers, "MOST_BYTES", 1000)
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
    shared = Readers(most=2)
    gc.collect()  # what other tests left in tracebacks
    before = len(os.listdir("/proc/self/fd"))

    def crash(_: int) -> None:
        with pytest.raises(Unreadable):
            shared.read("bad.pdf")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(crash, range(20)))
    shared.close()
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):  # none waits to be reaped, if pytest itself has started none
        os.waitpid(-1, os.WNOHANG)


def test_after_the_end_a_document_can_still_be_read(write: Callable[..., str]) -> None:
    write("a.pdf", "text = str(os.getpid())")
    shared = Readers(most=1)
    first = shared.read("a.pdf")
    shared.close()
    shared.close()
    assert len({first, shared.read("a.pdf"), shared.read("a.pdf")}) == 3  # each by a child of its own


# limits


LONG = (
    "while True: pass",
    "re.match('(a+)+b', 'a' * 60)",  # nothing else of Python runs meanwhile
    "time.sleep = None\nend = time.process_time() + 1\nwhile time.process_time() < end: pass",  # nobody looks meanwhile
)


@posix
@pytest.mark.parametrize("code", LONG)
def test_processor_time_is_limited_in_python_in_c_and_when_it_ends_in_between(
    code: str, write: Callable[..., str]
) -> None:
    write("bad.pdf", code)
    write("good.pdf")
    shared = Readers(limits=Limits(seconds=0.6), most=1)
    assert shared.read("good.pdf") == "fine"
    with pytest.raises(Unreadable, match=r"^reading it takes more than 1 seconds of processor time\. Open it in"):
        shared.read("bad.pdf")
    assert shared.read("good.pdf") == "fine"


def test_many_documents_may_take_more_processor_time_than_one(write: Callable[..., str]) -> None:
    write("a.pdf", "x = time.process_time() + 0.4\nwhile x > time.process_time(): pass\ntext = str(os.getpid())")
    shared = Readers(limits=Limits(seconds=1.0), most=1)
    assert len({shared.read("a.pdf") for _ in range(6)}) == 1


def test_large_files_may_take_longer() -> None:
    limits = Limits(seconds=30, seconds_per_mb=2)
    assert (limits.processor(770), limits.processor(50_000_000)) == (pytest.approx(30, abs=0.01), 130)
    assert limits.wall(0) > limits.processor(0) * 10


@posix
@pytest.mark.parametrize("code", ["time.sleep(1000)", "os.kill(os.getpid(), signal.SIGSTOP)"])
def test_a_reader_that_does_nothing_is_ended_by_the_clock(code: str, write: Callable[..., str]) -> None:
    write("bad.pdf", code)
    write("good.pdf")
    with pytest.raises(Unreadable, match=r"^reading it takes more than 0 minutes"):
        Readers(limits=Limits(wall_seconds=1, wall_times=0)).read("bad.pdf")
    shared = Readers(most=1)
    assert shared.read("good.pdf") == "fine"


@linux
def test_memory_is_limited_and_one_document_at_a_time_may_have_much(write: Callable[..., str]) -> None:
    limits = Limits(memory=200 * MB, shared_memory=100 * MB)
    shared = Readers(limits=limits, most=2)
    used = "x = bytearray(b'x') * ({} << 20)\ndel x\ntext = str(os.getpid())"
    pids = [shared.read(write("a.pdf", used.format(size))) for size in (10, 50, 140, 10, 160)]
    assert pids[0] == pids[1]  # as a rule the same child goes on
    assert len(set(pids)) == 4
    for size in (250, 400):
        with pytest.raises(Unreadable, match=r"^reading it takes more than 200 MB of memory\. Split it"):
            shared.read(write("a.pdf", used.format(size)))
    with pytest.raises(Unreadable, match="more than 200 MB of memory"):  # more than the system gives
        shared.read(write("a.pdf", "x = bytearray(1 << 40)"))


@linux
def test_the_second_attempts_of_many_documents_are_made_one_by_one(write: Callable[..., str]) -> None:
    busy = (
        "x = bytearray(b'x') * (140 << 20)\n"
        "if child.resource.getrlimit(child.resource.RLIMIT_AS)[0] > (1 << 30) + (150 << 20):\n"
        "    os.open('busy', os.O_CREAT | os.O_EXCL)\n    time.sleep(0.05)\n    os.remove('busy')\n"
    )
    names = [write(f"{i}.pdf", busy) for i in range(6)]
    shared = Readers(limits=Limits(memory=200 * MB, shared_memory=100 * MB), most=3)
    other = Readers(limits=Limits(memory=200 * MB, shared_memory=100 * MB), most=3)
    with ThreadPoolExecutor(6) as pool:  # FileExistsError would be a fault
        texts = pool.map(lambda i: (shared, other)[i % 2].read(names[i]), range(6))
        assert list(texts) == ["fine"] * 6


@linux
def test_a_crash_leaves_no_core_file_and_limits_that_are_set_stay(write: Callable[..., str]) -> None:
    import resource

    write(
        "a.pdf",
        "text = str([child.resource.getrlimit(x) for x in (child.resource.RLIMIT_CORE, child.resource.RLIMIT_AS)])",
    )
    before = resource.getrlimit(resource.RLIMIT_AS)
    core, room = eval(Readers().read("a.pdf"))
    assert core[0] == 0
    assert room[0] < 2 << 30 < 1 << 40
    assert resource.getrlimit(resource.RLIMIT_AS) == before


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
    child = readers._Child

    def start(*args: Any) -> Any:
        if len(started) == 2:
            raise OSError(24, "Too many open files")
        started.append(None)
        return child(*args)

    monkeypatch.setattr(readers, "_Child", start)
    write("a.pdf", "time.sleep(0.01); text = str(os.getpid())")
    shared = Readers(most=6)
    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(shared.read, ["a.pdf"] * 40))) <= 2


# the end

RUN = """
import sys, threading
sys.path.insert(0, {library!r})
from neardup.formats.documents.readers import Readers
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
