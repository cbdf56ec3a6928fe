"""neardup finds the near-duplicate documents of a collection and says how sure it is.

>>> import neardup
>>> found = neardup.find(["one text and its near copy", "one text and its near copy!"], threshold=0.7)
>>> len(found.pairs)
1

Names are bound when they are first used: ``import neardup`` loads neither NumPy nor kernels nor PyArrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from neardup._version import __version__

if TYPE_CHECKING:
    from neardup.engine.fit import Hint
    from neardup.errors import (
        FormatError,
        IndexLocked,
        IndexNotFound,
        InputChanged,
        InputError,
        MissingDependency,
        NeardupError,
        OutputError,
        SpecMismatch,
        SpoolError,
    )
    from neardup.index.batch import IndexBatch
    from neardup.index.outcomes import (
        Added,
        Admission,
        ContainedHit,
        Hit,
        IndexInfo,
        IndexPage,
        IndexStatistics,
        ListedDocument,
        RemovedByAge,
        Stored,
        Streamed,
        Verified,
    )
    from neardup.index.store import Index
    from neardup.inputs.passed import PassedOver
    from neardup.params import Bands, Keep, Normalize, Preset, Shingle, Spec
    from neardup.result import Cleaned, CleanSummary, Result, SourceShare, Summary
    from neardup.stages.sketch import minhash
    from neardup.tasks.audit.outcome import Audit, AuditBin
    from neardup.tasks.audit.public import audit
    from neardup.tasks.compare.comparison import Comparison
    from neardup.tasks.compare.public import compare
    from neardup.tasks.dedup.public import dedup
    from neardup.tasks.explain.explanation import Explanation
    from neardup.tasks.explain.public import explain
    from neardup.tasks.figures.public import figures
    from neardup.tasks.find import find
    from neardup.tasks.measures import SketchSet, estimate, jaccard, shingle, sketch
    from neardup.tasks.passages.outcome import PassagePage, RepeatedPassages
    from neardup.tasks.passages.public import passages
    from neardup.tasks.plan.outcome import Plan
    from neardup.tasks.plan.public import plan
    from neardup.tasks.repeats.summary import PassageSummary
    from neardup.tasks.report.build import Reported
    from neardup.tasks.report.public import report
    from neardup.tasks.tune.outcome import AskedPair, Tuned
    from neardup.tasks.tune.public import tune
    from neardup.tuning import choose_bands, s_curve

__all__ = [
    "Added",
    "Admission",
    "AskedPair",
    "Audit",
    "AuditBin",
    "Bands",
    "CleanSummary",
    "Cleaned",
    "Comparison",
    "ContainedHit",
    "Explanation",
    "FormatError",
    "Hint",
    "Hit",
    "Index",
    "IndexBatch",
    "IndexInfo",
    "IndexLocked",
    "IndexNotFound",
    "IndexPage",
    "IndexStatistics",
    "InputChanged",
    "InputError",
    "Keep",
    "ListedDocument",
    "MissingDependency",
    "NeardupError",
    "Normalize",
    "OutputError",
    "PassagePage",
    "PassageSummary",
    "PassedOver",
    "Plan",
    "Preset",
    "RemovedByAge",
    "RepeatedPassages",
    "Reported",
    "Result",
    "Shingle",
    "SketchSet",
    "SourceShare",
    "Spec",
    "SpecMismatch",
    "SpoolError",
    "Stored",
    "Streamed",
    "Summary",
    "Tuned",
    "Verified",
    "__version__",
    "audit",
    "choose_bands",
    "compare",
    "dedup",
    "estimate",
    "explain",
    "figures",
    "find",
    "jaccard",
    "minhash",
    "passages",
    "plan",
    "report",
    "s_curve",
    "shingle",
    "sketch",
    "tune",
]

_HOME = {
    "tasks.audit.public": ("audit",),
    "tasks.dedup.public": ("dedup",),
    "tasks.compare.public": ("compare",),
    "tasks.explain.public": ("explain",),
    "tasks.figures.public": ("figures",),
    "tasks.measures": ("SketchSet", "estimate", "jaccard", "shingle", "sketch"),
    "tasks.passages.outcome": ("PassagePage", "RepeatedPassages"),
    "tasks.passages.public": ("passages",),
    "tasks.repeats.summary": ("PassageSummary",),
    "tasks.plan.public": ("plan",),
    "tasks.report.public": ("report",),
    "tasks.tune.outcome": ("AskedPair", "Tuned"),
    "tasks.tune.public": ("tune",),
    "tasks.find": ("find",),
    "tasks.audit.outcome": ("Audit", "AuditBin"),
    "tasks.compare.comparison": ("Comparison",),
    "errors": (
        "FormatError",
        "IndexLocked",
        "IndexNotFound",
        "InputChanged",
        "InputError",
        "MissingDependency",
        "NeardupError",
        "OutputError",
        "SpecMismatch",
        "SpoolError",
    ),
    "engine.fit": ("Hint",),
    "tasks.explain.explanation": ("Explanation",),
    "index.outcomes": (
        "Added",
        "Admission",
        "ContainedHit",
        "Hit",
        "IndexInfo",
        "IndexPage",
        "IndexStatistics",
        "ListedDocument",
        "RemovedByAge",
        "Stored",
        "Streamed",
        "Verified",
    ),
    "index.batch": ("IndexBatch",),
    "index.store": ("Index",),
    "params": ("Bands", "Keep", "Normalize", "Preset", "Shingle", "Spec"),
    "tuning": ("choose_bands", "s_curve"),
    "inputs.passed": ("PassedOver",),
    "tasks.plan.outcome": ("Plan",),
    "tasks.report.build": ("Reported",),
    "result": ("CleanSummary", "Cleaned", "Result", "SourceShare", "Summary"),
    "stages.sketch": ("minhash",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "spark":
        return importlib.import_module("neardup.spark")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'neardup' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"neardup.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
