"""Repeated passages: every stretch of at least N bytes that stands at two or more places of a collection.

run        one run from inputs to streams of spans and of texts without them
settings   what it is told        spans    the table of spans        cutting    what is cut of which document
decided    cuts, to be written    summary  what is counted           overview   what weighs most
second     what repeats in what is left
outcome    what Python gets       public   ``neardup.passages``

How repeats are found is in ``engine.repeats``, what is cut in ``stages.repeats``; clean copies of files are written by
``tasks.dedup``.
"""
