"""Comparisons by hand: measures, what was given wrongly, sets, the words between passages, the page, hostile texts."""

from __future__ import annotations

import json
from itertools import combinations, pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.cli.compare_rows import Mark, rows_of
from neardup.engine.results.passages import Passages
from neardup.errors import InputError
from neardup.pages.pairs import LISTED, pair_data, text_data
from neardup.tasks.compare.comparison import PAGE_CHARACTERS, pair_page
from neardup.tasks.compare.documents import pick_documents, read_document
from neardup.tasks.compare.gaps import BUDGET, chain, changed_words
from neardup.tasks.compare.public import compare

FIRST = "A rose is a rose is a rose."
SECOND = "Indeed, a rose is a rose!"


def test_measures_by_hand():
    found = compare(FIRST, SECOND, shingle="word:3", normalize="nfc,casefold", bands="32x4")
    assert found.sizes == (3, 4, 3)
    assert (found.jaccard, found.containment_a_in_b, found.containment_b_in_a) == (0.75, 1.0, 0.75)
    assert (found.passages.a, found.passages.b) == ([(0, 26)], [(8, 24)])
    assert found.longest == (16, 0, 8)
    assert (found.covered_a, found.covered_b) == (26 / 27, 16 / 25)
    assert found.estimate_error == (0.75 * 0.25 / 128) ** 0.5
    assert found.probability == 1 - (1 - 0.75**4) ** 32
    assert str(found.bands) == "32x4"
    assert found.spec.slots == 128


def test_a_text_against_itself_agrees_everywhere():
    found = compare(FIRST, FIRST)
    assert (found.jaccard, found.estimate, found.estimate_error, found.probability) == (1.0, 1.0, 0.0, 1.0)
    assert found.agreeing_bands == found.bands.bands
    assert found.found


@pytest.mark.parametrize(("a", "b", "jaccard", "a_in_b", "b_in_a"), [("", "", 1, 1, 1), ("", "ab", 0, 1, 0)])
def test_an_empty_text_is_in_every_other_and_never_found(a, b, jaccard, a_in_b, b_in_a):
    found = compare(a, b)
    assert (found.jaccard, found.estimate) == (jaccard, jaccard)
    assert (found.containment_a_in_b, found.containment_b_in_a) == (a_in_b, b_in_a)
    assert not found.found
    assert found.longest == (0, 0, 0)
    assert (found.covered_a, found.covered_b) == (0.0, 0.0)


@pytest.mark.parametrize("sketch", ["hybrid", "independent", "one-permutation", "permutation", "universal"])
def test_every_sketch_estimates(sketch):
    words = [f"w{i}" for i in range(400)]
    found = compare(" ".join(words[:300]), " ".join(words[100:]), shingle="word:1", sketch=sketch, slots=1024)
    assert found.jaccard == 0.5
    assert abs(found.estimate - 0.5) < 5 * found.estimate_error


def test_a_set_is_sorted_and_a_list_keeps_its_order():
    found = compare({"pear", "apple", 7}, ["plum", "7", "apple"], shingle="item")
    assert found.texts == ("7 apple pear", "plum 7 apple")
    assert found.sizes == (3, 3, 2)
    assert (found.passages.a, found.passages.links) == ([(0, 1), (2, 7)], [0, 1])


def test_the_settings_are_those_of_a_search():
    found = compare(FIRST, SECOND, threshold=0.5, recall=0.9, seed=3)
    spec = neardup.find([FIRST, SECOND], threshold=0.5, recall=0.9, seed=3).spec
    assert found.spec == spec


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ("x", ["x"], {}, "a is of type str and b of list. Give two texts or two sets."),
        (["x"], ["x"], {}, "a and b are sets, and shingle is char:9. Compare sets with shingle='item'."),
        (b"x", "x", {}, "a is of type bytes, neither a text nor a set. Give two of one."),
        ("x", 7, {}, "b is of type int, neither a text nor a set. Give two of one."),
        (["x"], [1.5], {"shingle": "item"}, "set b: the item 1.5 is of type float, not a string or a whole number."),
        ("x", "a\ud800", {}, "text b has the lone surrogate U+D800 at character 2. Decode the text with"),
        ("x", "y", {"threshold": 2}, "threshold is 2. Give a Jaccard similarity above 0 and at most 1."),
    ],
)
def test_what_cannot_be_compared_is_told(a, b, options, message):
    with pytest.raises(InputError) as raised:
        compare(a, b, **options)
    assert str(raised.value).startswith(message)


def test_the_outcome_shows_no_text_and_its_dict_is_json():
    found = compare(FIRST, SECOND)
    assert "rose" not in repr(found)
    assert "rose" not in json.dumps(found.as_dict())


def changed(a: str, b: str) -> tuple[list[str], list[str]]:
    found = compare(a, b, shingle="word:2")
    in_a, in_b, _ = changed_words(found.texts, found.passages, until=10**9)
    return [a[start:end] for start, end in in_a], [b[start:end] for start, end in in_b]


def test_changed_words_of_small_gaps():
    begin, end = "all was well there", "and so it goes on"
    assert changed(f"{begin} in old June {end}", f"{begin} on old July, {end}") == (["in", "June"], ["on", "July,"])
    assert changed(f"{begin} in June {end}", f"{begin} {end}") == (["in June"], [])
    long = " ".join(f"n{i}" for i in range(41))
    assert changed(f"{begin} {long} {end}", f"{begin} in June {end}") == ([], [])
    assert changed(f"{begin} in {end}", f"{end} in {begin}") == ([], [])


def test_gaps_beyond_the_budget_are_counted(monkeypatch):
    monkeypatch.setattr("neardup.tasks.compare.gaps.BUDGET", 3)
    a, b = (" x ".join(f"one {i} two {i} three" for i in range(5)).replace("x", word) for word in ("x", "y"))
    found = compare(a, b, shingle="word:2")
    *spans, left_alone = changed_words((a, b), found.passages, until=10**9)
    assert ([len(words) for words in spans], left_alone) == ([3, 3], 1)
    assert BUDGET == 4_000_000


def test_a_text_that_is_too_long_is_shown_in_windows():
    text = "word " * 10_000
    whole = text_data(text, [(20_000, 20_100)], most=len(text))
    assert whole == {"characters": 50_000, "pieces": [[0, text]]}
    data = text_data(text, [(20_000, 20_100), (40_000, 49_000)], most=10_000)
    shown = [(start, start + len(part)) for start, part in data["pieces"]]
    assert shown == [(0, 200), (19_800, 20_300), (39_800, 44_000), (45_000, 49_200)]


def test_of_more_passages_than_fit_the_longest_are_shown():
    text = "".join(f"word {number} " for number in range(40_000))
    small = [(start, start + 12) for start in range(0, 300_000, 30)]
    long = (350_000, 350_500)
    pieces = text_data(text, [*small, long], most=5_000)["pieces"]
    assert sum(len(part) for _, part in pieces) <= 5_000
    assert any(start <= long[0] and long[1] <= start + len(part) for start, part in pieces)
    assert pieces[0][0] == 0


def test_only_the_first_passages_are_listed_and_links_behind_them_are_none():
    words = [f"w{i}" for i in range(LISTED + 10)]
    found = compare(" ".join(words), " ".join(reversed(words)), shingle="word:1")
    data = pair_data(found.passages, (1, 1), measure="jaccard")
    assert data["runs"] == [LISTED + 10, LISTED + 10]
    assert len(data["passages"]["a"]) == len(data["passages"]["links"]) == LISTED
    assert data["passages"]["links"][:11] == [-1] * 10 + [LISTED - 1]
    with pytest.raises(InputError, match="measure is 'cosine'; known are jaccard, containment"):
        pair_data(found.passages, (1, 1), measure="cosine")


def test_the_page_has_what_the_pair_view_needs():
    found = compare(FIRST, SECOND, shingle="word:3", normalize="nfc,casefold")
    meta, page = pair_page(found, ("a.txt", "b.txt"))
    json.dumps([meta, page])
    assert {"title", "version", "measure", "spec", "spec_id", "facts", "estimate", "estimate_error"} <= set(meta)
    assert {"slots", "probability", "bands", "threshold"} <= set(meta)
    assert [member["text"] for member in page["members"]] == [0, 1]
    assert [text["pieces"] for text in page["texts"]] == [[[0, FIRST]], [[0, SECOND]]]
    assert (page["pair"]["a"], page["pair"]["b"], page["pair"]["jaccard"]) == (0, 1, 0.75)
    _, long = pair_page(compare(FIRST * 20_000, SECOND), ("a", "b"))
    assert sum(len(part) for _, part in long["texts"][0]["pieces"]) <= PAGE_CHARACTERS


def test_a_file_is_a_document(tmp_path):
    (tmp_path / "a.txt").write_text("red  green", encoding="utf-8")
    (tmp_path / "a.unknown").write_text("as it is", encoding="utf-8")
    (tmp_path / "one.jsonl").write_text('{"id": 7, "text": "from a record"}\n', encoding="utf-8")
    (tmp_path / "set.jsonl").write_text('{"text": ["a b", 7]}\n', encoding="utf-8")
    assert read_document(tmp_path / "a.txt", item=False).content == "red  green"
    assert read_document(tmp_path / "a.txt", item=True).content == "red  green"
    assert read_document(tmp_path / "a.unknown", item=False).content == "as it is"
    assert read_document(tmp_path / "one.jsonl", item=False).content == "from a record"
    assert read_document(tmp_path / "set.jsonl", item=True).content == ["a b", "7"]


def test_ids_of_a_collection(tmp_path):
    records = [{"id": 1, "text": "one"}, {"id": 2, "text": "two"}, {"id": 2, "text": "again"}, {"id": 11, "text": 5}]
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert [each.content for each in pick_documents([path], ("1", "1"), item=False)] == ["one", "one"]
    with pytest.raises(InputError, match="the id '2' belongs to 2 documents"):
        pick_documents([path], ("1", "2"), item=False)
    with pytest.raises(InputError, match=r"no document '11' among 3\. 1 bad record was passed over\. Did you mean '1'"):
        pick_documents([path], ("1", "11"), item=False)
    with pytest.raises(InputError, match=r"no document 'zebra' among 3\..* The first ids are '1', '2', '2'\."):
        pick_documents([path], ("zebra", "1"), item=False)


def rows(text: str, width: int, marks: list[Mark] | None = None) -> list[str]:
    windows = [(0, len(text))] if text else []
    made = rows_of(text, windows, marks or [], width=width, is_plain=True)
    return ["".join(piece.shown for piece in row.pieces) for row in made]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one two three four five six", ["one two three four five ", "six"]),
        ("x" * 50, ["x" * 23, "x" * 23, "xxxx"]),
        ("日本語" * 5, ["日本語日本語日本語日本", "語日本語"]),
        ("abc defghijklmno pqrst \u0301uvw", ["abc defghijklmno pqrst \u0301", "uvw"]),
        ("e\u0301 \u0301", ["e\u0301 \u0301"]),
        ("\u0301e", ["◌\u0301e"]),
        ("a\u3164b\u034f\u115f", ["a<U+3164>b<CGJ><U+115F>"]),
        ("\u200b\u200b\u200b\ufeff\U000e0041", ["<ZWSP ×3><BOM><U+E0041>"]),
        ("a\tb\r\n\x85\u2028", ["a␉b␍", "<NEL><LS>"]),
        ("e" + "\u0301" * 12, ["e" + "\u0301" * 8 + "<U+0301 ×4>"]),
        ("", []),
        ("\n", ["", ""]),
    ],
)
def test_rows_by_hand(text, shown):
    assert rows(text, 24) == shown


def test_a_label_stays_with_its_passage():
    text = "some words before the passage here and after"
    assert rows(text, 24, [Mark(22, 34, 1, 0)]) == ["some words before the ", "[1]passage here[/1] and ", "after"]


def passages_of(links: list[int]) -> Passages:
    """Runs of one character each, every one linked to one of its own."""
    spans = [(3 * i, 3 * i + 1) for i in range(len(links))]
    return Passages(spans, spans, links, [links.index(j) for j in range(len(links))], 1, 1, 1)


@given(st.permutations(range(8)))
def test_a_chain_is_as_long_as_any(links):
    found = chain(passages_of(list(links)))
    rising = [chosen for n in range(9) for chosen in combinations(range(8), n) if is_rising([links[i] for i in chosen])]
    assert len(found) == max(map(len, rising))
    assert all(links[i] == j for i, j in found)
    assert is_rising([i for i, _ in found])
    assert is_rising([j for _, j in found])


def is_rising(values: list[int]) -> bool:
    return all(left < right for left, right in pairwise(values))


def test_four_megabytes_on_one_line_are_compared():
    """Work for each pair of words would take days."""
    line = " ".join(str(i * 7919 % 1_000_003) for i in range(600_000))
    found = compare(line, "x" + line.replace("77", "78"))
    assert 0 < found.jaccard < 1


def test_a_pair_is_found_exactly_if_a_search_checks_it():
    words, seen = [f"w{i}" for i in range(16)], set()
    for seed, same in product(range(1, 9), (5, 6, 7)):
        how = {"shingle": "word:1", "threshold": 0.6, "seed": seed}
        texts = " ".join(words), " ".join([*words[:same], "and", "others"])
        found = compare(*texts, **how)
        assert found.found == bool(neardup.find(list(texts), **how).summary.checked)
        seen.add((min(found.agreeing_bands, 2), found.found))
    assert seen == {(0, False), (1, False), (1, True), (2, False), (2, True)}
