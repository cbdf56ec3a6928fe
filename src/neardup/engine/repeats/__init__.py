"""Repeats of a collection: every stretch of at least N bytes that stands at two or more places, within documents.

text      the texts of all documents, end to end, in memory or in a file
find      anchors of windows become pieces; pieces become segments, in the order of the text
grouping  anchors by key to pieces by place; crowds: where the anchors of one key are more than fit into memory
choice    which windows count: of a group, at enough places, of another collection, in no template

The kernels say how it is done (``kernels.anchors``, ``kernels.repeats``, ``kernels.segments``); what becomes of the
segments is in ``stages.repeats``. What *two* given texts share is another question: ``stages.passages``.
"""
