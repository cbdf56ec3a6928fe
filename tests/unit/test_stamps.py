"""What the file system tells of changed files."""

from __future__ import annotations

import os
from pathlib import Path

from neardup.inputs.reader import Stamps


def test_each_kind_of_change_is_told_and_no_change_is_not(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abcdef"]
    for path in paths[:5]:
        path.write_text("four")
    stamps = Stamps([str(path) for path in paths])
    assert stamps.look() == (None, [])
    paths[4].chmod(0o600)
    paths[5].write_text("was missing, and is not looked at")
    assert stamps.look() == (None, [4])
    old = paths[3].stat()
    paths[3].write_text("vier")
    os.utime(paths[3], ns=(old.st_atime_ns, old.st_mtime_ns))
    assert stamps.look() == (None, [3, 4])
    os.utime(paths[2], ns=(0, old.st_mtime_ns + 1))
    assert stamps.look() == (f"{paths[2]} was written to since it was looked at", [2, 3, 4])
    paths[1].write_text("longer")
    assert stamps.look() == (f"{paths[1]} has 6 bytes, and had 4", [1, 2, 3, 4])
    paths[0].unlink()
    assert stamps.look() == (f"{paths[0]} is gone, which was there", [0, 1, 2, 3, 4])
