"""What a writer does that is going to be killed: batch by batch, each of them decided by its number alone.

Documents come in groups of near-copies that are added, replaced and removed as a whole, each time in one batch. So a
reader can tell from one answer whether it saw half of a batch: it must be the answer of one version of the group.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.oracles.index import Found, NaiveIndex

OPTIONS = {"threshold": 0.5, "recall": 0.9999999, "shingle": "char:5", "slots": 128, "bands": "128x1"}
GROUPS, MEMBERS, VERSIONS = 24, 12, 5

Documents = dict[str, str]


def base(group: int) -> str:
    """What the members of a group have in common."""
    rng = random.Random(group)
    return " ".join(f"{rng.randrange(16**6):06x}" for _ in range(20))


def text(group: int, version: int, member: int) -> str:
    """Near its siblings, and less like their base in each later version; every fourth is a copy of the one before."""
    rng = random.Random(f"{group} {version} {member - (member % 4 == 3)}")
    return f"{base(group)} {rng.randrange(16**8):08x}" + "".join(f" {rng.randrange(16**6):06x}" for _ in range(version))


def members(group: int, version: int) -> Documents:
    """The documents of a group."""
    return {f"g{group}:{member}": text(group, version, member) for member in range(MEMBERS)}


@cache
def answer(group: int, version: int) -> list[Found]:
    """What a query for the base of a group must give while the group is in this version."""
    naive = NaiveIndex(OPTIONS["threshold"], OPTIONS["shingle"])
    documents = members(group, version)
    naive.add(list(documents), list(documents.values()))
    return naive.query(base(group))


def version_seen(group: int, hits: list[Any]) -> int | None:
    """The version that an answer is of; None: the group is not there.

    Raises:
        AssertionError: the answer is of no version: a half batch.
    """
    if not hits:
        return None
    found = [(hit.id, hit.similarity) for hit in hits]
    for version in range(VERSIONS):
        if answer(group, version) == found:
            return version
    raise AssertionError(f"group {group}: no version of it is {found}")


@dataclass(frozen=True)
class Change:
    """One batch: ``kind`` is add, replace, remove, admit or compact."""

    kind: str
    documents: Documents


@dataclass
class Plan:
    """The documents that there must be after a number of batches."""

    seed: int
    documents: Documents
    versions: dict[int, int]
    done: int = 0

    @classmethod
    def begin(cls, seed: int) -> Plan:
        return cls(seed, {}, {})

    def copy(self) -> Plan:
        return Plan(self.seed, dict(self.documents), dict(self.versions), self.done)

    def step(self) -> Change:
        """Decide the next batch and take it as done."""
        rng = random.Random(f"{self.seed} {self.done}")
        self.done += 1
        drawn = rng.random()
        if drawn < 0.04:
            return Change("compact", {})
        if drawn < 0.15:
            return self._admit(rng)
        group = rng.randrange(GROUPS)
        there = self.versions.get(group)
        if there is not None and rng.random() < 0.35:
            del self.versions[group]
            gone = {name: self.documents.pop(name) for name in members(group, 0)}
            return Change("remove", gone)
        version = rng.randrange(VERSIONS)
        new = members(group, version)
        for name in new:
            self.documents.pop(name, None)  # what is replaced is the last afterwards
        self.documents.update(new)
        self.versions[group] = version
        return Change("add" if there is None else "replace", new)

    def _admit(self, rng: random.Random) -> Change:
        """Ten documents, each twice, and nowhere else: the first of two comes in."""
        number = self.done
        texts = [" ".join(f"{rng.randrange(16**6):06x}" for _ in range(8)) for _ in range(5)]
        offered = {f"n{number}:{i}": texts[i // 2] + " again" * (i % 2) for i in range(10)}
        self.documents.update({name: offered[name] for i, name in enumerate(offered) if i % 2 == 0})
        return Change("admit", offered)

    def changes(self) -> Iterator[Change]:
        """All that follow."""
        while True:
            yield self.step()


def carry_out(index: Any, change: Change) -> None:
    """Do a batch; returns when it is durable."""
    ids, texts = list(change.documents), list(change.documents.values())
    if change.kind == "compact":
        index.compact()
    elif change.kind == "admit":
        told = index.add_if_new(ids, texts)
        assert [answer.is_new for answer in told] == [i % 2 == 0 for i in range(len(ids))]
    elif change.kind == "remove":
        assert index.remove(ids) == len(ids)
    else:
        index.add(ids, texts, on_duplicate=change.kind if change.kind == "replace" else "error")
