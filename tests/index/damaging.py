"""Damaging copies of an index, and finding out whether somebody noticed."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.index.crashing import start
from tests.index.tiny import tiny
from tests.index.workload import GROUPS, OPTIONS, Plan, base, carry_out

from neardup import FormatError, Index, IndexNotFound, NeardupError

TRUTH = "index.sqlite"


@dataclass(frozen=True)
class Whole:
    """All that an index says."""

    ids: list[Any]
    texts: list[Any]
    groups: list[Any]
    own: list[Any]


def everything(index: Any) -> Whole:
    """Ids, texts, an answer for each group and for each document; all by lookups in the files."""
    ids = list(index)
    texts = [None if (stored := index.get(id)) is None else stored.text for id in ids]
    groups = index.query([base(group) for group in range(GROUPS)], top=None)
    own = index.query([text or "" for text in texts[::2]], top=3)
    return Whole(ids, texts, groups, own)


def files_of(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def make_index(path: Path) -> Whole:
    """A closed index with several segments, removals, and documents that are in no segment yet."""
    plan = Plan.begin(11)
    Index.create(path, **OPTIONS).close()
    for _ in range(30):  # when the upkeep comes to its work is its own affair
        with tiny(), Index.open(path) as index:
            until = plan.done + (3 if len(plan.versions) > 5 else 30)
            while plan.done < until:
                change = plan.step()
                if change.kind != "compact":
                    carry_out(index, change)
        with Index.open(path, read_only=True) as index:
            whole, info = everything(index), index.info()
        assert whole.ids == list(plan.documents)
        if info.segments > 2 and info.removed and info.bytes[TRUTH] > 1 << 16:
            return whole
    raise AssertionError(f"no such index has come about: {info}")


@contextlib.contextmanager
def damaged(original: Path, change: Callable[[Path], None]) -> Iterator[Path]:
    """A copy in which something was changed."""
    copy = original.with_name("damaged")
    shutil.copytree(original, copy)
    try:
        change(copy)
        yield copy
    finally:
        shutil.rmtree(copy)


def flip(name: str, position: int, bits: int = 0xFF) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with (path / name).open("r+b") as file:
            file.seek(position)
            byte = file.read(1)
            file.seek(position)
            file.write(bytes([byte[0] ^ bits]))

    return change


def cut(name: str, size: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path / name, size)


def named(error: NeardupError, path: Path) -> str:
    """Check that an error speaks of the database, or says that there is none."""
    assert isinstance(error, FormatError | IndexNotFound), repr(error)
    assert (TRUTH if isinstance(error, FormatError) else str(path)) in str(error), error
    return "named"


def check_truth(path: Path, whole: Whole, *, read_only: bool) -> str:
    """Open and ask everything.

    Returns:
        named: an error said so; told: verify did, and all answers were right; or same.
    """
    try:
        with Index.open(path, read_only=read_only) as index:
            said = everything(index)
            told = index.verify(repair=not read_only)
    except NeardupError as exc:
        return named(exc, path)
    assert said == whole, "the answers changed and nobody said so"
    if told.ok:
        return "same"
    assert all(TRUTH in fault or "segments/" in fault for fault in told.faults), told
    return "told"


def positions(size: int, rng: random.Random, count: int) -> list[int]:
    """Some anywhere, and those where pages and headers begin."""
    heads = [page + at for page in range(0, size, 4096) for at in range(12)]
    some = [*rng.choices(range(140), k=count), *rng.choices(heads, k=count), *rng.choices(range(size), k=count)]
    return sorted({at for at in some if at < size})


def check_flips_in_the_truth(path: Path, whole: Whole, count: int, seed: int) -> dict[str, int]:
    rng = random.Random(seed)
    size = (path / TRUTH).stat().st_size
    outcomes = dict.fromkeys(("named", "told", "same"), 0)
    for at in positions(size, rng, count):
        bits = rng.choice([0x01, 0x80, 0xFF, 1 << rng.randrange(8)])
        read_only = rng.random() < 0.4
        with damaged(path, flip(TRUTH, at, bits)) as copy:
            try:
                outcomes[check_truth(copy, whole, read_only=read_only)] += 1
            except BaseException as exc:
                exc.add_note(f"byte {at} of {size} of {TRUTH}, bits {bits:#x}, read_only={read_only}")
                raise
    return outcomes


def segments_of(path: Path) -> list[str]:
    return sorted(name for name in files_of(path) if name.startswith("segments/"))


def check_healing(path: Path, whole: Whole, change: Callable[[Path], None], names: list[str]) -> str:
    """A reader answers right and writes nothing; verify names the file; then it is right again."""
    with damaged(path, change) as copy:
        before = files_of(copy)
        with Index.open(copy, read_only=True) as index:
            assert everything(index) == whole
            told = index.verify(repair=False)
        after = {name: data for name, data in files_of(copy).items() if not name.endswith(("-shm", "-wal"))}
        assert after == {name: data for name, data in before.items() if not name.endswith(("-shm", "-wal"))}
        with Index.open(copy) as index:
            assert everything(index) == whole
            healed = index.info().healed
            once = index.verify()
            twice = index.verify()
            assert everything(index) == whole
        assert (twice.ok, twice.faults, twice.healed) == (True, (), ())
        if told.ok:
            assert (healed, once.healed) == (0, ()), "what is not damaged was made again"
            return "same"
        assert any(Path(name).name in fault for fault in told.faults for name in names), told
        assert healed or once.healed
        with Index.open(copy, read_only=True) as index:
            assert index.verify(repair=False).ok
            assert everything(index) == whole
    return "healed"


def check_flips_in_segments(
    path: Path, whole: Whole, count: int, seed: int, files: int | None = None
) -> dict[str, int]:
    rng = random.Random(seed)
    outcomes = {"same": 0, "healed": 0}
    for name in segments_of(path)[:files]:
        size = (path / name).stat().st_size
        for at in positions(size, rng, count):
            try:
                outcomes[check_healing(path, whole, flip(name, at, 1 << rng.randrange(8)), [name])] += 1
            except BaseException as exc:
                exc.add_note(f"byte {at} of {size} of {name}")
                raise
    return outcomes


def make_killed(path: Path) -> Plan:
    """An index whose writer was killed: the last batches are in the log alone; they are in the plan."""
    Index.create(path, **OPTIONS).close()
    plan = Plan.begin(21)
    process = start("writer", path, plan.seed, 0)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        while line := process.stdout.readline():
            if int(line) >= 25 and (path / f"{TRUTH}-wal").stat().st_size > 1 << 16:
                break
        process.kill()
        rest = process.stdout.read()  # communicate would lose what was read ahead
    finally:
        process.kill()
        process.communicate()
    acknowledged = max([int(line), *(int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n"))])
    while plan.done < acknowledged:
        plan.step()
    assert (path / f"{TRUTH}-wal").stat().st_size > 4096
    return plan


def check_log(copy: Path, plan: Plan, *, read_only: bool) -> str:
    further = plan.copy()
    further.step()
    try:
        with Index.open(copy, read_only=read_only) as index:
            ids = list(index)
            texts = [None if (stored := index.get(id)) is None else stored.text for id in ids]
            told = index.verify(repair=not read_only)
    except NeardupError as exc:
        return named(exc, copy)
    if not told.ok:
        assert all(TRUTH in fault for fault in told.faults), told
        return "told"
    states = [(list(one.documents), list(one.documents.values())) for one in (plan, further)]
    assert (ids, texts) in states, "acknowledged batches were lost and nobody said so"
    return "same"
