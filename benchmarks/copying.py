"""The ranking of a report for teachers against known labels: 95 answers, some of them copied from five originals.

    python benchmarks/copying.py [--shared ../shared/data]

Reports with ``--for essays --purpose copying --originals`` are made of the collection of Clough and Stevenson (2011),
in which each answer is a near copy, a light revision, a heavy revision, or was written without the original. Answers
are ranked by the highest share that a pair of theirs with an original has in the report's list of pairs: that of the
smaller document that is in the larger. An answer without a listed pair has 0. The area under the ROC curve is the share
of (copied, independent) answers of which the copied one ranks higher, ties counting half: counted here pair by pair.
Beside it stands the same of every answer's share in the original of its task, by sets of word triples in plain Python.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

INDEPENDENT, ORIGINAL = "non_plagiarised", "original"
SETTINGS = (("jaccard", 0.2), ("jaccard", 0.1), ("jaccard", 0.05), ("containment", 0.2), ("containment", 0.1))
TOP = 10
"""Answers that are printed."""
LEVELS = ("near_copy", "light_revision", "heavy_revision")
_SHARED = Path(os.environ.get("NEARDUP_SHARED_DATA", "../shared/data"))


def triples(text: str) -> set[tuple[str, ...]]:
    """Runs of three words, without case and punctuation."""
    kept = "".join(char for char in text.casefold() if unicodedata.category(char)[0] != "P")
    letters = ("".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in kept)).split()
    return {tuple(letters[i : i + 3]) for i in range(len(letters) - 2)}


def area(shares: Mapping[str, float], labels: Mapping[str, str], levels: Sequence[str]) -> float:
    """Area under the ROC curve of ``levels`` against independent answers, by all pairs of answers."""
    copied = [shares.get(name, 0.0) for name, label in labels.items() if label in levels]
    others = [shares.get(name, 0.0) for name, label in labels.items() if label == INDEPENDENT]
    wins = sum((a > b) + 0.5 * (a == b) for a in copied for b in others)
    return wins / (len(copied) * len(others))


def listed(report: Path) -> dict[str, float]:
    """The highest share with an original of each answer, from the list of pairs of a report."""
    shares: dict[str, float] = {}
    for file in sorted((report / "data").glob("pairs-*.js")):
        found = re.fullmatch(r'neardup\.take\("[a-z]+-\d+", (.*)\);\s*', file.read_text("utf-8"), re.DOTALL)
        assert found is not None, file
        rows = json.loads(found[1])
        for a, b, share in zip(rows["a"], rows["b"], rows["contained"], strict=True):
            names = sorted((rows["documents"][a], rows["documents"][b]), key=lambda name: name.startswith("orig_"))
            if names[1].startswith("orig_") and not names[0].startswith("orig_"):
                shares[names[0]] = max(share, shares.get(names[0], 0.0))
    return shares


def by_hand(texts: Path, labels: Mapping[str, str]) -> dict[str, float]:
    """The same share of every answer with the original of its task, from the texts."""
    sets = {name: triples((texts / name).read_text("utf-8", "replace")) for name in labels}
    shares = {}
    for name, label in labels.items():
        if label != ORIGINAL:
            mine, source = sets[name], sets[f"orig_{name.partition('_')[2]}"]
            shares[name] = len(mine & source) / min(len(mine), len(source))
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=_SHARED)
    folder = parser.parse_args().shared / "clough_stevenson"
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as stream:
        labels = {row["file"]: row["label"] for row in csv.DictReader(stream)}

    import neardup

    texts = folder / "texts"
    kinds = (LEVELS, *((level,) for level in LEVELS))
    exact, found = by_hand(texts, labels), {}
    print("                        pairs  answers  independent  area: all, near, light, heavy   other than by hand")
    for measure, threshold in SETTINGS:
        with tempfile.TemporaryDirectory() as made:
            options = {"measure": measure, "threshold": threshold, "purpose": "copying", "originals": texts / "orig_*"}
            pairs = neardup.report(texts, Path(made) / "report", preset="essays", **options).summary.pairs
            found = listed(Path(made) / "report")
        wrong = sum(abs(share - exact[name]) > 1e-12 for name, share in found.items())
        wrongly = sum(labels[name] == INDEPENDENT for name in found)
        areas = " ".join(f"{area(found, labels, levels):.4f}" for levels in kinds)
        print(f"{measure:12} -t {threshold:<6g} {pairs:6} {len(found):8} {wrongly:12}  {areas} {wrong:20}")
    areas = " ".join(f"{area(exact, labels, levels):.4f}" for levels in kinds)
    print(f"by hand, every answer with the original of its task    {areas}")
    print(f"\nanswer              share   label   (the last of the settings, {len(found)} answers)")
    for name in sorted(found, key=lambda name: (-found[name], name))[:TOP]:
        print(f"{name:18} {found[name]:.4f}   {labels[name]}")


if __name__ == "__main__":
    main()
