"""Readers and writers.

    what the user gave ── inputs ── resolve ── walk
                            │          ├─ folder, lines, jsonl, delimited (layout, endless)
                            │          │       bytes: streams (line_cuts), unpacked, encodings
                            │          └─ arrow (arrow_columns, parquet_groups, ipc_messages)
                            ├─ arrow_objects
                            └─ python (items)
    rows ── ledger ── ids, places         names of the documents, wherever they are kept
    tables ── write ── atomic

A reader is made of sources (``source``); a source gives tasks, and a task, when called, one ``Batch``.

Importing this package imports none of them, so that a command that reads nothing starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neardup.formats.inputs import Reader, open_inputs
    from neardup.formats.ledger import Ledger
    from neardup.formats.write import write_table

__all__ = ["Ledger", "Reader", "open_inputs", "write_table"]

_HOMES = {"Ledger": "ledger", "Reader": "inputs", "open_inputs": "inputs", "write_table": "write"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
