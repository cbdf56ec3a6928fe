"""Repeated stretches of words, of characters and of normalised text: units, places in the original, cuts, memory."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import repeat_units as plain
from tests.oracles.repeats import windows
from tests.unit.repeating import BAD_KEY, check, rows_of

import neardup
from neardup.engine.repeats import find, text
from neardup.engine.repeats import units as making
from neardup.engine.repeats.text import EndToEnd
from neardup.engine.repeats.units import Vocabulary
from neardup.engine.space import Budget, Space
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.params import InputOptions, Normalize, RunOptions
from neardup.stages.repeats.segments import Segments
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.settings import Length

LETTERS = ["a", "b", "B", "\u00e9", "e\u0301", "E", "\u00df", "\ufb01", "\u65e5", "\u0130", "7", "\U0001f600"]
GAPS = [" ", "  ", "\n", ", ", ".", "-", " \t"]


def some_texts(seed: int) -> list[str]:
    """Texts of few words, many of them repeated, with other cases, forms and gaps here and there."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(LETTERS, k=draw.randint(1, 4))) for _ in range(7)]

    def passage() -> str:
        return "".join(draw.choice(words) + draw.choice(GAPS) for _ in range(draw.randint(8, 25)))

    def changed(text: str) -> str:
        how = draw.randrange(4)
        if how == 0:
            return text.upper()
        return text.replace(" ", "  ") if how == 1 else text.replace("\u00e9", "e\u0301") if how == 2 else text

    pieces = [passage() for _ in range(4)]
    texts = ["".join(changed(draw.choice(pieces)) for _ in range(draw.randint(1, 4))) for _ in range(7)]
    return [*texts, "", "   ", "ab " * 30, "\u00df" * 40 + "s" * 40, "\u00df" * 30 + "x", *draw.choices(words, k=1)]


def run_over(texts: list[str], length: Length, normalize: str) -> PassageRun:
    given: dict[str, Any] = {"threads": 1, "resume": False}
    return PassageRun(
        open_inputs(texts, InputOptions.of({})), length, RunOptions.of(given), normalize=Normalize.parse(normalize)
    )


def cut_by(run: PassageRun, texts: list[str], policy: str) -> list[set[int]]:
    """The characters of each text that a policy cuts; each cut is apart from the one before."""
    cut = [set[int]() for _ in texts]
    last = (-1, -1)
    for part in run.cuts(policy):
        for document, start, end in zip(*map(np.ndarray.tolist, (part.document, part.start, part.end)), strict=True):
            assert last < (document, start)
            last = (document, end)
            text = texts[document].encode()
            begin = len(text[:start].decode())
            cut[document].update(range(begin, begin + len(text[start:end].decode())))
    return cut


def bytes_before(text: str, at: int) -> int:
    return len(text[:at].encode())


@pytest.mark.parametrize("kind", ["word", "char"])
@pytest.mark.parametrize(
    "normalize", ["none", "none,casefold", "nfc", "nfc,casefold,space", "nfc,punct,digits", "nfkc,casefold,punct,strip"]
)
def test_words_and_characters_are_found_and_placed_as_the_plain_definition_has_them(kind: str, normalize: str):
    texts, span = some_texts(len(normalize)), 4 if kind == "word" else 16
    units = [plain.normalised(text, normalize) for text in texts]
    units = [plain.words(each) for each in units] if kind == "word" else units
    with run_over(texts, Length(kind, span), normalize) as run:
        found = Segments.together(list(run.find().segments()))
        assert len(found) > 5
        check([tuple(unit.text for unit in each) for each in units], span, found)
        rows = run.spans().read_all().to_pylist()
        covered: list[set[int]] = [set() for _ in texts]
        later: list[set[int]] = [set() for _ in texts]
        for row, (document, start, end, kind_, source, at, *_) in zip(rows, rows_of(found), strict=True):
            text, own = texts[document], units[document]
            begin, stop = own[start].start, own[end - 1].end
            assert (row["id"], row["start"], row["end"]) == (document, begin, stop)
            assert row["start_byte"] == bytes_before(text, begin)
            assert row["end_byte"] == bytes_before(text, stop)
            assert (row["source_id"], row["source_start"]) == (source, units[source][at].start)
            covered[document].update(range(begin, stop))
            if kind_ != plain.FIRST:
                later[document].update(range(begin, stop))
        summary = run.summary()
        for count, sets in ((summary.repeated_bytes, covered), (summary.later_bytes, later)):
            assert count == sum(len("".join(text[i] for i in s).encode()) for text, s in zip(texts, sets, strict=True))
        assert summary.too_short == sum(len(each) < span for each in units)
        assert summary.bytes == sum(len(text.encode()) for text in texts)
        for policy in plain.POLICIES:
            assert cut_by(run, texts, policy) == plain.cut_characters(texts, units, span, policy)


@pytest.mark.parametrize("normalize", ["none,casefold", "nfc,casefold,space", "nfkc,punct"])
def test_bytes_of_normalised_text_are_placed_by_the_characters_that_are_whole_in_them(normalize: str):
    # é and è, and ã and 㣣, share a byte with which a stretch ends, or begins
    texts = [*some_texts(5), *("\u00e3" + "y" * 25 + "\u00e9", "\u38e3" + "y" * 25 + "\u00e8")]
    units = [plain.normalised(text, normalize) for text in texts]
    with run_over(texts, Length("byte", 20), normalize) as run:
        found = Segments.together(list(run.find().segments()))
        check(["".join(unit.text for unit in each).encode() for each in units], 20, found)
        rows = run.spans().read_all().to_pylist()
        inside = 0
        for row, (document, start, end, *_) in zip(rows, rows_of(found), strict=True):
            at, whole, partly = 0, [], []
            for unit in units[document]:
                begin, at = at, at + len(unit.text.encode())
                if start <= begin and at <= end:
                    whole.append(unit)
                elif begin < end and start < at:
                    partly.append(unit)
            inside += len(partly)
            gone = {i for unit in partly for i in range(unit.start, unit.end)}
            places = {i for unit in whole for i in range(unit.start, unit.end)} - gone
            assert (row["start"], row["end"]) == (min(places), max(places) + 1)
            text = texts[document]
            assert row["start_byte"] == bytes_before(text, row["start"])
            assert row["end_byte"] == bytes_before(text, row["end"])
        assert inside > 0


def test_a_cut_goes_through_the_original_with_its_case_and_gaps():
    notice = "All rights are reserved by the committee"
    texts = [f"One. {notice}!", "Two! ALL  rights,\nare RESERVED by the Committee; more"]
    found = neardup.passages(texts, min_words=6, normalize="casefold")
    assert [texts[row["id"]][row["start"] : row["end"]] for row in found.spans.to_pylist()] == [
        notice,
        "ALL  rights,\nare RESERVED by the Committee",
    ]
    assert found.cut()["text"].to_pylist() == [texts[0], "Two! ; more"]
    assert neardup.passages(texts, min_words=8, normalize="casefold").spans.num_rows == 0
    assert neardup.passages(texts, min_words=6).spans.num_rows == 0


PASSAGES = ["The first of two sentences that stand", "and the second of them, which follows"]


def test_what_stands_between_two_passages_that_follow_each_other_is_not_cut() -> None:
    one, two = PASSAGES
    between = " \U0001f389\u2605\u2605 (\u00a7\u00a7) --- "
    texts = [f"A {one} B", f"C {two} D", f"3. {one}{between}{two} end."]
    assert neardup.passages(texts, min_words=6).cut()["text"].to_pylist() == [*texts[:2], f"3. {between} end."]
    dashes = [f"A {one}.", f"C {two}.", f"3. {one}-----{two}."]
    cut = neardup.passages(dashes, min_chars=20, normalize="nfc,punct").cut()["text"].to_pylist()
    assert cut == [*dashes[:2], "3.-----."]


def test_white_space_between_two_passages_that_follow_each_other_goes_with_them() -> None:
    one, two = PASSAGES
    texts = [f"A {one} B", f"C {two} D", f"3. {one}\n\u3000 {two} end."]
    assert neardup.passages(texts, min_words=6).cut()["text"].to_pylist() == [*texts[:2], "3.  end."]


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=14), min_size=2, max_size=5),
    st.lists(
        st.sampled_from([" ", "  ", "\n", ", ", " \U0001f389 ", "--", " \u2605 (\u00a7) "]), min_size=1, max_size=7
    ),
    st.sampled_from(sorted(plain.POLICIES)),
)
def test_nothing_but_white_space_is_cut_that_stands_in_no_repeated_run_of_words(
    words: list[list[str]], gaps: list[str], policy: str
) -> None:
    draw = random.Random(str(words))
    texts = ["".join(word + draw.choice(gaps) for word in each) for each in words]
    units = [plain.words(plain.normalised(text, "none")) for text in texts]
    covered = [set[int]() for _ in texts]
    for d, i in windows([tuple(unit.text for unit in each) for each in units], 4):
        covered[d].update(range(units[d][i].start, units[d][i + 3].end))
    with run_over(texts, Length("word", 4), "none") as run:
        cut = cut_by(run, texts, policy)
        assert cut == plain.cut_characters(texts, units, 4, policy)
    for whole, gone, repeated in zip(texts, cut, covered, strict=True):
        assert not "".join(whole[i] for i in gone - repeated).strip()


def test_words_that_share_every_hash_keep_numbers_of_their_own():
    draw = random.Random(1)
    words = ["".join(draw.choices("abc\u65e5", k=draw.randint(1, 6))) for _ in range(900)] + ["ab", "abc", "c" * 700]
    codes = np.array([ord(char) for word in words for char in word], dtype=np.uint32)
    ends = np.cumsum([len(word) for word in words])
    firsts = ends - [len(word) for word in words]
    space = Space(Budget(1 << 30, 1 << 29), None, {})
    for key in (None, BAD_KEY):
        vocabulary = Vocabulary(space, key=key)
        numbers = [
            *vocabulary.number(codes, firsts[:400], ends[:400]),
            *vocabulary.number(codes, firsts[400:], ends[400:]),
        ]
        assert len(set(zip(words, numbers, strict=True))) == len(set(words)) == len(set(numbers))


def test_distinct_words_beyond_the_memory_are_refused_with_the_limit_that_would_do(monkeypatch: pytest.MonkeyPatch):
    limit = Budget.of(None).limit
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, _: cls(limit, 1_000_000)))
    with pytest.raises(InputError, match=r"distinct words .* need .* Raise --memory \(memory=\) to \d+MB or more"):
        neardup.passages(
            [" ".join(map(str, range(i, i + 1000))) for i in range(0, 20_000, 1000)], min_words=5, threads=1
        )


@pytest.mark.parametrize(
    "options", [{"min_words": 8}, {"min_chars": 50}, {"min_bytes": 50, "normalize": "nfc,casefold,space"}]
)
def test_units_and_places_are_the_same_from_files_and_when_some_documents_are_worked_on_at_a_time(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    draw = random.Random(6)
    words = ["".join(draw.choices("aA\u00e1bcdeE\u00e9 ", k=6)) for _ in range(60)]
    texts = ["  ".join(draw.choices(words, k=700)) for _ in range(30)]
    texts += [text[1000:3000] for text in texts]
    whole = neardup.passages(texts, threads=1, **options)
    lines = tmp_path / "texts.jsonl"
    lines.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)), "utf-8")
    monkeypatch.setattr(Budget, "store", 1000)
    for module in (making, find):
        monkeypatch.setattr(module, "SLICE", 9000)  # two documents, or one of the longer ones
    tight = neardup.passages(lines, threads=2, workdir=tmp_path / "work", **options)
    assert (tmp_path / "work").exists()
    assert tight.spans.equals(whole.spans)
    assert tight.cut().equals(whole.cut())
    assert tight.spans.num_rows > 30
    tight.close()


def test_segments_come_many_together_however_often_pages_are_brought(monkeypatch: pytest.MonkeyPatch):
    draw = random.Random(7)
    passages = ["".join(draw.choices("abcdefgh", k=40)) for _ in range(300)]
    texts = ["".join(draw.choice(passages) + draw.choice("XYZ") for _ in range(50)) for _ in range(60)]
    with run_over(texts, Length("byte", 30), "none") as run:
        whole = rows_of(Segments.together(list(run.find().segments())))
    monkeypatch.setattr(Budget, "store", 1000)
    monkeypatch.setattr(text, "PAGE_BITS", 9)
    brought: list[int] = []
    bring = EndToEnd.bring
    monkeypatch.setattr(EndToEnd, "bring", lambda self, page: brought.append(page) or bring(self, page))
    with run_over(texts, Length("byte", 30), "none") as run:
        parts = list(run.find().segments())
    assert rows_of(Segments.together(parts)) == whole
    assert len(brought) > 100
    assert len(parts) < 5


def test_lengths_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match="min_bytes and min_words are given"):
        neardup.passages(["a"], min_bytes=20, min_words=5)
    with pytest.raises(InputError, match=r"min_words is 3\. Give a whole number from 4 to 65,536"):
        neardup.passages(["a"], min_words=3)
    with pytest.raises(InputError, match="min_chars is 15"):
        neardup.passages(["a"], min_chars=15)
    with pytest.raises(InputError, match="normalize has 'lower'"):
        neardup.passages(["a"], min_words=5, normalize="lower")
    summary = neardup.passages(["a b c d e"] * 2, min_words=5, normalize="casefold").summary
    assert (summary.min_bytes, summary.min_words, summary.min_chars) == (None, 5, None)
    assert (summary.spans, summary.normalize) == (2, "nfc,casefold")
