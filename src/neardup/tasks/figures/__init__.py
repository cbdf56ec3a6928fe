"""Figures of a collection.

    found       pairs by similarity, clusters by size      bands       what each further band brings
    curves      probability and recall over similarity, candidates over bands
    histograms  similarities of pairs, sizes of clusters
    style       colours, marks, the foot of a sheet, saving
    sheets      all figures of a run, and those that other commands draw with --plot

matplotlib is imported inside functions only; ``pyplot``, which keeps state and looks for a screen, is never imported.
"""
