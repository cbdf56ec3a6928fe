"""Shared passages: marked are exactly the characters that shared shingles cover, through every normalisation."""

from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.oracles import passages as oracle
from tests.twins import hashing as twin
from tests.twins.blocks import hasher_of, packed

import neardup
from neardup.engine.results.passages import Passages, shared_passages
from neardup.kernels.occurring import hashes_in_order, match
from neardup.params import Normalize, Shingle
from neardup.stages import offsets
from neardup.stages.text import normalize_text

FORMS = ("none", "nfc", "nfkc")
STEPS = ("", ",space", ",strip", ",punct", ",digits", ",punct,space", ",punct,strip")
HOWS = [form + fold + steps for form in FORMS for fold in ("", ",casefold") for steps in STEPS]
SHINGLES = ["char:1", "char:2", "char:3", "char:9", "byte:1", "byte:4", "word:1", "word:2", "word:3", "item"]
ALPHABET = [
    *"abBe17 qΣσςß.,-'\t\n\r\0",
    "\r\n",
    "é",
    "e\u0301",
    *"\u0301\u0323\u0307\u0345\u3099\u0344\u0f71\u0f72",  # marks: composing, reordered, Greek iota, voiced, Tibetan
    *"ﬁŉİıᾳᾼΐẞſÅﷺ①ｶﾞﾟ\u2126\u212b\u1e9b\u03d3",  # several from one, one from several, singletons
    *"한\u1112\u1161\u11ab\uac00\u11a8",  # Hangul: syllables and their jamo
    *"क़ष्\u093c日本\uf900\ufa0e\u09c7\u09be\u0dd9\u0dcf",
    "👩\u200d👩\u200d👧🏽",
    "🇩🇪",
    *"😀\u200b\ufeff\u202e\u2066\u2069\u00ad\u3000\x85\u2028\u00a0\U0001d15e\U00011131\U00011127",
]
PIECES = st.sampled_from(ALPHABET)


@st.composite
def two_texts(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts with passages in common, now and then the same ones in another order or twice."""
    common = draw(st.lists(st.lists(PIECES, min_size=1, max_size=12).map("".join), min_size=1, max_size=4))
    part = st.one_of(st.sampled_from(common), st.sampled_from(common), st.lists(PIECES, max_size=5).map("".join))
    a, b = (draw(st.lists(part, max_size=7).map("".join)) for _ in range(2))
    return a, b


def found(a: str, b: str, shingle: str = "char:9", how: str = "nfc") -> Passages:
    return shared_passages(a, b, shingle=Shingle.parse(shingle), normalize=Normalize.parse(how))


def marked(text: str, spans: list[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in spans]


@given(st.lists(PIECES, max_size=40).map("".join), st.sampled_from(HOWS))
@example("ﬁ\u0323\u0307", "nfkc,casefold")
@example("a\u0345\u0301", "nfc,casefold")
@example(" .\r\n. x -\u3000- ", "nfc,punct,space")
def test_every_normalised_character_knows_where_it_came_from(text, how):
    traced = offsets.trace(text, Normalize.parse(how))
    assert traced.text == oracle.normalised(text, how) == normalize_text(text, Normalize.parse(how))
    places = list(zip(traced.text, traced.starts.tolist(), traced.ends.tolist(), strict=True))
    assert places == oracle.placed(text, how)


@given(st.text(max_size=60), st.sampled_from(HOWS))
def test_places_rise_and_hold_something_in_any_text(text, how):
    traced = offsets.trace(text, Normalize.parse(how))
    assert traced.text == normalize_text(text, Normalize.parse(how))
    assert np.all(traced.starts < traced.ends)
    assert np.all(np.diff(traced.starts) >= 0)
    assert np.all(np.diff(traced.ends) >= 0)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_a_cut_before_a_separable_character_never_changes_the_form(form):
    """All characters that the rule could be wrong about, behind one probe of each class and all that compose."""
    composing = {x for x in oracle.probes() if not unicodedata.combining(x)}
    classes = {unicodedata.combining(x): x for x in oracle.probes()}
    probes = [*composing, *classes.values()]
    some = [chr(p) for p in range(0x20000) if unicodedata.decomposition(chr(p)) or unicodedata.combining(chr(p))]
    kept = [char for char in some if offsets._is_separable(char, form)]
    assert len(kept) > 1000
    for char in kept:
        own = unicodedata.normalize(form, char)
        after = unicodedata.normalize(form, "".join("\n" + x + char for x in probes))
        assert after == "".join("\n" + unicodedata.normalize(form, x) + own for x in probes), f"{ord(char):04x}"


@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(["nfc", "nfkc", "nfkc,casefold,space"]))
def test_a_rule_that_cuts_too_often_is_noticed_and_larger_pieces_are_taken(text, how):
    """As under a Unicode that is newer than the rule: wrong cuts may not change the text."""
    normalize = Normalize.parse(how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offsets, "_is_separable", lambda char, form: True)
        traced = offsets.trace(text, normalize)
    assert traced.text == normalize_text(text, normalize)
    assert np.all(np.diff(traced.starts) >= 0)
    assert np.all(np.diff(traced.ends) >= 0)


@given(two_texts(), st.sampled_from(SHINGLES), st.sampled_from(HOWS))
def test_marked_are_exactly_the_characters_that_shared_shingles_cover(texts, shingle, how):
    a, b = texts
    got = found(a, b, shingle, how)
    first, second = (oracle.occurrences(text, shingle, how) for text in texts)
    assert got.a == oracle.shared_spans(first, second)
    assert got.b == oracle.shared_spans(second, first)


@given(two_texts(), st.sampled_from(SHINGLES), st.sampled_from(HOWS))
def test_the_sets_that_are_counted_give_the_similarity(texts, shingle, how):
    a, b = texts
    got = found(a, b, shingle, how)
    first, second = ({f.shingle for f in oracle.occurrences(text, shingle, how)} for text in texts)
    assert (got.common, got.size_a, got.size_b) == (len(first & second), len(first), len(second))
    assert got.jaccard == neardup.jaccard(a, b, shingle, normalize=how)


@given(two_texts(), st.sampled_from(SHINGLES), st.sampled_from(HOWS))
def test_a_run_is_linked_to_a_run_with_a_shingle_that_is_rare_in_both(texts, shingle, how):
    got = found(*texts, shingle, how)
    first, second = (oracle.occurrences(text, shingle, how) for text in texts)
    counts = Counter(f.shingle for f in first + second)
    sides = ((got.a, first, got.links, got.b, second), (got.b, second, got.back, got.a, first))
    for own_runs, own, links, other_runs, other in sides:
        assert len(links) == len(own_runs)
        common = {f.shingle for f in own} & {f.shingle for f in other}
        for (start, end), link in zip(own_runs, links, strict=True):
            inside = {f.shingle for f in own if start <= f.start < f.end <= end} & common
            rarest = {x for x in inside if counts[x] == min(counts[y] for y in inside)}
            low, high = other_runs[link]
            assert any(f.shingle in rarest and low <= f.start < f.end <= high for f in other)


@given(two_texts(), st.sampled_from(SHINGLES), st.sampled_from(HOWS))
def test_the_two_texts_may_change_places_and_the_key_of_each_call_marks_nothing_else(texts, shingle, how):
    a, b = texts
    got, swapped = found(a, b, shingle, how), found(b, a, shingle, how)
    assert (got.a, got.b, got.links, got.back) == (swapped.b, swapped.a, swapped.back, swapped.links)
    assert found(a, b, shingle, how) == got


@given(two_texts(), st.sampled_from(SHINGLES))
def test_a_text_shares_all_of_itself_with_itself(texts, shingle):
    text = texts[0]
    got = found(text, text, shingle, "none")
    assert got.common == got.size_a == got.size_b
    assert got.jaccard == 1.0
    assert got.links == list(range(len(got.a)))
    if shingle.startswith(("char", "byte")) and text:
        assert got.a == got.b == [(0, len(text))]


@pytest.mark.parametrize("shingle", ["byte:9", "char:1", "char:9", "word:3", "item"])
@pytest.mark.parametrize("poison", [0x00, 0x61, 0xBF, 0xFF])
def test_the_kernel_writes_every_hash_in_order_and_no_more_than_there_is_room_for(shingle, poison):
    hasher = hasher_of(shingle)
    glue = b"\xff" if shingle == "item" else b" "
    for count in (0, 1, 2, 900, 2047, 2048, 2049, 4100):
        blob = glue.join(b"w%d" % (i * i % 97) for i in range(count))
        block = packed([blob], poison)
        expected = twin.shingle_hashes(hasher.params, blob)
        for room in {len(expected), len(expected) // 2}:
            out = np.zeros(room + 1, dtype=np.uint64)
            where = (block.data, int(block.offsets[0]), int(block.offsets[1]))
            got = hashes_in_order(hasher.params, *where, out[:room])
            assert got == len(expected)
            assert out.tolist() == [*expected[:room], 0]


HASHES = st.lists(st.sampled_from([0, 1, 2, 3, 1 << 60, (1 << 60) + 1, 1 << 63, (1 << 64) - 2]), max_size=30)


@given(HASHES, HASHES)
def test_the_nth_occurrence_is_matched_with_the_nth_of_the_other_side_or_its_last(a, b):
    """Hashes whose leading bits agree, so that places in the table are contested, its last one too."""
    sides = [np.array(side, dtype=np.uint64) for side in (a, b)]
    partners = [np.full(len(side), -7, dtype=np.int32) for side in (a, b)]
    counts = [np.full(len(side), -7, dtype=np.int32) for side in (a, b)]
    sizes = match(*sides, *partners, *counts)
    assert tuple(sizes) == (len(set(a)), len(set(b)), len(set(a) & set(b)))
    for own, other, partner, count in ((a, b, partners[0], counts[0]), (b, a, partners[1], counts[1])):
        expected = []
        for i, value in enumerate(own):
            places = [j for j, x in enumerate(other) if x == value]
            expected.append(places[min(own[:i].count(value), len(places) - 1)] if places else -1)
        assert partner.tolist() == expected
        assert count.tolist() == [own.count(value) + other.count(value) for value in own]


GOLDEN = [
    # a, b, shingle, normalize, marked in a, marked in b, links
    ("abcdefXghijkl", "ghijklYabcdef", "char:3", "none", ["abcdef", "ghijkl"], ["ghijkl", "abcdef"], [1, 0]),
    ("cafe\u0301 noir", "un café noir!", "char:4", "nfc", ["cafe\u0301 noir"], ["café noir"], [0]),
    ("cafe\u0301 noir", "un café noir!", "char:4", "none", ["\u0301 noir"[1:]], [" noir"], [0]),
    ("Weißbier", "WEISSBIER", "char:9", "nfc,casefold", ["Weißbier"], ["WEISSBIER"], [0]),
    ("ΟΔΟΣ, here", "in οδος.", "word:1", "nfc,casefold", ["ΟΔΟΣ"], ["οδος"], [0]),
    ("the  big\r\ncat", "(the big cat)", "char:5", "nfc,punct,space", ["the  big\r\ncat"], ["the big cat"], [0]),
    ("a-b-c-d", "xabcdx", "char:4", "nfc,punct", ["a-b-c-d"], ["abcd"], [0]),
    ("ﬁne", "fi", "char:2", "nfkc", ["ﬁ"], ["fi"], [0]),
    ("ﬁne", "in", "char:2", "nfkc", ["ﬁn"], ["in"], [0]),
    (
        "한국",
        "\u1112\u1161\u11ab\u1100\u116e\u11a8",
        "char:2",
        "nfc",
        ["한국"],
        ["\u1112\u1161\u11ab\u1100\u116e\u11a8"],
        [0],
    ),
    ("😀 one two", "one two 😀", "word:2", "nfc", ["one two"], ["one two"], [0]),
    ("👩\u200d👧!", "?👩\u200d👧", "char:3", "nfc", ["👩\u200d👧"], ["👩\u200d👧"], [0]),
    ("\u202eabc\u202c def", "abc", "word:1", "nfc", ["abc"], ["abc"], [0]),
    ("red green blue", "blue red", "item", "nfc", ["red", "blue"], ["blue", "red"], [1, 0]),
    ("ab", "ab", "char:9", "nfc", ["ab"], ["ab"], [0]),
    ("ab", "abc", "char:9", "nfc", [], [], []),
    ("one two", "  one, two!", "word:3", "nfc", ["one two"], ["one, two"], [0]),
    ("?!", "?!", "word:3", "nfc", ["?!"], ["?!"], [0]),
    ("é", "è", "byte:1", "none", ["é"], ["è"], [0]),
    ("", "", "char:9", "nfc", [], [], []),
    (" \n", "x", "char:9", "nfc,space", [], [], []),
]


@pytest.mark.parametrize(("a", "b", "shingle", "how", "in_a", "in_b", "links"), GOLDEN)
def test_small_cases_by_hand(a, b, shingle, how, in_a, in_b, links):
    got = found(a, b, shingle, how)
    assert marked(a, got.a) == in_a
    assert marked(b, got.b) == in_b
    assert got.links == links
    assert got.jaccard == neardup.jaccard(a, b, shingle, normalize=how)


def test_a_repeated_passage_is_linked_to_its_copies_in_order():
    a = "the first passage | the first passage"
    b = "the first passage + the first passage"
    got = found(a, b, "char:9")
    assert [text.strip() for text in marked(a, got.a)] == ["the first passage"] * 2
    assert got.links == got.back == [0, 1]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>" * 50,
        "a" * 300_000,
        "\r\n" * 50_000,
        "\0" * 1000,
        "\u202e\u2066" * 3000,
        "x" + "\u0301\u0323" * 500,
        "\ufdfa" * 5000,
        "".join(map(chr, [*range(0, 0xD800, 5), *range(0xE000, 0x11000)])),
    ],
    ids=["script", "one character", "line ends", "nul", "bidi", "marks", "ligature", "many scripts"],
)
@pytest.mark.parametrize("how", ["none", "nfc", "nfkc,casefold,punct,space"])
def test_hostile_texts_are_marked_like_any_other(text, how):
    for shingle in ("char:9", "byte:9", "word:3", "item"):
        got = found(text, "before " + text, shingle, how)
        assert all(0 <= start < end <= len(text) for start, end in got.a)
        assert all(left[1] < right[0] for left, right in zip(got.a, got.a[1:], strict=False))
        assert got.jaccard == neardup.jaccard(text, "before " + text, shingle, normalize=how)


def test_lone_surrogates_are_kept_in_their_places():
    got = found("\ud800one two three", "one two three\udfff", "char:9", "nfc")
    assert (got.a, got.b) == ([(1, 14)], [(0, 13)])
