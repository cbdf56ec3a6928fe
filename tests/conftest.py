"""Fixtures and profiles that every test folder shares.

Collections of the project lie beside the checkout and are no part of it, so a test that reads them is marked
``shared_data`` and skipped, with the reason, where they are absent.
"""

from __future__ import annotations

import compileall
import contextlib
import importlib
import importlib.util
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.oracles.shared import shared_data_folder
from tests.warm import client as client  # here, so that it notes the environment before a test changes it
from tests.warm.compiling import watch_compiling


def pytest_configure(config: pytest.Config) -> None:
    """Store the byte code of all modules, as pip does when it installs a package.

    A module that is first imported while a test limits the size of files would be stored cut off, and never load again.
    """
    if not hasattr(config, "workerinput"):
        (package,) = importlib.util.find_spec("neardup").submodule_search_locations
        compileall.compile_dir(package, quiet=2)


REPOSITORY = Path(__file__).resolve().parent.parent

# `ci` is derandomised so that a red run can be repeated; `long` draws new examples and many more of them, where a test
# does not say itself how many it can afford.
settings.register_profile(
    "ci", max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.register_profile("long", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


watch_compiling()
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # by a shell, for a job in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Workers for ``-n auto``: none for tests of one file, which are done before a worker has started."""
    places = [Path(argument.partition("::")[0]) for argument in config.args]
    return 0 if len(set(places)) == 1 and places[0].suffix == ".py" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each worker imports the files of tests from another place on, so that each file is compiled by one of them.

    All collect in the same order; in step they would each compile every file. What fails here fails again, and is
    reported, where pytest imports it.
    """
    number, count = (os.environ.get(f"PYTEST_XDIST_WORKER{end}", "") for end in ("", "_COUNT"))
    if not number or sys.dont_write_bytecode or session.config.args != session.config.getini("testpaths"):
        return
    files = sorted((REPOSITORY / "tests").rglob("test_*.py"))
    start = int(number.removeprefix("gw")) * len(files) // int(count)
    for file in files[start:] + files[:start] if start else []:
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(REPOSITORY).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked ``shared_data`` when there is no such folder."""
    folder = shared_data_folder()
    if folder.is_dir():
        return
    absent = pytest.mark.skip(reason=f"no collections at {folder}; set NEARDUP_SHARED_DATA to their folder")
    for item in items:
        if item.get_closest_marker("shared_data"):
            item.add_marker(absent)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the project's collections; the test must carry the mark ``shared_data`` too."""
    folder = shared_data_folder()
    if not folder.is_dir():
        pytest.skip(f"no collections at {folder}; set NEARDUP_SHARED_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout under test."""
    return REPOSITORY


@pytest.fixture
def none_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every collection counts as a large one, of which no texts are at hand that can be read again."""
    monkeypatch.setattr("neardup.engine.reading.collection.NEAR_BYTES", 0)
