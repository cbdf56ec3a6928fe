"""Figures of a collection, which are searched, measured or sampled for: ``neardup figures``, and ``--plot``.

    bands   what each further band brings: counted and drawn
    recall  measured recall beside what is promised
    trials  figures from many small searches over a sample of the documents
    sheets  all figures of a run, and those that other commands draw with --plot
    public  ``neardup.figures``

How a sheet looks is in ``neardup.drawing``.
"""
