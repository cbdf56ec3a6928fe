"""The fast reader of JSON Lines gives what ``json.loads`` gives, line by line, on odd and damaged lines."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.jsonl import Read, read_jsonl

from neardup.inputs.source import ReadOptions
from neardup.inputs.text.jsonl import JsonlSource

LETTERS = (
    'abcXYZ 019.,-_/"\\\n\t\r\b\f\x7f\x1f\x00é\x85\xa0ßЖ中文\u2003\u2028\u3000\u1680\u205f\u0800\uffff\ufeff'
    "\U00010000😀\U0010ffff\ud7ff\ue000"
)
SURROGATES = "\ud800\udbff\udc00\udfff"
SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\b": "\\b",
    "\f": "\\f",
    "/": "\\/",
}
NUMBERS = (
    "0", "-0", "7", "-12", "123456789012345678", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "18446744073709551616", "1.5", "-0.0", "1e5", "1E-7", "2e+400", "0e0",
)  # fmt: skip
BROKEN = (
    "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "NaN", "Infinity", "-Infinity", "nul", "True", "'a'", "",
    "--1",    "[1,]", "{,}", "[1 2]", '{"a"}', '{"a":}', '{"a":1,}', "[", "{", "]",
    '"', '"\\x"', '"\\u12"', '"\\u12g4"',
    "1_0",    '"\t"', "truefalse", "00", "-01", "1e5.5",
)  # fmt: skip


class Writer:
    """Lines of JSON that no serialiser would write, mostly valid."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def space(self) -> str:
        return "" if self.random.random() < 0.8 else "".join(self.random.choices(" \t\r", k=self.random.randint(1, 3)))

    def character(self, c: str) -> str:
        roll = self.random.random()
        if c < " " or c in '"\\' or roll < 0.1 or "\ud800" <= c <= "\udfff":
            if c in SHORT and roll < 0.7:
                return SHORT[c]
            units = c.encode("utf-16-be", "surrogatepass")
            pieces = [f"{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2)]
            return "".join("\\u" + (p.upper() if roll > 0.05 else p) for p in pieces)
        return c

    def string(self, content: str | None = None) -> str:
        if content is None:
            letters = LETTERS if self.random.random() > 0.04 else LETTERS + SURROGATES
            some = letters if self.random.random() < 0.5 else "abcdefgh "
            content = "".join(self.random.choices(some, k=self.random.choice((0, 1, 3, 7, 8, 9, 16, 40))))
        return '"' + "".join(map(self.character, content)) + '"'

    def key(self) -> str:
        name = self.random.choice(("text", "id", "tex", "texts", "ID", "x", "", "é"))
        return self.string(name) if self.random.random() < 0.05 else f'"{name}"'

    def scalar(self) -> str:
        if self.random.random() < 0.03:
            return self.random.choice(BROKEN)
        return self.random.choice((self.string(), self.random.choice(NUMBERS), "true", "false", "null"))

    def value(self, depth: int = 0) -> str:
        roll = self.random.random()
        if depth > 4 or roll < 0.5:
            return self.scalar()
        count = self.random.randint(0, 3)
        if roll < 0.75:
            inner = ",".join(self.space() + self.value(depth + 1) + self.space() for _ in range(count))
            return f"[{inner or self.space()}]"
        return self.members([(self.key(), self.value(depth + 1)) for _ in range(count)])

    def members(self, pairs: list[tuple[str, str]]) -> str:
        s = self.space
        return "{" + (",".join(f"{s()}{k}{s()}:{s()}{v}{s()}" for k, v in pairs) or s()) + "}"

    def items(self) -> str:
        members = [
            self.string() if self.random.random() < 0.5 else self.scalar() for _ in range(self.random.randint(0, 4))
        ]
        return "[" + ",".join(self.space() + member + self.space() for member in members) + "]"

    def deep(self) -> str:
        depth = self.random.choice((5, 62, 63, 64, 65, 66, 130, 3000))
        return "[" * depth + "]" * (depth - (self.random.random() < 0.1))

    def record(self) -> str:
        r = self.random
        pairs = [
            (self.key(), self.deep() if r.random() < 0.02 else self.value()) for _ in range(r.choice((0, 0, 1, 2)))
        ]
        text = self.value() if r.random() < 0.1 else self.items() if r.random() < 0.3 else self.string()
        id = self.value() if r.random() < 0.1 else r.choice((r.choice(NUMBERS[:9]), self.string()))
        for name, value in (("text", text), ("id", id)):
            if r.random() < 0.97:
                pairs.insert(r.randint(0, len(pairs)), (f'"{name}"', value))
        return self.space() + self.members(pairs) + self.space()

    def line(self) -> bytes:
        r = self.random
        line = (
            self.record() if r.random() < 0.95 else r.choice((self.value(), self.space(), "", "\ufeff" + self.record()))
        )
        data = bytearray(line.encode("utf-8", "surrogatepass"))
        if r.random() < 0.3:
            for _ in range(r.choice((1, 1, 1, 3))):
                self.damage(data)
        return bytes(data).replace(b"\n", b" ")

    def damage(self, data: bytearray) -> None:
        r = self.random
        at = r.randrange(len(data) + 1)
        kind = r.randrange(5)
        if kind == 0:
            del data[at : at + r.choice((1, 1, 2, 9))]
        elif kind == 1:
            data[at:at] = bytes(r.choices(b'"\\{}[],:\r 0-.eu\x00\x1f\x7f\x80\xbf\xc0\xc2\xe0\xed\xf0\xf4\xff', k=1))
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << r.randrange(8)
        elif kind == 3:
            del data[at:]
        else:
            data[at:at] = data[at // 2 : at]

    def content(self) -> bytes:
        lines = [self.line() for _ in range(self.random.choice((1, 5, 40)))]
        end = self.random.choice((b"\n", b"\r\n", b"\n\n"))
        return end.join(lines) + self.random.choice((b"", b"\n"))


FIRST = b'{"text": "first", "id": "first"}\n'


def fast(path: Path, options: ReadOptions, block_bytes: int) -> tuple[Read, list[str]]:
    """What the reader makes of the file, in the oracle's shape, and the reasons."""
    result, reasons = Read(), []
    source = JsonlSource(path, options)
    source.block_bytes = block_bytes
    for task in source.tasks():
        batch = task()
        result.texts += [batch.documents.blob(i) for i in range(len(batch.documents))]
        result.ids += [None] * len(batch.rows) if batch.ids is None else batch.ids.to_pylist()
        result.rows += batch.rows.tolist()
        result.bad += [fault.row for fault in batch.faults]
        result.blank += batch.blank
        reasons += [fault.reason for fault in batch.faults]
        assert batch.bad == len(batch.faults)
    return result, reasons


def check(path: Path, content: bytes, *, item: bool, id: str | None, block_bytes: int, block: int | None) -> None:
    path.write_bytes(FIRST + content)
    options = ReadOptions(text="text", id=id, on_bad="skip", item=item, block=block)
    found, reasons = fast(path, options, block_bytes)
    wanted = read_jsonl(FIRST + content, "text", id, item)
    assert found.bad == wanted.bad
    assert found.rows == wanted.rows
    assert found.texts == wanted.texts
    assert [str(id) for id in found.ids] == [str(id) for id in wanted.ids]
    assert found.blank == wanted.blank
    assert all(reason and "\n" not in reason for reason in reasons)


@given(
    seed=st.integers(0, 2**32),
    item=st.booleans(),
    block_bytes=st.sampled_from((64, 300, 1 << 20)),
    block=st.sampled_from((None, 1, 3)),
)
def test_reader_equals_json_loads_on_odd_and_damaged_lines(
    tmp_path_factory: Any, seed: int, item: bool, block_bytes: int, block: int | None
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "lines.jsonl"
    check(path, Writer(seed).content(), item=item, id="id", block_bytes=block_bytes, block=block)


@given(content=st.binary(max_size=60), before=st.sampled_from((b'{"id":1,"text":"', b'{"id":1,"text":["', b"")))
def test_reader_equals_json_loads_on_arbitrary_bytes(tmp_path_factory: Any, content: bytes, before: bytes) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "lines.jsonl"
    content = before + content + b'"}'
    check(path, content, item=before.endswith(b'["'), id="id", block_bytes=1 << 16, block=None)


@given(texts=st.lists(st.text(max_size=40), max_size=30), ascii=st.booleans())
def test_texts_come_back_as_any_serialiser_wrote_them(tmp_path_factory: Any, texts: list[str], ascii: bool) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "lines.jsonl"
    lines = [json.dumps({"key": i, "body": text}, ensure_ascii=ascii) for i, text in enumerate(texts)]
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    found, _ = fast(path, ReadOptions(), 1 << 16)
    assert found.texts == [text.encode() for text in texts]
    assert found.ids == list(range(len(texts)))


@pytest.mark.slow
def test_reader_equals_json_loads_on_many_damaged_lines(tmp_path: Path) -> None:
    for seed in range(1000):
        check(
            tmp_path / "l.jsonl",
            Writer(seed).content(),
            item=seed % 2 == 0,
            id="id",
            block_bytes=500,
            block=None,
        )
