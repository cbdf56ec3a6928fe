"""Texts and signatures of a small collection stay at hand; the answer is the same when they do not, or not for long."""

from __future__ import annotations

import gzip
import itertools
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import warm
from tests.parity.test_spooled import OPTIONS, mixed, told

import neardup
from neardup.engine import run as engine_run
from neardup.engine.observe import Silent
from neardup.engine.reading import collection as collecting
from neardup.engine.reading.collection import Collection, collect
from neardup.engine.space import Budget, Space
from neardup.inputs.names import Provenance
from neardup.inputs.reader import open_inputs
from neardup.stages.shingle import Hasher
from neardup.stages.sketch import count_and_sketch
from neardup.tuning import make_spec
from neardup.types import Documents

PLENTY = 1 << 40
WAYS = ["at hand", "never", "for a while"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection of which some files can be read again and one cannot."""
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    texts = mixed()
    for at in range(4):
        lines = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts) if i % 4 == at)
        content = lines.encode()
        path = inputs / f"{at}.jsonl{'.gz' if at == 2 else ''}"
        path.write_bytes(gzip.compress(content) if at == 2 else content)
    return inputs


@pytest.fixture
def until(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets how long the texts of the next runs stay at hand."""

    def choose(way: str) -> None:
        most = {"at hand": collecting.NEAR_BYTES, "never": 0, "for a while": 150_000}[way]
        monkeypatch.setattr(collecting, "NEAR_BYTES", most)
        if way == "for a while":  # the end comes as a surprise
            monkeypatch.setattr("neardup.inputs.reader.Reader.total_bytes", None)

    return choose


def gathered(source: Any, spec: neardup.Spec, budget: int = PLENTY, workdir: Path | None = None, block: int = 50):
    """What reading leaves, with the names and the space."""
    reader = open_inputs(source, block=block)
    space, names = Space(Budget(PLENTY, budget), workdir, {}), Provenance()
    collection = collect(
        reader.tasks(),
        spec,
        total_bytes=reader.total_bytes,
        threads=2,
        names=names,
        observer=Silent(),
        space=space,
        reopened=reader.reopened,
    )
    return collection, space


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_answer_is_the_same_however_long_texts_stay_at_hand(folder, until, options: dict[str, Any]) -> None:
    found = []
    for way, threads in zip(WAYS, (1, 3, 2), strict=True):
        until(way)
        found.append(told(neardup.find(folder, threads=threads, block=40, **options)))
    assert len(found[0][0]) > 500
    assert found[0] == found[1] == found[2]


def test_a_clean_copy_is_the_same(folder, until, tmp_path: Path) -> None:
    copies = []
    for way in WAYS:
        until(way)
        output = tmp_path / way
        _, removed = neardup.dedup(folder, output=output, threshold=0.7, threads=2)
        files = {path.name: path.read_bytes() for path in sorted(output.iterdir())}
        copies.append((files, removed.to_pylist()))
    assert len(copies[0][1]) > 100
    assert copies[0] == copies[1] == copies[2]


def test_the_command_writes_the_same_bytes_with_a_workdir_where_nothing_is_at_hand(folder, tmp_path: Path) -> None:
    outputs = []
    for more in ([], ["--workdir", tmp_path / "work"], ["--memory", "500MB"]):
        output = tmp_path / f"{len(outputs)}.jsonl"
        options = ["-t", "0.7", "-o", output, "--threads", "2", *more]
        done: subprocess.CompletedProcess[str] = warm.run(["-m", "neardup", "find", str(folder), *map(str, options)])
        assert done.returncode == 0, done.stderr
        outputs.append(output.read_bytes())
    assert outputs[0].count(b"\n") > 500
    assert outputs[0] == outputs[1] == outputs[2]


@pytest.mark.parametrize("way", WAYS)
def test_texts_and_signatures_are_those_of_the_documents(folder, until, way: str) -> None:
    """Whatever was let go; the signatures against those of all texts, sketched in one block."""
    until(way)
    spec = make_spec(threshold=0.7)
    collection, _ = gathered(folder, spec)
    assert collection.is_near == (way == "at hand")
    assert (collection.spare_bytes > 0) == (way == "at hand")
    wanted = [text for at in range(4) for i, text in enumerate(mixed()) if i % 4 == at]
    whole = Documents.from_texts(wanted)
    values, counts = np.empty((len(wanted), spec.slots), np.uint32), np.empty(len(wanted), np.int64)
    count_and_sketch(whole, Hasher(spec.shingle, spec.seed), values=values, counts=counts)
    chosen = np.random.default_rng(1).permutation(len(wanted))[:300]
    assert np.array_equal(collection.values.take(chosen), values[chosen])
    some = np.sort(chosen)
    found = [
        documents.blob(place).decode()
        for documents, local, _ in collection.texts.parts(some)
        for place in local.tolist()
    ]
    assert found == [wanted[row] for row in some.tolist()]
    same = collection.texts.same(some[:-1], some[1:], 1 << 20)
    assert same.tolist() == [wanted[a] == wanted[b] for a, b in itertools.pairwise(some.tolist())]


def test_the_texts_of_a_small_collection_are_not_asked_of_its_files_again(folder, monkeypatch) -> None:
    """Even where they are gone: the answer is that of the texts that were read."""
    before = told(neardup.find(folder, threshold=0.7))
    found = engine_run.find_copies

    def without_files(collection: Collection, *, threads: int):
        for path in folder.iterdir():
            path.unlink()
        return found(collection, threads=threads)

    monkeypatch.setattr(engine_run, "find_copies", without_files)
    assert told(neardup.find(folder, threshold=0.7)) == before


def test_a_large_collection_is_known_by_its_first_block(folder, monkeypatch) -> None:
    """Nothing is gathered only to be let go."""
    spec = make_spec(threshold=0.7)
    (folder / "2.jsonl.gz").unlink()
    collection, _ = gathered(folder, spec)
    left: list[int] = []
    leave = Collection.leave
    monkeypatch.setattr(Collection, "leave", lambda self: (left.append(len(self)), leave(self))[1])
    monkeypatch.setattr(collecting, "NEAR_BYTES", collection.spare_bytes // 2)
    gathered(folder, spec, block=250)
    assert left == [250]


def test_what_is_at_hand_counts_against_the_limit_and_goes_before_the_rest_goes_to_files(folder, tmp_path) -> None:
    """The store is two fifths of the memory for data, of which what is at hand may take half."""
    spec = make_spec(threshold=0.7)
    plenty, _ = gathered(folder, spec)
    all_of_it, spare = plenty.nbytes, plenty.spare_bytes
    for budget, is_near in ((5 * spare + 5 * all_of_it, True), (int(4.9 * spare), False)):
        collection, space = gathered(folder, spec, budget, tmp_path / "work")
        assert (collection.is_near, collection.is_spooled) == (is_near, False)
        space.close(finished=True)
    lasting = all_of_it - spare
    collection, space = gathered(folder, spec, lasting, tmp_path / "work")
    assert (collection.is_near, collection.is_spooled, collection.spare_bytes) == (False, True, 0)
    space.close(finished=True)


def test_values_from_python_are_at_hand_by_themselves(until) -> None:
    """Texts that are kept anyhow are counted once."""
    spec = make_spec(threshold=0.7)
    near, _ = gathered(pa.table({"text": mixed()}), spec)
    assert near.texts.near_bytes == 0
    until("never")
    far, _ = gathered(pa.table({"text": mixed()}), spec)
    assert near.nbytes == far.nbytes
