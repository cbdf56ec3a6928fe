"""Lines now and then where stderr is no terminal, a bar where it is one, or in a notebook; and in Python when asked."""

from __future__ import annotations

import inspect
import io
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

import neardup
from neardup.engine.observe import Silent
from neardup.progress import EVERY_SECONDS, NOTEBOOK_SECONDS, Bar, Lines, NotebookBar, observer


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_line_comes_every_ten_seconds_with_the_time_left() -> None:
    clock, stream = Clock(), io.StringIO()
    lines = Lines(stream, clock=clock)
    lines.stage("read", 400_000_000, "bytes")
    for _ in range(4):
        clock.now += EVERY_SECONDS / 2
        lines.advance(50_000_000)
    assert stream.getvalue().splitlines() == [
        "neardup: reading and sketching: 25%, 100.0 MB of 400.0 MB, 30 s left",
        "neardup: reading and sketching: 50%, 200.0 MB of 400.0 MB, 20 s left",
    ]


def test_without_a_total_the_line_says_what_is_done() -> None:
    clock, stream = Clock(), io.StringIO()
    lines = Lines(stream, clock=clock)
    lines.stage("check", None, "pairs")
    clock.now += 65
    lines.advance(1234)
    assert stream.getvalue() == "neardup: checking candidates: 1,234 pairs, 1 min 05 s so far\n"


def test_a_short_stage_leaves_no_line() -> None:
    clock, stream = Clock(), io.StringIO()
    lines = Lines(stream, clock=clock)
    for name in ("read", "candidates", "check"):
        lines.stage(name, 10, "pairs")
        clock.now += 3
        lines.advance(10)
    assert stream.getvalue() == ""


def test_nothing_done_yet_gives_no_estimate() -> None:
    clock, stream = Clock(), io.StringIO()
    lines = Lines(stream, clock=clock)
    lines.stage("read", 10, "bytes")
    clock.now += 60
    lines.advance(0)
    assert stream.getvalue() == "neardup: reading and sketching: 0%, 0 B of 10 B\n"


def test_the_bar_shows_stage_and_amount() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100)
    columns = (TextColumn("{task.description}"), TextColumn("{task.fields[amount]}"))
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        bar = Bar(progress)
        bar.stage("read", 2_000_000, "bytes")
        bar.advance(500_000)
        bar.note("compiling [once]")
        progress.refresh()
        task = progress.tasks[0]
        assert (task.completed, task.total) == (500_000, 2_000_000)
        bar.stage("check", None, "pairs")
        assert task.completed == 0
    assert "reading and sketching 500.0 kB of 2.0 MB" in stream.getvalue()
    assert "neardup: compiling [once]" in stream.getvalue()


def test_the_observer_suits_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    with observer(quiet=True) as watching:
        assert isinstance(watching, Silent)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with observer(quiet=False) as watching:
        assert isinstance(watching, Lines)
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", terminal)
    with observer(quiet=False) as watching:
        assert isinstance(watching, Bar)


class Seen:
    """What a display, or an observer, was told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.told.append(data)

    def stage(self, name: str, total: int | None, unit: str) -> None:
        self.told.append(name)

    def advance(self, amount: int) -> None: ...

    def note(self, message: str) -> None: ...


def test_the_bar_of_a_notebook_is_drawn_five_times_a_second_at_most_and_wiped_away() -> None:
    clock, seen = Clock(), Seen()
    bar = NotebookBar(seen, clock=clock)
    bar.stage("check", 40, "pairs")
    for _ in range(4):
        clock.now += NOTEBOOK_SECONDS * 0.6
        bar.advance(10)
    bar.note("a <b> note")
    bar.close()
    assert [each["text/plain"] for each in seen.told] == [
        "checking candidates: 0%, 0 of 40 pairs",
        "checking candidates: 50%, 20 of 40 pairs, 0.24 s left",
        "checking candidates: 100%, 40 of 40 pairs, 0.00 s left",
        "neardup: a <b> note\nchecking candidates: 100%, 40 of 40 pairs, 0.00 s left",
        "neardup: a <b> note",
    ]
    assert seen.told[1]["text/html"].startswith('<progress value="20" max="40"></progress> checking')
    assert seen.told[-1]["text/html"] == "neardup: a &lt;b&gt; note"


TEXTS = ["a rose is a rose is a rose", "a rose is a rose is a rose!", "tulips"]


def test_a_notebook_gets_a_bar_by_what_ipython_displays(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen()
    display = SimpleNamespace(display=lambda data, *, raw, display_id: seen)
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()), display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    neardup.find(TEXTS, progress=True)
    told = [each["text/plain"] for each in seen.told]
    assert any(line.startswith("reading and sketching") for line in told)
    assert told[-1] == ""


def calls(folder: Path) -> dict[str, Callable[..., Any]]:
    """Every function that has a bar, on a few texts."""
    index = neardup.Index.create(threshold=0.5)
    (folder / "docs.txt").write_text("\n".join(TEXTS))
    return {
        "find": partial(neardup.find, TEXTS),
        "dedup": partial(neardup.dedup, TEXTS),
        "report": partial(neardup.report, TEXTS, folder / "report"),
        "audit": partial(neardup.audit, TEXTS, documents=2),
        "plan": partial(neardup.plan, TEXTS),
        "build": lambda **how: neardup.Index.build(folder / "a.index", enumerate(TEXTS), **how).close(),
        "add": partial(index.add, enumerate(TEXTS)),
        "index find": index.find,
        "backup": partial(index.backup, folder / "b.index"),
    }


def test_what_takes_an_observer_takes_progress_and_what_does_not_does_not(tmp_path: Path) -> None:
    public = [getattr(neardup, name) for name in neardup.__all__ if inspect.isfunction(getattr(neardup, name))]
    methods = [each for name, each in inspect.getmembers(neardup.Index) if not name.startswith("_") and callable(each)]
    watched = {one.__name__ for one in (*public, *methods) if "observer" in inspect.signature(one).parameters}
    assert watched == {one.__name__ for one in (*public, *methods) if "progress" in inspect.signature(one).parameters}
    assert watched == {name.removeprefix("index ") for name in calls(tmp_path)} | {"figures"}


def test_nothing_is_printed_unless_it_is_asked_for_and_an_observer_is_told_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neardup.progress.EVERY_SECONDS", 0.0)
    plain = {name: Seen() for name in calls(tmp_path)}
    for name, call in calls(tmp_path).items():
        call(observer=plain[name])
    assert capfd.readouterr() == ("", "")
    (tmp_path / "again").mkdir()
    for name, call in calls(tmp_path / "again").items():
        beside = Seen()
        call(observer=beside, progress=True)
        assert beside.told == plain[name].told
        out, err = capfd.readouterr()
        assert out == ""
        assert all(line.startswith("neardup: ") for line in err.splitlines())
        assert bool(err) == bool(beside.told), name


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo terminals")
def test_a_terminal_sees_a_bar_with_the_names_of_the_command() -> None:
    import pty

    code = f"import neardup; neardup.find({TEXTS!r} * 2000, progress=True); print('done')"
    main, end = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stdin=end, stdout=end, stderr=end, close_fds=True) as process:
        os.close(end)
        seen = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # Linux says so that all have closed it
                break
            if not part:
                break
            seen += part
        os.close(main)
    assert process.returncode == 0, seen
    assert b"reading and sketching" in seen
    assert seen.rstrip().endswith(b"done")
