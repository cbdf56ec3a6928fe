"""A clean collection: which documents go, why, and the inputs without them.

The way of a run is ``run.clean``: policy and inputs are checked, the collection is searched, rows are chosen; and then
``Cleaning``, which names what goes and writes the rest.

policy           which document of a cluster is kept, as the user says it; protected inputs; sources of rows
choose           who is kept in each cluster, and what each removal rests on
again            documents are read again, here or wherever the search was
passages         the passage that a document shares with the one that it goes for
run              the search, the table of removals, the summary, the copies; inputs are still what was decided on
objects          objects in memory without some of their rows
public           ``neardup.dedup``
"""
