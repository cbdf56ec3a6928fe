"""A document may take so much time and memory, measured where it is read, and no more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("lxml")

from neardup.inputs.documents import Unreadable
from neardup.inputs.documents.pool import Readers
from neardup.inputs.documents.process import Limits

MB = 1 << 20

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

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
