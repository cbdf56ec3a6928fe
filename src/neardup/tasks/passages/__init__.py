"""Repeated passages: every stretch of at least N bytes that stands at two or more places of a collection.

run        one run from inputs to streams of spans and of texts without them
settings   what it is told        spans    the table of spans        cutting    what is cut of which document
copies     clean copies of files  summary  what is counted           overview   what weighs most
outcome    what Python gets       public   ``neardup.passages``

How repeats are found is in ``engine.repeats``, what is cut in ``stages.repeats``.
"""
