"""``neardup man``: the pages of the manual; they are made in ``manual``, of the help."""

from __future__ import annotations

import os
from pathlib import Path

import click

from neardup.cli import WRITTEN, LazyGroup, forms, main
from neardup.cli.voice import print_text, say
from neardup.errors import did_you_mean


@forms.command("man", "man find | man -l -", "man --output ~/.local/share/man/man1")
@click.argument("words", metavar="[COMMAND…]", nargs=-1)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the pages of all commands into this folder, as neardup-find.1 and so on.  [default: print one]",
)
def man(*, ctx: click.Context, words: tuple[str, ...], output: Path | None) -> None:
    """Print a page of the manual, or write all of them.

    COMMAND is the command that the page is about, such as find or index add; without one the page is about neardup. The
    pages say what --help says, and which variable of the environment sets each option. An installed wheel has them in
    share/man/man1, where `man neardup-find` finds them.

    Exit codes: 0 done, 1 failed, 2 wrong usage.
    """
    from neardup.cli.manual import page, write_pages

    if output is not None:
        if words:
            raise click.UsageError("--output writes the pages of all commands. Leave COMMAND out.")
        from neardup.outputs.atomic import output_error

        try:
            output.mkdir(parents=True, exist_ok=True)
            written = write_pages(main, output)
        except OSError as exc:
            raise output_error(os.fspath(output), exc) from exc
        ctx.meta[WRITTEN] = [str(output)]
        say(f"neardup: {len(written)} pages in {output}")
        return
    print_text(page(main, _known(words)).rstrip("\n"))


def _known(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a command; UsageError where there is none."""
    command: click.Command | None = main
    for at, word in enumerate(words):
        inner = command.get_command(click.Context(command), word) if isinstance(command, LazyGroup) else None
        if inner is None:
            names = command.list_commands(click.Context(command)) if isinstance(command, LazyGroup) else []
            asked = " ".join(words[: at + 1])
            raise click.UsageError(f"there is no command neardup {asked}.{did_you_mean(word, names)}")
        command = inner
    return words
