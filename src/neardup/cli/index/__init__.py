"""``neardup index``: the commands of a collection that grows, each imported when it is called.

What several of them share is in ``shared`` (options, telling) and ``tables``; what they do is in ``neardup.index``.
"""

from __future__ import annotations

import click

from neardup.cli import LazyGroup

_COMMANDS = {
    "add": ("neardup.cli.index.change", "Add documents, or only those without a near-duplicate in the index."),
    "backup": ("neardup.cli.index.upkeep", "Copy an index while it is in use."),
    "build": ("neardup.cli.index.make", "Make an index of a whole collection."),
    "compact": ("neardup.cli.index.upkeep", "Free the space of removed documents."),
    "create": ("neardup.cli.index.make", "Make an empty index."),
    "dedup-stream": ("neardup.cli.index.dedup_stream", "Pass on the lines of a stream that are new, as they arrive."),
    "get": ("neardup.cli.index.look", "Print documents by their ids."),
    "info": ("neardup.cli.index.upkeep", "Say what an index is and holds."),
    "list": ("neardup.cli.index.look", "List documents in the order in which they were added."),
    "merge": ("neardup.cli.index.change", "Add all documents of other indexes."),
    "pairs": ("neardup.cli.index.query", "Find the near-duplicates inside an index, and their clusters."),
    "query": ("neardup.cli.index.query", "Find the documents that are similar to given ones."),
    "remove": ("neardup.cli.index.change", "Remove documents by their ids or their age."),
    "statistics": ("neardup.cli.index.look", "Count distinct texts, copies, and documents that share a band."),
    "verify": ("neardup.cli.index.upkeep", "Check every file of an index, and repair what can be repaired."),
}
"""Name of each command, the module that has it under that name, and its line in the help."""


@click.group(
    "index",
    cls=LazyGroup,
    registry=_COMMANDS,
    epilog="\b\nExamples:\n"
    "  neardup index build papers.index papers.jsonl -t 0.7\n"
    "  neardup index query papers.index new.jsonl --top 3",
)
def index() -> None:
    """Keep a collection that grows: documents are added and removed, and each can be queried for its near-duplicates.

    An index is a folder. One command at a time may change it; any number may read it meanwhile, and they see what
    is complete. What a command says it has added is on disk, whatever happens to the process afterwards.
    `neardup index COMMAND --help` shows the options of a command.
    """
