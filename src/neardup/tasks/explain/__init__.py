"""The method on a few small documents, every step of it in a table.

``tables`` has its tables, ``material`` makes rows and columns of what is given, ``public`` runs the method,
``explanation`` lays it out for reading. It must agree with ``neardup.engine``,
with which it shares no step but the hashes.
"""
