"""Two public programs that use datasketch, each as it is and with its imports of datasketch changed to ours, in turns.

    python benchmarks/compat_datasketch.py abstracts.jsonl.gz --work /tmp/compat [--documents 10000] [--rounds 3]

Their source distributions, and the datasketch that both ask for, come from PyPI by pip into the folder of ``--work``;
nothing of them is kept here. Only lines ``from datasketch import …`` differ between the two copies of a program, and
they are printed. Said are CPU seconds of user and system, children included: of what the program does once it is
imported, and of the whole process. The answers must be the same.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import measure

PROGRAMS = {"nlp_dedup": "nlp_dedup==0.1.2", "text_dedup": "text-dedup==0.2.1"}
NEEDED = ["datasketch==1.6.5", "mpire", "pygments", "tqdm", "joblib", "cloudpickle", "more-itertools"]
THEIRS, OURS = "from datasketch import", "from neardup.compat.datasketch import"


def fetch(work: Path) -> None:
    """The two programs in a copy of each kind, and what they need."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if not (work / "site").is_dir():
        subprocess.run([*pip, "install", "--no-deps", "--target", str(work / "site"), *NEEDED], check=True)
    for name, release in PROGRAMS.items():
        if (work / "ours" / name).is_dir():
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", folder, release], check=True
            )
            (archive,) = Path(folder).glob("*.tar.gz")
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            (package,) = (found for found in Path(folder).glob(f"**/{name}") if found.is_dir())
            for kind in ("theirs", "ours"):
                shutil.copytree(package, work / kind / name)
        for path in (work / "ours" / name).rglob("*.py"):
            text = path.read_text("utf-8")
            for line in text.splitlines():
                if line.startswith(THEIRS):
                    print(f"{path.relative_to(work)}: {line} → {line.replace(THEIRS, OURS)}")
            path.write_text(text.replace(THEIRS, OURS), "utf-8")


def without_init(folder: Path, *names: str) -> None:
    """Packages whose ``__init__`` is not run: it imports what is not needed here, or asks how it was installed."""
    for name in names:
        package: Any = types.ModuleType(name)
        package.__path__ = [str(folder / name.replace(".", "/"))]
        sys.modules[name] = package


def nlp_dedup(folder: Path) -> Callable[[list[str]], Any]:
    """Its Deduper with its own settings, in one process: which documents are duplicates of earlier ones."""
    without_init(folder, "nlp_dedup")
    deduper = importlib.import_module("nlp_dedup.deduper")

    def run(texts: list[str]) -> Any:
        with tempfile.TemporaryDirectory() as output:
            made = deduper.Deduper(n_jobs=1, verbose=False)
            made.deduplicate(texts, output_dir=Path(output) / "out")
            return [entry["duplicate"] for entry in made.mask]

    return run


def text_dedup(folder: Path) -> Callable[[list[str]], Any]:
    """Its MinHashEmbedder and lsh_clustering on runs of three words: the neighbours of each document, in any order.

    Its default splits words by a model that it fetches when it is imported; stand-ins take the places of that, and of
    libraries of its other methods. (Its MinHashDeduplicator does not run with the mpire of today, with either import.)
    """
    without_init(folder, "text_dedup", "text_dedup.near_dedup", "text_dedup.postprocess")
    models = types.SimpleNamespace(from_pretrained=lambda name: types.SimpleNamespace(deprecation_warnings={}))
    for name, absent in (
        ("transformers", {"XLMRobertaTokenizerFast": models}),
        ("annoy", {"AnnoyIndex": None}),
        ("text_dedup.near_dedup.simhash", {"SimHashIndex": None}),
    ):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(absent)
    minhash = importlib.import_module("text_dedup.near_dedup.minhash")
    clustering = importlib.import_module("text_dedup.postprocess.clustering")

    def run(texts: list[str]) -> Any:
        embedder = minhash.MinHashEmbedder(num_perm=128, seed=42)
        signatures = embedder.embed(texts, n_gram=3, level="word", step_size=1)
        found = clustering.lsh_clustering(signatures, seed=42, threshold=0.7, num_perm=128)
        return [sorted(neighbours) for neighbours in found]

    return run


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def child(work: Path, kind: str, name: str, source: Path, documents: int) -> None:
    """One run of one copy of a program, in a process of its own: prints what it took and a digest of its answer."""
    sys.path[:0] = [str(work / kind), str(work / "site")]
    with (
        gzip.open(source, "rt", encoding="utf-8") if source.suffix == ".gz" else source.open(encoding="utf-8") as lines
    ):
        texts = [json.loads(line)["text"] for line in lines][:documents]
    run = {"nlp_dedup": nlp_dedup, "text_dedup": text_dedup}[name](work / kind)
    loaded = sorted(each for each in sys.modules if each in ("datasketch", "neardup.compat.datasketch"))
    before = cpu()
    answer = run(texts)
    took = cpu() - before
    digest = hashlib.sha256(json.dumps(answer).encode()).hexdigest()
    pairs = sum(answer) if name == "nlp_dedup" else sum(map(len, answer)) - len(answer)
    print(json.dumps({"cpu": took, "digest": digest, "found": pairs, "documents": len(texts), "loaded": loaded}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path, help="JSONL with a field text, packed with gzip or not")
    parser.add_argument("--work", type=Path, required=True, help="folder for what pip fetches; kept")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--child", nargs=2, metavar=("KIND", "PROGRAM"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.work.resolve(), *args.child, args.input, args.documents)
        return
    args.work.mkdir(parents=True, exist_ok=True)
    fetch(args.work.resolve())
    print(
        "| program | documents | found | CPU s with datasketch | with neardup | ratio | whole process | same answer |"
    )
    print("|---|---:|---:|---:|---:|---:|---|---|")
    for name, release in PROGRAMS.items():
        runs: dict[str, list[dict[str, Any]]] = {"theirs": [], "ours": []}
        for _ in range(args.rounds):
            for kind, found in runs.items():
                again = [sys.executable, *sys.argv, "--child", kind, name]
                done = measure(again, args.cores)
                found.append({**json.loads(done.stdout.splitlines()[-1]), "whole": done.cpu_seconds})
        assert {"datasketch"} == {each for run in runs["theirs"] for each in run["loaded"]}
        assert {"neardup.compat.datasketch"} == {each for run in runs["ours"] for each in run["loaded"]}
        theirs, ours = (
            [statistics.median(run[what] for run in runs[kind]) for what in ("cpu", "whole")] for kind in runs
        )
        first = runs["theirs"][0]
        same = len({run["digest"] for found in runs.values() for run in found}) == 1
        print(
            f"| {release} | {first['documents']:,} | {first['found']:,} | {theirs[0]:.2f} | {ours[0]:.2f} "
            f"| {theirs[0] / ours[0]:.1f}x | {theirs[1]:.2f} and {ours[1]:.2f}: {theirs[1] / ours[1]:.1f}x "
            f"| {'yes' if same else 'NO'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
