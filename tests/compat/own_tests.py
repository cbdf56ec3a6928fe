"""Runs datasketch's own tests against ours: ``python -m tests.compat.own_tests FOLDER``.

FOLDER holds its package ``test``, as in its repository; it is no part of ours. What they import of ``datasketch`` is
ours. The last line is a JSON object: what passed, was skipped, and failed with the reason. Exit code 1: something
failed without a known reason.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
import unittest
from pathlib import Path
from typing import Any

MODULES = (
    "b_bit_minhash",
    "hashfunc",
    "hyperloglog",
    "lean_minhash",
    "lsh",
    "lshensemble",
    "lshforest",
    "minhash",
    "weighted_minhash",
)
OF_OUR_CLASSES = ("minhash", "lean_minhash", "weighted_minhash", "hyperloglog", "lsh", "lshforest", "lshensemble")
FILES = (*OF_OUR_CLASSES, "minhash_gpu")
"""Of the others ``integration`` and ``aio`` need servers, ``lshbloom`` and ``hnsw`` are of classes we do not have."""
NO_REDIS = "asks for storage in Redis, in place of which there is the type 'neardup'"
WHY = {
    "TestMinHashLSH.test_insert_redis": NO_REDIS,
    "TestMinHashLSH.test_query_redis": NO_REDIS,
    "TestMinHashLSH.test_query_buffer_redis": NO_REDIS,
    "TestMinHashLSH.test_merge_redis": NO_REDIS,
    "TestMinHashLSH.test_redis_deletion_session": NO_REDIS,
    "TestMinHashLSHEnsemble.test_index_redis": NO_REDIS,
    "TestMinHashLSHEnsemble.test_query_redis": NO_REDIS,
    "TestMinHashGPU.test_pickle_roundtrip_is_portable": "looks at private fields for arrays on a graphics processor",
}
"""Why each of these cannot pass."""


def substitute() -> None:
    """From now on ``import datasketch`` gives ours, with its modules; stand in for a Redis that is not there."""
    sys.modules["datasketch"] = importlib.import_module("neardup.compat.datasketch")
    for name in MODULES:
        sys.modules[f"datasketch.{name}"] = importlib.import_module(f"neardup.compat.datasketch.{name}")
    absent: Any = types.ModuleType("mockredis")
    absent.mock_redis_client = None
    sys.modules["mockredis"] = absent


class Listing(unittest.TestResult):
    """Keeps what became of each test."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: list[str] = []

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802  # unittest's name
        self.passed.append(named(test))


def named(test: unittest.TestCase) -> str:
    """Class and method of a test."""
    return ".".join(test.id().split(".")[-2:])


def outcome(folder: Path) -> dict[str, Any]:
    """What became of the tests of FILES."""
    substitute()
    sys.path.insert(0, str(folder))
    listing = Listing()
    unittest.defaultTestLoader.loadTestsFromNames([f"test.test_{name}" for name in FILES]).run(listing)
    wrong = [*listing.failures, *listing.errors]
    return {
        "passed": listing.passed,
        "skipped": {named(test): why for test, why in listing.skipped},
        "failed": {named(test): WHY.get(named(test)) or told.splitlines()[-1] for test, told in wrong},
    }


def main() -> int:
    folder = Path(sys.argv[1])
    if not (folder / "test").is_dir():
        print(f"skipped: {folder} has no folder test with datasketch's own tests")
        return 0
    found = outcome(folder)
    for name, why in sorted(found["failed"].items()):
        print(f"fails: {name}: {why}")
    tried = len(found["passed"]) + len(found["failed"])
    print(f"{len(found['passed'])} of {tried} pass, {len(found['skipped'])} are skipped")
    print(json.dumps(found))
    return 1 if set(found["failed"]) - set(WHY) else 0


if __name__ == "__main__":
    sys.exit(main())
