"""The golden values of the literature (method.md, section 2), through the public names only.

Sources: MMDS (Leskovec, Rajaraman, Ullman, ch. 3), HH (Hanna, Hunt 2015), UPC (Vilaseca, Lacasa, Martín),
ML (Lyra's notebook). Where a source is wrong, the right value stands here and the source's is shown to
differ.
"""

from __future__ import annotations

import pytest

import neardup

LOREM = "Lorem Ipsum dolor sit amet"
LOREM_LONGER = LOREM + " is how dummy text starts"


@pytest.mark.parametrize(
    ("text", "shingle", "expected"),
    [
        ("abcab", "char:2", ["ab", "bc", "ca"]),  # MMDS
        ("Nadal", "char:2", ["Na", "ad", "da", "al"]),  # UPC
        ("Nadia", "char:2", ["Na", "ad", "di", "ia"]),  # UPC
        (
            "sample document",  # HH
            "char:3",
            "sam amp mpl ple le_ e_d _do doc ocu cum ume men ent".replace("_", "\0").split(" "),
        ),
    ],
)
def test_shingles_come_in_the_order_of_their_first_appearance(text, shingle, expected):
    assert neardup.shingle(text, shingle) == [run.replace("\0", " ") for run in expected]


def test_a_rose_is_a_rose_has_three_distinct_four_word_shingles():
    assert len(neardup.shingle("a rose is a rose is a rose", "word:4")) == 3


def test_nadal_and_nadia_share_two_of_six():
    assert neardup.jaccard("Nadal", "Nadia", "char:2") == 2 / 6


def test_love_and_chocolate_are_half_of_six_items():
    a, b = ["I", "love", "chocolate"], ["I", "love", "chocolate", "and", "pizza", "white"]
    assert neardup.jaccard(a, b, "item") == 3 / 6


def test_lorem_ipsum_is_22_of_47_with_every_shingle_counted():
    assert neardup.jaccard(LOREM, LOREM_LONGER, "char:5") == 22 / 47
    dropped = 21 / 46  # what ML prints, because the last shingle of each text is left out there
    assert neardup.jaccard(LOREM, LOREM_LONGER, "char:5") != dropped
    assert neardup.jaccard(LOREM[:-1], LOREM_LONGER[:-1], "char:5") == dropped


def test_a_pangram_equals_the_alphabet_when_k_is_one():
    pangram = "thequickbrownfoxjumpsoverthelazydog"
    assert neardup.jaccard(pangram, "abcdefghijklmnopqrstuvwxyz", "char:1") == 1.0
    assert neardup.jaccard(pangram, "abcdefghijklmnopqrstuvwxyz", "char:3") < 0.2


def test_minhash_under_the_order_beadc():
    order = "beadc"
    rank = {element: i for i, element in enumerate(order)}
    found = neardup.minhash([{"a", "d"}, {"c"}, {"b", "d", "e"}, {"a", "c", "d"}], [rank])
    assert [order[signature[0]] for signature in found] == ["a", "c", "b", "a"]


def test_minhash_with_two_hash_functions_mod_five():
    sets = [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]
    s1, s2, s3, s4 = neardup.minhash(sets, [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5])
    assert [s[0] for s in (s1, s2, s3, s4)] == [1, 3, 0, 1]
    assert [s[1] for s in (s1, s2, s3, s4)] == [0, 2, 0, 0]
    assert neardup.estimate(s1, s4) == 1
    assert neardup.estimate(s1, s3) == 1 / 2
    assert neardup.estimate(s1, s2) == 0
    assert neardup.jaccard(sets[0], sets[3], "item") == 2 / 3
    assert neardup.jaccard(sets[0], sets[2], "item") == 1 / 4
    assert neardup.jaccard(sets[0], sets[1], "item") == 0


def test_minhash_of_the_seven_row_matrix_of_mmds():
    rows = ["1010", "1001", "0101", "0101", "0101", "1010", "1010"]
    sets = [{i for i, row in enumerate(rows) if row[column] == "1"} for column in range(4)]
    orders = [(2, 3, 7, 6, 1, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 2, 6, 1, 5)]
    found = neardup.minhash(sets, [dict(enumerate(order)) for order in orders])
    assert ["".join(str(signature[i]) for signature in found) for i in range(3)] == ["2121", "2141", "1212"]
    c1, c2, c3, c4 = found
    assert neardup.estimate(c1, c3) == 2 / 3
    assert neardup.estimate(c2, c4) == 1
    assert neardup.estimate(c1, c2) == neardup.estimate(c3, c4) == 0
    assert neardup.jaccard(sets[0], sets[2], "item") == neardup.jaccard(sets[1], sets[3], "item") == 0.75
    assert neardup.jaccard(sets[0], sets[1], "item") == neardup.jaccard(sets[2], sets[3], "item") == 0


def test_minhash_of_nadal_and_nadia():
    order = ["di", "da", "ia", "na", "ad", "al"]
    rank = {shingle: i for i, shingle in enumerate(order)}
    sets = [set(neardup.shingle(name.lower(), "char:2")) for name in ("Nadal", "Nadia")]
    assert [order[signature[0]] for signature in neardup.minhash(sets, [rank])] == ["da", "di"]


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        (0.2, 0.00638),
        (0.3, 0.04749),
        (0.4, 0.18605),
        (0.5, 0.47005),
        (0.6, 0.80190),
        (0.7, 0.97478),
        (0.8, 0.99964),
    ],
)
def test_s_curve_of_twenty_bands_of_five(similarity, expected):
    assert neardup.s_curve(similarity, 20, 5) == pytest.approx(expected, abs=5e-6)


def test_a_pair_at_point_eight_is_missed_by_twenty_bands_of_five_once_in_2800():
    assert 1 - neardup.s_curve(0.8, 20, 5) == pytest.approx(0.00035, abs=1e-5)


@pytest.mark.parametrize(
    ("threshold", "bands"), [(0.5, 23), (0.6, 18), (0.7, 14), (0.8, 10), (0.9, 6), (0.95, 4), (0.99, 2)]
)
def test_bands_by_the_logarithm_rule(threshold, bands):
    assert neardup.choose_bands(threshold, slots=100, rule="log").bands == bands


@pytest.mark.parametrize(
    ("slots", "threshold", "bands"),
    [
        *[(100, t, b) for t, b in ((0.5, 20), (0.6, 20), (0.7, 10), (0.8, 10), (0.9, 5))],
        *[(200, t, b) for t, b in ((0.5, 40), (0.6, 25), (0.7, 25), (0.8, 20), (0.9, 10))],
    ],
)
def test_bands_by_the_divisor_rule(slots, threshold, bands):
    chosen = neardup.choose_bands(threshold, slots=slots, rule="divisor")
    assert (chosen.bands, chosen.rows) == (bands, slots // bands)


def test_bands_by_recall_are_32_by_8_for_256_slots_at_point_eight():
    chosen = neardup.choose_bands(0.8, slots=256, recall=0.99)
    assert (chosen.bands, chosen.rows) == (32, 8)


@pytest.mark.parametrize("slots", [64, 100, 128, 256, 512])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
def test_bands_by_recall_have_the_most_rows_that_still_keep_the_promise(slots, threshold):
    chosen = neardup.choose_bands(threshold, slots=slots, recall=0.99, rule="recall")
    assert chosen.bands * chosen.rows <= slots
    assert neardup.s_curve(threshold, chosen.bands, chosen.rows) >= 0.99
    longer = chosen.rows + 1
    assert neardup.s_curve(threshold, slots // longer, longer) < 0.99
