"""Does an audit say what is true? The recall it gives against that over all pairs, seed after seed.

    python benchmarks/audit_seeds.py FOLDER                          collections of ../shared/data, 100 sample seeds
    python benchmarks/audit_seeds.py FOLDER --hash-seeds 100         how often a promise that is kept is called broken

For each case a search is run once, and all its true pairs are found by drawing every document. Then the audit is made
with each sample seed: `covered` counts those whose interval of 95 % holds the true recall, `alarms` those that call
the promise broken. `quarter` is the same search with a quarter of its bands under the promise of all of them, and
`caught` counts the seeds that call that broken. Statistics of a sample are taken from the true pairs of all, which are
those that a pass for the sample alone would give (tests/properties/test_audit.py); `--passes N` makes so many in full
and compares.

With `--hash-seeds` the search is run once a seed and held to its promise over all its pairs: `alarms` counts the
searches called broken. Hash functions are what the promise is about; a sample only sees less of one of them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neardup import tuning
from neardup.engine.observe import Silent
from neardup.engine.state import SearchState
from neardup.inputs.reader import open_inputs
from neardup.params import RunOptions, Spec, check_threads
from neardup.session import Run
from neardup.tasks.audit.exact_partners import draw, find_exact_partners
from neardup.tasks.audit.outcome import CHANCE
from neardup.tasks.audit.public import audit_search
from neardup.tasks.audit.statistics import Evidence
from neardup.types import I64, Pairs

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Case:
    """A collection, how it is searched, and how many documents are drawn."""

    file: str
    shingle: str
    threshold: float
    bands: str | None
    documents: int

    def spec(self, seed: int = 1) -> Spec:
        """Of the search."""
        return tuning.make_spec(threshold=self.threshold, shingle=self.shingle, bands=self.bands, seed=seed)


CASES = (
    Case("arxiv_revisions/abstracts.jsonl.gz", "char:9", 0.8, None, 1000),
    Case("arxiv_revisions/abstracts.jsonl.gz", "char:5", 0.5, "8x8", 1000),
    Case("arxiv_revisions/abstracts.jsonl.gz", "char:5", 0.5, "32x5", 1000),
    Case("bible_nt/chapters.jsonl.gz", "char:5", 0.5, "16x4", 300),
    Case("bible_nt/chapters.jsonl.gz", "char:5", 0.5, None, 300),
    Case("bible_nt/chapters.jsonl.gz", "word:3", 0.5, "16x4", 300),
    Case("newsgroups/messages.jsonl.gz", "word:3", 0.5, "16x4", 1000),
    Case("records/cora.records.jsonl.gz", "char:5", 0.7, "16x8", 300),
    Case("records/dblp_acm.records.jsonl.gz", "char:5", 0.6, "16x5", 500),
)


def all_true(search: SearchState, threads: int) -> Pairs:
    """All true pairs that an audit counts."""
    everything = np.flatnonzero(search.weight)
    truth = find_exact_partners(
        search.collection, search.weight, search.crowd, everything, threads=threads, observer=Silent()
    )
    return truth.pairs


def hits(true: Pairs, search: SearchState) -> Mask:
    """Which true pairs a search found."""
    n = len(search.collection)
    keys = [piece.left * n + piece.right for piece in search.pairs.pieces()]
    return np.isin(true.left * n + true.right, np.concatenate([np.empty(0, np.int64), *keys]))


def part_of(true: Pairs, hit: Mask, drawn: I64, population: int, spec: Spec) -> Evidence:
    """The measurement on a sample."""
    kept = np.isin(true.left, drawn) | np.isin(true.right, drawn)
    pairs = Pairs(true.left[kept], true.right[kept], true.similarity[kept])
    return Evidence.of(pairs, hit[kept], drawn, population, spec)


def sample_seeds(folder: Path, case: Case, *, seeds: int, passes: int, threads: int) -> str:
    """One line: coverage, false alarms and detection over sample seeds."""
    spec = case.spec()
    fewer = f"{max(1, spec.bands.bands // 4)}x{spec.bands.rows}"
    quarter = tuning.make_spec(threshold=case.threshold, shingle=case.shingle, bands=fewer, slots=spec.slots)
    with Run(open_inputs(folder / case.file), spec, RunOptions(threads=threads)) as run:
        search = run.search()
        true = all_true(search, threads)
        hit = hits(true, search)
        population = int(np.count_nonzero(search.weight))
        samples = [draw(search.collection, search.weight, documents=case.documents, seed=seed) for seed in range(seeds)]
        for seed in range(passes):
            whole = audit_search(run, search, documents=case.documents, sample_seed=seed)
            measured = part_of(true, hit, samples[seed], population, spec)
            assert (whole.recall_low, whole.recall_high) == measured.interval()[:2], (case, seed)
            assert whole.chance == measured.chance(), (case, seed)
    with Run(open_inputs(folder / case.file), quarter, RunOptions(threads=threads)) as run:
        broken = hits(true, run.search())
    covered = alarms = caught = 0
    widths, sizes = [], []
    for drawn in samples:
        measured = part_of(true, hit, drawn, population, spec)
        low, high, _ = measured.interval()
        covered += low - 1e-12 <= hit.mean() <= high + 1e-12
        alarms += measured.chance() < CHANCE
        caught += part_of(true, broken, drawn, population, spec).chance() < CHANCE
        widths.append(high - low)
        sizes.append(measured.hit.size)
    return (
        f"{case.file.split('/')[0]:16} {case.shingle:7} {case.threshold} {spec.bands!s:6} pairs {len(true):6} "
        f"recall {hit.mean():.4f} sampled {np.mean(sizes):6.0f} covered {covered}/{seeds} width {np.mean(widths):.4f} "
        f"alarms {alarms}/{seeds} quarter {broken.mean():.4f} caught {caught}/{seeds}"
    )


def hash_seeds(folder: Path, case: Case, *, seeds: int, threads: int) -> str:
    """One line: how often a search that keeps its promise is called broken over all its pairs."""
    chances, recalls = [], []
    for seed in range(1, seeds + 1):
        spec = case.spec(seed)
        with Run(open_inputs(folder / case.file), spec, RunOptions(threads=threads)) as run:
            search = run.search()
            if seed == 1:
                true = all_true(search, threads)
            everything = np.flatnonzero(search.weight)
            measured = Evidence.of(true, hits(true, search), everything, everything.size, spec)
        chances.append(measured.chance())
        recalls.append(float(measured.hit.mean()))
    low = np.array(chances)
    return (
        f"{case.file.split('/')[0]:16} {case.shingle:7} {case.threshold} {spec.bands!s:6} promised "
        f"{measured.theory.mean():.4f} recall {np.mean(recalls):.4f} +- {np.std(recalls):.4f} "
        f"p < .05: {int((low < 0.05).sum())}/{seeds} alarms {int((low < CHANCE).sum())}/{seeds}"
    )


def main() -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--hash-seeds", type=int, default=0)
    parser.add_argument("--passes", type=int, default=0)
    parser.add_argument("--only", default="", help="cases whose file begins so")
    options = parser.parse_args()
    threads = check_threads(None)
    for case in (case for case in CASES if case.file.startswith(options.only)):
        if options.hash_seeds:
            print(hash_seeds(options.folder, case, seeds=options.hash_seeds, threads=threads), flush=True)
        else:
            told = sample_seeds(options.folder, case, seeds=options.seeds, passes=options.passes, threads=threads)
            print(told, flush=True)


if __name__ == "__main__":
    main()
