"""The streams under the text formats: compression, encodings, whole lines, and errors that say what to do."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.unit.reading import lz4, zstd

from neardup.errors import InputError
from neardup.inputs.blocks import line_blocks, read_all
from neardup.inputs.source import RecordLimit
from neardup.inputs.stream import ByteStream
from neardup.types import SLACK

PACKED = {".gz": gzip.compress, ".zst": zstd, ".bz2": bz2.compress, ".xz": lzma.compress, ".lz4": lz4}
GOOD = b'{"id": "a", "text": "one"}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "docs.jsonl"


@pytest.mark.parametrize(("suffix", "pack"), PACKED.items())
@pytest.mark.parametrize("damage", ["cut", "junk", "plain", "stub"])
def test_damaged_compressed_file_is_an_error_with_a_cure(
    tmp_path: Path, suffix: str, pack: object, damage: str
) -> None:
    path = tmp_path / f"docs.jsonl{suffix}"
    packed: bytes = pack(os.urandom(1000).hex().encode() + b"\n")  # type: ignore[operator]
    path.write_bytes({"cut": packed[:-5], "junk": packed + b"junk of ten", "plain": GOOD, "stub": packed[:3]}[damage])
    with pytest.raises(InputError, match=r"damaged or cut short|is no \w+ file|bytes after the end of its"):
        read_all(path, limit=RecordLimit())


@pytest.mark.parametrize(("suffix", "pack"), PACKED.items())
def test_an_empty_stream_between_two_others_is_no_damage(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"docs.jsonl{suffix}"
    path.write_bytes(pack(b"") + pack(GOOD) + pack(b"") + pack(b"") + pack(GOOD) + pack(b""))
    assert read_all(path, limit=RecordLimit()) == GOOD + GOOD


@pytest.mark.parametrize(("suffix", "pack"), PACKED.items())
@pytest.mark.parametrize("size", [0, 1, 70_000, 1_100_000])
def test_compressed_members_that_follow_each_other_are_read_to_the_end(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes], size: int
) -> None:
    path = tmp_path / f"docs.jsonl{suffix}"
    content = os.urandom(size // 2) + bytes(size - size // 2)
    path.write_bytes(pack(content) + pack(content))
    with ByteStream(path) as stream:
        buffer = bytearray(2 * size + 1)
        assert stream.fill(memoryview(buffer)) == 2 * size
        assert buffer[: 2 * size] == 2 * content
        assert stream.stored == path.stat().st_size
    path.write_bytes(b"")
    with pytest.raises(InputError, match="is empty"):
        read_all(path, limit=RecordLimit())


def test_xz_may_be_padded_and_may_not_ask_for_all_memory(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl.xz"
    packed = lzma.compress(GOOD)
    path.write_bytes(packed + bytes(512) + packed + bytes(300_000))
    assert read_all(path, limit=RecordLimit()) == 2 * GOOD
    path.write_bytes(packed + bytes(3) + b"x")
    with pytest.raises(InputError, match="bytes after the end of its xz data"):
        read_all(path, limit=RecordLimit())
    path.write_bytes(lzma.compress(GOOD, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 512 << 20}]))
    with pytest.raises(InputError, match=r"[Mm]emory usage limit"):
        read_all(path, limit=RecordLimit())


def test_long_transcoded_input_keeps_characters_across_pieces(path: Path) -> None:
    text = "a" + "Жы" * 200_000 + "\n" + "ж"
    path.write_bytes(text.encode("utf-16"))
    assert read_all(path, limit=RecordLimit(), encoding="utf-16").decode() == text


def test_unusable_paths_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_bytes(GOOD)
    with pytest.raises(InputError, match=r"dcos\.jsonl does not exist. Did you mean 'docs\.jsonl'"):
        ByteStream(tmp_path / "dcos.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        ByteStream(tmp_path)
    with pytest.raises(InputError, match="no folder"):
        ByteStream(tmp_path / "nowhere" / "docs.jsonl")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_file_without_right_to_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    def refuse(*_: object, **__: object) -> None:  # root may read everything, so a chmod would not do
        raise PermissionError(13, "Permission denied")

    path = tmp_path / f"docs.jsonl{suffix}"
    path.write_bytes(GOOD)
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match="may not be read"):
        ByteStream(path)


def test_peek_leaves_the_data_to_be_read(path: Path) -> None:
    path.write_bytes(GOOD * 10_000)
    stream = ByteStream(path)
    assert stream.peek().startswith(GOOD)
    assert read_all(stream, limit=RecordLimit()) == GOOD * 10_000


@pytest.mark.parametrize("block_bytes", [1, 100, 4096])
@pytest.mark.parametrize("max_lines", [None, 1, 5])
def test_blocks_are_whole_lines_in_order(path: Path, block_bytes: int, max_lines: int | None) -> None:
    random = np.random.default_rng(1)
    content = b"".join(b"x" * int(n) + b"\n" for n in random.integers(0, 300, size=500)) + b"end"
    path.write_bytes(content)
    line, whole, consumed = 1, b"", 0
    for block in line_blocks(path, limit=RecordLimit(), block_bytes=block_bytes, max_lines=max_lines):
        piece = block.data[: block.size].tobytes()
        assert block.first_line == line
        assert block.lines == len(piece.splitlines()) <= (max_lines or block.lines)
        assert 10 in (block.data[block.size - 1], block.data[block.size])
        assert block.data.size >= block.size + SLACK
        line, whole, consumed = line + block.lines, whole + piece, consumed + block.consumed
    assert whole == content
    assert consumed == len(content)
