"""Clean-ups on a cluster beside those of one machine, and collections that are small and hard."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from tests.spark.conftest import NOT_COMPARED
from tests.spark.inprocess import InProcess

import neardup
from neardup import tuning
from neardup.outputs.atomic import AtomicFiles
from neardup.params import DEFAULT_ALARM, DEFAULT_KEEP, InputOptions, Keep, RunOptions, SearchOptions
from neardup.session import Run
from neardup.spark.exchange import Cluster
from neardup.spark.run import ClusterRun
from neardup.spark.storage import Storage
from neardup.tasks.dedup.policy import Policy, open_protected
from neardup.tasks.dedup.run import clean
from neardup.tasks.find import open_across

HOW = {"threshold": 0.5, "shingle": "word:2", "threads": 1}
_PLACES = {"written", *NOT_COMPARED}
"""Facts of a summary that tell how an answer was come by."""


@dataclass
class Answer:
    """What a clean-up gave."""

    removed: Any
    examples: Any
    facts: dict[str, Any]
    files: dict[str, bytes]
    """The copies, by their names in the output."""

    def __eq__(self, other: object) -> bool:
        """All of it alike; the tables also in their types."""
        assert isinstance(other, Answer)
        assert self.removed.equals(other.removed), (self.removed.to_pylist(), other.removed.to_pylist())
        assert (self.examples is None) == (other.examples is None)
        assert self.examples is None or self.examples.equals(other.examples)
        ours, theirs = self.facts, other.facts
        unlike = {
            name: (ours.get(name), theirs.get(name)) for name in ours | theirs if ours.get(name) != theirs.get(name)
        }
        assert not unlike, unlike
        assert self.files.keys() == other.files.keys()
        for name, data in self.files.items():
            assert data == other.files[name], f"{name} is another"
        return True


def files_in(output: Path) -> dict[str, bytes]:
    """Every file of an output, the hidden ones too."""
    if output.is_file():
        return {"": output.read_bytes()}
    return {str(path.relative_to(output)): path.read_bytes() for path in output.rglob("*") if path.is_file()}


def facts_of(summary: Any) -> dict[str, Any]:
    """What a summary says of the answer."""
    return {name: value for name, value in summary.as_dict().items() if name not in _PLACES}


def on_one_machine(inputs: Any, output: Path, **how: Any) -> Answer:
    """``neardup.dedup``."""
    done = neardup.dedup(inputs, output=output, **HOW | how)
    return Answer(done.removed, done.examples, facts_of(done.summary), files_in(output))


def on_cluster(
    inputs: Any,
    output: Path,
    *,
    cluster: Cluster | None = None,
    split: int = 1500,
    work: Path | None = None,
    **how: Any,
) -> Answer:
    """The same by a cluster; with ``go_on`` the run that was stopped, and whose work is in the storage."""
    go_on = how.pop("go_on", False)
    given: dict[str, Any] = HOW | how
    with_text, show = given.pop("with_text", False), given.pop("show", None)
    prefer, annotate = tuple(given.pop("prefer", ())), given.pop("annotate", False)
    keep, protect = Keep.parse(given.pop("keep", DEFAULT_KEEP)), given.pop("protect", None)
    reading = {name: given.pop(name) for name in ("text", "id", "on_bad", "input_format", "encoding") if name in given}
    options = RunOptions(threads=given.pop("threads"), memory=given.pop("memory", None))
    spec = tuning.make_spec(SearchOptions(**given))
    reader, protected = open_protected(inputs, protect, InputOptions(**reading), item=spec.shingle.kind == "item")
    policy = replace(Policy(keep, prefer), protected=protected)
    storage = Storage(str(work or output.with_name(f"{output.name}-work")))
    kept = with_text is not False or show is not None
    cluster_how: dict[str, Any] = {"cluster": cluster or InProcess(), "storage": storage, "worker_memory": 600 << 20}
    with ClusterRun(reader, spec, options, keep_written=kept, split_bytes=split, go_on=go_on, **cluster_how) as run:
        cleaning = clean(run, policy)
        removed = cleaning.removals(with_text).read_all()
        examples = None if show is None else cleaning.examples(show)
        with AtomicFiles() as files:
            cleaning.write(os.fspath(output), files, annotate=annotate)
        facts = facts_of(cleaning.summary(alarm=DEFAULT_ALARM, annotated=annotate))
    return Answer(removed, examples, facts, files_in(output) if output.exists() else {})


def found(inputs: Any, cluster: Cluster | None, folder: Path, *, split: int = 1500, **how: Any) -> Any:
    """Pairs and clusters of a cluster, or of one machine without one, with their texts."""
    search = SearchOptions(**{name: value for name, value in (HOW | how).items() if name != "threads"})
    spec = tuning.make_spec(search)
    reader = open_across(inputs, None, InputOptions(on_bad="skip"), item=False)
    run: Callable[..., Run] = Run
    more: dict[str, Any] = {"keep_written": True}
    if cluster is not None:
        run = ClusterRun
        more |= {"cluster": cluster, "storage": Storage(str(folder)), "worker_memory": 600 << 20, "split_bytes": split}
    with run(reader, spec, RunOptions(threads=1), **more) as one:
        finding = one.find(search.link)
        pairs = finding.pairs(neardup.params.ListOptions(with_text=True)).read_all()
        return pairs, finding.clusters(with_text=True).read_all(), finding.crowds(), facts_of(finding.summary())


def documents(seed: int, count: int = 60) -> list[dict[str, Any]]:
    """Records with copies, near-duplicates, empty texts, and texts that normalisation changes."""
    rng = random.Random(seed)
    words = [f"word{i}" for i in range(400)]
    records: list[dict[str, Any]] = []
    for i in range(count):
        kind = rng.random()
        if records and kind < 0.25:
            text = rng.choice(records)["text"]
        elif records and kind < 0.65:
            some = rng.choice(records)["text"].split(" ")
            some[rng.randrange(len(some))] = rng.choice(words)
            text = " ".join(some)
        elif kind < 0.72:
            text = ""
        elif kind < 0.8:
            text = " ".join(rng.choices(["日本語", "é", "Cafe\u0301", 'a "quoted" word', "two\nlines"], k=12))
        else:
            text = " ".join(rng.choices(words, k=rng.randrange(5, 25)))
        worth = rng.choice([None, 1, 2, 2.5, -3, 2**53 - 1])
        records.append({"id": f"doc {i}", "text": text, "worth": worth})
    return records


def as_jsonl(records: list[dict[str, Any]], *, seed: int = 0, is_hard: bool = True) -> bytes:
    """Records as JSON Lines: blank and bad lines among them, carriage returns, and no newline at the end."""
    rng = random.Random(seed)
    lines: list[bytes] = []
    for record in records:
        if is_hard and rng.random() < 0.2:
            lines.append(rng.choice([b"", b"  ", b"{broken", b'{"id": "no text"}', b"\r", b'{"text": "\xff"}']))
        lines.append(json.dumps(record, ensure_ascii=rng.random() < 0.5).encode() + rng.choice([b"", b"\r", b"  "]))
    return (b"\xef\xbb\xbf" if is_hard and seed % 2 else b"") + b"\n".join(lines)


def as_table(records: list[dict[str, Any]]) -> Any:
    """Records as an Arrow table; what they are worth as fractions."""
    worth = [None if record["worth"] is None else float(record["worth"]) for record in records]
    columns = {name: pa.array([record[name] for record in records]) for name in ("id", "text")}
    return pa.table({**columns, "worth": pa.array(worth, pa.float64())})


def write_as(kind: str, path: Path, records: list[dict[str, Any]]) -> None:
    """Write records as a file, or a folder of texts, of some format."""
    if kind == "parquet":
        pq.write_table(as_table(records), path, row_group_size=7)
    elif kind == "arrow":
        pyarrow.feather.write_feather(as_table(records), path, compression="lz4", chunksize=9)
    elif kind in ("csv", "tsv"):
        import csv

        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["id", "text", "worth"], delimiter="," if kind == "csv" else "\t")
            writer.writeheader()
            writer.writerows(records)
    elif kind == "lines":
        path.write_bytes(b"\r\n".join(record["text"].replace("\n", " ").encode() for record in records))
    elif kind == "texts":
        for i, record in enumerate(records):
            file = path / f"part {i % 3}" / f"{i}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(record["text"], encoding="utf-8")
    elif kind == "jsonl.gz":
        import gzip

        path.write_bytes(gzip.compress(as_jsonl(records, seed=3), mtime=0))
    else:
        path.write_bytes(as_jsonl(records, seed=len(records)))
