"""One session of Spark on this machine for all tests that need one; they are skipped where there is none."""

from __future__ import annotations

import functools
import shlex
import sys
import warnings
from typing import TYPE_CHECKING

import pytest

from neardup.errors import MissingDependency, NeardupError
from neardup.spark import open

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "7",
    # a JVM that lives for seconds: it compiles little, and has no threads that look for garbage
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
}


@functools.cache
def missing() -> str | None:
    """Why there is no Spark here; None where there is."""
    try:
        open.pyspark_sql()
        open.check_java()
    except MissingDependency as exc:
        return str(exc)
    return None


def submitting() -> dict[str, str]:
    """The environment of a program that opens such a session by itself."""
    settings = " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in SETTINGS.items())
    arguments = f"--master local[2] {settings} pyspark-shell"
    return {"PYSPARK_SUBMIT_ARGS": arguments, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}


def started() -> SparkSession:
    """The session, which lives as long as the tests of this process."""
    if (why := missing()) is not None:
        pytest.skip(f"needs PySpark and Java: {why}")
    try:
        session = open.open_session("local[2]", [f"{name}={value}" for name, value in SETTINGS.items()])
    except NeardupError as exc:
        pytest.fail(str(exc))
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    return session
