"""Runs of postings: lookup, merging and directories hold against the plain twins; segment files give the same back."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import postings as twin

from neardup.errors import FormatError
from neardup.index.segments import Keys, bad_pages, open_segment, write_merged, write_new
from neardup.kernels.postings import PAGE
from neardup.stages.postings import Run, compacted, lookup, make_run, merge_runs

ROWS = 4
Block = tuple[int, np.ndarray, np.ndarray]


@st.composite
def blocks(draw: st.DrawFn) -> list[Block]:
    """Runs that follow each other; few distinct keys, so that buckets are crowded, at both ends of their range."""
    kinds = np.array([0, 1, 2, 7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF], dtype=np.uint32)
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    found, base = [], 0
    for size in sizes:
        some = kinds[rng.integers(0, kinds.size, (ROWS, size))]
        mixed = np.where(rng.random((ROWS, size)) < 0.5, some, rng.integers(0, 2**32, (ROWS, size), dtype=np.uint32))
        found.append((base, mixed, rng.integers(0, 3, size).astype(np.uint64)))
        base += size
    return found


def made(block: Block) -> Run:
    base, keys, prints = block
    return make_run(base, keys, prints, np.ones(prints.size, dtype=np.bool_))


def asked(
    runs: list[Run], keys: np.ndarray, wanted: np.ndarray, first_row: int = 0
) -> list[dict[int, tuple[int, int]]]:
    """What a lookup finds: bands that agree with each document, and the least place of its text among the query's."""
    found = lookup(runs, np.stack([run.fields for run in runs]), keys, wanted, first_row=first_row)
    assert found.damaged == -1
    ends = [0, *found.ends.tolist()]
    numbers, bands, twins = found.numbers.tolist(), found.bands.tolist(), found.same_text.tolist()
    answer = []
    for begin, end in pairwise(ends):
        assert len(set(numbers[begin:end])) == end - begin
        assert all(begin <= twins[i] <= i and twins[twins[i]] == twins[i] for i in range(begin, end))
        answer.append({numbers[i]: (bands[i], twins[i]) for i in range(begin, end)})
    return answer


@settings(max_examples=60, deadline=None)
@given(blocks(), st.integers(0, 2**32), st.integers(0, 1))
def test_a_lookup_finds_what_comparing_all_keys_finds(parts: list[Block], seed: int, first_row: int) -> None:
    rng = np.random.default_rng(seed)
    whole = np.concatenate([keys for _, keys, _ in parts], axis=1)
    queries = whole[first_row:, rng.integers(0, whole.shape[1], 5)].copy()
    queries[rng.random(queries.shape) < 0.3] = 12345
    wanted = rng.random(5) < 0.8
    expected = twin.lookup(parts, queries, wanted, first_row)
    found = asked([made(part) for part in parts], np.ascontiguousarray(queries), wanted, first_row)
    for mine, plain in zip(found, expected, strict=True):
        assert {number: bands for number, (bands, _) in mine.items()} == {n: bands for n, (bands, _) in plain.items()}
        twins = {number: place for number, (_, place) in mine.items()}
        for a in twins:
            for b in twins:
                assert (twins[a] == twins[b]) == (plain[a][1] == plain[b][1])


@settings(max_examples=40, deadline=None)
@given(blocks(), st.integers(1, 12))
def test_a_cut_lookup_finds_the_lowest_numbers_of_each_key_and_says_so(parts: list[Block], limit: int) -> None:
    whole = np.concatenate([keys for _, keys, _ in parts], axis=1)
    runs, queries = [made(part) for part in parts], np.ascontiguousarray(whole[:, :7])
    table, wanted = np.stack([run.fields for run in runs]), np.ones(queries.shape[1], dtype=np.bool_)
    found = lookup(runs, table, queries, wanted, first_row=0, limit=limit)
    begins = [0, *found.ends.tolist()]
    for q in range(queries.shape[1]):
        each = [np.flatnonzero(whole[row] == queries[row, q]).tolist() for row in range(ROWS)]
        expected = Counter(chain.from_iterable(numbers[:limit] for numbers in each))
        mine = slice(begins[q], begins[q + 1])
        assert dict(zip(found.numbers[mine].tolist(), found.bands[mine].tolist(), strict=True)) == expected
        assert found.is_cut[q] == any(len(numbers) > limit for numbers in each)


def test_only_the_pages_that_a_cut_lookup_reads_are_checked(tmp_path: Path) -> None:
    n = 20_000
    keys = np.full((ROWS, n), 7, dtype=np.uint32)
    path = tmp_path / "a.bands"
    run = make_run(0, keys, np.arange(n, dtype=np.uint64), np.ones(n, np.bool_))
    write_merged(path, [run], np.empty(0, np.int64), "0123456789ab")
    whole = bytearray(path.read_bytes())
    whole[-8 * n - n] ^= 1  # inside the postings of the third row
    path.write_bytes(whole)
    damaged = open_segment(path, 0, n, ROWS, "0123456789ab")
    how = damaged.fields.reshape(1, -1), np.ascontiguousarray(keys[:, :1]), np.ones(1, dtype=np.bool_)
    found = lookup([damaged], *how, first_row=0, limit=64)
    assert found.damaged == -1
    assert found.is_cut.all()
    assert dict(zip(found.numbers.tolist(), found.bands.tolist(), strict=True)) == dict.fromkeys(range(64), ROWS)
    checks = damaged.checks
    assert checks is not None
    assert np.count_nonzero(checks[1]) < 60 < checks[1].size
    assert lookup([damaged], *how, first_row=0).damaged == 0


@settings(max_examples=40, deadline=None)
@given(blocks())
def test_merging_keeps_every_posting_in_order(parts: list[Block]) -> None:
    runs = [made(part) for part in parts]
    merged = runs[0]
    for run in runs[1:]:
        merged = merge_runs(merged, run)
    expected = [sorted(chain.from_iterable(twin.content(run)[row] for run in runs)) for row in range(ROWS)]
    for run in (merged, compacted(runs, np.empty(0, np.int64))):
        assert twin.content(run) == expected
        assert run.directory.tolist() == twin.directory(run)
        assert run.prints.tolist() == [int(value) for part in parts for value in part[2]]


@settings(max_examples=30, deadline=None)
@given(blocks(), st.integers(0, 2**32))
def test_a_segment_file_gives_back_what_was_written(tmp_path_factory: pytest.TempPathFactory, parts, seed) -> None:
    folder = tmp_path_factory.mktemp("segment")
    runs = [made(part) for part in parts]
    end = runs[-1].end
    removed = np.flatnonzero(np.random.default_rng(seed).random(end) < 0.3)
    write_merged(folder / "a.bands", runs, removed, "0123456789ab")
    opened = open_segment(folder / "a.bands", 0, end, ROWS, "0123456789ab")
    gone = set(removed.tolist())
    expected = [
        [pair for pair in sorted(chain.from_iterable(twin.content(run)[row] for run in runs)) if pair[1] not in gone]
        for row in range(ROWS)
    ]
    assert twin.content(opened) == expected
    assert opened.directory.tolist() == twin.directory(opened)
    assert bad_pages(opened) == 0
    assert [path.name for path in folder.iterdir()] == ["a.bands"]


def test_a_new_segment_has_no_postings_of_documents_without_shingles(tmp_path: Path) -> None:
    keys = np.arange(ROWS * 6, dtype=np.uint32).reshape(ROWS, 6)
    shingled = np.array([True, False, True, True, False, True])
    numbers = np.array([0, 1, 2, 4, 5, 7])
    made_of = Keys(100, [keys[:, :2], keys[:, 2:]], numbers, np.zeros(8, np.uint64), shingled)
    write_new(tmp_path / "a.bands", made_of, "0123456789ab")
    opened = open_segment(tmp_path / "a.bands", 100, 8, ROWS, "0123456789ab")
    assert twin.content(opened) == twin.content(made_of.run())
    assert [number for _, number in twin.content(opened)[0]] == [100, 102, 104, 107]
    assert [number for _, number in twin.content(opened)[ROWS - 1]] == [100, 101, 102, 104, 105, 107]


def test_every_flipped_byte_of_a_page_is_seen_before_it_is_used(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 2**32, (ROWS, 300), dtype=np.uint32)
    run = make_run(0, keys, rng.integers(0, 2**62, 300).astype(np.uint64), np.ones(300, np.bool_))
    path = tmp_path / "a.bands"
    write_merged(path, [run], np.empty(0, np.int64), "0123456789ab")
    whole = path.read_bytes()
    wanted = np.ones(300, dtype=np.bool_)
    expected = asked([run], keys, wanted)
    for at in rng.integers(PAGE, len(whole), 40).tolist():
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
        damaged = open_segment(path, 0, 300, ROWS, "0123456789ab")
        found = lookup([damaged], damaged.fields.reshape(1, -1), keys, wanted, first_row=0)
        assert found.damaged == 0 or asked([damaged], keys, wanted) == expected
        assert bad_pages(damaged) == 1


@pytest.mark.parametrize("at", [0, 9, 20, 40, 70, 100, 130])
def test_a_flipped_byte_of_the_header_keeps_a_segment_from_opening(tmp_path: Path, at: int) -> None:
    run = make_run(0, np.zeros((ROWS, 3), np.uint32), np.zeros(3, np.uint64), np.ones(3, np.bool_))
    path = tmp_path / "a.bands"
    write_merged(path, [run], np.empty(0, np.int64), "0123456789ab")
    whole = bytearray(path.read_bytes())
    whole[at] ^= 4
    path.write_bytes(whole)
    with pytest.raises(FormatError, match=r"a\.bands"):
        open_segment(path, 0, 3, ROWS, "0123456789ab")


def test_a_segment_of_another_index_or_of_other_documents_is_refused(tmp_path: Path) -> None:
    run = make_run(0, np.zeros((ROWS, 3), np.uint32), np.zeros(3, np.uint64), np.ones(3, np.bool_))
    write_merged(tmp_path / "a.bands", [run], np.empty(0, np.int64), "0123456789ab")
    for base, span, rows, spec in (
        (1, 3, ROWS, "0123456789ab"),
        (0, 4, ROWS, "0123456789ab"),
        (0, 3, 5, "0123456789ab"),
        (0, 3, ROWS, "ba9876543210"),
    ):
        with pytest.raises(FormatError, match="another index"):
            open_segment(tmp_path / "a.bands", base, span, rows, spec)
