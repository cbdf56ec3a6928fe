"""The records that a run keeps of its documents apart from texts: ids, places in the input, and faults."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup import logs
from neardup.arrays import as_numpy, numbers, strings
from neardup.cutting import cut, distinct
from neardup.inputs.batches import documents_from
from neardup.kernels.hashing import fingerprint
from neardup.shown import shown_path
from neardup.spool import Column, MemoryColumn, MemoryTexts, Sorter, Texts, Workdir
from neardup.types import I32, I64, MOST_FAULTS, U64, Batch, Documents, Fault, Mask

_TEXT = pa.large_string()
_MADE, _NUMBERS, _STRINGS = range(3)
"""Kinds of ids: generated as ``source:row``, whole numbers, strings."""
_FIELDS = 7
_START, _SIZE, _SOURCE, _FIRST, _BASE, _ID_KIND, _ID_BASE = range(_FIELDS)
"""Fields of a batch: first document and number of documents; source; local row of the first; the start of its local
rows among the kept ones, -1 if they are consecutive; the fields that ``Ids`` gives."""
_PIECE = 1 << 18
"""The number of rows whose ids are held at a time; with a small one, naming keepers scans all ids more often."""
_PIECE_BYTES = 32 << 20
_DIGITS = 20
"""The largest number of bytes in a whole number."""
DEFAULT_BUDGET = 256 << 20


class Provenance:
    """Collects the names of every batch in order; saved in a workdir with the collection and restored from it."""

    def __init__(self) -> None:
        self.ids = Ids()
        self.places = self.ids.places
        self.faults: list[Fault] = []
        self.bad = 0
        self.blank = 0
        self.records: dict[str, int] = {}
        """The numbers of documents and bad records of each source."""
        self.sizes: list[int] = []
        """The number of documents in each batch that this process has read."""

    @property
    def nbytes(self) -> int:
        return self.ids.nbytes

    def enter(self, batch: Batch) -> None:
        self.ids.append(batch)
        self.sizes.append(len(batch.documents))
        self.bad += batch.bad
        self.blank += batch.blank
        self.records[batch.source] = self.records.get(batch.source, 0) + len(batch.documents) + batch.bad
        new = batch.faults[: MOST_FAULTS - len(self.faults)]
        logs.skipped(new)
        self.faults.extend(new)

    def first_of(self, rows: I64) -> int:
        """Return the copy whose id has the smallest hash, so that shuffling the input changes nothing."""
        names = self.ids.take(rows).to_pylist()
        digests = [hashlib.blake2b(str(name).encode("utf-8", "replace"), digest_size=8).digest() for name in names]
        return int(rows[min(range(len(digests)), key=lambda i: (digests[i], i))])

    def spill(self, workdir: Workdir) -> None:
        """Move the data to files and append there."""
        self.ids.spill(workdir)

    def state(self) -> dict[str, Any]:
        """Return JSON values from which, with the files, ``restore`` recreates this object."""
        faults = [[fault.source, fault.row, fault.reason] for fault in self.faults]
        counts = {"bad": self.bad, "blank": self.blank, "records": self.records}
        return {"places": self.places.state(), "faults": faults, **counts}

    def restore(self, workdir: Workdir, state: dict[str, Any]) -> None:
        """Restore the state of an interrupted run."""
        self.ids.restore(workdir, state["places"])
        self.faults = [Fault(*fault) for fault in state["faults"]]
        self.bad, self.blank = state["bad"], state["blank"]
        self.records = dict(state["records"])


class Ids:
    """Ids and places of documents in input order, appended batch by batch, in the most compact form.

    A batch without ids costs nothing but its place: such ids are made, as ``source:row``, when they are asked for.
    """

    def __init__(self) -> None:
        self.places = Places()
        self._numbers: Column = MemoryColumn(np.int64)
        self._strings: Texts = MemoryTexts()
        self._is_spilled = False
        self.longest = _DIGITS
        """The largest possible number of bytes in an id."""
        self.piece_bytes = _PIECE_BYTES
        """The most bytes of ids in a piece of ``pieces``; naming its rows takes about six times as much."""

    def __len__(self) -> int:
        return len(self.places)

    @property
    def nbytes(self) -> int:
        data = 0 if self._is_spilled else self._numbers.nbytes + self._strings.nbytes
        return data + self.places.nbytes

    def append(self, batch: Batch) -> None:
        if batch.ids is None or len(batch.documents) == 0:
            self.places.append(batch, _MADE)
            self.longest = max(self.longest, len(_head(batch.source).encode()) + _DIGITS)
        elif pa.types.is_integer(batch.ids.type):
            self.places.append(batch, _NUMBERS, len(self._numbers))
            self._numbers.append(as_numpy(batch.ids))
        else:
            self.places.append(batch, _STRINGS, len(self._strings))
            texts = documents_from(batch.ids)
            self._strings.append(texts)
            self.longest = max(self.longest, int(np.diff(texts.offsets).max()))

    def spill(self, workdir: Workdir) -> None:
        """Move the data to files and append there."""
        self.places.spill(workdir)
        numbers_, strings_ = workdir.filed("id-numbers", self._numbers), workdir.texts("id-strings")
        for first in range(0, len(self._strings), _PIECE):
            rows = np.arange(first, min(first + _PIECE, len(self._strings)))
            for documents, local, _ in self._strings.parts(rows):
                strings_.append(documents.slice(int(local[0]), int(local[-1]) + 1))
        self._numbers, self._strings, self._is_spilled = numbers_, strings_, True

    def restore(self, workdir: Workdir, places: dict[str, Any]) -> None:
        """Restore the state of an interrupted run; ``places`` is what ``state`` of the places returned."""
        self.places.restore(workdir, places)
        self._numbers, self._strings = workdir.column("id-numbers", np.int64), workdir.texts("id-strings")
        self._is_spilled = True
        for first in range(0, len(self._strings), _PIECE):
            rows = np.arange(first, min(first + _PIECE, len(self._strings)))
            self.longest = max(self.longest, int(self._strings.lengths(rows).max()))

    @property
    def type(self) -> Any:
        """int64 if every source has whole-number ids, else large_string."""
        kinds = self.places.table[:, _ID_KIND]
        return pa.int64() if kinds.size and (kinds == _NUMBERS).all() else _TEXT

    def take(self, rows: I64) -> Any:
        """Return the ids of documents at some places in the input, as an Arrow array[m] of ``type``.

        ``rows``: int64[m], 0-based, in any order, repeats allowed. The work grows with m and the number of sources, not
        with the documents.
        """
        type_ = self.type
        rows = np.asarray(rows, dtype=np.int64)
        if rows.size == 0:
            return pa.nulls(0, type_)
        if not (int(rows.min()) >= 0 and int(rows.max()) < len(self)):
            raise IndexError(f"rows must lie from 0 to {len(self) - 1}")
        kinds, inside = self._kept(rows)
        if pa.types.is_integer(type_):
            return numbers(self._numbers.take(inside))
        pieces, places = [], []
        for kind, make in ((_MADE, self._made), (_NUMBERS, self._digits), (_STRINGS, self._brought)):
            mine = np.flatnonzero(kinds == kind)
            if mine.size:
                pieces.append(make(rows[mine] if kind == _MADE else inside[mine]))
                places.append(mine)
        if len(pieces) == 1:
            return pieces[0]
        back = np.empty(rows.size, dtype=np.int64)
        back[np.concatenate(places)] = np.arange(rows.size)
        return pa.concat_arrays(pieces).take(numbers(back))

    def batches(self, escaped: Callable[[Any], Any]) -> I64 | None:
        """Return the table of batches from which ``kernels.lines`` writes ids, until the next ``append``.

        None if ids are in files, or ``escaped`` changes one. It returns the very Arrow array that needs no change.
        """
        texts, whole, local = self._strings, self._numbers, self.places.rows
        if not (isinstance(texts, MemoryTexts) and isinstance(whole, MemoryColumn) and isinstance(local, MemoryColumn)):
            return None
        start, _, source, first, base, kind, id_base = self.places.table.T
        self._heads = Documents.from_texts(list(map(_head, self.places.sources)))
        written = [*texts.blocks, *([self._heads] if (kind == _MADE).any() else [])]
        if any(escaped(cells) is not cells for cells in map(as_strings, written)):
            return None
        heads = self._heads.data.ctypes.data + self._heads.offsets
        begin, end = (np.where(kind == _MADE, heads[source + i], heads[0]) for i in (0, 1))
        given = np.where(base < 0, 0, local.array.ctypes.data + 8 * base)
        given = np.where(kind == _NUMBERS, whole.array.ctypes.data + 8 * id_base, given)
        batches = np.stack((start, np.zeros_like(start), begin, end, given, first), axis=1)
        held = [(each.offsets.ctypes.data, each.data.ctypes.data) for each in texts.blocks]
        batches[kind == _STRINGS, 1:3] = np.array(held, dtype=np.int64).reshape(-1, 2)
        return batches

    def _kept(self, rows: I64) -> tuple[I64, I64]:
        """Return the kind of each row's id, and its position among the numbers or the strings."""
        table = self.places.table
        at = np.searchsorted(table[:, _START], rows, side="right") - 1
        return table[at, _ID_KIND], rows - table[at, _START] + table[at, _ID_BASE]

    def pieces(self, *columns: I32 | I64) -> Iterator[slice]:
        """Cut columns of rows into pieces whose ids are held at a time: 262,144 rows or 32 MB of long ids, or fewer."""
        size, step = int(columns[0].size), max(1, _PIECE * self.piece_bytes // _PIECE_BYTES)
        names = np.array([len(_head(source).encode()) + _DIGITS for source in self.places.sources] or [0])
        is_long = max(self.longest, int(names.max())) * len(columns) * step > self.piece_bytes
        for first in range(0, size, step):
            end = min(first + step, size)
            if is_long and self.type is _TEXT:
                taken = np.sum([self._lengths(rows[first:end].astype(np.int64), names) for rows in columns], axis=0)
                for run in cut(taken, self.piece_bytes):
                    yield slice(first + run.start, first + run.stop)
            else:
                yield slice(first, end)

    def _lengths(self, rows: I64, names: I64) -> I64:
        """Return a bound on the bytes of each document's id; for generated ids from the length of the source's name."""
        kinds, inside = self._kept(rows)
        out = np.full(rows.size, _DIGITS, dtype=np.int64)
        if (made := kinds == _MADE).any():
            out[made] = names[self.places.locate(rows[made])[0]]
        if (brought := kinds == _STRINGS).any():
            out[brought] = self._strings.lengths(inside[brought])
        return out

    def _made(self, rows: I64) -> Any:
        source, local = self.places.locate(rows)
        used, place = np.unique(source, return_inverse=True)
        heads = strings(_head(self.places.sources[number]) for number in used.tolist()).take(numbers(place))
        return pc.binary_join_element_wise(heads, numbers(local).cast(_TEXT), strings([""])[0])

    def _digits(self, at: I64) -> Any:
        return numbers(self._numbers.take(at)).cast(_TEXT)

    def _brought(self, at: I64) -> Any:
        is_rising = bool(np.all(at[1:] > at[:-1]))
        rows, place = (at, at) if is_rising else np.unique(at, return_inverse=True)
        found = [as_strings(documents).take(numbers(local)) for documents, local, _ in self._strings.parts(rows)]
        names = found[0] if len(found) == 1 else pa.concat_arrays(found)
        return names if is_rising else names.take(numbers(place))

    def count_duplicates(self, budget: int = DEFAULT_BUDGET, workdir: Workdir | None = None) -> tuple[int, str | None]:
        """Count the documents that have the id of an earlier one, and return one such id.

        Ids made as ``source:row`` do not: a source is read once. The comparison may take ``budget`` bytes of memory.
        """
        if (self.places.table[:, _ID_KIND] == _MADE).all():
            return 0, None
        sorter = Sorter("id-hashes", payload=None, budget=budget, workdir=workdir)
        for hashes, _ in self._hashed():
            sorter.add(hashes)
        repeated = [np.empty(0, dtype=np.uint64)]
        last = repeated[0]
        for piece, _ in sorter.merged(_PIECE, unique=False):
            hashes = np.concatenate((last, piece))
            repeated.append(hashes[1:][hashes[1:] == hashes[:-1]])
            last = hashes[-1:]
        sorter.drop()
        several = distinct(np.concatenate(repeated))
        if not several.size:
            return 0, None
        # equal hashes are almost surely equal ids, and the few that have them are compared themselves
        again = [rows[_among(hashes, several)] for hashes, rows in self._hashed()]
        return repeated_among(self.take(np.concatenate(again)))

    def _hashed(self) -> Iterator[tuple[U64, I64]]:
        """Yield (uint64 hashes, rows) of the ids in the batches; equal ids have equal hashes."""
        for start, size, kind, base in self.places.table[:, [_START, _SIZE, _ID_KIND, _ID_BASE]].tolist():
            for part in self.pieces(np.arange(start, start + size)) if kind != _MADE else ():
                rows = np.arange(start + part.start, start + part.stop)
                if kind != _STRINGS:
                    yield id_hashes(self.take(rows)), rows
                    continue
                for documents, local, some in self._strings.parts(rows - start + base):
                    yield _hashes_of(documents.slice(int(local[0]), int(local[-1]) + 1)), rows[some]


class Places:
    """Sources and local rows in input order, appended batch by batch.

    Of a batch whose rows follow each other only the ends are kept. Rows are the documents' places in the run, from 0;
    local rows are the 1-based lines or rows that the readers count.
    """

    def __init__(self) -> None:
        self.sources: list[str] = []
        """The names of the sources with documents, in the order of their first documents."""
        self._known: dict[str, int] = {}
        self._batches: list[tuple[int, ...]] = []
        self._table = np.empty((0, _FIELDS), dtype=np.int64)
        self.rows: Column = MemoryColumn(np.int64)
        """The local rows of batches whose rows are not consecutive."""
        self._stored: Column | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return 350 * len(self._batches) + (self.rows.nbytes if self._stored is None else 0)

    def append(self, batch: Batch, id_kind: int = 0, id_base: int = 0) -> None:
        source = self._known.setdefault(batch.source, len(self.sources))
        if source == len(self.sources):
            self.sources.append(batch.source)
        n = len(batch.documents)
        if n == 0:
            return
        first, last = int(batch.rows[0]), int(batch.rows[-1])
        base = -1
        if last - first + 1 != n:
            base = len(self.rows)
            self.rows.append(batch.rows)
        self._batches.append((self._size, n, source, first, base, id_kind, id_base))
        self._size += n
        if self._stored is not None:
            self._stored.append(np.array(self._batches[-1:], dtype=np.int64))

    def spill(self, workdir: Workdir) -> None:
        """Move the data to files and append there."""
        self.rows = workdir.filed("place-rows", self.rows)
        self._stored = workdir.column("place-batches", np.int64, _FIELDS)
        if self._batches:
            self._stored.append(np.array(self._batches, dtype=np.int64))

    def state(self) -> dict[str, Any]:
        return {"sources": self.sources}

    def restore(self, workdir: Workdir, state: dict[str, Any]) -> None:
        """Restore the state of an interrupted run."""
        self.__init__()  # type: ignore[misc]
        self.sources = list(state["sources"])
        self._known = {name: number for number, name in enumerate(self.sources)}
        self.rows = workdir.column("place-rows", np.int64)
        self._stored = workdir.column("place-batches", np.int64, _FIELDS)
        self._batches = [tuple(entry) for _, table in self._stored.scan(1 << 12) for entry in table.tolist()]
        self._size = sum(entry[_SIZE] for entry in self._batches)

    def locate(self, rows: I64) -> tuple[I64, I64]:
        """Return the number of the source and the local row of each of ``rows``, both int64[m]."""
        table = self.table
        at = np.searchsorted(table[:, _START], rows, side="right") - 1
        inside = rows - table[at, _START]
        local = table[at, _FIRST] + inside
        base = table[at, _BASE]
        gaps = np.flatnonzero(base >= 0)
        if gaps.size:
            local[gaps] = self.rows.take(base[gaps] + inside[gaps])
        return table[at, _SOURCE], local

    def span(self, source: int) -> tuple[int, int]:
        """Return the first row of a source and the row after its last; sources are read one after another."""
        table = self.table
        mine = np.flatnonzero(table[:, _SOURCE] == source)
        if not mine.size:
            return 0, 0
        last = table[mine[-1]]
        return int(table[mine[0], _START]), int(last[_START] + last[_SIZE])

    def span_of(self, source: str) -> tuple[int, int]:
        """Return the span of a source by its name; an empty one if it has no documents."""
        return self.span(self.sources.index(source)) if source in self.sources else (0, 0)

    def first_row(self, sources: Sequence[str]) -> int:
        """Return the first row of the named sources or, if they have no documents, the number of all rows."""
        spans = map(self.span_of, sources)
        return min((first for first, end in spans if end > first), default=len(self))

    def local_rows(self, source: int) -> I64:
        """Return the local rows of all documents of a source, ascending."""
        return self.locate(np.arange(*self.span(source)))[1]

    def documents(self) -> I64:
        """int64[sources]: the number of documents of each source."""
        table = self.table
        counts = np.zeros(len(self.sources), dtype=np.int64)
        np.add.at(counts, table[:, _SOURCE], table[:, _SIZE])
        return counts

    @property
    def table(self) -> I64:
        """int64[batches, fields]: the batches with documents, in order."""
        if len(self._table) != len(self._batches):
            self._table = np.array(self._batches, dtype=np.int64).reshape(-1, _FIELDS)
        return self._table


def repeated_among(ids: Any) -> tuple[int, str | None]:
    """Count the ids that occurred before, in the order of their documents, and return the first of them."""
    codes = as_numpy(ids.dictionary_encode().indices)
    firsts = np.unique(codes, return_index=True)[1]
    if firsts.size == codes.size:
        return 0, None
    first_again = int(np.delete(np.arange(codes.size), firsts)[0])
    return int(codes.size - firsts.size), str(ids[first_again].as_py())


def _head(source: str) -> str:
    """Return the part before the row in the generated ids of a source."""
    return f"{shown_path(source)}:"


def id_hashes(ids: Any) -> U64:
    """Hash the ids in an Arrow array of int64 or large_string; uint64[n], equal for equal ids."""
    if pa.types.is_integer(ids.type):
        whole: I64 = as_numpy(ids)
        return whole.view(np.uint64)
    return _hashes_of(documents_from(ids))


def _hashes_of(texts: Documents) -> U64:
    out = np.empty((len(texts), 2), dtype=np.uint64)
    fingerprint(texts.data, texts.offsets, out)
    return out[:, 0].copy()


def _among(values: U64, rising: U64) -> Mask:
    """Return a mask of the values that occur in ``rising``, which is sorted, distinct and not empty."""
    at = np.minimum(np.searchsorted(rising, values), rising.size - 1)
    found: Mask = rising[at] == values
    return found


def ids_of(batch: Batch, *, hashed: bool = False) -> list[int | str]:
    """Return the ids of a batch one by one: its own, or ``source:row``; with ``hashed``, hashes of the texts instead.

    A row means another text next time. The same text always has the same hash.
    """
    if batch.ids is None and hashed:
        blobs = map(batch.documents.blob, range(len(batch.documents)))
        return [hashlib.blake2b(blob, digest_size=12).hexdigest() for blob in blobs]
    if batch.ids is None:
        return [f"{batch.source}:{row}" for row in batch.rows.tolist()]
    ids: list[int | str] = batch.ids.to_pylist()
    return ids


def as_strings(documents: Documents, kind: pa.DataType = _TEXT) -> Any:
    """Return an Arrow array over the documents' own memory."""
    buffers = [None, pa.py_buffer(documents.offsets), pa.py_buffer(documents.data)]
    return pa.Array.from_buffers(kind, len(documents), buffers)
