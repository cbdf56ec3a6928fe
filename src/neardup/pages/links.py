"""Links from a page to files on disk: relative ones, and only downwards from the folder that the page lies in."""

from __future__ import annotations

import os
from urllib.parse import quote


def file_link(path: str, folder: str, *, up: str = "") -> str | None:
    """The address of a file for a page, or None where it may not have one.

    A page may be sent away, so its links tell nothing of the disk: only a file inside ``folder`` has one, which names
    the folders from there on. ``up`` leads from the page to that folder.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a b.txt").write_text("text")
    ...     file_link(f"{folder}/a b.txt", folder, up="../"), file_link(f"{folder}/a b.txt", f"{folder}/report")
    ('../a%20b.txt', None)
    """
    if not os.path.isfile(path):
        return None
    place, base = os.path.abspath(path), os.path.join(os.path.abspath(folder), "")
    if not place.startswith(base):
        return None
    return up + quote(os.fsencode(place[len(base) :].replace(os.sep, "/")))
