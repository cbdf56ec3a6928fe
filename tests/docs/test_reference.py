"""The reference says what the program says."""

from __future__ import annotations

import doctest
import sys
from collections.abc import Callable

import pytest
from tests.docs.reference import FOLDER, PAGES

import neardup


@pytest.mark.parametrize(("file", "page"), PAGES.items(), ids=list(PAGES))
def test_the_reference_is_up_to_date(file: str, page: Callable[[], str]) -> None:
    written = (FOLDER / file).read_text(encoding="utf-8")
    assert written == page(), f"docs/reference/{file} is old; run: python -m tests.docs.reference"


@pytest.mark.parametrize("name", neardup.__all__)
def test_the_examples_of_a_public_name_run(name: str) -> None:
    thing = getattr(neardup, name)
    if isinstance(thing, str):
        return  # __version__ has none
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in finder.find(thing, name, globs=dict(vars(sys.modules[thing.__module__]))):
        report: list[str] = []
        assert runner.run(test, out=report.append).failed == 0, "".join(report)
