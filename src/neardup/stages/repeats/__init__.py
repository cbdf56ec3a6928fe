"""Segments of a collection that repeat others, and what may be cut of them: arrays in, arrays out.

segments   the table of segments        policies   which bytes of a document to cut        surgery   a text without them
"""
