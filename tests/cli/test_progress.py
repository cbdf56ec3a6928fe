"""Lines now and then where stderr is no terminal, a bar where it is one."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from neardup.cli.progress import EVERY_SECONDS, Bar, Lines, observer
from neardup.engine.observe import Silent


@pytest.fixture(autouse=True)
def no_progress() -> None:
    """Here there is some: the clock is set by hand."""


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
    assert stream.getvalue() == "neardup: checking candidate pairs: 1,234 pairs, 1 min 05 s so far\n"


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
