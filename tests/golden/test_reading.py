"""Small cases of the text rules, written out by hand: what a token, a shingle and a normalised text are."""

from __future__ import annotations

import pytest

import neardup


@pytest.mark.parametrize(
    ("text", "shingle", "normalize", "expected"),
    [
        ("short", "char:9", "nfc", ["short"]),
        ("", "char:9", "nfc", []),
        (" ", "char:9", "nfc,space", []),
        ("one two", "word:3", "nfc", ["one two"]),
        ("don't stop-me now", "word:2", "nfc", ["don t", "t stop", "stop me", "me now"]),
        ("?!", "word:3", "nfc", ["?!"]),
        ("aaaa", "char:2", "nfc", ["aa"]),
        ("Straße", "char:7", "nfc,casefold", ["strasse"]),
        ("e\u0301a", "char:1", "nfc", ["é", "a"]),
        ("e\u0301a", "char:1", "none", ["e", "\u0301", "a"]),
        ("ﬁn", "char:3", "nfkc", ["fin"]),
        ("a  b\n\tc", "char:5", "nfc,space", ["a b c"]),
        (" a  b ", "char:2", "nfc,strip", ["ab"]),
        ("a,b.c", "char:3", "nfc,punct", ["abc"]),
        ("日本語", "char:2", "nfc", ["日本", "本語"]),
        ("👍🏽ok", "char:3", "nfc", ["👍🏽o", "🏽ok"]),
        ("हिन्दी भाषा", "word:1", "nfc", ["हिन्दी", "भाषा"]),
        ("x_1 y", "word:1", "nfc", ["x", "1", "y"]),
    ],
)
def test_shingles_of_small_texts(text, shingle, normalize, expected):
    assert neardup.shingle(text, shingle, normalize=normalize) == expected


def test_byte_shingles_cut_between_the_bytes_of_a_character():
    assert neardup.jaccard("é", "è", "byte:1") == 1 / 3  # c3 a9, c3 a8


@pytest.mark.parametrize("shingle", ["char:9", "char:3", "word:3", "byte:4"])
@pytest.mark.parametrize("text", ["a", "short", "x" * 40, "日本語の文章です。", "?!"])
def test_a_text_equals_itself(text, shingle):
    assert neardup.jaccard(text, text, shingle) == 1.0


@pytest.mark.parametrize(
    ("a", "b", "shingle", "expected"),
    [
        ("0123456789", "0123456", "char:1", 7 / 10),
        ("01234", "0123", "char:1", 4 / 5),
        ("a b c d e f g h i j", "a b c d e f g", "word:1", 7 / 10),
        ([1, 2, 3], [3, 2, 1, 1], "item", 1.0),
        (["a b"], ["a", "b"], "item", 0.0),
    ],
)
def test_similarity_of_small_pairs(a, b, shingle, expected):
    assert neardup.jaccard(a, b, shingle) == expected


@pytest.mark.parametrize(("t", "size"), [(0.7, 10), (0.8, 5), (0.3, 10), (0.6, 5), (0.9, 10), (0.95, 20), (0.1, 10)])
def test_a_pair_at_exactly_the_threshold_is_found(t, size):
    """Fifty pairs under other names: the promise lets chance miss one, rounding would miss all."""
    shared = round(t * size)
    rows = [[f"{p}.{i}" for i in range(n)] for p in range(50) for n in (size, shared)]
    found = neardup.find(rows, threshold=t, shingle="item")
    assert found.pairs.num_rows >= 45
    assert set(found.pairs["similarity"].to_pylist()) == {shared / size}
