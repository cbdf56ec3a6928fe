"""A disk that is full before, during and after each change of an index: nothing acknowledged is lost, words say why."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup import Index
from neardup.errors import NeardupError

FREE = (0, 60_000, 150_000, 400_000)
"""Bytes left: with the first not even the shared memory file of SQLite can be made."""


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A tmpfs of 4 MB; the test is skipped where it cannot be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.name != "posix" or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def texts(prefix: str, number: int) -> dict[str, str]:
    rng = random.Random(prefix)
    return {
        f"{prefix}{i}": " ".join("".join(rng.choices("abcdefghijk", k=6)) for _ in range(60)) for i in range(number)
    }


def fill(disk: Path, free: int) -> None:
    room = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - free)))


@pytest.mark.parametrize("free", FREE)
@pytest.mark.parametrize("change", ["add", "add_if_new", "remove", "compact", "merge"])
def test_no_acknowledged_document_is_lost_and_all_goes_on_once_there_is_room(tmp_path: Path, change: str, free: int):
    with small_disk(tmp_path / "disk") as disk:
        place, known = disk / "index", texts("d", 200)
        with Index.create(place, threshold=0.7) as index:
            index.add(list(known), list(known.values()))
            if change == "compact":
                index.remove([f"d{i}" for i in range(100)])
        if change == "compact":
            known = {name: text for name, text in known.items() if int(name[1:]) >= 100}
        other = texts("j", 200)
        with Index.create(disk / "other", threshold=0.7) as index:
            index.add(list(other), list(other.values()))
        fill(disk, free)
        maybe: set[str] = set()
        told: list[str] = []
        with contextlib.suppress(NeardupError), Index.open(place) as index:  # never another error
            for new in (texts(f"n{i}-", 50) for i in range(6)):
                try:
                    if change == "add":
                        maybe |= new.keys()
                        index.add(list(new), list(new.values()))
                        known |= new
                    elif change == "add_if_new":
                        for name, text in new.items():
                            maybe.add(name)
                            index.add_if_new(name, text)
                            known[name] = text
                    elif change == "remove":
                        maybe.add("d7")
                        index.remove(["d7"], missing="skip")
                    elif change == "compact":
                        index.compact()
                    else:
                        maybe |= other.keys()
                        index.merge(disk / "other", on_duplicate="skip")
                        known |= other
                except NeardupError as error:
                    told.append(str(error))
                assert [hit.id for hit in index.query(known["d150"])] == ["d150"], "asking needs no room"
        assert [words for words in told if "cannot write" not in words and "space" not in words] == []
        (disk / "filler").unlink()
        with Index.open(place) as index:
            index.verify()
            sure = known.keys() - ({"d7"} if change == "remove" else set())
            assert {name for name in sure if name not in index} == set()
            assert len(index) <= len(known.keys() | maybe)
            for name in random.Random(free).sample(sorted(sure), 20):
                assert name in {hit.id for hit in index.query(known[name])}
            last = texts("z", 20)
            assert index.add(list(last), list(last.values())).added == 20
            index.compact()


def test_an_index_that_finds_no_room_is_not_begun(tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        fill(disk, 20_000)
        with pytest.raises(NeardupError, match="cannot write"):
            Index.create(disk / "index", threshold=0.7)
        assert [each.name for each in disk.iterdir()] == ["filler"]
        (disk / "filler").unlink()
        Index.create(disk / "index", threshold=0.7).close()
