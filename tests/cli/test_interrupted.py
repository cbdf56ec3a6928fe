"""Ctrl-C that a library swallows while it is being imported is not lost."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

SWALLOWS = """
import os, signal, sys
from neardup.cli import main, working

plain = working.make_spec

def make_spec(options):  # as if a library were being imported here
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**7):
            pass
    except KeyboardInterrupt:
        pass
    return plain(options)

working.make_spec = make_spec
main(["find", "docs.txt", "--input-format", "lines", "-o", "out.csv"], prog_name="neardup")
"""


def test_a_swallowed_ctrl_c_stops_the_command_before_it_begins_its_work(tmp_path: Path) -> None:
    (tmp_path / "docs.txt").write_text("one text\nanother text\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWS], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 130, done.stderr
    assert "interrupted, nothing written" in done.stderr
    assert os.listdir(tmp_path) == ["docs.txt"]


def test_the_handler_of_the_caller_is_there_again_afterwards() -> None:
    from neardup.cli import interrupted, main

    before = signal.getsignal(signal.SIGINT)
    with contextlib.suppress(SystemExit):
        main(["plan", "-t", "0.8"], prog_name="neardup")
    assert signal.getsignal(signal.SIGINT) is before
    assert not interrupted.is_set()
