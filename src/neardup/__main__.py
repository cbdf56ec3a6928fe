"""``python -m neardup``: the command, for where its script is not on the path."""

from neardup.cli import main

main()
