"""The page on trust names tests; each of them is there and has some."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "trust.md"


def test_every_line_of_the_table_names_tests_that_are_there():
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")][2:]
    assert len(lines) > 20
    for line in lines:
        named = re.findall(r"`(tests/[^`]+)`", line)
        assert named, f"no test is named in: {line}"
        for name in named:
            files = [ROOT / name] if name.endswith(".py") else sorted((ROOT / name).glob("test_*.py"))
            assert files, f"{name} has no tests"
            for file in files:
                assert "\ndef test_" in file.read_text("utf-8") or "class " in file.read_text("utf-8"), name
