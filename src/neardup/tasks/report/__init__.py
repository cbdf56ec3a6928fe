"""A report of a collection: what goes into its pages is gathered here, what they look like is in ``pages.site``.

wanted         the options beside those of the search
prepared       what is read before the run: templates, verdicts, keys, the inputs with their roles
roles          submissions, originals and earlier documents
people         whose a document is, and so which documents may form pairs
pseudonyms     names in place of names, and the key file that leads back
verdicts       what graders decided, read and merged
earlier_pairs  the pairs that an earlier run wrote, read back
report_input   what a report stands on: a search and its clusters, or the pairs of an earlier run
curve          pairs, clusters and removals at every threshold, and pairs in bins of similarity
clusters       the clusters in order, which of them get a page, and which members and pairs are shown there
origins        the source of each document, and pairs of sources
originals      the texts as they were written, from a second reading of the inputs, and where they are kept
ranking        the list of pairs, the most similar first, and that of people, the highest share first
repeats        the repeated passages of the same inputs, found before the search
pages          the pages of clusters in chunks, within the size of the report, and their list
facts          the numbers in words
build          all of it, in order, written
"""
