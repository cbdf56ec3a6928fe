"""Repeated passages: every stretch of at least N bytes that stands at two or more places of a collection.

run        one run from inputs to streams of spans and of texts without them
settings   what it is told             selection  which passages are wanted
spans      the table of spans          cutting    what is cut of which document
decided    cuts, to be written         second     what repeats in what is left
summary    what is counted             overview   what weighs most
groups     what repeats inside each group  copies     clean copies of the inputs
unit_runs  runs of whole units         chains     passages that stand again with changes
page       a page to look at: page_spans (which passage a span is a place of), page_census (what is listed), page (all
           of it as JSON values, written)
contexts   passages with the words around them, for ``show``
outcome    what Python gets            public     ``neardup.passages``

How repeats are found is in ``engine.repeats``, what is cut in ``stages.repeats``.
"""
