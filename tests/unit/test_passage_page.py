"""What a page of repeated passages holds, beside the table of spans and the texts that ``cut`` gives."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup
from neardup import InputError, OutputError, RepeatedPassages
from neardup.pages.notebook import MOST_BYTES
from neardup.tasks.passages import page as page_module
from neardup.tasks.passages.page import view_of
from neardup.tasks.passages.page_census import Grouping
from neardup.tasks.repeats.settings import LEAST, MOST, Cutting
from neardup.tasks.report.wanted import LEAST_PASSAGE, MOST_PASSAGE

NOTICE = "All rights are reserved by us, everywhere and for all times, café included."
CHINESE = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
HEBREW = "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון"
EVIL = "<script>alert(1)</script>\u202e\x00&amp;'\"\u2028"


def hostile_texts() -> list[tuple[str, str]]:
    """Ids and texts: several scripts, marks without letters, markup, periods, a passage inside a longer one."""
    drawn = random.Random(5)
    words = ["house", "ünder", "\U0001f600", "a\u0301", "sea", "<b>", "\r\n", "stone", "&amp;", "\u202e"]
    texts = [(f"noise-{i}", " ".join(drawn.choices(words, k=60))) for i in range(6)]
    long = " ".join(drawn.choices(words, k=300))
    return [
        ("a", f"The first story. {NOTICE} It ends. {CHINESE}"),
        ("b", f"Another one,\nof two lines. {NOTICE} Done.{HEBREW}"),
        ("中" * 300, f"{NOTICE}"),
        ("d", f"{HEBREW}{CHINESE}{long}"),
        ("<i>e</i>" + EVIL, f"{long[:400]} {EVIL * 3} {long} {EVIL * 3}"),
        ("f", "ab" * 60),
        ("g", f"x{'ab' * 90}y{'ab' * 60}"),
        ("empty", ""),
        *texts,
    ]


def repeated(texts: list[tuple[str, str]], **how: Any) -> RepeatedPassages:
    return neardup.passages(texts, **{"min_bytes": 30, **how})


def data_of(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Meta and chunks of a page that is one file."""
    pattern = r'<script type="application/json" id="([^"]+)">(.*?)</script>'
    chunks = {name: json.loads(text) for name, text in re.findall(pattern, path.read_text("utf-8"), re.DOTALL)}
    return chunks.pop("meta"), chunks


def merged(chunks: dict[str, Any], kind: str, part: str) -> dict[int, Any]:
    chosen = (value[part] for name, value in chunks.items() if name.startswith(f"{kind}-"))
    return {int(number): value for each in chosen for number, value in each.items()}


def after(data: dict[str, Any], whole: str) -> str:
    """What is left of a text, from the marks and joints of its page."""
    gone = {i for start, end, _, is_cut in data["marks"] if is_cut for i in range(start, end)}
    joints = {start: joint for start, _, joint in data["cuts"]}
    return "".join(joints.get(i, "") + ("" if i in gone else char) for i, char in enumerate(whole))


HOWS: list[dict[str, Any]] = [
    {},
    {"min_bytes": None, "min_words": 4},
    {"normalize": "nfc,casefold,space"},
    {"min_bytes": None, "unit": "line", "normalize": "space"},
    {"min_bytes": None, "unit": "paragraph", "threshold": 0.3, "shingle": "char:3"},
    {"group_by": "^[a-d]|noise"},
    {"min_docs": 2},
]


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_every_place_stands_where_the_page_says_and_every_span_is_a_place(how: dict[str, Any], tmp_path: Path) -> None:
    texts = dict(hostile_texts())
    found = repeated(list(texts.items()), **how)
    meta, chunks = data_of(found.report(tmp_path / "page.html").path)
    rows, spans = chunks["repeats-0000"], found.spans.to_pylist()
    passages = merged(chunks, "places", "passages")
    shown = Counter()
    for number, passage in passages.items():
        assert rows["spans"][number] == len(passage["places"])
        assert rows["documents"][number] == len({place["id"] for place in passage["places"]})
        for place in passage["places"]:
            whole, start, end = texts[place["id"]], place["start"], place["end"]
            shown[(place["id"], start, end)] += 1
            assert whole[start:end].startswith(place["opening"])
            assert whole[start:end].endswith(place["closing"])
            assert whole[:start].endswith(place["before"].removeprefix("…"))
            assert whole[end:].startswith(place["behind"].removesuffix("…"))
    assert shown == Counter((span["id"], span["start"], span["end"]) for span in spans)
    sizes = {(span["id"], span["start"], span["end"]): span["end_byte"] - span["start_byte"] for span in spans}
    firsts = {(span["id"], span["start"]): span["end_byte"] - span["start_byte"] for span in spans if span["first"]}
    assert dict(zip(zip(rows["id"], rows["start"], strict=True), rows["bytes"], strict=True)) == firsts
    weights = [
        sum(sizes[place["id"], place["start"], place["end"]] for place in passages[number]["places"])
        for number in range(len(rows["id"]))
    ]
    assert rows["weight"] == weights == sorted(weights, reverse=True)
    assert sum(number for _, _, number in meta["passages"]["lengths"]) == found.summary.passages
    assert meta["passages"]["limits"] == []


@pytest.mark.parametrize("policy", ["first", "first-greedy", "none", "other-documents"])
@pytest.mark.parametrize("snap", ["char", "word", "sentence"])
def test_what_a_page_leaves_of_a_document_is_what_cut_leaves(policy: str, snap: str, tmp_path: Path) -> None:
    texts = dict(hostile_texts())
    found = repeated(list(texts.items()))
    how: dict[str, Any] = {"policy": policy, "snap": snap, "min_cut": 20, "min_left": 0}
    left = {row["id"]: row for row in found.cut(**how).to_pylist()}
    meta, chunks = data_of(found.report(tmp_path / "page.html", **how).path)
    rows = chunks["losses-0000"]
    documents = merged(chunks, "documents", "documents")
    assert set(documents) == set(range(len(rows["id"])))
    for number, data in documents.items():
        name = rows["id"][number]
        assert "".join(piece for _, piece in data["text"]["pieces"]) == texts[name]
        assert after(data, texts[name]) == left[name]["text"]
        assert rows["lost"][number] == left[name]["cut_bytes"]
        text = left[name]["text"]
        assert rows["left"][number] == (0 if text.isspace() else len(text))
    cut = {name for name, row in left.items() if row["cut_bytes"]}
    assert cut <= set(rows["id"])
    assert meta["passages"]["cut"]["documents"] == len(cut)
    assert rows["lost"] == sorted(rows["lost"], reverse=True)


def test_a_page_stays_within_its_size_and_says_what_it_leaves_out() -> None:
    drawn = random.Random(1)
    passages = ["".join(drawn.choices("abcdefgh ", k=120)) for _ in range(400)]
    texts = [(f"d{i}", f"{i} {drawn.choice(passages)} - {drawn.choice(passages)} {i}") for i in range(3000)]
    found = repeated(texts, min_bytes=60)
    run = found._run
    for size in (500_000, 1_000_000):
        view = view_of(run, Cutting(), size=size)
        made = sum(len(json.dumps(value, ensure_ascii=False).encode()) for _, value in view.chunks())
        assert made < size
        listed = view.meta["listed"]
        paged = int((view.page >= 0).sum())
        assert paged < found.summary.passages
        assert any("not listed" in told or "no page" in told for told in view.meta["limits"])
        places = merged(dict(view.chunks()), "places", "passages")
        assert len(places) == paged <= listed
        for number, passage in places.items():
            spans = int(view.census.spans[number])
            assert len(passage["places"]) >= min(spans, page_module.FIRST_PLACES)


def test_one_passage_at_very_many_places_and_texts_of_short_period_make_small_pages(tmp_path: Path) -> None:
    hot = neardup.passages([f"{i:06d} {NOTICE}" for i in range(3_000)], min_bytes=40)
    page = hot.report(tmp_path / "hot.html")
    meta, chunks = data_of(page.path)
    assert page.bytes < 2_500_000
    assert meta["passages"]["top"][0]["spans"] == 3_000
    assert len(merged(chunks, "places", "passages")[0]["places"]) == page_module.MOST_PLACES
    assert any("2,900 of" in told for told in meta["passages"]["limits"])
    run = neardup.passages([" " * 2_000_000, "ab" * 40_000, f"x{'ab' * 90}"], min_bytes=100).report(
        tmp_path / "run.html"
    )
    meta, chunks = data_of(run.path)
    assert run.bytes < 400_000
    assert [one["spans"] for one in meta["passages"]["top"]] == [2, 3]
    assert [one["opening"] for one in meta["passages"]["top"]] == ["", "ab" * 45 + "…"]


def test_groups_are_counted_by_input_file_or_as_is_asked(tmp_path: Path) -> None:
    for name, texts in {"one": [NOTICE, "short", f"x{NOTICE}"], "two": [f"y{NOTICE}z"]}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    found = neardup.passages([tmp_path / "one.jsonl", tmp_path / "two.jsonl"], min_bytes=40)
    groups = data_of(found.report(tmp_path / "page.html").path)[0]["passages"]["groups"]
    size = len(NOTICE.encode())
    assert [row[1:4] for row in groups["rows"]] == [[3, 2 * size + 6, 2 * size], [1, size + 2, size]]
    assert found.report(tmp_path / "again.html").path.read_bytes() == (tmp_path / "page.html").read_bytes()
    grouping = Grouping("Site", ["even", "odd", "none"], np.array([0, 1, 0, 1]))
    view = view_of(found._run, Cutting(), size=2_000_000, grouping=grouping)
    assert {row[0]: row[1] for row in view.meta["groups"]["rows"]} == {"even": 2, "odd": 2}


def test_a_page_without_a_passage_and_one_of_no_document_are_made(tmp_path: Path) -> None:
    for texts in ([], ["one", "two"]):
        page = neardup.passages(texts).report(tmp_path / "page.html")
        assert "stands at two places" in page.path.read_text("utf-8")


def test_nothing_of_a_text_or_a_name_is_markup(tmp_path: Path) -> None:
    page = repeated(hostile_texts()).report(tmp_path / "page.html", title=EVIL).path.read_text("utf-8")
    assert "<script>alert" not in page
    assert "<i>e" not in page
    assert "\u202e" not in re.sub(r"<(script|title).*?</\1>", "", page, flags=re.DOTALL)


def test_a_folder_and_a_file_hold_the_same_and_nothing_else_is_replaced(tmp_path: Path) -> None:
    found = repeated(hostile_texts())
    folder, single = found.report(tmp_path / "site"), found.report(tmp_path / "page.html")
    assert folder.path.name == "index.html"
    for name, value in data_of(single.path)[1].items():
        text = (tmp_path / "site" / "data" / f"{name}.js").read_text("utf-8")
        assert json.loads(text[len(f'neardup.take("{name}", ') : -3]) == value
    assert found.report(tmp_path / "site").files == folder.files
    (tmp_path / "mine.html").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    for name in ("mine.html", "mine"):
        with pytest.raises(OutputError, match="cannot write"):
            found.report(tmp_path / name)
    assert (tmp_path / "mine.html").read_text() == "mine"
    with pytest.raises(InputError, match="policy"):
        found.report(tmp_path / "page.html", policy="all")


def test_show_gives_the_heaviest_passages_in_their_texts() -> None:
    found = repeated(hostile_texts())
    shown = found.show(2, places=2, characters=10)
    assert len(shown) == 2
    assert [len(each.places) for each in shown] == [2, 2]
    assert "more" in repr(shown)
    for each in shown:
        for place in each.places:
            assert max(map(len, (place.before, place.passage, place.behind))) <= 10
    html = found.show(1000, places=1000, characters=1000)._repr_html_()
    assert len(html.encode()) <= MOST_BYTES
    assert "<script>" not in html + found._repr_html_()
    assert "weigh most" in found._repr_html_()
    found.close()
    assert "weigh most" not in found._repr_html_()
    with pytest.raises(InputError):
        found.show(0)
    assert repr(neardup.passages(["a"]).show()) == "no passages to show"


def test_a_report_takes_the_lengths_that_passages_takes() -> None:
    assert (LEAST["byte"], MOST) == (LEAST_PASSAGE, MOST_PASSAGE)


def test_a_report_refuses_passages_where_they_cannot_be(tmp_path: Path) -> None:
    texts = [NOTICE, f"x{NOTICE}"]
    for how, told in (
        ({"passages": 15}, "from 16"),
        ({"passages": True}, "whole number"),
        ({"passages": 40, "pseudonyms": tmp_path / "key.csv"}, "pseudonyms"),
    ):
        with pytest.raises(InputError, match=told):
            neardup.report(texts, tmp_path / "report", **how)
    with pytest.raises(InputError, match="documents are sets"):
        neardup.report([["a", "b"], ["a", "b"]], tmp_path / "report", shingle="item", passages=40)
    assert not list(tmp_path.iterdir())


def test_passages_of_a_report_are_those_of_a_page_of_their_own(tmp_path: Path) -> None:
    texts = dict(hostile_texts())
    report = neardup.report(texts, tmp_path / "report.html", threshold=0.5, passages=30)
    alone = neardup.passages(texts, min_bytes=30).report(tmp_path / "page.html")
    (meta, chunks), (own, pages) = data_of(report.path), data_of(alone.path)
    assert meta["passages"] == own["passages"]
    assert {name: chunks[name] for name in pages} == pages


def test_the_bytes_of_all_places_are_told_where_places_have_a_part_of_a_passage(tmp_path: Path) -> None:
    """The first place has both lines, and the others one of them."""
    share, footer = "Share this page with others", "All rights are reserved by us."
    texts = [(str(i), f"{share}\nstory {i}") for i in range(6)]
    found = neardup.passages([("a", f"{share}\n{footer}"), *texts, ("b", f"{footer}\nstory")], unit="line")
    words = " ".join(re.sub("<[^>]+>", "", found.report(tmp_path / "part.html").path.read_text("utf-8")).split())
    size = 7 * len(share) + 1 + 2 * len(footer)
    assert f"58 bytes at 8 places in 8 documents; {size} bytes in all" in words
    found = neardup.passages([("a", share), *((f"{i}", f"{i}\n{share}") for i in range(3))], unit="line")
    words = " ".join(re.sub("<[^>]+>", "", found.report(tmp_path / "whole.html").path.read_text("utf-8")).split())
    assert "27 bytes at 4 places in 4 documents Share" in words
