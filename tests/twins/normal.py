"""Tests and maps over documents, character by character."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_ascii(data: np.ndarray, begin: int, end: int) -> bool:
    """Whether all bytes are below 0x80."""
    return data[begin:end].tobytes().isascii()


SAME, MAPPED, ASK = 0, 1, 2


def _alone(characters: Any, char: str) -> tuple[str, int, int, bool, bool] | None:
    """What a character becomes ("\\0 " for white space to be made one), its first and last class, whether it joins and
    whether it parts; None where it is not known."""
    if char.isascii():
        value = int(characters.ascii[ord(char)])
        text = "\0 " if value == 0x80 else "" if value == 0xFF else chr(value)
        return text, 0, 0, False, text.isalpha() and text != char
    page = int(characters.pages[ord(char) // 64])
    entry = int(characters.entries[page * 64 + ord(char) % 64]) if page >= 0 else 3
    kind, first, last = entry & 3, entry >> 8 & 0xFF, entry >> 16 & 0xFF
    if kind == 3:
        return None
    place = entry >> 32
    text = [char, characters.pool[place : place + (entry >> 24 & 0xFF)].tobytes().decode(), "\0 "][kind]
    return text, first, last, bool(entry & 4), bool(entry & 8)


def become(characters: Any, text: str) -> str | None:
    """What the characters of a text tell that it becomes; None: ask."""
    pairs = {number >> 21 for number in characters.pairs.tolist()}
    done, letter, last = "", "", 0
    for char in text:
        alone = _alone(characters, char)
        if alone is None:
            return None
        to, first, after, joins, parts = alone
        if (first and first < last) or (joins and (not letter or ord(letter) << 21 | ord(char) in pairs)):
            return None
        done, last = done + to, after
        letter = "" if parts else letter if after else char
    return done


def _one_space(text: str) -> str:
    return " ".join(part for part in text.replace("\0 ", "\0").split("\0") if part) if "\0 " in text else text


def what(characters: Any, blob: bytes, items: bool) -> tuple[int, bytes]:
    """What is known of a document without zero bytes, and what it becomes; nothing where that is to be asked."""
    try:
        parts = [part.decode("utf-8") for part in (blob.split(b"\xff") if items else [blob])]
    except UnicodeDecodeError:
        return ASK, b""
    done = [become(characters, part) for part in parts]
    if None in done:
        return ASK, b""
    made = b"\xff".join(_one_space(part or "").encode() for part in done)
    return (SAME if made == blob else MAPPED), made
