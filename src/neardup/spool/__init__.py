"""Arrays that are in memory or in files, with one face, and the folder of such files that a killed run goes on from.

columns   one value, or a row of values, for each document        files     one file of fixed records: header, checksum
texts     the documents themselves                                workdir   the folder: checkpoints, resuming, lock
sorter    sorting of more keys than fit into memory               manifest  what the folder holds, as of the checkpoint
machine   what the machine tells of memory and processes; names of files made to last

Nothing here knows what the values mean.
"""

from neardup.spool.columns import Column, FileColumn, MemoryColumn
from neardup.spool.machine import available_memory, peak_memory, resident_memory
from neardup.spool.sorter import Sorter
from neardup.spool.texts import FileTexts, MemoryTexts, Parts, Texts, same_bytes
from neardup.spool.workdir import Workdir, free_bytes

__all__ = [
    "Column",
    "FileColumn",
    "FileTexts",
    "MemoryColumn",
    "MemoryTexts",
    "Parts",
    "Sorter",
    "Texts",
    "Workdir",
    "available_memory",
    "free_bytes",
    "peak_memory",
    "resident_memory",
    "same_bytes",
]
