"""The HTTP service of an index: ``neardup serve``.

                 GuardedProtocol          refuses unclear HTTP, slow clients, too many of them   protocol
                       │
                    Service               token, host, routes, errors as JSON problems           app
                       │
                    Exchange              one request: its body with limits, its answer          exchange
            ┌──────────┴──────────┐
         a route               Streams    one answer, or one line out for each line in           app, stream
            └──────────┬──────────┘
                  WorkerPool              a bounded queue and threads; alike jobs form a group   work
            ┌──────────┴──────────┐
       IndexReader           IndexWriter  the calls of ``neardup.Index``                         jobs

The event loop only moves bytes; whatever touches the index runs in the threads of a pool: some that read, one that
writes, and one for what reads all texts. The pages for people are in ``page``; scripts and styles that they share with
the pages of reports are in ``neardup.pages.site``.
"""

from __future__ import annotations

import importlib.util

from neardup.errors import MissingDependency

_NEEDED = ("uvicorn", "msgspec")


def check_installed() -> None:
    """Raise MissingDependency, with the install line, unless the libraries of the service are there."""
    absent = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        raise MissingDependency(f"neardup serve needs {' and '.join(absent)}: pip install 'neardup[server]'")
