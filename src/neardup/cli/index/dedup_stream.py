"""``neardup index dedup-stream``: the lines of a stream that are new go through, as they come."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import neardup
from neardup.cli import forms, interrupted, options, silence_stdout
from neardup.cli.index import shared
from neardup.cli.options import STDOUT
from neardup.cli.summary import left_out
from neardup.cli.voice import say, usage_errors
from neardup.errors import OutputError
from neardup.params import InputOptions
from neardup.shown import counted

if TYPE_CHECKING:
    from neardup.index.outcomes import Streamed
    from neardup.index.stream.run import DedupStream


@forms.command(
    "dedup-stream",
    "index dedup-stream seen.index - < today.jsonl > new.jsonl",
    "index dedup-stream seen.index monday.jsonl.gz -o new.jsonl --removed removed.csv",
)
@shared.index_path
@options.inputs
@click.option(
    "--output", "-o", metavar="FILE", help="File that the lines are appended to; - is stdout.  [default: stdout]"
)
@click.option(
    "--removed",
    metavar="FILE",
    help="File that a row is added to for each document that is not passed on: its id, the document that it is similar"
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
@shared.column
@options.on_bad
@options.input_format
@shared.on_duplicate
@options.threads
@options.json_summary
@options.voices
def dedup_stream(
    *,
    ctx: click.Context,
    index: Path,
    inputs: tuple[Path, ...],
    output: str | None,
    removed: str | None,
    threshold: float | None,
    on_duplicate: str,
    threads: int | None,
    voice: forms.Voice,
    **reading: Any,
) -> None:
    """Pass on the lines of a stream that are new, as they arrive.

    INPUT is JSON Lines in UTF-8, also compressed; with --input-format lines each line is a text; - is stdin. A line
    whose document is near to none of the index, nor to one before it in the stream, is added to the index and goes to
    stdout (or to the file of -o) byte for byte. What has come is worked on after 0.2 seconds at most, and a line goes
    out when its document is on disk.

    The command can be stopped and started again, with the same stream or its rest: no document is passed on twice,
    because one that is in the index is a near-duplicate of itself. A process that is killed between the two steps has
    documents of one batch in the index whose lines it has not written. With -o FILE the same command completes the file
    when it is started again, before it reads on, so that no line is lost or doubled. Lines that were on their way to
    stdout are lost: use -o FILE where that matters.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, which first ends the batch at hand.
    """
    from neardup.index.stream.run import DedupStream
    from neardup.inputs.reader import read_options

    _check(index, inputs, output, removed, json=voice.json)
    begin = time.perf_counter()
    with neardup.Index.open(index, read_only=False, threads=threads) as held:
        item = held.spec.shingle.kind == "item"
        with usage_errors():
            stream = DedupStream(
                held,
                [str(path) for path in inputs],
                output or STDOUT,
                removed=removed,
                reading=read_options(InputOptions.of(reading), item=item),
                input_format=reading["input_format"],
                threshold=threshold,
                on_duplicate=on_duplicate,
            )
        with stream:
            if not voice.quiet and stream.done.paid:
                say(f"neardup: {stream.done.paid:,} lines written that a run that was killed had not")
            _run(ctx, stream, is_piped=output in (None, STDOUT))
        state = shared.Done(len(held), held.spec, begin)
    done = stream.done
    state.tell(
        voice,
        {name: value for name, value in done.as_dict().items() if name != "faults"},
        [
            ("documents", f"{done.read:,}"),
            ("new", f"{done.new:,}"),
            ("removed", f"{done.near:,} near-duplicates, {done.skipped:,} with an id that was there"),
            *left_out(done.bad, done.blank, ()),
        ],
        [counted(done.read, "document"), f"{done.new:,} new", f"{done.near + done.skipped:,} removed"],
        faults=done.faults,
    )


def _check(index: Path, inputs: Sequence[Path], output: str | None, removed: str | None, *, json: bool) -> None:
    """Refuse at once what could not be written."""
    from neardup.cli.index.tables import check_files
    from neardup.index.stream.outputs import check_names

    if json and output in (None, STDOUT):
        raise click.UsageError("stdout can take one thing only. Give a file with -o.")
    with usage_errors():
        check_names(output, removed)
    check_files(index, inputs, [name for name in (output, removed) if name is not None and name != STDOUT])


def _run(ctx: click.Context, stream: DedupStream, *, is_piped: bool) -> None:
    """Wait for lines here and work on them in a thread, so that Ctrl-C lets the step at hand come to its end."""
    shared.note_done(ctx, 0, "added")
    for chunk in stream.chunks():
        steps = stream.take(chunk)

        def work(_: object, steps: Iterator[Streamed] = steps) -> None:
            for done in steps:
                shared.note_done(ctx, done.new, "added")
                if interrupted.is_set():
                    return

        try:
            shared.watched(ctx, work)
        except OutputError:
            if is_piped:
                silence_stdout()
            raise
