"""What users see of the program, frozen as text: help, summaries, pages, messages, signatures. See ``freeze``."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from tests.golden.freeze import FOLDER, SNAPSHOTS, made


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_what_a_user_sees_is_what_it_was(name: str, tmp_path: Path) -> None:
    now, then = made(name, tmp_path.resolve()), (FOLDER / name).read_text("utf-8")
    if now != then:
        lines = difflib.unified_diff(then.splitlines(), now.splitlines(), "then", "now", lineterm="")
        pytest.fail(
            f"tests/golden/snapshots/{name} differs. If that is meant, run: python -m tests.golden.freeze {name}\n"
            + "\n".join(lines),
            pytrace=False,
        )
