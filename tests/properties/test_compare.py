"""Comparisons: exact measures, and marks that stay what they are in JSON, in windows and in a terminal."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import unicodedata

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.oracles import compare as oracle
from tests.properties.test_passages import HOWS, PIECES, SHINGLES, two_texts

import neardup
from neardup.cli.compare_text import print_texts
from neardup.pages.pairs import LISTED, pair_data, text_data
from neardup.stages.passages import groups
from neardup.tasks.compare.comparison import Comparison
from neardup.tasks.compare.gaps import GAP_WORDS, chain, changed_words
from neardup.tasks.compare.public import compare

WORDS = st.lists(st.sampled_from([*"abcde", "the", "Ünï", "日本", "e\u0301", "x-y"]), max_size=60).map(" ".join)
BELL = "<BEL> and <U+0301> are \x07, \u0301"


def shown(found: Comparison, *, columns: int, colour: bool = True, is_full: bool = True) -> str:
    """What a terminal would be sent."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setenv("COLUMNS", str(columns))
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("TERM", "xterm-256color")
        patch.delenv("FORCE_COLOR", raising=False)
        if colour:
            patch.setenv("FORCE_COLOR", "1")
        print_texts(found, ("a.txt", "b.txt"), is_full=is_full)
    return out.getvalue()


@given(two_texts(), st.sampled_from(SHINGLES), st.sampled_from(HOWS))
def test_measures_are_set_arithmetic_and_marks_cover_what_was_counted(texts, shingle, how):
    found = compare(*texts, shingle=shingle, normalize=how)
    expected = oracle.measures(*texts, shingle, how)
    assert found.sizes == expected.sizes
    assert found.jaccard == expected.jaccard == neardup.jaccard(*texts, shingle, normalize=how)
    assert (found.containment_a_in_b, found.containment_b_in_a) == (expected.a_in_b, expected.b_in_a)
    marked = found.passages.a, found.passages.b
    assert tuple(map(oracle.inside, marked)) == expected.marked
    for share, chars, text in zip((found.covered_a, found.covered_b), expected.marked, texts, strict=True):
        assert share == (len(chars) / len(text) if text else 0.0)


@given(two_texts(), st.sampled_from([s for s in SHINGLES if not s.startswith("byte")]), st.sampled_from(HOWS))
def test_containment_is_that_of_the_public_shingles(texts, shingle, how):
    a, b = (set(neardup.shingle(text, shingle, normalize=how)) for text in texts)
    found = compare(*texts, shingle=shingle, normalize=how)
    assert found.containment_a_in_b == (len(a & b) / len(a) if a else 1.0)
    assert found.containment_b_in_a == (len(a & b) / len(b) if b else 1.0)


@given(two_texts(), st.sampled_from(SHINGLES), st.sampled_from(HOWS))
def test_json_has_the_spans_and_every_measure(texts, shingle, how):
    found = compare(*texts, shingle=shingle, normalize=how)
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert tuple(oracle.inside(told["passages"][side]) for side in "ab") == oracle.measures(*texts, shingle, how).marked
    assert told == found.as_dict()
    assert told["jaccard"] == found.jaccard
    assert compare(*texts[::-1], shingle=shingle, normalize=how).sizes == (*found.sizes[1::-1], found.sizes[2])


@given(two_texts(), st.sampled_from(SHINGLES), st.sampled_from(HOWS))
def test_the_longest_passage_is_marked_in_both_texts_and_none_is_longer(texts, shingle, how):
    found = compare(*texts, shingle=shingle, normalize=how)
    length, start_a, start_b = found.longest
    runs = found.passages
    pairs = {*enumerate(runs.links), *((i, j) for j, i in enumerate(runs.back))}
    sizes = [min(runs.a[i][1] - runs.a[i][0], runs.b[j][1] - runs.b[j][0]) for i, j in pairs]
    assert length == max(sizes, default=0)
    if length:
        assert any(start == start_a and end >= start_a + length for start, end in runs.a)
        assert any(start == start_b and end >= start_b + length for start, end in runs.b)
        swapped = compare(*texts[::-1], shingle=shingle, normalize=how)
        assert swapped.longest[0] == length


ITEMS = st.lists(
    st.one_of(st.integers(-9, 9), st.sampled_from(["x", "a b", "7", " c", "d\te", "é", "日 本"])), max_size=12
)


@given(ITEMS, ITEMS)
def test_sets_are_compared_item_by_item_and_their_marks_are_items(a, b):
    found = compare(a, b, shingle="item", normalize="none")
    set_a, set_b = ({str(item) for item in own} for own in (a, b))
    assert found.sizes == (len(set_a), len(set_b), len(set_a & set_b))
    assert found.jaccard == neardup.jaccard(set_a, set_b)
    assert found.texts == (" ".join(map(str, a)), " ".join(map(str, b)))
    for text, own, spans in zip(found.texts, (a, b), (found.passages.a, found.passages.b), strict=True):
        assert [text[start:end] for start, end in spans] == [str(item) for item in own if str(item) in set_a & set_b]


@given(two_texts(), st.sampled_from(["char:3", "word:1", "item", "byte:4"]), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_the_estimate_is_the_sketch_s_and_found_is_what_find_finds(texts, shingle, seed):
    how = {"shingle": shingle, "normalize": "nfc", "seed": seed}
    search = {"threshold": 0.3, "recall": 0.5, "slots": 32}
    found = compare(*texts, **how, **search)
    if not min(found.sizes[:2]):
        assert (found.estimate, found.found) == (found.jaccard, False)
    else:
        made = neardup.sketch(list(texts), **how, slots=32)
        assert found.estimate == made.estimate(0, made, 1)
    assert found.estimate_error == (found.jaccard * (1 - found.jaccard) / 32) ** 0.5
    assert found.probability == neardup.s_curve(found.jaccard, found.bands.bands, found.bands.rows)
    listed = len(neardup.find(list(texts), **how, **search, threads=1).pairs) == 1
    assert listed == (found.found and found.jaccard >= 0.3)


@given(two_texts(), st.sampled_from(SHINGLES), st.sampled_from(HOWS), st.integers(24, 99))
@example((BELL, BELL), "char:3", "nfc", 30)
@example(("a" + "\u0301\u0323" * 20, "a" + "\u0301\u0323" * 20 + "b"), "char:2", "nfc", 24)
@example((" \n\n a" + " " * 200 + "b\n", "x" * 300 + "\n"), "char:2", "nfc", 40)
def test_both_texts_and_their_marks_can_be_read_back_from_a_terminal(texts, shingle, how, columns):
    found = compare(*texts, shingle=shingle, normalize=how)
    output = shown(found, columns=columns)
    seen = oracle.read_coloured(output)
    marks = oracle.measures(*texts, shingle, how).marked
    for text, marked, got in zip(texts, marks, seen, strict=True):
        assert got.text == text
        assert got.marked == {i for i in marked if text[i] != "\n"}  # the end of a row has no background
    assert_harmless(output)
    for line in output.split("\n")[3:]:
        assert cell_len(oracle.SGR.sub("", line)) <= max(columns, 28)


@given(two_texts(), st.sampled_from(SHINGLES), st.sampled_from(HOWS))
def test_marks_can_be_read_back_without_colour(texts, shingle, how):
    found = compare(*texts, shingle=shingle, normalize=how)
    output = shown(found, columns=60, colour=False)
    assert "\x1b" not in output
    lines = output.split("\n")
    second = lines.index("B  b.txt")
    marks = oracle.measures(*texts, shingle, how).marked
    parts = lines[2 : second - 1], lines[second + 1 : -1]
    for text, marked, rows, numbers in zip(texts, marks, parts, groups(found.passages), strict=True):
        if not text:
            assert rows == ["    (empty)"]
            continue
        got = oracle.read_plain(rows, 3)
        assert got.text == text
        assert {i for i in got.marked if text[i] != "\n"} == {i for i in marked if text[i] != "\n"}
        assert got.numbers == numbers


@given(two_texts(), st.sampled_from(["char:3", "word:1", "item"]), st.integers(100, 160))
def test_side_by_side_both_columns_keep_their_place_and_their_text(texts, shingle, columns):
    assume(not any(unicodedata.bidirectional(char) in ("R", "AL") for char in "".join(texts)))
    found = compare(*texts, shingle=shingle)
    output = oracle.SGR.sub("", shown(found, columns=columns))
    lines = output.split("\n")[1:-1]
    assert all(line == line.rstrip(" ") for line in shown(found, columns=columns, colour=False).split("\n"))
    pairs = [line.split(" │") for line in lines]
    assert {cell_len(left) for left, _ in pairs} == {(columns - 3) // 2}
    for side, text in enumerate(texts):
        shown_text = "".join(re.sub(r"^ ?[ \d]{3} ", "", pair[side].ljust(9)) for pair in pairs[1:])
        plain = re.sub(r"\[\d+\]|\[/\d+\]|[{}]", "", shown_text)
        plain = re.sub(r"<[^>]+>|[␉␍◌]", lambda name: oracle.unhidden(name[0]), plain)
        assert "".join(plain.split()) == ("".join(text.split()) if text else "(empty)")


def assert_harmless(output: str) -> None:
    """Nothing but colours steers the terminal, and nothing turns the direction of what follows."""
    for char in set(oracle.SGR.sub("", output)) - {"\n"}:
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"), ascii(char)


@st.composite
def texts_with_spans(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A text with spans in it, many or few, short or long."""
    unit = draw(st.lists(PIECES, min_size=1, max_size=30).map("".join))
    text = unit * draw(st.integers(0, 200))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=draw(st.sampled_from([4, 40])))))
    return text, [(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]


@given(texts_with_spans(), st.integers(1, 3000))
def test_windows_never_shift_a_character_nor_lose_a_span_that_has_room(given_text, most):
    text, spans = given_text
    data = text_data(text, spans, most=most)
    assert data["characters"] == len(text)
    pieces = data["pieces"]
    assert all(part and text[start : start + len(part)] == part for start, part in pieces)
    assert all(left + len(part) < right for (left, part), (right, _) in itertools.pairwise(pieces))
    assert sum(len(part) for _, part in pieces) <= most
    if len(text) <= most:
        assert "".join(part for _, part in pieces) == text
    elif (len(spans) + 1) * 250 <= most:
        visible = oracle.inside([(start, start + len(part)) for start, part in pieces])
        assert set(range(20)) <= visible
        for start, end in spans:
            assert {start, end - 1} <= visible
            assert end - start > 80 or set(range(start, end)) <= visible


@given(two_texts(), st.sampled_from(SHINGLES))
@settings(max_examples=60, deadline=None)
def test_a_pair_as_data_says_what_the_comparison_says(texts, shingle):
    found = compare(*texts, shingle=shingle)
    data = json.loads(json.dumps(pair_data(found.passages, tuple(map(len, texts)), measure="containment")))
    assert data["jaccard"] == found.jaccard
    assert (data["a_in_b"], data["b_in_a"]) == (found.containment_a_in_b, found.containment_b_in_a)
    assert data["similarity"] == max(data["a_in_b"], data["b_in_a"])
    assert data["sizes"] == list(found.sizes)
    assert data["covered"] == [found.covered_a, found.covered_b]
    assert data["longest"] == list(found.longest)
    assert data["runs"] == [len(found.passages.a), len(found.passages.b)]
    for side, spans in zip("ab", (found.passages.a, found.passages.b), strict=True):
        assert [tuple(span) for span in data["passages"][side]] == spans[:LISTED]


@given(two_texts(), st.sampled_from(["char:1", "char:3", "word:1", "item"]))
def test_linked_passages_share_a_number_and_a_chain_rises_in_both_texts(texts, shingle):
    runs = compare(*texts, shingle=shingle).passages
    in_a, in_b = groups(runs)
    assert all(in_a[i] == in_b[j] for i, j in enumerate(runs.links))
    assert all(in_b[j] == in_a[i] for j, i in enumerate(runs.back))
    first_seen = list(dict.fromkeys(in_a))
    assert first_seen == list(range(1, len(first_seen) + 1))
    linked = chain(runs)
    assert all(runs.links[i] == j and runs.back[j] == i for i, j in linked)
    assert all(i < k and j < m for (i, j), (k, m) in itertools.pairwise(linked))
    mutual = [j for i, j in enumerate(runs.links) if runs.back[j] == i]
    assert len(linked) == longest_rising(mutual)


def longest_rising(values: list[int]) -> int:
    """Length of the longest rising subsequence, by trying every end."""
    best: list[int] = []
    for i, value in enumerate(values):
        best.append(1 + max((best[j] for j in range(i) if values[j] < value), default=0))
    return max(best, default=0)


@given(WORDS, WORDS, st.sampled_from(["char:3", "word:1", "word:2"]))
def test_changed_words_lie_in_small_gaps_and_the_others_are_the_same_in_both(a, b, shingle):
    found = compare(f"begin here {a} and end there", f"begin here {b} and end there", shingle=shingle)
    *changed, left_alone = changed_words(found.texts, found.passages, until=10**9)
    assert left_alone == 0
    for words, runs in zip(changed, (found.passages.a, found.passages.b), strict=True):
        assert not oracle.inside(words) & oracle.inside(runs)
    runs = found.passages
    told = [oracle.inside(words) for words in changed]
    for i, j in enumerate(runs.links[:-1]):
        if (runs.links[i + 1], runs.back[j], runs.back[min(j + 1, len(runs.back) - 1)]) != (j + 1, i, i + 1):
            continue
        gaps = (runs.a[i][1], runs.a[i + 1][0]), (runs.b[j][1], runs.b[j + 1][0])
        words = [
            [(m[0], m.span()) for m in re.finditer(r"\w+|[^\w\s]", t[s:e])]
            for t, (s, e) in zip(found.texts, gaps, strict=True)
        ]
        kept = [
            [word for word, (start, end) in own if not set(range(gap[0] + start, gap[0] + end)) & marks]
            for own, gap, marks in zip(words, gaps, told, strict=True)
        ]
        if max(map(len, words)) <= GAP_WORDS:
            assert kept[0] == kept[1]
        else:
            assert kept == [[word for word, _ in own] for own in words]
