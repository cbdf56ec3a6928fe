"""Shingle hashes of one document, chunk by chunk, straight from its bytes.

The hash of a shingle is a keyed 64-bit hash of its bytes. Windows are hashed independently (two overlapping 8-byte
loads, multiply and fold): a rolling hash waits for its own last result and is 2-3 times slower. Shingles of one length
of up to eight bytes are mapped one to one. Of other shingles, as they occur, two share a hash with probability 2**-64.

A key is four numbers: (start, three odd multipliers). A sketch needs a key that is the same tomorrow, so it takes the
public multipliers below and only its start is seeded; whoever knows the seed can then solve for shingles that share a
hash, and there are pairs that do for half of all seeds. The exact check has no such need: its key is drawn at random
by each run, multipliers too, after the texts were written (``stages.shingle.Hasher.private``).

``fill`` is the one entry: it writes the next chunk of hashes of a document and remembers where it stands, so that a
document of any size needs one chunk of scratch. Its callers loop until it writes none or, to ask once less, fewer than
fit, with the call in the body: Numba cannot type an assignment in a condition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._bits import bits_between, cttz64, load64, ones64, windows64
from neardup.kernels.stored import ALL, M2, S29, S32, lanes, mix
from neardup.native.declare import inlined, kernel, maker, part, record

BYTE, CHAR, WORD, ITEM = 0, 1, 2, 3
CHUNK = 2048
"""Hashes a chunk: 16 KB, half of L1."""
SHORT = -1
SPARE = 72
"""Places for more characters than are wanted: they are marked 64 bytes at a time."""
PLAIN = 24
"""Windows in a run of ASCII that is hashed apart from the text around it."""

ONE, S2, S4, S63 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(63)
S8, S16, S24 = np.uint64(8), np.uint64(16), np.uint64(24)
BYTE0, LOW6 = np.uint64(0xFF), np.uint64(0x3F)
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
    """uint64: hashes of single words, or where characters begin."""
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


@inlined
def _fold(x, word, key):
    """Eight bytes of more than sixteen."""
    x = (x ^ word) * key[1]
    return x ^ (x >> S32)


@inlined
def _hash_word(data, begin, length, key):
    """``hash_bytes`` of at most sixteen bytes without a branch: the lengths of words are not to be guessed."""
    start = _start(key, length)
    x = (load64(data, begin) & (ALL >> np.uint64(max(0, 64 - 8 * length))) ^ start) * key[1]
    longer = (x ^ (x >> S29)) + load64(data, begin + max(length, 8) - 8) * key[3]
    return mix(longer if length > 8 else x)


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
        x = _fold(x, load64(data, position), key)
        position += 8
    return _hash_two(load64(data, position) ^ x, load64(data, begin + length - 8), start, key[1], key[3])


@inlined
def _cut(low, high, shift):
    """Eight bytes of the sixteen in (low, high), from bit ``shift`` < 64 on."""
    return (low >> shift) | ((high << ONE) << (S63 - shift))


@part
def _long_windows(data, begin, count, k, key, words, out):
    """The same for more than sixteen bytes: all words of eight go to ``words``, and windows advance together."""
    start, last = _start(key, k), k - 8
    for i in range(0, count + last, 8):
        windows64(data, begin + i, words, i)
    some, end, inner = np.uint64(count), np.uint64(last), np.uint64((last - 1) // 8 * 8)
    for i in range(some):
        out[i] = _fold(start, words[i], key)
    for j in range(np.uint64(8), inner, np.uint64(8)):
        for i in range(some):
            out[i] = _fold(out[i], words[i + j], key)
    for i in range(some):
        out[i] = _hash_two(words[i + inner] ^ out[i], words[i + end], start, key[1], key[3])


@part
def _windows(data, begin, count, k, key, words, out):
    """Hash ``count`` windows of k bytes that begin at successive bytes.

    Eight windows are cut from four loads by shifts, which LLVM turns into vectors; eight loads of their own would
    become a gather, which takes twice as long.
    """
    start, first_by, last_by = _start(key, k), key[1], key[3]
    whole = min(count + 7, out.size) & ~7  # a few more than are wanted cost less than to do the last ones singly
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
        _long_windows(data, begin, count, k, key, words, out)


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
    while at < end:
        high = bits_between(data, at, 0x80, 0xFF)
        if high:
            at += cttz64(high)
            break
        at += 64
    at = min(at, end)
    if position < at < stop and data[at] & 0xC0 == 0x80:
        at -= 1  # a stray continuation byte belongs to the character before it
    return at - position


@part
def _fill_bytes(data, stop, k, key, words, state, out):
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
    _windows(data, begin, count, k, key, words, out)
    state[0] = begin + count
    return count


@part
def _mark_starts(data, begin, stop, k, most, starts):
    """Where the characters from ``begin`` on begin, at most ``most`` of them, and ``stop`` behind the last of the text.

    A character is a byte and the continuation bytes behind it. Stops behind a run of ASCII that is worth a path of its
    own. 64 bytes at a time, of which a bit each says where a character begins.
    """
    starts[0] = np.uint64(begin)
    n = 1
    position = begin + 1
    while n < most and position < stop:
        leads = ~bits_between(data, position, 0x80, 0xBF)
        plain = ~bits_between(data, position, 0x80, 0xFF)
        plain &= plain >> ONE
        plain &= plain >> S2
        plain &= plain >> S4
        plain &= plain >> S8
        plain &= plain >> S16  # a bit that is still set says that 32 bytes from there on are ASCII
        end = min(stop, position + 64)
        if plain:
            end = min(end, position + cttz64(plain) + k + PLAIN)
        leads &= ALL >> np.uint64(max(0, 64 - (end - position)))
        count = ones64(leads)
        for i in range(n, n + count, 4):
            for j in range(4):
                starts[i + j] = np.uint64(position + cttz64(leads))
                leads &= leads - ONE
        n += count
        position = end
        if plain and n > k and end < stop:
            return min(n, most)
    if n < most:
        starts[n] = np.uint64(stop)
        n += 1
    return min(n, most)


@part
def _spans(data, begins, ends, key, out):
    """Hash the windows between begins and ends (uint64).

    The lengths of windows change with each space between wide letters, which is not to be guessed: where all are of
    some lengths the same instructions hash them, of which some results are not used.
    """
    least, most = ALL, np.uint64(0)
    for i in range(begins.size):
        length = ends[i] - begins[i]
        least, most = min(least, length), max(most, length)
    if most <= 16:
        for i in range(begins.size):
            begin = np.int64(begins[i])
            out[i] = _hash_word(data, begin, np.int64(ends[i]) - begin, key)
    elif least > 8 and most <= 32:
        for i in range(begins.size):
            begin = np.int64(begins[i])
            length = np.int64(ends[i]) - begin
            start = _start(key, length)
            one, two, three = load64(data, begin), load64(data, begin + 8), load64(data, begin + 16)
            folded = _fold(start, one, key)
            second, third = two ^ folded, three ^ _fold(folded, two, key)
            first = third if length > 24 else (second if length > 16 else one)
            out[i] = _hash_two(first, load64(data, begin + length - 8), start, key[1], key[3])
    else:
        for i in range(begins.size):
            begin = np.int64(begins[i])
            out[i] = hash_bytes(data, begin, np.int64(ends[i]) - begin, key)


@part
def _fill_chars(data, stop, k, key, starts, state, out):
    """Windows of k code points. ASCII runs take the byte path; the test is a run's, not a document's.

    Between calls state[0] is the begin of the next window; state[3] is 0 before the first and 2 after the last.
    """
    begin = state[0]
    if state[3] == 2:
        return 0
    n = 0
    while n < out.size and stop - begin >= k:
        run = _ascii_run(data, begin, stop, out.size - n + k)
        if run >= k + PLAIN or run == stop - begin:
            count = min(run - k + 1, out.size - n)
            _windows(data, begin, count, k, key, starts, out[n:])
            n += count
            begin += count
            continue
        found = _mark_starts(data, begin, stop, k, out.size - n + k, starts)
        count = found - k
        if count <= 0:
            break
        _spans(data, starts[:count], starts[k:found], key, out[n:])
        n += count
        begin = np.int64(starts[count])
    if n < out.size:
        if n == 0 and state[3] == 0 and begin < stop:
            state[2] = SHORT
            out[0] = hash_bytes(data, begin, stop - begin, key)
            n = 1
        state[3] = 2
    else:
        state[3] = 1
    state[0] = begin
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
def _value(word):
    """``_code_point`` of the bytes of ``word`` without a branch."""
    lead = np.int64(word & BYTE0)
    size = 2 + np.int64(lead >= 0xE0) + np.int64(lead >= 0xF0)
    low = np.int64((word >> S8) & LOW6) << 12 | np.int64((word >> S16) & LOW6) << 6 | np.int64((word >> S24) & LOW6)
    return min(((lead & (0x7F >> size)) << 18 | low) >> (24 - 6 * size), 0x10FFFF)


@part
def _classes(data, position, stop, letters, inside):
    """Which of the 64 bytes from ``position`` on belong to words, a bit each; none from ``stop`` on.

    ``inside``, 0 or 1, is the class of the character before, to which continuation bytes at ``position`` belong; -1:
    a character begins here. Characters beyond ASCII are looked at one by one, but none waits for another.
    """
    plain = bits_between(data, position, 0x61, 0x7A) | bits_between(data, position, 0x41, 0x5A)
    plain |= bits_between(data, position, 0x30, 0x39)
    high, more = bits_between(data, position, 0x80, 0xFF), bits_between(data, position, 0x80, 0xBF)
    within = ALL >> np.uint64(max(0, 64 - (stop - position)))
    plain, high, more = plain & within, high & within, more & within
    if high == 0:
        return plain
    if inside < 0:
        more &= ~ONE
    left = high & ~more
    while left:
        bit = cttz64(left)
        left &= left - ONE
        at = position + bit
        value = _value(load64(data, at) & (ALL >> np.uint64(max(0, 64 - 8 * (stop - at)))))
        plain |= np.uint64((letters[value >> 3] >> (value & 7)) & 1) << np.uint64(bit)
    led = ((plain << ONE) | np.uint64(inside == 1)) & more
    return plain | (more & ~(more + led))  # the carry runs through the bytes that continue a letter


@part
def _hash_words(data, stop, letters, key, held, room, words, state):
    """Hash words from state[0] on into ``words[held:room]``; return how many are held then.

    64 bytes at a time: bits say which belong to words, and where they change a word begins or ends.
    """
    position = state[0]
    inside = -1
    begin = position
    while position < stop:
        bits = _classes(data, position, stop, letters, inside)
        before = np.uint64(inside == 1)
        edges = (bits ^ ((bits << ONE) | before)) & (ALL >> np.uint64(max(0, 64 - (stop - position))))
        inside = np.int64(before)
        while edges:
            at = position + cttz64(edges)
            edges &= edges - ONE
            if inside:
                length = at - begin
                words[held] = (
                    _hash_word(data, begin, length, key) if length <= 16 else hash_bytes(data, begin, length, key)
                )
                held += 1
                if held == room:
                    state[0] = at
                    return held
            begin = at
            inside = 1 - inside
        position += 64
    if inside == 1:
        words[held] = hash_bytes(data, begin, stop - begin, key)
        held += 1
    state[0] = stop
    return held


@part
def _join(words, k, key, out):
    """Hash of each run of k word hashes, in order, into ``out``. The chains of many runs advance together."""
    start = _start(key, k) ^ key[3]
    for first in range(0, out.size, 256):
        x = out[first : min(first + 256, out.size)]
        for i in range(x.size):
            x[i] = start
        for j in range(k):
            word = words[first + j : first + j + x.size]
            for i in range(x.size):
                x[i] = _fold(x[i], word[i], key)
        for i in range(x.size):
            x[i] = mix(x[i])


@part
def _fill_words(data, stop, k, key, letters, words, state, out):
    """Windows of k words. ``words`` carries the last k - 1 word hashes from chunk to chunk (state[2] of them)."""
    if state[3] == 2:
        return 0
    first = state[3] == 0
    origin = state[0]
    room = min(words.size, out.size + k - 1)
    held = _hash_words(data, stop, letters, key, state[2], room, words, state)
    state[3] = 1 if held == room else 2
    if first and held < k:
        state[3] = 2
        state[2] = SHORT
        if held > 0:
            _join(words, held, key, out[:1])
            return 1
        if stop > origin:
            out[0] = hash_bytes(data, origin, stop - origin, key)
            return 1
        return 0
    count = held - k + 1
    _join(words, k, key, out[:count])
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


@maker
def new_cursor(params, chunk):
    """A cursor with room for ``chunk`` hashes at a time."""
    return Cursor(np.empty(4, np.int64), np.empty(chunk + params.k + SPARE, np.uint64), np.empty(chunk, np.uint64))


@part
def rewind(cursor, begin):
    """Put the cursor before the document that begins at ``begin``."""
    state = cursor.state
    state[0], state[1], state[2], state[3] = begin, begin, 0, 0


@part
def fill(params, data, stop, cursor):
    """Write the next shingle hashes of a document, which ends at ``stop``, to the cursor; return how many.

    Fewer than the cursor has room for when these are the last ones, so that nobody need ask again, and 0 from then on.
    Repeated shingles are repeated.
    """
    kind, k, key, letters = params
    state, words, out = cursor
    if kind == BYTE:
        return _fill_bytes(data, stop, k, key, words, state, out)
    if kind == CHAR:
        return _fill_chars(data, stop, k, key, words, state, out)
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
