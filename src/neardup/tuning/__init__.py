"""Choosing the parameters of a run: S-curves, bands by recall or by a rule of the literature, the spec.

Pure functions of numbers: nothing here reads a collection. Measuring one, and predicting what a run over it will
cost, is in ``neardup.planning``.
"""

from neardup.tuning.choice import (
    BAND_RULES,
    DEFAULT_SLOTS,
    FILTER_SHARE,
    choose_bands,
    choose_min_matches,
    choose_slots,
)
from neardup.tuning.curves import filter_loss, promised_recall, s_curve
from neardup.tuning.spec import make_spec

__all__ = [
    "BAND_RULES",
    "DEFAULT_SLOTS",
    "FILTER_SHARE",
    "choose_bands",
    "choose_min_matches",
    "choose_slots",
    "filter_loss",
    "make_spec",
    "promised_recall",
    "s_curve",
]
