"""``neardup index create`` and ``build``: an empty index, and one of a whole collection."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

import neardup
from neardup.cli import forms, options
from neardup.cli.index import shared
from neardup.cli.summary import hint_rows, preset_rows
from neardup.params import SearchOptions


@forms.command("create", "index create papers.index", "index create tweets.index --shingle word:2 -t 0.6")
@shared.index_path
@shared.making
@shared.json_answer
@options.voices
def create(*, index: Path, voice: forms.Voice, **spec: Any) -> None:
    """Make an empty index.

    INDEX is a folder that is made. Threshold, recall, shingles and the rest are fixed for its life: every document
    that is added and every query is worked on alike.

    Exit codes: 0 done, 1 failed, 2 wrong usage.
    """
    forms.check_banding(spec["slots"], spec["bands"])
    with neardup.Index.create(index, **spec) as made:
        info = made.info()
    shown = click.format_filename(index)
    preset = forms.preset_facts(SearchOptions.of(spec))
    rows = [("made", shown), *preset_rows(preset["preset"]), *shared.spec_rows(info, verbose=voice.verbose)]
    shared.tell(voice, {**info.as_dict(), **preset}, rows, [f"{shown} made", "0 documents", f"spec {info.spec_id}"])


@forms.command(
    "build",
    "index build papers.index papers.jsonl.gz -t 0.7",
    "index build pages.index pages/*.parquet --text body --id url --on-duplicate replace",
)
@shared.index_path
@options.inputs
@shared.making
@options.reading
@shared.column
@shared.on_duplicate
@options.threads
@shared.json_answer
@options.voices
def build(*, ctx: click.Context, index: Path, inputs: tuple[Path, ...], voice: forms.Voice, **build: Any) -> None:
    """Make an index of a whole collection.

    INPUT is what `neardup find` reads: folders, JSONL, CSV, TSV, Parquet and Arrow files, text files, also compressed,
    glob patterns, and - for stdin. It is the quick way to what `index create` and `index add` give, and the index
    appears whole or not at all.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    forms.check_banding(build["slots"], build["bands"])
    begin = time.perf_counter()
    made = shared.watched(
        ctx, lambda watching: neardup.Index.build(index, list(inputs), observer=watching, **build), quiet=voice.quiet
    )
    with made:
        info, added, spec = made.info(), made.built, made.spec
    assert added is not None
    told = {**added.as_dict(), **info.as_dict(), **forms.preset_facts(SearchOptions.of(build))}
    summary = forms.with_commands(ctx, told)
    settings = [*preset_rows(summary["preset"]), *shared.spec_rows(info, verbose=voice.verbose)]
    done = shared.Done(info.documents, spec, begin)
    done.tell_added(voice, added, summary, [*settings, *hint_rows(summary["hints"])])
