"""neardup finds the near-duplicate documents of a collection and says how sure it is.

>>> import neardup
>>> found = neardup.find(["one text and its near copy", "one text and its near copy!"], threshold=0.7)
>>> len(found.pairs)
1

Names are bound when they are first used: ``import neardup`` loads neither numpy nor numba nor pyarrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from neardup._version import __version__

if TYPE_CHECKING:
    from neardup.api.audit import audit
    from neardup.api.clean import dedup
    from neardup.api.compare import compare
    from neardup.api.explain import explain
    from neardup.api.figures import figures
    from neardup.api.measures import SketchSet, estimate, jaccard, shingle, sketch
    from neardup.api.plan import plan
    from neardup.api.report import report
    from neardup.api.search import find
    from neardup.auditing import Audit, AuditBin
    from neardup.comparing import Comparison
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
    from neardup.explaining.model import Explanation
    from neardup.index import Added, Admission, ContainedHit, Hit, Index, IndexInfo, Stored, Verified
    from neardup.params import Bands, Keep, Normalize, Shingle, Spec
    from neardup.passed import PassedOver
    from neardup.planning import Plan
    from neardup.reporting import Reported
    from neardup.result import Cleaned, CleanSummary, Result, SourceShare, Summary
    from neardup.stages.sketch import minhash
    from neardup.tuning import choose_bands, s_curve

__all__ = [
    "Added",
    "Admission",
    "Audit",
    "AuditBin",
    "Bands",
    "CleanSummary",
    "Cleaned",
    "Comparison",
    "ContainedHit",
    "Explanation",
    "FormatError",
    "Hit",
    "Index",
    "IndexInfo",
    "IndexLocked",
    "IndexNotFound",
    "InputChanged",
    "InputError",
    "Keep",
    "MissingDependency",
    "NeardupError",
    "Normalize",
    "OutputError",
    "PassedOver",
    "Plan",
    "Reported",
    "Result",
    "Shingle",
    "SketchSet",
    "SourceShare",
    "Spec",
    "SpecMismatch",
    "SpoolError",
    "Stored",
    "Summary",
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
    "plan",
    "report",
    "s_curve",
    "shingle",
    "sketch",
]

_HOME = {
    "api.audit": ("audit",),
    "api.clean": ("dedup",),
    "api.compare": ("compare",),
    "api.explain": ("explain",),
    "api.figures": ("figures",),
    "api.measures": ("SketchSet", "estimate", "jaccard", "shingle", "sketch"),
    "api.plan": ("plan",),
    "api.report": ("report",),
    "api.search": ("find",),
    "auditing": ("Audit", "AuditBin"),
    "comparing": ("Comparison",),
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
    "explaining.model": ("Explanation",),
    "index": ("Added", "Admission", "ContainedHit", "Hit", "Index", "IndexInfo", "Stored", "Verified"),
    "params": ("Bands", "Keep", "Normalize", "Shingle", "Spec"),
    "tuning": ("choose_bands", "s_curve"),
    "passed": ("PassedOver",),
    "planning": ("Plan",),
    "reporting": ("Reported",),
    "result": ("CleanSummary", "Cleaned", "Result", "SourceShare", "Summary"),
    "stages.sketch": ("minhash",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'neardup' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"neardup.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
