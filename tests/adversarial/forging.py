"""Texts that were made against the hashes of neardup, by who knows its source and its seed.

``weak_texts``      two texts of three different characters that share their print, in one draw of five
``forged``          a text in other words with the print of a given one
``solved_words``    words that share the public 64-bit hash of other words
``crowding_items``  items whose public hashes share their leading bits
"""

from __future__ import annotations

import random

import numpy as np

M1, M2, M3 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD
MASK = (1 << 64) - 1
I1, I2, I3 = (pow(m, -1, 1 << 64) for m in (M1, M2, M3))
LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"


def weak_texts(draw: random.Random) -> tuple[str, str]:
    """48 characters as of Base64; characters 7 and 23 differ by 0x40, character 20 by 0x02."""
    one = bytearray(draw.choice(LETTERS) for _ in range(48))
    for at in (7, 23):
        one[at] = draw.choice(b"0123456789")
    one[20] = draw.choice(b"0145abdeABDE")
    other = bytearray(one)
    other[7] ^= 0x40
    other[23] ^= 0x40
    other[20] ^= 0x02
    return one.decode(), other.decode()


def _print_state(data: bytes, blocks: int) -> tuple[int, int]:
    """The two lanes of the print before block ``blocks``."""
    x, y = M1 ^ (len(data) * M2 & MASK), M2 ^ (len(data) * M2 & MASK)
    for i in range(blocks):
        a, b = (int.from_bytes(data[16 * i + at : 16 * i + at + 8], "little") for at in (0, 8))
        x, y = (x ^ a) * M1 & MASK, (y ^ b) * M3 & MASK
        x, y = x ^ (x >> 29), y ^ (y >> 32)
        x = (x + y) & MASK
    return x, y


def _unshift(value: int, bits: int) -> int:
    """The x with x ^ (x >> bits) == value."""
    x = value
    for _ in range(64 // bits + 1):
        x = value ^ (x >> bits)
    return x & MASK


def forged(victim: str, words: str) -> str:
    """A printable ASCII text of the length of ``victim``, made of ``words`` and 32 solved bytes, with its print.

    The last block is solved for what brings the lanes to those of the victim; the one before is drawn until the
    solution is printable.
    """
    data = victim.encode("ascii")
    blocks = len(data) // 16
    x, y = _print_state(data, blocks)
    head = words.encode("ascii")[: 16 * (blocks - 2)].ljust(16 * (blocks - 2), b".")
    x0, y0 = _print_state(head.ljust(len(data), b"."), blocks - 2)
    wanted_y = _unshift(y, 32) * I3 & MASK
    wanted_x = _unshift((x - y) & MASK, 29) * I1 & MASK
    draw = np.random.default_rng(1)
    letters = np.frombuffer(LETTERS, np.uint8)

    def solve(step, wanted: int) -> tuple[int, int]:
        while True:
            free = letters[draw.integers(0, letters.size, (1 << 18, 8))].copy().view("<u8").ravel()
            with np.errstate(over="ignore"):
                state = step(free)
            rest = (state ^ np.uint64(wanted)).view(np.uint8).reshape(-1, 8)
            good = np.flatnonzero(((rest >= 0x20) & (rest < 0x7F)).all(axis=1))
            if good.size:
                return int(free[good[0]]), int(state[good[0]])

    def second(free):
        lane = (np.uint64(y0) ^ free) * np.uint64(M3)
        return lane ^ (lane >> np.uint64(32))

    b, lane_y = solve(second, wanted_y)

    def first(free):
        lane = (np.uint64(x0) ^ free) * np.uint64(M1)
        return (lane ^ (lane >> np.uint64(29))) + np.uint64(lane_y)

    a, lane_x = solve(first, wanted_x)
    solved = (a, b, lane_x ^ wanted_x, lane_y ^ wanted_y)
    return (head + b"".join(part.to_bytes(8, "little") for part in solved) + data[16 * blocks :]).decode("ascii")


def _start(seed: int, length: int) -> int:
    return (seed * M1 + 0x632BE59BD9B4E019) & MASK ^ (length * M2 & MASK)


def solved_words(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Words of 16 letters, and others, none of them the same, with the same public hashes under ``seed``."""
    start, draw = _start(seed, 16), np.random.default_rng(seed)
    pool = np.frombuffer(LETTERS[:52], np.uint8)

    def half(first):
        with np.errstate(over="ignore"):
            x = (first ^ np.uint64(start)) * np.uint64(M1)
        return x ^ (x >> np.uint64(29))

    ones: list[str] = []
    others: list[str] = []
    while len(ones) < count:
        halves = pool[draw.integers(0, 52, (1 << 19, 8))].copy().view("<u8").ravel()
        one = pool[draw.integers(0, 52, (1, 16))].copy().view("<u8").ravel()
        with np.errstate(over="ignore"):
            target = half(one[:1]) + one[1] * np.uint64(M3)
            lasts = (target - half(halves)) * np.uint64(I3)
        letters = lasts.view(np.uint8).reshape(-1, 8) | 0x20
        is_word = (
            ((letters >= 0x61) & (letters <= 0x7A)).all(axis=1)
            & (lasts.view(np.uint8).reshape(-1, 8) >= 0x41).all(axis=1)
            & (lasts.view(np.uint8).reshape(-1, 8) < 0x7F).all(axis=1)
        )
        for at in np.flatnonzero(is_word)[:1].tolist():
            ones.append(one.tobytes().decode("ascii"))
            others.append((halves[at].tobytes() + lasts[at].tobytes()).decode("ascii"))
    return ones, others


def crowding_items(count: int, seed: int) -> list[str]:
    """Items of eight printable letters whose public hashes under ``seed`` have the same leading 20 bits."""
    start = _start(seed, 8)
    low = np.arange(1, 40 * count, dtype=np.uint64)
    made: list[np.ndarray] = []
    while sum(part.size for part in made) < count:
        with np.errstate(over="ignore"):
            y = (np.uint64(0xABCDE) << np.uint64(44)) | (low * np.uint64(0x9E3779B97F5) & np.uint64((1 << 44) - 1))
            x = (y ^ (y >> np.uint64(32))) * np.uint64(I3)
            x = (x ^ (x >> np.uint64(29)) ^ (x >> np.uint64(58))) * np.uint64(I2)
            x = (x ^ (x >> np.uint64(32))) * np.uint64(I1) ^ np.uint64(start)
        letters = x.view(np.uint8).reshape(-1, 8)
        made.append(x[((letters > 0x20) & (letters < 0x7F)).all(axis=1)])
        low += np.uint64(low.size)
    return [item.tobytes().decode("ascii") for item in np.unique(np.concatenate(made))[:count]]
