"""From options to a run for repeated passages on Spark: what cannot be done there is said first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neardup.errors import InputError
from neardup.inputs.reader import Reader
from neardup.params import ClusterOptions, RunOptions
from neardup.spark.open import check_files, open_session, options_of, place_of_work
from neardup.spark.repeats.run import ClusterPassageRun
from neardup.tasks.repeats.settings import Length
from neardup.tasks.repeats.unit_runs import UnitRuns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_passage_run(
    reader: Reader, length: Length | UnitRuns, run: RunOptions, cluster: ClusterOptions, **how: Any
) -> ClusterPassageRun:
    """A run whose search for repeated passages Spark does, not entered yet; ``how``: further arguments of
    ``PassageRun``.

    Raises as ``open_cluster_run``.
    """
    check_passages(reader, length, run)
    return passage_run_of(open_session(cluster.master, cluster.conf), reader, length, run, **how)


def passage_run_of(
    session: SparkSession, reader: Reader, length: Length | UnitRuns, run: RunOptions, **how: Any
) -> ClusterPassageRun:
    """The same of a session; ``how``: further arguments of ``ClusterPassageRun``."""
    return ClusterPassageRun(reader, length, **options_of(session, reader, run, how.get("observer")), **how)


def check_passages(reader: Reader, length: Length | UnitRuns, run: RunOptions) -> None:
    """Raise InputError for what a cluster does not do."""
    place_of_work(run)
    if isinstance(length, UnitRuns):
        raise InputError(
            f"runs of {length.unit}s are not looked for by a cluster, only passages that begin and end anywhere. Leave "
            "out --unit (unit=) and --preset (preset=), or --engine spark (engine='spark')."
        )
    if length.kind == "word":
        raise InputError(
            "a cluster does not number the words of a collection. Give --min-chars (min_chars=) or --min-bytes "
            "(min_bytes=), or leave --engine spark (engine='spark') out."
        )
    check_files(reader)
