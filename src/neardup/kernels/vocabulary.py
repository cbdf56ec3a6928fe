"""Words by their numbers: two words have one number exactly when all their characters are the same.

A hash table finds the words that were seen; characters decide. No hash that two words share joins them.
"""

from __future__ import annotations

import numpy as np

from neardup.native.declare import kernel

S32 = np.uint64(32)


@kernel(
    "read(uint32[::1]), int64[::1], int64[::1], int64, UniTuple(uint64, 4), int64[::1], uint64[::1], int64[::1], "
    "uint32[::1], int64, uint32[::1]"
)
def number_words(codes, firsts, ends, first, key, cells, hashes, begins, letters, known, numbers):
    """Number the words ``codes[firsts[i] : ends[i]]`` (code points) from word ``first`` on, into ``numbers``.

    ``cells`` (int64, a power of two, -1 where free) holds numbers by the hashes of the words; word w has the hash
    ``hashes[w]`` and the characters ``letters[begins[w] : begins[w + 1]]``. Returns how many words are numbered, and
    how many distinct ones are known then. It stops early where the cells are half full, or ``letters`` is.
    """
    mask = np.uint64(cells.size - 1)
    for i in range(first, firsts.size):
        begin, size = firsts[i], ends[i] - firsts[i]
        if 2 * known >= cells.size or letters.size - begins[known] < size:
            return i, known
        x = key[0]
        for j in range(begin, begin + size):
            x = (x ^ np.uint64(codes[j])) * key[1]
            x ^= x >> S32
        cell = np.int64(x & mask)
        while True:
            word = cells[cell]
            if word < 0:
                word = known
                cells[cell], hashes[word] = word, x
                for j in range(size):
                    letters[begins[word] + j] = codes[begin + j]
                begins[word + 1] = begins[word] + size
                known += 1
                break
            if hashes[word] == x and begins[word + 1] - begins[word] == size:
                same = 0
                while same < size and letters[begins[word] + same] == codes[begin + same]:
                    same += 1
                if same == size:
                    break
            cell = np.int64((np.uint64(cell) + np.uint64(1)) & mask)
        numbers[i] = np.uint32(word)
    return firsts.size, known


@kernel("uint64[::1], int64[::1]")
def place_words(hashes, cells):
    """Put the numbers of all words into ``cells``, which are free, as ``number_words`` finds them."""
    mask = np.uint64(cells.size - 1)
    for word in range(hashes.size):
        cell = np.int64(hashes[word] & mask)
        while cells[cell] >= 0:
            cell = np.int64((np.uint64(cell) + np.uint64(1)) & mask)
        cells[cell] = word
