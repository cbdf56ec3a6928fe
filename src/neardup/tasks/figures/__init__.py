"""Figures of a collection.

    bands       what each further band brings: counted and drawn
    curves      probability and recall over similarity
    histograms  pairs by similarity, clusters by size: counted and drawn
    style       colours, marks, the foot of a sheet, saving
    sheets      all figures of a run, and those that other commands draw with --plot

matplotlib is imported inside functions only; ``pyplot``, which keeps state and looks for a screen, is never imported.
"""
