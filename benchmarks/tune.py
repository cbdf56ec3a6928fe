"""How many answers find the right settings: `neardup.tune` with labels as the judge.

    python benchmarks/tune.py shared/data --work DATA/tune [--names arxiv_revisions cora …] [--seeds 20] [--budget 40]
        [--code NAME OLD_RELEASE NEW_RELEASE]... [--sampled 3] [--json tune.json]
    python benchmarks/tune.py shared/data --work DATA/tune --leave-out

For each collection the pool of all its documents is made once, with the similarity of each pair under each setting, and
kept under `--work`. What each cell (a setting at a threshold) is worth on the whole collection follows from all labels;
pairs that the labels do not judge are left out, and duplicates that are not in the pool count as missed. Then a
dialogue is held for each seed, with the labels as the judge, as they are and with 5 % of the answers wrong.

Printed: F1 of the best cell, of the default, of the preset proposed without answers and whether that was sure, and of
the cell that was chosen (median, and the distance to the best: median, nine in ten, largest); answers needed; how often
the intervals of precision and recall hold the truth, and how wide they are (median).

With `--sampled N` the questions are about texts that are drawn from a collection as for a user, by N seeds, and what is
chosen and said is held against the whole collection.

With `--leave-out` the constants are chosen anew for each collection, by all others: `candidates` has what they are
chosen from. A star marks the collections that the form of the model was found on.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import labels_data as data
from labels_data import Collection
from labels_repeated import repeated
from labels_score import judged
from neardup.engine.observe import Silent
from neardup.inputs.names import Provenance
from neardup.inputs.reader import open_inputs
from neardup.params import InputOptions, preset_options
from neardup.tasks.tune.cells import Cells
from neardup.tasks.tune.dialogue import Dialogue
from neardup.tasks.tune.estimate import TRUST, Figure, choose
from neardup.tasks.tune.grid import Setting, settings_for
from neardup.tasks.tune.model import SLOPES
from neardup.tasks.tune.pool import Pool, make_pool
from neardup.tasks.tune.proposal import Proposal, propose
from neardup.tasks.tune.sampling import draw_texts
from neardup.types import I64, Documents

WRONG = (0.0, 0.05)
LOOKED_AT = (
    *("clough_stevenson", "cora", "dblp_acm", "udhr_lines", "ocr_chapters", "ocr_titles", "mccormick_1000"),
    *("chinese_poems", "thai_messages", "arxiv_revisions", "click", "django", "sympy"),
)
"""Collections on which the form of ``neardup.tasks.tune.model`` was found."""
ALLOWED = {0.0: (0.03, 0.06), 0.05: (0.05, 0.10)}
"""Of the distance to the best cell: the median, and nine in ten."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A pool with what the labels say of its pairs, and what each cell is worth."""

    name: str
    texts: list[str]
    pool: Pool
    is_duplicate: np.ndarray[Any, np.dtype[np.bool_]]
    duplicates: int
    cells: Cells
    precision: np.ndarray[Any, np.dtype[np.float64]]
    recall: np.ndarray[Any, np.dtype[np.float64]]
    f1: np.ndarray[Any, np.dtype[np.float64]]

    @classmethod
    def of(cls, own: Collection, pool: Pool) -> Judged:
        """Score every cell of a pool on the whole collection."""
        pool, is_duplicate = _judged(pool, pool.left << 32 | pool.right, own)
        truth = own.views[0].truth
        cells = Cells.of(pool.settings, pool.floors, pool.similarity, pool.weight, 0.0)
        true = Cells.of(pool.settings, pool.floors, pool.similarity[is_duplicate], np.ones(is_duplicate.sum()), 0.0)
        precision = np.where(cells.found > 0, true.found / np.maximum(cells.found, 1), 1.0)
        f1 = 2 * true.found / (cells.found + truth.size)
        return cls(own.name, own.texts, pool, is_duplicate, truth.size, cells, precision, true.found / truth.size, f1)

    def worth(self, preset: str) -> float | None:
        """F1 of a preset, with the normalisation of the grid that is most like its own."""
        own = preset_options(preset)
        for normalize in (own["normalize"], own["normalize"].removeprefix("nfc,") + ",space"):
            at = self.cells.place(Setting(own["shingle"], normalize), own["threshold"])
            if at is not None:
                return float(self.f1[at])
        return None


def kept_pool(work: Path, own: Collection) -> Pool:
    """The pool of an earlier run, or a new one that is kept for the next."""
    path = work / f"{own.name}.pool.npz"
    settings = settings_for([text[:1000] for text in own.texts[:500]])
    if not path.exists():
        start = time.process_time()
        pool = make_pool(Documents.from_texts(own.texts), settings, seed=1)
        print(f"# {own.name}: {len(pool):,} pairs, {time.process_time() - start:.0f} CPU s", flush=True)
        np.savez(path, keys=pool.left << 32 | pool.right, similarity=pool.similarity, floors=pool.floors)
    with np.load(path) as kept:
        keys, similarity, floors = kept["keys"], kept["similarity"], kept["floors"]
    return Pool(keys >> 32, keys & 0xFFFFFFFF, similarity, np.ones(keys.size), settings, floors)


@dataclass(frozen=True, slots=True)
class Constants:
    """What may be chosen by leaving a collection out."""

    slopes: tuple[float, ...] = SLOPES
    trust: float = TRUST


def candidates() -> list[Constants]:
    """Prior slopes that are middling and steep, and answers that count half or whole for the intervals."""
    return [Constants(slopes, trust) for slopes in (SLOPES, (16.0, 32.0, 64.0)) for trust in (0.5, 1.0)]


@dataclass(frozen=True, slots=True)
class Told:
    """One dialogue."""

    seed: int
    wrong: float
    answers: int
    f1: float
    distance: float
    holds_precision: bool
    holds_recall: bool
    precision_width: float
    recall_width: float


@dataclass(frozen=True, slots=True)
class Sample:
    """A pool of drawn texts, and what the labels say of its pairs."""

    pool: Pool
    is_duplicate: np.ndarray[Any, np.dtype[np.bool_]]

    @classmethod
    def of(cls, own: Collection, settings: tuple[Setting, ...], seed: int) -> Sample:
        """Draw as ``neardup.tune`` does."""
        tasks = open_inputs(own.texts, InputOptions()).tasks(1)
        drawn = draw_texts(tasks, Provenance(), seed=seed, threads=1, observer=Silent())
        pool = make_pool(
            drawn.documents,
            settings,
            seed=seed,
            weigh=drawn.weigh,
            equal=drawn.equal_pairs,
            copies=drawn.copies,
            total=drawn.total,
        )
        keys = drawn.rows[pool.left] << 32 | drawn.rows[pool.right]
        return cls(*_judged(pool, keys, own))


def _judged(pool: Pool, keys: I64, own: Collection) -> tuple[Pool, np.ndarray[Any, np.dtype[np.bool_]]]:
    """The pairs of a pool that the labels judge, and what they say; ``keys``: their rows in the collection."""
    known, view = judged(keys, own.views[0]), own.views[0]
    sides = pool.left[known], pool.right[known], pool.similarity[known], pool.weight[known]
    copies = np.broadcast_to(pool.copies, len(pool))[known]
    return Pool(*sides, pool.settings, pool.floors, pool.equal, copies), np.isin(keys[known], view.truth)


def hold(
    own: Judged, seed: int, wrong: float, budget: int, sample: Sample | None = None, slopes: tuple[float, ...] = SLOPES
) -> Dialogue:
    """Ask the labels until it is sure or the budget is spent."""
    asked = sample or Sample(own.pool, own.is_duplicate)
    dialogue = Dialogue(asked.pool, seed, counted=None if sample else own.cells, slopes=slopes)
    lot = np.random.default_rng([seed, 1234])
    while dialogue.asked < budget and not dialogue.is_sure and (pair := dialogue.next()) is not None:
        dialogue.answer(bool(asked.is_duplicate[pair]) ^ bool(lot.random() < wrong))
    return dialogue


def told(own: Judged, dialogue: Dialogue, wrong: float, trust: float = TRUST) -> Told:
    """What is chosen after a dialogue, held against all labels."""
    expected = choose(dialogue, trust=trust).expected
    of_setting = np.flatnonzero(own.cells.setting == own.cells.settings.index(expected.setting))
    cell = of_setting[np.argmin(np.abs(own.cells.threshold[of_setting] - expected.threshold))]
    return Told(
        dialogue.seed,
        wrong,
        dialogue.asked,
        float(own.f1[cell]),
        float(own.f1.max() - own.f1[cell]),
        holds(expected.precision, own.precision[cell]),
        holds(expected.recall, own.recall[cell]),
        expected.precision.high - expected.precision.low,
        expected.recall.high - expected.recall.low,
    )


def holds(figure: Figure, truth: float) -> bool:
    """Whether an interval holds the truth, rounding aside."""
    return bool(figure.low - 1e-9 <= truth <= figure.high + 1e-9)


def row(own: Judged, wrong: float, every: list[Told], proposal: Proposal) -> str:
    """A row of the table."""
    default, proposed = own.worth("copies"), own.worth(proposal.preset)
    touched = " *" if own.name in LOOKED_AT else ""
    before = [
        f"{own.name}{touched}",
        f"{own.f1.max():.3f}",
        "–" if default is None else f"{default:.3f}",
        "–" if proposed is None else f"{proposal.preset} {proposed:.3f} {'sure' if proposal.is_sure else 'not sure'}",
    ]
    return f"| {' | '.join([*before, *cells_of(every, wrong)])} |"


def cells_of(every: list[Told], wrong: float) -> list[str]:
    """What is said of some dialogues."""
    distance = np.array([each.distance for each in every])
    median, tenth = ALLOWED[wrong]
    is_met = np.median(distance) <= median and np.quantile(distance, 0.9) <= tenth

    def figures(name: str) -> tuple[float, float]:
        held, width = ([getattr(each, field) for each in every] for field in (f"holds_{name}", f"{name}_width"))
        return float(np.mean(held)), float(np.median(width))

    return [
        f"{100 * wrong:g} %",
        f"{np.median([each.answers for each in every]):.0f}",
        f"{np.median([each.f1 for each in every]):.3f}",
        f"**{np.median(distance):.3f}** {np.quantile(distance, 0.9):.3f} {distance.max():.3f}{'' if is_met else ' !'}",
        *("{:.2f} ({:.2f})".format(*figures(name)) for name in ("precision", "recall")),
    ]


FOUND = (
    *("wrong", "answers", "F1", "distance: median, 9 in 10, largest"),
    *("precision held (width)", "recall held (width)"),
)
COLUMNS = ("labels", "best", "default", "without answers", *FOUND)


HELD = ("holds_precision", "holds_recall")


def chosen_by(others: list[dict[Constants, list[Told]]]) -> Constants:
    """The constants that serve some collections best: those of the least distance, nine in ten, on average.

    Trust does not change the distance. It is the greatest with which both intervals hold 95 of 100, else the least.
    """

    def distance(own: Constants) -> float:
        return float(np.mean([np.quantile([each.distance for each in some[own]], 0.9) for some in others]))

    def held(own: Constants) -> float:
        return min(float(np.mean([getattr(each, name) for some in others for each in some[own]])) for name in HELD)

    least = min(distance(each) for each in candidates())
    fitting = [each for each in candidates() if distance(each) == least]
    return max(fitting, key=lambda own: own.trust if held(own) >= 0.95 else -own.trust)


def leave_out(every: list[Judged], seeds: int, budget: int) -> None:
    """Print the figures of each collection with constants that were chosen by all others."""
    found = []
    for own in every:
        some: dict[Constants, list[Told]] = {each: [] for each in candidates()}
        for slopes in {each.slopes for each in some}:
            for seed in range(seeds):
                dialogue = hold(own, seed, 0.0, budget, slopes=slopes)
                for each in some:
                    if each.slopes == slopes:
                        some[each].append(told(own, dialogue, 0.0, each.trust))
        found.append(some)
    print_left_out([own.name for own in every], found)


def print_left_out(names: list[str], found: list[dict[Constants, list[Told]]]) -> None:
    """A row for each collection."""
    heads = ("labels", "slopes", "trust", *FOUND)
    print(f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    left = []
    for i, name in enumerate(names):
        own = chosen_by(found[:i] + found[i + 1 :])
        left += found[i][own]
        slopes = " ".join(f"{each:g}" for each in own.slopes)
        print(f"| {name} | {slopes} | {own.trust:g} | {' | '.join(cells_of(found[i][own], 0.0))} |", flush=True)
    summary(left)


def summary(every: list[Told]) -> None:
    """How often the intervals hold, over all."""
    held = [np.mean([getattr(each, name) for each in every]) for name in HELD]
    print(f"\nIntervals hold the truth: precision {held[0]:.3f}, recall {held[1]:.3f} of {len(every):,} dialogues")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--code", nargs=3, action="append", default=[], metavar=("NAME", "OLD", "NEW"))
    parser.add_argument("--sampled", type=int, default=0)
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    collections = [*data.human(args.folder), *data.scanned(args.folder), *data.unsegmented(args.folder)]
    collections += repeated(args.folder)
    collections += [data.releases(name, Path(old), Path(new)) for name, old, new in args.code]
    collections = [each for each in collections if not args.names or each.name in args.names]
    if args.leave_out:
        leave_out([Judged.of(each, kept_pool(args.work, each)) for each in collections], args.seeds, args.budget)
        return
    found: dict[str, list[Told]] = {}
    print(f"\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for collection in collections:
        own = Judged.of(collection, kept_pool(args.work, collection))
        proposal = propose(own.texts, own.pool)
        samples = [Sample.of(collection, own.pool.settings, seed) for seed in range(args.sampled)] or [None]
        for wrong in WRONG:
            held = [hold(own, s, wrong, args.budget, samples[s % len(samples)]) for s in range(args.seeds)]
            found[f"{own.name} {wrong}"] = [told(own, each, wrong) for each in held]
            print(row(own, wrong, found[f"{own.name} {wrong}"], proposal), flush=True)
    summary([each for some in found.values() for each in some])
    if args.json:
        plain = {name: [asdict(each) for each in some] for name, some in found.items()}
        args.json.write_text(json.dumps(plain) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
