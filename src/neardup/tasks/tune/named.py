"""Documents that labels and earlier answers name by id: what text each has, and some of the texts.

They are met while the collection is read, since nobody can be sure to read it twice. Of every id the 128 bits of the
text are kept, so that a copy is known to be the text that was drawn. Texts that are not drawn are kept for some pairs
only, as many as memory may hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field

from neardup.inputs.names import ids_of
from neardup.tasks.tune.answers import Key
from neardup.types import Batch

PAIRS, BYTES = 1000, 3 << 20
"""Pairs whose texts are kept, and bytes of them, at most."""

Print = tuple[int, int]
"""The 128 bits of a text."""


@dataclass(slots=True)
class NamedDocuments:
    """What is learned of them batch by batch. Memory: some hundred bytes an id, and BYTES."""

    ids: frozenset[str]
    kept: frozenset[str]
    """Those whose texts are to be kept."""
    prints: dict[str, Print] = field(default_factory=dict)
    """Of each id that is there; of several documents with one id the first is meant."""
    texts: dict[Print, tuple[int, bytes]] = field(default_factory=dict)
    """Texts that are kept, and the row of the first document of each."""
    held: int = 0
    """Bytes of the texts."""

    @classmethod
    def of(cls, pairs: Collection[Key]) -> NamedDocuments:
        """Those of some pairs; where they are many, the pairs whose texts are kept are drawn by a hash of their ids."""
        some = sorted(pairs, key=digest)[:PAIRS] if len(pairs) > PAIRS else pairs
        return cls(frozenset(id for key in pairs for id in key), frozenset(id for key in some for id in key))

    def find(self, batch: Batch) -> list[tuple[int, str]]:
        """Which documents of a batch have one of the ids, and which; from any thread."""
        if not self.ids:
            return []
        return [(i, name) for i, id in enumerate(ids_of(batch)) if (name := str(id)) in self.ids]

    def add(self, id: str, own: Print, row: int, text: bytes | None) -> None:
        """Take a document; ``text`` is None where it must not be kept."""
        if id in self.prints:
            return
        self.prints[id] = own
        if text is not None and id in self.kept and own not in self.texts and self.held + len(text) <= BYTES:
            self.texts[own] = row, text
            self.held += len(text)


def digest(key: Key) -> bytes:
    """Of a pair, to draw some of many whatever their order."""
    return hashlib.blake2b("\0".join(key).encode("utf-8", "replace"), digest_size=8).digest()
