"""A pair is found if and only if it meets in a band and passes the screen, however the screen is applied."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracles.screen import checked_pairs

import neardup
from neardup.engine.space import Budget
from neardup.params import Bands, Screen

EXAMPLES = settings(max_examples=70, suppress_health_check=[HealthCheck.function_scoped_fixture])
WAYS = ("in memory", "few pairs at a time", "block by block")
WORK = 6_000_000


@st.composite
def repeated_halves(draw: st.DrawFn) -> list[list[str]]:
    """Sets made of two halves out of a few, with some items exchanged; no two are equal."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    halves = [[f"{half} {i}" for i in range(rng.randint(3, 24))] for half in range(draw(st.integers(2, 10)))]
    found: dict[tuple[str, ...], None] = {}
    for number in range(draw(st.integers(2, 40))):
        own = [f"own {number} {i}" for i in range(rng.choice([0, 0, 1, 4, 12, 25]))]
        document = [*rng.choice(halves), *rng.choice(halves), *own]
        found[tuple(sorted(set(rng.sample(document, len(document) - rng.choice([0, 0, 1, 2])))))] = None
    return [list(document) for document in found]


@st.composite
def screens(draw: st.DrawFn, slots: int) -> Screen:
    """A screen that rejects many pairs, and even near ones."""
    width = draw(st.sampled_from([1, 2, 4, 8]))
    fields = draw(st.integers(slots // 2, slots))
    least = draw(st.integers(fields // 4, fields))
    return Screen(fields, width, least, draw(st.one_of(st.just(fields), st.integers(least, fields))))


def apply(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one way to the answer: with all bits in memory, or with two blocks of four documents."""
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(WORK, WORK)))
    if way != "in memory":
        monkeypatch.setattr("neardup.engine.check.MOST_PAIRS", 3)
    if way == "block by block":
        monkeypatch.setattr("neardup.engine.banding.pending.BITS_PART", 0)
        monkeypatch.setattr("neardup.engine.banding.pending.BLOCK_PART", 100 / WORK)
        monkeypatch.setattr("neardup.engine.space.CHECKPOINT_SECONDS", 0.0)
        monkeypatch.setattr("os.fsync", lambda descriptor: None)


@EXAMPLES
@given(st.data(), repeated_halves(), st.sampled_from(["32x1", "16x2", "10x3", "8x4"]), st.sampled_from(WAYS))
def test_a_pair_is_found_if_it_meets_in_a_band_and_its_bits_pass(
    tmp_path: Path, data: st.DataObject, documents: list[list[str]], bands: str, way: str
) -> None:
    slots, shape = 32, Bands.parse(bands)
    screen, small = data.draw(screens(slots)), data.draw(st.sampled_from([2, 3, 4, 64]))
    min_matches, threshold = data.draw(st.integers(0, 24)), data.draw(st.sampled_from([0.2, 0.5, 0.8]))
    sketch = data.draw(st.sampled_from(["hybrid", "hybrid", "independent"]))
    with pytest.MonkeyPatch.context() as patched:
        apply(way, patched)
        patched.setattr("neardup.tuning.screen_for", lambda *_, **__: screen)
        patched.setattr("neardup.tuning.choose_min_matches", lambda *_, **__: min_matches)
        patched.setattr("neardup.stages.screen.SMALL", small)
        patched.setattr("neardup.engine.banding.candidates.SMALL", small)
        result = neardup.find(
            documents,
            shingle="item",
            threshold=threshold,
            slots=slots,
            bands=bands,
            sketch=sketch,
            threads=data.draw(st.sampled_from([1, 3])),
            workdir=tmp_path / "work" if way == "block by block" else None,
        )
    values = neardup.sketch(documents, shingle="item", slots=slots, sketch=sketch).signatures.values
    fields = (screen.fields, screen.width, screen.least, screen.least_alone)
    checked, met = checked_pairs(values, shape.bands, shape.rows, fields, min_matches, small)
    sets = [set(document) for document in documents]
    similarity = {(a, b): len(sets[a] & sets[b]) / len(sets[a] | sets[b]) for a, b in checked}
    found = {(pair["id_a"], pair["id_b"]): pair["similarity"] for pair in result.pairs.to_pylist()}
    assert found == {pair: share for pair, share in similarity.items() if share >= threshold}
    assert (result.summary.candidates, result.summary.checked) == (met, len(checked))
