"""What waits between the bands and the exact check: buckets that are kept for later, and candidate pairs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME, cut, distinct, starts_of
from neardup.engine.reading.collection import Collection, words_of
from neardup.stages import bands as band_stage
from neardup.stages import screen as screen_stage
from neardup.stages.bands import BandBuckets
from neardup.stages.numbering import PairNumbers
from neardup.types import I32, I64, U64, Mask

BUDGET_NS = 500_000.0
"""What the pairs of hot buckets may cost for each document, all bands together: of those that are paired up whole, and
again of those whose documents are told apart."""


BITS_PART = 0.25
"""The share of the memory for data that the bits of all documents may take."""
BLOCK_PART = 0.1
"""The share that the bits of a block of documents may take where those of all take more; two blocks are held."""
WHOLE = 31
"""The binary logarithm of the rows of a block that has all of them."""


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
    """Candidate pairs, and the screen that says which of them are checked.

    A pair is written down once for each small bucket in which it meets. Pairs of which whole signatures were compared,
    as those of large buckets, are written down as vouched for: they are checked whatever their bits are.

    If the bits of all documents fit into the memory, pairs that disagree in too many are not written down at all. If
    not, all pairs are written, and sorted by the blocks of both documents: the bits of two blocks are enough then.
    """

    def __init__(self, collection: Collection) -> None:
        """Begin empty, or with the pairs that an interrupted run wrote down."""
        space, n = collection.space, len(collection)
        budget, words = space.budget, words_of(collection.spec)
        self.collection = collection
        low = WHOLE
        if collection.is_spooled and collection.bits.nbytes > budget.share(BITS_PART):
            low = max(1, budget.share(BLOCK_PART) // (8 * words)).bit_length() - 1
        self.block: int = space.state.get("bands", {}).get("block", low)
        """The binary logarithm of the rows of a block: that of an interrupted run, whose pairs are sorted by it."""
        self._numbers = PairNumbers(n, self.block)
        self._blocks: dict[int, U64] = {}
        # beside documents in memory there is room for half of what there is beside those in files
        self._sorter = space.sorter("candidates", payload=None, part=0.2 if collection.is_spooled else 0.1)
        self._lock = threading.Lock()
        self.repeats: int = space.state.get("repeats", 0)
        """Meetings, of those in small buckets, of pairs that passed the screen and had met before."""
        self.is_large: Mask = np.zeros(n, dtype=np.bool_)
        """bool[n]: members of large buckets. Two of them may have met in one, beside the small bucket that is known."""
        self.is_apart: Mask = np.zeros(n, dtype=np.bool_)
        """bool[n]: documents that were told apart. Each pair of two of them that may be similar is vouched for."""

    def __len__(self) -> int:
        """Pairs at most: one that was met in several bands counts several times."""
        return len(self._sorter)

    @property
    def bits(self) -> U64 | None:
        """The bits of all documents, uint64[n, words]; None where the memory has no room for them."""
        return self._bits(0) if self.block == WHOLE else None

    def add(self, left: I64, right: I64, *, is_vouched: bool = True) -> None:
        """Write pairs down, left < right; from any thread."""
        if left.size:
            records = self._numbers.of(left, right) << np.uint64(1) | np.uint64(not is_vouched)
            with self._lock:
                self._sorter.add(records)

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

    def drop(self) -> None:
        """Forget the pairs, and the bits where they are in files."""
        self._sorter.drop()
        self._blocks.clear()

    def passing(self, rows: int) -> Iterator[tuple[I64, I64]]:
        """Yield the pairs that are to be checked, each once, about ``rows`` records at a time.

        Which ones depends on neither memory nor threads. They are sorted by the blocks of both documents, then by left
        and right.
        """
        held = np.empty(0, dtype=np.uint64)
        for more, _ in self._sorter.merged(rows, unique=False):
            records = np.concatenate((held, more))
            whole = int(np.searchsorted(records, records[-1] & ~np.uint64(1)))  # the last pair may have more of them
            held = records[whole:]
            if whole:
                yield self._passing(records[:whole])
        if held.size:
            yield self._passing(held)

    def _passing(self, records: U64) -> tuple[I64, I64]:
        """Give the pairs of some records, sorted, that pass the screen or are vouched for."""
        numbers = records >> np.uint64(1)
        first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
        times = np.diff(np.append(first, numbers.size))
        numbers, keep = numbers[first], (records[first] & np.uint64(1)) == 0
        left, right = self._numbers.pairs(numbers)
        asked = ~keep & ~(self.is_apart[left] & self.is_apart[right])
        is_alone = (times == 1) & ~(self.is_large[left] & self.is_large[right])
        screen = self.collection.spec.screen
        assert screen is not None, "without bands there is nothing to screen"
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
        """Give the bits of a block, which is in memory already if it was one of the last two."""
        if block not in self._blocks:
            bits = self.collection.bits.slice(block << self.block, (block + 1) << self.block)
            self._blocks[block] = bits.reshape(-1, words_of(self.collection.spec))
        return self._blocks[block]
