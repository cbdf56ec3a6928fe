"""Repeated passages: every stretch of at least N bytes that stands at two or more places of a collection.

public      ``neardup.passages``
outcome     what Python gets
near_units  near-duplicate lines, sentences and paragraphs, found by ``dedup``
contexts    passages with the words around them, for ``show``
page        a page to look at: page_census (documents, and what is marked in them), page (all of it as JSON values,
            written)

The run behind it is in ``tasks.repeats``.
"""
