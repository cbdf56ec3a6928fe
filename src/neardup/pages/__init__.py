"""Pages: plain JSON values in, HTML that opens from disk out.

    site    the pages of a report and of a comparison
    pairs   what two texts share, as JSON values

Nothing here reads a collection or runs a search: what stands in the pages is gathered in ``tasks.report`` and
``tasks.compare``.
"""
