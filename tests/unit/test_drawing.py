"""What figures are drawn from is what the collection holds: against slow counts, in memory and in a workdir."""

from __future__ import annotations

import csv
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.jaccard import jaccard
from tests.oracles.text import shingles

import neardup
from neardup import tuning
from neardup.drawing import histograms
from neardup.engine.banding import listed
from neardup.engine.observe import Silent
from neardup.engine.space import Budget
from neardup.engine.state import SearchState
from neardup.errors import InputError, OutputError
from neardup.inputs.reader import open_inputs
from neardup.params import RunOptions
from neardup.session import Run
from neardup.stages.similarities import fold, similarity_edges
from neardup.tasks.audit.public import audit_search
from neardup.tasks.figures import bands as band_data
from neardup.tasks.figures import sheets, trials
from neardup.tasks.figures.public import figures

pytest.importorskip("matplotlib")

SPEC = tuning.make_spec(threshold=0.6, shingle="char:4", bands="32x2", recall=0.6)


def texts(number: int = 120) -> list[str]:
    """Strangers, variants of them, and copies."""
    draw = random.Random(5)
    made = [" ".join("".join(draw.choices("abcdefg", k=5)) for _ in range(20)) for _ in range(number // 2)]
    for i in range(number // 3):
        words = made[i].split()
        for _ in range(1 + i % 9):
            words[draw.randrange(20)] = "xyz"
        made.append(" ".join(words))
    return [*made, *made[: number - len(made)]]


@contextmanager
def searched(documents: list[str], spec: Any = SPEC, **options: Any) -> Iterator[tuple[Run, SearchState]]:
    with Run(open_inputs(documents), spec, RunOptions(threads=1, **options)) as run:
        yield run, run.search(keep_keys=True)


def test_bands_are_counted_as_a_slow_count_has_them() -> None:
    with searched(texts()) as (_, search):
        banding = band_data.count_bands(search, Silent())
        values, spec = search.collection.values.take(np.arange(len(search.weight))), SPEC
        met, passed, true = (Counter[int]() for _ in range(3))
        for i, j in itertools.combinations(np.flatnonzero(search.weight).tolist(), 2):
            same = values[i] == values[j]
            agreeing = [b for b in range(32) if same[2 * b : 2 * b + 2].all()]
            if not agreeing:
                continue
            met[agreeing[0]] += 1
            fields = ((values[i] ^ values[j])[: spec.screen.fields] % 2**spec.screen.width == 0).sum()
            if fields >= (spec.screen.least_alone if len(agreeing) == 1 else spec.screen.least):
                passed[agreeing[0]] += 1
                one, other = (set(shingles(texts()[row], "char:4")) for row in (i, j))
                true[agreeing[0]] += jaccard(one, other) >= Fraction(6, 10)
    for counts, slow in ((banding.met, met), (banding.passed, passed), (banding.true, true)):
        assert counts.tolist() == list(itertools.accumulate(slow[b] for b in range(32)))
    assert banding.met[-1] > banding.passed[-1] > banding.true[-1] > 10
    assert banding.expected[-1] == pytest.approx(banding.true[-1])
    assert np.all(np.diff(banding.expected) > 0)


def test_a_sample_of_candidates_is_of_the_share_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(band_data, "SAMPLED", 20)
    with searched(texts(600)) as (_, search):
        banding = band_data.count_bands(search, Silent())
    assert 0 < banding.share < 0.5
    expected = banding.share * (banding.passed[-1] - banding.true[-1])
    assert abs(banding.left.size - expected) < 5 * expected**0.5 + 1


def test_figures_are_the_same_from_a_workdir_and_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = texts()
    names = ["recall", "bands", "similarities", "clusters", "rates", "candidates", "hashes"]
    options = {"threshold": 0.6, "shingle": "char:4", "bands": "16x4", "crowd": 4, "formats": "svg", "only": names}
    figures(documents, output=tmp_path / "memory", threads=2, **options)
    monkeypatch.setattr(listed, "BUCKET_ROWS", 7)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(8_000_000, 6_000_000)))
    random.Random(1).shuffle(documents)
    figures(documents, output=tmp_path / "disk", workdir=tmp_path / "work", **options)
    for name in names:
        for suffix in ("svg", "csv"):
            one, two = ((tmp_path / where / f"{name}.{suffix}").read_bytes() for where in ("memory", "disk"))
            assert one == two, name


def numbers_in(folder: Path, name: str) -> dict[str, dict[float, float]]:
    """Read y by x of each series of a figure."""
    read: dict[str, dict[float, float]] = {}
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            read.setdefault(row["series"], {})[float(row["x"])] = float(row["y"])
    return read


@pytest.mark.parametrize("shingle", ["char:4", "item"])
def test_the_numbers_of_rates_and_candidates_are_those_of_comparing_every_pair(tmp_path: Path, shingle: str) -> None:
    documents: list[Any] = texts()
    if shingle == "item":
        documents = [text.split() for text in documents]
    sets = [frozenset(each) if shingle == "item" else frozenset(shingles(each, shingle)) for each in documents]
    exact = [jaccard(a, b) for a, b in itertools.combinations(dict.fromkeys(sets), 2)]
    figures(documents, tmp_path, only=["rates", "candidates"], threshold=0.6, shingle=shingle)
    candidates, rates = numbers_in(tmp_path, "candidates"), numbers_in(tmp_path, "rates")
    true = sum(similarity >= 0.6 for similarity in exact)
    assert set(candidates["true pairs, by the exact join"].values()) == {true}
    assert candidates["found: at 0.6 or above"][50] == true
    distinct = list(dict(zip(sets, documents, strict=True)).values())
    slots = neardup.sketch(distinct, shingle=shingle, normalize="none", slots=100).signatures.values
    for b in (2, 5, 10, 20, 25, 50):
        bands = [list(map(bytes, row.reshape(b, -1))) for row in slots]
        assert candidates["candidates"][b] == sum(
            any(x == y for x, y in zip(*pair, strict=True)) for pair in itertools.combinations(bands, 2)
        )
    assert all(candidates["candidates"][b] >= found for b, found in candidates["found: at 0.6 or above"].items())
    assert min(rates["bands chosen for the promised recall"].values()) >= 95
    assert min(rates["bands by t = (1/b)^(1/r)"].values()) < 95


def test_the_numbers_of_hashes_are_counts_of_the_shingles_in_each_bin(tmp_path: Path) -> None:
    documents = texts()
    figures(documents, tmp_path, only="hashes", shingle="char:4")
    words = {"".join(map(str, each)) for text in documents for each in shingles(text, "char:4")}
    counts = Counter((trials.djb2a(word.encode()) & 0xFFFF) >> 8 for word in words)
    (series,) = (values for name, values in numbers_in(tmp_path, "hashes").items() if name.startswith("djb2a"))
    assert np.allclose(list(series.values()), np.array(sorted(counts[bin] for bin in range(256))) * 256 / len(words))


def test_djb2a_has_its_golden_value() -> None:
    assert trials.djb2a(b"he") == 5861128


def test_comparing_every_pair_stops_before_it_would_take_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "SECONDS", 0.0)
    figures(texts(), tmp_path, only="scaling", shingle="char:4")
    assert {len(values) for values in numbers_in(tmp_path, "scaling").values()} == {1}


@given(st.lists(st.fractions(0, 1, max_denominator=60), max_size=60), st.sampled_from([0.5, 0.7, 0.8, 0.95, 1.0]))
def test_pairs_are_folded_into_the_bins_that_they_are_in(shares: list[Fraction], threshold: float) -> None:
    edges = similarity_edges(threshold, max(0.0, threshold - 0.3))
    assert threshold in edges
    assert edges[-1] == 1.0
    assert np.all(np.diff(edges) > 0)
    values = [float(share) for share in shares]
    slow = [sum(low <= value < high for value in values) for low, high in itertools.pairwise(edges.tolist())]
    assert fold(np.array(values), edges).tolist() == slow
    batches = pa.table({"similarity": pa.array(values, pa.float64())}).to_batches(max_chunksize=7)
    bins = histograms.similarity_bins(batches, edges)
    assert bins.found.tolist() == slow
    assert bins.identical == values.count(1.0)


@given(st.lists(st.integers(1, 9), max_size=20))
def test_clusters_are_counted_by_size(sizes: list[int]) -> None:
    labels = [label for label, size in enumerate(sizes) for _ in range(size)]
    random.Random(len(labels)).shuffle(labels)
    batches = pa.table({"cluster": pa.array(labels, pa.int64())}).to_batches(max_chunksize=5)
    counted = histograms.cluster_sizes(batches)
    assert dict(zip(counted.sizes.tolist(), counted.clusters.tolist(), strict=True)) == Counter(sizes)


def test_wrong_names_and_formats_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"only has 's-curve'; known are s-curves, .* Did you mean 's-curves'?"):
        figures([], output=tmp_path, only="s-curve")
    with pytest.raises(InputError, match="formats has 'jpg'; known are png, svg, pdf"):
        figures([], output=tmp_path, formats=["jpg"])
    with pytest.raises(InputError, match="formats is empty"):
        figures([], output=tmp_path, formats=[])
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="it is a file"):
        sheets.make_folder(tmp_path / "file")


def test_other_commands_draw_their_own_sheet(tmp_path: Path) -> None:
    sheets.plot_spec(SPEC, tmp_path / "plan.png")
    with Run(open_inputs(texts()), SPEC, RunOptions(threads=1)) as run:
        finding = run.find("star")
        number = sum(len(batch) for batch in finding.pairs())
        sheets.plot_finding(finding, run, tmp_path / "find.svg")
        assert finding.summary().pairs == number
    with Run(open_inputs(texts()), SPEC, RunOptions(threads=1)) as run:
        sheets.plot_audit(audit_search(run, run.search()), run, tmp_path / "audit.pdf")
    assert {path.name for path in tmp_path.iterdir()} == {"plan.png", "find.svg", "audit.pdf"}


def test_dropped_candidates_count_the_pairs_of_their_copies() -> None:
    documents = texts()
    with searched([*documents, *documents]) as (run, search):
        work = sheets._Work(run, search, sheets.About(SPEC))
        dropped, share = sheets._dropped(work, similarity_edges(0.6, 0.0))
    with searched(documents) as (run, search):
        work = sheets._Work(run, search, sheets.About(SPEC))
        once, _ = sheets._dropped(work, similarity_edges(0.6, 0.0))
    assert share == 1.0
    assert dropped.sum() == 4 * once.sum() > 0
