"""The audit of a search: what it found of the pairs that are there, on a sample whose true pairs are all known.

Here: ``audit_search``, which holds the pairs of a search against the truth of a sample (``audit``), the statistics of
it (``measured``), and ``Audit``, its outcome (``outcome``). ``truth`` is the pass that finds all pairs of a sample,
``intervals`` the maths of confidence.
"""
