"""Records of JSON Lines: the text and the id of every line that is plainly well-formed.

The kernel checks a line in full (``_json``) and writes the unescaped text straight into the output. About
any line that gives it the least doubt it says so and stops; the caller asks Python's ``json`` and goes on
behind that line (``inputs.text.jsonl``). So the kernel may doubt what is good, and must never accept what
``json`` refuses or would read as another value.

One pass over the bytes, no look-ahead: a block ends with a newline (``inputs.blocks.LineBlock``), every
scanner stops at a newline, and unescaped text is never longer than its source, so the output position
never overtakes the input position and an output as long as the input has room. Strings go eight bytes at
a time; each step stores all eight, which is why every buffer needs SLACK.
"""

from __future__ import annotations

from numpy import uint64

from neardup.kernels._bits import cttz64, load64
from neardup.kernels._json import read_number, read_string, skip_space, skip_value
from neardup.native.declare import kernel, part

# Places in the state array of read_records, which carries it from one call to the next.
AT = 0  # position of the next line
LINE = 1  # number of that line
OUT_AT = 2  # bytes of text written
IDS_AT = 3  # bytes of string ids written
DOCUMENTS = 4  # records written
BLANK = 5  # blank lines passed
DOUBT = 6  # end of the doubtful line that begins at AT (its newline), or -1: all lines are read
STATE = 7  # size of the array

_QUOTE, _BACKSLASH, _COLON, _COMMA, _NEWLINE = 0x22, 0x5C, 0x3A, 0x2C, 0x0A
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_LIST, _CLOSE_LIST = 0x7B, 0x7D, 0x5B, 0x5D
_MINUS, _ZERO = 0x2D, 0x30
_SEPARATOR = 0xFF  # stages.text.SEPARATOR

_ONE = uint64(1)
_ONES = uint64(0x0101010101010101)
_NEWLINES = uint64(0x0A0A0A0A0A0A0A0A)
_HIGH = uint64(0x8080808080808080)


@part
def _line_end(data, at):
    """Position of the first newline from ``at``."""
    while True:
        word = load64(data, at) ^ _NEWLINES
        found = (word - _ONES) & ~word & _HIGH
        if found:
            return at + (cttz64(found) >> 3)
        at += 8


@part
def _is_space(out, at):
    """Length of the white space (as ``str.split`` sees it) at ``at`` of valid UTF-8, or 0."""
    c = out[at]
    if c < 0x80:
        return int(c == 0x20 or 0x09 <= c <= 0x0D or 0x1C <= c <= 0x1F)
    if c == 0xC2:
        return 2 if out[at + 1] == 0x85 or out[at + 1] == 0xA0 else 0
    if c < 0xE1 or c > 0xE3:
        return 0
    upper, last = out[at + 1], out[at + 2]
    if c == 0xE1:
        return 3 if upper == 0x9A and last == 0x80 else 0
    if c == 0xE3:
        return 3 if upper == 0x80 and last == 0x80 else 0
    if upper == 0x80:
        return 3 if last <= 0x8A or last == 0xA8 or last == 0xA9 or last == 0xAF else 0
    return 3 if upper == 0x81 and last == 0x9F else 0


@part
def _split(out, start, stop):
    """Turn the text in ``out[start:stop]`` into its words with a separator between; return the new end."""
    to = start
    pending = False
    at = start
    while at < stop:
        length = _is_space(out, at)
        if length > 0:
            pending = to > start
            at += length
            continue
        if pending:
            out[to] = _SEPARATOR
            to += 1
            pending = False
        out[to] = out[at]
        to += 1
        at += 1
    return to


@part
def _items(data, at, out, to):
    """Write the set at ``at`` (a string, or a list of strings and integers) as ``inputs.items`` does.

    Returns the position behind it (-1: doubt) and the end of what was written.
    """
    start = to
    if data[at] == _QUOTE:
        at, to = read_string(data, at + 1, out, to)
        return at, _split(out, start, to) if at >= 0 else to
    if data[at] != _OPEN_LIST:
        return -1, to
    at = skip_space(data, at + 1)
    if data[at] == _CLOSE_LIST:
        return at + 1, to
    while True:
        if data[at] == _QUOTE:
            at, to = read_string(data, at + 1, out, to)
            if at < 0:
                return -1, to
        else:
            end, is_integer = read_number(data, at)
            if not is_integer or (data[at] == _MINUS and data[at + 1] == _ZERO):
                return -1, to
            for i in range(at, end):
                out[to] = data[i]
                to += 1
            at = end
        at = skip_space(data, at)
        if data[at] == _CLOSE_LIST:
            return at + 1, to
        if data[at] != _COMMA:
            return -1, to
        out[to] = _SEPARATOR
        to += 1
        at = skip_space(data, at + 1)


@part
def _is_key(out, start, stop, keys, first, last):
    if stop - start != last - first:
        return False
    for i in range(stop - start):
        if out[start + i] != keys[first + i]:
            return False
    return True


@part
def _plainly(keys, first, last):
    """A short key and the quote behind it as they stand in a record, in a word, and a mask for as many bytes.

    No bytes are like the word where the key is longer, or may be written in other ways that matter.
    """
    word, mask = uint64(0), uint64(0)
    if not 0 <= last - first < 8:
        return _ONE, mask
    for i in range(first, last + 1):
        byte = uint64(_QUOTE) if i == last else uint64(keys[i])
        if i < last and not (0x20 <= byte < 0x7F and byte != _QUOTE and byte != _BACKSLASH):
            return _ONE, uint64(0)
        word |= byte << uint64(8 * (i - first))
        mask |= uint64(0xFF) << uint64(8 * (i - first))
    return word, mask


@part
def _integer(data, at):
    """Position behind the integer at ``at`` (-1: another kind, or more than 18 places) and its value."""
    end, is_integer = read_number(data, at)
    if not is_integer or end - at > 18:
        return -1, 0
    value = 0
    for i in range(at, end):
        if data[i] != _MINUS:
            value = value * 10 + (int(data[i]) - _ZERO)
    return end, -value if data[at] == _MINUS else value


@part
def _record(data, at, keys, sizes, plainly, item, out, to, ids, ids_to):
    """Read the object whose brace is at ``at``; ``plainly`` is what ``_plainly`` says of both keys.

    Returns the position of the newline behind it (-1: doubt), the ends of the text and of the string id that
    were written from ``to`` and ``ids_to``, the integer id, and whether the id is an integer.
    """
    text_size, id_size = sizes[0], sizes[1]
    doubt = (-1, to, ids_to, 0, False)
    free = to  # behind the text, once there is one: scratch for keys and skipped values
    text_end = -1
    id_end = ids_to if id_size < 0 else -1
    number = 0
    is_signed = False
    at = skip_space(data, at + 1)
    while True:
        if data[at] != _QUOTE:
            return doubt
        word = load64(data, at + 1)
        is_text = word & plainly[1] == plainly[0]
        is_id = word & plainly[3] == plainly[2]
        if is_text or is_id:
            end = at + 2 + (text_size if is_text else id_size)
        else:
            end, key_end = read_string(data, at + 1, out, free)
            if end < 0:
                return doubt
            is_text = _is_key(out, free, key_end, keys, 0, text_size)
            is_id = id_size >= 0 and _is_key(out, free, key_end, keys, text_size, text_size + id_size)
        at = skip_space(data, end)
        if data[at] != _COLON:
            return doubt
        at = skip_space(data, at + 1)
        if is_text:
            if item:
                at, text_end = _items(data, at, out, to)
            elif data[at] == _QUOTE:
                at, text_end = read_string(data, at + 1, out, to)
            else:
                return doubt
            free = text_end
        elif is_id:
            is_signed = data[at] != _QUOTE
            if is_signed:
                at, number = _integer(data, at)
                id_end = ids_to
            else:
                at, id_end = read_string(data, at + 1, ids, ids_to)
        else:
            at = skip_value(data, at, out, free)
        if at < 0:
            return doubt
        at = skip_space(data, at)
        if data[at] == _COMMA:
            at = skip_space(data, at + 1)
            continue
        if data[at] != _CLOSE_OBJECT or text_end < 0 or id_end < 0:
            return doubt
        at = skip_space(data, at + 1)
        if data[at] != _NEWLINE:
            return doubt
        return at, text_end, id_end, number, is_signed


@kernel(
    "uint8[::1], int64, uint8[::1], int64[::1], boolean, uint8[::1], int64[::1], int64[:, ::1], int64[::1], "
    "uint8[::1], int64[::1], int64[::1], boolean[::1], int64[::1]"
)
def read_records(data, stop, keys, sizes, item, out, offsets, spans, rows, ids, id_offsets, numbers, is_number, state):
    """Read lines of ``data[state[AT]:stop]`` (uint8) until the end or a doubtful one.

    A newline is at ``stop - 1`` or at ``stop``, and SLACK readable bytes lie behind. ``keys`` (uint8, UTF-8) are the
    names of the text field and of the id field end to end, ``sizes`` (int64[2]) their sizes, -1 where there is no id.
    With ``item`` the field is a set, written as its items with 0xFF between. ``state`` is int64[STATE], see above.

    Texts go to ``out`` and string ids to ``ids`` (uint8, as long as data); from entry 1 on ``offsets`` and
    ``id_offsets`` (int64[lines + 1]) have their ends. ``spans`` (int64[lines, 2]) are where the lines of the
    records begin and end in ``data``, ``rows`` (int64[lines]) their numbers,
    ``numbers`` (int64[lines]) the ids that are integers, where ``is_number`` (bool[lines]) is set; they are empty in
    ``ids``.
    """
    at, line, to, ids_to = state[AT], state[LINE], state[OUT_AT], state[IDS_AT]
    n = state[DOCUMENTS]
    state[DOUBT] = -1
    plainly = (*_plainly(keys, 0, sizes[0]), *_plainly(keys, sizes[0], sizes[0] + sizes[1]))
    while at < stop:
        first = skip_space(data, at)
        if data[first] == _NEWLINE:
            state[BLANK] += 1
            at = first + 1
            line += 1
            continue
        end = -1
        if data[first] == _OPEN_OBJECT:
            end, to_end, ids_end, number, is_signed = _record(
                data, first, keys, sizes, plainly, item, out, to, ids, ids_to
            )
        if end < 0:
            state[DOUBT] = _line_end(data, first)
            break
        to, ids_to = to_end, ids_end
        spans[n, 0], spans[n, 1] = at, end + 1
        rows[n] = line
        offsets[n + 1] = to
        id_offsets[n + 1] = ids_to
        numbers[n] = number
        is_number[n] = is_signed
        n += 1
        at = end + 1
        line += 1
    state[AT], state[LINE], state[OUT_AT], state[IDS_AT] = at, line, to, ids_to
    state[DOCUMENTS] = n
