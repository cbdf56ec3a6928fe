"""Reading an index that may not be written, without the rights of root: ``python -m tests.index.powerless INDEX``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.index.workload import base

from neardup import Index, IndexLocked, OutputError


def main(path: Path) -> None:
    """Give up all rights to write, then read."""
    with Index.open(path, read_only=True) as index:
        print(len(index.query(base(0), top=None)))  # what is compiled is stored while it may be
    for folder in [path, *path.parents]:
        if str(folder) != "/" and os.stat(folder).st_uid == os.getuid():
            os.chmod(folder, 0o755)
    for file in path.rglob("*"):
        os.chmod(file, 0o555 if file.is_dir() else 0o444)
    os.chmod(path, 0o555)
    os.setuid(65534)
    with Index.open(path, read_only=True) as index:
        print(len(index.query(base(0), top=None)))
    try:
        Index.open(path)
    except (IndexLocked, OutputError) as exc:
        print("IndexLocked or OutputError" if str(path) in str(exc) else exc)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
