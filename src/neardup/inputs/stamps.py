"""What the file system says of the files of a run, to tell at its end whether one was changed meanwhile."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from neardup.shown import shown_path
from neardup.types import I64

__all__ = ["Stamps"]

_SURE = 2
"""The first facts, size and time of modification: where one of them differs, a file was changed."""
_MASK = (1 << 63) - 1
_MISSING = -1


class Stamps:
    """Size, times, inode and device of each file. 40 bytes a file, and 2 microseconds each time it is asked for.

    Size and time of modification tell nearly every change. Who sets that time back after a change cannot set back the
    time of the last change of the inode (on Windows there is none), but that and the number of the inode also change
    where the bytes stay: by other rights, a hard link, a file moved into its place, some network file systems. So
    there are two answers: files that were changed, and files whose contents should be looked at.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        """Take the stamps of files; one that is missing is not looked at again."""
        self._paths = paths
        self._facts = _facts(paths)

    def look(self) -> tuple[str | None, list[int]]:
        """Look at the files again.

        Returns:
            What has become of the first that is not as large or as old as it was, as the beginning of a sentence, or
            None; and the places of those of which anything is not what it was, so that their contents may be others.
        """
        differ = (_facts(self._paths) != self._facts) & (self._facts[:, :1] != _MISSING)
        touched = np.flatnonzero(differ.any(axis=1)).tolist()
        for i in touched:
            if differ[i, :_SURE].any():
                return self._told(i), touched
        return None, touched

    def _told(self, i: int) -> str:
        now, was = _facts(self._paths[i : i + 1])[0, 0], self._facts[i, 0]
        if now == _MISSING:
            what = "is gone, which was there"
        else:
            what = "was written to since it was looked at" if now == was else f"has {now} bytes, and had {was}"
        return f"{shown_path(self._paths[i])} {what}"


def _facts(paths: Sequence[str]) -> I64:
    facts = np.full((len(paths), 5), _MISSING, dtype=np.int64)
    for i, path in enumerate(paths):
        try:
            told = os.stat(path)
        except OSError:
            continue
        facts[i] = (told.st_size, told.st_mtime_ns, told.st_ctime_ns, told.st_ino & _MASK, told.st_dev & _MASK)
    return facts
