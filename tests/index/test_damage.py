"""A flipped byte, a cut, a missing file: it is named, it heals, or it changed nothing; never a wrong answer."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from tests.index.damaging import (
    TRUTH,
    Whole,
    check_flips_in_segments,
    check_flips_in_the_truth,
    check_healing,
    check_log,
    check_truth,
    cut,
    damaged,
    everything,
    flip,
    make_index,
    make_killed,
    segments_of,
)
from tests.index.workload import Plan

from neardup import Index


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Whole]:
    """A closed index and all that it says."""
    path = tmp_path_factory.mktemp("damage") / "index"
    return path, make_index(path)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    """An index whose writer was killed, and what was acknowledged."""
    path = tmp_path_factory.mktemp("log") / "index"
    return path, make_killed(path)


def test_a_flipped_byte_of_the_documents_is_named_or_changed_nothing(original: tuple[Path, Whole]) -> None:
    outcomes = check_flips_in_the_truth(*original, 30, seed=1)
    assert outcomes["named"] + outcomes["told"] > 30, outcomes


@pytest.mark.soak
def test_hundreds_of_flipped_bytes_of_the_documents_are_named_or_changed_nothing(original: tuple[Path, Whole]) -> None:
    check_flips_in_the_truth(*original, 300, seed=2)


def test_a_flipped_byte_of_a_segment_heals(original: tuple[Path, Whole]) -> None:
    outcomes = check_flips_in_segments(*original, 1, seed=3, files=3)
    assert outcomes["healed"] > 2, outcomes


@pytest.mark.soak
def test_hundreds_of_flipped_bytes_of_segments_heal(original: tuple[Path, Whole]) -> None:
    outcomes = check_flips_in_segments(*original, 15, seed=4)
    assert outcomes["healed"] > 2 * outcomes["same"], outcomes


def test_segments_that_are_cut_empty_missing_or_others_heal(original: tuple[Path, Whole]) -> None:
    path, whole = original
    names = segments_of(path)
    size = (path / names[0]).stat().st_size
    rng = random.Random(5)
    for left in [0, 1, 50, 4096, size // 2, size - 1, rng.randrange(size)]:
        assert check_healing(path, whole, cut(names[0], left), names[:1]) == "healed"

    def remove_all(copy: Path) -> None:
        for name in names:
            (copy / name).unlink()

    def swap(copy: Path) -> None:
        first, second = (copy / names[0]).read_bytes(), (copy / names[1]).read_bytes()
        (copy / names[0]).write_bytes(second)
        (copy / names[1]).write_bytes(first)

    def garbage(copy: Path) -> None:
        (copy / names[0]).write_bytes(rng.randbytes(size))

    def longer(copy: Path) -> None:
        with (copy / names[0]).open("ab") as file:
            file.write(b"\0" * 4096)

    def no_folder(copy: Path) -> None:
        shutil.rmtree(copy / "segments")

    for change in (remove_all, swap, garbage, longer, no_folder, lambda copy: (copy / names[-1]).unlink()):
        assert check_healing(path, whole, change, names) == "healed"


def test_a_segment_damaged_while_the_index_is_open_heals(original: tuple[Path, Whole]) -> None:
    """The bytes change under the map, before they were looked at for the first time."""
    path, whole = original
    for name in segments_of(path):
        with damaged(path, lambda copy: None) as copy, Index.open(copy) as index:
            size = (copy / name).stat().st_size
            for at in range(0, size, 512):
                flip(name, at)(copy)
            assert everything(index) == whole
            assert index.verify().ok or index.verify().ok
            assert everything(index) == whole


def test_the_documents_cut_short_or_replaced_are_named(original: tuple[Path, Whole]) -> None:
    path, whole = original
    size = (path / TRUTH).stat().st_size
    rng = random.Random(6)
    for left in [0, 1, 16, 100, 4096, size // 4096 // 2 * 4096, size // 2 + 1, size - 4096]:
        with damaged(path, cut(TRUTH, left)) as copy:
            for read_only in (True, False):
                outcome = check_truth(copy, whole, read_only=read_only)
                assert outcome != "same", f"{left} bytes of {size} are left, read_only={read_only}"
    for data in (b"garbage", rng.randbytes(size), b"SQLite format 3\0" + rng.randbytes(5000)):
        with damaged(path, lambda copy, data=data: (copy / TRUTH).write_bytes(data)) as copy:
            assert check_truth(copy, whole, read_only=True) == "named"
            assert check_truth(copy, whole, read_only=False) == "named"
    with damaged(path, lambda copy: (copy / TRUTH).unlink()) as copy:
        for read_only in (True, False):
            assert check_truth(copy, whole, read_only=read_only) == "named"
        assert not (copy / TRUTH).exists(), "an index was made where one was lost"


def test_a_page_of_the_documents_moved_or_zeroed_is_named_or_changed_nothing(original: tuple[Path, Whole]) -> None:
    """Each page is a good page; it is only in the wrong place, or gone."""
    path, whole = original
    pages = (path / TRUTH).stat().st_size // 4096
    rng = random.Random(7)
    outcomes = []
    for _ in range(12):
        one, other = rng.sample(range(1, pages), 2)

        def copy_page(copy: Path, one: int = one, other: int = other) -> None:
            data = bytearray((copy / TRUTH).read_bytes())
            blank = bytes(4096) if one % 3 == 0 else data[one * 4096 : one * 4096 + 4096]
            data[other * 4096 : other * 4096 + 4096] = blank
            (copy / TRUTH).write_bytes(data)

        with damaged(path, copy_page) as copy:
            try:
                outcomes.append(check_truth(copy, whole, read_only=rng.random() < 0.5))
            except BaseException as exc:
                exc.add_note(f"page {one} was written over page {other} of {pages}")
                raise
    assert outcomes.count("same") < len(outcomes)


def test_the_log_of_a_killed_writer_is_read_again(killed: tuple[Path, Plan]) -> None:
    path, plan = killed
    for read_only in (True, False):
        with damaged(path, lambda copy: None) as copy:
            assert check_log(copy, plan, read_only=read_only) == "same"


def test_a_flipped_byte_of_the_log_is_named_or_lost_nothing(killed: tuple[Path, Plan]) -> None:
    path, plan = killed
    name = f"{TRUTH}-wal"
    size = (path / name).stat().st_size
    rng = random.Random(8)
    frame = 24 + 4096
    some = [
        *range(0, 32, 4),
        *(32 + frame * rng.randrange((size - 32) // frame) + at for at in (0, 5, 9, 17, 24, 2000)),
    ]
    outcomes = []
    for at in [*some, *rng.choices(range(size), k=30)]:
        with damaged(path, flip(name, at, 1 << rng.randrange(8))) as copy:
            try:
                outcomes.append(check_log(copy, plan, read_only=rng.random() < 0.5))
            except BaseException as exc:
                exc.add_note(f"byte {at} of {size} of {name}")
                raise
    assert outcomes.count("named") + outcomes.count("told") > 0


@pytest.mark.parametrize("share", [0.0, 0.3])  # what comes late in the file may be older than its beginning
def test_a_log_that_was_cut_short_or_lost_is_named(killed: tuple[Path, Plan], share: float) -> None:
    path, plan = killed
    name = f"{TRUTH}-wal"
    size = (path / name).stat().st_size
    for read_only in (True, False):
        with damaged(path, cut(name, int(size * share))) as copy:
            assert check_log(copy, plan, read_only=read_only) != "same"
    if share == 0:
        with damaged(path, lambda copy: (copy / name).unlink()) as copy:
            assert check_log(copy, plan, read_only=False) != "same"


def test_what_sqlite_keeps_in_shared_memory_is_not_trusted_after_a_kill(killed: tuple[Path, Plan]) -> None:
    """The -shm file is made again by the first to open; nothing in it can lose a batch."""
    path, plan = killed
    name = f"{TRUTH}-shm"
    rng = random.Random(9)
    for at in [*range(0, 136, 8), *(rng.randrange(136, 32768) for _ in range(10))]:
        with damaged(path, flip(name, at)) as copy:
            assert check_log(copy, plan, read_only=at % 3 == 0) == "same", f"byte {at}"
