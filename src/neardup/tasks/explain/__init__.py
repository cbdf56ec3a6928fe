"""The method on a few small documents, every step of it in a table.

Pure: values in, an ``Explanation`` out. ``tables`` has its tables, ``documents`` turns texts, sets and matrices into
rows, ``functions`` has the orders and hash functions, ``public`` runs the method, ``explanation`` lays it out for
reading. Not here: reading files (``neardup.cli``), and the method as it runs over a collection (``neardup.engine``),
which this must agree with and shares no step with but the hashes.
"""
