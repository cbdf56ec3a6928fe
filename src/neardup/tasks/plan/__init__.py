"""A plan: what a collection is like, which setting is cheapest for it, and what runs over it will cost.

make       ``make_plan``, ``make_table``, ``choose_method``; the settings that are compared
outcome    ``Plan``, and what it holds
decision   banding or the exact join, as predicted
measured   a collection measured, ready for predictions: by ``profile``, ``census`` and ``speeds``
costs      what a run will cost, as sums of what was measured
"""
