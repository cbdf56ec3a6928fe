"""How many answers find the right settings: `neardup.tune` with labels as the judge.

    python benchmarks/tune.py shared/data --work DATA/tune [--names arxiv_revisions cora …] [--seeds 20] [--budget 40]
        [--code NAME OLD_RELEASE NEW_RELEASE]... [--json tune.json]

For each collection the pool of all its documents is made once, with the similarity of each pair under each setting, and
kept under `--work`. What each cell (a setting at a threshold) is worth on the whole collection follows from all labels;
pairs that the labels do not judge are left out, and duplicates that are not in the pool count as missed. Then a
dialogue is held for each seed, with the labels as the judge, as they are and with 5 % of the answers wrong.

Printed: F1 of the best cell, of the default, of the preset proposed without answers and whether that was sure, and of
the cell that was chosen (median, and the distance to the best: median, nine in ten, largest); answers needed; how often
the intervals of precision and recall hold the truth, and how wide they are.

A star marks the collections that the constants were compared on, ``LOOKED_AT``: only rows without one say what the
method does on texts that nobody had tried it with. The rules of the proposal were written with all of them in view.
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
from labels_score import judged
from neardup.params import preset_options
from neardup.tasks.tune.cells import Cells
from neardup.tasks.tune.dialogue import Dialogue
from neardup.tasks.tune.estimate import Figure, choose
from neardup.tasks.tune.grid import Setting, settings_for
from neardup.tasks.tune.pool import Pool, make_pool
from neardup.tasks.tune.proposal import Proposal, propose
from neardup.types import Documents

WRONG = (0.0, 0.05)
LOOKED_AT = (
    *("clough_stevenson", "cora", "dblp_acm", "udhr_lines", "bible_nt"),
    *("ocr_chapters", "ocr_titles", "mccormick_1000"),
)
"""Collections on which the constants of ``neardup.tasks.tune.model`` and ``dialogue`` were compared."""
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
        keys = pool.left << 32 | pool.right
        known = judged(keys, own.views[0])
        pool = Pool(
            pool.left[known], pool.right[known], pool.similarity[known], pool.weight[known], pool.settings, pool.floors
        )
        truth = own.views[0].truth
        is_duplicate = np.isin(keys[known], truth)
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
class Told:
    """One dialogue."""

    seed: int
    wrong: float
    answers: int
    f1: float
    distance: float
    expected: float
    holds_precision: bool
    holds_recall: bool
    precision_width: float
    recall_width: float


def hold(own: Judged, seed: int, wrong: float, budget: int) -> Told:
    """Ask the labels until it is sure or the budget is spent."""
    dialogue, lot = Dialogue(own.pool, seed, counted=own.cells), np.random.default_rng([seed, 1234])
    while dialogue.asked < budget and not dialogue.is_sure and (pair := dialogue.next()) is not None:
        dialogue.answer(bool(own.is_duplicate[pair]) ^ bool(lot.random() < wrong))
    choice = choose(dialogue)
    cell, told = choice.cell, choice.expected
    return Told(
        seed,
        wrong,
        dialogue.asked,
        float(own.f1[cell]),
        float(own.f1.max() - own.f1[cell]),
        told.f1.value,
        holds(told.precision, own.precision[cell]),
        holds(told.recall, own.recall[cell]),
        told.precision.high - told.precision.low,
        told.recall.high - told.recall.low,
    )


def holds(figure: Figure, truth: float) -> bool:
    """Whether an interval holds the truth, rounding aside."""
    return bool(figure.low - 1e-9 <= truth <= figure.high + 1e-9)


def of(told: list[Told], name: str) -> float:
    """The mean of a field."""
    return float(np.mean([getattr(each, name) for each in told]))


def row(own: Judged, wrong: float, told: list[Told], proposal: Proposal) -> str:
    """A row of the table."""
    distance = np.array([each.distance for each in told])
    median, tenth = ALLOWED[wrong]
    is_met = np.median(distance) <= median and np.quantile(distance, 0.9) <= tenth
    default, proposed = own.worth("copies"), own.worth(proposal.preset)
    figures = [
        f"{own.f1.max():.3f}",
        "–" if default is None else f"{default:.3f}",
        "–" if proposed is None else f"{proposal.preset} {proposed:.3f} {'sure' if proposal.is_sure else 'not sure'}",
        f"{100 * wrong:g} %",
        f"{np.median([each.answers for each in told]):.0f}",
        f"{np.median([each.f1 for each in told]):.3f}",
        f"**{np.median(distance):.3f}** {np.quantile(distance, 0.9):.3f} {distance.max():.3f}{'' if is_met else ' !'}",
        *(f"{of(told, f'holds_{name}'):.2f} ({of(told, f'{name}_width'):.2f})" for name in ("precision", "recall")),
    ]
    touched = " *" if own.name in LOOKED_AT else ""
    return f"| {own.name}{touched} | {' | '.join(figures)} |"


COLUMNS = (
    *("labels", "best", "default", "without answers", "wrong", "answers", "F1"),
    *("distance: median, 9 in 10, largest", "precision held (width)", "recall held (width)"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--code", nargs=3, action="append", default=[], metavar=("NAME", "OLD", "NEW"))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    collections = [*data.human(args.folder), *data.scanned(args.folder), *data.unsegmented(args.folder)]
    collections += [data.releases(name, Path(old), Path(new)) for name, old, new in args.code]
    found: dict[str, list[Told]] = {}
    print(f"\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for collection in collections:
        if args.names and collection.name not in args.names:
            continue
        own = Judged.of(collection, kept_pool(args.work, collection))
        proposal = propose(own.texts, own.pool)
        for wrong in WRONG:
            told = [hold(own, seed, wrong, args.budget) for seed in range(args.seeds)]
            found[f"{own.name} {wrong}"] = told
            print(row(own, wrong, told, proposal), flush=True)
    every = [each for told in found.values() for each in told]
    held = [np.mean([getattr(each, name) for each in every]) for name in ("holds_precision", "holds_recall")]
    print(f"\nIntervals hold the truth: precision {held[0]:.3f}, recall {held[1]:.3f} of {len(every):,} dialogues")
    if args.json:
        plain = {name: [asdict(each) for each in told] for name, told in found.items()}
        args.json.write_text(json.dumps(plain) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
