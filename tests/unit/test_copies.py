"""Exact copies are equal texts, whatever their prints say: held against a dict of texts, with crippled prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup.engine.reading import copies as copies_module
from neardup.engine.reading.again import SourceTexts
from neardup.engine.reading.collection import Collection, Rows
from neardup.engine.reading.copies import find_copies
from neardup.engine.space import Budget, Space
from neardup.spool import FileTexts, MemoryColumn, MemoryTexts
from neardup.stages.bands import KEY_BYTES, counts_of
from neardup.stages.sketch import fingerprints
from neardup.tuning import make_spec
from neardup.types import Documents

U64 = NDArray[np.uint64]
Prints = Callable[[Documents], U64]


def constant(documents: Documents) -> U64:
    return np.full((len(documents), 2), 7, dtype=np.uint64)


def two_bits(documents: Documents) -> U64:
    return fingerprints(documents) & np.uint64(1)


def half(documents: Documents) -> U64:
    """All that a search by the first 64 bits sees is right; the others say nothing."""
    prints = fingerprints(documents)
    prints[:, 1] = 0
    return prints


PRINTS = [fingerprints, half, two_bits, constant]


def groups_by_dict(texts: list[bytes]) -> list[list[int]]:
    """Rows of each text that comes more than once, empty ones apart."""
    rows: dict[bytes, list[int]] = {}
    for row, text in enumerate(texts):
        rows.setdefault(text, []).append(row)
    return sorted(group for text, group in rows.items() if text and len(group) > 1)


def found_groups(texts: list[bytes], prints: Prints, space: Space, block: int = 3, threads: int = 1) -> list[list[int]]:
    spec = make_spec(shingle="byte:3")
    collection = Collection.new(spec, space)
    for first in range(0, len(texts), block):
        documents = Documents.from_bytes(texts[first : first + block])
        n = len(documents)
        keys = np.zeros((spec.bands.bands, n, KEY_BYTES), np.uint8)
        bits = np.zeros((n, spec.screening.words), np.uint64)
        lengths = np.diff(documents.offsets)
        collection.append(Rows(documents, lengths, prints(documents), keys, bits, counts_of(keys)), None, 0.0)
    copies = find_copies(collection, threads=threads)
    groups = [copies.members[a:b].tolist() for a, b in zip(copies.starts[:-1], copies.starts[1:], strict=True)]
    assert [group[0] for group in groups] == copies.several.tolist() == sorted(copies.several.tolist())
    weight = [0 if not text else 1 for text in texts]
    for group in groups:
        assert group == sorted(group)
        for row in group:
            weight[row] = 0
        weight[group[0]] = len(group)
    assert copies.weight.tolist() == weight
    assert copies.empty == sum(not text for text in texts)
    return groups


def in_memory(work: int = 1 << 28) -> Space:
    return Space(Budget(work, work), None, {})


def on_disk(folder: Path, work: int = 1 << 28) -> Space:
    return Space(Budget(work, work), folder / "work", {}, at_once=True)


FEW_TEXTS = st.lists(st.binary(max_size=2), max_size=60)
LONG_TEXTS = st.lists(
    st.tuples(st.sampled_from([b"x" * 63, b"x" * 64, b"x" * 200]), st.integers(0, 199), st.sampled_from(b"xyz")).map(
        lambda drawn: drawn[0][: drawn[1]] + bytes([drawn[2]]) + drawn[0][drawn[1] + 1 :]
    ),
    max_size=40,
)


@pytest.mark.parametrize("prints", PRINTS)
@given(texts=FEW_TEXTS | LONG_TEXTS)
def test_copies_are_the_equal_texts_however_weak_the_print_is(prints: Prints, texts: list[bytes]):
    assert found_groups(texts, prints, in_memory()) == groups_by_dict(texts)


@pytest.mark.parametrize("work", [1 << 10, 1 << 20, 1 << 28])
@pytest.mark.parametrize("prints", PRINTS)
def test_copies_on_disk_are_the_same_at_any_limit(tmp_path: Path, prints: Prints, work: int):
    draw = np.random.default_rng(1)
    texts = [bytes(draw.integers(97, 99, draw.integers(0, 9)).astype(np.uint8)) for _ in range(2000)]
    texts += [b"a" * 400_000 + bytes([c]) for c in b"abcab"]  # longer than what is held at a time
    space = on_disk(tmp_path, work)
    assert found_groups(texts, prints, space, block=100) == groups_by_dict(texts)
    space.close(finished=True)


@pytest.mark.parametrize("prints", [fingerprints, two_bits])
def test_copies_are_the_same_for_any_number_of_threads(prints: Prints, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(copies_module, "MANY", 1)  # each thread looks at a part of the prints
    draw = np.random.default_rng(3)
    texts = [bytes(draw.integers(97, 100, draw.integers(0, 7)).astype(np.uint8)) for _ in range(12_000)]
    expected = groups_by_dict(texts)
    for threads in (1, 2, 3, 16):
        assert found_groups(texts, prints, in_memory(), block=500, threads=threads) == expected


def test_known_bad_grouping_by_print_alone_fails_the_same_check(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("neardup.engine.reading.copies._verified", lambda collection, of, members, **_: (of, members))
    texts = [b"one text", b"and another", b"one text"]
    assert found_groups(texts, fingerprints, in_memory()) == groups_by_dict(texts)
    assert found_groups(texts, constant, in_memory()) != groups_by_dict(texts)


def texts_of(blobs: list[bytes], space: Space) -> SourceTexts:
    texts = SourceTexts(space, MemoryColumn(np.uint64, 2), lambda documents: documents, keep=True, near=False)
    assert isinstance(texts.kept, MemoryTexts if space.workdir is None else FileTexts)
    for first in range(0, len(blobs), 7):
        texts.append(Documents.from_bytes(blobs[first : first + 7]))
    return texts


@pytest.mark.parametrize("where", ["memory", "disk"])
@pytest.mark.parametrize("room", [1, 1000, 1 << 20])
def test_texts_are_held_against_each_other_byte_for_byte(tmp_path: Path, where: str, room: int):
    """Every length up to past two words and two steps of the kernel, each byte changed in turn, in every place."""
    blobs, left, right, expected = [], [], [], []
    for length in [*range(19), 63, 64, 65, 127, 128, 129, 150]:
        blob = bytes(range(1, length + 1))
        for at in range(-1, length):
            changed = blob if at < 0 else blob[:at] + bytes([blob[at] ^ 0x80]) + blob[at + 1 :]
            left.append(len(blobs))
            right.append(len(blobs) + 1)
            blobs += [blob, changed]
            expected.append(at < 0)
    blobs += [b"abc", b"abcd", b"", b"\0", b"\0\0"]
    for a, b in ((-5, -4), (-3, -2), (-2, -1), (-1, -3)):
        left.append(len(blobs) + a)
        right.append(len(blobs) + b)
        expected.append(False)
    space = on_disk(tmp_path) if where == "disk" else in_memory()
    texts = texts_of(blobs, space)
    order = np.random.default_rng(2).permutation(len(left))
    found = texts.same(np.array(left)[order], np.array(right)[order], room)
    assert found.tolist() == np.array(expected)[order].tolist()
    space.close(finished=True)
