"""Repeated passages: every stretch of at least N bytes that stands at two or more places of a collection.

run        one run from inputs to streams of spans and of texts without them
outcome    what Python gets       public   ``neardup.passages``
page       a page to look at: page_spans (which passage a span is a place of), page_census (what is listed), page (all
           of it as JSON values, written)
contexts   passages with the words around them, for ``show``

How repeats are found is in ``engine.repeats``, what is cut in ``stages.repeats``.
"""
