"""The site of the documentation: ``python -m docs.site`` builds it from docs/ and what the repository has beside it.

Nothing here is a page. ``sources`` collects the pages, ``python_pages`` makes those of the Python names, ``results``
those of the benchmarks with their figures, ``notebooks`` the notebooks of the tutorials, ``conf`` is Sphinx's
configuration, and ``checking`` looks at what was built.
"""
