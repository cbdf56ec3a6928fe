"""Shingle hashes of one document, chunk by chunk, straight from its bytes.

The hash of a shingle is a keyed 64-bit hash of its bytes. Windows are hashed independently (two overlapping 8-byte
loads, multiply and fold): a rolling hash waits for its own last result and is 2-3 times slower. Shingles of one length
of up to eight bytes are mapped one to one. Of other shingles, as they occur, two share a hash with probability 2**-64.

A key is four numbers: (start, three odd multipliers). A sketch needs a key that is the same tomorrow, so it takes the
public multipliers below and only its start is seeded; whoever knows the seed can then solve for shingles that share a
hash, and there are pairs that do for half of all seeds. The exact check has no such need: its key is drawn at random
by each run, multipliers too, after the texts were written (``stages.shingle.Hasher.private``).

``fill`` is the one entry: it writes the next chunk of hashes of a document and remembers where it stands, so that a
document of any size needs one chunk of scratch. Its callers loop until it writes none, with the call in the body: numba
cannot type an assignment in a condition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._bits import load64
from neardup.kernels._jit import inlined, kernel, part, record
from neardup.kernels.stored import ALL, M2, S29, S32, lanes, mix

BYTE, CHAR, WORD, ITEM = 0, 1, 2, 3
CHUNK = 2048
"""Hashes a chunk: 16 KB, half of L1."""
SHORT = -1

ONE, S63 = np.uint64(1), np.uint64(63)
HIGH = np.uint64(0x8080808080808080)
SEPARATOR = 0xFF


class HashParams(NamedTuple):
    """What shingles are and how they are hashed."""

    kind: int
    """BYTE, CHAR, WORD or ITEM."""
    k: int
    """Tokens in a shingle."""
    key: tuple[np.uint64, np.uint64, np.uint64, np.uint64]
    """Start and three odd multipliers."""
    letters: Any
    """uint8: a bit for each code point that words are made of; any array where the kind is another one."""


HASH_PARAMS = record(HashParams, "int64, int64, UniTuple(uint64, 4), uint8[::1]")


class Cursor(NamedTuple):
    """Where in a document ``fill`` stands, and the chunk of hashes that it has written."""

    state: Any
    """int64[4]: position, end of the window, words carried over (SHORT: the text is its one shingle), stage."""
    words: Any
    """uint64: hashes of single words."""
    hashes: Any
    """uint64: those of shingles."""


@inlined
def _start(key, length):
    return key[0] ^ (np.uint64(length) * key[2])


@inlined
def _hash_short(word, start, first_by):
    """At most eight bytes, already masked; one to one."""
    return mix((word ^ start) * first_by)


@inlined
def _hash_two(first, last, start, first_by, last_by):
    """Nine to sixteen bytes as two overlapping words.

    The shift differs from the first one of ``mix``: two equal shifts by half a word would undo each other.
    """
    x = (first ^ start) * first_by
    return mix((x ^ (x >> S29)) + last * last_by)


@part
def hash_bytes(data, begin, length, key):
    """Hash ``length`` >= 1 bytes; loads up to eight bytes past them."""
    start = _start(key, length)
    if length <= 8:
        return _hash_short(load64(data, begin) & (ALL >> np.uint64(64 - 8 * length)), start, key[1])
    if length <= 16:
        return _hash_two(load64(data, begin), load64(data, begin + length - 8), start, key[1], key[3])
    x = start
    position = begin
    while position + 8 < begin + length - 8:
        x = (x ^ load64(data, position)) * key[1]
        x ^= x >> S32
        position += 8
    return _hash_two(load64(data, position) ^ x, load64(data, begin + length - 8), start, key[1], key[3])


@inlined
def _cut(low, high, shift):
    """Eight bytes of the sixteen in (low, high), from bit ``shift`` < 64 on."""
    return (low >> shift) | ((high << ONE) << (S63 - shift))


@part
def _windows(data, begin, count, k, key, out):
    """Hash ``count`` windows of k bytes that begin at successive bytes.

    Eight windows are cut from four loads by shifts, which LLVM turns into vectors; eight loads of their own would
    become a gather, which takes twice as long.
    """
    start, first_by, last_by = _start(key, k), key[1], key[3]
    whole = count & ~7
    if k <= 8:
        mask = ALL >> np.uint64(64 - 8 * k)
        for i in range(0, whole, 8):
            low, high = load64(data, begin + i), load64(data, begin + i + 8)
            for j in range(8):
                out[i + j] = _hash_short(_cut(low, high, np.uint64(8 * j)) & mask, start, first_by)
        for i in range(whole, count):
            out[i] = _hash_short(load64(data, begin + i) & mask, start, first_by)
    elif k <= 16:
        tail = begin + k - 8
        for i in range(0, whole, 8):
            low, high = load64(data, begin + i), load64(data, begin + i + 8)
            last_low, last_high = load64(data, tail + i), load64(data, tail + i + 8)
            for j in range(8):
                shift = np.uint64(8 * j)
                out[i + j] = _hash_two(
                    _cut(low, high, shift), _cut(last_low, last_high, shift), start, first_by, last_by
                )
        for i in range(whole, count):
            out[i] = _hash_two(load64(data, begin + i), load64(data, tail + i), start, first_by, last_by)
    else:
        for i in range(count):
            out[i] = hash_bytes(data, begin + i, k, key)


@inlined
def _next(data, position, stop):
    """Where the code point after the one at ``position`` begins; one byte at least, never past ``stop``."""
    position += 1
    while position < stop and (data[position] & 0xC0) == 0x80:
        position += 1
    return position


@part
def _ascii_run(data, position, stop, most):
    """Length of the run of ASCII bytes at ``position``, at most ``most``."""
    end = min(stop, position + most)
    at = position
    while at + 32 <= end:
        if (load64(data, at) | load64(data, at + 8) | load64(data, at + 16) | load64(data, at + 24)) & HIGH:
            break
        at += 32
    while at < end and data[at] < 0x80:
        at += 1
    if position < at < stop and data[at] & 0xC0 == 0x80:
        at -= 1  # a stray continuation byte belongs to the character before it
    return at - position


@part
def _fill_bytes(data, stop, k, key, state, out):
    begin = state[0]
    if state[3] == 0:
        state[3] = 1
        length = stop - begin
        if length < k:
            state[0] = stop
            if length == 0:
                return 0
            state[2] = SHORT
            out[0] = hash_bytes(data, begin, length, key)
            return 1
    count = min(stop - begin - k + 1, out.size)
    if count <= 0:
        return 0
    _windows(data, begin, count, k, key, out)
    state[0] = begin + count
    return count


@part
def _fill_chars(data, stop, k, key, state, out):
    """Windows of k code points. ASCII runs take the byte path; the test is a run's, not a document's.

    Between calls [state[0], state[1]) is the next window; state[3] is 0 before the first and 2 after the last.
    """
    begin, end = state[0], state[1]
    if state[3] == 2:
        return 0
    if state[3] == 0:
        state[3] = 1
        end = begin
        tokens = 0
        while tokens < k and end < stop:
            end = _next(data, end, stop)
            tokens += 1
        if tokens < k:
            state[3] = 2
            if tokens == 0:
                return 0
            state[2] = SHORT
            out[0] = hash_bytes(data, begin, stop - begin, key)
            return 1
    n = 0
    while n < out.size:
        run = _ascii_run(data, begin, stop, out.size - n + k) if end - begin == k else 0
        if run >= k:
            count = min(run - k + 1, out.size - n)
            _windows(data, begin, count, k, key, out[n:])
            n += count
            begin += count
            end = begin - 1 + k
        else:
            out[n] = hash_bytes(data, begin, end - begin, key)
            n += 1
            begin = _next(data, begin, stop)
        if end >= stop:
            state[3] = 2
            break
        end = _next(data, end, stop)
    state[0], state[1] = begin, end
    return n


@inlined
def _code_point(data, position, stop):
    """Code point at ``position`` of valid UTF-8; bytes past ``stop`` read as zero."""
    lead = np.int64(data[position])
    if lead < 0x80:
        return lead
    size = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    value = lead & (0x7F >> size)
    for i in range(1, size):
        byte = np.int64(data[position + i]) if position + i < stop else 0
        value = (value << 6) | (byte & 0x3F)
    return min(value, 0x10FFFF)


@inlined
def _in_word(data, position, stop, letters):
    """Whether the code point at ``position`` is a letter, a mark or a number: one bit of ``letters`` each."""
    value = _code_point(data, position, stop)
    return (letters[value >> 3] >> (value & 7)) & 1


@inlined
def _join(words, begin, count, key):
    """Hash of ``count`` word hashes in order."""
    x = _start(key, count) ^ key[3]
    for j in range(count):
        x = (x ^ words[begin + j]) * key[1]
        x ^= x >> S32
    return mix(x)


@part
def _fill_words(data, stop, k, key, letters, words, state, out):
    """Windows of k words. ``words`` carries the last k - 1 word hashes from chunk to chunk (state[2] of them)."""
    if state[3] == 2:
        return 0
    first = state[3] == 0
    origin = position = state[0]
    held = state[2]
    room = min(words.size, out.size + k - 1)
    while held < room:
        while position < stop and not _in_word(data, position, stop, letters):
            position = _next(data, position, stop)
        begin = position
        while position < stop and _in_word(data, position, stop, letters):
            position = _next(data, position, stop)
        if position == begin:
            break
        words[held] = hash_bytes(data, begin, position - begin, key)
        held += 1
    state[3] = 1 if held == room else 2
    state[0] = position
    if first and held < k:
        state[3] = 2
        state[2] = SHORT
        if held > 0:
            out[0] = _join(words, 0, held, key)
            return 1
        if stop > origin:
            out[0] = hash_bytes(data, origin, stop - origin, key)
            return 1
        return 0
    count = held - k + 1
    for i in range(count):
        out[i] = _join(words, i, k, key)
    for j in range(k - 1):
        words[j] = words[count + j]
    state[2] = k - 1
    return count


@part
def _fill_items(data, stop, key, state, out):
    """One hash an item; items are separated by the byte 0xFF, which UTF-8 never has. Empty items are none."""
    position = state[0]
    n = 0
    while n < out.size and position < stop:
        begin = position
        while position < stop and data[position] != SEPARATOR:
            position += 1
        if position > begin:
            out[n] = hash_bytes(data, begin, position - begin, key)
            n += 1
        position += 1
    state[0] = position
    return n


@part
def new_cursor(params, chunk):
    """A cursor with room for ``chunk`` hashes at a time."""
    return Cursor(np.empty(4, np.int64), np.empty(chunk + params.k, np.uint64), np.empty(chunk, np.uint64))


@part
def rewind(cursor, begin):
    """Put the cursor before the document that begins at ``begin``."""
    state = cursor.state
    state[0], state[1], state[2], state[3] = begin, begin, 0, 0


@part
def fill(params, data, stop, cursor):
    """Write the next shingle hashes of a document, which ends at ``stop``, to the cursor; return how many.

    0 when there are no more. Repeated shingles are repeated.
    """
    kind, k, key, letters = params
    state, words, out = cursor
    if kind == BYTE:
        return _fill_bytes(data, stop, k, key, state, out)
    if kind == CHAR:
        return _fill_chars(data, stop, k, key, state, out)
    if kind == WORD:
        return _fill_words(data, stop, k, key, letters, words, state, out)
    return _fill_items(data, stop, key, state, out)


@part
def is_short(params, cursor):
    """Whether a document that was read to its end is its one shingle, for it has fewer than k tokens."""
    return cursor.state[2] == SHORT and params.kind != ITEM


@inlined
def table_bits(entries):
    """Binary logarithm of the cells of a hash table that so many entries fill by half at most."""
    bits = 4
    while (1 << bits) < 2 * entries:
        bits += 1
    return bits


@kernel("read(uint8[::1]), read(int64[::1]), uint64[:, ::1]")
def fingerprint(data, offsets, out):
    """128 bits of each document's bytes into ``out[n, 2]``; about 5 GB/s.

    Equal texts have equal prints. Different ones may share theirs: it is not keyed, and texts that differ in three
    well chosen characters do in one case of five. So it orders texts and says which of them to compare, no more.
    """
    for d in range(offsets.size - 1):
        x, y = lanes(data, offsets[d], offsets[d + 1])
        out[d, 0] = mix(x + (y >> S29))
        out[d, 1] = mix(y ^ (x * M2))
