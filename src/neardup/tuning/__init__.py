"""Choosing the parameters of a run: S-curves, bands by recall or by a rule of the literature, costs, the spec.

Pure functions of numbers: nothing here reads a collection. Measuring one is in ``engine`` (``profile``, ``census``,
``speeds``), a whole plan in ``neardup.tasks.plan``. ``rules`` and ``costs`` are imported from where they are.
"""

from neardup.tuning.choice import (
    BAND_RULES,
    DEFAULT_SLOTS,
    FILTER_SHARE,
    check_rule,
    choose_bands,
    choose_min_matches,
    choose_slots,
    recall_for_bands,
)
from neardup.tuning.curves import filter_loss, promised_recall, s_curve
from neardup.tuning.spec import as_exact, make_spec

__all__ = [
    "BAND_RULES",
    "DEFAULT_SLOTS",
    "FILTER_SHARE",
    "as_exact",
    "check_rule",
    "choose_bands",
    "choose_min_matches",
    "choose_slots",
    "filter_loss",
    "make_spec",
    "promised_recall",
    "recall_for_bands",
    "s_curve",
]
