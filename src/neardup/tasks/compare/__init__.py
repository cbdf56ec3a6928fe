"""Two documents held against each other: what they share, and what the method makes of them.

    model      Comparison, the outcome
    build      two texts or two sets under a spec → Comparison
    documents  the two documents, out of files or a collection
    gaps       words that changed between shared passages, and which passages belong together
    page       a Comparison as the values that the pair view shows

Finding shared passages is in ``neardup.engine.results.passages``.
"""
