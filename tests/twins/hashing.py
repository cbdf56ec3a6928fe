"""Hash of a shingle, shingle hashes of a document and fingerprints, in Python integers cut to 64 bits."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

BYTE, CHAR, WORD, ITEM = 0, 1, 2, 3
ALL = 0xFFFFFFFFFFFFFFFF
M1 = 0x9E3779B97F4A7C15
M2 = 0xD6E8FEB86659FD93
M3 = 0xFF51AFD7ED558CCD


def mix(x: int) -> int:
    """Bijection of 64-bit integers."""
    x = (x ^ (x >> 32)) * M2 & ALL
    x = (x ^ (x >> 29)) * M3 & ALL
    return x ^ (x >> 32)


def unmix(y: int) -> int:
    """The x with ``mix(x) == y``."""
    x = (y ^ (y >> 32)) * pow(M3, -1, 1 << 64) & ALL
    x ^= (x >> 29) ^ (x >> 58)
    x = x * pow(M2, -1, 1 << 64) & ALL
    return x ^ (x >> 32)


def _word(blob: bytes, at: int = 0) -> int:
    """Little-endian integer of up to eight bytes at ``at``."""
    return int.from_bytes(blob[at : at + 8], "little")


Key = Sequence[int]
"""Start and three multipliers."""


def _start(key: Key, length: int) -> int:
    return int(key[0]) ^ (length * int(key[2]) & ALL)


def hash_bytes(blob: bytes, key: Key) -> int:
    """Hash of one byte string of at least one byte."""
    start, first_by, last_by = _start(key, len(blob)), int(key[1]), int(key[3])
    if len(blob) <= 8:
        return mix((_word(blob) ^ start) * first_by & ALL)
    folded, at = start, 0
    while at + 8 < len(blob) - 8:
        folded = (folded ^ _word(blob, at)) * first_by & ALL
        folded ^= folded >> 32
        at += 8
    first = _word(blob, at) ^ folded if len(blob) > 16 else _word(blob)
    x = (first ^ start) * first_by & ALL
    return mix(((x ^ (x >> 29)) + _word(blob, len(blob) - 8) * last_by) & ALL)


def bytes_with_hash(value: int, key: Key) -> bytes:
    """The one string of eight bytes with this hash."""
    return (unmix(value) * pow(int(key[1]), -1, 1 << 64) & ALL ^ _start(key, 8)).to_bytes(8, "little")


def join(hashes: list[int], key: Key) -> int:
    """Hash of a run of words from the hashes of the words."""
    x = _start(key, len(hashes)) ^ int(key[3])
    for value in hashes:
        x = (x ^ value) * int(key[1]) & ALL
        x ^= x >> 32
    return mix(x)


def is_letter(char: str, letters: np.ndarray) -> bool:
    """Whether the bitmap has the character's code point."""
    return bool(letters[ord(char) >> 3] >> (ord(char) & 7) & 1)


def words_of(blob: bytes, letters: np.ndarray) -> list[bytes]:
    """Maximal runs of word characters."""
    marked = "".join(char if is_letter(char, letters) else "\udfff" for char in blob.decode("utf-8"))
    return [word.encode("utf-8") for word in marked.split("\udfff") if word]


def tokens_of(kind: int, blob: bytes, letters: np.ndarray) -> list[bytes]:
    """Tokens of a document; a character is a byte with the continuation bytes after it."""
    if kind == BYTE:
        return [blob[i : i + 1] for i in range(len(blob))]
    if kind == CHAR:
        return re.findall(rb"(?s).[\x80-\xbf]*", blob)
    if kind == WORD:
        return words_of(blob, letters)
    return [item for item in blob.split(b"\xff") if item]


Params = tuple[int, int, Key, np.ndarray]
"""Kind and length of a shingle, the key of its hash, the bitmap of word characters."""


def is_short(params: Params, blob: bytes) -> bool:
    """Whether a document has some text and fewer than k tokens; a set never is."""
    kind, k, _, letters = params
    return kind != ITEM and len(blob) > 0 and len(tokens_of(kind, blob, letters)) < k


def shingle_hashes(params: Params, blob: bytes) -> list[int]:
    """Hash of each shingle of a document, in order, with repeats: all that ``fill`` writes, call after call."""
    kind, k, key, letters = params
    tokens = tokens_of(kind, blob, letters)
    if kind == ITEM:
        return [hash_bytes(token, key) for token in tokens]
    if not tokens:
        return [hash_bytes(blob, key)] if blob else []
    runs = [tokens[i : i + k] for i in range(len(tokens) - k + 1)] or [tokens]
    if kind == WORD:
        hash_of = {token: hash_bytes(token, key) for token in set(tokens)}
        return [join([hash_of[token] for token in run], key) for run in runs]
    return [hash_bytes(b"".join(run), key) for run in runs]


def fingerprint(data: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """128-bit hash of each document: two lanes over its 16-byte pieces, the last one padded with zeros."""
    for d in range(offsets.size - 1):
        blob = data[offsets[d] : offsets[d + 1]].tobytes()
        x, y = M1 ^ (len(blob) * M2 & ALL), M2 ^ (len(blob) * M2 & ALL)
        for at in range(0, len(blob), 16):
            x = (x ^ _word(blob, at)) * M1 & ALL
            y = (y ^ _word(blob, at + 8)) * M3 & ALL
            x ^= x >> 29
            y ^= y >> 32
            if at + 16 <= len(blob):
                x = (x + y) & ALL
        out[d] = mix((x + (y >> 29)) & ALL), mix(y ^ (x * M2 & ALL))
