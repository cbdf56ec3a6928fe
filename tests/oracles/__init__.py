"""Slow, obvious twins of every stage of neardup. They share no code with ``src`` and never import it.

``text``      normalisation, tokens, shingles: ``unicodedata``, tuples, frozensets
``jaccard``   similarity as a fraction; what "at least t" means
``pairs``     every pair at least t, first naively, then by counting in an inverted index
``join``      the same for collections of tens of thousands of documents, in numpy; still exact
``cluster``   connected components, star clusters, partitions
``sketch``    textbook MinHash, S-curves, and sketches that are known to be bad
``sets``      pairs of sets with a similarity that is exact by construction
``shared``    the collections of ../shared/data

The twins are themselves tested, against each other, in ``tests/oracles/test_oracles.py``.
"""
