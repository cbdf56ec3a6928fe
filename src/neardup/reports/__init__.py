"""Figures and pages: arrays and small records in; a matplotlib ``Figure``, or HTML, out.

    wording     numbers as text
    binning     similarities in bins
    pairs       what two texts share, as JSON values
    site        the pages of a report and of a comparison
    style       colours, marks, the foot of a sheet, saving
    curves      probability over similarity, recall over similarity, candidates over bands
    histograms  similarities of pairs, sizes of clusters
    evenness    how evenly a hash fills its bins
    scaling     time and memory over the number of documents

Nothing here reads a collection or runs a search: what is drawn is gathered in ``neardup.drawing``, what stands in the
pages in ``neardup.reporting`` and ``neardup.comparing``. matplotlib is imported inside functions only;
``pyplot``, which keeps state and looks for a screen, is never imported.
"""
