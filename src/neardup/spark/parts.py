"""Parts of clean copies that tasks wrote: those of one target are joined, all are seen by the driver, others removed.

A part lies beside its target under a hidden name with a token of its own. Of a target at an address it is in the
storage: from there it is copied within the store, or sent by the driver, when all else is done.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from functools import partial

import numpy as np

from neardup.inputs.addresses import is_remote
from neardup.outputs.atomic import writing
from neardup.outputs.parts import object_pieces, size_of_object
from neardup.shown import shown_path
from neardup.spark.exchange import Facts
from neardup.spark.pieces import Job
from neardup.spark.storage import Storage
from neardup.spark.work import ClusterWork
from neardup.tasks.rewrite.copy_names import PART_SUFFIX
from neardup.tasks.rewrite.footers import MAGIC, footer_size, joined_footers
from neardup.tasks.rewrite.writer import new_part, part_name

JOIN_BYTES = 256 << 20
"""Bytes of a copy that one task brings together from parts: a multiple of every page and block of a file system."""
_STEP = 4 << 20

Whole = dict[tuple[str, int], tuple[str, int]]
"""Of a target, and the number of its piece (0, where it is whole): the token of the part, and its bytes (-1: not
counted)."""


def part_of(storage: Storage, final: str, token: str) -> str:
    """The path, or the address, of the part of a target."""
    if not is_remote(final):
        return part_name(final, token)
    digest = hashlib.blake2b(final.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    part = f"{storage.root.rstrip('/')}/copies/{digest}.{token}"
    if not is_remote(part):
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.dirname(part))  # and none above it: of a run that has ended nothing is made anew
    return part


def explained(final: str) -> AbstractContextManager[None]:
    """What goes wrong with a file is told as on one machine; of an object whoever writes it tells."""
    return contextlib.nullcontext() if is_remote(final) else writing(shown_path(final))


def size_of(part: str) -> int:
    """Bytes of a part; OSError where there is none."""
    if not is_remote(part):
        return os.path.getsize(part)
    size = size_of_object(part)
    if size is None:
        raise FileNotFoundError(part)
    return size


def keep_footer(job: Job, final: str, token: str, size: int) -> int:
    """Put the footer of a part that is some row groups of a Parquet file into the storage; where it begins."""
    part = part_of(job.storage, final, token)
    at = size - footer_size(b"".join(pieces_of(part, size - 8, 8)))
    job.storage.put_bytes(_footer_of(token), b"".join(pieces_of(part, at, size - at)))
    return at


def _footer_of(token: str) -> str:
    return f"footers/{token}"


def _put_footer(job: Job, final: str, parts: list[tuple[str, int]], token: str) -> tuple[str, int, int]:
    """Write the footer of a file that has all row groups of its parts; the piece that it is."""
    footers = [bytes(job.storage.get_bytes(_footer_of(of))) for of, _ in parts]
    footer = joined_footers(footers, [end for _, end in parts])
    mine = f"{token}.f.{os.urandom(4).hex()}"
    with explained(final), new_part(final, part_of(job.storage, final, mine)) as out:
        out.write(footer)
    return mine, 0, len(footer)


def join_all(
    work: ClusterWork, copies: list[tuple[str, int]], whole: Whole, token: str, *, parquet: Collection[str]
) -> None:
    """Bring the pieces of each target together, in ranges of its bytes, each by a task; those of an object by one task.

    A file system shares files out to machines by pages, so no two tasks write into one page. Targets in ``parquet`` get
    a footer behind their pieces, which lack theirs, and have the magic of the first alone.
    """
    job, name, tasks = work.job, work.next_name("join"), 0
    for final, count in copies:
        parts = [whole[final, i] for i in range(count)]
        magic = len(MAGIC) if final in parquet else 0
        pieces = [(of, magic if i else 0, size - (magic if i else 0)) for i, (of, size) in enumerate(parts)]
        if final in parquet:
            pieces.append(_put_footer(job, final, parts, token))
        begins = np.cumsum([0, *(size for *_, size in pieces)]).tolist()
        mine = f"{token}.j.{os.urandom(4).hex()}"
        part = part_of(job.storage, final, mine)
        if is_remote(part):  # nobody can write into the middle of an object
            facts = {"final": final, "token": mine, "first": 0, "pieces": pieces, "size": begins[-1]}
            job.storage.put_facts(f"{name}/{tasks:06d}", facts)
            tasks += 1
            continue
        with explained(final), new_part(final, part) as out:
            out.truncate(begins[-1])
        for first in range(0, max(1, begins[-1]), JOIN_BYTES):
            stop = min(first + JOIN_BYTES, begins[-1])
            some = [
                (of, at + max(first, begin) - begin, min(stop, begin + size) - max(first, begin))
                for (of, at, size), begin in zip(pieces, begins, strict=False)
                if begin < stop and begin + size > first
            ]
            facts = {"final": final, "token": mine, "first": first, "pieces": some, "size": begins[-1]}
            job.storage.put_facts(f"{name}/{tasks:06d}", facts)
            tasks += 1
    if not tasks:
        return
    found = work.map("join", range(tasks), partial(join, job, name))
    for final, count in copies:
        for piece in range(count):
            del whole[final, piece]
    whole |= {(each["final"], 0): (each["token"], each["size"]) for each in found}


def join(job: Job, name: str, task: int) -> Facts:
    """Copy pieces into a range of the bytes of a target's part."""
    facts = job.storage.get_facts(f"{name}/{task:06d}")
    final = facts["final"]
    where = partial(part_of, job.storage, final)
    if is_remote(where(facts["token"])):
        token = f"{facts['token']}.{os.urandom(4).hex()}"  # another task may do the same at the same time
        with new_part(final, where(token)) as out:
            for of, begin, size in facts["pieces"]:
                for piece in object_pieces(where(of), begin, size):
                    out.write(piece)
        return {"final": final, "token": token, "size": facts["size"]}
    with explained(final), open(where(facts["token"]), "r+b", buffering=0) as out:
        out.seek(facts["first"])
        for token, begin, size in facts["pieces"]:
            for piece in pieces_of(where(token), begin, size):
                out.write(piece)
        os.fsync(out.fileno())
    return {key: facts[key] for key in ("final", "token", "size")}


def pieces_of(part: str, first: int, size: int) -> Iterator[bytes]:
    """Some bytes of a part."""
    if is_remote(part):
        yield from object_pieces(part, first, size)
        return
    with open(part, "rb", buffering=0) as file:
        file.seek(first)
        while size:
            piece = file.read(min(_STEP, size))
            if not piece:
                raise OSError("a part of it was cut short")
            size -= len(piece)
            yield piece


def is_seen(job: Job, final: str, token: str, size: int) -> bool:
    """Whether the driver sees what a worker has written."""
    try:
        found = size_of(part_of(job.storage, final, token))
    except FileNotFoundError:
        return False
    return size in (-1, found)


def sweep(folders: set[str], token: str, *, keep: set[str]) -> None:
    """Remove the parts of a run that are not kept: of tasks that were done twice, or not to their end."""
    for folder in folders:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                if f".{token}." in name and name.endswith(PART_SUFFIX) and path not in keep:
                    os.unlink(path)
