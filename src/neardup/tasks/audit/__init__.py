"""The audit of a search: what it found of the pairs that are there, on a sample whose true pairs are all known.

public          ``neardup.audit``, and ``audit_search``, which holds the pairs of a search against all true pairs
exact_partners  the sample, and the pass over the texts that finds its true pairs
statistics      from pairs found and missed to intervals, and to how likely chance is the cause
outcome         ``Audit``, and its verdict in words
"""
