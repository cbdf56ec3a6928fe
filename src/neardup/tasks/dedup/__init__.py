"""A clean collection: which documents go, why, and the inputs without them.

policy    which document of a cluster is kept, as the user says it
origins   sources of rows, and the values of a column that decides
choose    who is kept in each cluster, and what each removal rests on
run       the search, the table of removals, the copies
rewrite   clean copies of input files, byte for byte
objects   objects in memory without some of their rows
ranks     the order of a column's values (comparable)
"""
