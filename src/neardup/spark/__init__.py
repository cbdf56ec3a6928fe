"""The same search on a cluster: Spark moves rows, the stages are those of one machine.

``neardup.spark.find``, ``neardup.spark.dedup`` and ``neardup.spark.passages`` take frames of Spark and give such back.

public     the first two, and what they give back        frames     frames as files and back
door       what such calls have in common                repeats    repeated passages, with the third
open       from options to a run                                 jobs       a Spark job while it runs
run        a run as ``session.Run``, searched by a cluster       search     the stages in their order
pieces     a job, its splits, their texts                        exchange   what a cluster does: map, exchange
cluster    Spark does it                                         storage    files that driver and workers see
packing    arrays as bytes
reading    splits are read, normalised, sketched                 copies     exact copies
buckets    keys meet                                             crowds     hot buckets, on the driver
waiting    buckets that wait until crowds are known              checking   candidate pairs are checked
texts      texts on their way                                    known      what the driver knows of documents
work       what these steps have in common               again      documents are read again, for a clean-up
reread     the tasks of it, piece by piece                      rewriting  the clean copies
written    texts for tables, as people wrote them            parts      parts of copies are joined
lopsided   files that cannot be cut                          bad_records  bad records of frames
faults     what ended a job, and its cure

Only documents that have copies or may have pairs come to be known to the driver, by numbers of their own in the same
order; what is decided for them is decided by the code of one machine, and so is the same.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neardup.spark.public import ClusterCleaned, ClusterResult, dedup, find
    from neardup.spark.repeats.public import ClusterPassages, passages

__all__ = ["ClusterCleaned", "ClusterPassages", "ClusterResult", "dedup", "find", "passages"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'neardup.spark' has no attribute {name!r}")
    where = "repeats.public" if name in ("ClusterPassages", "passages") else "public"
    return getattr(import_module(f"{__name__}.{where}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
