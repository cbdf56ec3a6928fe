"""neardup.Index beside datasketch's MinHashLSH and beside a plain SQLite table, on the same documents; as Markdown.

    python benchmarks/index_compare.py FILE.jsonl --work FOLDER --peer-python PEERS [--only STEP...] [--limit N]
    python benchmarks/index_compare.py FILE.jsonl --work FOLDER --show

FILE.more.jsonl must lie beside FILE.jsonl (`index_data.py` makes both). Every step is a process of its own, pinned to
--cores, and leaves its figures in FOLDER as JSON; `--only` runs some of them again, `--show` prints the tables of
what is there. All programs take character 9-shingles, 128 slots and 21 bands of 6 rows, which find a pair at 0.8 with
0.998; `datasketch-own` takes the bands that the library chooses. What each program does, and how it is measured, is
in the heads of the programs in `peers_index`.

Needs the files three times over on disk, and the memory of datasketch's index.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import measure

HERE = Path(__file__).resolve().parent / "peers_index"
Figures = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """One process."""

    name: str
    command: list[str]
    makes: Path | None = None
    """Removed before it runs."""


def steps_of(args: argparse.Namespace) -> list[Step]:
    """All steps in the order in which they run."""
    work, source = args.work, str(args.file)
    more, asked = str(args.file.with_suffix(".more.jsonl")), str(work / "questions.jsonl")
    limit = ["--limit", str(args.limit)] if args.limit else []
    python, peer = [sys.executable], [args.peer_python or sys.executable]

    def step(name: str, python: list[str], program: str, *words: str, makes: Path | None = None) -> Step:
        notes = ["--notes", str(work / f"{name}.json")]
        return Step(name, [*python, str(HERE / f"{program}.py"), *words, *notes], makes)

    index, batched, plain, loaded = (work / name for name in ("index", "batched", "plain", "loaded"))
    ours, theirs = (python, "neardup_index"), (python, "sqlite_index")
    sketches = (peer, "datasketch_index")
    question, changed = ["--questions", asked], ["--questions", asked, "--more", more]
    many = ["--threads", str(args.threads)]
    pickled = [["--pickle", str(work / f"{name}.pickle")] for name in ("datasketch", "datasketch-own")]
    return [
        step("texts-or-sets", python, "texts_or_sets", source, str(work / "stored"), makes=work / "stored"),
        step("build", *ours, "build", source, str(index), *many, makes=index),
        step("batches", *ours, "batches", source, str(batched), *many, *limit, makes=batched),
        step("ask", *ours, "ask", str(index), *question, *many),
        step("ask-batched", *ours, "ask", str(batched), *question, *many),
        step("change", *ours, "change", str(index), *changed, *many),
        step("heal", *ours, "heal", str(index), *question, *many),
        step("sqlite", *theirs, "build", source, str(plain), *changed, *limit, makes=plain),
        step("sqlite-open", *theirs, "open", str(plain), *question),
        step("sqlite-sorted", *theirs, "build", source, str(loaded), "--sorted", *changed, *limit, makes=loaded),
        step("datasketch", *sketches, "build", source, "--bands", "21x6", *pickled[0], *changed, *limit),
        step("datasketch-load", *sketches, "load", pickled[0][1], *question),
        step("datasketch-own", *sketches, "build", source, *pickled[1], *changed, *limit),
    ]


def run(steps: list[Step], args: argparse.Namespace) -> None:
    """Run the steps that are wanted."""
    questions = args.work / "questions.jsonl"
    if not questions.exists():
        words = [str(args.file), str(args.file.with_suffix(".more.jsonl")), str(questions)]
        limit = ["--limit", str(args.limit)] if args.limit else []
        number = ["--number", str(args.questions)]
        measure([sys.executable, str(HERE / "questions.py"), *words, *number, *limit], args.cores)
    for step in steps:
        if args.only and step.name not in args.only:
            continue
        if step.makes is not None:
            for folder in (step.makes, step.makes.with_name(step.makes.name + ".warm")):
                shutil.rmtree(folder, ignore_errors=True)
        took = measure(step.command, args.cores, limit=args.most)
        print(
            f"{step.name}: {took.seconds:.1f} s, {took.cpu_seconds:.1f} s CPU, peak {took.peak_mib:.0f} MiB, "
            f"load before {took.load_before:.1f}",
            file=sys.stderr,
            flush=True,
        )


def read(steps: list[Step], work: Path) -> Figures:
    """Figures of the steps that ran."""
    files = {step.name: work / f"{step.name}.json" for step in steps}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in files.items() if path.exists()}


def cell(figures: dict[str, Any] | None, key: str, places: int = 0) -> str:
    """One figure as text, a dash when it is not there; `a.b` is figure b of a."""
    value: Any = figures
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return "–" if value is None else f"{value:,.{places}f}"


def table(found: Figures, titles: dict[str, str], columns: list[tuple[str, str, int]]) -> None:
    """Print a table of Markdown: a row for each step that ran; a column is a title, the key of a figure and places."""
    print("\n| " + " | ".join(["program", *(title for title, _, _ in columns)]) + " |")
    print("|---|" + "---:|" * len(columns))
    for name, title in titles.items():
        if name in found:
            print("| " + " | ".join([title, *(cell(found[name], key, places) for _, key, places in columns)]) + " |")


def work_out(found: Figures) -> None:
    """Add the figures that follow from others."""
    base = found.get("build", {})
    for one in found.values():
        size = sum(one["files"].values()) if "files" in one else one.get("file_bytes", one.get("pickle_bytes"))
        if size and "documents" in one:
            one["bytes_a_document"] = size / one["documents"]
        for key in ("build_s", "build_cpu_s"):
            if key in one and key in base and one["documents"] == base["documents"]:
                one[f"{key}_ratio"] = one[key] / base[key]
        same = {
            "one": ("query_text", "query_hits"),
            "many": ("batch_1000_texts_per_s", "batch_texts_per_s", "one_by_one_texts_per_s"),
            "many_cpu": ("batch_1000_texts_per_cpu_s", "batch_texts_per_cpu_s", "one_by_one_texts_per_cpu_s"),
        }
        for name, keys in same.items():
            known = [one[key] for key in keys if key in one]
            if known:
                one[name] = known[0]


def show_builds(found: Figures) -> None:
    """Building, memory and files."""
    titles = {
        "build": "neardup, `Index.build`",
        "batches": "neardup, durable batches of 1,000",
        "datasketch": "datasketch 21x6, in memory",
        "datasketch-own": "datasketch, its own bands, in memory",
        "sqlite": "SQLite, durable batches of 1,000",
        "sqlite-sorted": "SQLite, one sorted load",
    }
    columns = [
        ("documents", "documents", 0),
        ("s", "build_s", 1),
        ("CPU s", "build_cpu_s", 1),
        ("to `build`", "build_s_ratio", 1),
        ("CPU to `build`", "build_cpu_s_ratio", 1),
        ("peak MiB", "after_build.peak_mib", 0),
        ("RSS then, MiB", "after_build.rss_mib", 0),
        ("bytes a document on disk", "bytes_a_document", 0),
        ("load before", "load", 1),
    ]
    table(found, titles, columns)
    pickled = found.get("datasketch")
    loaded = found.get("datasketch-load")
    print(
        f"\nPickle of datasketch: written in {cell(pickled, 'pickle_s', 1)} s, loaded in {cell(loaded, 'load_s', 1)} s."
    )


def show_questions(found: Figures) -> None:
    """Opening and asking."""
    titles = {
        "ask": "neardup, text to verified hits",
        "ask-batched": "neardup, built in batches: the same",
        "datasketch": "datasketch 21x6, text to candidates",
        "datasketch-load": "datasketch, from its pickle: the same",
        "datasketch-own": "datasketch, its own bands: the same",
        "sqlite-open": "SQLite, text to verified hits",
        "sqlite-sorted": "SQLite, sorted load: the same",
    }
    columns = [
        ("open to first answer, s", "first_answer_s", 3),
        ("edited copy: median µs", "one.edited.median_us", 0),
        ("foreign: median µs", "one.foreign.median_us", 0),
        ("CPU, edited", "one.edited.cpu_median_us", 0),
        ("CPU, foreign", "one.foreign.cpu_median_us", 0),
        ("CPU, mean", "one.cpu_mean_us", 0),
        ("CPU, p99", "one.cpu_p99_us", 0),
        ("many: texts/s", "many", 0),
        ("texts a CPU s", "many_cpu", 0),
        ("recall", "recall", 4),
        ("candidates", "candidates_a_question", 2),
        ("RSS after all, MiB", "after_questions.rss_mib", 0),
        ("of it not of files", "after_questions.anonymous_mib", 0),
        ("load before", "load", 1),
    ]
    table(found, titles, columns)
    for name, key, what in (
        ("datasketch-load", "query_sketch", "datasketch, ready sketch to candidates"),
        ("sqlite-open", "query_keys", "SQLite, ready keys to candidates"),
        ("ask", "query_candidates", "neardup, text to candidates (`exact=False`)"),
    ):
        one = found.get(name)
        kinds = " and ".join(cell(one, f"{key}.{kind}.cpu_median_us") for kind in ("edited", "foreign"))
        print(f"\n{what}: median of CPU {kinds} µs, edited copies and foreign texts.")
    one = found.get("ask")
    print(
        f"\nneardup, all texts in one call: {cell(one, 'batch_all_texts_per_s')} texts/s. Of {cell(one, 'edited')} "
        f"edited copies {cell(one, 'recall_all', 5)} found; {cell(one, 'hits')} hits, {cell(one, 'wrong_hits')} wrong; "
        f"{cell(one, 'foreign_with_hit', 3)} of the foreign texts have a hit."
    )


def show_changes(found: Figures) -> None:
    """Adding, removing, compacting, healing; files; texts or sets."""
    titles = {"change": "neardup", "sqlite": "SQLite", "datasketch": "datasketch, in memory, not durable"}
    columns = [
        ("adds a second, batches of 1,000", "adds_per_s", 0),
        ("one by one", "single_adds_per_s", 0),
        ("removes a second, batches of 1,000", "removes_per_s", 0),
        ("compact, s", "compact_s", 2),
    ]
    table(found, titles, columns)
    one = found.get("heal")
    print(
        f"\nA lost segment of {cell(one, 'lost_bytes')} bytes: first answer after {cell(one, 'first_answer_s', 3)} s, "
        f"healed and verified after {cell(one, 'healed_s', 2)} s."
    )
    for name in ("build", "batches", "change"):
        if name in found:
            print(f"\nFiles after {name}: {json.dumps(found[name].get('files'))}.")
    if "texts-or-sets" in found:
        print(f"\nTexts or sets: {json.dumps(found['texts-or-sets'])}.")


def main() -> None:
    """Parse the command line, run, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--peer-python", default=None, help="Python with datasketch and xxhash")
    parser.add_argument("--only", nargs="*", default=[], metavar="STEP")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--limit", type=int, default=None, help="documents of the peers and of the batches")
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cores", default="0")
    parser.add_argument("--most", type=float, default=3600.0, help="seconds that a step may take")
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    steps = steps_of(args)
    if not args.show:
        run(steps, args)
    found = read(steps, args.work)
    work_out(found)
    print(f"\n`{args.file.name}`; {time.strftime('%Y-%m-%d')}; {args.machine}; Python {platform.python_version()}")
    show_builds(found)
    show_questions(found)
    show_changes(found)


if __name__ == "__main__":
    main()
