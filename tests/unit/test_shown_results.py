"""What results show of themselves: texts that are read again, HTML for notebooks, short reprs, frames and figures."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from neardup import InputChanged, InputError, MissingDependency
from neardup.pages.notebook import MOST_BYTES

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "Something else altogether, which is like nothing here.",
    "The quick brown fox jumps over the lazy dog!",
    "  THE QUICK brown fox jumps over the lazy dog. ",
    "Nothing to see in this one, move along please.",
    "the quick brown fox jumped over the lazy dog",
]
HOW = {"threshold": 0.6, "shingle": "char:3", "normalize": "nfc,casefold,punct,space"}
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x00\u2066&amp;'\""


def jsonl(path: Path, texts: list[str]) -> Path:
    lines = "".join(json.dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(texts))
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        path.write_text(lines, encoding="utf-8")
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    for i, text in enumerate(TEXTS):
        (path / f"{i}.txt").write_text(text, encoding="utf-8")
    return path


def parquet(path: Path) -> Path:
    pq.write_table(pa.table({"id": list(range(len(TEXTS))), "text": TEXTS}), path, row_group_size=2)
    return path


INPUTS: dict[str, Callable[[Path], Any]] = {
    "list": lambda _: list(TEXTS),
    "pairs": lambda _: [(f"d{i}", text) for i, text in enumerate(TEXTS)],
    "mapping": lambda _: {f"d{i}": text for i, text in enumerate(TEXTS)},
    "pandas": lambda _: pd.DataFrame({"text": TEXTS}),
    "polars": lambda _: pl.DataFrame({"text": TEXTS, "id": list("abcdef")}),
    "arrow": lambda _: pa.table({"text": TEXTS}),
    "jsonl": lambda folder: jsonl(folder / "a.jsonl", TEXTS),
    "gzip": lambda folder: jsonl(folder / "a.jsonl.gz", TEXTS),
    "parquet": lambda path: parquet(path / "a.parquet"),
    "folder": lambda path: folder(path / "texts"),
}


# Texts that are read again


@pytest.mark.parametrize("block", [1, 4, None])
@pytest.mark.parametrize("kind", INPUTS)
def test_texts_that_are_read_again_are_those_that_a_search_keeps(kind: str, block: int | None, tmp_path: Path) -> None:
    inputs = INPUTS[kind](tmp_path)
    kept = neardup.find(inputs, with_text=True, block=block, **HOW)
    again = neardup.find(inputs, block=block, **HOW).with_text()
    assert kept.pairs.num_rows == 6
    assert again.pairs == kept.pairs
    assert again.clusters == kept.clusters
    cut = neardup.find(inputs, with_text=9, block=block, **HOW)
    assert again.with_text(9).pairs == cut.pairs
    removed = neardup.dedup(inputs, with_text=True, **HOW).removed.to_pylist()
    assert {row["id"]: (row["text"], row["keeper_text"]) for row in removed} == {
        _id_of(pair.names[0], removed): pair.texts for pair in neardup.dedup(inputs, **HOW).show(10)
    }


def _id_of(name: str, rows: list[dict[str, Any]]) -> Any:
    return next(row["id"] for row in rows if f"removed {row['id']}" == name)


def test_texts_are_found_behind_bad_records_and_across_two_collections(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", TEXTS)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([lines[0], "{", lines[1], "", *lines[2:]]) + "\n", encoding="utf-8")
    found = neardup.find(path, on_bad="skip", block=1, **HOW)
    assert found.summary.bad == 1
    known = {f"d{i}": text for i, text in enumerate(TEXTS)}
    assert [pair.texts for pair in found.show(6)] == [tuple(map(known.get, pair.names)) for pair in found.show(6)]
    across = neardup.find([("a", TEXTS[0])], against=[("b", TEXTS[2]), ("c", TEXTS[1])], **HOW)
    assert [pair.texts for pair in across.show()] == [(TEXTS[0], TEXTS[2])]


def test_texts_are_found_where_the_sizes_of_the_batches_are_not_known(tmp_path: Path) -> None:
    """As after a resumed run, of which an earlier process has read a part."""
    found = neardup.find(jsonl(tmp_path / "a.jsonl", TEXTS), block=1, **HOW)
    assert found.again is not None
    known = found.show(6).pairs
    assert len(found.again.lookup._sizes) == len(TEXTS)
    found.again.lookup._sizes = ()
    assert found.show(6).pairs == known


def test_sets_are_shown_as_their_items() -> None:
    found = neardup.find([{"milk", "bread"}, ["bread", "milk"]], shingle="item")
    assert sorted(found.show(1).pairs[0].texts[0].split()) == ["bread", "milk"]
    assert "bread" in found.show(1)._repr_html_()


def test_only_documents_that_are_asked_for_are_looked_at() -> None:
    texts = list(TEXTS)
    found = neardup.find(texts, block=1, **HOW)
    texts[1] = texts[4] = "changed, and in no pair"
    assert len(found.show(6)) == 6


@pytest.mark.parametrize("change", ["text", "shorter", "longer", "gone"])
def test_an_input_that_was_changed_is_told_and_not_shown(change: str, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", TEXTS)
    found = neardup.find(path, **HOW)
    if change == "gone":
        path.unlink()
    else:
        other = {"text": [TEXTS[0] + "?!x", *TEXTS[1:]], "shorter": TEXTS[:1], "longer": ["new", *TEXTS]}[change]
        jsonl(path, other)
    with pytest.raises(InputChanged if change != "gone" else InputError):
        found.show()
    assert "No texts are shown: " in found._repr_html_()
    texts = list(TEXTS)
    in_memory = neardup.find(texts, **HOW)
    texts[0] = "another"
    with pytest.raises(InputChanged, match="has another text where a document was"):
        in_memory.show()


def test_what_gives_its_values_once_cannot_be_shown_unless_texts_are_kept() -> None:
    for once in (iter(TEXTS), pa.RecordBatchReader.from_stream(pa.table({"text": TEXTS}))):
        found = neardup.find(once, **HOW)
        with pytest.raises(InputError, match=r"gives its values once .*with_text=True"):
            found.show()
        assert "with_text=True" in found._repr_html_()
    kept = neardup.find(iter(TEXTS), with_text=True, **HOW)
    assert kept.show(1).pairs[0].texts == (TEXTS[0], TEXTS[2])
    assert "No texts" not in kept._repr_html_()


def test_a_pickled_result_keeps_its_tables_and_says_that_it_has_no_texts() -> None:
    found = pickle.loads(pickle.dumps(neardup.find(TEXTS, **HOW)))
    assert found.pairs.num_rows == 6
    with pytest.raises(InputError, match="read from a pickle"):
        found.show()


def test_pairs_are_shown_by_similarity_or_as_asked() -> None:
    found = neardup.find(TEXTS, **HOW)
    similarity = found.pairs["similarity"].to_pylist()
    assert [pair.similarity for pair in found.show(4)] == sorted(similarity, reverse=True)[:4]
    assert found.show(4).left_out == 2
    ids = [
        tuple(map(str, pair))
        for pair in zip(*(found.pairs[name].to_pylist() for name in ("id_a", "id_b")), strict=True)
    ]
    assert [pair.names for pair in found.show(at=[5, 0, -1])] == [ids[5], ids[0], ids[5]]
    assert [pair.names for pair in found.show(at=2)] == [ids[2]]
    for wrong in (6, -7, "a", 1.5):
        with pytest.raises(InputError, match="there are 6 rows"):
            found.show(at=[wrong])  # type: ignore[list-item]
    with pytest.raises(InputError, match="n is 0"):
        found.show(0)
    with pytest.raises(InputError, match="characters is 0"):
        found.show(characters=0)
    nothing = neardup.find(["one", "another thing"])
    assert repr(nothing.show()) == "no pairs to show"
    assert "no pairs to show" in nothing.show()._repr_html_()
    cleaned = neardup.dedup(TEXTS, **HOW).show(2)
    lowest = sorted(neardup.dedup(TEXTS, **HOW).removed["similarity"].to_pylist())[:2]
    assert [pair.similarity for pair in cleaned] == lowest


# HTML


class Read(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One of each public result, made of hostile ids and texts and of long lines."""
    work = tmp_path_factory.mktemp("results")
    near = EVIL * 20
    long = "".join(f"{EVIL}word{i} " for i in range(4_000))
    ids = [f"{EVIL}{i}" + "x" * 5000 for i in range(8)]
    data = dict(
        zip(
            ids,
            [near, near + "!", long, long + "!", "\u202e\x00" * 4000, "\u202e\x00" * 4000 + "a", "", ""],
            strict=True,
        )
    )
    index = neardup.Index.create(threshold=0.5)
    index.add(data)
    found, cleaned = neardup.find(data, threshold=0.5), neardup.dedup(data, threshold=0.5)
    return {
        "Result": found,
        "Beside": found.show(),
        "Cleaned": cleaned,
        "Removals": cleaned.show(),
        "Summary": found.summary,
        "CleanSummary": cleaned.summary,
        "Comparison": neardup.compare(long, long + EVIL),
        "Explanation": neardup.explain({EVIL: "Nadal" + EVIL, "b": "Nadia"}),
        "Plan": neardup.plan(data),
        "bare Plan": neardup.plan(),
        "Audit": neardup.audit(data, threshold=0.5),
        "Reported": neardup.report(data, work / "page", title=EVIL),
        "Tuned": neardup.tune([near, near + "!", "a rose", "a rose!"]),
        "IndexInfo": index.info(),
        "Hits": index.query(near),
        "ContainedHits": index.query(near, measure="containment"),
        "Added": index.add([("more", "another document")]),
        "SketchSet": neardup.sketch([near, long]),
    }


def test_every_result_is_shown_in_few_bytes_without_scripts(results: dict[str, Any]) -> None:
    for name, result in results.items():
        made = result._repr_html_()
        read = Read(made)
        assert len(made.encode()) <= MOST_BYTES, name
        assert made.count("<style>") == 1, name
        assert not {"script", "img", "link", "meta"} & set(read.tags), name
        assert read.handlers == [], name
        assert not re.search("[\x00\u202e\u2066]", made), name
        assert not re.search(r"url\(|@import|https?://", made), name


def test_every_repr_is_short(results: dict[str, Any]) -> None:
    for name, result in results.items():
        if name not in ("Beside", "Removals", "Hits", "ContainedHits", "Added"):
            assert len(repr(result)) <= 400, name
            assert "\n" not in repr(result), name
    assert len(repr(results["Result"].spec)) <= 400


def test_a_result_shows_its_pairs_and_clusters_with_their_words() -> None:
    found = neardup.find({"first": TEXTS[0], "second": TEXTS[2], "third": TEXTS[4]}, **HOW)
    read = Read(found._repr_html_())
    for told in ("first", "second", TEXTS[0], TEXTS[2], "1 pairs, 1 clusters of 3 documents", "The largest clusters"):
        assert told in read.text
    assert TEXTS[4] not in read.text
    marked = Read(found.show()._repr_html_())
    assert marked.tags.count("mark") >= 2
    cleaned = Read(neardup.dedup(TEXTS, **HOW)._repr_html_())
    assert TEXTS[2] in cleaned.text
    assert "removed" in cleaned.text


def test_inputs_that_are_slow_to_read_are_not_read_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = neardup.find(jsonl(tmp_path / "a.jsonl", TEXTS), **HOW)
    assert TEXTS[0] in Read(found._repr_html_()).text
    monkeypatch.setattr("neardup.inputs.lookup.QUICK_BYTES", 10)
    read = Read(found._repr_html_())
    assert TEXTS[0] not in read.text
    assert "not read again unasked" in read.text


def test_the_page_of_a_comparison_is_the_one_that_the_command_writes(tmp_path: Path) -> None:
    from neardup.pages.site.write import write_pair
    from neardup.tasks.compare.comparison import pair_page

    found = neardup.compare(TEXTS[0], TEXTS[2])
    write_pair(tmp_path / "pair.html", *pair_page(found, ("x", "y")))
    assert found.html(("x", "y")) == (tmp_path / "pair.html").read_text("utf-8")


def test_a_report_stands_inside_where_it_is_one_file_and_is_linked_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    single = neardup.report(TEXTS, "one page.html", **HOW)
    made = single._repr_html_()
    assert 'href="one%20page.html"' in made
    assert made.count("<iframe sandbox=") == 1
    assert "&lt;base href=&quot;about:srcdoc&quot;&gt;" in made
    in_folder = neardup.report(TEXTS, "report", **HOW)._repr_html_()
    assert "iframe" not in Read(in_folder).tags
    assert 'href="report/index.html"' in in_folder
    Path("one page.html").unlink()
    assert "iframe" not in Read(single._repr_html_()).tags


# Frames and figures


def test_tables_become_frames() -> None:
    found, cleaned = neardup.find(TEXTS, **HOW), neardup.dedup(TEXTS, **HOW)
    audited, planned, bare = neardup.audit(TEXTS, **HOW), neardup.plan(TEXTS), neardup.plan()
    assert found.to_pandas("clusters").to_dict("list") == found.clusters.to_pydict()
    assert found.to_polars("clusters").to_dict(as_series=False) == found.clusters.to_pydict()
    assert list(found.to_pandas("crowds")) == ["leader", "documents"]
    with pytest.raises(InputError, match="Did you mean 'clusters'"):
        found.to_pandas("cluster")
    assert (
        cleaned.to_pandas()["id"].tolist() == cleaned.to_polars()["id"].to_list() == cleaned.removed["id"].to_pylist()
    )
    assert audited.to_pandas()["pairs"].sum() == audited.to_polars()["pairs"].sum() == audited.pairs
    for plan in (planned, bare):
        assert plan.to_pandas()["is_chosen"].sum() == 1
        assert plan.to_polars()["slots"].to_list() == plan.to_pandas()["slots"].tolist()
        chosen = plan.to_polars().filter(pl.col("is_chosen"))
        assert chosen["bands"].to_list() == [str(plan.spec.bands)]
        assert (chosen["seconds"].to_list() == [None]) == (plan.collection is None)


def test_a_result_draws_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    found = neardup.find(TEXTS, **HOW)
    for name, axes in (("found", 3), ("similarities", 2), ("clusters", 1), ("s-curve", 1)):
        figure: Any = found.plot(name)
        assert len(figure.axes) == axes
    assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="Did you mean 's-curve'"):
        found.plot("scurve")
    with pytest.raises(InputError, match="without bands"):
        neardup.find(TEXTS, exact=True, **HOW).plot("s-curve")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependency, match=r"pip install 'neardup\[plot\]'"):
        found.plot()
