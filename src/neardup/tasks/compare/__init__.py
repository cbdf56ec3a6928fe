"""Two documents held against each other: what they share, and what the method makes of them.

    comparison  Comparison, the outcome, and the values that its page shows
    public      ``neardup.compare``: two texts or two sets under a spec → Comparison
    documents   the two documents, out of files or a collection
    gaps        words that changed between shared passages, and which passages belong together

Finding shared passages is in ``neardup.engine.results.passages``.
"""
