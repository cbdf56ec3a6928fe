"""Where the work is done changes nothing: in memory, in a workdir with little memory, or after having been killed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import neardup
from neardup.engine import space as space_module
from neardup.engine.space import Budget, Space

FACTS = (
    *("documents", "bytes", "empty", "short", "exact_copies", "candidates", "checked"),
    *("pairs", "clusters", "crowds", "crowd_documents", "overfull", "hints"),
)


def words(seed: int, count: int) -> list[str]:
    chosen = random.Random(seed)
    return ["".join(chosen.choices("abcdefghij", k=chosen.randint(2, 7))) for _ in range(count)]


def edited(text: list[str], seed: int, changes: int) -> str:
    chosen, copy = random.Random(seed), list(text)
    for _ in range(changes):
        copy[chosen.randrange(len(copy))] = f"x{chosen.randrange(10**6)}"
    return " ".join(copy)


def mixed() -> list[str]:
    """Strangers, copies, pairs near the threshold, three crowds and boilerplate, shuffled."""
    page, other = words(1, 80), words(2, 60)
    documents = [" ".join(words(100 + i, 50)) for i in range(300)]
    documents += [edited(words(100 + i, 50), i, 1 + i % 4) for i in range(0, 300, 3)]
    documents += [documents[i] for i in range(0, 300, 7)]
    documents += [edited(page, i, 1) for i in range(200)] + [edited(page, 1000 + i, 5) for i in range(150)]
    documents += [" ".join(other)] * 90 + [edited(other, i, 2) for i in range(120)]
    documents += [" ".join(page) + " " + " ".join(words(5000 + i, 12)) for i in range(200)]
    documents += ["", "", "tiny", "tiny"]
    random.Random(3).shuffle(documents)
    return documents


OPTIONS: list[dict[str, Any]] = [
    {"threshold": 0.8},
    {"threshold": 0.7, "crowd": 30},
    {"threshold": 0.8, "crowd": 8, "link": "connected"},
    {"threshold": 0.6, "crowd": 20, "collapse_exact": True, "bands": "12x2"},
    {"threshold": 0.9, "crowd": 5, "shingle": "word:2", "sketch": "universal"},
    {"threshold": 0.5, "crowd": 30, "shingle": "char:4", "candidates_by": "char:8"},
]


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little that each stage must work in many parts; what the program itself takes is not counted."""
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(8_000_000, 6_000_000)))
    monkeypatch.setattr("neardup.engine.space.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("neardup.engine.reading.collection.CHECKPOINT_BYTES", 300_000)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # a machine that fails is not what is tested here


def told(found: neardup.Result) -> tuple[Any, ...]:
    summary = found.summary.as_dict()
    return found.pairs, found.clusters, found.crowds, {name: summary[name] for name in FACTS}


@pytest.mark.parametrize(("options", "threads"), [*((options, 3) for options in OPTIONS), (OPTIONS[2], 1)], ids=str)
@pytest.mark.usefixtures("little_memory")
def test_the_answer_is_the_same_in_memory_and_in_a_workdir(
    options: dict[str, Any], threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = mixed()
    spooled = neardup.find(documents, workdir=tmp_path / "work", threads=threads, block=40, **options)
    assert spooled.summary.spooled > 0
    assert not (tmp_path / "work").exists()
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(1 << 40, 1 << 40)))
    whole = neardup.find(documents, threads=1, **options)
    assert whole.summary.spooled == 0
    assert told(spooled) == told(whole)
    assert len(whole.pairs) > 500


@pytest.mark.usefixtures("little_memory")
def test_memory_that_runs_short_on_the_way_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collection begins in memory and moves to a temporary folder, which is gone afterwards."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(2_000_000, 1_000_000)))
    documents = {f"document {i}": text for i, text in enumerate(mixed())}
    options: dict[str, Any] = {"threshold": 0.7, "crowd": 30, "block": 50}
    spilled = neardup.find(documents, **options)
    assert spilled.summary.spooled > 0
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(1 << 40, 1 << 40)))
    assert told(spilled) == told(neardup.find(documents, **options))


class Killed(BaseException):
    """As if the process had ended: nothing handles it."""


def killed_after(checkpoints: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """From the next run on, raise in place of going on behind so many checkpoints."""
    left = checkpoints
    plain = Space.checkpoint

    def checkpoint(self: Space, **changes: Any) -> None:
        nonlocal left
        plain(self, **changes)
        left -= 1
        if left == 0:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(space_module.Space, "checkpoint", checkpoint)
        yield


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.usefixtures("little_memory")
def test_a_run_killed_behind_any_checkpoint_goes_on_to_the_same_answer(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "documents.txt"
    source.write_text("\n".join(text for text in mixed() if text), encoding="utf-8")
    options: dict[str, Any] = {
        "threshold": 0.7,
        "crowd": 30,
        "input_format": "lines",
        "block": 100,
        "threads": 1,
        "workdir": tmp_path / "work",
    }
    expected = told(neardup.find(source, **options))
    died = 0
    for checkpoints in range(1, 1000, step):
        for _ in killed_after(checkpoints, monkeypatch):
            try:
                neardup.find(source, **options)
            except Killed:
                died += 1
            else:
                assert died * step >= 48  # reading, every band, crowds, every slab
                return
        assert told(neardup.find(source, resume=True, **options)) == expected
        assert not (tmp_path / "work").exists()


@pytest.mark.usefixtures("little_memory")
def test_a_run_killed_again_and_again_gets_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "documents.txt"
    source.write_text("\n".join(text for text in mixed() if text), encoding="utf-8")
    options: dict[str, Any] = {
        "threshold": 0.7,
        "crowd": 30,
        "input_format": "lines",
        "block": 100,
        "threads": 2,
        "workdir": tmp_path / "work",
    }
    expected = told(neardup.find(source, **options))
    for attempt in range(200):
        for _ in killed_after(1, monkeypatch):
            try:
                found = neardup.find(source, resume=attempt > 0, **options)
            except Killed:
                continue
            assert told(found) == expected
            assert attempt > 20
            return
    raise AssertionError("each attempt must come further than the one before")


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("work", [2_000_000, pytest.param(20_000_000, marks=pytest.mark.soak), 1 << 40])
def test_a_run_killed_under_one_memory_limit_goes_on_under_another(
    work: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many pairs are checked at a time follows the limit; which of them were checked must not."""
    source = tmp_path / "documents.txt"
    source.write_text("\n".join(text for text in mixed() if text), encoding="utf-8")
    options: dict[str, Any] = {"threshold": 0.7, "crowd": 30, "input_format": "lines", "block": 100, "threads": 1}
    options["workdir"] = tmp_path / "work"
    expected = told(neardup.find(source, **options))
    died = 0
    for checkpoints in range(24, 1000, 13):  # the first ones are those of reading and of the bands
        for _ in killed_after(checkpoints, monkeypatch):
            try:
                neardup.find(source, **options)
            except Killed:
                died += 1
            else:
                assert died >= 3
                return
        with monkeypatch.context() as patched:
            patched.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(work, work)))
            assert told(neardup.find(source, resume=True, **options)) == expected


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(("fit", "later"), [(12_000, 10**9), (10**9, 12_000), (12_000, 5_000)])
def test_an_exact_join_killed_behind_any_checkpoint_goes_on_in_blocks_of_any_size(
    fit: int, later: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks follow the memory limit; which sets have been joined must not."""
    monkeypatch.setattr("neardup.engine.joins.exact.LEAST_RANGE", 1_000)
    source = tmp_path / "documents.txt"
    source.write_text("\n".join(text for text in mixed()[::2] if text), encoding="utf-8")
    options: dict[str, Any] = {"exact": True, "threshold": 0.7, "input_format": "lines", "block": 100, "threads": 2}
    options["workdir"] = tmp_path / "work"
    expected = neardup.find(source, **options)
    died = 0
    for checkpoints in range(1, 1000, 5):
        monkeypatch.setattr("neardup.engine.joins.exact.ExactJoin.fit", fit)
        for _ in killed_after(checkpoints, monkeypatch):
            try:
                neardup.find(source, **options)
            except Killed:
                died += 1
            else:
                assert died > 2
                return
        monkeypatch.setattr("neardup.engine.joins.exact.ExactJoin.fit", later)
        found = neardup.find(source, resume=True, **options)
        assert found.pairs == expected.pairs
        assert found.clusters == expected.clusters


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("how", [{"exact": True}, {"measure": "containment"}], ids=str)
def test_a_join_killed_behind_any_checkpoint_has_the_same_crowds(
    how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a join that was finished are kept, others are found again."""
    page = words(1, 80)
    source = tmp_path / "documents.txt"
    documents = [edited(page, i, 1) for i in range(80)] + [edited(page, 900 + i, 9) for i in range(30)]
    source.write_text("\n".join(documents + documents[:9]), encoding="utf-8")
    options: dict[str, Any] = {"threshold": 0.7, "crowd": 40, "input_format": "lines", "block": 20, "threads": 2, **how}
    expected = neardup.find(source, **options)
    assert expected.summary.crowds == 1
    died = 0
    for checkpoints in range(1, 1000):
        for _ in killed_after(checkpoints, monkeypatch):
            try:
                neardup.find(source, workdir=tmp_path / "work", **options)
            except Killed:
                died += 1
            else:
                assert died >= 3
                return
        found = neardup.find(source, resume=True, workdir=tmp_path / "work", **options)
        for table in ("pairs", "clusters", "crowds"):
            assert getattr(found, table) == getattr(expected, table)


def test_resuming_says_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, work = tmp_path / "a.txt", tmp_path / "work"
    source.write_text("one text that is there\nanother text\n", encoding="utf-8")
    options: dict[str, Any] = {"input_format": "lines", "workdir": work}
    with pytest.raises(neardup.SpoolError, match="nothing to resume"):
        neardup.find(source, resume=True, **options)
    for _ in killed_after(1, monkeypatch):
        with pytest.raises(Killed):
            neardup.find(source, **options)
    with pytest.raises(neardup.SpoolError, match="resume"):
        neardup.find(source, **options)
    with pytest.raises(neardup.SpoolError, match=r"spec\.threshold is 0\.7 and was 0\.8"):
        neardup.find(source, threshold=0.7, resume=True, **options)
    source.write_text("one text that is there\nanother text, changed\n", encoding="utf-8")
    with pytest.raises(neardup.SpoolError, match=r"a\.txt.*bytes"):
        neardup.find(source, resume=True, **options)


def test_a_limit_below_the_program_itself_is_refused() -> None:
    with pytest.raises(neardup.InputError, match=r"100 MB is too small.*Give at least"):
        neardup.find(["a", "b"], memory="100MB")
    with pytest.raises(neardup.InputError, match="2GB, 500MB"):
        neardup.find(["a", "b"], memory="a lot")


def test_what_cannot_be_read_again_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(neardup.InputError, match="cannot be resumed"):
        neardup.find(["a", "b"], workdir=tmp_path / "work", resume=True)
    (tmp_path / "a.txt").write_text("a text\n", encoding="utf-8")
    with pytest.raises(neardup.InputError, match="resume needs the workdir"):
        neardup.find(tmp_path, resume=True, input_format="lines", glob="*")
