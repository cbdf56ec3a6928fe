"""Repeated passages: every stretch of at least N bytes that stands at two or more places of a collection.

run        one run from inputs to streams of spans and of texts without them
selection  which passages are wanted   groups   what repeats inside each group of documents
outcome    what Python gets            public   ``neardup.passages``

How repeats are found is in ``engine.repeats``, what is cut in ``stages.repeats``.
"""
