"""``neardup.__all__`` is the truth, sorted, and bound when used: importing the package costs next to nothing."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import neardup
from neardup import errors

HEAVY = ("numpy", "numba", "llvmlite", "pyarrow", "click", "rich", "pandas", "polars")


def in_a_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_exported_names_are_sorted_unique_and_there():
    assert neardup.__all__ == sorted(set(neardup.__all__))
    for name in neardup.__all__:
        assert getattr(neardup, name) is not None


def test_names_are_exported_from_where_they_are_defined():
    for name in neardup.__all__:
        value = getattr(neardup, name)
        if name == "__version__":
            continue
        assert value.__name__ == name
        assert value.__module__.startswith("neardup."), f"{name} comes from {value.__module__}"
        assert value.__doc__, f"{name} has no docstring"
        home = sys.modules[value.__module__]
        assert getattr(home, name) is value


def test_every_error_is_exported():
    made = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and value.__module__ == errors.__name__
    }
    assert made <= set(neardup.__all__)
    assert all(issubclass(getattr(errors, name), neardup.NeardupError) for name in made)


def test_type_checkers_see_the_same_names():
    """The imports under TYPE_CHECKING, the table of homes and ``__all__`` hold the same names."""
    source = inspect.getsource(neardup).partition("if TYPE_CHECKING:")[2].partition("\n__all__")[0]
    listed = {word.strip("(),") for line in source.splitlines() for word in line.split("import")[-1].split()}
    for name in neardup.__all__:
        assert name == "__version__" or name in listed, f"{name} is not imported for type checkers"


def test_dir_lists_what_is_exported():
    assert dir(neardup) == neardup.__all__


def test_a_name_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match="'neardup' has no attribute 'finde'"):
        neardup.finde  # noqa: B018


def test_importing_the_package_loads_none_of_its_libraries():
    loaded = in_a_new_process("import sys, neardup; print(*sorted({name.partition('.')[0] for name in sys.modules}))")
    assert set(loaded.split()).isdisjoint(HEAVY)


@pytest.mark.parametrize("light", ["errors", "params", "spark", "tuning", "_version"])
def test_parameters_and_plans_load_none_of_them_either(light):
    code = f"import sys, neardup.{light}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    assert set(in_a_new_process(code).split()).isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "before", ["", "neardup.tasks.find", "neardup.stages.shingle, neardup.stages.sketch", "neardup.engine.run"]
)
def test_shingle_and_sketch_are_functions_whatever_was_imported_before(before):
    first = f"import {before}; " if before else ""
    code = f"{first}import neardup; print(neardup.shingle('abcab', 'char:2'), callable(neardup.sketch))"
    assert in_a_new_process(code) == "['ab', 'bc', 'ca'] True"


def test_star_import_binds_exactly_the_exported_names():
    code = "before = set(globals()); from neardup import *; print(*sorted(set(globals()) - before - {'before'}))"
    assert in_a_new_process(code).split() == neardup.__all__
