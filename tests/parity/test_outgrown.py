"""Few documents with very many pairs: these go to files, the documents stay in memory, and the answer is the same."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from tests.oracles import join
from tests.parity.test_spooled import FACTS, told

import neardup
from neardup.engine.observe import Silent
from neardup.engine.space import Budget, Space
from neardup.inputs.reader import open_inputs
from neardup.params import RunOptions
from neardup.session import Run
from neardup.spool import Workdir
from neardup.tuning import make_spec

WORK = 1_500_000
"""Bytes: twice the documents, and less than a tenth of their pairs."""
OPTIONS: dict[str, Any] = {"shingle": "item", "threshold": 0.5, "crowd": 100_000}


def baskets(count: int, seed: int = 1) -> list[list[str]]:
    """Rows of a table with a few values in each column, in two families: every fourth pair is near."""
    chosen = random.Random(seed)
    values = [chosen.choice([2, 2, 3, 4, 5, 6, 9, 12]) for _ in range(23)]
    rows = []
    for _ in range(count):
        other = 100 if chosen.random() < 0.5 else 0
        row = []
        for column, most in enumerate(values):
            value = 0 if chosen.random() < 0.72 else chosen.randrange(most)
            row.append(f"a{column}v{value + (other if column % 3 == 0 else 0)}")
        rows.append(row)
    return rows


def texts(rows: list[list[str]]) -> list[str]:
    return [" ".join(row) for row in rows]


class Notes(Silent):
    """Remembers what a run says: that documents went to files would be among it."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made; every test leaves it empty."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    # as many as asked for, also where there is next to no memory
    monkeypatch.setattr(Budget, "threads", lambda self, wanted: wanted)
    return folder


def allow(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(work, work)))


WAYS: list[dict[str, Any]] = [
    {},
    {"link": "connected"},
    {"exact": True},
    {"measure": "containment", "exact": True, "threshold": 0.7},
    {"collapse_exact": True},
    {"crowd": 40},
    {"crowd": 300, "bands": "20x2"},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_pairs_that_outgrow_the_memory_change_no_byte(
    way: dict[str, Any], threads: int, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = texts(baskets(450))
    documents += documents[:60] + documents[:30]
    options = {**OPTIONS, **way}
    allow(1 << 40, monkeypatch)
    whole = neardup.find(documents, threads=1, **options)
    assert whole.summary.spooled == 0
    allow(WORK, monkeypatch)
    seen = Notes()
    small = neardup.find(documents, threads=threads, observer=seen, **options)
    assert small.summary.spooled > 0
    assert seen.notes == []
    assert told(small) == told(whole)
    assert len(whole.pairs) > 4000
    assert list(place.iterdir()) == []


def test_pairs_in_files_are_those_of_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = baskets(400)
    brute = join.all_pairs(join.sets_of_items(rows), 0.5)
    columns = (brute.left.tolist(), brute.right.tolist(), brute.similarity.tolist())
    true = {(a, b): similarity for a, b, similarity in zip(*columns, strict=True)}
    allow(WORK, monkeypatch)
    for exact in (True, False):
        found = neardup.find(texts(rows), exact=exact, **OPTIONS)
        assert found.summary.spooled > 0
        pairs = {(pair["id_a"], pair["id_b"]): pair["similarity"] for pair in found.pairs.to_pylist()}
        assert pairs.items() <= true.items()
        assert len(pairs) >= (len(true) if exact else 0.99 * len(true))


@pytest.mark.parametrize("options", [{}, {"collapse_exact": True}, {"crowd": 30}], ids=str)
def test_pairs_of_many_copies_are_the_same_however_many_are_spelled_at_a_time(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two groups of copies that are near make as many pairs as the product of their sizes."""
    one, other, third = "a b c d e f g h", "a b c d e f g x", "q r s t u v w"
    documents = [one] * 60 + [other] * 45 + [third] * 50 + [f"{third} y"]
    random.Random(2).shuffle(documents)
    options = {**OPTIONS, "threshold": 0.7, **options}
    whole = neardup.find(documents, **options)
    across = neardup.find(documents[:80], against=documents[80:], shingle="item", threshold=0.7, crowd=1000)
    if options["crowd"] > 1000 and "collapse_exact" not in options:
        assert len(whole.pairs) == 105 * 104 // 2 + 51 * 50 // 2
    for most in (1, 7, 100):
        monkeypatch.setattr("neardup.engine.results.expand.PAIRS_AT_A_TIME", most)
        assert told(neardup.find(documents, **options)) == told(whole)
        again = neardup.find(documents[:80], against=documents[80:], shingle="item", threshold=0.7, crowd=1000)
        assert again.pairs == across.pairs
    assert len(across.pairs) > 1000


def test_a_clean_copy_an_audit_and_a_report_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "baskets.txt"
    source.write_text("\n".join(texts(baskets(400))), encoding="utf-8")
    options = {**OPTIONS, "input_format": "lines"}
    told_of = []
    for name, work in (("whole", 1 << 40), ("small", WORK)):
        allow(work, monkeypatch)
        clean = neardup.dedup(source, **options)
        audit = neardup.audit(source, documents=100, **options).as_dict()
        found = neardup.find(source, **options)
        neardup.report(source, tmp_path / name, title="same", **options)
        files = {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*") if path.is_file()}
        facts = {fact: clean.summary.as_dict()[fact] for fact in FACTS if fact in clean.summary.as_dict()}
        assert (clean.summary.spooled > 0) == (found.summary.spooled > 0) == (name == "small")
        told_of.append((clean.removed, facts, {**audit, "seconds": None}, told(found), files.keys()))
    assert told_of[0] == told_of[1]
    assert told_of[0][0].num_rows > 200


def test_what_goes_wrong_leaves_no_folder_that_nothing_could_go_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "baskets.txt"
    source.write_text("\n".join(texts(baskets(400))), encoding="utf-8")
    allow(WORK, monkeypatch)
    reader, place = open_inputs(source, input_format="lines", item=True), tmp_path / "work"
    run = Run(reader, make_spec(**OPTIONS), RunOptions(threads=1), spill_to=place)

    def stopped(*args: Any, **options: Any) -> None:
        assert (tmp_path / "work").exists()
        assert run.space.state == {}
        raise ZeroDivisionError

    monkeypatch.setattr("neardup.engine.run.expand_pairs", stopped)
    with pytest.raises(ZeroDivisionError), run:
        run.find("star")
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("later", [WORK, 800_000, 1 << 40])
def test_a_run_killed_while_only_its_pairs_were_in_files_begins_anew(
    later: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after SIGKILL the folder stays: with pairs, and with a list of files that names none of them."""
    source = tmp_path / "baskets.txt"
    source.write_text("\n".join(texts(baskets(400))), encoding="utf-8")
    reader = open_inputs(source, input_format="lines", item=True)
    spec = make_spec(**OPTIONS)
    allow(1 << 40, monkeypatch)
    expected = told(neardup.find(source, input_format="lines", **OPTIONS))
    allow(WORK, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr("neardup.engine.space.CHECKPOINT_SECONDS", 0.0)
        patched.setattr(Workdir, "remove", Workdir.close)
        with Run(reader, spec, RunOptions(threads=2), spill_to=tmp_path / "work") as run:
            run.find("star").result()
    assert list((tmp_path / "work").glob("*.keys.spool"))
    allow(later, monkeypatch)
    with Run(reader, spec, RunOptions(threads=2, workdir=tmp_path / "work", resume=True)) as run:
        assert run.space.is_lasting
        assert told(run.find("star").result()) == expected
    assert not (tmp_path / "work").exists()


def test_a_folder_of_pairs_only_has_no_checkpoints_and_goes_however_the_run_ends(tmp_path: Path) -> None:
    space = Space(Budget(1000, 1000), tmp_path / "work", {})
    workdir = space.scratch()
    assert space.open() is workdir
    assert not space.is_lasting
    space.checkpoint(verified=True)
    assert space.state == {}
    assert not space.is_due
    space.close(finished=False)
    assert not (tmp_path / "work").exists()


def test_the_memory_of_a_search_does_not_grow_with_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,200 baskets have 400,000 candidates and 150,000 pairs, which would be held in several arrays each."""
    documents = texts(baskets(1200))
    reader = open_inputs(documents[:10], item=True)
    with Run(reader, make_spec(**OPTIONS), RunOptions(threads=1)) as run:  # kernels are loaded
        for _ in run.find("star").pairs():
            pass
    work = 8_000_000
    allow(work, monkeypatch)
    tracemalloc.start()
    try:
        with Run(open_inputs(documents, item=True), make_spec(**OPTIONS), RunOptions(threads=1)) as run:
            pairs = sum(batch.num_rows for batch in run.find("star").pairs())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert pairs > 100_000
    assert peak < work
