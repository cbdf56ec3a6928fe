"""The audit of a search: what it found of the pairs that are there, on a sample whose true pairs are all known.

Here: ``audit_search``, which holds the pairs of a search against the truth of a sample (``audit``), the statistics of
it (``measured``), and ``Audit``, its outcome (``outcome``). The pass that finds the truth is in ``pipeline.truth``, the
maths of intervals in ``tuning.intervals``; options and inputs are read in ``api.audit`` and ``cli.audit``.
"""

from neardup.auditing.audit import audit_search, check_sample
from neardup.auditing.measured import Measured, expected_recall
from neardup.auditing.outcome import Audit, AuditBin, shown

__all__ = [
    "Audit",
    "AuditBin",
    "Measured",
    "audit_search",
    "check_sample",
    "expected_recall",
    "shown",
]
