"""One room for each thing that a person asks of a collection.

    find      near-duplicate pairs and clusters           measures  shingles, sketches and similarities of a few texts
    dedup     the collection without its copies           plan      which settings it needs, and what a run will cost
    audit     what a search found of what is there        compare   two documents held against each other
    explain   the method, step by step, on a few texts    report    pages about a collection
    figures   drawings of a collection                    passages  what repeats inside documents

In each room ``public`` has the Python function of that name; the command is in ``neardup.cli``. What serves one task
only lives in its room. Several are served by ``rewrite`` (clean copies of input files), ``columns`` (columns beside the
text, read again) and ``grouping`` (what a document belongs to). A task may use an earlier one (figures, report, audit
and the others, passages, plan, find), never a later one.
"""
