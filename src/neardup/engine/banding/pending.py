"""Store the work between the bands and the exact check: buckets to pair up later, and candidate pairs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME, cut, distinct, starts_of
from neardup.engine.reading.collection import Collection
from neardup.stages import bands as band_stage
from neardup.stages import screen as screen_stage
from neardup.stages.bands import BandBuckets
from neardup.stages.numbering import PairNumbers
from neardup.types import I32, I64, U64, Mask

BUDGET_NS = 500_000.0
"""The most that pairs of hot buckets may cost for each document, over all bands: once for the buckets that are paired
up whole, and once more for the documents that are separated by rare shingles."""


BITS_PART = 0.25
"""The share of the memory for data that the bits of all documents may take."""
BLOCK_PART = 0.1
"""The share for the bits of one block of documents, if the bits of all do not fit. Two blocks are held."""
WHOLE = 31
"""The binary logarithm of the size of a block that has all rows."""


def check_ns(shingles: float) -> float:
    """Return the rough cost, in nanoseconds, of checking two documents that have ``shingles`` shingles each."""
    return 100.0 + 8.0 * shingles


@dataclass(frozen=True, slots=True)
class Bucket:
    """The position of a bucket's members in a ``Buckets`` store."""

    band: int
    start: int
    size: int
    mark: int
    """The smallest text hash of its members, which orders buckets independently of rows."""


class Buckets:
    """A store of buckets, band after band, in memory or in files."""

    def __init__(self, name: str, collection: Collection) -> None:
        """Create an empty store, or reopen the one that an interrupted run left."""
        space = collection.space
        self._collection = collection
        self._rows = space.column(f"{name}-rows", np.int64)
        self._sizes = space.column(f"{name}-sizes", np.int64, 2)
        """int64[buckets, 2]: the band and the size of each bucket."""
        self.marked = [Bucket(*each) for each in space.state.get("bands", {}).get(name, [])]
        """The buckets that were added one by one with ``add``."""

    def __len__(self) -> int:
        return len(self._sizes)

    def state(self) -> list[list[int]]:
        """Return the marked buckets as JSON values. The columns are saved by themselves."""
        return [[bucket.band, bucket.start, bucket.size, bucket.mark] for bucket in self.marked]

    def add(self, band: int, members: I64) -> None:
        """Add one bucket, which ``rows`` can return."""
        mark = min(
            int(self._collection.prints.take(members[i : i + ROWS_AT_A_TIME])[:, 0].min())
            for i in range(0, members.size, ROWS_AT_A_TIME)
        )
        self.marked.append(Bucket(band, len(self._rows), members.size, mark))
        self.add_all(band, members, np.array([0, members.size]))

    def add_all(self, band: int, members: I64, starts: I64) -> None:
        """Add several buckets, which ``pieces`` yields."""
        if members.size:
            sizes = np.diff(starts)
            self._rows.append(members)
            self._sizes.append(np.column_stack((np.full(sizes.size, band), sizes)))

    def bands(self) -> list[int]:
        """Return the bands that have buckets, sorted."""
        seen: set[int] = set()
        for _, sizes in self._sizes.scan(ROWS_AT_A_TIME):
            seen.update(distinct(sizes[:, 0]).tolist())
        return sorted(seen)

    def all_rows(self) -> Iterator[I64]:
        """Yield the members of all buckets, some at a time."""
        for _, rows in self._rows.scan(ROWS_AT_A_TIME):
            yield rows

    def rows(self, bucket: Bucket) -> I64:
        """Return the members of one bucket."""
        return np.array(self._rows.slice(bucket.start, bucket.start + bucket.size))

    def pieces(self, band: int, room: int) -> Iterator[tuple[I64, I64]]:
        """Yield the buckets of a band in pieces (members, starts) of about ``room`` members."""
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
    of the spec. With 0, every candidate pair passes.
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
    """The candidate pairs of a run, and the screen that decides which pairs are checked.

    A pair is recorded once for each small bucket in which it meets. Pairs whose whole signatures were compared, such
    as those of large buckets, are recorded as vouched for: they are checked whatever their bits are.

    If the bits of all documents fit into memory, pairs that disagree in too many fields are not recorded. Otherwise all
    pairs are recorded, sorted by the blocks of both documents, so that two blocks of bits at a time are enough.
    """

    def __init__(self, collection: Collection) -> None:
        """Begin empty, or with the pairs that an interrupted run recorded."""
        space, n = collection.space, len(collection)
        budget, words = space.budget, collection.spec.screening.words
        self.collection = collection
        low = WHOLE
        if collection.is_spooled and collection.bits.nbytes > budget.share(BITS_PART):
            low = max(1, budget.share(BLOCK_PART) // (8 * words)).bit_length() - 1
        self.block: int = space.state.get("bands", {}).get("block", low)
        """The binary logarithm of the rows in a block. A resumed run keeps it, as its pairs are sorted by block."""
        if self.block != low:
            space.need_memory(8 * words * min(n, 2 << self.block), "the bits that the interrupted run held")
        self._numbers = PairNumbers(n, self.block)
        self._blocks: dict[int, U64] = {}
        # documents held in memory leave half as much room for pairs as documents in files
        self._sorter = space.sorter("candidates", payload=None, part=0.2 if collection.is_spooled else 0.1)
        self._lock = threading.Lock()
        self.repeats: int = space.state.get("repeats", 0)
        """The number of meetings in small buckets after the first, for pairs that passed the screen."""
        self.is_large: Mask = np.zeros(n, dtype=np.bool_)
        """bool[n]: the members of large buckets. Two of them may also have met in a large bucket, without a record."""
        self.is_apart: Mask = np.zeros(n, dtype=np.bool_)
        """bool[n]: the documents separated by rare shingles. Any two of them that may be similar are vouched for."""

    def __len__(self) -> int:
        """Return the number of records. A pair that met in several bands has several records."""
        return len(self._sorter)

    @property
    def bits(self) -> U64 | None:
        """The bits of all documents, uint64[n, words], or None if they do not fit into memory."""
        return self._bits(0) if self.block == WHOLE else None

    def add(self, left: I64, right: I64, *, is_vouched: bool = True) -> None:
        """Record pairs, left < right. Any thread may call this."""
        if left.size:
            records = self._numbers.of(left, right) << np.uint64(1) | np.uint64(not is_vouched)
            with self._lock:
                self._sorter.add(records)

    def add_all(self, pieces: Iterable[tuple[I64, I64, int]]) -> int:
        """Record the pairs of ``stages.bands.pair_up``, and return the number of candidate pairs met."""
        total = 0
        for left, right, met in pieces:
            self.add(left, right)
            total += met
        return total

    def flush(self) -> None:
        """Write the records in memory to files, if there is a workdir. A checkpoint needs this first."""
        self._sorter.flush()

    def drop(self) -> None:
        """Delete the records, and release the bits that were loaded."""
        self._sorter.drop()
        self._blocks.clear()
        self.collection.drop_bits()

    def passing(self, rows: int) -> Iterator[tuple[I64, I64]]:
        """Yield the pairs to check, each once, about ``rows`` records at a time.

        The choice of pairs depends on neither memory nor threads. They are sorted by the blocks of both documents, then
        by left and right.
        """
        held = np.empty(0, dtype=np.uint64)
        for more, _ in self._sorter.merged(rows, unique=False):
            records = np.concatenate((held, more))
            whole = int(np.searchsorted(records, records[-1] & ~np.uint64(1)))  # the last pair may continue
            held = records[whole:]
            if whole:
                yield self._passing(records[:whole])
        if held.size:
            yield self._passing(held)

    def _passing(self, records: U64) -> tuple[I64, I64]:
        """Return the pairs of sorted ``records`` that pass the screen or are vouched for."""
        numbers = records >> np.uint64(1)
        first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
        times = np.diff(np.append(first, numbers.size))
        numbers, keep = numbers[first], (records[first] & np.uint64(1)) == 0
        left, right = self._numbers.pairs(numbers)
        asked = ~keep & ~(self.is_apart[left] & self.is_apart[right])
        is_alone = (times == 1) & ~(self.is_large[left] & self.is_large[right])
        screen = self.collection.spec.screening
        of_left, of_right = self._numbers.blocks(numbers)
        cuts = np.flatnonzero((of_left[1:] != of_left[:-1]) | (of_right[1:] != of_right[:-1])) + 1
        for part in map(slice, [0, *cuts.tolist()], [*cuts.tolist(), numbers.size]):
            some = part.start + np.flatnonzero(asked[part])
            if some.size:
                a, b = int(of_left[part.start]), int(of_right[part.start])
                self._blocks = {each: self._bits(each) for each in (a, b)}
                at = left[some] - (a << self.block), right[some] - (b << self.block)
                keep[some] = screen_stage.passes(
                    *(self._blocks[a], at[0], self._blocks[b], at[1]), screen, is_alone[some]
                )
        self.repeats += int((times[asked & keep] - 1).sum())
        return left[keep], right[keep]

    def _bits(self, block: int) -> U64:
        """Return the bits of a block. The last two blocks are still in memory."""
        if block not in self._blocks:
            bits = self.collection.bits.slice(block << self.block, (block + 1) << self.block)
            self._blocks[block] = bits.reshape(-1, self.collection.spec.screening.words)
        return self._blocks[block]
