"""``explain`` against a naive oracle and against what the library computes; its limits and its errors."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import text as oracle

import neardup
from neardup.errors import InputError
from neardup.params import SKETCH_FAMILIES
from neardup.tasks.explain.material import MAX_DOCUMENTS, MAX_FUNCTIONS, MAX_SHINGLES
from neardup.tasks.explain.public import explain

EMPTY = 0xFFFFFFFF
SHORT = st.text(st.sampled_from("ab é\n漢ﬁ,"), max_size=9)
SETS = st.lists(st.sets(st.integers(0, 12), max_size=6), min_size=1, max_size=4)


def naive_minima(sets: list[set[int]], functions: list[tuple[int, int, int]]) -> list[list[int | None]]:
    return [[min(((a * x + b) % m for x in one), default=None) for one in sets] for a, b, m in functions]


def naive_candidates(signature: list[list[int | None]], sets: list[set[int]], bands: int, rows: int) -> set[tuple]:
    """Pairs of non-empty sets that agree in all rows of some band."""
    found = set()
    for i, j in itertools.combinations(range(len(sets)), 2):
        same = [row[i] == row[j] for row in signature]
        if sets[i] and sets[j] and any(all(same[b * rows : (b + 1) * rows]) for b in range(bands)):
            found.add((f"S{i + 1}", f"S{j + 1}"))
    return found


@given(SETS, st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20), st.integers(1, 29)), min_size=4, max_size=4))
def test_given_functions_are_those_of_the_naive_oracle(sets, functions):
    seen = explain(sets, hashes=[f"{a}x + {b} mod {m}" for a, b, m in functions], bands="2x2")
    expected = naive_minima(sets, functions)
    assert [list(slot.values) for slot in seen.signature] == expected
    assert [list(slot) for slot in (seen.steps[-1].signature if seen.steps else ())] == (expected if seen.steps else [])
    assert {(pair.left, pair.right) for pair in seen.candidates} == naive_candidates(expected, sets, 2, 2)
    by_minhash = neardup.minhash(sets, [lambda x, f=f: (f[0] * x + f[1]) % f[2] for f in functions])
    for pair, (i, j) in zip(seen.pairs, itertools.combinations(range(len(sets)), 2), strict=True):
        assert pair.similarity == neardup.jaccard(sets[i], sets[j])
        assert pair.estimate == neardup.estimate(by_minhash[i], by_minhash[j])
        assert pair.probability == neardup.s_curve(pair.similarity, 2, 2)


@given(
    st.lists(SHORT, min_size=1, max_size=4),
    st.sampled_from(["char:2", "char:1", "word:2", "byte:3", "item"]),
    st.sampled_from(SKETCH_FAMILIES),
    st.sampled_from(["nfc", "nfkc,casefold,space"]),
)
def test_the_signatures_shown_are_those_that_the_library_computes(texts, shingle, sketch, normalize):
    seen = explain(texts, shingle=shingle, sketch=sketch, normalize=normalize, slots=8, seed=3)
    inputs = [text.split() for text in texts] if shingle == "item" else texts
    made = neardup.sketch(inputs, shingle=shingle, sketch=sketch, normalize=normalize, slots=8, seed=3)
    assert [[EMPTY if v is None else v for v in row] for row in seen.values] == made.signatures.values.tolist()
    ranks = np.array([[-1 if v is None else v for v in slot.values] for slot in seen.signature]).reshape(8, -1).T
    true = made.signatures.values
    for i, j in itertools.combinations(range(len(texts)), 2):
        assert ((ranks[i] == ranks[j]) == (true[i] == true[j])).all()
        assert ((ranks[i] < ranks[j]) & (ranks[i] >= 0) <= (true[i] < true[j])).all()
    for pair, (i, j) in zip(seen.pairs, itertools.combinations(range(len(texts)), 2), strict=True):
        assert pair.estimate == made.estimate(i, made, j)
        if shingle != "item":
            assert pair.similarity == neardup.jaccard(texts[i], texts[j], shingle, normalize=normalize)
            a, b = (oracle.shingles(texts[k], shingle, normalize) for k in (i, j))
            assert (pair.shared, pair.union) == (len(a & b), len(a | b))


@given(SETS, st.sampled_from(SKETCH_FAMILIES))
def test_signatures_of_sets_are_those_that_the_library_computes(sets, sketch):
    seen = explain(sets, sketch=sketch, slots=6)
    made = neardup.sketch([sorted(one) for one in sets], shingle="item", sketch=sketch, slots=6)
    assert [[EMPTY if v is None else v for v in row] for row in seen.values] == made.signatures.values.tolist()


@pytest.mark.parametrize("sketch", SKETCH_FAMILIES)
def test_candidates_are_those_of_the_search(sketch):
    texts = ["a rose is a rose", "a rose is a rose.", "a nose is a nose", "tulips", "two lips", ""]
    seen = explain(texts, shingle="char:3", sketch=sketch, bands="4x2")
    found = neardup.find(texts, shingle="char:3", sketch=sketch, bands="4x2", threshold=1e-9, recall=0.01)
    pairs = {(f"D{a + 1}", f"D{b + 1}") for a, b in zip(*found.pairs.select([0, 1]).to_pydict().values(), strict=True)}
    assert pairs == {(pair.left, pair.right) for pair in seen.candidates if pair.shared}
    assert pairs


def test_the_permutations_shown_are_permutations():
    seen = explain(["abcdefgh", "bcdefghi"], slots=5)
    for column in zip(*(row.values for row in seen.rows), strict=True):
        assert sorted(column) == list(range(len(seen.rows)))


def test_one_permutation_hashing_gives_each_row_one_slot():
    seen = explain(["abcdefgh", "abx"], sketch="one-permutation", slots=4)
    assert all(sum(value is not None for value in row.values) == 1 for row in seen.rows)
    assert None in seen.signature[0].values + seen.signature[1].values + seen.signature[2].values
    assert all(pair.compared <= 4 for pair in seen.pairs)
    assert "∞" in str(seen)


def test_rows_are_numbered_by_their_items_by_the_permutations_or_from_the_number_given():
    def numbers(texts=(), **call):
        return [row.number for row in explain(texts, **call).rows]

    assert numbers([{7, 3}, {"10"}]) == [3, 7, 10]
    assert numbers([{7, 3}, {"10"}], first_row=1) == [1, 2, 3]
    assert numbers([{"b", "a"}]) == [0, 1]
    assert numbers([{"b", 2}]) == [0, 1]
    assert numbers(["abc"], permutations=["1,2"]) == [1, 2]
    assert numbers(["abc"], permutations=["1,0"]) == [0, 1]
    assert numbers(rows=["10", "01"]) == [0, 1]
    assert numbers(rows=["10", "01"], first_row=5, hashes=["x mod 7"]) == [5, 6]


def test_rows_of_sets_are_sorted_and_those_of_texts_come_as_they_appear():
    assert [row.shingle for row in explain([{"c", "a"}, {10, 9, "b"}]).rows] == ["9", "10", "a", "b", "c"]
    assert [row.shingle for row in explain(["cab", "abx"]).rows] == ["ca", "ab", "bx"]


def test_a_matrix_keeps_rows_of_zeros_and_names_documents_by_column():
    seen = explain(rows=["10", "00", "11"], permutations=["2,1,3"])
    assert [document.name for document in seen.documents] == ["C1", "C2"]
    assert [row.members for row in seen.rows] == [(1, 0), (0, 0), (1, 1)]
    assert [slot.values for slot in seen.signature] == [(2, 3)]


def test_an_order_may_name_more_than_there_is_and_have_blanks_around_names():
    seen = explain([{"a"}, {"b", "c"}], orders=["z, c ,b, a"])
    assert seen.signature[0].values == (3, 1)
    with_blanks = explain(["a b"], orders=["a , b"])  # the shingles "a " and " b" as they are
    assert with_blanks.signature[0].shingles == ("a ",)


def test_an_order_is_a_list_where_a_shingle_has_a_comma():
    assert explain(["a,b"], orders=[[",b", "a,"]]).signature[0].shingles == (",b",)


def test_empty_documents_are_in_no_bucket_and_estimate_zero():
    seen = explain(["", "", "ab"], slots=2)
    assert [bucket.documents for bucket in seen.buckets] == [("D3",)]
    both, one, _ = seen.pairs
    assert (both.similarity, both.estimate, both.compared, both.is_candidate) == (1.0, 0.0, 0, False)
    assert (one.similarity, one.estimate, one.compared) == (0.0, 0.0, 2)


def test_documents_without_any_shingle_can_be_shown():
    assert "no document has a shingle" in str(explain(["", ""]))
    assert explain([[], []]).rows == ()


def test_bands_are_chosen_from_the_slots_and_slots_from_the_bands():
    def shape(**call):
        seen = explain(["abc", "bcd"], **call)
        return str(seen.bands), len(seen.functions)

    assert shape() == ("3x2", 6)
    assert shape(slots=4) == ("2x2", 4)
    assert shape(slots=5) == ("5x1", 5)
    assert shape(bands="2x4") == ("2x4", 8)
    assert shape(bands="2x4", slots=9) == ("2x4", 9)
    assert shape(hashes=["x mod 3"]) == ("1x1", 1)
    assert shape(hashes=["x mod 3", "x mod 5"]) == ("1x2", 2)


@pytest.mark.parametrize(
    ("written", "expected"),
    [("x+1 mod 5", [1, 2, 3]), ("3x mod 5", [0, 3, 1]), ("( 2*x - 1 ) % 5", [4, 1, 3]), ("x mod 2", [0, 1, 0])],
)
def test_hash_functions_can_be_written_in_several_ways(written, expected):
    assert [row.values[0] for row in explain(rows=["1", "1", "1"], hashes=[written]).rows] == expected


def test_names_come_from_a_mapping():
    seen = explain({"left": "abc", "right": "bcd"})
    assert (seen.pairs[0].left, seen.pairs[0].right) == ("left", "right")


def test_the_text_fits_the_page_and_makes_white_space_visible():
    texts = ["a rose\tis a rose is a rose, says she " * 2, "a rose is\na nose"]
    for sketch in SKETCH_FAMILIES:
        seen = explain(texts, sketch=sketch, slots=48)
        lines = str(seen).splitlines()
        assert max(map(len, lines)) <= 100
    assert any("␣i" in line for line in lines)
    assert any("\\ni" in line or "s\\n" in line for line in lines)
    assert "the first 12 of 48 functions" in str(seen)


def test_wide_and_combining_characters_are_aligned():
    seen = explain(["漢字", "e\u0301a"], shingle="char:1", normalize="none", orders=["漢,字,e,\u0301,a"])
    rows = [line for line in str(seen).splitlines() if line[2:5] in ("  0", "  1", "  2", "  3", "  4")][:5]
    assert [line.endswith(("1   0   0", "1   0   1", "0   1   2", "0   1   3", "0   1   4")) for line in rows] == [
        True
    ] * 5


@pytest.mark.parametrize(
    ("texts", "call", "words"),
    [
        ([], {}, "there is nothing to explain"),
        ("abc", {}, "texts is one text. Give a list of texts."),
        (["abc", {"a"}], {}, "both texts and sets"),
        (["abc"], {"rows": ["1"]}, "texts and a matrix are given"),
        ([{"a"}], {"shingle": "char:2"}, "shingle is char:2 and the documents are sets"),
        ([{"a", 1.5}], {}, "the item 1.5 of S1 is neither"),
        ([{True}], {}, "the item True of S1 is neither"),
        (["a\ud800b"], {}, "D1 has a lone surrogate at character 2"),
        (
            ["ab"] * (MAX_DOCUMENTS + 1),
            {},
            f"21 documents are too many for tables that can be read. Give at most {20}.",
        ),
        ([range(MAX_SHINGLES + 1)], {}, "201 distinct shingles (item), too many"),
        (["abc"], {"slots": MAX_FUNCTIONS + 1}, "201 slots are too many"),
        (["abc"], {"bands": "40x10"}, "400 slots are too many"),
        (["abc"], {"slots": 0}, "slots is 0"),
        (["abc"], {"seed": -1}, "seed is -1"),
        (["abc"], {"first_row": -1}, "first_row is -1"),
        (["abc"], {"slots": 3, "bands": "2x2"}, "bands 2x2 need 4 slots, and there are 3"),
        (["abc"], {"slots": 3, "hashes": ["x mod 2"]}, "slots is 3 and 1 functions are given"),
        (["abc"], {"sketch": "hybird"}, "Did you mean 'hybrid'?"),
        (["abc"], {"hashes": ["x^2 mod 5"]}, "hash is 'x^2 mod 5'. Give a function of the row x"),
        (["abc"], {"hashes": ["x+1 mod 0"]}, "hash is 'x+1 mod 0'"),
        (["abc"], {"permutations": ["1,2,3"]}, "permutation 1,2,3 is none of 2 rows"),
        (["abc"], {"permutations": ["1,1"]}, "permutation 1,1 is none of 2 rows"),
        (["abc"], {"permutations": ["a,b"]}, "permutation is 'a,b'. Give whole numbers"),
        (["abc"], {"orders": ["ab"]}, "order ab lacks 'bc'"),
        (["abc"], {"orders": ["ab,bc,ab"]}, "order ab,bc,ab names 'ab' twice"),
        ([], {"rows": ["10", "1"]}, "row 2 of the matrix is '1'"),
        ([], {"rows": ["12"]}, "row 1 of the matrix is '12'"),
        ([], {"rows": [""]}, "row 1 of the matrix is ''"),
        ([], {"rows": ["1" * 21]}, "21 documents are too many"),
    ],
)
def test_what_does_not_fit_is_told_with_the_cure(texts, call, words):
    with pytest.raises(InputError) as caught:
        explain(texts, **call)
    assert words in str(caught.value)


def test_sets_under_given_functions_need_no_numba():
    code = (
        "import sys; from neardup.tasks.explain.public import explain; "
        "print(explain([{0, 3}, {2}], hashes=['x+1 mod 5']).signature[0].values, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.split("\n")[0] == "(1, 3) False"
