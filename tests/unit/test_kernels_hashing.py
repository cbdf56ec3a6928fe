"""Shingle hashes where a chunked, unrolled kernel goes wrong: k tokens, borders of chunks, the buffer's end."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from tests.twins import hashing
from tests.twins.blocks import POISONS, filled, hasher_of, packed

CHUNK = 2048
TEXTS = {
    "ascii": "".join(f"{i} " for i in range(1000)),
    "two bytes": "".join(chr(0x400 + i % 97) for i in range(4400)),
    "four bytes": "".join(chr(0x1F600 + i % 61) for i in range(4400)),
    "mixed": "".join(
        "é" if i % 13 == 5 else chr(0x4E00 + i) if i % 97 == 0 else chr(97 + i * i % 23) for i in range(4400)
    ),
    "one wide in a long run": "".join("日" if i in (2045, 2048, 4099) else chr(97 + i * i % 23) for i in range(4400)),
    "a long run after three wide": "日é😀" + "".join(chr(97 + i * i % 23) for i in range(4400)),
    "marks": "".join("a\u0301" if i % 3 else "\u0301" for i in range(2600)),
}


def expected(shingle: str, blob: bytes) -> list[int]:
    hasher = hasher_of(shingle)
    return hashing.shingle_hashes(hasher.params, blob)


def border_lengths(k: int, most: int) -> list[int]:
    near = [n * CHUNK + d for n in (1, 2) for d in (-k, -1, 0, 1, 2, k - 2, k - 1, k, k + 1)]
    return sorted({k, k + 1, *(n for n in near if k <= n <= most)})


@pytest.mark.parametrize("k", range(1, 41))
@pytest.mark.parametrize("kind", ["byte", "char", "word"])
def test_documents_of_one_token_less_than_k_of_k_and_of_one_more(kind, k):
    hasher = hasher_of(f"{kind}:{k}")
    for token in ("a", "é", "日", "😀") if kind != "word" else ("a ", "日本, ", "क्ष\n"):
        for count in (k - 1, k, k + 1):
            blob = (token * count).encode()[:count] if kind == "byte" else (token * count).encode()
            block = packed([b"before", blob], 0x61 if kind == "word" else 0xBF)
            got = filled(hasher, block, 1)
            assert got == expected(f"{kind}:{k}", blob)
            assert len(got) == (max(1, count - k + 1) if count else 0)


@pytest.mark.parametrize("k", [1, 3, 8, 9, 16, 17, 24, 40])
@pytest.mark.parametrize("name", TEXTS)
def test_characters_across_the_borders_of_chunks(name, k):
    """The shingles of a prefix are the first shingles of the whole, so one answer of the twin serves all lengths."""
    text = TEXTS[name]
    whole = expected(f"char:{k}", text.encode())
    hasher = hasher_of(f"char:{k}")
    for length in border_lengths(k, len(text)):
        got = filled(hasher, packed([text[:length].encode()], 0xBF), 0)
        assert got == whole[: length - k + 1], f"{length} characters"


@pytest.mark.parametrize("k", [1, 3, 8, 9, 16, 17, 24, 40])
def test_bytes_across_the_borders_of_chunks(k):
    blob = np.random.default_rng(k).integers(0, 256, 4400, dtype=np.uint8).tobytes()
    whole, hasher = expected(f"byte:{k}", blob), hasher_of(f"byte:{k}")
    for length in border_lengths(k, len(blob)):
        assert filled(hasher, packed([blob[:length]], 0x61), 0) == whole[: length - k + 1]


@pytest.mark.parametrize("wide", ["", "é", "日", "😀"])
@pytest.mark.parametrize("shingle", ["char:1", "char:5", "char:9", "char:16", "char:20", "byte:20", "word:1", "word:3"])
def test_short_documents_of_every_length_side_by_side(shingle, wide):
    """0 to 70 bytes, where words of a machine, vectors and masks begin and end; every third has a wide letter."""
    text = "".join("z " if i % 7 == 3 else chr(97 + i * i % 23) for i in range(70))
    blobs = [text[:length].encode() for length in range(71)]
    blobs = [blob if i % 3 else blob[: i // 2] + wide.encode() + blob[i // 2 :] for i, blob in enumerate(blobs)]
    hasher = hasher_of(shingle)
    for poison in POISONS:
        block = packed(blobs, poison)
        for i, blob in enumerate(blobs):
            assert filled(hasher, block, i) == expected(shingle, blob), (poison, blob)


@pytest.mark.parametrize("k", [17, 23, 24, 25, 31, 32, 33, 41, 1000])
def test_windows_of_more_than_sixteen_bytes_take_as_many_folds_as_they_have_words(k):
    blob = np.random.default_rng(k).integers(0, 128, k + 70, dtype=np.uint8).tobytes()
    for shingle in (f"byte:{k}", f"char:{k}"):
        whole, hasher = expected(shingle, blob), hasher_of(shingle)
        for length in range(k, len(blob) + 1):
            assert filled(hasher, packed([b"x", blob[:length]], 0xBF), 1) == whole[: length - k + 1]


def test_every_byte_is_in_a_word_or_not_at_every_place_of_a_mask():
    """All bytes of ASCII, shifted through 64 places, between a letter and a letter."""
    every = bytes(range(128))
    for shift in range(64):
        blob = b"a" * shift + every + b"b"
        assert filled(hasher_of("word:1"), packed([blob], 0x61), 0) == expected("word:1", blob)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 40])
def test_words_across_the_borders_of_chunks(k):
    words = [f"w{i * i % 911}" if i % 5 else "日本" for i in range(4200)]
    whole, hasher = expected(f"word:{k}", " ".join(words).encode()), hasher_of(f"word:{k}")
    for length in border_lengths(k, len(words)):
        got = filled(hasher, packed([" ".join(words[:length]).encode()], 0x61), 0)
        assert got == whole[: length - k + 1], f"{length} words"


@pytest.mark.parametrize("end", ["", " ", ".", "\u3000", "…"])
def test_what_follows_the_last_word_adds_nothing(end):
    for count in (2, 3, CHUNK, CHUNK + 1, CHUNK + 2):
        text = " ".join(f"w{i}" for i in range(count))
        assert filled(hasher_of("word:3"), packed([(text + end).encode()]), 0) == expected("word:3", text.encode())


@pytest.mark.parametrize("length", [CHUNK - 1, CHUNK, 10 * CHUNK + 3])
def test_one_word_or_one_gap_may_be_longer_than_a_chunk(length):
    for text in ("a" * length, "日" * length, "." * length, "a " + "." * length + " b c"):
        for k in (1, 2, 5):
            assert filled(hasher_of(f"word:{k}"), packed([text.encode()]), 0) == expected(f"word:{k}", text.encode())


@pytest.mark.parametrize("count", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1])
def test_sets_across_the_borders_of_chunks(count):
    items = [f"{i}" * (i % 9 + 1) for i in range(count)]
    for glue in ("\udcff", "\udcff\udcff"):
        blob = glue.join(items).encode("utf-8", "surrogateescape")
        for around in (b"", b"\xff", b"\xff\xff\xff"):
            assert filled(hasher_of("item"), packed([around + blob + around], 0x61), 0) == expected("item", blob)


def test_a_shingle_of_up_to_eight_bytes_is_hashed_one_to_one():
    hasher = hasher_of("byte:8")
    for value in (0, 1, 2**63, 2**64 - 1, 0x123456789ABCDEF):
        block = packed([hashing.bytes_with_hash(value, hasher.params.key)])
        assert filled(hasher, block, 0) == [value]


@pytest.mark.parametrize("shingle", ["char:3", "byte:3", "word:2"])
def test_a_document_of_too_few_tokens_is_the_hash_of_its_whole_text(shingle):
    hasher = hasher_of(shingle)
    for text in ("a", "é", "?", " \n"):
        block = packed([text.encode()], 0x80)
        alone = [hashing.hash_bytes(text.encode(), hasher.params.key)]
        if shingle == "word:2" and text.isalnum():
            alone = [hashing.join(alone, hasher.params.key)]
        assert filled(hasher, block, 0) == alone


@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize(
    "tail", ["c3", "e2", "e282", "f0", "f09f", "f09f98", "80", "bfbfbf", "f7bfbfbf", "ff", "c0", "edb080"]
)
def test_damage_at_the_very_end_reads_nothing_of_what_follows(tail, poison):
    for shingle in ("char:1", "char:3", "char:9", "word:1", "word:2", "byte:2"):
        hasher = hasher_of(shingle)
        for before in (b"", b"a", b"some words ", b"a" * (CHUNK - 1)):
            blob = before + bytes.fromhex(tail)
            quiet, loud = (filled(hasher, packed([blob], byte), 0) for byte in (0, poison))
            assert quiet == loud
            assert 1 <= len(quiet) <= len(blob)


def test_the_letters_of_words_are_those_of_unicode():
    letters = hasher_of("word:1").params.letters
    bits = np.unpackbits(letters, bitorder="little")
    categories = np.array([unicodedata.category(chr(point))[0] for point in range(0x110000)])
    assert (bits[:0x110000].astype(bool) == np.isin(categories, list("LMN"))).all()


GUARDED = """
import ctypes, mmap, sys
import numpy as np
from neardup.kernels import hashing, normal, sketching, utf8, verify
from neardup.params import Normalize
from neardup.stages.characters import table_of
from neardup.types import SLACK, Documents
from tests.twins.blocks import filled, hasher_of

plain = table_of(Normalize.parse("nfkc,casefold,punct,space")).now
page = mmap.PAGESIZE
room = mmap.mmap(-1, 4 * page)
address = ctypes.addressof(ctypes.c_char.from_buffer(room))
libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
assert libc.mprotect(address + 3 * page, page, 0) == 0
whole = np.frombuffer(room, dtype=np.uint8)[: 3 * page]
blobs = [b"", b"a", "\\u00e9".encode(), b"\\xf0", b"\\xe2\\x82", b"\\xff", b"a" * 7, b"\\xbf" * 100]
blobs += [b"a" * 2047 + b"\\xf0", b"a b " * 700 + b"\\xc3", "\\u65e5".encode() * 900]
shingles = ["byte:1", "byte:8", "byte:9", "byte:40", "char:1", "char:8", "char:9", "char:17", "char:1000", "word:1"]
if sys.argv[1:] == ["over"]:
    print(np.frombuffer((ctypes.c_char * (4 * page)).from_address(address), dtype=np.uint8)[3 * page])
for blob in blobs:
    end = whole.size - SLACK
    whole[:] = 0x61
    whole[end - len(blob) : end] = np.frombuffer(blob, dtype=np.uint8)
    block = Documents(whole, np.array([end - len(blob), end, end], dtype=np.int64))
    assert np.shares_memory(block.data, whole)
    flags = np.zeros(2, dtype=np.uint8)
    hashing.fingerprint(block.data, block.offsets, np.zeros((2, 2), np.uint64))
    wanted = np.zeros(normal.PAGES, np.bool_)
    for items in (False, True):
        normal.look(plain, block.data, block.offsets, items, flags, wanted)
        flags[:] = normal.MAPPED
        out, ends = np.zeros(9000, np.uint8), np.zeros(3, np.int64)
        normal.write(plain, block.data, block.offsets, items, flags, wanted, out, ends)
    utf8.is_ascii(block.data, end - len(blob), end)
    for shingle in (*shingles, "word:3", "item"):
        h = hasher_of(shingle)
        values, counts = np.zeros((2, 16), np.uint32), np.zeros(2, np.int64)
        sketching.sketch_block(h.params, block.data, block.offsets, 2, values, counts)
        starts, sizes = np.array([0, len(blob) + 1], np.int64), np.zeros(1, np.int64)
        out = np.zeros(len(blob) + 1, np.uint64)
        docs = np.zeros(1, np.int64)
        verify.build_sets(h.params, block.data, block.offsets, docs, starts, sizes, out)
        assert len(set(filled(h, block, 0))) == sizes[0]
print("nothing read beyond the slack")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mprotect of Linux")
def test_no_kernel_reads_beyond_the_slack(repository: Path):
    """The page behind the slack may not be read: a read there ends the process, as one on purpose shows."""
    command = [sys.executable, "-c", GUARDED]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=600)
    assert done.stdout.strip() == "nothing read beyond the slack", done.stderr[-2000:]
    over = subprocess.run([*command, "over"], cwd=repository, capture_output=True, text=True, timeout=600)
    assert over.returncode < 0, "the guard does not guard"
