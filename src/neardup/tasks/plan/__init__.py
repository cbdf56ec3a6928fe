"""A plan: what a collection is like, which setting is cheapest for it, and what runs over it will cost.

make       ``make_plan``, ``make_table``, ``choose_method``
outcome    ``Plan``, and what it holds
settings   the settings that are compared
decision   banding or the exact join, as predicted
measured   a collection measured, ready for predictions: by ``profile``, ``census`` and ``speeds``
costs      what a run will cost, as sums of what was measured; ``chances`` has the probabilities in them

The rules for bands are in ``tuning.rules``.
"""
