"""Where delimited text is cut, and what its records are, by the kernels and by loops that take one byte at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.kernels import delimited as kernel
from neardup.types import SLACK, U8

PIECES = st.sampled_from(['"', '""', ",", "\n", "\r\n", "\r", "\t", "a", "bc", '"a"', '"x\ny"', "word " * 3, "l" * 37])
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def buffer_of(text: bytes) -> U8:
    return np.frombuffer(bytearray(text + b'",\n' * (SLACK // 3 + 1)), dtype=np.uint8)


def closing(text: bytes, at: int, delimiter: bytes, relaxed: bool) -> tuple[str, int]:
    """What becomes of the quoted field behind the quote at ``at - 1``, and the place behind it."""
    seen = b""
    while at < len(text):
        if text[at : at + 2] == b'""':
            at += 2
            continue
        if text[at : at + 1] == b'"':
            behind = text[at + 1 :]
            good = behind in (b"", b"\r") or behind.startswith((b"\n", b"\r\n", delimiter))
            return ("fine" if good else "bad"), at + 1
        seen += text[at : at + 1]
        at += 1
        if relaxed and b"\n" in seen and delimiter in seen:
            return "bad", at
    return "open", at


def slow_records(text: bytes, delimiter: bytes, relaxed: bool, patience: int) -> list[tuple[int, int, str]]:
    """Begin, end and status of each record and blank line, by the rules of the kernel's docstring."""
    found: list[tuple[int, int, str]] = []
    at = 0
    while at < len(text):
        line_end = text.find(b"\n", at) + 1 or len(text)
        if text[at:line_end] in (b"\n", b"\r\n", b"\r"):
            found.append((at, line_end, "blank"))
            at = line_end
            continue
        place, status = at, ""
        while not status:
            if text[place : place + 1] == b'"':
                status, behind = closing(text, place + 1, delimiter, relaxed)
                if status == "open" and len(text) - at < patience:
                    return found
                if status == "fine":
                    place, status = behind, ""
                    if text[place : place + 1] == b"\r":
                        place += 1
                elif relaxed:
                    status = ""
            if status:
                break
            ends = [i for i in (text.find(delimiter, place), text.find(b"\n", place)) if i >= 0]
            place = min(ends, default=len(text)) + 1
            if place > len(text) or text[place - 1 : place] == b"\n":
                status = "fine"
        end = line_end if status in ("bad", "open") else min(place, len(text))
        found.append((at, end, status))
        at = end
    return found


@settings(max_examples=600, deadline=None)
@given(TEXTS, st.sampled_from([b",", b"\t"]), st.booleans(), st.sampled_from([0, 20, 1 << 29]), st.integers(1, 5))
def test_cuts_and_records_are_those_of_a_loop_over_bytes(text, delimiter, relaxed, patience, most):
    data = text.encode()
    every = slow_records(data, delimiter, relaxed, patience)
    ends = [end for _, end, _ in every]
    buffer, size = buffer_of(data), len(data)
    at, pieces = 0, []
    while at < size:
        stop = kernel.find_stop(buffer, at, size, ord(delimiter), relaxed, patience, most)
        assert stop == (ends[min(len(pieces) * most + most, len(ends)) - 1] if ends and at < ends[-1] else at)
        if stop == at:
            break
        pieces.append((at, stop))
        at = stop
    statuses = []
    for begin, stop in pieces:
        records = np.zeros((data.count(b"\n", begin, stop) + 1, kernel.COLUMNS), dtype=np.int64)
        count, end, lines, blank = kernel.scan_records(
            buffer, begin, stop, size, ord(delimiter), relaxed, patience, 0, 1, records
        )
        inside = [record for record in every if begin <= record[0] < stop]
        assert end == stop
        assert lines == data[begin:stop].count(b"\n") + (not data[begin:stop].endswith(b"\n"))
        assert blank == sum(status == "blank" for *_, status in inside)
        starts = [data[begin:start].count(b"\n") for start, _, status in inside if status != "blank"]
        assert records[:count, kernel.LINE].tolist() == starts
        statuses += [status for *_, status in inside if status != "blank"]
        names = {kernel.FINE: "fine", kernel.BAD_QUOTE: "bad", kernel.NEVER_CLOSED: "open"}
        assert [names[status] for status in records[:count, kernel.STATUS].tolist()] == statuses[
            len(statuses) - count :
        ]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=6).map("".join), min_size=1, max_size=8))
def test_fields_are_copied_with_each_doubled_quote_as_one(fields):
    quoted = [field.replace('"', '""').encode() for field in fields]
    ends = np.cumsum([len(field) for field in quoted], dtype=np.int64)
    spans = np.array([ends - [len(f) for f in quoted], ends, [f.count(b'""') for f in quoted]], dtype=np.int64).T.copy()
    plain = [field.encode() for field in fields]
    offsets = np.cumsum([0, *map(len, plain)], dtype=np.int64)
    out = np.zeros(int(offsets[-1]) + SLACK, dtype=np.uint8)
    data = buffer_of(b"".join(quoted))
    data.flags.writeable = False
    kernel.copy_fields(data, spans, out, offsets)
    assert out[: offsets[-1]].tobytes() == b"".join(plain)
