"""The audit of a search: what it found of the pairs that are there, on a sample whose true pairs are all known.

audit           ``audit_search``, which holds the pairs of a search against all true pairs of a sample
exact_partners  the pass over the texts that finds these
statistics      from pairs found and missed to intervals, and to how likely chance is the cause
outcome         ``Audit``, and its verdict in words
"""
