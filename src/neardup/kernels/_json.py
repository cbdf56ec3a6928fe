"""JSON after RFC 8259, one value at a time: scanners that check, unescape and move on.

Each takes a position and returns the position behind what it read, -1 where it has any doubt (which may
be good JSON all the same: a lone surrogate, a value nested more than 64 levels deep). The data must have
a newline where the text ends, at which every scanner stops, and SLACK readable bytes behind that.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from neardup.kernels._bits import bits_between, copy64, cttz64, load32, ones64
from neardup.kernels.utf8 import encode
from neardup.native.declare import inlined, part

_QUOTE, _BACKSLASH, _COLON, _COMMA = 0x22, 0x5C, 0x3A, 0x2C
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_LIST, _CLOSE_LIST = 0x7B, 0x7D, 0x5B, 0x5D
_MINUS, _PLUS, _DOT, _ZERO, _NINE = 0x2D, 0x2B, 0x2E, 0x30, 0x39
_TRUE, _FALS, _NULL = 0x65757274, 0x736C6166, 0x6C6C756E  # four letters, little-endian
_DEEPEST = 64

# What the letter behind a backslash stands for; 0: not one of these.
_UNESCAPED = np.zeros(256, dtype=np.uint8)
for _letter, _meaning in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    _UNESCAPED[_letter] = _meaning

_HEX = np.full(256, -1, dtype=np.int64)
for _value, _digit in enumerate(b"0123456789abcdef"):
    _HEX[_digit] = _HEX[ord(chr(_digit).upper())] = _value

_ONE, _TWO, _THREE = uint64(1), uint64(2), uint64(3)
_LAST, _LAST_TWO, _LAST_THREE = uint64(1 << 63), uint64(3 << 62), uint64(7 << 61)
"""Of 64 bytes the last ones."""


@part
def skip_space(data, at):
    """Position of the first byte from ``at`` that is no space, tab or carriage return."""
    while data[at] == 0x20 or data[at] == 0x09 or data[at] == 0x0D:
        at += 1
    return at


@part
def _hex4(data, at):
    """Value of four hexadecimal digits; negative when they are not that."""
    four = load32(data, at)
    return (
        int(_HEX[four & 0xFF]) << 12
        | int(_HEX[four >> 8 & 0xFF]) << 8
        | int(_HEX[four >> 16 & 0xFF]) << 4
        | int(_HEX[four >> 24])
    )


@part
def _code_point(data, at, out, to):
    """Write the character of the ``\\u`` escape at ``at``; return both positions behind it (-1: doubt).

    A surrogate must be the first of a pair.
    """
    if data[at + 1] != 0x75:
        return -1, to
    code = _hex4(data, at + 2)
    at += 6
    if code < 0:
        return -1, to
    if 0xD800 <= code <= 0xDFFF:
        if code > 0xDBFF or data[at] != _BACKSLASH or data[at + 1] != 0x75:
            return -1, to
        low = _hex4(data, at + 2)
        if low < 0xDC00 or low > 0xDFFF:
            return -1, to
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        at += 6
    return at, encode(code, out, to)


@inlined
def _below(bits):
    """All bits below the lowest that is set; all of them where none is."""
    return (bits & (~bits + _ONE)) - _ONE


@part
def _whole_characters(data, at, within):
    """How many of the bytes from ``at`` on, those of ``within``, a bit for each of 64, are whole characters of UTF-8.

    -1 where some are none. Less than all of them where the last one goes on behind the 64.
    """
    two = bits_between(data, at, 0xC0, 0xFF) & within
    three = bits_between(data, at, 0xE0, 0xFF) & within
    four = bits_between(data, at, 0xF0, 0xFF) & within
    within &= _below((two & _LAST) | (three & _LAST_TWO) | (four & _LAST_THREE))
    needed = (two & within) << _ONE | (three & within) << _TWO | (four & within) << _THREE
    more = bits_between(data, at, 0x80, 0xBF)
    # too long forms, surrogates and what lies beyond Unicode, told by the byte behind the first
    wrong = bits_between(data, at, 0xC0, 0xC1) | bits_between(data, at, 0xF5, 0xFF)
    wrong |= bits_between(data, at, 0xE0, 0xE0) << _ONE & bits_between(data, at, 0x80, 0x9F)
    wrong |= bits_between(data, at, 0xED, 0xED) << _ONE & bits_between(data, at, 0xA0, 0xBF)
    wrong |= bits_between(data, at, 0xF0, 0xF0) << _ONE & bits_between(data, at, 0x80, 0x8F)
    wrong |= bits_between(data, at, 0xF4, 0xF4) << _ONE & bits_between(data, at, 0x90, 0xBF)
    if (needed ^ (more & within)) | (wrong & within):
        return -1
    return ones64(within)


@part
def read_string(data, at, out, to):
    """Unescape the string whose first byte behind the quote is at ``at`` into ``out`` from ``to``.

    Returns the position behind the closing quote and the end of what was written; the former is -1 in doubt. 64 bytes
    are copied at a time, of which those count that come before a quote, a backslash or a control character.
    """
    while True:
        copy64(data, at, out, to)
        ends = bits_between(data, at, 0x22, 0x22) | bits_between(data, at, 0x5C, 0x5C) | bits_between(data, at, 0, 0x1F)
        clear = cttz64(ends)
        within = _below(ends)
        if bits_between(data, at, 0x80, 0xFF) & within:
            whole = _whole_characters(data, at, within)
            if whole < 0:
                return -1, to
            if whole < clear:
                at += whole
                to += whole
                continue
        if ends == 0:  # a branch, so that the next load waits for a guess and not for the look
            at += 64
            to += 64
            continue
        at += clear
        to += clear
        c = data[at]
        if c == _QUOTE:
            return at + 1, to
        if c < 0x20:
            return -1, to
        plain = _UNESCAPED[data[at + 1]]
        if plain:
            out[to] = plain
            at += 2
            to += 1
        else:
            at, to = _code_point(data, at, out, to)
            if at < 0:
                return at, to


@part
def _digits(data, at):
    while _ZERO <= data[at] <= _NINE:
        at += 1
    return at


@part
def read_number(data, at):
    """Position behind the number at ``at`` (-1: none is there) and whether it is an integer."""
    if data[at] == _MINUS:
        at += 1
    end = _digits(data, at)
    if end == at or (data[at] == _ZERO and end > at + 1):
        return -1, False
    is_integer = True
    if data[end] == _DOT:
        at = end + 1
        end = _digits(data, at)
        if end == at:
            return -1, False
        is_integer = False
    if data[end] | 0x20 == 0x65:
        at = end + 1
        if data[at] == _PLUS or data[at] == _MINUS:
            at += 1
        end = _digits(data, at)
        if end == at:
            return -1, False
        is_integer = False
    return end, is_integer


@part
def _member(data, at, out, to):
    """Position of the value of the member whose key should begin at ``at``, or -1."""
    if data[at] != _QUOTE:
        return -1
    at, _ = read_string(data, at + 1, out, to)
    if at < 0:
        return -1
    at = skip_space(data, at)
    if data[at] != _COLON:
        return -1
    return skip_space(data, at + 1)


@part
def _scalar(data, at):
    """Position behind the number, true, false or null at ``at``, or -1."""
    four = load32(data, at)
    if four == _TRUE or four == _NULL:
        return at + 4
    if four == _FALS and data[at + 4] == 0x65:
        return at + 5
    at, _ = read_number(data, at)
    return at


@part
def skip_value(data, at, out, to):
    """Position behind the value at ``at``, checked in full, or -1; ``out`` from ``to`` is scratch."""
    depth = 0
    objects = uint64(0)  # bit 0: the innermost open value is an object; the outer ones above it
    while True:
        c = data[at]
        if c == _QUOTE:
            at, _ = read_string(data, at + 1, out, to)
        elif c == _OPEN_OBJECT or c == _OPEN_LIST:
            if depth == _DEEPEST:
                return -1
            is_object = c == _OPEN_OBJECT
            at = skip_space(data, at + 1)
            if data[at] == (_CLOSE_OBJECT if is_object else _CLOSE_LIST):
                at += 1
            else:
                depth += 1
                objects = objects << uint64(1) | uint64(is_object)
                if is_object:
                    at = _member(data, at, out, to)
                    if at < 0:
                        return -1
                continue
        else:
            at = _scalar(data, at)
        if at < 0:
            return -1
        while depth > 0:
            at = skip_space(data, at)
            is_object = objects & uint64(1) == uint64(1)
            if data[at] == _COMMA:
                at = skip_space(data, at + 1)
                if is_object:
                    at = _member(data, at, out, to)
                    if at < 0:
                        return -1
                break
            if data[at] != (_CLOSE_OBJECT if is_object else _CLOSE_LIST):
                return -1
            at += 1
            depth -= 1
            objects >>= uint64(1)
        else:
            return at
