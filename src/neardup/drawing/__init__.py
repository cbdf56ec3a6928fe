"""Figures of arrays and tables that are there already; nothing is searched here.

    curves      the probability of being found over the similarity
    histograms  pairs by similarity, clusters by size: counted and drawn
    result      the figures of a result: what ``plot`` of it gives
    style       colours, marks, the foot of a sheet, saving

matplotlib is imported inside functions only; ``pyplot``, which keeps state and looks for a screen, is never imported.
"""
