"""``neardup index dedup-stream``: the lines of a stream that are new go through, as they come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import options
from neardup.cli.index import shared
from neardup.cli.voice import say
from neardup.errors import InputError

if TYPE_CHECKING:
    from neardup.cli.index.lines import Chunk, Records
    from neardup.cli.index.passing import FilePassing, PipePassing, Removals
    from neardup.cli.index.reading import Counts
    from neardup.inputs.source import ReadOptions

__all__ = ["command"]

STDOUT = "-"


@click.command(
    "dedup-stream",
    epilog="\b\nExamples:\n"
    "  neardup index dedup-stream seen.index - < today.jsonl > new.jsonl\n"
    "  neardup index dedup-stream seen.index monday.jsonl.gz -o new.jsonl --removed removed.csv",
)
@shared.index_path
@options.inputs
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="File that the lines are added to, behind those that it has; - is stdout.  [default: stdout]",
)
@click.option(
    "--removed",
    metavar="FILE",
    help="File that a row is added to for each document that is not let through: its id, the document that it is near"
    " to, and their exact similarity; .jsonl or .csv.  [default: none is written]",
)
@shared.near
@options.text_column
@click.option(
    "--id",
    metavar="COLUMN",
    help="Field that names a document.  [default: the first there is of id, doc_id, docid, document_id, uuid, key,"
    " name; else a hash of the text, so that no document of another day has its name]",
)
@options.on_bad
@options.input_format
@shared.on_duplicate
@options.threads
@options.json_summary
@options.voices
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    index: Path,
    inputs: tuple[Path, ...],
    output: str | None,
    removed: str | None,
    threshold: float | None,
    on_duplicate: str,
    threads: int | None,
    json: bool,
    quiet: bool,
    verbose: bool,
    **reading: Any,
) -> None:
    """Let through the lines of a stream that are new, as they come.

    INPUT is JSON Lines in UTF-8, also compressed; with --input-format lines each line is a text; - is stdin. A line
    whose document is near to none of the index, nor to one before it in the stream, is added to the index and goes to
    stdout (or to the file of -o) byte for byte. What has come is worked on after 0.2 seconds at most, and a line goes
    out when its document is on disk.

    The command can be stopped and started again, with the same stream or its rest: no document is let through twice,
    because one that is in the index is a near-duplicate of itself. A process that is killed between the two steps has
    documents of one batch in the index whose lines it has not written. With -o FILE the same command completes the file
    when it is started again, before it reads on, so that no line is lost or doubled. Lines that were on their way to
    stdout are lost: use -o FILE where that matters.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, which first ends the batch at hand.
    """
    from neardup import Index
    from neardup.cli.checks import check_voices

    check_voices(quiet=quiet, verbose=verbose)
    _check(index, inputs, output, removed, json=json)
    begin = time.perf_counter()
    with Index.open(index, read_only=False, threads=threads) as held, ExitStack() as stack:
        stream = _open(stack, held, index, inputs, output, removed, reading)
        stream.how = {"threshold": threshold, "on_duplicate": on_duplicate}
        if not quiet and stream.paid:
            say(f"neardup: {stream.paid:,} lines written that a run that was killed had not")
        _run(ctx, stream, [str(path) for path in inputs])
        documents, spec = len(held), held.spec
    _tell(stream, documents, spec, time.perf_counter() - begin, json=json, quiet=quiet, verbose=verbose)


@dataclass(slots=True)
class _Stream:
    """The parts of a run, and what it has done."""

    index: Any
    records: dict[str, Records]
    passing: PipePassing | FilePassing
    removals: Removals | None
    options: ReadOptions
    counts: Counts
    paid: int
    how: dict[str, Any] = field(default_factory=dict)
    new: int = 0
    near: int = 0
    skipped: int = 0
    """Neither: their ids were there."""


def _check(index: Path, inputs: Sequence[Path], output: str | None, removed: str | None, *, json: bool) -> None:
    """Refuse at once what could not be written."""
    from neardup.cli.index.passing import Removals, plain_target
    from neardup.cli.index.tables import check_files

    if json and output in (None, STDOUT):
        raise click.UsageError("stdout can take one thing only. Give a file with -o.")
    files = [name for name in (output, removed) if name not in (None, STDOUT)]
    try:
        if output is not None:
            plain_target(output)
        if removed is not None:
            Removals(removed)
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    check_files(index, inputs, [str(name) for name in files])


def _open(
    stack: ExitStack,
    held: Any,
    index: Path,
    inputs: Sequence[Path],
    output: str | None,
    removed: str | None,
    reading: dict[str, Any],
) -> _Stream:
    from neardup.cli.index.lines import STDIN, Records, line_format
    from neardup.cli.index.passing import FilePassing, PipePassing, Removals, is_plain_file
    from neardup.cli.index.reading import Counts
    from neardup.inputs.source import ReadOptions
    from neardup.inputs.streams.streams import open_bytes

    item = held.spec.shingle.kind == "item"
    options = ReadOptions(reading["text"], reading["id"], on_bad=reading["on_bad"], item=item)
    try:
        records = {
            source: Records(source, line_format(source, reading["input_format"], item=item), options)
            for source in map(str, inputs)
        }
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    if len(records) < len(inputs):
        raise click.UsageError("an input is given twice. Give each once.")

    for source in records:
        if source != STDIN:
            open_bytes(source).close()  # says what is wrong with it before anything is done
    passing: PipePassing | FilePassing
    if output is None or output == STDOUT or not is_plain_file(output):
        passing = stack.enter_context(PipePassing(output or STDOUT, held))
    else:
        passing = stack.enter_context(FilePassing(output, index, held))
    removals = None if removed is None else stack.enter_context(Removals(removed))
    return _Stream(held, records, passing, removals, options, Counts(), passing.paid)


def _run(ctx: click.Context, stream: _Stream, sources: Sequence[str]) -> None:
    from neardup.cli import run_setup
    from neardup.cli.index.lines import chunks
    from neardup.engine.observe import Silent

    stoppable = run_setup.Stoppable(Silent())
    shared.note_done(ctx, 0, "added")
    for chunk in chunks(sources, stream.options):
        # in a thread, so that Ctrl-C lets the batch at hand come to its end
        run_setup.in_background(ctx, lambda chunk=chunk: _pass(ctx, stream, chunk), stoppable)  # type: ignore[misc]


def _pass(ctx: click.Context, stream: _Stream, chunk: Chunk) -> None:
    """Read a chunk of lines, add its new documents, and let their lines through."""
    from neardup.cli import interrupted
    from neardup.cli.index.admitting import admit, steps
    from neardup.cli.index.lines import names_of
    from neardup.cli.index.reading import texts_of

    batch, lines = stream.records[chunk.source].read(chunk)
    stream.counts.note(batch)
    texts = texts_of(batch.documents, item=stream.index.spec.shingle.kind == "item")
    for part, step in steps(stream.index, names_of(batch), texts, made=batch.ids is None):
        if interrupted.is_set():
            return
        mine = lines[part]
        stream.passing.promise([(step.ids[place], step.texts[place], mine[place]) for place in step.unknown])
        outcomes = admit(stream.index, step, stream.how)
        fresh = [(line, outcome.id) for line, outcome in zip(mine, outcomes, strict=True) if outcome.is_new]
        stream.passing.write([line for line, _ in fresh], [id for _, id in fresh])
        stream.new += len(fresh)
        shared.note_done(ctx, stream.new, "added")
        old = [outcome for outcome in outcomes if not outcome.is_new]
        stream.near += sum(outcome.match is not None for outcome in old)
        stream.skipped += sum(outcome.match is None for outcome in old)
        if stream.removals is not None:
            stream.removals.write((outcome.id, outcome.match, outcome.similarity) for outcome in old)


def _tell(
    stream: _Stream, documents: int, spec: Any, seconds: float, *, json: bool, quiet: bool, verbose: bool
) -> None:
    from neardup.cli.summary import counted, duration

    counts = stream.counts
    rows = [
        ("documents", f"{counts.documents:,}"),
        ("new", f"{stream.new:,}"),
        ("removed", f"{stream.near:,} near to another, {stream.skipped:,} with an id that was there"),
        *shared.left_out(counts.bad, counts.blank, ()),
        ("in the index", counted(documents, "document")),
        ("time", duration(seconds)),
        *shared.id_and_spec(spec, verbose=verbose),
    ]
    summary = {
        "read": counts.documents, "new": stream.new, "near": stream.near, "skipped": stream.skipped,
        "bad": counts.bad, "blank": counts.blank, "paid": stream.paid, "documents": documents,
        "seconds": round(seconds, 4), "spec_id": spec.id,
    }  # fmt: skip
    closing = [
        counted(counts.documents, "document"),
        f"{stream.new:,} new",
        f"{stream.near + stream.skipped:,} removed",
        f"{documents:,} in the index",
        duration(seconds),
        f"spec {spec.id}",
    ]
    shared.tell(summary, rows, closing, json=json, quiet=quiet, faults=counts.faults)
