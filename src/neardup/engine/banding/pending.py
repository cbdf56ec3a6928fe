"""What waits between the bands and the exact check: buckets that are kept for later, and candidate pairs.

Each pair comes once, is held against its signatures, and has an order in which the texts of a block of documents are
wanted together.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME, cut, distinct, starts_of
from neardup.engine.check import pairs_at_once
from neardup.engine.reading.collection import Collection
from neardup.spool import Sorter
from neardup.stages import bands as band_stage
from neardup.stages.bands import BandBuckets
from neardup.stages.cluster import Components
from neardup.stages.numbering import number_pairs, pairs_of
from neardup.types import I32, I64, U32, U64, Mask

BUDGET_NS = 500_000.0
"""What the pairs of hot buckets may cost for each document, all bands together: of those that are paired up whole, and
again of those whose documents are told apart."""


def check_ns(shingles: float) -> float:
    """Rough cost, in nanoseconds, of checking a pair of documents of so many shingles each."""
    return 100.0 + 8.0 * shingles


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where the members of a bucket lie."""

    band: int
    start: int
    size: int
    mark: int
    """Smallest text hash of its members: an order of buckets that does not depend on rows."""


class Buckets:
    """Members of buckets, band after band, in memory or in a file."""

    def __init__(self, name: str, collection: Collection) -> None:
        """None, or those that an interrupted run left."""
        space = collection.space
        self._collection = collection
        self._rows = space.column(f"{name}-rows", np.int64)
        self._sizes = space.column(f"{name}-sizes", np.int64, 2)
        """Band and size of each bucket."""
        self.marked = [Bucket(*each) for each in space.state.get("bands", {}).get(name, [])]
        """The buckets that ``add`` kept."""

    def __len__(self) -> int:
        return len(self._sizes)

    def state(self) -> list[list[int]]:
        """The marked buckets as JSON values; what lies in columns needs none."""
        return [[bucket.band, bucket.start, bucket.size, bucket.mark] for bucket in self.marked]

    def add(self, band: int, members: I64) -> None:
        """Keep one bucket that will be asked for by itself."""
        mark = min(
            int(self._collection.prints.take(members[i : i + ROWS_AT_A_TIME])[:, 0].min())
            for i in range(0, members.size, ROWS_AT_A_TIME)
        )
        self.marked.append(Bucket(band, len(self._rows), members.size, mark))
        self.add_all(band, members, np.array([0, members.size]))

    def add_all(self, band: int, members: I64, starts: I64) -> None:
        """Keep buckets that will be asked for in pieces."""
        if members.size:
            sizes = np.diff(starts)
            self._rows.append(members)
            self._sizes.append(np.column_stack((np.full(sizes.size, band), sizes)))

    def bands(self) -> list[int]:
        """Bands that have buckets, rising."""
        seen: set[int] = set()
        for _, sizes in self._sizes.scan(ROWS_AT_A_TIME):
            seen.update(distinct(sizes[:, 0]).tolist())
        return sorted(seen)

    def all_rows(self) -> Iterator[I64]:
        """Members of all of them, some at a time."""
        for _, rows in self._rows.scan(ROWS_AT_A_TIME):
            yield rows

    def rows(self, bucket: Bucket) -> I64:
        """Members of one of them."""
        return np.array(self._rows.slice(bucket.start, bucket.start + bucket.size))

    def pieces(self, band: int, room: int) -> Iterator[tuple[I64, I64]]:
        """Buckets of a band as (members, starts), each piece with about ``room`` members."""
        at = 0
        for _, sizes in self._sizes.scan(ROWS_AT_A_TIME):
            for part in cut(sizes[:, 1], room):
                of, size = sizes[part].T
                stop, mine = at + int(size.sum()), of == band
                if mine.any():
                    rows = self._rows.slice(at, stop)
                    yield np.array(rows[np.repeat(mine, size)]), starts_of(size[mine])
                at = stop


def pair_members(
    collection: Collection,
    members: I64,
    starts: I64,
    crowd: I32 | None,
    *,
    band: int,
    by_crowd: bool = False,
    min_matches: int | None = None,
) -> Iterator[tuple[I64, I64, int]]:
    """Yield the candidate pairs of buckets that pass the estimate filter, in pieces; see ``stages.bands.pair_up``.

    ``crowd`` is int32[n], or None if pairs inside crowds are wanted too. ``min_matches`` replaces the estimate filter
    of the spec: with 0, every candidate passes.
    """
    spec = collection.spec
    pieces = band_stage.pair_up(
        BandBuckets(np.arange(members.size), starts, []),
        collection.values.take(members),
        np.full(members.size, -1, dtype=np.int32) if crowd is None else crowd[members],
        band=band,
        rows=spec.bands.rows,
        min_matches=spec.min_matches if min_matches is None else min_matches,
        by_crowd=by_crowd,
    )
    for left, right, met in pieces:
        left, right = members[left], members[right]
        yield np.minimum(left, right), np.maximum(left, right), met


class Pending:
    """Candidate pairs as numbers of pairs times the number of tags, plus a tag: they sort by left, right, tag.

    Tag 0: the pair was counted and its signatures agree in enough slots. Tag b + 1: it was met in a bucket of band b,
    and its signatures have not been seen.
    """

    def __init__(self, collection: Collection) -> None:
        """Empty, or with the pairs that an interrupted run wrote down."""
        self._collection = collection
        self._space = space = collection.space
        self._n = len(collection)
        self._tags = collection.spec.bands.bands + 1
        # beside documents in memory there is room for half of what there is beside those in files
        self._part = 1.0 if collection.is_spooled else 0.5
        self._sorter = space.sorter("candidates", payload=None, part=0.2 * self._part)
        self._layout: Sorter | None = None
        self._lock = threading.Lock()
        self.hot: set[int] = set()
        """Bands with a hot bucket: there, pairs inside a crowd are not counted ..."""
        self.apart: Mask = np.zeros(self._n, dtype=np.bool_)
        """... nor are pairs of rows that were told apart (bool[n])."""
        self.met = 0
        """Candidates among the tagged pairs, as far as they were screened."""
        self.records = 0
        """Records that ``slabs`` passes in all, as soon as it gives the first."""

    def __len__(self) -> int:
        """Pairs at most: one that was met in several bands counts several times."""
        return len(self._sorter)

    def add(self, left: I64, right: I64, *, tag: int | I64 = 0) -> None:
        """Write pairs down, left < right; from any thread."""
        if left.size:
            packed = number_pairs(left, right, self._n) * np.uint64(self._tags) + np.asarray(tag, dtype=np.uint64)
            with self._lock:
                self._sorter.add(packed)

    def add_all(self, pieces: Iterable[tuple[I64, I64, int]]) -> int:
        """Write down the pairs of ``stages.bands.pair_up``; returns the candidates met with them."""
        total = 0
        for left, right, met in pieces:
            self.add(left, right)
            total += met
        return total

    def flush(self) -> None:
        """Let nothing be in memory only, before a checkpoint."""
        self._sorter.flush()

    def pieces(self) -> Iterator[tuple[I64, I64, I64]]:
        """Pairs and their tags, sorted; of a pair that came with several tags 0 and the smallest other."""
        for packed in self._packed_unique(pairs_at_once(self._space)):
            yield self._unpacked(packed)

    def slabs(self, *, skip: int, threads: int) -> Iterator[tuple[I64, I64, I64, int]]:
        """Pairs, each once, with their tags, and the records passed with them.

        ``skip`` records were passed before: records and not slabs, whose size follows the memory limit, and that may be
        another one when a run is resumed.
        """
        rows = pairs_at_once(self._space)
        # once they are laid out, that is the order in which records are counted
        if len(self._sorter) <= rows and not self._space.state.get("laid_out"):
            packed = np.concatenate([np.empty(0, np.uint64), *self._packed_unique(rows)])
            self.records = packed.size
            stream = iter([self._unpacked(packed)])
        else:
            stream = self._by_blocks(rows, threads)
        last = (-1, -1)
        passed = 0
        for left, right, tag in stream:
            again = np.zeros(left.size, dtype=np.bool_)
            again[1:] = (left[1:] == left[:-1]) & (right[1:] == right[:-1])
            if left.size:
                again[0] = (int(left[0]), int(right[0])) == last
                last = int(left[-1]), int(right[-1])
            fresh = slice(max(0, skip - passed), None)
            passed += left.size
            if passed > skip or left.size == 0:
                keep = ~again[fresh]
                yield left[fresh][keep], right[fresh][keep], tag[fresh][keep], passed

    def drop(self) -> None:
        """Forget the pairs."""
        self._sorter.drop()
        if self._layout is not None:
            self._layout.drop()

    def _unpacked(self, packed: U64) -> tuple[I64, I64, I64]:
        pair, tag = np.divmod(packed, np.uint64(self._tags))
        return *pairs_of(pair, self._n), tag.astype(np.int64)

    def _packed_unique(self, rows: int) -> Iterator[U64]:
        """Packed pairs, sorted; of one pair tag 0, which needs no look at signatures, and the smallest other tag."""
        last = np.empty(0, dtype=np.uint64)
        for packed, _ in self._sorter.merged(rows, unique=True):
            both = np.concatenate((last, packed))
            pair, tag = np.divmod(both, np.uint64(self._tags))
            fresh = np.ones(both.size, dtype=np.bool_)
            fresh[1:] = (pair[1:] != pair[:-1]) | (tag[:-1] == 0)
            yield both[last.size :][fresh[last.size :]]
            last = packed[-1:].copy()

    def _by_blocks(self, rows: int, threads: int) -> Iterator[tuple[I64, I64, I64]]:
        """Pairs ordered by the blocks of their documents, laid out by component: each text is wanted in one place."""
        space = self._space
        layout = space.sorter("layout", payload=np.dtype(np.uint64), part=0.15 * self._part)
        self._layout = layout
        if not space.state.get("laid_out"):
            block, blocks = self._blocks(rows, threads)
            for packed in self._packed_unique(rows):
                left, right, _ = self._unpacked(packed)
                key = block[left].astype(np.uint64) * np.uint64(blocks) + block[right].astype(np.uint64)
                layout.add(key, packed)
            del block
            if space.is_lasting:
                layout.flush()
                space.checkpoint(laid_out=True)
        self.records = len(layout)
        for _, payload in layout.merged(rows, unique=False):
            assert payload is not None
            yield self._unpacked(payload)

    def _blocks(self, rows: int, threads: int) -> tuple[I32, int]:
        """Block of documents that each row belongs to (int32[n]), and the number of blocks."""
        parent = Components(self._n)
        for packed in self._packed_unique(rows):
            left, right, _ = self._unpacked(packed)
            parent.join(left, right)
        involved, label = parent.joined()
        involved = involved[np.argsort(label, kind="stable")]
        del parent, label
        block = np.zeros(self._n, dtype=np.int32)
        size = self._space.budget.share(0.15) // (20 * threads)
        filled = 0
        for i in range(0, involved.size, 1 << 20):
            part = involved[i : i + (1 << 20)]
            ends = np.cumsum(self._collection.counts.take(part)) + filled
            block[part] = (ends // size).astype(np.int32)
            filled = int(ends[-1])
        return block, filled // size + 1

    def screen(self, values: U32, left: I64, right: I64, tag: I64, is_inside: Mask, is_apart: Mask) -> Mask:
        """Which pairs are to be checked: that agree in enough slots, met in the band of their tag. From any thread.

        ``left`` and ``right`` are rows of ``values`` (signatures); ``is_inside``: which pairs are inside a crowd,
        ``is_apart``: of which both rows were told apart.
        """
        spec = self._collection.spec
        first, same = band_stage.first_bands(values, left, right, spec.bands)
        # a pair met in a later band than the first that it agrees in was dealt with there, in a hot bucket; one that
        # agrees in none shares a short key by chance
        mine = first == tag - 1
        is_hot = np.zeros(self._tags, dtype=np.bool_)
        is_hot[list(self.hot)] = True
        mine &= ~(is_apart & is_hot[tag - 1])
        with self._lock:
            self.met += int(np.count_nonzero(mine & ~(is_inside & is_hot[tag - 1])))
        keep: Mask = mine & (same >= spec.min_matches) & ~is_inside
        return keep
