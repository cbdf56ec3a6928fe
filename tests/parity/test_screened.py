"""Where bits and texts are while pairs are screened and checked changes nothing, nor does it if the run is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.parity.test_spooled import Killed, edited, mixed, told, words

import neardup
from neardup.engine.reading import laid_texts
from neardup.engine.space import Budget, Space

WORK = 100_000_000
OPTIONS: dict[str, Any] = {"input_format": "lines", "block": 100}
SEARCHES: list[dict[str, Any]] = [{"threshold": 0.7, "crowd": 60}, {"threshold": 0.8}]
BLOCKS = {"BITS_PART": 0, "BLOCK_PART": 2000 / WORK}
"""Blocks of 64 documents of 32 bytes."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write families of all sizes, strangers, crowds and boilerplate."""
    documents = [text for text in mixed()[::2] if text]
    for family, size in enumerate((2, 3, 5, 20, 63, 64, 65, 66, 90, 130)):
        page = words(9000 + family, 70)
        documents += [edited(page, 10_000 * family + i, 1 + i % 3) for i in range(size)]
    documents += [edited(words(9002, 70), i, 1) for i in range(2)]  # the last pair is not of the last family
    path = tmp_path_factory.mktemp("screened") / "documents.txt"
    path.write_text("\n".join(documents), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def expected(source: Path) -> list[Any]:
    """Give the answers with all bits and texts in memory."""
    return [told(neardup.find(source, threads=1, **OPTIONS, **search)) for search in SEARCHES]


@pytest.fixture(autouse=True)
def little_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check few pairs at a time, so that they are laid out, and make every step last."""
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(WORK, WORK)))
    monkeypatch.setattr("neardup.engine.check.MOST_PAIRS", 700)
    monkeypatch.setattr("neardup.engine.space.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # no test here is about a machine that fails


def use(monkeypatch: pytest.MonkeyPatch, shares: dict[str, float]) -> None:
    for name, share in shares.items():
        monkeypatch.setattr(f"neardup.engine.banding.pending.{name}", share)


def laid_places(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note for each run that lays texts down whether they stay in memory."""
    places: list[bool] = []
    plain = laid_texts.made_texts

    def made(name: str, space: Space) -> Any:
        places.append(space.workdir is None)
        return plain(name, space)

    monkeypatch.setattr(laid_texts, "made_texts", made)
    return places


@pytest.mark.parametrize(("search", "threads"), [(0, 1), (0, 3), (1, 3)])
def test_blocks_of_bits_and_laid_texts_give_the_same_answer(
    search: int, threads: int, source: Path, expected: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {**OPTIONS, **SEARCHES[search], "threads": threads}
    places = laid_places(monkeypatch)
    assert told(neardup.find(source, **how)) == expected[search]
    assert places == [], "all texts are at hand"
    monkeypatch.setattr("neardup.engine.reading.collection.NEAR_BYTES", 0)
    monkeypatch.setattr("neardup.engine.banding.laid_out.BLOCK_PART", 40_000 / WORK)
    assert told(neardup.find(source, **how)) == expected[search]
    assert places == [True]
    monkeypatch.setattr(laid_texts, "MEMORY_PART", 0)
    assert told(neardup.find(source, **how)) == expected[search]
    assert places == [True, False]
    use(monkeypatch, BLOCKS)
    assert told(neardup.find(source, workdir=tmp_path / "work", **how)) == expected[search]
    assert places == [True, False, False]
    assert not (tmp_path / "work").exists()


def dies_at(fact: str, times: int, monkeypatch: pytest.MonkeyPatch, *, is_kept: bool) -> None:
    """Raise at the n-th checkpoint that has a fact, after it if it ``is_kept``, else instead of it."""
    plain, left = Space.checkpoint, times

    def checkpoint(self: Space, **changes: Any) -> None:
        nonlocal left
        left -= fact in changes
        if is_kept or left:
            plain(self, **changes)
        if not left:
            raise Killed

    monkeypatch.setattr(Space, "checkpoint", checkpoint)


@pytest.mark.parametrize(
    ("fact", "times", "is_kept", "fits_first"),
    [
        *(("bands", 4, True, fits_first) for fits_first in (True, False)),
        *(("laid_out", 1, is_kept, is_kept) for is_kept in (True, False)),
        ("passed", 2, True, False),
        ("verified", 1, False, True),
    ],
)
def test_a_run_killed_while_it_screens_or_checks_goes_on_under_another_limit(
    fact: str,
    times: int,
    is_kept: bool,
    fits_first: bool,
    source: Path,
    expected: list[Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    how = {**OPTIONS, **SEARCHES[0], "workdir": tmp_path / "work"}
    with monkeypatch.context() as patched:
        use(patched, {} if fits_first else BLOCKS)
        dies_at(fact, times, patched, is_kept=is_kept)
        with pytest.raises(Killed):
            neardup.find(source, threads=1, **how)
    use(monkeypatch, BLOCKS if fits_first else {})
    if fact != "bands":  # fewer pairs would be laid out now, and more would be checked at a time
        monkeypatch.setattr("neardup.engine.check.MOST_PAIRS", 10**6)
    assert told(neardup.find(source, resume=True, threads=3, **how)) == expected[0]
    assert not (tmp_path / "work").exists()


def test_pairs_that_were_few_when_a_run_was_killed_are_in_the_same_order_under_less_memory(
    source: Path, expected: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {**OPTIONS, **SEARCHES[1], "workdir": tmp_path / "work"}
    with monkeypatch.context() as patched:
        patched.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(1 << 40, 1 << 40)))
        patched.setattr("neardup.engine.check.MOST_PAIRS", 10**6)
        dies_at("passed", 1, patched, is_kept=True)
        with pytest.raises(Killed):
            neardup.find(source, threads=1, **how)
    monkeypatch.setattr("neardup.engine.banding.laid_out.BLOCK_PART", 40_000 / WORK)
    assert told(neardup.find(source, resume=True, **how)) == expected[1]
