"""Repeated passages: golden examples, hard texts, useless hashes, and the same answer however it is computed."""

from __future__ import annotations

import gzip
import json
import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.oracles import repeats as plain
from tests.unit.repeating import BAD_KEY, check, rows_of, segments_of

import neardup
from neardup.engine.repeats import grouping
from neardup.engine.repeats.units import Key
from neardup.engine.space import Budget
from neardup.errors import InputError
from neardup.kernels import anchors
from neardup.spool.partitions import Partitions
from neardup.stages.repeats.policies import POLICIES, find_cuts
from neardup.stages.repeats.segments import FIRST, OTHER, OWN, Segments
from neardup.stages.repeats.surgery import snap_cuts, without
from neardup.types import Documents

NOTICE = "All rights reserved by us."
SMALL, LARGE = "abcdefghijklmnop", "ABCDEFGHIJKLMNOP"
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
CHAIN = ["Xabcdefghijklmnopq", ALPHABET, "ijklmnopqrstuvwxyz!"]


def spans(texts: list[str], span: int) -> list[tuple[int, int, int, int, int, int, int]]:
    """id, start_byte, end_byte, source, source_start, count_min, count of each span."""
    table = neardup.passages(texts, min_bytes=span, threads=1).spans
    names = ["id", "start_byte", "end_byte", "source_id", "source_start", "count_min", "count"]
    return [tuple(row.values()) for row in table.select(names).to_pylist()]


def left(texts: list[str], span: int, policy: str) -> list[str]:
    found = neardup.passages(texts, min_bytes=span, threads=1)
    return found.cut(policy, snap="char", min_cut=0, min_left=0)["text"].to_pylist()


def test_a_notice_in_three_texts_stays_in_the_first():
    texts = [f"One story. {NOTICE}", f"Two! {NOTICE}", f"Three {NOTICE} end"]
    assert spans(texts, 20) == [(0, 10, 37, 0, 10, 3, 3), (1, 4, 31, 0, 10, 3, 3), (2, 5, 32, 0, 10, 3, 3)]
    assert left(texts, 20, "first") == [texts[0], "Two!", "Three end"]
    assert left(texts, 20, "none") == ["One story.", "Two!", "Three end"]


def test_a_text_of_two_passages_is_the_first_of_one_and_a_copy_of_the_other():
    texts = [SMALL + "~", SMALL + LARGE, LARGE + "^"]
    found = spans(texts, 16)
    assert found == [(0, 0, 16, 0, 0, 2, 2), (1, 0, 16, 0, 0, 2, 2), (1, 16, 32, 1, 16, 2, 2), (2, 0, 16, 1, 16, 2, 2)]
    assert left(texts, 16, "first") == [texts[0], LARGE, "^"]
    assert left(texts, 16, "none") == ["~", "", "^"]


def test_a_passage_that_overlaps_with_a_copy_is_lost_only_by_the_greedy_policy():
    assert [row[:5] for row in spans(CHAIN, 16)] == [
        (0, 1, 18, 0, 1),
        (1, 0, 17, 0, 1),
        (1, 8, 26, 1, 8),
        (2, 0, 18, 1, 8),
    ]
    assert left(CHAIN, 16, "first") == [CHAIN[0], "ijklmnopqrstuvwxyz", "!"]
    assert left(CHAIN, 16, "first-greedy") == [CHAIN[0], "rstuvwxyz", "!"]
    assert left(CHAIN, 16, "none") == ["X", "", "!"]


def test_a_text_of_short_period_is_one_span():
    assert spans(["ab" * 20], 16) == [(0, 0, 17, 0, 0, 12, 13), (0, 2, 40, 0, 0, 12, 13)]
    assert [len(left(["ab" * 20], 16, policy)[0]) for policy in ("first", "first-greedy", "none")] == [17, 2, 0]


def test_nothing_reaches_across_documents_and_nothing_shorter_than_the_span_counts():
    assert spans(["abcdefgh", "ijklmnop"] * 2, 16) == []
    assert spans(["fifteen letters"] * 3, 16) == []
    assert neardup.passages(["fifteen letters"] * 3, min_bytes=16).summary.too_short == 3
    assert spans(["xxé" + SMALL[:15] + "1", "yyè" + SMALL[:15] + "2"], 16) == []
    assert spans([], 16) == []
    assert spans([""], 16) == []


def test_a_cut_never_divides_a_character():
    # ã (c3 a3) and 㣣 (e3 a3 a3) end in the same byte, before the passage; behind it è and é begin with the same
    texts = ["ã" + SMALL + "é", "㣣" + SMALL + "è"]
    table = neardup.passages(texts, min_bytes=16).spans.to_pylist()
    assert [(row["start_byte"], row["end_byte"]) for row in table] == [(1, 19), (2, 20)]
    assert [(row["start"], row["end"], row["source_start"]) for row in table] == [(1, 17, 1), (1, 17, 1)]
    assert left(texts, 16, "first") == [texts[0], "㣣è"[0] + " è"]


def test_near_copies_of_one_passage_are_few_spans():
    draw = np.random.default_rng(1)
    passage = draw.integers(97, 123, 420, dtype=np.uint8)
    blobs = []
    for i in range(1000):
        copy = passage.copy()
        if i % 5 == 0:
            copy[draw.integers(420)] ^= 7
        blobs.append(bytes(draw.integers(97, 123, 25, dtype=np.uint8)) + bytes(copy) + bytes([97 + i % 26]) * 3)
    found = segments_of(blobs, 100, step=100)
    assert len(found) < 20 * len(blobs)
    kind, count = plain.ranks(blobs, 100)
    begins = np.cumsum([0, *map(len, blobs)])
    for document, start, end, its_kind, _, _, least, most, _ in rows_of(found):
        inside = slice(begins[document] + start, begins[document] + end - 99)
        assert set(kind[inside].tolist()) == {its_kind}
        assert (count[inside].min(), count[inside].max()) == (least, most)
        count[inside] = 0
    assert not count.any()


def hard_texts() -> list[bytes]:
    """Long runs, short periods, Thue-Morse, and what stands beside them in other documents."""
    draw = random.Random(3)
    thue = b"a"
    while len(thue) < 600:
        thue += thue.translate(bytes.maketrans(b"ab", b"ba"))
    return [
        b"-" * 30,
        b"x" + b" " * 700 + b"y",
        b" " * 300,
        b"abc" * 200 + b"d" + b"cab" * 100,
        thue,
        bytes(draw.choices(b"ab", k=300)) + b"abc" * 40,
        b"-" * 500 + b"z" + b"-" * 400,
    ]


@pytest.mark.parametrize("span", [16, 24, 33])
def test_runs_and_periods_are_found_window_by_window(span: int):
    blobs = hard_texts()
    check(blobs, span, segments_of(blobs, span))


def test_a_long_run_leaves_few_anchors_and_no_more_spans_than_a_short_one():
    documents = Documents.from_bytes([b" " * 100_000])
    keys, found = np.empty(100_000, np.uint64), np.empty(100_000, np.uint64)
    loops, key = np.empty((4000, 3), np.int64), tuple(np.uint64(odd) for odd in (5, 2**61 + 7, 2**60 + 9, 2**59 + 11))
    count, looped = anchors.select_anchors(
        documents.data, documents.offsets.copy(), 1, 100, 8, 50, key, keys, found, loops
    )
    assert count + looped < 10
    assert len(segments_of([b"abc" * 40_000], 100)) == 2


def test_words_by_their_numbers_are_as_good_as_bytes():
    draw = random.Random(9)
    numbers = [draw.getrandbits(32) for _ in range(6)]
    blobs = [np.array(draw.choices(numbers, k=200), dtype=np.uint32).tobytes() for _ in range(8)]
    blobs += [blobs[0][40:400], blobs[1][:80] * 8]
    letters = [bytes(numbers.index(int(n)) for n in np.frombuffer(blob, dtype=np.uint32)) for blob in blobs]
    for span in (4, 6):
        check(letters, span, segments_of(blobs, span, unit=4))


@pytest.mark.parametrize("seed", range(4))
def test_hashes_that_say_nothing_change_nothing(seed: int):
    draw = random.Random(seed)
    pieces = [bytes(draw.choices(b"abcd", k=draw.randint(5, 40))) for _ in range(6)]
    blobs = [b"".join(draw.choices(pieces, k=5)) for _ in range(6)] + [b"q" * 60]
    found = segments_of(blobs, 18, key=BAD_KEY)
    check(blobs, 18, found)
    assert rows_of(found) == rows_of(segments_of(blobs, 18))


def test_threads_and_memory_change_nothing(tmp_path: Path):
    draw = random.Random(5)
    pieces = [bytes(draw.choices(b"abcdef", k=draw.randint(20, 400))) for _ in range(30)]
    blobs = [b"".join(draw.choices(pieces, k=8)) for _ in range(60)] + hard_texts()
    found = rows_of(segments_of(blobs, 32))
    for i, (threads, step, is_filed) in enumerate(product((1, 2), (1, 50), (False, True))):
        folder = tmp_path / str(i) if is_filed else None
        if folder:
            folder.mkdir()
        assert rows_of(segments_of(blobs, 32, threads=threads, step=step, folder=folder)) == found


@pytest.mark.parametrize("key", [None, BAD_KEY])
@pytest.mark.parametrize("is_filed", [False, True])
def test_places_too_many_to_be_grouped_are_counted_window_by_window(
    key: Key | None, is_filed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    draw = random.Random(8)
    notice = bytes(draw.choices(b"abcd", k=60))
    blobs = [bytes(draw.choices(b"abcd", k=12)) + notice[draw.randint(0, 20) :] for _ in range(24)]
    blobs += [b"z" * 30, notice * 4, b"zy" * 30, b"z" * 31]
    folder = tmp_path if is_filed else None
    whole = segments_of(blobs, 20, key=key)
    check(blobs, 20, whole)
    crowds = []
    for name, value in (("LEAST_ROWS", 8), ("MOST_ROWS", 8), ("ROW_BYTES", 1 << 25)):
        monkeypatch.setattr(grouping, name, value)
    counted = grouping.crowd_pieces
    monkeypatch.setattr(grouping, "crowd_pieces", lambda *given, **how: crowds.append(1) or counted(*given, **how))
    for threads in (1, 2):
        assert rows_of(segments_of(blobs, 20, key=key, threads=threads, folder=folder)) == rows_of(whole)
    assert len(crowds) >= (2 if key else 6)


@pytest.mark.parametrize("threads", [1, 2])
def test_parts_of_parts_are_all_grouped(threads: int, monkeypatch: pytest.MonkeyPatch):
    draw = random.Random(4)
    passages = [bytes(draw.choices(b"abcd", k=40)) for _ in range(200)]
    blobs = [b"".join(draw.choices(passages, k=6)) for _ in range(60)] + [passages[0]] * 30
    whole = rows_of(segments_of(blobs, 20))
    # few parts at a time, of parts of parts; none is a crowd before all bits of a key were used
    changed = {"PART_BITS": 3, "PARTS": 8, "KEY_SHIFT": 61, "CROWD": 1, "LEAST_ROWS": 8, "MOST_ROWS": 8}
    for name, value in (changed | {"ROW_BYTES": 1 << 25}).items():
        monkeypatch.setattr(grouping, name, value)
    assert rows_of(segments_of(blobs, 20, threads=threads)) == whole


def test_a_passage_at_many_places_fits_into_little_memory(monkeypatch: pytest.MonkeyPatch):
    texts = [f"{i}{NOTICE}{i}" for i in range(3000)]
    whole = neardup.passages(texts, min_bytes=20, threads=1).spans
    limit = Budget.of(None).limit
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, _: cls(limit, 200_000)))
    found = neardup.passages(texts, min_bytes=20, threads=1)
    assert found.spans.equals(whole)
    assert whole["count"].to_pylist().count(3000) == 3000
    found.close()


def test_texts_and_characters_are_the_same_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    draw = random.Random(6)
    words = ["".join(draw.choices("aábcdeé ", k=6)) for _ in range(300)]
    texts = [" ".join(draw.choices(words, k=4000)) for _ in range(40)]
    texts += [text[5000:9000] for text in texts]
    whole = neardup.passages(texts, min_bytes=50, threads=1)
    lines = tmp_path / "texts.jsonl"
    lines.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)), "utf-8")
    monkeypatch.setattr(Budget, "store", 1000)
    tight = neardup.passages(lines, min_bytes=50, threads=2, workdir=tmp_path / "work")
    assert (tmp_path / "work").exists()
    assert tight.spans.equals(whole.spans)
    assert tight.cut().equals(whole.cut())
    tight.close()
    assert not (tmp_path / "work").exists()
    for row in whole.spans.slice(0, 50).to_pylist():
        start, end = row["start_byte"], row["end_byte"]
        inside = texts[row["id"]].encode()[start:end].decode("utf-8", "ignore")
        assert texts[row["id"]][row["start"] : row["end"]] in (inside, inside[1:], inside[:-1], inside[1:-1])


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "span"),
    [
        ("clough_stevenson/docs", 50),
        ("clough_stevenson/docs", 100),
        ("bible_nt/chapters", 50),
        ("bible_nt/chapters", 200),
        ("newsgroups/messages", 100),
    ],
)
def test_real_collections_agree_with_suffixes_sorted_by_other_code(shared_data: Path, name: str, span: int):
    with gzip.open(shared_data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        blobs = [json.loads(line)["text"].encode() for _, line in zip(range(250), lines, strict=False)]
    kind, count = plain.ranks(blobs, span)
    begins = np.cumsum([0, *map(len, blobs)])
    found = segments_of(blobs, span, step=100, threads=2)
    own_kind, own_most = np.zeros_like(kind), np.zeros_like(count)
    for document, start, end, its_kind, source, at, least, most, _ in rows_of(found):
        inside = slice(begins[document] + start, begins[document] + end - span + 1)
        own_kind[inside], own_most[inside] = its_kind, most
        assert (int(count[inside].min()), int(count[inside].max())) == (least, most)
        assert blobs[document][start:end] == blobs[source][at : at + end - start]
    assert np.array_equal(own_kind, kind)
    assert np.array_equal(own_most > 0, count > 0)


def test_a_cut_is_moved_inward_to_words_and_lines():
    text = b"one two\nthree four\nfive six"
    whole = [(2, 22)]
    assert snap_cuts(text, whole, snap="char", least=0) == whole
    assert snap_cuts(text, whole, snap="word", least=0) == [(3, 19)]
    assert snap_cuts(text, whole, snap="line", least=0) == [(8, 19)]
    assert snap_cuts(text, whole, snap="line", least=12) == []
    assert snap_cuts("日本語".encode(), [(1, 8)], snap="char", least=0) == [(3, 6)]
    assert snap_cuts(b"oneword", [(2, 5)], snap="word", least=0) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Mine own. Take it all. [And this too. And] not this.", "And this too. "),
        ("Mine. [Take it all. And this too. ]Mine.", "Take it all. And this too. "),
        ("[One. Two! He said \u201cthree?\u201d Fo]ur.", "One. Two! He said \u201cthree?\u201d "),
        ("Version 1[.5 is out now. It is 2.5 times as fast. No]w.", " It is 2.5 times as fast."),
        ("甲乙。丙[丁。戊己「庚」！辛]壬。", "戊己「庚」！"),
        ("A title\n\n[A line\ngoes on here.\n\nAnother]", "A line\ngoes on here.\n\nAnother"),
        ("No end [of a sentence anywhere] in this", ""),
        ("[The whole text without an end]", "The whole text without an end"),
    ],
)
def test_a_cut_is_moved_inward_to_sentences(text: str, wanted: str):
    before, inside, _ = text.replace("]", "[").split("[")
    whole = text.replace("[", "").replace("]", "").encode()
    start = len(before.encode())
    cuts = snap_cuts(whole, [(start, start + len(inside.encode()))], snap="sentence", least=1)
    assert "".join(whole[a:b].decode() for a, b in cuts) == wanted


def test_words_that_were_apart_do_not_run_together():
    assert without(b"one, gone two", [(3, 9)]) == b"one two"
    assert without(b"one.gone.two", [(3, 9)]) == b"one two"
    assert without(b"one\ngone\ntwo", [(3, 9)]) == b"one\ntwo"
    assert without(b"gone one", [(0, 5)]) == b"one"
    assert without(b"one (gone) two", [(4, 10)]) == b"one  two"


def test_texts_that_have_too_little_left_are_left_out():
    texts = [f"One story. {NOTICE}", f"Two! {NOTICE}", f"Three more words. {NOTICE}"]
    found = neardup.passages(texts, min_bytes=20)
    assert found.cut(min_left=10)["id"].to_pylist() == [0, 2]


def test_options_that_cannot_be_are_refused():
    for value in (15, 1 << 20, 20.5, True):
        with pytest.raises(InputError, match="min_bytes"):
            neardup.passages(["text"], min_bytes=value)
    found = neardup.passages(["text"])
    with pytest.raises(InputError, match="policy"):
        found.cut("last")
    with pytest.raises(InputError, match="snap"):
        found.cut(snap="paragraph")
    with pytest.raises(InputError, match="min_cut"):
        found.cut(min_cut=-1)


@pytest.mark.parametrize("budget", [1 << 20, 0])
def test_parts_come_back_in_the_order_in_which_they_were_added(tmp_path: Path, budget: int):
    from neardup.spool import Workdir

    folder = Workdir.create(tmp_path / "work", {})
    parts = Partitions("rows", width=2, parts=3, budget=budget, spill=lambda: folder)
    rows = np.arange(20, dtype=np.uint64).reshape(-1, 2)
    parts.add(rows[:6], np.array([0, 2, 2, 6]))
    parts.add(rows[6:], np.array([0, 1, 3, 4]))
    assert parts.is_filed == (budget == 0)
    assert parts.sizes.tolist() == [3, 2, 5]
    assert parts.take(0, 1)[:, 0].tolist() == [0, 2, 12]
    assert sorted(parts.take(1, 3)[:, 0].tolist()) == [4, 6, 8, 10, 14, 16, 18]
    assert parts.take(2, 3)[:, 0].tolist() == [4, 6, 8, 10, 18]
    assert [rows[:, 0].tolist() for rows in parts.scan(2, 3)] == [[4, 6, 8], [10, 18]]
    assert next(iter(parts.scan(2, 5))).shape == (5, 2)
    assert parts.forget(2) == (budget > 0)
    assert parts.take(2, 3)[:, 0].tolist() == [4, 6, 8, 10, 18]
    parts.drop()
    assert len(parts) == 0
    folder.remove()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("far", [1 << 23, 1 << 31, 1 << 62])
def test_cuts_of_documents_and_places_past_any_size_are_those_of_small_ones(policy: str, far: int) -> None:
    # two segments of a document overlap, the next document has one, and the last ends where the one before began
    rows = [(0, 0, 30, FIRST), (0, 20, 50, OWN), (1, 7, 40, OTHER), (5, 0, 7, OTHER), (6, 0, 7, OWN), (6, 5, 12, FIRST)]

    def cuts_of(row: int, place: int) -> list[tuple[int, int, int]]:
        columns = np.array([(document + row, low + place, high + place, kind) for document, low, high, kind in rows])
        nothing = np.zeros(len(rows), dtype=np.int64)
        cuts = find_cuts(Segments(*columns.T, *(nothing,) * 5), policy)
        found = zip(cuts.document.tolist(), cuts.start.tolist(), cuts.end.tolist(), strict=True)
        return [(document - row, low - place, high - place) for document, low, high in found]

    plainly = []
    goes, stays = POLICIES[policy]
    for document in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == document]
        gone = {at for _, low, high, kind in mine if kind in goes for at in range(low, high)}
        gone -= {at for _, low, high, kind in mine if kind in stays for at in range(low, high)}
        plainly += [(document, at, at + 1) for at in sorted(gone)]
    for moved in (cuts_of(0, 0), cuts_of(far, 0), cuts_of(far, 1 << 41)):
        assert [(document, at, at + 1) for document, low, high in moved for at in range(low, high)] == plainly
