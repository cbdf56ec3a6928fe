"""Choosing the parameters of a run: S-curves, bands by recall or by a rule of the literature, the spec.

Pure functions of numbers: nothing here reads a collection, which is for ``neardup.tasks.plan``. ``rules`` is imported
from where it is: it needs numpy, and ``choice`` does not.
"""

from neardup.tuning.choice import (
    BAND_RULES,
    DEFAULT_SLOTS,
    FILTER_SHARE,
    as_exact,
    check_rule,
    choose_bands,
    choose_min_matches,
    choose_slots,
    filter_loss,
    make_spec,
    promised_recall,
    recall_for_bands,
    s_curve,
)

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
