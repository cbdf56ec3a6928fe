"""``python -m neardup.cli``: the command without its installed script."""

from neardup.cli import main

if __name__ == "__main__":
    main(prog_name="neardup")
