"""The sketches of datasketch: SHA-1 of tokens, its three permutation schemes, weighted MinHash, HyperLogLog.

They give its values bit for bit, for ``neardup.compat.datasketch``. The search does not use them. Sets are in CSR form:
set d has the elements ``offsets[d]`` to before ``offsets[d + 1]``.
"""

from __future__ import annotations

import numpy as np

from neardup.native.declare import inlined, kernel, part

LOW32 = np.uint64(0xFFFFFFFF)
PRIME = np.uint64((1 << 61) - 1)
S33, S61 = np.uint64(33), np.uint64(61)
S13, S16 = np.uint32(13), np.uint32(16)
BLOCK = 64
"""Bytes that SHA-1 takes in at a time."""
LANES = 64
"""Tokens whose SHA-1 is made together."""
LENGTH = 8
"""Bytes at the end of the last of these that say how many bits there were."""


@inlined
def _rotated(x, bits):
    return np.uint32((x << np.uint32(bits)) | (x >> np.uint32(32 - bits)))


@inlined
def _reversed(x):
    """The four bytes of a word in the other order."""
    x = np.uint32(((x & np.uint32(0xFF00FF)) << np.uint32(8)) | ((x >> np.uint32(8)) & np.uint32(0xFF00FF)))
    return np.uint32((x << S16) | (x >> S16))


@part
def _load(words, lane, data, start, length, at):
    """The 64 bytes from ``at`` on of one padded token: its bytes, a one bit, zeros, and its length in bits."""
    whole = min(max(length - at, 0) // 4, 16)
    for i in range(whole):
        p = start + at + 4 * i
        one, two = np.uint32(data[p]) << np.uint32(24), np.uint32(data[p + 1]) << np.uint32(16)
        three, four = np.uint32(data[p + 2]) << np.uint32(8), np.uint32(data[p + 3])
        words[i, lane] = np.uint32(one | two | three | four)
    for i in range(whole, 16):
        words[i, lane] = np.uint32(0)
    if whole < 16:
        left, shift = at + 4 * whole, np.uint32(24)
        for j in range(left, length):
            words[whole, lane] |= np.uint32(np.uint32(data[start + j]) << shift)
            shift -= np.uint32(8)
        if left <= length:
            words[whole, lane] |= np.uint32(np.uint32(0x80) << shift)
    if length + 1 + LENGTH <= at + BLOCK:
        bits = np.uint64(length) * np.uint64(8)
        words[14, lane], words[15, lane] = np.uint32(bits >> np.uint64(32)), np.uint32(bits & LOW32)


@part
def _turn(words, v):
    """The 80 rounds over the words of a block, of all lanes at a time; ``v`` has the five words of their states.

    In round i the row (80 - i) % 5 of ``v`` is what the standard calls a, and the rows behind it b to e.
    """
    for i in range(16, 80):
        for lane in range(LANES):
            x = words[i - 3, lane] ^ words[i - 8, lane] ^ words[i - 14, lane] ^ words[i - 16, lane]
            words[i, lane] = _rotated(np.uint32(x), 1)
    for i in range(80):
        a, b, c = v[(80 - i) % 5], v[(81 - i) % 5], v[(82 - i) % 5]
        d, e, word = v[(83 - i) % 5], v[(84 - i) % 5], words[i]
        if i < 20:
            for lane in range(LANES):
                mixed = np.uint32(d[lane] ^ (b[lane] & (c[lane] ^ d[lane])))
                e[lane] = np.uint32(e[lane] + _rotated(a[lane], 5) + mixed + np.uint32(0x5A827999) + word[lane])
        elif i < 40:
            for lane in range(LANES):
                mixed = np.uint32(b[lane] ^ c[lane] ^ d[lane])
                e[lane] = np.uint32(e[lane] + _rotated(a[lane], 5) + mixed + np.uint32(0x6ED9EBA1) + word[lane])
        elif i < 60:
            for lane in range(LANES):
                mixed = np.uint32((b[lane] & c[lane]) | (d[lane] & (b[lane] | c[lane])))
                e[lane] = np.uint32(e[lane] + _rotated(a[lane], 5) + mixed + np.uint32(0x8F1BBCDC) + word[lane])
        else:
            for lane in range(LANES):
                mixed = np.uint32(b[lane] ^ c[lane] ^ d[lane])
                e[lane] = np.uint32(e[lane] + _rotated(a[lane], 5) + mixed + np.uint32(0xCA62C1D6) + word[lane])
        for lane in range(LANES):
            b[lane] = _rotated(b[lane], 30)


@kernel("read(uint8[::1]), int64[::1], uint64[::1]")
def sha1(data, offsets, out):
    """The first eight bytes of the SHA-1 of each token, as a little-endian number. Source: FIPS 180-4, section 6.1.

    Loop: LANES tokens at a time, their blocks of 64 bytes, rounds, lanes; LLVM makes vectors of the lanes. All but the
    tokens stays in L1.
    """
    words, state, v = np.zeros((80, LANES), np.uint32), np.zeros((5, LANES), np.uint32), np.zeros((5, LANES), np.uint32)
    for first in range(0, offsets.size - 1, LANES):
        lanes = min(LANES, offsets.size - 1 - first)
        most = 0
        for t in range(first, first + lanes):
            most = max(most, offsets[t + 1] - offsets[t])
        state[0], state[1], state[2] = np.uint32(0x67452301), np.uint32(0xEFCDAB89), np.uint32(0x98BADCFE)
        state[3], state[4] = np.uint32(0x10325476), np.uint32(0xC3D2E1F0)
        for at in range(0, most + 1 + LENGTH, BLOCK):
            for lane in range(lanes):
                start, length = offsets[first + lane], offsets[first + lane + 1] - offsets[first + lane]
                if at < length + 1 + LENGTH:
                    _load(words, lane, data, start, length, at)
            v[:] = state
            _turn(words, v)
            for lane in range(lanes):
                if at < offsets[first + lane + 1] - offsets[first + lane] + 1 + LENGTH:
                    for i in range(5):
                        state[i, lane] = np.uint32(state[i, lane] + v[i, lane])
        for lane in range(lanes):
            low, high = np.uint64(_reversed(state[0, lane])), np.uint64(_reversed(state[1, lane]))
            out[first + lane] = low | (high << np.uint64(32))


@kernel("uint64[::1], int64[::1], read(uint64[::1]), read(uint64[::1]), uint64[:, ::1]")
def lower_legacy(hashes, offsets, a, b, values):
    """Slot s: least of its value and the trailing 32 bits of ((a[s] h + b[s]) mod 2**64) mod 2**61 - 1.

    datasketch before 2.0: the product wraps around before the prime is taken. Loop: sets, elements, slots.
    """
    for d in range(offsets.size - 1):
        for i in range(offsets[d], offsets[d + 1]):
            h = hashes[i]
            for s in range(a.size):
                x = a[s] * h + b[s]
                x = (x & PRIME) + (x >> S61)
                x = x - PRIME if x >= PRIME else x
                values[d, s] = min(values[d, s], x & LOW32)


@kernel("uint64[::1], int64[::1], read(uint32[::1]), read(uint32[::1]), uint32[:, ::1]")
def lower_affine32(hashes, offsets, a, b, values):
    """Slot s: least of its value and a[s] m(h) + b[s] mod 2**32; m is the last step of MurmurHash3 for 32 bits."""
    for d in range(offsets.size - 1):
        for i in range(offsets[d], offsets[d + 1]):
            h = np.uint32(hashes[i])
            h = np.uint32((h ^ (h >> S16)) * np.uint32(0x85EBCA6B))
            h = np.uint32((h ^ (h >> S13)) * np.uint32(0xC2B2AE35))
            h = np.uint32(h ^ (h >> S16))
            for s in range(a.size):
                values[d, s] = min(values[d, s], np.uint32(a[s] * h + b[s]))


@kernel("uint64[::1], int64[::1], read(uint64[::1]), read(uint64[::1]), uint64[:, ::1]")
def lower_affine64(hashes, offsets, a, b, values):
    """The same with 64 bits."""
    for d in range(offsets.size - 1):
        for i in range(offsets[d], offsets[d + 1]):
            h = hashes[i]
            h = (h ^ (h >> S33)) * np.uint64(0xFF51AFD7ED558CCD)
            h = (h ^ (h >> S33)) * np.uint64(0xC4CEB9FE1A85EC53)
            h = h ^ (h >> S33)
            for s in range(a.size):
                values[d, s] = min(values[d, s], a[s] * h + b[s])


@kernel("int64[::1], float32[::1], int64[::1], float32[:, ::1], float32[:, ::1], float32[:, ::1], int64[:, :, ::1]")
def weigh(dimensions, logs, offsets, rs, ln_cs, betas, values):
    """Consistent weighted samples: for each vector and sample the dimension whose ``ln a`` is least, and its ``t``.

    Vector d has the logarithm ``logs[i]`` in dimension ``dimensions[i]``; of equals the first one. All sums are of 32
    bits. Source: S. Ioffe, "Improved Consistent Sampling, Weighted Minhash and L1 Sketching", ICDM 2010, section 3.
    Loop: vectors, samples, dimensions.
    """
    for d in range(offsets.size - 1):
        for s in range(rs.shape[0]):
            least = np.float32(np.inf)
            for i in range(offsets[d], offsets[d + 1]):
                k = dimensions[i]
                t = np.float32(np.floor(np.float32(np.float32(logs[i] / rs[s, k]) + betas[s, k])))
                ln_y = np.float32(np.float32(t - betas[s, k]) * rs[s, k])
                ln_a = np.float32(np.float32(ln_cs[s, k] - ln_y) - rs[s, k])
                if ln_a < least:
                    least = ln_a
                    values[d, s, 0], values[d, s, 1] = k, np.int64(t)


@kernel("uint64[::1], int64, int64, int8[::1]")
def raise_registers(hashes, precision, width, registers):
    """HyperLogLog: the trailing ``precision`` bits name a register, which keeps the largest rank of the bits above.

    The rank counts the leading zeros of these ``width - precision`` bits, and one. Source: P. Flajolet, E. Fusy,
    O. Gandouet, F. Meunier, "HyperLogLog", AofA 2007, figure 3.
    """
    for i in range(hashes.size):
        rest = hashes[i] >> np.uint64(precision)
        rank = width - precision + 1
        while rest:
            rest = rest >> np.uint64(1)
            rank -= 1
        at = np.int64(hashes[i] & np.uint64((1 << precision) - 1))
        registers[at] = max(registers[at], np.int8(rank))
