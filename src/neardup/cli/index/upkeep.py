"""``neardup index info``, ``verify``, ``compact`` and ``backup``: an index looked at, mended, tidied and copied."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import click

import neardup
from neardup.cli import forms, options
from neardup.cli.index import shared
from neardup.cli.summary import labelled
from neardup.shown import counted, duration, megabytes


@forms.command("info", "index info papers.index", "index info papers.index --json")
@shared.index_path
@shared.json_answer
@options.voices
def info(*, index: Path, voice: forms.Voice) -> None:
    """Say what an index is and holds: documents, threshold, recall, shingles, files and their sizes.

    The answer goes to stdout. It works beside a command that is changing the index.

    Exit codes: 0 done, 1 failed, 2 wrong usage.
    """
    with neardup.Index.open(index, read_only=True) as held:
        found = held.info()
    voice.answer(found.as_dict(), labelled(_info_rows(found, verbose=voice.verbose)))


def _info_rows(info: neardup.IndexInfo, *, verbose: bool) -> list[tuple[str, str]]:
    each = f", {info.total_bytes / info.documents:,.0f} bytes a document" if info.documents else ""
    files = [(f"  {name}", megabytes(size)) for name, size in info.bytes.items()] if verbose else []
    width = max((len(label) for label, _ in files), default=0)
    healed = [("healed", f"{counted(info.healed, 'file')} made again from the documents")] if info.healed else []
    return [
        ("index", str(info.path)),
        ("documents", f"{info.documents:,}, {info.empty:,} empty"),
        *shared.spec_rows(info, verbose=verbose),
        ("segments", f"{info.segments:,} of {counted(info.segment_documents, 'document')}"),
        ("removed", f"{info.removed:,} whose space is not freed yet"),
        ("size", f"{megabytes(info.total_bytes)}{each}"),
        *((f"{label:<{width}}  ", size) for label, size in files),
        *healed,
        ("format", f"{info.format}, made by neardup {info.created_by}"),
    ]


@forms.command("verify", "index verify papers.index", "index verify papers.index --no-repair --json")
@shared.index_path
@click.option(
    "--no-repair", is_flag=True, help="Only check: change nothing. Works beside a command that is changing the index."
)
@shared.json_answer
@options.voices
def verify(*, ctx: click.Context, index: Path, no_repair: bool, voice: forms.Voice) -> None:
    """Check every byte of every file of an index, and repair what can be repaired.

    Files of postings are made from the documents, and made again where they are damaged or missing. The documents
    themselves cannot be made again: what is wrong with them is named. The answer goes to stdout.

    Exit codes: 0 nothing was wrong, 1 something was wrong (also when it was repaired) or the check failed, 2 wrong
    usage, 130 stopped by Ctrl-C.
    """
    mended = [] if no_repair else _damage_at_opening(index)
    with neardup.Index.open(index, read_only=no_repair) as held:
        found = shared.watched(ctx, lambda _: held.verify(repair=not no_repair))
        documents = len(held)
    if mended:
        found = replace(
            found, ok=False, faults=(*mended, *found.faults), healed=(*found.healed, "the keys of documents")
        )
    voice.answer(found.as_dict(), _faults(found, str(index), documents, repair=not no_repair))
    if not found.ok:
        ctx.exit(1)


def _damage_at_opening(index: Path) -> list[str]:
    """Return the damage that opening an index for writing repairs before a check could see it."""
    try:
        neardup.Index.open(index, read_only=True).close()
    except neardup.FormatError as exc:
        return [str(exc).partition(". Run `neardup index verify`")[0]]
    return []


def _faults(found: neardup.Verified, shown: str, documents: int, *, repair: bool) -> list[str]:
    if found.ok:
        return [f"{shown}: {counted(documents, 'document')}, no fault"]
    told = [f"  {fault}" for fault in found.faults] + [f"made again: {name}" for name in found.healed]
    cure = [] if repair else [f"To repair what can be repaired: neardup index verify {shown}"]
    return [f"{shown}: {counted(len(found.faults), 'fault')}", *told, *cure]


@forms.command("compact", "index compact papers.index", "index compact papers.index --json | grep total_bytes")
@shared.index_path
@shared.json_answer
@options.voices
def compact(*, ctx: click.Context, index: Path, voice: forms.Voice) -> None:
    """Free the space of removed documents, and put all postings into one file.

    Nothing else changes: queries give the same answers, a little faster. Readers go on reading. An index does this by
    itself while it is written to; the command is for the end of a large change, or before it is copied elsewhere.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    begin = time.perf_counter()
    with neardup.Index.open(index, read_only=False) as held:
        before = held.info()
        shared.watched(ctx, lambda _: held.compact())
        after = held.info()
    seconds = time.perf_counter() - begin
    sizes = f"{megabytes(after.total_bytes)}, before {megabytes(before.total_bytes)}"
    rows = [
        ("documents", f"{after.documents:,}"),
        ("segments", f"{after.segments:,}, before {before.segments:,}"),
        ("size", sizes),
        *([("spec", after.spec_id)] if voice.verbose else []),
    ]
    closing = [counted(after.documents, "document"), sizes, duration(seconds), f"spec {after.spec_id}"]
    summary = {**after.as_dict(), "before": before.as_dict(), "seconds": round(seconds, 4)}
    shared.tell(voice, summary, rows, closing)


@forms.command(
    "backup",
    "index backup papers.index /backups/papers.index",
    "index backup papers.index /backups/papers.index --replace --json",
)
@shared.index_path
@click.argument("target", metavar="TARGET", type=click.Path(path_type=Path))
@click.option(
    "--replace",
    is_flag=True,
    help="Replace the index that is at TARGET, when the copy is whole. Anything else is never replaced.",
)
@shared.json_answer
@options.voices
def backup(*, ctx: click.Context, index: Path, target: Path, replace: bool, voice: forms.Voice) -> None:
    """Copy an index to the folder TARGET, as of one moment.

    The index may be in use meanwhile: others add to it, remove, compact, serve it, and need not wait. The copy holds
    what one of their changes left, all of it and nothing more, and is an index of its own. It is read in full once
    while it is made, and gets its name when it is whole and on the disk: a command that is stopped or killed leaves
    nothing that opens, and the next one cleans up after it.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    begin = time.perf_counter()
    with neardup.Index.open(index, read_only=True) as held:
        info = shared.watched(
            ctx, lambda watching: held.backup(target, replace=replace, observer=watching), quiet=voice.quiet
        )
    seconds = time.perf_counter() - begin
    shown = click.format_filename(target)
    rows = [
        ("copied", f"{counted(info.documents, 'document')}, as of change {info.generation:,}"),
        ("to", shown),
        ("size", megabytes(info.total_bytes)),
        ("time", duration(seconds)),
        *(shared.spec_rows(info, verbose=True) if voice.verbose else []),
    ]
    shared.tell(
        voice,
        {**info.as_dict(), "seconds": round(seconds, 4)},
        rows,
        [f"{shown} made", counted(info.documents, "document"), duration(seconds), f"spec {info.spec_id}"],
    )
