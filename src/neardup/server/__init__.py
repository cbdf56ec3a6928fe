"""The HTTP service of an index: ``neardup serve``.

                 GuardedProtocol          no clear HTTP, heads that do not arrive   protocol, framing
                       │
                    Service               token, host, routes, errors as JSON problems         app
                       │
                    Exchange              one request: body with limits, answer                exchange
            ┌──────────┴──────────┐
         Handlers              stream     one answer, or a line out for a line in              handlers, stream
            └──────────┬──────────┘
                  WorkerPool              bounded queue, threads, alike jobs as one group      work
            ┌──────────┴──────────┐
         reading               writing    the calls of ``neardup.Index``                       jobs

Here: nothing but the check that the optional libraries are there. The event loop only moves bytes; whatever touches
the index runs in the threads of a pool. The page of a person is in ``page``, its files are sent as they are.
"""

from __future__ import annotations

import importlib.util

from neardup.errors import MissingDependency

__all__ = ["check_installed"]

_NEEDED = ("uvicorn", "msgspec")


def check_installed() -> None:
    """See that the libraries of the service are there.

    Raises:
        MissingDependency: one is not; the message has the install line.
    """
    absent = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        raise MissingDependency(f"neardup serve needs {' and '.join(absent)}: pip install 'neardup[server]'")
