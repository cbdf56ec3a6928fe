"""Plain twins of the kernels: same names, arguments and meaning; Python integers, sets and dicts in place of speed.

They are written from the docstrings of ``neardup.kernels`` and share no code with it, the constants of the hash
included, so a change of the hash must be made twice and on purpose. Whole answers of the chain are judged by
``tests.oracles``.

``hashing``    hash of a shingle, shingle hashes of a document, fingerprints
``sketching``  the default sketch                 ``classical``  the families of the literature
``banding``    keys, buckets, pairs, leaders      ``verify``     sets, overlap, exact check
``graph``      components, stars, runs of pairs   ``normal``     tests and maps over bytes
``copies``     pairs of copies                ``scanning``   partners of a sample
``blocks``     blocks of documents laid out so that a read out of place shows
"""
