"""``progress=True``: a bar in a notebook and on a terminal, nothing when it is not asked for."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import neardup
from neardup.watching import NOTEBOOK_SECONDS, NotebookBar


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


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
        "checking candidate pairs: 0%, 0 of 40 pairs",
        "checking candidate pairs: 50%, 20 of 40 pairs, 0.24 s left",
        "checking candidate pairs: 100%, 40 of 40 pairs, 0.00 s left",
        "neardup: a <b> note\nchecking candidate pairs: 100%, 40 of 40 pairs, 0.00 s left",
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
        "tune": partial(neardup.tune, TEXTS, budget=0),
        "passages": partial(neardup.passages, TEXTS, min_bytes=16),
        "build": lambda **how: neardup.Index.build(folder / "a.index", enumerate(TEXTS), **how).close(),
        "add": partial(index.add, enumerate(TEXTS)),
        "index find": index.find,
        "query": partial(index.query, TEXTS[0], measure="containment", threshold=0.5),
        "nearest": partial(index.nearest, TEXTS[0], exhaustive=True),
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
