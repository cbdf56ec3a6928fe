"""The worked examples of the literature come out of ``explain`` as their sources print them, by both faces.

The numbers are those of MMDS (Leskovec, Rajaraman, Ullman, ch. 3), UPC (Vilaseca, Lacasa, Martín), HH (Hanna, Hunt
2015) and ML (Lyra's notebook). Every example is one command, run with --json, and the same call from Python.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from neardup.cli import main
from neardup.tasks.explain.public import explain

LOREM = "Lorem Ipsum dolor sit amet"
MATRIX = ["1010", "1001", "0101", "0101", "0101", "1010", "1010"]
PERMUTATIONS = ["2,3,7,6,1,5,4", "4,2,1,3,6,7,5", "3,4,7,2,6,1,5"]


def told(*args: str, **call: Any) -> dict[str, Any]:
    """What the command says, which is what the call says."""
    result = CliRunner().invoke(main, ["explain", *args, "--json"])
    assert result.exit_code == 0, result.output
    by_command = json.loads(result.stdout)
    assert by_command == json.loads(json.dumps(explain(call.pop("texts", ()), **call).as_dict()))
    return by_command


def shingles(tables: dict[str, Any]) -> list[list[str]]:
    return [document["shingles"] for document in tables["documents"]]


def values(tables: dict[str, Any]) -> list[list[int]]:
    return [slot["values"] for slot in tables["signature"]]


def pair(tables: dict[str, Any], left: str, right: str) -> dict[str, Any]:
    (found,) = (one for one in tables["pairs"] if (one["left"], one["right"]) == (left, right))
    return found


def test_two_shingles_of_abcab():
    assert shingles(told("abcab", texts=["abcab"])) == [["ab", "bc", "ca"]]


def test_nadal_and_nadia_share_two_of_six():
    tables = told("Nadal", "Nadia", texts=["Nadal", "Nadia"])
    assert shingles(tables) == [["Na", "ad", "da", "al"], ["Na", "ad", "di", "ia"]]
    assert (pair(tables, "D1", "D2")["shared"], pair(tables, "D1", "D2")["union"]) == (2, 6)


def test_a_rose_has_three_shingles_of_four_words():
    rose = "a rose is a rose is a rose"
    tables = told(rose, "--shingle", "word:4", texts=[rose], shingle="word:4")
    assert shingles(tables) == [["a rose is a", "rose is a rose", "is a rose is"]]


def test_three_shingles_of_sample_document():
    tables = told("sample document", "--shingle", "char:3", texts=["sample document"], shingle="char:3")
    assert shingles(tables) == [
        ["sam", "amp", "mpl", "ple", "le ", "e d", " do", "doc", "ocu", "cum", "ume", "men", "ent"]
    ]


def test_love_and_chocolate_are_half_of_six_items():
    texts = ["I love chocolate", "I love chocolate and pizza white"]
    tables = told(*texts, "--shingle", "item", texts=texts, shingle="item")
    assert pair(tables, "D1", "D2")["similarity"] == 3 / 6


def test_lorem_ipsum_is_22_of_47():
    texts = [LOREM, LOREM + " is how dummy text starts"]
    found = pair(told(*texts, "--shingle", "char:5", texts=texts, shingle="char:5"), "D1", "D2")
    assert (found["shared"], found["union"]) == (22, 47)
    assert round(found["similarity"], 5) == 0.46809


def test_the_order_beadc_gives_a_c_b_a():
    sets = ["a,d", "c", "b,d,e", "a,c,d"]
    args = [word for one in sets for word in ("--set", one)]
    tables = told(*args, "--order", "b,e,a,d,c", texts=[one.split(",") for one in sets], orders=["b,e,a,d,c"])
    assert [row["shingle"] for row in tables["rows"]] == ["a", "b", "c", "d", "e"]
    assert [row["members"] for row in tables["rows"]] == [
        [1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0],
    ]  # fmt: skip
    assert tables["signature"][0]["shingles"] == ["a", "c", "b", "a"]


def test_two_hash_functions_of_five_rows():
    args = [word for one in ("0,3", "2", "1,3,4", "0,2,3") for word in ("--set", one)]
    tables = told(
        *args,
        *("--hash", "x+1 mod 5", "--hash", "3x+1 mod 5"),
        texts=[{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}],
        hashes=["x+1 mod 5", "3x+1 mod 5"],
    )
    assert [row["number"] for row in tables["rows"]] == [0, 1, 2, 3, 4]
    assert [row["values"] for row in tables["rows"]] == [[1, 1], [2, 4], [3, 2], [4, 0], [0, 3]]
    assert [step["signature"] for step in tables["steps"]] == [  # the five tables of MMDS, section 3.3.5
        [[1, None, None, 1], [1, None, None, 1]],
        [[1, None, 2, 1], [1, None, 4, 1]],
        [[1, 3, 2, 1], [1, 2, 4, 1]],
        [[1, 3, 2, 1], [0, 2, 0, 0]],
        [[1, 3, 0, 1], [0, 2, 0, 0]],
    ]
    assert values(tables) == [[1, 3, 0, 1], [0, 2, 0, 0]]
    expected = {("S1", "S4"): (1, 2 / 3), ("S1", "S3"): (1 / 2, 1 / 4), ("S1", "S2"): (0, 0)}
    for names, (estimate, similarity) in expected.items():
        found = pair(tables, *names)
        assert (found["estimate"], found["similarity"]) == (estimate, similarity)


def test_the_seven_row_matrix():
    args = [word for one in PERMUTATIONS for word in ("--permutation", one)]
    tables = told("--rows", ",".join(MATRIX), *args, rows=MATRIX, permutations=PERMUTATIONS)
    assert [row["number"] for row in tables["rows"]] == [1, 2, 3, 4, 5, 6, 7]
    assert values(tables) == [[2, 1, 2, 1], [2, 1, 4, 1], [1, 2, 1, 2]]
    assert [round(pair(tables, *names)["estimate"], 5) for names in (("C1", "C3"), ("C2", "C4"))] == [0.66667, 1]
    assert [pair(tables, *names)["similarity"] for names in (("C1", "C3"), ("C2", "C4"))] == [0.75, 0.75]
    for names in (("C1", "C2"), ("C3", "C4")):
        assert (pair(tables, *names)["estimate"], pair(tables, *names)["similarity"]) == (0, 0)


def test_permutations_given_as_numbers_are_those_given_as_text():
    plain = [[int(place) for place in one.split(",")] for one in PERMUTATIONS]
    assert explain(rows=MATRIX, permutations=plain) == explain(rows=MATRIX, permutations=PERMUTATIONS)


def test_nadal_and_nadia_under_an_order_of_their_shingles():
    order = "di,da,ia,na,ad,al"
    tables = told(
        *("Nadal", "Nadia", "--normalize", "casefold", "--order", order),
        texts=["Nadal", "Nadia"],
        normalize="casefold",
        orders=[order],
    )
    assert tables["signature"][0]["shingles"] == ["da", "di"]


def test_the_s_curve_of_twenty_bands_of_five():
    tables = told("abc", "bcd", "--bands", "20x5", texts=["abc", "bcd"], bands="20x5")
    curve = {point["similarity"]: round(point["probability"], 5) for point in tables["curve"]}
    assert [curve[s] for s in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)] == [
        0.00638, 0.04749, 0.18605, 0.47005, 0.80190, 0.97478, 0.99964,
    ]  # fmt: skip
    assert len(tables["signature"]) == 100


def test_a_pangram_equals_the_alphabet_when_k_is_one():
    texts = ["thequickbrownfoxjumpsoverthelazydog", "abcdefghijklmnopqrstuvwxyz"]
    tables = told(*texts, "--shingle", "char:1", texts=texts, shingle="char:1")
    assert pair(tables, "D1", "D2")["similarity"] == pair(tables, "D1", "D2")["estimate"] == 1.0


@pytest.mark.parametrize(("hashes", "notes"), [(["4x+1 mod 6"], 1), (["5x+1 mod 6"], 0), (["x mod 3", "x mod 7"], 1)])
def test_a_composite_modulus_that_is_no_permutation_is_said(hashes, notes):
    """Chang and Tang take (a i + b) mod m for a permutation of the rows, whatever m is."""
    seen = explain([range(6), [1]], hashes=hashes)
    assert len(seen.notes) == notes
    assert all("it is no permutation of the rows" in note for note in seen.notes)
