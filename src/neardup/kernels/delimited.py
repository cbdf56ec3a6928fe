"""Records of delimited text (CSV, TSV): where each begins, where its text and id lie, what is wrong with it.

The rules, for quotes as RFC 4180 has them (a quoted field may hold delimiters and newlines; a quote in it
is doubled):

- A quote counts only as the first byte of a field; anywhere else it is an ordinary character.
- In CSV, text behind a closing quote, or a quote that is never closed, makes the *line* on which the record
  began a bad record, and reading goes on with the very next line: a stray quote costs one line, not the rest
  of the file.
- In TSV (``relaxed``) such a field is taken as it stands, quotes and all, up to the next tab or newline. A
  quoted field that spans lines may hold no tab: so a stray quote can never swallow a following
  ``id<TAB>text`` line.

One pass, except that a quote that is never closed is looked for as far as the next quote in the file; what
lies between cannot begin such a search again, so the work stays linear.

Where a file may be cut between two records is found one after the other, by ``find_stop``, which looks at quotes alone
and at newlines outside of them; what the records are, by ``scan_records``, for several pieces at a time.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from neardup.kernels._bits import cttz64, load64, store64
from neardup.native.declare import kernel, part

# Columns of the record table.
LINE = 0  # lines before the record in the buffer
STATUS = 1  # FINE, BAD_QUOTE or NEVER_CLOSED
FIELDS = 2  # fields of the record
TEXT = 3  # three columns: begin, end, number of doubled quotes; begin is -1 when there is no such field
ID = 6  # the same for the id
BEGIN = 9  # of the record
END = 10  # behind its newline
COLUMNS = 11

FINE, BAD_QUOTE, NEVER_CLOSED = 0, 1, 2
_UNFINISHED = 3

GOES_ON, ENDED = 4, 5
"""What ``follow_record`` says beside BAD_QUOTE."""
START, PLAIN, QUOTED, _CLOSING, _RETURNED, _LAST = range(6)
"""Where in a record it is: at the start of a field, in one without and with quotes; behind a quote in one, and behind a
carriage return after that; in what follows a field of TSV that spans lines."""

_QUOTE, _NEWLINE, _RETURN = 0x22, 0x0A, 0x0D
_NEWLINES, _LOW, _HIGH = uint64(0x0A0A0A0A0A0A0A0A), uint64(0x0101010101010101), uint64(0x8080808080808080)
_QUOTES, _REST = uint64(0x2222222222222222), uint64(0x7F7F7F7F7F7F7F7F)
_EVEN, _QUARTERS = uint64(0x00FF00FF00FF00FF), uint64(0x0001000100010001)
_WINDOW = 1 << 14
"""Bytes outside of quotes that are looked at twice: for quotes, and for newlines."""


@part
def _plain_end(data, at, size, delimiter):
    """Position of the delimiter or newline that ends an unquoted field, or ``size``; of a line where both are one."""
    delimiters = uint64(delimiter) * _LOW
    while at < size:
        one, two = load64(data, at) ^ _NEWLINES, load64(data, at) ^ delimiters
        # a byte that was looked for is 0 now, and what is taken from it borrows: the lowest bit that is left is exact
        found = (((one - _LOW) & ~one) | ((two - _LOW) & ~two)) & _HIGH
        if found:
            return min(at + (cttz64(found) >> 3), size)
        at += 8
    return size


@part
def _next_quote(data, at, size):
    """Position of the next quote, or ``size``."""
    while at < size:
        one, two = load64(data, at) ^ _QUOTES, load64(data, at + 8) ^ _QUOTES
        three, four = load64(data, at + 16) ^ _QUOTES, load64(data, at + 24) ^ _QUOTES
        found = ((one - _LOW) & ~one) | ((two - _LOW) & ~two)
        found |= ((three - _LOW) & ~three) | ((four - _LOW) & ~four)
        if found & _HIGH:
            break
        at += 32
    while at < size:
        one = load64(data, at) ^ _QUOTES
        found = (one - _LOW) & ~one & _HIGH
        if found:
            return min(at + (cttz64(found) >> 3), size)
        at += 8
    return size


@part
def _newlines_in(word):
    """A word with 1 in each byte that is a newline."""
    word ^= _NEWLINES
    return ~(((word & _REST) + _REST) | word | _REST) >> uint64(7)


@part
def _count_newlines(data, at, stop):
    """Newlines in ``data[at:stop]``; each byte of a word counts its own, and 255 words at most are added up."""
    count = uint64(0)
    while at + 8 <= stop:
        found = uint64(0)
        last = min(at + 255 * 8, stop - 7)
        while at < last:
            found += _newlines_in(load64(data, at))
            at += 8
        count += (((found & _EVEN) + (found >> uint64(8) & _EVEN)) * _QUARTERS) >> uint64(48)
    if at < stop:
        rest = _newlines_in(load64(data, at) << uint64(8 * (8 - (stop - at))))
        count += (rest * _LOW) >> uint64(56)
    return np.int64(count)


@part
def _is_proper(data, at, size, delimiter):
    """Whether the quote at ``at`` closes a field: the delimiter follows, or the end of a line."""
    behind = at + 1
    if behind < size and data[behind] == _RETURN and (behind + 1 == size or data[behind + 1] == _NEWLINE):
        behind += 1
    return behind >= size or data[behind] == _NEWLINE or data[at + 1] == delimiter


@part
def _quoted_end(data, at, size, delimiter, relaxed):
    """Read the quoted field whose first byte behind the quote is at ``at``.

    Returns the position of the closing quote, the doubled quotes and the newlines in the field, and a status.
    """
    doubled = 0
    newlines = 0
    delimiters = 0
    while at < size:
        if not relaxed:
            quote = _next_quote(data, at, size)
            newlines += _count_newlines(data, at, quote)
            at = quote
            if at == size:
                break
        c = data[at]
        if c == _QUOTE:
            if at + 1 < size and data[at + 1] == _QUOTE:
                doubled += 1
                at += 2
                continue
            return at, doubled, newlines, FINE if _is_proper(data, at, size, delimiter) else BAD_QUOTE
        if c == _NEWLINE:
            newlines += 1
        elif c == delimiter:
            delimiters += 1
        if relaxed and newlines > 0 and delimiters > 0:
            return at, doubled, newlines, BAD_QUOTE
        at += 1
    return size, doubled, newlines, _UNFINISHED


@part
def _closing(data, at, size, delimiter, relaxed):
    """The closing quote and the status that ``_quoted_end`` gives, without the rest."""
    if relaxed:
        end, _, _, status = _quoted_end(data, at, size, delimiter, True)
        return end, status
    while True:
        at = _next_quote(data, at, size)
        if at == size:
            return at, _UNFINISHED
        if at + 1 < size and data[at + 1] == _QUOTE:
            at += 2
            continue
        return at, FINE if _is_proper(data, at, size, delimiter) else BAD_QUOTE


@part
def _behind_lines(data, at, lines):
    """The place behind so many newlines from ``at`` on, which are there."""
    while lines > 0:
        lines -= data[at] == _NEWLINE
        at += 1
    return at


@kernel("uint8[::1], int64, int64, int64, boolean, int64, int64")
def find_stop(data, at, size, delimiter, relaxed, patience, most):
    """Return where the records of ``data[at:size]`` may be cut: after the last whole one, but after at most ``most``.

    Blank lines count as records. The result is ``at`` if the first record is not whole. The arguments are those of
    ``scan_records``, which reads exactly the records before that place.
    """
    start = at  # of the record at hand
    count = 0  # records and blank lines before it
    while at < size:
        last = min(at + _WINDOW, size)
        quote = _next_quote(data, at, last)
        while quote < last and quote > start and data[quote - 1] != delimiter and data[quote - 1] != _NEWLINE:
            quote = _next_quote(data, quote + 1, last)  # an ordinary character
        lines = _count_newlines(data, at, quote)
        if count + lines >= most:
            return _behind_lines(data, at, most - count)
        if lines > 0:
            count += lines
            start = quote
            while data[start - 1] != _NEWLINE:
                start -= 1
        at = quote
        if quote == last:
            continue
        end, status = _closing(data, quote + 1, size, delimiter, relaxed)
        if status == _UNFINISHED:
            if size - start < patience:
                return start
            status = NEVER_CLOSED
        if status == FINE:
            at = end + 1
        elif relaxed:
            at = quote + 1
        else:
            at = start = min(_plain_end(data, start, size, _NEWLINE) + 1, size)
            count += 1
            if count == most:
                return start
    return size


@kernel("uint8[::1], int64, int64, int64, int64, boolean, int64, int64, int64, int64[:, ::1]")
def scan_records(data, at, stop, size, delimiter, relaxed, patience, text_field, id_field, records):
    """Fill ``records`` from ``data[at:size]``, which begins at a record and ends at the end of a line.

    No record is begun at ``stop`` or behind it, which is ``size`` or what ``find_stop`` gave.
    ``relaxed``: the rules of TSV for quotes. A quote still open after ``patience`` bytes of its record counts as never
    closed; 0 when nothing follows the buffer. Fields count from 0; ``id_field`` is -1 where there is none. ``records``
    is int64[capacity, COLUMNS]; a row a line of the buffer is always enough.

    Returns records written, bytes read, lines read, blank lines among them. Bytes left over are a record whose quote is
    open at the end of the buffer, or lie behind a full table.
    """
    count = 0
    line = 0
    blank = 0
    while at < stop and count < records.shape[0]:
        if data[at] == _NEWLINE or (data[at] == _RETURN and (at + 1 == size or data[at + 1] == _NEWLINE)):
            at = _plain_end(data, at, size, _NEWLINE) + 1
            line += 1
            blank += 1
            continue
        start = at
        status = FINE
        field = 0
        newlines = 0
        records[count, TEXT] = -1
        records[count, ID] = -1
        while True:
            begin = at
            doubled = 0
            quoted = False
            if at < size and data[at] == _QUOTE:
                end, doubled, inside, status = _quoted_end(data, at + 1, size, delimiter, relaxed)
                if status == _UNFINISHED and size - start >= patience:
                    status = NEVER_CLOSED
                if status == FINE:
                    quoted = True
                    begin = at + 1
                    newlines += inside
                    at = end + 1
                    if at < size and data[at] == _RETURN:
                        at += 1
                elif relaxed and status != _UNFINISHED:
                    status = FINE
                    doubled = 0
                else:
                    break
            if not quoted:
                at = _plain_end(data, at, size, delimiter)
                end = at
                if end > begin and data[end - 1] == _RETURN and (end == size or data[end] == _NEWLINE):
                    end -= 1
            if field == text_field:
                records[count, TEXT] = begin
                records[count, TEXT + 1] = end
                records[count, TEXT + 2] = doubled
            if field == id_field:
                records[count, ID] = begin
                records[count, ID + 1] = end
                records[count, ID + 2] = doubled
            field += 1
            if at >= size or data[at] == _NEWLINE:
                break
            at += 1
        if status == _UNFINISHED:
            at = start
            break
        if status != FINE:
            at = _plain_end(data, start, size, _NEWLINE)
            newlines = 0
        records[count, LINE] = line
        records[count, STATUS] = status
        records[count, FIELDS] = field
        at += 1
        records[count, BEGIN] = start
        records[count, END] = min(at, size)
        count += 1
        line += newlines + 1
    return count, min(at, size), line, blank


@kernel("uint8[::1], int64, int64, int64, boolean, int64[::1]")
def follow_record(data, at, size, delimiter, relaxed, state):
    """Find the end of a record that is read piece by piece, because it is too large to be held.

    The rules are those of ``scan_records``; but a record of TSV ends with the line on which a field ends that spans
    several. ``state`` is int64[3], START and zeros at the beginning of a record: where in the record it is, and whether
    the quoted field at hand has had a newline, and a delimiter.

    Returns the place behind what was read, and GOES_ON, ENDED (with a newline) or BAD_QUOTE.
    """
    where = state[0]
    while at < size:
        c = data[at]
        at += 1
        if where == QUOTED:
            if c == _QUOTE:
                where = _CLOSING
            elif c == _NEWLINE:
                state[1] = 1
            elif c == delimiter:
                state[2] = 1
            if relaxed and state[1] and state[2]:
                return at, BAD_QUOTE
        elif c == _NEWLINE:
            return at, ENDED
        elif where == _CLOSING and c == _QUOTE:
            where = QUOTED
        elif where == _LAST:
            pass
        elif c == delimiter and where != _RETURNED:
            where = _LAST if relaxed else START
        elif where == START:
            where = PLAIN
            if c == _QUOTE:
                where = QUOTED
                state[1] = 0
                state[2] = 0
        elif where == _CLOSING and c == _RETURN:
            where = _RETURNED
        elif where != PLAIN:
            return at, BAD_QUOTE
    state[0] = where
    return at, GOES_ON


@kernel("uint8[::1], int64, int64")
def unclosed_field(data, size, delimiter):
    """The place behind the quote that is open at the end of ``data[:size]``, one record of TSV; ``size`` if none is."""
    at = 0
    while at < size:
        if data[at] == _QUOTE:
            end, _, _, status = _quoted_end(data, at + 1, size, delimiter, True)
            if status == _UNFINISHED:
                return at + 1
            if status == FINE:
                at = end + 1
        at = _plain_end(data, at, size, delimiter) + 1
    return size


@kernel("read(uint8[::1]), int64[:, ::1], uint8[::1], int64[::1]")
def copy_fields(data, spans, out, offsets):
    """Copy fields of ``data`` to ``offsets`` (int64[n + 1]) in ``out``, a doubled quote as one.

    ``spans`` is int64[n, 3]: begin, end, number of doubled quotes of each field. Both buffers (uint8) have SLACK bytes
    behind the last field.
    """
    for i in range(spans.shape[0]):
        at = spans[i, 0]
        to = offsets[i]
        end = spans[i, 1]
        if spans[i, 2] == 0:
            for k in range(0, end - at, 8):  # up to 7 bytes too many: of the next field, or of the slack
                store64(out, to + k, load64(data, at + k))
            continue
        while at < end:
            word = load64(data, at)
            store64(out, to, word)
            word ^= _QUOTES
            found = (word - _LOW) & ~word & _HIGH
            if found:
                plain = cttz64(found) >> 3
                at += plain + 2
                to += plain + 1
            else:
                at += 8
                to += 8


@kernel("uint8[::1], int64, int64[::1]")
def line_stops(data, size, out):
    """Write the place behind each newline of ``data[:size]`` to ``out`` (int64[size]), and return how many there are.

    32 bytes at a time where none of them is a newline.
    """
    count = 0
    at = 0
    while at < size:
        if at + 32 <= size:
            one, two = load64(data, at) ^ _NEWLINES, load64(data, at + 8) ^ _NEWLINES
            three, four = load64(data, at + 16) ^ _NEWLINES, load64(data, at + 24) ^ _NEWLINES
            # a byte that is a newline is 0 now, and what is taken from it borrows from its highest bit
            found = ((one - _LOW) & ~one) | ((two - _LOW) & ~two)
            found |= ((three - _LOW) & ~three) | ((four - _LOW) & ~four)
            if found & _HIGH == 0:
                at += 32
                continue
        stop = min(at + 32, size)
        while at < stop:
            if data[at] == _NEWLINE:
                out[count] = at + 1
                count += 1
            at += 1
    return count
