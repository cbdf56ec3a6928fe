"""Clusters from a list of found pairs, and partitions to compare them by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)
Partition = frozenset[frozenset[Node]]


def connected(pairs: Iterable[tuple[Node, Node]]) -> Partition[Node]:
    """The connected components of two and more, found by walking."""
    neighbours: defaultdict[Node, set[Node]] = defaultdict(set)
    for a, b in pairs:
        neighbours[a].add(b)
        neighbours[b].add(a)
    seen: set[Node] = set()
    parts = []
    for start in list(neighbours):
        if start in seen:
            continue
        part, walk = {start}, [start]
        while walk:
            for node in neighbours[walk.pop()] - part:
                part.add(node)
                walk.append(node)
        seen |= part
        parts.append(frozenset(part))
    return frozenset(parts)


def star(order: Iterable[Node], pairs: Iterable[tuple[Node, Node]]) -> dict[Node, frozenset[Node]]:
    """Greedy stars: in ``order``, a document that no keeper has taken keeps, and takes its free partners.

    Returns keeper -> its cluster with itself, for clusters of two and more.
    """
    neighbours: defaultdict[Node, set[Node]] = defaultdict(set)
    for a, b in pairs:
        neighbours[a].add(b)
        neighbours[b].add(a)
    taken: set[Node] = set()
    stars: dict[Node, frozenset[Node]] = {}
    for node in order:
        if node in taken:
            continue
        cluster = {node} | (neighbours[node] - taken)
        taken |= cluster
        if len(cluster) > 1:
            stars[node] = frozenset(cluster)
    return stars


def partition(label_of: Mapping[Node, Hashable]) -> Partition[Node]:
    """The groups of equal label with at least two members."""
    groups: defaultdict[Hashable, set[Node]] = defaultdict(set)
    for node, label in label_of.items():
        groups[label].add(node)
    return frozenset(frozenset(group) for group in groups.values() if len(group) > 1)


def refines(fine: Partition[Node], coarse: Partition[Node]) -> bool:
    """True when every group of ``fine`` lies inside one group of ``coarse``."""
    return all(any(group <= other for other in coarse) for group in fine)
