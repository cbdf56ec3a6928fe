"""A plan: what a collection is like, which setting is cheapest for it, and what runs over it will cost.

plan      what a plan holds             measured  a collection measured, ready for predictions
settings  the settings that are compared   make   ``make_plan``, ``make_table``, ``choose_method``
decision  banding or the exact join, as predicted

The survey, the census of pairs and the speeds are in ``pipeline``, the sums in ``tuning.costs``, the rules in
``tuning.rules``.
"""

from neardup.planning.decision import decide
from neardup.planning.make import choose_method, make_plan, make_table
from neardup.planning.plan import Collected, Option, Plan, RuleOption
from neardup.planning.settings import SLOTS, settings

__all__ = [
    "SLOTS",
    "Collected",
    "Option",
    "Plan",
    "RuleOption",
    "choose_method",
    "decide",
    "make_plan",
    "make_table",
    "settings",
]
