"""A plan: what a collection is like, which setting is cheapest for it, and what runs over it will cost.

plan      what a plan holds             measured  a collection measured, ready for predictions
settings  the settings that are compared   make   ``make_plan``, ``make_table``, ``choose_method``
decision  banding or the exact join, as predicted

profile, census and speeds survey a collection; ``costs`` and ``chances`` are the sums; the rules for bands are in
``tuning.rules``.
"""
