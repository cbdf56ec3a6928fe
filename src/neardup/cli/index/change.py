"""``neardup index add``, ``remove`` and ``merge``: documents that come and go."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import neardup
from neardup.cli import forms, options
from neardup.cli.index import shared
from neardup.cli.running import Stoppable
from neardup.cli.summary import left_out
from neardup.errors import InputError
from neardup.index.ages import parse_age
from neardup.params import InputOptions
from neardup.shown import counted

if TYPE_CHECKING:
    from datetime import timedelta

    from neardup.cli.index.tables import Counts
    from neardup.inputs.reader import Reader


@forms.command(
    "add",
    "index add papers.index new.jsonl --on-duplicate replace",
    "index add papers.index new.parquet --if-new -o what-became-of-them.csv",
)
@shared.index_path
@options.inputs
@options.reading
@shared.column
@shared.on_duplicate
@click.option(
    "--if-new",
    is_flag=True,
    help="Add only documents without a near-duplicate in the index or before them in the input, and list for each"
    " whether it was added: id, is_new, match, similarity.",
)
@shared.near
@click.option("--output", "-o", metavar="FILE", help="File for the list of --if-new; - is stdout.  [default: stdout]")
@options.output_format
@options.json_summary
@options.threads
@options.voices
def add(
    *,
    ctx: click.Context,
    index: Path,
    inputs: tuple[Path, ...],
    on_duplicate: str,
    if_new: bool,
    threshold: float | None,
    output: str | None,
    format: str | None,
    threads: int | None,
    voice: forms.Voice,
    **reading: Any,
) -> None:
    """Add documents to an index.

    INPUT is what `neardup find` reads: folders, JSONL, CSV, TSV, Parquet and Arrow files, text files, also compressed,
    glob patterns, and - for stdin. Documents are added in batches; each is there whole or not at all, and stays when
    the command is stopped or fails later on.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    target = None
    if if_new:
        from neardup.cli.index import tables

        (target, _) = tables.choose_targets(index, inputs, output, format, json=voice.json, glob=reading["glob"])
    else:
        for value, name in ((output, "-o"), (format, "--format"), (threshold, "--threshold")):
            if value is not None:
                raise click.UsageError(f"{name} is for the list of --if-new. Give that too, or leave {name} out.")
    begin = time.perf_counter()
    with neardup.Index.open(index, read_only=False, threads=threads) as held:
        if target is not None:
            from neardup.inputs.reader import open_inputs  # imported after the checks, because it loads kernels

            reader = open_inputs(list(inputs), InputOptions.of(reading), item=held.spec.shingle.kind == "item")
            how = {"threshold": threshold, "on_duplicate": on_duplicate}
            table, counts = _add_new(ctx, held, reader, how, quiet=voice.quiet)
        else:
            added = shared.watched(
                ctx,
                lambda watching: held.add(list(inputs), on_duplicate=on_duplicate, observer=watching, **reading),
                quiet=voice.quiet,
                adding_to=held,
            )
        done = shared.Done(len(held), held.spec, begin)
    if target is not None:
        least = threshold if threshold is not None else done.spec.threshold
        files = tables.write(ctx, [(table, target)], spec=done.spec.as_dict(), threshold=least)
        _tell_new(voice, done, table, counts, files, threshold=least)
    else:
        done.tell_added(voice, added)


def _add_new(
    ctx: click.Context, held: neardup.Index, reader: Reader, how: dict[str, Any], *, quiet: bool
) -> tuple[Any, Counts]:
    """Add what is new; id, is_new, match, similarity of every document, in order, and what was read."""
    import pyarrow as pa

    from neardup.cli.index import tables
    from neardup.index.stream.admitting import admit, steps

    counts = tables.Counts()

    def rows(watching: Stoppable) -> Iterator[dict[str, list[Any]]]:
        watching.stage("add", reader.total_bytes, "bytes")
        for batch in tables.asked(reader, counts):
            for _, step in steps(held, batch.ids, batch.texts, batch.columns, made=False):
                told = admit(held, step, how)
                yield {
                    "id": [each.id for each in told],
                    "is_new": [each.is_new for each in told],
                    "match": [each.match and each.match.id for each in told],
                    "similarity": [each.match and each.match.similarity for each in told],
                }
                watching.advance(0)
            watching.advance(batch.consumed)

    kinds = {"id": tables.IDS, "is_new": pa.bool_(), "match": tables.IDS, "similarity": pa.float64()}
    return shared.watched(ctx, lambda w: tables.gathered(kinds, rows(w)), quiet=quiet, adding_to=held), counts


def _tell_new(
    voice: forms.Voice, done: shared.Done, table: Any, counts: Counts, files: Sequence[str], *, threshold: float
) -> None:
    """Say how many documents were added, by the list of what became of each."""
    import pyarrow.compute as pc

    new = pc.sum(table["is_new"]).as_py() or 0
    near = table.num_rows - table["similarity"].null_count
    skipped = table.num_rows - new - near
    read = counted(counts.documents, "document")
    numbers = {"read": counts.documents, "added": new, "near": near, "skipped": skipped}
    done.tell(
        voice,
        {**numbers, **counts.left_out, "threshold": threshold},
        [
            ("added", f"{new:,} of {read}"),
            ("not added", f"{near:,} near-duplicates, {skipped:,} with an id that was there"),
            *left_out(counts.bad, counts.blank, counts.passed_over),
        ],
        [read, f"{new:,} added"],
        files=files,
        faults=counts.faults,
    )


@forms.command(
    "remove", "index remove papers.index 2101.00001 2101.00002", "index remove papers.index --where tenant=a"
)
@shared.index_path
@click.argument("ids", metavar="[ID…]", nargs=-1)
@click.option(
    "--from",
    "source",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="File with further ids, one a line; - is stdin. Compressed files are read too.  [default: none]",
)
@shared.where
@shared.missing
@click.option(
    "--older-than",
    type=options.Checked("age", parse_age),
    metavar="AGE",
    help="In place of ids: all documents that were added longer ago, such as 12h, 30d or 8w. Those that a neardup"
    " before 0.2 added have no known time, and stay.  [default: none]",
)
@click.option("--dry-run", is_flag=True, help="With --older-than: remove nothing, and say how many would go.")
@shared.json_answer
@options.voices
def remove(
    *,
    ctx: click.Context,
    index: Path,
    ids: tuple[str, ...],
    source: Path | None,
    where: dict[str, Any] | None,
    missing: str,
    older_than: timedelta | None,
    dry_run: bool,
    voice: forms.Voice,
) -> None:
    """Remove documents by their ids or their age: all of them, or with an error none.

    An id that is a number is written as it is. For an ID that begins with a dash, put -- before it. With --where and no
    ids, all documents with these columns are removed. With both, a document without these columns is not there.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    if older_than is not None:
        if ids or source is not None or where is not None or missing != "error":
            raise click.UsageError("--older-than is in place of ids, --from, --where and --missing. Give one of them.")
    elif dry_run:
        raise click.UsageError("--dry-run is for --older-than. Give that too, or leave --dry-run out.")
    has_ids = bool(ids) or source is not None
    if not has_ids and where is None and older_than is None:
        raise click.UsageError(
            "no ids are given. Name them, or give --from FILE, --where NAME=VALUE or --older-than AGE."
        )
    begin = time.perf_counter()
    with neardup.Index.open(index, read_only=dry_run) as held:
        wanted = list(dict.fromkeys([*ids, *(_ids(source) if source is not None else [])]))

        def work(_: object) -> neardup.RemovedByAge | int:
            told = None if older_than is None else held.remove_older_than(older_than, dry_run=dry_run)
            removed = told.removed if told else held.remove(wanted if has_ids else None, where=where, missing=missing)
            if not dry_run:
                shared.note_done(ctx, removed, "removed")
            return told or removed

        told = shared.watched(ctx, work)
        done = shared.Done(len(held), held.spec, begin)
    if isinstance(told, int):
        absent = len(wanted) - told if has_ids else 0
        rows = [("removed", f"{told:,}; {counted(absent, 'id')} not there")]
        words, facts = [f"{told:,} removed", f"{absent:,} not there"], {"removed": told, "missing": absent}
    else:
        verb = "would be removed" if dry_run else "removed"
        rows = [(verb, f"{told.removed:,} added before {told.before}")]
        if told.undated:
            rows.append(("kept", f"{counted(told.undated, 'document')} of unknown age, added by a neardup before 0.2"))
        words = [f"{told.removed:,} {verb}", f"{told.undated:,} of unknown age kept"]
        facts = {**told.as_dict(), "dry_run": dry_run}
    done.tell(voice, facts, rows, words, details=[("spec", done.spec.id)] if voice.verbose else [])


def _ids(source: Path) -> list[str]:
    """The ids in a file: its lines without their ends, but for empty ones."""
    from neardup.inputs.blocks import read_all
    from neardup.inputs.source import RecordLimit

    data = read_all(source, limit=RecordLimit())
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise InputError(f"{source}:{line}: the line is no valid UTF-8. Give ids one a line, in UTF-8.") from exc
    return [line for line in (line.removesuffix("\r") for line in text.split("\n")) if line]


@forms.command(
    "merge",
    "index merge all.index monday.index tuesday.index",
    "index merge all.index newest.index --on-duplicate replace",
)
@shared.index_path
@click.argument("others", metavar="OTHER…", nargs=-1, required=True, type=click.Path(path_type=Path))
@shared.on_duplicate
@shared.json_answer
@options.voices
def merge(*, ctx: click.Context, index: Path, others: tuple[Path, ...], on_duplicate: str, voice: forms.Voice) -> None:
    """Add all documents of OTHER indexes to INDEX, one index after the other; the others stay as they are.

    All must have been made for the same: threshold, shingles, normalisation, bands and seed. Near-duplicates are not
    looked for: `neardup index pairs` finds them afterwards.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C; the indexes that were added before a failure
    stay added.
    """
    _check_distinct(index, others)
    begin = time.perf_counter()
    with neardup.Index.open(index, read_only=False) as held:

        def work(watching: Stoppable) -> neardup.Added:
            total = neardup.Added()
            for path in others:
                watching.advance(0)  # after Ctrl-C the next one is not begun
                total += held.merge(path, on_duplicate=on_duplicate)
            return total

        added = shared.watched(ctx, work, adding_to=held)
        info, spec = held.info(), held.spec
    details = shared.spec_rows(info, verbose=True) if voice.verbose else []
    shared.Done(info.documents, spec, begin).tell_added(voice, added, details=details)


def _check_distinct(index: Path, others: tuple[Path, ...]) -> None:
    """Refuse an index that is named twice: its documents would meet themselves."""
    real = [os.path.realpath(path) for path in (index, *others)]
    for at, path in enumerate(others, start=1):
        if real[at] in real[:at]:
            raise click.UsageError(f"{click.format_filename(path)} is named twice. Give each index once.")
