"""The method on a few small documents, every step of it in a table.

Pure: values in, an ``Explanation`` out. ``tables`` has its tables, ``material`` makes rows and columns of what is
given, ``public`` runs the method, ``explanation`` lays it out for reading. Not here: reading files (``neardup.cli``),
and the method as it runs over a collection (``neardup.engine``), which this must agree with and shares no step with but
the hashes.
"""
