"""Figures of a collection: the data of each is gathered here, what it looks like is in ``neardup.reports``.

    found    pairs by similarity, clusters by size
    bands    what each further band brings
    hashes   shingles in the bins of two hashes
    timing   time and memory of parts of the collection, each run in a process of its own (child)
    sheets   all figures of a run, and those that other commands draw with --plot

matplotlib is needed only when something is drawn.
"""

from neardup.drawing.sheets import (
    FIGURES,
    check_formats,
    check_names,
    draw,
    make_folder,
    plot_audit,
    plot_finding,
    plot_spec,
    write,
)

__all__ = [
    "FIGURES",
    "check_formats",
    "check_names",
    "draw",
    "make_folder",
    "plot_audit",
    "plot_finding",
    "plot_spec",
    "write",
]
