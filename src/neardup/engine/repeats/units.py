"""From documents as read to the units that are compared, and where each unit stands in the document as read.

Units are bytes, characters or words of the text, normalised or not. What repeats is found in units by ``find``;
``originals`` keeps the places.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.cutting import cut, starts_of
from neardup.engine.space import Space
from neardup.errors import InputError
from neardup.kernels import anchors, tracing, vocabulary
from neardup.kernels.normal import Characters
from neardup.params import Normalize, Shingle
from neardup.spool import MemoryColumn
from neardup.stages.characters import table_of, with_all_pages
from neardup.stages.offsets import trace
from neardup.stages.shingle import Hasher
from neardup.types import I64, SLACK, U32, Documents, Mask, frozen

NUMBER = 4
"""Bytes of a character or of the number of a word."""
VOCABULARY_SHARE = 0.3
"""Of the memory for data, what distinct words may take while texts are read."""
PLACES = 1 << 32
SLICE = 1 << 20
"""Bytes of documents whose units are made at a time; that takes some 30 bytes beside for each of them."""
BLOCK_BYTES = 120 << 20
"""Memory that a thread takes for a block of documents whose units are not their bytes: units, places, anchors."""
UNCHANGED = Normalize.parse("none")
Key = tuple[np.uint64, np.uint64, np.uint64, np.uint64]
"""Of a hash: what it starts from, and three odd numbers."""


def private_key() -> Key:
    """A key of the hashes that lead to equal windows, drawn at random: nobody can write texts that meet in them.

    The answer does not depend on it.
    """
    start, *odd = (np.uint64(secrets.randbits(64)) for _ in range(4))
    return start, odd[0] | np.uint64(1), odd[1] | np.uint64(1), odd[2] | np.uint64(1)


class Compared(NamedTuple):
    """The units of some documents."""

    documents: Documents
    """The units of each, of ``Window.unit`` bytes each."""
    places: U32 | None
    """uint32[m, 2]: where each unit begins and ends in its document as read, in bytes; None: units are its bytes."""

    @property
    def nbytes(self) -> int:
        """Bytes of both."""
        return self.documents.nbytes + (0 if self.places is None else self.places.nbytes)


@dataclass(frozen=True, slots=True)
class Window:
    """What is compared: ``span`` units, and the anchor in it."""

    span: int
    unit: int = 1
    """Bytes of a unit: 1, or NUMBER where characters or words are units."""
    gram: int = anchors.GRAM
    """Units whose hash chooses the anchor."""

    @property
    def k(self) -> int:
        """Units of an anchor: half of a window, and so many that no anchor has more windows than a number can say."""
        return max(self.gram, self.span // 2, self.span - (1 << anchors.MORE) + 2)

    @classmethod
    def of(cls, kind: str, span: int) -> Window:
        """So many units of a kind: ``byte``, ``char`` or ``word``."""
        if kind == "byte":
            return cls(span)
        return cls(span, NUMBER, 1 if kind == "word" else anchors.GRAM)


class Units:
    """Makes units of documents. Threads may share it."""

    def __init__(self, kind: str, normalize: Normalize, space: Space) -> None:
        """``kind``: ``byte``, ``char`` or ``word`` (runs of letters, marks and numbers), of the normalised text."""
        self._kind = kind
        self._normalize = None if normalize.is_form_only and normalize.form == "none" else normalize
        self._words = Vocabulary(space) if kind == "word" else None

    @property
    def nbytes(self) -> int:
        """Memory that it keeps."""
        return 0 if self._words is None else self._words.nbytes

    @property
    def are_bytes(self) -> bool:
        """Whether units are the bytes of documents as they are read."""
        return self._kind == "byte" and self._normalize is None

    def of(self, documents: Documents) -> Compared:
        """The units of a block of documents."""
        if self.are_bytes:
            return Compared(documents, None)
        if int(np.diff(documents.offsets).max(initial=0)) >= PLACES:
            raise InputError("a document has 4 GB or more, too many for min_words, min_chars or normalize. Divide it.")
        slices = list(cut(np.diff(documents.offsets), SLICE))
        if len(slices) <= 1:
            return self._made(documents)
        return _together([documents.slice(some.start, some.stop) for some in slices], self._made)

    def _made(self, documents: Documents) -> Compared:
        characters = _characters(documents, self._normalize)
        if self._kind == "byte":
            return _as_bytes(characters)
        if self._words is None:
            return _numbers(characters.codes, characters.starts, characters.ends, characters.offsets)
        firsts, ends, offsets = self._words.found(characters.codes, characters.offsets)
        numbers = self._words.number(characters.codes, firsts, ends)
        return _numbers(numbers, characters.starts[firsts], characters.ends[ends - 1], offsets)


def _together(parts: Sequence[Documents], made: Callable[[Documents], Compared]) -> Compared:
    """The units of documents, made part by part, so that what making them takes is held for one part."""
    room = 5 * sum(part.nbytes for part in parts) // 4  # what is not touched costs nothing
    data, places = MemoryColumn(np.uint8, room=room * NUMBER + SLACK), MemoryColumn(np.uint32, 2, room=room)
    ends = [np.zeros(1, dtype=np.int64)]
    for part in parts:
        documents, its_places = made(part)
        assert its_places is not None, "units that are no bytes have places"
        first, last = documents.offsets[[0, -1]].tolist()
        ends.append(documents.offsets[1:] - first + len(data))
        data.append(documents.data[first:last])
        places.append(its_places)
    data.append(np.zeros(SLACK, dtype=np.uint8))
    return Compared(Documents(data.array, np.concatenate(ends)), places.array)


class Vocabulary:
    """The distinct words that were met, each with a number of its own: exact, for their characters are compared."""

    def __init__(self, space: Space, *, key: Key | None = None) -> None:
        """``key`` decides how fast words are found; by default nobody can know it who writes the texts."""
        private = Hasher.private(Shingle("word", 1)).params
        self._space = space
        self._key = private.key if key is None else key
        self._letter_bits = private.letters
        self._lock = threading.Lock()
        self._known = 0
        self._cells: I64 = np.full(64, -1, dtype=np.int64)
        self._hashes = np.empty(32, dtype=np.uint64)
        self._begins: I64 = np.zeros(33, dtype=np.int64)
        self._letters: U32 = np.empty(256, dtype=np.uint32)

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return self._cells.nbytes + self._hashes.nbytes + self._begins.nbytes + self._letters.nbytes

    def found(self, codes: U32, offsets: I64) -> tuple[I64, I64, I64]:
        """The words of documents: the first character of each, behind its last one, and int64[n + 1] of which the
        words ``[d] : [d + 1]`` are those of document d. A word is of letters, marks and numbers.
        """
        most = (codes.size + len(offsets)) // 2 + 1
        firsts, ends = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
        of = np.empty_like(offsets)
        count = tracing.find_words(codes, offsets, self._letter_bits, firsts, ends, of)
        return firsts[:count], ends[:count], of

    def number(self, codes: U32, firsts: I64, ends: I64) -> U32:
        """uint32[m]: the number of each word ``codes[firsts[i] : ends[i]]``.

        Raises InputError where the distinct words need more memory than their share.
        """
        numbers = np.empty(firsts.size, dtype=np.uint32)
        done = 0
        with self._lock:
            while done < firsts.size:
                done, self._known = vocabulary.number_words(
                    frozen(codes),
                    firsts,
                    ends,
                    done,
                    self._key,
                    self._cells,
                    self._hashes,
                    self._begins,
                    self._letters,
                    self._known,
                    numbers,
                )
                if done < firsts.size:
                    self._grow(int(ends[done] - firsts[done]))
        return numbers

    def _grow(self, size: int) -> None:
        """Room for another word of so many characters."""
        if 2 * self._known >= self._cells.size:
            self._need(self.nbytes + self._cells.nbytes)
            hashes, begins = self._hashes, self._begins
            self._cells = np.full(2 * self._cells.size, -1, dtype=np.int64)
            self._hashes = np.empty(2 * hashes.size, dtype=np.uint64)
            self._begins = np.empty(2 * hashes.size + 1, dtype=np.int64)
            self._hashes[: self._known] = hashes[: self._known]
            self._begins[: self._known + 1] = begins[: self._known + 1]
            vocabulary.place_words(self._hashes[: self._known], self._cells)
        used = int(self._begins[self._known])
        if used + size > self._letters.size:
            room = max(used + size, self._letters.size * 3 // 2)
            self._need(self.nbytes + (room - self._letters.size) * self._letters.itemsize)
            letters = np.empty(room, dtype=np.uint32)
            letters[:used] = self._letters[:used]
            self._letters = letters

    def _need(self, size: int) -> None:
        if size > self._space.budget.share(VOCABULARY_SHARE):
            enough = self._space.limit_for(0.9 * size / VOCABULARY_SHARE)
            raise InputError(
                f"the {self._known:,} distinct words that were read so far need {size / 1e6:.0f} MB of memory, more "
                f"than the limit has for them. Raise --memory (memory=) to {enough} or more, or use min_chars."
            )


class _Characters(NamedTuple):
    """The characters of some documents, normalised, end to end."""

    codes: U32
    """uint32[m]: code points."""
    starts: U32
    """uint32[m]: where what each came from begins in its document as read, in bytes. Never falls in a document."""
    ends: U32
    """uint32[m]: where that ends."""
    offsets: I64
    """int64[n + 1]: the first character of each document."""


def _characters(documents: Documents, normalize: Normalize | None) -> _Characters:
    """Written by a kernel, but for documents of which only ``stages.offsets`` can tell what they become."""
    table = table_of(UNCHANGED if normalize is None else normalize)
    room = documents.nbytes + documents.nbytes // 4 + 4096
    codes, starts, ends = (np.empty(room, dtype=np.uint32) for _ in range(3))
    offsets = np.empty(len(documents) + 1, dtype=np.int64)
    is_asked = np.zeros(len(documents), dtype=np.bool_)

    def write(now: Characters, wanted: Mask) -> int:
        given = documents.data, documents.offsets
        return int(tracing.trace(now, *given, is_asked, wanted, codes, starts, ends, offsets))

    with_all_pages(table, write)
    asked = np.flatnonzero(is_asked).tolist()
    if normalize is None or not asked:
        size = int(offsets[-1])
        return _Characters(codes[:size], starts[:size], ends[:size], offsets)
    parts: list[tuple[U32, U32, U32]] = []
    sizes = np.diff(offsets)
    for d, behind in zip(asked, [*asked[1:], len(documents)], strict=True):
        traced = trace(documents.blob(d).decode(), normalize)
        begin, end = documents.offsets[d : d + 2].tolist()
        at = np.append(np.flatnonzero(documents.data[begin:end] & 0xC0 != 0x80), end - begin).astype(np.uint32)
        before = slice(0 if not parts else int(offsets[d]), int(offsets[d]))
        after = slice(int(offsets[d]), int(offsets[behind]))
        parts.append((codes[before], starts[before], ends[before]))
        parts.append((_codes(traced.text), at[traced.starts], at[traced.ends]))
        parts.append((codes[after], starts[after], ends[after]))
        sizes[d] = len(traced.text)
    codes, starts, ends = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return _Characters(codes, starts, ends, starts_of(sizes))


def _codes(text: str) -> U32:
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4").astype(np.uint32, copy=False)


def _numbers(numbers: U32, starts: U32, ends: U32, offsets: I64) -> Compared:
    data = np.zeros(numbers.size + SLACK // NUMBER, dtype="<u4")
    data[: numbers.size] = numbers
    places = np.empty((starts.size, 2), dtype=np.uint32)
    places[:, 0], places[:, 1] = starts, ends
    return Compared(Documents(data.view(np.uint8), offsets * NUMBER), places)


def _as_bytes(characters: _Characters) -> Compared:
    """The bytes of the characters. A byte inside a character begins where the next character does, and a byte that is
    not the last of one ends where the character before does: so what is in part in a stretch is not in its place.
    """
    codes = characters.codes
    size = codes.size + sum(int(np.count_nonzero(codes >= least)) for least in (0x80, 0x800, 0x10000))
    data, places = np.zeros(size + SLACK, dtype=np.uint8), np.empty((size, 2), dtype=np.uint32)
    offsets = np.empty_like(characters.offsets)
    tracing.write_bytes(*characters, data, places, offsets)
    return Compared(Documents(data, offsets), places)
