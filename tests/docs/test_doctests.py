"""Every example in a docstring runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil

import pytest

import neardup


def modules_with_examples() -> list[str]:
    """Modules of the package whose docstrings hold a prompt; found in the sources, so that nothing is imported here."""
    names = ["neardup", *(info.name for info in pkgutil.walk_packages(neardup.__path__, "neardup."))]
    found = []
    for name in names:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        if not str(spec.origin).endswith(".py"):
            continue  # the library of kernels
        with open(str(spec.origin), encoding="utf-8") as source:
            if ">>> " in source.read():
                found.append(name)
    return found


NAMES = modules_with_examples()


def test_the_public_modules_have_examples():
    expected = {"neardup", "neardup.tasks.find", "neardup.tasks.measures", "neardup.tuning"}
    assert expected <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_docstrings_are_true(name):
    failed, tried = doctest.testmod(importlib.import_module(name), verbose=False)
    assert tried > 0
    assert failed == 0, f"{failed} of {tried} examples of {name} fail; see the captured output"
