"""``neardup warm``: the machine code of all kernels, made before anybody waits for it."""

from __future__ import annotations

import time

import click

from neardup.cli import forms, options, running
from neardup.errors import NeardupError
from neardup.params.checks import check_threads
from neardup.shown import duration


@forms.command("warm", "warm", "warm --portable --jobs 4")
@click.option(
    "--portable",
    is_flag=True,
    help="For every processor of this architecture, not only for the one at hand: for images, and for clusters whose"
    " machines differ.",
)
@options.number(
    "--jobs",
    (1, 1024),
    help="Processes that compile at a time; each takes some 300 MB.  [default: one for each processor]",
)
@options.json_summary
@options.voices
def warm(*, ctx: click.Context, portable: bool, jobs: int | None, voice: forms.Voice) -> None:
    """Compile all kernels now, so that no later command has to.

    A package that was built for this Python and this version of numba includes its machine code; then there is
    nothing to do. Else the code goes to the first of these folders that can be written: the one that NUMBA_CACHE_DIR
    names, the one of the package, the user's cache. Run this command when an image is built, or on each worker of a
    cluster. Compiled once, it serves all users who can read the folder.
    """
    from neardup.kernels._jit import seconds
    from neardup.kernels.warm import compile_all, load_all

    names, made, begin = load_all(), [], time.perf_counter()
    with running.stoppable(ctx, quiet=voice.quiet) as observer:

        def work() -> None:
            observer.stage("warm", round(10 * sum(map(seconds, names))), "tenths of the work")
            for each in compile_all(names, jobs=check_threads(jobs), portable=portable):
                made.append(each)
                observer.advance(round(10 * seconds(each.name)))

        try:
            observer.in_background(work)
        except (OSError, RuntimeError) as exc:
            raise NeardupError(f"{exc}.") from exc
    folders = sorted({each.folder for each in made if each.folder is not None})
    compiled = sum(each.folder is not None for each in made)
    taken = round(time.perf_counter() - begin, 2)
    summary = {
        "kernels": len(made),
        "compiled": compiled,
        "folder": folders[0] if folders else None,
        "cpu_seconds": round(sum(each.seconds for each in made), 2),
        "total_seconds": taken,
    }
    closing = f"{len(made)} kernels are compiled, {compiled} of them now, in {duration(taken)}"
    voice.tell(summary, [f"kept in       {folder}" for folder in folders], f"neardup: {closing}")
