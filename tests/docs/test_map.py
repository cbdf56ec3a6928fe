"""tests/README.md names every folder of tests and every file in it that holds none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ROWS = {
    found["folder"]: set(re.findall(r"`(\w+)`", found["helpers"]))
    for line in (TESTS / "README.md").read_text(encoding="utf-8").splitlines()
    if (found := re.fullmatch(r"\| `(?P<folder>\w+)` \|[^|]*\|(?P<helpers>[^|]*)\|", line))
}


def test_every_folder_has_its_row() -> None:
    folders = {path.parent.name for path in TESTS.glob("*/*.py")}
    assert set(ROWS) == folders


@pytest.mark.parametrize("folder", sorted(ROWS))
def test_every_helper_of_a_folder_is_named_and_no_other(folder: str) -> None:
    files = {path.stem for path in (TESTS / folder).glob("*.py")} - {"__init__", "conftest"}
    assert ROWS[folder] == {name for name in files if not name.startswith("test_")}
