"""A report of a collection: what goes into its pages is gathered here, what they look like is in ``reports.site``.

ground     what a report stands on: a search and its clusters, or the pairs of an earlier run
curve      pairs, clusters and removals at every threshold
groups     the clusters in order, and which of their members are shown
origins    the source of each document, and pairs of sources
originals  the texts as they were written, from a second reading of the inputs
shelf      bytes kept in memory, or in the workdir where they are many
marking    passages, similarities and texts of one cluster
pages      the chunks of the report, within its size
facts      the numbers in words
build      all of it, in order
"""

from neardup.reporting.build import DEFAULT_SIZE, SINGLE_SIZE, Reported, build, check_size
from neardup.reporting.ground import Ground, from_pairs, from_search
from neardup.reporting.originals import check_inputs

__all__ = [
    "DEFAULT_SIZE",
    "SINGLE_SIZE",
    "Ground",
    "Reported",
    "build",
    "check_inputs",
    "check_size",
    "from_pairs",
    "from_search",
]
