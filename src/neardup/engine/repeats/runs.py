"""Every run of lines, sentences or paragraphs that stands at two or more places, as segments in the order of the text.

Units are numbered: two have one number exactly when their texts are the same. A hash brings those together that may be,
and their texts are compared. Runs of two units are then pairs of numbers, which are numbered themselves, and so on up
to the length that is asked for (Karp, Miller and Rosenberg, STOC 1972): no hash decides there either. What outgrows
the memory goes to files, by parts of the keys and by parts of the collection that end where a document does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from neardup.cutting import cut, distinct
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import RowNames
from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.find import Repeats
from neardup.engine.repeats.grouping import PARTS
from neardup.engine.repeats.lasting import GROUPED, WALKED, keep_read, restore_read, stage_of
from neardup.engine.repeats.read_units import UNITS_SHARE, ReadUnits, WholeUnits, by_part, read_units
from neardup.engine.repeats.units import NUMBER, Key, Window, private_key
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.kernels.anchors import MORE
from neardup.kernels.equal import equal_bytes
from neardup.spool.partitions import Partitions
from neardup.types import I64, U64, Batch, Documents, Mask

REPEATED_SHARE, GROUP_SHARE, TEXTS_SHARE = 0.1, 0.2, 0.05
"""Of the memory for data: units that are repeated, what is grouped now, and the texts that are compared at a time."""
ROW_BYTES, CHOSEN_BYTES = 120, 300
"""Memory for each unit that is grouped, and where only some runs count."""
MOST_ROWS = 1 << 20
CHUNK = 1 << 20
"""Units of documents whose runs are looked at together."""
MOST_CHUNKS = 4096
MIX = np.uint64(0x9E3779B97F4A7C15)
_NO_LOOPS: I64 = np.empty((0, 3), dtype=np.int64)
S32, LOW32 = np.uint64(32), np.uint64(0xFFFFFFFF)


def find_runs(
    tasks: Iterator[Callable[[], Batch]],
    units: WholeUnits,
    span: int,
    *,
    total_bytes: int | None,
    threads: int,
    names: RowNames,
    observer: Observer,
    space: Space,
    key: Key | None = None,
    choose: Callable[[int], Choice] = Choice.all_of,
) -> Repeats:
    """Read all batches and find every run of ``span`` units that stands at two or more places, or those that ``choose``
    chooses.

    As ``find_repeats``, with units in place of bytes. The answer is the same for any threads and any limit of memory;
    ``key`` decides how fast it is found. An interrupted run goes on when all runs were found, not before.

    Memory: the texts, 12 bytes for each unit, 16 for each that is compared and 24 for each that is repeated; what
    outgrows the budget goes to files. The places of one unit are counted together, ROW_BYTES each: InputError, with the
    limit that would do, where they are too many. CHOSEN_BYTES are those of a place where only some runs count.
    """
    key = private_key() if key is None else key
    read = ReadUnits.none(units, space)
    if (stage := stage_of(space)) is not None:
        restore_read(read.numbers, read.originals, names, space)
        pieces = _no_pieces(read.numbers.offsets, space)
        if stage != WALKED:
            pieces.restore()
        return _repeats(read, pieces, span, choose(read.numbers.offsets.size - 1))
    if space.is_lasting:
        read.spill()
        names.spill(space.scratch())
    how: dict[str, Any] = {"total_bytes": total_bytes, "threads": threads, "names": names, "observer": observer}
    read_units(tasks, read, key=key, space=space, **how)
    choice = choose(read.offsets.size - 1)
    pieces = _Numbering(read, threads, space, choice).pieces(span)
    if space.is_lasting:
        keep_read(read.numbers, read.originals, pieces, _NO_LOOPS, key, names, space)  # the pieces, in place of anchors
        space.checkpoint(repeats=GROUPED)
    return _repeats(read, pieces, span, choice)


def no_runs(read: ReadUnits, space: Space) -> Repeats:
    """The units as they were read, of which nothing is known to be repeated."""
    read.hashes.drop()
    pieces, every = _no_pieces(read.offsets, space), Choice.all_of(read.offsets.size - 1)
    _Numbering(read, 1, space, every).write(pieces)
    return _repeats(read, pieces, 1, every)


def _repeats(read: ReadUnits, pieces: Partitions, span: int, choice: Choice) -> Repeats:
    return Repeats(read.numbers, read.originals, Window(span, NUMBER, 1), _NO_LOOPS, pieces, choice)


def _no_pieces(offsets: I64, space: Space) -> Partitions:
    parts = max(1, _chunks_of(offsets).size - 1)
    return space.partitions("pieces", width=4, parts=parts, share=REPEATED_SHARE)


def _chunks_of(offsets: I64) -> I64:
    """The first document of each part of the collection whose runs are looked at together, and behind the last one."""
    units = int(offsets[-1])
    chunk = max(CHUNK, -(-units // MOST_CHUNKS))
    cuts = np.searchsorted(offsets, np.arange(0, units, chunk), side="right") - 1
    return np.unique(np.concatenate(([0], cuts, [offsets.size - 1])))


class _Numbering:
    """Numbers of units, of pairs of these, and so on. The number of a run is the place where it stands first."""

    def __init__(self, read: ReadUnits, threads: int, space: Space, choice: Choice) -> None:
        """Nothing is numbered yet."""
        self._read = read
        self._choice = None if choice.is_all_of(read.offsets.size - 1) else choice
        self._row_bytes = ROW_BYTES if self._choice is None else CHOSEN_BYTES
        self._offsets = read.offsets
        self._threads = threads
        self._space = space
        self._cuts = _chunks_of(read.offsets)
        self._bounds = read.offsets[self._cuts]
        """Their first units."""

    def pieces(self, span: int) -> Partitions:
        """The runs of ``span`` units as ``kernels.segments`` walks them: one piece for each that counts."""
        repeated, counted = self._numbered(self._read.hashes, 1, is_last=span == 1)
        self.write(repeated)
        length = 1
        while length < span:
            step = min(length, span - length)
            longer = self._longer(repeated, step, length + step)
            repeated.drop()
            length += step
            repeated, counted = self._numbered(longer, length, is_last=length == span)
        pieces = self._pieces(counted)
        for each in (repeated, counted):
            each.drop()
        self._space.release_memory()
        return pieces

    def _chunks(self, repeated: Partitions) -> Iterator[tuple[int, U64]]:
        """Of each chunk what is repeated, by place."""
        for chunk in range(repeated.parts):
            rows = repeated.take(chunk, chunk + 1)
            yield chunk, rows[np.argsort(rows[:, 0])]

    def _numbered(self, keyed: Partitions, length: int, *, is_last: bool) -> tuple[Partitions, Partitions]:
        """Of the runs of a length those that stand at two or more places: place, number, and count and documents.

        And the same of those that count, which are others where ``is_last`` and not all do: the number is then the
        first place of the run as ``choice`` has it. ``keyed`` has keys and places of the runs, and is forgotten then.
        Keys of single units are hashes, others are equal only where the runs are.
        """
        share = self._space.budget.share
        parts = max(1, self._bounds.size - 1)
        repeated = self._space.partitions(f"repeated-{length}", width=3, parts=parts, share=REPEATED_SHARE)
        choice = self._choice if is_last else None
        counted = repeated
        if choice is not None:
            counted = self._space.partitions(f"counted-{length}", width=3, parts=parts, share=REPEATED_SHARE)
        most = max(1024, min(MOST_ROWS, share(GROUP_SHARE) // ((self._threads + 2) * self._row_bytes)))

        def work(task: tuple[int, int, int, int]) -> list[tuple[Partitions, U64]]:
            first, stop, mask, wanted = task
            rows = keyed.take(first, stop) if not mask else _some(keyed.scan(first, most), mask, wanted)
            if rows.shape[0] > most:  # of so many most are one unit
                what = f"{rows.shape[0]:,} places of one {self._read.units.unit}, which are counted together,"
                self._space.need_memory(rows.shape[0] * self._row_bytes, what)
            places, first_places = _grouped(rows)
            if length == 1:
                places, first_places = self._verified(places, first_places)
            found = []
            if choice is None or length == 1:  # single units are numbered by all their places, whichever count
                found.append((repeated, self._counted(places, first_places)))
            if choice is not None:
                found.append((counted, self._chosen(places, first_places, choice)))
            return found

        for found in in_order(work, _tasks(keyed.sizes, most), threads=self._threads, ahead=self._threads + 1):
            for to, rows in found:
                rows = rows[np.argsort(rows[:, 0])]
                to.add(rows, np.searchsorted(rows[:, 0], self._bounds.astype(np.uint64)))
        keyed.drop()
        return repeated, counted

    def _counted(self, places: I64, first: I64) -> U64:
        """uint64[n, 3]: place, number, and places and documents of each run, from groups that lie end to end."""
        if not places.size:
            return np.empty((0, 3), dtype=np.uint64)
        is_head = np.append(True, first[1:] != first[:-1])
        heads = np.flatnonzero(is_head)
        sizes = np.diff(np.append(heads, places.size))
        document = np.searchsorted(self._offsets, places, side="right")
        is_new = is_head | np.append(True, document[1:] != document[:-1])
        documents = np.add.reduceat(is_new.astype(np.int64), heads)
        both = (sizes.astype(np.uint64) << S32) | documents.astype(np.uint64)
        return np.stack((places.astype(np.uint64), first.astype(np.uint64), np.repeat(both, sizes)), axis=1)

    def _chosen(self, places: I64, first: I64, choice: Choice) -> U64:
        """As ``_counted``, of the runs that count."""
        heads = np.flatnonzero(np.append(True, first[1:] != first[:-1])[: first.size])
        documents = np.searchsorted(self._offsets, places, side="right") - 1
        found = choice.counted_runs(places, np.append(heads, places.size), documents)
        place, source, count, holding = (column.astype(np.uint64) for column in found)
        return np.stack((place, source, count << S32 | holding), axis=1)

    def _verified(self, places: I64, first: I64) -> tuple[I64, I64]:
        """The groups without those whose texts differ though their hashes do not: these are grouped by their texts."""
        later = np.flatnonzero(places != first)
        differs = np.zeros(places.size, dtype=np.bool_)
        sizes = self._read.sizes(places[later]) + self._read.sizes(first[later])
        for part in cut(sizes, max(1 << 20, self._space.budget.share(TEXTS_SHARE) // self._threads)):
            rows = later[part]
            differs[rows] = ~self._are_equal(places[rows], first[rows])
        if not differs.any():
            return places, first
        is_mixed = np.isin(first, first[differs])
        numbers: dict[bytes, int] = {}
        mixed = np.flatnonzero(is_mixed)
        for row in mixed[np.argsort(places[mixed])].tolist():
            text = self._read.texts(places[row : row + 1]).blob(0)
            first[row] = numbers.setdefault(text, int(places[row]))
        order = np.lexsort((places, first))
        places, first = places[order], first[order]
        same = first[1:] == first[:-1]
        is_repeated = np.append(same, False) | np.append(False, same)
        return places[is_repeated], first[is_repeated]

    def _are_equal(self, left: I64, right: I64) -> Mask:
        """Whether the texts of units are the same, pair by pair."""
        wanted = distinct(np.concatenate((left, right)))
        texts = self._read.texts(wanted)
        a, b = np.searchsorted(wanted, left), np.searchsorted(wanted, right)
        sizes = np.diff(texts.offsets)
        at = texts.data.ctypes.data + texts.offsets
        found = np.empty(left.size, dtype=np.bool_)
        equal_bytes(at[a], at[b], np.minimum(sizes[a], sizes[b]), found)
        found &= sizes[a] == sizes[b]
        return found

    def write(self, repeated: Partitions) -> None:
        """Have the numbers of all units, document by document; one that is not repeated has its own."""
        numbers = self._read.numbers
        for chunk, rows in self._chunks(repeated):
            documents = self._offsets[self._cuts[chunk] : self._cuts[min(chunk + 1, self._cuts.size - 1)] + 1]
            begin = int(documents[0])
            ids = np.arange(begin, int(documents[-1]), dtype="<u4")
            ids[rows[:, 0].astype(np.int64) - begin] = rows[:, 1]
            numbers.append(Documents.with_slack(ids.view(np.uint8), (documents - begin) * NUMBER))
        numbers.settle()

    def _longer(self, repeated: Partitions, step: int, length: int) -> Partitions:
        """Keys and places of the runs of a ``length`` of which both the part that begins at their first unit and the
        one ``step`` units behind are repeated."""
        keyed = self._space.partitions(f"runs-{length}", width=2, parts=PARTS, share=UNITS_SHARE)
        for _, rows in self._chunks(repeated):
            places, number = rows[:, 0].astype(np.int64), rows[:, 1]
            behind = np.minimum(np.searchsorted(places, places + step), max(places.size - 1, 0))
            document = np.searchsorted(self._offsets, places, side="right")
            both = np.flatnonzero((places[behind] == places + step) & (document[behind] == document))
            keys = ((number[both] << S32) | number[behind[both]]) * MIX
            keyed.add(*by_part(keys, places[both]))
        return keyed

    def _pieces(self, repeated: Partitions) -> Partitions:
        pieces = self._space.partitions("pieces", width=4, parts=repeated.parts, share=REPEATED_SHARE)
        for chunk, rows in self._chunks(repeated):
            count, documents = rows[:, 2] >> S32, rows[:, 2] & LOW32
            place = rows[:, 0] << np.uint64(MORE)
            starts = np.zeros(repeated.parts + 1, dtype=np.int64)
            starts[chunk + 1 :] = rows.shape[0]
            pieces.add(np.stack((place, rows[:, 1], count << S32 | count, documents), axis=1), starts)
        return pieces


def _some(blocks: Iterator[U64], mask: int, wanted: int) -> U64:
    """The rows whose first number is ``wanted`` under a mask."""
    found = [rows[rows[:, 0] & np.uint64(mask) == np.uint64(wanted)] for rows in blocks]
    return np.concatenate(found) if found else np.empty((0, 2), dtype=np.uint64)


def _grouped(rows: U64) -> tuple[I64, I64]:
    """Places of keys that are there twice or more, those of one key together; and the first of each key.

    ``rows`` are keys and places; those of one key are rising, and stay so.
    """
    order = np.argsort(rows[:, 0], kind="stable")
    keys = rows[order, 0]
    same = keys[1:] == keys[:-1]
    is_repeated = np.append(same, False) | np.append(False, same)
    if not rows.shape[0] or not is_repeated.any():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    is_head = np.append(True, ~same)[is_repeated]
    places = rows[order[is_repeated], 1].astype(np.int64)
    heads = np.flatnonzero(is_head)
    return places, places[heads[np.cumsum(is_head) - 1]]


def _tasks(sizes: I64, most: int) -> Iterator[tuple[int, int, int, int]]:
    """Parts to be grouped together, and of a part with more than ``most`` rows the keys to be grouped at a time."""
    for run in cut(sizes, most):
        first, stop = run.start, run.stop
        passes = 1
        while stop - first == 1 and sizes[first] > most * passes and passes < 1 << 12:
            passes *= 2
        for wanted in range(passes):
            yield first, stop, passes - 1, wanted
