"""``neardup completion``: the script by which a shell completes commands, options and values."""

from __future__ import annotations

import click

from neardup.cli import forms, main
from neardup.cli.completing import SHELLS
from neardup.cli.voice import print_text


@forms.command(
    "completion",
    "completion bash > ~/.local/share/bash-completion/completions/neardup",
    "completion fish > ~/.config/fish/completions/neardup.fish",
)
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def completion(*, shell: str) -> None:
    """Print the script that makes a shell complete neardup.

    SHELL is bash (4.4 or newer), zsh or fish. The script completes commands, options, their values and names of files;
    after an input, --text and --id offer its columns. An installed wheel has the scripts in share/ already, where
    most systems find them.

    Exit codes: 0 done, 2 wrong usage.
    """
    from neardup.cli.completing import script

    print_text(script(shell, main))
