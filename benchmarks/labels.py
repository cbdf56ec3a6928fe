"""What thresholds, shingles and normalisations are worth against labels: recall, precision and F1 of `neardup.find`.

    python benchmarks/labels.py shared/data --work DATA/labels [--kinds records articles code …]
        [--code NAME OLD_RELEASE NEW_RELEASE]... [--json labels.json] [--exact]
    python benchmarks/labels.py shared/data --work DATA/labels --presets [--kinds …] [--code …]...

`find` runs once for each collection, shingle and normalisation, at the lowest threshold of the grid; what any higher
threshold would have found follows from the exact similarities of its pairs. Its recall is set to 0.999 there (more
above it), or made certain with `--exact`, so that the figures are those of the measure and not of the banding.
Pairs are kept under `--work`, and a second run only scores them.

Printed for each kind of text: the F1 of several settings on each view of the labels with intervals of a bootstrap over
groups; the best cell for every shingle and normalisation; what choosing on the other collections gives on one that
was left out; recall, precision and F1 over thresholds and shingles. `--json` has every cell.

`--presets` searches as a user would, with `preset=` and nothing else, and holds the F1 against that of the recommended
setting in LABELS.md: exit code 1 when one is more than 0.01 below.

The collections are in
`labels_data.py`, the rules of synthetic ones in `labels_noise.py`, the counting in `labels_score.py`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import labels_data as data
import neardup
from labels_data import Collection, View
from labels_score import Found, Score, interval, recall_at, score
from neardup.params import Normalize, preset_options

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(6, 20))
SHOWN = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SHINGLES = ("char:3", "char:5", "char:7", "char:9", "char:12", "word:1", "word:2", "word:3", "word:5")
NORMALIZE = ("nfc", "nfc,casefold,space", "nfc,casefold,punct,space")
STRIPPED = "nfkc,casefold,punct,strip"
RECALL = 0.999
EVERY_PAIR = 1_000_000
"""As `crowd`: more documents than any collection has, so that no group is listed as a star."""

COMMON = {(kind, "char:3") for kind in ("articles", "messages", "ocr", "code")} | {("code", "word:1")}
"""Kinds and shingles that are tried from t = 0.5 on only: below, nearly every pair of documents is a candidate."""

TOLERANCE = 0.01
"""F1 that the choice gives up for a higher threshold."""

PRECISION = 0.95
"""At which shingles are ranked without a threshold."""


class Setting(NamedTuple):
    """What a user chooses."""

    shingle: str
    normalize: str
    threshold: float

    def __str__(self) -> str:
        return f"{self.shingle}, {self.normalize.removeprefix('nfc,')}, {self.threshold:.2f}"


PRESET_OF = {
    "records": "records",
    "articles": "articles",
    "messages": "web",
    "revised": "essays",
    "ocr": "scans",
    "unsegmented": "unsegmented",
    "code": "code",
}
"""The preset for a kind of text."""


def of_preset(name: str) -> Setting:
    """The setting of a preset."""
    own = preset_options(name)
    return Setting(own["shingle"], str(Normalize.parse(own["normalize"])), own["threshold"])


DEFAULT = of_preset("copies")
HABITS = (Setting("word:5", "nfc,casefold,punct,space", 0.8), Setting("char:5", "nfc,casefold,space", 0.8))
RECOMMENDED = {kind: of_preset(name) for kind, name in PRESET_OF.items()} | {"revised": of_preset("articles")}
"""What docs/howto/settings.md recommends; for revised answers without looking at them."""


def grid(kind: str) -> list[tuple[str, str]]:
    """The shingles and normalisations that are tried on a kind of text."""
    cells = [(shingle, normalize) for normalize in NORMALIZE for shingle in SHINGLES]
    if kind in ("ocr", "unsegmented"):  # without spaces there are no words, so characters only
        cells += [(shingle, STRIPPED) for shingle in SHINGLES if shingle.startswith("char")]
    if kind == "unsegmented":
        cells += [("char:2", normalize) for normalize in (*NORMALIZE, STRIPPED)]
        cells += [("byte:9", normalize) for normalize in (*NORMALIZE, STRIPPED)]
    return cells


def thresholds_of(kind: str, shingle: str) -> list[float]:
    """The thresholds that are tried with a shingle."""
    return [each for each in THRESHOLDS if each >= 0.5 or (kind, shingle) not in COMMON]


def search(texts: Sequence[str], shingle: str, normalize: str, threshold: float, *, exact: bool) -> Found:
    """All pairs of rows of at least ``threshold``."""
    how = {"exact": True} if exact else {"recall": RECALL}
    return pairs_of(
        neardup.find(list(texts), threshold=threshold, shingle=shingle, normalize=normalize, crowd=EVERY_PAIR, **how)
    )


def pairs_of(result: neardup.Result) -> Found:
    """The pairs of rows that a search of a list has found."""
    left, right = (result.pairs[name].to_numpy().astype(np.int64) for name in ("id_a", "id_b"))
    keys = np.minimum(left, right) << 32 | np.maximum(left, right)
    order = np.argsort(keys)
    return Found(keys[order], result.pairs["similarity"].to_numpy()[order])


def kept_search(work: Path, own: Collection, shingle: str, normalize: str, *, exact: bool) -> Found:
    """The pairs of an earlier run of this script, or those of a search that is kept for the next."""
    least = thresholds_of(own.kind, shingle)[0]
    path = work / f"{own.name}.{shingle}.{normalize}.{least}.npz".replace(":", "").replace(",", "+")
    if not path.exists():
        start = time.perf_counter()
        found = search(own.texts, shingle, normalize, least, exact=exact)
        print(f"# {own.name} {shingle} {normalize}: {found.keys.size:,} pairs, {time.perf_counter() - start:.1f} s")
        np.savez(path, keys=found.keys, similarity=found.similarity)
    with np.load(path) as kept:
        return Found(kept["keys"], kept["similarity"])


Scores = dict[str, dict[Setting, Score]]
"""By view."""


def mean_f1(scores: Scores, views: Sequence[str]) -> dict[Setting, float]:
    """The mean over the views, for each setting."""
    return {each: float(np.mean([scores[view][each].f1 for view in views])) for each in scores[views[0]]}


def choose(mean: dict[Setting, float]) -> Setting:
    """The shingle and normalisation of the best mean, at the highest threshold that loses at most ``TOLERANCE``.

    The highest, because false pairs grow with the square of the number of documents and true ones do not: what is
    free of them in a small collection is not in a large one.
    """
    best = max(mean, key=lambda each: (mean[each], each.threshold))
    near = [each for each in mean if each[:2] == best[:2] and mean[each] >= mean[best] - TOLERANCE]
    return max(near, key=lambda each: each.threshold)


@dataclass(slots=True)
class Study:
    """All that was found and scored for a kind of text."""

    kind: str
    collections: list[Collection]
    found: dict[tuple[str, str, str], Found]
    """By collection, shingle and normalisation."""
    scores: Scores

    @property
    def views(self) -> list[tuple[Collection, View]]:
        """All views."""
        return [(own, view) for own in self.collections for view in own.views]

    @property
    def chosen(self) -> list[str]:
        """Names of the views that have a say."""
        return [view.name for _, view in self.views if view.chosen] or [self.views[0][1].name]


def study(kind: str, collections: list[Collection], work: Path, *, exact: bool) -> Study:
    """Find and score everything of a kind."""
    made = Study(kind, collections, {}, {view.name: {} for own in collections for view in own.views})
    for own in collections:
        for shingle, normalize in grid(kind):
            found = kept_search(work, own, shingle, normalize, exact=exact)
            made.found[own.name, shingle, normalize] = found
            thresholds = thresholds_of(kind, shingle)
            for view in own.views:
                for threshold, value in zip(thresholds, score(found, view, thresholds), strict=True):
                    made.scores[view.name][Setting(shingle, normalize, threshold)] = value
    return made


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def three(value: Score) -> str:
    """Recall, precision and F1."""
    return f"{value.recall:.2f} {value.precision:.2f} **{value.f1:.2f}**"


def print_settings(made: Study, settings: dict[str, Setting]) -> None:
    """Some settings on every whole collection, with intervals, beside the best cell of the collection itself."""
    rows = []
    for own in made.collections:
        view = own.views[0]
        scores = made.scores[view.name]
        best = max(scores, key=lambda each: (scores[each].f1, each.threshold))
        for name, each in {**settings, "its own best": best}.items():
            value = scores[each]
            low, high = interval(made.found[own.name, each.shingle, each.normalize], view, each.threshold)
            figures = [f"{value.recall:.3f}", f"{value.precision:.3f}", f"**{value.f1:.3f}** ({low:.3f}–{high:.3f})"]
            rows.append([view.name, name, str(each), *figures, f"{int(value.false):,}"])
    table(("labels", "setting", "", "recall", "precision", "F1 (95 %)", "false pairs"), rows)


def print_parts(made: Study, settings: dict[str, Setting]) -> None:
    """Recall, precision and F1 of some settings on the further views."""
    views = [view.name for own in made.collections for view in own.views[1:]]
    if views:
        rows = [[view, *(three(made.scores[view][each]) for each in settings.values())] for view in views]
        table(("recall, precision, **F1**", *(f"{name}: {each}" for name, each in settings.items())), rows)


def print_best(made: Study) -> None:
    """For every shingle and normalisation the threshold with the best mean F1."""
    mean = mean_f1(made.scores, made.chosen)
    rows = []
    for shingle in dict.fromkeys(each.shingle for each in mean):
        row = [shingle]
        for normalize in dict.fromkeys(each.normalize for each in mean):
            own = [each for each in mean if each[:2] == (shingle, normalize)]
            best = max(own, key=lambda each: mean[each], default=None)
            least = min((made.scores[view][best].f1 for view in made.chosen), default=0.0) if best else 0.0
            row.append(f"{mean[best]:.3f} ({least:.3f}) at {best.threshold:.2f}" if best else "")
        rows.append(row)
    print(f"\nBest mean F1 over {', '.join(made.chosen)} (lowest of them) at its threshold:")
    table(("shingle", *dict.fromkeys(each.normalize for each in mean)), rows)


def print_ranking(made: Study) -> None:
    """For every shingle and normalisation how well it puts duplicates before others, whatever the threshold."""
    views = [(own, view) for own, view in made.views if view.name in made.chosen]
    ways = dict.fromkeys(normalize for _, _, normalize in made.found)
    rows = []
    for shingle in dict.fromkeys(shingle for _, shingle, _ in made.found):
        row = [shingle]
        for normalize in ways:
            found = [(made.found.get((own.name, shingle, normalize)), view) for own, view in views]
            values = [recall_at(pairs, view, PRECISION) for pairs, view in found if pairs is not None]
            row.append(" ".join(f"{value:.2f}" for value in values))
        rows.append(row)
    print(f"\nRecall at a precision of {PRECISION}, whatever the threshold: {', '.join(made.chosen)}")
    table(("shingle", *ways), rows)


def print_left_out(made: Study) -> None:
    """What the choice made on the others gives on each collection."""
    rows = []
    for view in made.chosen:
        others = [each for each in made.chosen if each != view]
        if others:
            choice = choose(mean_f1(made.scores, others))
            own = max(value.f1 for value in made.scores[view].values())
            value = made.scores[view][choice].f1
            rows.append([view, str(choice), f"{value:.3f}", f"{own:.3f}", f"{own - value:.3f}"])
    if rows:
        table(("left out", "chosen on the others", "F1", "its own best", "lost"), rows)


def print_curves(made: Study, normalize: str) -> None:
    """Recall, precision and F1 over thresholds and shingles."""
    for name in made.chosen:
        print(f"\n{name}, {normalize}: recall, precision, **F1**")
        scores = made.scores[name]
        shingles = dict.fromkeys(each.shingle for each in scores if each.normalize == normalize)
        cells = {each: [scores.get(Setting(each, normalize, at)) for at in SHOWN] for each in shingles}
        rows = [[each, *("" if value is None else three(value) for value in row)] for each, row in cells.items()]
        table(("shingle", *map(str, SHOWN)), rows)


def report(made: Study) -> None:
    """Print all tables of a kind."""
    recommended = RECOMMENDED[made.kind]
    print(f"\n## {made.kind}\n")
    for own in made.collections:
        pairs = ", ".join(f"{view.truth.size:,} pairs" for view in own.views[:1])
        print(f"- {own.name}: {len(own.texts):,} documents, {pairs} ({own.labels})")
    print(f"\nChosen by the rule: {choose(mean_f1(made.scores, made.chosen))}")
    named = {"recommended": recommended, "default": DEFAULT, **{f"habit {each.shingle}": each for each in HABITS}}
    print_settings(made, named)
    print_parts(made, named)
    print_best(made)
    print_ranking(made)
    print_left_out(made)
    print_curves(made, recommended.normalize)


def documented() -> dict[tuple[str, str], float]:
    """F1 by name of labels and of setting, as the tables of LABELS.md have it."""
    row = re.compile(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \| [^|]+ \| [^|]+ \| \*\*([0-9.]+)\*\*", re.MULTILINE)
    text = (Path(__file__).parent / "LABELS.md").read_text(encoding="utf-8")
    return {(labels, setting): float(f1) for labels, setting, f1 in row.findall(text)}


def print_presets(collections: Sequence[Collection], kinds: Sequence[str]) -> bool:
    """Search every collection with the preset for its kind and print how it does; whether all are as documented."""
    known, rows, is_kept = documented(), [], True
    for own in (each for each in collections if each.kind in kinds):
        view, tried = own.views[0], [(PRESET_OF[own.kind], "recommended"), ("copies", "default")]
        if own.kind == "revised":  # what LABELS.md has there is articles
            tried = [("essays", ""), ("articles", "recommended"), ("copies", "default")]
        for name, setting in tried:
            start = time.process_time()
            result = neardup.find(own.texts, preset=name)
            seconds = time.process_time() - start
            (value,) = score(pairs_of(result), view, [0.0])
            hints = ", ".join(f"{hint.kind}: {hint.preset}" for hint in result.summary.hints) or "–"
            before = known.get((view.name, setting))
            is_kept &= before is None or value.f1 >= before - TOLERANCE
            figures = [f"{value.recall:.3f}", f"{value.precision:.3f}", f"**{value.f1:.3f}**"]
            rows.append(
                [name, view.name, *figures, "–" if before is None else f"{before:.3f}", f"{seconds:.1f}", hints]
            )
    table(("preset", "labels", "recall", "precision", "F1", "documented", "CPU seconds", "hint"), rows)
    return is_kept


def as_json(studies: Sequence[Study]) -> list[dict[str, object]]:
    """Every cell."""
    return [
        {"kind": made.kind, "view": view, **each._asdict(), **value._asdict(),
         "recall": value.recall, "precision": value.precision, "f1": value.f1}
        for made in studies for view, scores in made.scores.items() for each, value in scores.items()
    ]  # fmt: skip


def main() -> None:
    """Parse the command line, find, score, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the public data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for the pairs found")
    parser.add_argument("--kinds", nargs="+", choices=tuple(RECOMMENDED), default=list(RECOMMENDED))
    parser.add_argument("--code", nargs=3, action="append", default=[], metavar=("NAME", "OLD", "NEW"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--exact", action="store_true", help="an exact join in place of recall 0.999")
    parser.add_argument("--presets", action="store_true", help="only hold the presets against LABELS.md")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    collections = [*data.human(args.folder), *data.scanned(args.folder), *data.unsegmented(args.folder)]
    collections += [data.releases(name, Path(old), Path(new)) for name, old, new in args.code]
    if args.presets:
        sys.exit(0 if print_presets(collections, args.kinds) else 1)
    studies = []
    for kind in args.kinds:
        own = [each for each in collections if each.kind == kind]
        if own:
            studies.append(study(kind, own, args.work, exact=args.exact))
            report(studies[-1])
    if args.json:
        args.json.write_text(json.dumps(as_json(studies), indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
