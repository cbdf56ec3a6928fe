"""Anchors of one key, and of these the classes that agree with all their windows.

A group is what ``repeated_keys`` puts together; what windows its anchors share is found in ``kernels.repeats``. Texts
are compared everywhere: a hash decides what is looked at, never the answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._bits import load64
from neardup.kernels.anchors import BITS24, HEAD, LOW, MORE, PLACES
from neardup.kernels.hashing import hash_bytes
from neardup.native.declare import kernel, part, record

FEW = 8
"""Members up to which classes are looked for one by one."""
ALL24 = np.uint64(0xFFFFFF)
PLACE = np.uint64((1 << PLACES) - 1)


@kernel("uint64[:, ::1], int64")
def repeated_keys(rows, salt):
    """The rows whose key occurs twice or more, and the groups that they make: (members, starts).

    ``rows`` is uint64[n, 2], keys and anchors; an anchor with HEAD makes a group alone. Group g is
    ``members[starts[g] : starts[g + 1]]`` (int64), in the order of the rows. One table, in which ``salt`` (odd)
    scatters the keys. Memory: 8 to 16 bytes a row for the table, 8 beside, and 16 a member.
    """
    n = rows.shape[0]
    bits = 2
    while (1 << bits) < 2 * n:
        bits += 1
    last = (1 << bits) - 1
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, np.uint32)
    head = np.zeros(n, np.uint32)
    tally = np.zeros(n, np.uint32)
    groups, count = 0, 0
    for i in range(n):
        key = rows[i, 0]
        cell = np.int64((key * np.uint64(salt)) >> shift)
        other = table[cell]
        while other and rows[np.int64(other) - 1, 0] != key:
            cell = (cell + 1) & last
            other = table[cell]
        if other:
            head[i] = other
            at = np.int64(other) - 1
            if tally[at] == 1 and not rows[at, 1] & HEAD:
                groups += 1
                count += 1
            tally[at] += 1
            count += 1
        else:
            table[cell] = i + 1
            tally[i] = 1
            if rows[i, 1] & HEAD:
                groups += 1
                count += 1
    members = np.empty(count, np.int64)
    starts = np.zeros(groups + 1, np.int64)
    used, group = 0, 0
    for i in range(n):
        if head[i] == 0:
            size = np.int64(tally[i])
            if size == 0 or (size == 1 and not rows[i, 1] & HEAD):
                continue
            tally[i] = used
            used += size
            group += 1
            starts[group] = used
            at = i
        else:
            at = np.int64(head[i]) - 1
        members[np.int64(tally[at])] = i
        tally[at] += 1
    return members, starts


@part
def same_bytes(data, a, others, b, size):
    """Whether ``size`` bytes at place ``a`` of one text and ``b`` of another are the same."""
    i = 0
    while i + 8 <= size:
        if load64(data, a + i) != load64(others, b + i):
            return False
        i += 8
    while i < size:
        if data[a + i] != others[b + i]:
            return False
        i += 1
    return True


@part
def common(data, a, b, most):
    """How many bytes from two places on are the same, ``most`` at most."""
    i = 0
    while i + 8 <= most and load64(data, a + i) == load64(data, b + i):
        i += 8
    while i < most and data[a + i] == data[b + i]:
        i += 1
    return i


@part
def common_before(data, a, b, most):
    """How many bytes before two places are the same, ``most`` at most."""
    i = 0
    while i + 8 <= most and load64(data, a - i - 8) == load64(data, b - i - 8):
        i += 8
    while i < most and data[a - i - 1] == data[b - i - 1]:
        i += 1
    return i


class Anchored(NamedTuple):
    """Anchors with their windows, by row, and the text around them."""

    rows: Any
    """uint64[n, 2]: keys and anchors, rising by place."""
    places: Any
    """int64[n]: where in ``data`` the unit of the first window of each row stands."""
    documents: Any
    """int64[n]: the document of each row."""
    weights: Any
    """int64[n]: the windows that each window of the row stands for, itself included; more than 1 for heads of loops."""
    data: Any
    """uint8, with 64 bytes more on either side of what is looked at."""
    unit: int
    span: int
    """Units of a window."""
    k: int
    """Units of an anchor."""
    foreign: int
    """The place behind the last of the inputs: what stands from there on is neither counted nor written. Its rows have
    no weight, and stand before all others."""
    templates: int
    """The place from which on templates stand: windows of the inputs that stand there, too, are not asked for more."""
    is_across: int
    """1: only windows that stand in foreign text count; else 0."""
    is_choosing: int
    """1: not all repeated windows count; else 0."""
    min_count: int
    """Places of the inputs at which a window stands that counts, at least."""
    min_documents: Any
    """int64[groups]: documents of the inputs that hold a window that counts, at least, for each group of members."""


ANCHORED = record(
    Anchored,
    "uint64[:, ::1], int64[::1], int64[::1], int64[::1], uint8[::1], int64, int64, int64",
    "int64, int64, int64, int64, int64, int64[::1]",
)


class Classes(NamedTuple):
    """The classes of a group: anchors that agree with all their windows. Numbered by their first members."""

    of: Any
    """int64[members]: the class of each member."""
    reps: Any
    """int64[classes]: the row of the first member."""
    starts: Any
    """int64[classes + 1]: where the members of each begin in ``sorted``."""
    sorted: Any
    """int64[members]: the rows of all members, sorted by class and then by row."""
    documents: Any
    """int64[classes]: distinct documents of each."""
    count: Any
    """int64[classes]: places of each of their windows."""
    hashes: Any
    """uint64[classes]: of all their windows, where there are many members."""


@part
def place_of(rows, row):
    return np.int64((rows[row, 1] >> BITS24) & PLACE)


@part
def back_of(rows, row):
    return np.int64((rows[row, 1] >> np.uint64(MORE)) & LOW)


@part
def more_of(rows, row):
    return np.int64(rows[row, 1] & LOW)


@part
def _is_class(a, one, other):
    """Whether two anchors agree with all their windows."""
    if a.rows[one, 1] & ALL24 != a.rows[other, 1] & ALL24:
        return False
    size = (more_of(a.rows, one) + a.span) * a.unit
    return same_bytes(a.data, a.places[one] * a.unit, a.data, a.places[other] * a.unit, size)


@part
def _fill_table(hashes, count, table, bits):
    """Put the classes that there are into ``2**bits`` cells of the table."""
    last, shift = (1 << bits) - 1, np.uint64(64 - bits)
    table[: last + 1] = -1
    for c in range(count):
        cell = np.int64(hashes[c] >> shift)
        while table[cell] >= 0:
            cell = (cell + 1) & last
        table[cell] = c


@part
def classify(a, members, key, classes, table):
    """Fill ``classes`` for the rows ``members`` of one group; how many there are."""
    count, n, bits = 0, members.size, 4
    if n > FEW:
        _fill_table(classes.hashes, 0, table, bits)
    for i in range(n):
        row = members[i]
        found = np.int64(-1)
        if n <= FEW:
            for c in range(count):
                if _is_class(a, classes.reps[c], row):
                    found = c
                    break
        else:
            size = (more_of(a.rows, row) + a.span) * a.unit
            hashed = hash_bytes(a.data, a.places[row] * a.unit, size, key)
            last, cell = (1 << bits) - 1, np.int64(hashed >> np.uint64(64 - bits))
            while table[cell] >= 0:
                c = table[cell]
                if classes.hashes[c] == hashed and _is_class(a, classes.reps[c], row):
                    found = c
                    break
                cell = (cell + 1) & last
            if found < 0:
                table[cell] = count
                classes.hashes[count] = hashed
                if 2 * count > last:
                    bits += 1
                    _fill_table(classes.hashes, count + 1, table, bits)
        if found < 0:
            found = count
            classes.reps[count] = row
            count += 1
        classes.of[i] = found
    # members by class, and the documents of each: rows rise, so those of one document follow each other
    starts = classes.starts
    starts[: count + 2] = 0
    for i in range(n):
        starts[classes.of[i] + 2] += 1
    for c in range(count):
        starts[c + 2] += starts[c + 1]
        classes.documents[c], classes.count[c] = 0, 0
    for i in range(n):
        c, row = classes.of[i], members[i]
        at = starts[c + 1]
        classes.sorted[at] = row
        starts[c + 1] = at + 1
        classes.count[c] += a.weights[row]
        is_new = classes.documents[c] == 0 or a.documents[classes.sorted[at - 1]] != a.documents[row]
        if is_new and a.weights[row] > 0:
            classes.documents[c] += 1
    return count
