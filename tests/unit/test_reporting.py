"""The data of a report against neardup.find, against set arithmetic, and whatever the threads, the memory, the way."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import passages as plain
from tests.oracles.jaccard import jaccard
from tests.oracles.report import Read, between, bins, pair_rows, read_report
from tests.oracles.results import pair_map
from tests.oracles.text import shingles

import neardup
from neardup import tuning
from neardup.engine.space import LEAST_WORK, PROGRAM
from neardup.errors import FormatError, InputError, OutputError
from neardup.inputs.reader import open_inputs
from neardup.outputs.write import write_table
from neardup.params import RunOptions
from neardup.session import Run
from neardup.spool import resident_memory
from neardup.stages.similarities import similarity_edges
from neardup.tasks.report import pages
from neardup.tasks.report.clusters import FAR, NEAR, RANDOM, order_clusters
from neardup.tasks.report.curve import count_pairs, link_at, steps
from neardup.tasks.report.public import report
from neardup.tasks.report.report_input import Asked, report_input

ONE = {"threads": 1}
EXACT: dict[str, Any] = {"shingle": "char:3", "threshold": 0.3, "exact": True}


def made(inputs: Any, folder: Path, name: str = "report", **options: Any) -> Read:
    """A report written and read back."""
    return read_report(report(inputs, folder / name, **{**ONE, **options}).path)


def varied(count: int, seed: int, *, words: int = 40) -> list[str]:
    """Texts in families: some words of a common text changed, some texts copied."""
    draw = random.Random(seed)
    texts: list[str] = []
    while len(texts) < count:
        base = ["".join(draw.choices("abcdefghij", k=5)) for _ in range(words)]
        for _ in range(draw.randint(1, 6)):
            copy = list(base)
            for _ in range(draw.randint(0, 8)):
                copy[draw.randrange(words)] = "".join(draw.choices("klmnop", k=4))
            texts += [" ".join(copy)] * draw.choice((1, 1, 1, 2))
    return texts[:count]


# --- the numbers at every threshold


family = st.lists(st.text("abcd ", min_size=0, max_size=12), min_size=2, max_size=14)


@pytest.mark.parametrize("link", ["star", "connected"])
@settings(max_examples=20)
@given(texts=family, data=st.data())
def test_the_curve_says_what_a_search_at_each_threshold_finds(texts: list[str], link: str, data: st.DataObject) -> None:
    texts += [data.draw(st.sampled_from(texts)) for _ in range(3)]
    spec = tuning.make_spec(shingle="char:2", threshold=0.25, exact=True)
    with Run(open_inputs(texts), spec, RunOptions(threads=1)) as run:
        basis, _ = report_input(run, Asked(link=link))
        thresholds = steps(0.25, 0)
        groups = order_clusters(basis.found.members)
        pairs = count_pairs(basis, groups, None, thresholds, similarity_edges(0.25)).pairs
        linked = link_at(basis, thresholds)
    for at in sorted({0, thresholds.size - 1, data.draw(st.integers(0, thresholds.size - 1))}):
        found = neardup.find(texts, shingle="char:2", threshold=float(thresholds[at]), link=link, exact=True, **ONE)
        clusters = found.summary.clusters
        assert pairs[at] == found.pairs.num_rows
        assert linked.clusters[at] == clusters
        assert linked.removed[at] == found.clusters.num_rows - clusters


@pytest.mark.parametrize("threshold", [0.05, 0.2, 0.5, 0.8, 0.85, 0.87, 0.95, 0.99, 0.999, 1.0, 1 / 3])
def test_thresholds_are_round_and_rise_to_one(threshold: float) -> None:
    found = steps(threshold, 1000).tolist()
    assert (found[0], found[-1]) == (threshold, 1.0)
    assert found == sorted(set(found))
    assert len(found) <= 128
    assert threshold > 0.999 or len(found) >= 50 or threshold == 0.999
    assert all(len(repr(each)) <= 6 for each in found[1:])


def test_many_pairs_get_fewer_thresholds() -> None:
    assert steps(0.5, 10**8).size <= 12
    assert steps(0.5, 10**8).tolist()[-1] == 1.0


def test_counts_bins_and_sources_are_those_of_the_pairs(tmp_path: Path) -> None:
    texts = varied(60, 3)
    documents = [(f"{'abc'[i % 3]}/{i}", text) for i, text in enumerate(texts)]
    read = made(documents, tmp_path, sources="^(.)/", **EXACT)
    found = neardup.find(documents, **EXACT, **ONE)
    pairs = {tuple(sorted(pair)): similarity for pair, similarity in pair_map(found.pairs).items()}
    assert read.meta["counts"]["documents"] == 60
    assert read.meta["counts"]["pairs"] == len(pairs)
    assert read.meta["counts"]["clusters"] == found.summary.clusters
    counts, identical = bins(list(pairs.values()), read.meta["bins"]["edges"])
    assert (read.meta["bins"]["counts"], read.meta["bins"]["identical"]) == (counts, identical)
    sources = read.meta["sources"]
    expected = between(pairs, {name: name[0] for name, _ in documents})
    matrix = {
        (one, other): sources["pairs"][i][j]
        for i, one in enumerate(sources["names"])
        for j, other in enumerate(sources["names"])
    }
    assert {key: count for key, count in matrix.items() if count} == expected
    for i, one in enumerate(sources["names"]):
        for j, other in enumerate(sources["names"]):
            ends = [
                pair if pair[0][0] == one else pair[::-1]
                for pair in pairs
                if {one, other} == {*"".join(e[0] for e in pair)}
            ]
            sharing = {e for pair in ends for e in (pair if one == other else pair[:1])}
            assert sources["sharing"][i][j] == len(sharing)
    assert sorted(sources["names"]) == ["a", "b", "c"]
    assert sources["documents"] == [20, 20, 20]


# --- the clusters


def test_clusters_are_those_of_find_largest_first(tmp_path: Path) -> None:
    documents = [(f"d{i}", text) for i, text in enumerate(varied(80, 5))]
    read = made(documents, tmp_path, **EXACT)
    found = neardup.find(documents, **EXACT, **ONE)
    members: dict[str, list[tuple[str, float]]] = {}
    for row in found.clusters.to_pylist():
        members.setdefault(row["keeper"], []).append((row["id"], row["similarity"]))
    assert {row["keeper"]: row["size"] for row in read.rows} == {keeper: len(own) for keeper, own in members.items()}
    place = {name: i for i, (name, _) in enumerate(documents)}
    assert read.rows == sorted(read.rows, key=lambda row: (-row["size"], place[row["keeper"]]))
    for number, row in enumerate(read.rows):
        near = [similarity for name, similarity in members[row["keeper"]] if name != row["keeper"]]
        assert row["least"] == min(near)
        assert row["mean"] == pytest.approx(sum(near) / len(near))
        cluster, _ = read.page(number)
        assert {(each["id"], each["similarity"]) for each in cluster["members"]} == set(members[row["keeper"]])
        assert cluster["left_out"] == 0
        assert cluster["members"][0]["id"] == row["keeper"]
        assert [each["kind"] for each in cluster["members"]] == ["keeper"] + ["all"] * len(near)


def test_pages_show_the_texts_as_written_and_mark_what_is_shared(tmp_path: Path) -> None:
    draw = random.Random(9)
    texts = [
        "".join(draw.choice((char, char.upper())) for char in text).replace(" ", draw.choice(("  ", "\r\n", "\t")), 3)
        for text in varied(24, 6, words=12)
    ]
    options = {"shingle": "word:2", "normalize": "nfkc,casefold,space", "threshold": 0.2, "exact": True}
    read = made(dict(enumerate(texts)), tmp_path, **options)
    seen = 0
    for number in range(len(read.rows)):
        cluster, shown = read.page(number)
        names = [int(member["id"]) for member in cluster["members"]]
        assert shown == [texts[name] for name in names]
        assert [member["characters"] for member in cluster["members"]] == [len(text) for text in shown]
        sets = [shingles(text, "word:2", "nfkc,casefold,space") for text in shown]
        assert [(i, j) for i, j, _ in cluster["similarities"]] == [
            (i, j) for i in range(len(names)) for j in range(i + 1, len(names))
        ]
        for i, j, similarity in cluster["similarities"]:
            assert similarity == float(jaccard(sets[i], sets[j]))
        assert {(0, j) for j in range(1, len(names))} <= {(pair["a"], pair["b"]) for pair in cluster["pairs"]}
        for pair in cluster["pairs"]:
            a, b = (plain.occurrences(shown[pair[side]], "word:2", "nfkc,casefold,space") for side in "ab")
            assert [tuple(span) for span in pair["passages"]["a"]] == plain.shared_spans(a, b)
            assert [tuple(span) for span in pair["passages"]["b"]] == plain.shared_spans(b, a)
            assert pair["similarity"] == float(jaccard(sets[pair["a"]], sets[pair["b"]]))
            seen += 1
    assert seen >= 10


def test_a_found_pair_beside_the_keeper_has_a_page(tmp_path: Path) -> None:
    documents = [(f"d{i}", text) for i, text in enumerate(varied(60, 8))]
    read = made(documents, tmp_path, **EXACT)
    found = pair_map(neardup.find(documents, **EXACT, **ONE).pairs)
    for number in range(len(read.rows)):
        cluster, _ = read.page(number)
        names = [member["id"] for member in cluster["members"]]
        mates = {pair for pair in found if pair <= set(names)}
        shown = {frozenset((names[pair["a"]], names[pair["b"]])) for pair in cluster["pairs"]}
        assert shown == mates


def test_pairs_that_no_page_shows_are_counted(tmp_path: Path) -> None:
    options: dict[str, Any] = {"shingle": "char:3", "threshold": 0.45, "exact": True}
    words = varied(1, 21, words=120)[0].split()
    documents = [(f"d{i}", " ".join(words[4 * i : 4 * i + 30])) for i in range(20)]
    found = neardup.find(documents, **options, **ONE)
    of = {row["id"]: row["cluster"] for row in found.clusters.to_pylist()}
    apart = sum(of.get(a, a) != of.get(b, b) for a, b in map(tuple, pair_map(found.pairs)))
    assert apart > 1
    read = made(documents, tmp_path, **options)
    assert any(limit.startswith(f"Found and on no page: {apart} pairs") for limit in read.meta["limits"])


def crowd_texts(count: int) -> list[str]:
    draw = random.Random(4)
    base = [f"w{i:03d}" for i in range(150)]
    texts = [" ".join(base)]
    for i in range(count - 1):
        copy = list(base)
        for _ in range(1 + i % 7):
            copy[draw.randrange(150)] = f"x{draw.randrange(1000):03d}"
        texts.append(" ".join(copy))
    return texts


def test_of_a_large_cluster_the_nearest_the_farthest_and_others_are_shown(tmp_path: Path) -> None:
    documents = [(f"d{i}", text) for i, text in enumerate(crowd_texts(120))]
    read = made(documents, tmp_path, threshold=0.5, exact=True)
    cluster, shown = read.page(0)
    kinds = [member["kind"] for member in cluster["members"]]
    assert (cluster["size"], cluster["left_out"]) == (120, 79)
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"keeper": 1, "near": NEAR, "far": FAR, "random": RANDOM}
    found = neardup.find(documents, threshold=0.5, exact=True, **ONE)
    near = sorted(row["similarity"] for row in found.clusters.to_pylist() if row["id"] != row["keeper"])
    by_kind = {kind: [each["similarity"] for each in cluster["members"] if each["kind"] == kind] for kind in set(kinds)}
    assert sorted(by_kind["near"]) == near[-NEAR:]
    assert sorted(by_kind["far"]) == near[:FAR]
    assert len(set(shown)) == 41
    assert "40 members" in " ".join(read.meta["limits"])
    shuffled = random.Random(1).sample(documents, len(documents))
    again, _ = made(shuffled, tmp_path, "again", threshold=0.5, exact=True).page(0)
    chosen = {(member["id"], member["kind"]) for member in cluster["members"]}
    assert {(member["id"], member["kind"]) for member in again["members"]} == chosen


def test_fifty_thousand_copies_are_one_text_on_one_page(tmp_path: Path) -> None:
    read = made(["the same few words again"] * 50_000 + ["others"], tmp_path, threshold=0.8)
    assert read.rows[0]["size"] == 50_000
    chunk = read.chunks["pages-0000"]
    assert len(chunk["texts"]) == 1
    assert read.meta["curve"]["removed"] == [49_999] * len(read.meta["curve"]["t"])
    assert read.facts["crowds"].startswith("1 crowd of 50,000 documents")


# --- the list of pairs


def test_the_list_has_every_found_pair_of_a_cluster_ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup.tasks.report.ranking.PAIRS_CHUNK", 7)
    documents = [(f"{'abc'[i % 3]}{i}", text) for i, text in enumerate(varied(70, 8))]
    read = made(documents, tmp_path, sources="^.", **EXACT)
    found = neardup.find(documents, **EXACT, **ONE)
    of = {row["id"]: row["keeper"] for row in found.clusters.to_pylist()}
    pairs = pair_map(found.pairs)
    together = {pair: s for pair, s in pairs.items() if len({of[name] for name in pair}) == 1}
    assert {frozenset((row["a"], row["b"])): row["similarity"] for row in read.pairs} == together
    about = read.meta["pairs"]
    assert (about["total"], about["listed"], about["chunks"]) == (len(pairs), len(together), -(-len(together) // 7))
    ranks = [(-row["similarity"], -row["longest"], row["cluster"], row["pair"]) for row in read.pairs]
    assert ranks == sorted(ranks)
    assert about["starts"] == [[-s, -longest, cluster, place] for s, longest, cluster, place in ranks[::7]]
    assert pair_rows(about["first"]) == read.pairs[:10]
    texts = dict(documents)
    for row in read.pairs:
        cluster, shown = read.page(row["cluster"])
        pair = cluster["pairs"][row["pair"]]
        a, b = (cluster["members"][pair[side]] for side in "ab")
        assert (a["id"], b["id"]) == (row["a"], row["b"])
        assert (a["source"], b["source"]) == (row["source_a"], row["source_b"])
        spans = plain.shared_spans(
            *(plain.occurrences(texts[row[side]], "char:3", read.meta["spec"]["normalize"]) for side in "ab")
        )
        length, start, _ = pair["longest"]
        passage = shown[pair["a"]][start : start + length]
        assert row["longest"] == length
        assert row["snippet"].removesuffix("…") == " ".join(passage.split())[:90].rstrip()
        covered = sum(end - start for start, end in spans)
        assert row["share_a"] == covered * 1000 // len(texts[row["a"]])


def test_the_highest_pair_of_a_cluster_is_that_of_its_members(tmp_path: Path) -> None:
    documents = [(f"d{i}", text) for i, text in enumerate(varied(80, 5))]
    read = made(documents, tmp_path, link="connected", **EXACT)
    found = pair_map(neardup.find(documents, **EXACT, **ONE).pairs)
    for number, row in enumerate(read.rows):
        names = {member["id"] for member in read.page(number)[0]["members"]}
        assert row["highest"] == max(s for pair, s in found.items() if pair <= names)
    best = read.meta["clusters"]["best"]
    assert [one["number"] for one in best] == sorted(
        range(len(read.rows)), key=lambda i: (-read.rows[i]["highest"], i)
    )[:6]
    assert read.meta["highest"] == max(found.values())


def test_pairs_that_the_size_leaves_out_are_counted(tmp_path: Path) -> None:
    documents = [(f"d{i}", text) for i, text in enumerate(crowd_texts(90))]
    read = made(documents, tmp_path, threshold=0.5, exact=True)
    left_out = read.meta["pairs"]["total"] - read.meta["pairs"]["listed"]
    assert left_out > 0
    assert any(limit.endswith(f"; {left_out:,} pairs have none.") for limit in read.meta["limits"])


def test_what_is_zero_is_not_among_the_facts(tmp_path: Path) -> None:
    read = made(varied(20, 3), tmp_path, **EXACT)
    assert not {"left out", "empty", "short", "repeated ids", "crowds", "overfull"} & set(read.facts)
    assert all(not re.match("0 ", text) for text in read.facts.values())


@pytest.mark.parametrize(("pairs", "bins"), [(0, 5), (10, 5), (79, 16), (1000, 40), (10**6, 160)])
def test_more_pairs_get_more_bars(pairs: int, bins: int) -> None:
    """Twice the cube root of the pairs, from 5 on, and the next round width below."""
    edges = similarity_edges(0.2, pairs=pairs)
    wanted = min(100, max(5, 2 * pairs ** (1 / 3)))
    assert wanted - 1 <= edges.size - 1 <= 2.6 * wanted
    assert edges.size - 1 == {0: 8, 10: 8}.get(pairs, bins)
    assert (edges[0], edges[-1]) == (0.2, 1.0)


# --- limits


def test_the_size_is_kept_and_what_has_no_page_is_said(tmp_path: Path) -> None:
    draw = random.Random(2)
    texts = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz ", k=20_000)) for _ in range(100)]
    documents = [text + end for text in texts for end in ("", " end", " ends")]
    done = report(documents, tmp_path / "r", size="2MB", threshold=0.8, **ONE)
    read = read_report(done.path)
    page = [row["page"] for row in read.rows]
    assert done.bytes <= 2_000_000
    assert done.bytes == sum(path.stat().st_size for path in (tmp_path / "r").rglob("*") if path.is_file())
    shown = sum(each >= 0 for each in page)
    assert 0 < shown < len(page) == 100
    assert page == sorted(page[:shown]) + [-1] * (100 - shown)
    assert any(f"first {shown:,} have pages" in limit and "2.0 MB" in limit for limit in read.meta["limits"])


def test_long_texts_are_shown_in_windows_that_hold_their_passages(tmp_path: Path) -> None:
    draw = random.Random(3)
    one, other = ("".join(draw.choices("abcdefghijkl ", k=50_000)) for _ in range(2))
    shared = "".join(draw.choices("mnopqrstuvwxyz ", k=30_000))
    read = made([one[:5000] + shared + one[5000:9000], other[:4000] + shared], tmp_path, threshold=0.3, exact=True)
    cluster, _ = read.page(0)
    texts = read.chunks["pages-0000"]["texts"]
    assert all(sum(len(text) for _, text in each["pieces"]) <= 20_000 for each in texts)
    assert [each["characters"] for each in texts] == [39_000, 34_000]
    assert cluster["pairs"][0]["longest"][0] >= 30_000
    assert "only around what they share" in " ".join(read.meta["limits"])


def test_of_very_long_texts_fewer_pairs_and_texts_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "HEAVY", 5000)
    monkeypatch.setattr(pages, "MARKED_EACH", 5000)
    monkeypatch.setattr(pages, "FULL_EACH", 0)
    monkeypatch.setattr(pages, "HELD", 1500)
    texts = crowd_texts(10)
    read = made(texts, tmp_path, threshold=0.5, exact=True)
    cluster = read.chunks["pages-0000"]["clusters"]["0"]
    assert [(pair["a"], pair["b"]) for pair in cluster["pairs"]] == [(0, 1), (0, 2), (0, 3)]
    assert [member["text"] for member in cluster["members"]] == [0, 1, 2, 3, -1, -1, -1, -1, -1, -1]
    assert [member["characters"] for member in cluster["members"]] == [
        len(texts[int(member["id"])]) for member in cluster["members"]
    ]
    found = pair_map(neardup.find(texts, threshold=0.5, exact=True, **ONE).pairs)
    ids = [int(member["id"]) for member in cluster["members"]]
    assert {frozenset((ids[i], ids[j])): similarity for i, j, similarity in cluster["similarities"]} == found
    assert f"{len(found) - 3} of these pairs have no page" in cluster["matrix_note"]


def test_a_text_that_is_not_shown_is_not_that_of_a_cluster_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "HEAVY", 5000)
    monkeypatch.setattr(pages, "MARKED_EACH", 5000)
    read = made([*["a few short words, again and again"] * 11, *crowd_texts(10)], tmp_path, threshold=0.5, exact=True)
    first, second = (read.chunks["pages-0000"]["clusters"][number]["members"] for number in "01")
    assert [member["text"] for member in first] == [0] * 11
    assert [member["text"] for member in second] == [1, 2, 3, 4, -1, -1, -1, -1, -1, -1]


def test_texts_too_long_for_the_memory_are_told_before_they_are_read_again(tmp_path: Path) -> None:
    text = "".join(random.Random(1).choices("abcdefghijklmnop ", k=1_500_000))
    memory = max(resident_memory(), PROGRAM) + LEAST_WORK + (30 << 20)
    with pytest.raises(InputError, match=r"the documents [01] and [01] are too long for their passages to be found"):
        report([text, text + "!"], tmp_path / "r", memory=memory, threads=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": "1MB"}, "size is 1MB. Give 2MB"),
        ({"size": "many"}, "size is 'many'. Give a size"),
        ({"sources": "("}, "no regular expression"),
        ({"audit": 0}, "Give a whole number of at least 1"),
        ({"link": "chain"}, "link is 'chain'"),
        ({"pairs": "nowhere.csv"}, "nowhere.csv is no file"),
    ],
)
def test_wrong_options_are_told_before_anything_is_read(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        report(tmp_path / "there is no such input", tmp_path / "r", **options)


# --- the same whatever the way


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(varied(250, 11, words=120))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_threads_blocks_and_work_on_disk_change_no_byte(many: Path, tmp_path: Path) -> None:
    ways: list[dict[str, Any]] = [
        {"threads": 1},
        {"threads": 3, "block": 100},
        {"threads": 2, "workdir": tmp_path / "work"},
    ]
    found = []
    for number, way in enumerate(ways):
        report(many, tmp_path / str(number), title="same", threshold=0.4, crowd=5, **way)
        found.append(files_of(tmp_path / str(number)))
    assert all(each == found[0] for each in found)
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("name", ["pairs.parquet", "pairs.csv", "pairs.jsonl", "pairs.csv.gz"])
@pytest.mark.parametrize("numbered", [False, True])
def test_pairs_of_an_earlier_run_give_the_same_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, numbered: bool
) -> None:
    monkeypatch.setattr("neardup.tasks.report.earlier_pairs.ROWS_AT_A_TIME", 7)  # they are read some at a time
    monkeypatch.setattr("neardup.tasks.report.earlier_pairs.BLOCK", 300)
    texts = varied(120, 12)
    documents = pa.table({"id": range(120) if numbered else [f"2009-02-{i}" for i in range(120)], "text": texts})
    found = neardup.find(documents, **EXACT)
    write_table(found.pairs, tmp_path / name, format=None, spec=found.spec.as_dict())
    searched = made(documents, tmp_path, "searched", **EXACT)
    filed = made(documents, tmp_path, "filed", pairs=tmp_path / name)
    assert filed.chunks == searched.chunks
    assert filed.meta["curve"] == searched.meta["curve"]
    assert filed.meta["spec_id"] == searched.meta["spec_id"]
    assert str(tmp_path / name) in filed.facts["pairs"]


@pytest.mark.parametrize("collapse", [False, True])
def test_copies_of_pairs_from_a_file_are_where_a_search_has_them(tmp_path: Path, collapse: bool) -> None:
    texts = varied(60, 17)
    documents = [(f"d{i}", text) for i, text in enumerate([*texts, *texts[:20], texts[0], texts[0]])]
    options: dict[str, Any] = {"collapse_exact": collapse, **EXACT}
    found = neardup.find(documents, **options)
    write_table(found.pairs, tmp_path / "pairs.csv", format=None, spec=found.spec.as_dict())
    searched = made(documents, tmp_path, "searched", **options)
    filed = made(documents, tmp_path, "filed", pairs=tmp_path / "pairs.csv")
    assert filed.chunks == searched.chunks
    assert searched.meta["counts"]["pairs"] == found.pairs.num_rows
    assert searched.meta["curve"]["removed"][0] == found.clusters.num_rows - found.summary.clusters
    assert filed.meta["curve"] == searched.meta["curve"]


def test_clusters_of_crowds_come_out_of_a_file_of_pairs_too(tmp_path: Path) -> None:
    documents = [(f"d{i}", text) for i, text in enumerate([*crowd_texts(300), *crowd_texts(1) * 50, *varied(40, 3)])]
    options: dict[str, Any] = {"threshold": 0.5, "crowd": 20}
    found = neardup.find(documents, **options)
    assert found.summary.crowds
    write_table(found.pairs, tmp_path / "pairs.csv", format=None, spec=found.spec.as_dict())
    searched = made(documents, tmp_path, "searched", **options)
    filed = made(documents, tmp_path, "filed", pairs=tmp_path / "pairs.csv")
    assert filed.rows == searched.rows
    assert filed.meta["curve"] == searched.meta["curve"]


def test_one_file_holds_what_the_folder_holds(tmp_path: Path) -> None:
    texts = varied(40, 13)
    folder = made(texts, tmp_path, "folder", title="t", **EXACT)
    single = made(texts, tmp_path, "single.html", title="t", single_file=True, **EXACT)
    assert single == folder


# --- pairs that do not fit


def filed_pairs(folder: Path, pairs: Sequence[tuple[Any, Any, float]], **changes: Any) -> Path:
    spec = neardup.find(["a", "b"], shingle="char:3", threshold=0.3).spec.as_dict()
    columns = dict(zip(("id_a", "id_b", "similarity"), zip(*pairs, strict=True), strict=True))
    path = folder / "pairs.jsonl"
    write_table(pa.table(columns), path, format=None, spec={**spec, **changes})
    return path


TEXTS = [("a", "a rose is a rose"), ("b", "a rose is a rose!"), ("c", "tulips and roses"), ("c", "again tulips")]


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("a", "z", 0.9)], "the document 'z', which is not in the inputs"),
        ([("a", "c", 0.9)], "the id 'c' in"),
        ([("a", "a", 1.0)], "a pair of a document with itself"),
        ([("a", "b", 0.2)], "was found at 0.3"),
        ([("a", "b", 0.9)], "the documents b and a have a similarity of"),
    ],
)
def test_pairs_of_other_documents_are_refused(tmp_path: Path, pairs: list[Any], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        report(TEXTS, tmp_path / "r", pairs=filed_pairs(tmp_path, pairs))
    assert not (tmp_path / "r").exists()


def test_pairs_without_their_spec_or_with_another_are_refused(tmp_path: Path) -> None:
    path = filed_pairs(tmp_path, [("a", "b", 0.9)], version=99)
    with pytest.raises(FormatError, match="version 99"):
        report(TEXTS, tmp_path / "r", pairs=path)
    filed_pairs(tmp_path, [("a", "b", 0.9)], threshold=0.4)
    with pytest.raises(FormatError, match=r"the spec is damaged"):
        report(TEXTS, tmp_path / "r", pairs=path)
    Path(f"{path}.spec.json").unlink()
    with pytest.raises(InputError, match=r"Run neardup find -o FILE again"):
        report(TEXTS, tmp_path / "r", pairs=path)
    pq.write_table(pa.table({"id_a": ["a"]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="carries no spec"):
        report(TEXTS, tmp_path / "r", pairs=tmp_path / "x.parquet")


def test_options_of_a_search_are_refused_beside_pairs(tmp_path: Path) -> None:
    path = filed_pairs(tmp_path, [("a", "b", 0.9)])
    for name, value in {"threshold": 0.4, "audit": 10, "exact": True, "shingle": "char:4", "seed": 7}.items():
        with pytest.raises(InputError, match=f"{name} is about a search"):
            report(TEXTS, tmp_path / "r", pairs=path, **{name: value})


# --- inputs of every kind


def test_a_text_that_changes_between_the_readings_is_told(tmp_path: Path) -> None:
    path = tmp_path / "docs.lines"
    path.write_text("a rose is a rose\na rose is a rose!\ntulips\n")

    class Meddler:
        def __init__(self, text: str) -> None:
            self.text = text

        def stage(self, name: str, total: int | None, unit: str) -> None:
            if name == "again":
                path.write_text(self.text)

        def advance(self, amount: int) -> None:
            pass

        def note(self, message: str) -> None:
            pass

    options: dict[str, Any] = {"shingle": "char:3", "input_format": "lines"}
    with pytest.raises(InputError, match=r"docs.lines:2 is not the same as when it was read first"):
        report(path, tmp_path / "r", observer=Meddler("a rose is a rose\na nose is a nose!\ntulips\n"), **options)
    path.write_text("a rose is a rose\na rose is a rose!\ntulips\n")
    with pytest.raises(InputError, match=r"had 3 documents when they were read first, and 2 the second time"):
        report(path, tmp_path / "r", observer=Meddler("a rose is a rose\na rose is a rose!\n"), **options)
    assert not (tmp_path / "r").exists()


def test_generators_are_held_and_sets_are_shown_as_their_items(tmp_path: Path) -> None:
    rows = [{"milk", "rye bread", "eggs"}, {"milk", "rye bread", "tea"}, {"nails"}]
    read = made(((f"b{i}", sorted(row)) for i, row in enumerate(rows)), tmp_path, shingle="item", threshold=0.4)
    cluster, shown = read.page(0)
    assert sorted(shown) == ["eggs milk rye␣bread", "milk rye␣bread tea"]
    assert cluster["pairs"][0]["similarity"] == 0.5
    assert cluster["pairs"][0]["sizes"] == [3, 3, 2]


def test_a_folder_names_sources_by_its_folders(tmp_path: Path) -> None:
    for name in ("one/a.txt", "one/b.txt", "two/deep/c.txt", "d.txt"):
        path = tmp_path / "essays" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("the same words in every file\n")
    read = made(tmp_path / "essays", tmp_path, threshold=0.5)
    sources = dict(zip(read.meta["sources"]["names"], read.meta["sources"]["documents"], strict=True))
    assert sources == {"one": 2, "essays": 1, "two/deep": 1}
    assert read.meta["sources"]["left_out"] == 0


def test_many_sources_become_others(tmp_path: Path) -> None:
    documents = [(f"s{i % 50}-{i}", text) for i, text in enumerate(varied(130, 14))]
    read = made(documents, tmp_path, sources="^s[0-9]+", **EXACT)
    sources = read.meta["sources"]
    assert (len(sources["names"]), sources["names"][-1], sources["left_out"]) == (40, "others", 11)
    assert sum(sources["documents"]) == 130
    matrix = np.array(sources["pairs"])
    assert (np.triu(matrix).sum(), (matrix == matrix.T).all()) == (read.meta["counts"]["pairs"], True)


@pytest.mark.parametrize("texts", [[], ["one"], ["", "", " "], ["one", "two", "three"]])
def test_nothing_found_is_a_report_too(tmp_path: Path, texts: list[str]) -> None:
    read = made(texts, tmp_path)
    assert read.rows == []
    assert read.meta["clusters"] == {"total": 0, "listed": 0, "chunk": 2000, "chunks": 0, "best": []}
    assert read.pairs == []
    assert set(read.meta["curve"]["pairs"]) <= {0, 1}


def test_what_was_skipped_is_counted(tmp_path: Path) -> None:
    lines = ['{"id": "a", "text": "one two three four"}', '{"id": "a", "text": "one two three four"}', "", "{bad"]
    (tmp_path / "docs.jsonl").write_text("\n".join([*lines, '{"id": "e", "text": ""}']) + "\n")
    read = made(tmp_path / "docs.jsonl", tmp_path, on_bad="skip", audit=5)
    facts = read.facts
    assert facts["left out"] == "1 bad record, 1 blank line"
    assert facts["empty"].startswith("1 document ")
    assert facts["repeated ids"] == "1 document with an id seen before, such as a"
    assert facts["exact copies"].startswith("1 document ")
    assert len(read.meta["faults"]) == 1
    assert read.meta["faults"][0].startswith(f"{tmp_path / 'docs.jsonl'}:4: ")
    verdict = "nothing to say: the sample has no true pair; sample more documents"
    assert facts["measured"] == f"{verdict} (1 document sampled)"
    assert read.meta["audit"] is None


def test_containment_is_shown_as_such(tmp_path: Path) -> None:
    draw = random.Random(5)
    book = ["".join(draw.choices("abcdefghij", k=6)) for _ in range(600)]
    documents = [("book", " ".join(book)), ("page", " ".join(book[100:160])), ("other", " ".join(book[::-1]))]
    read = made(documents, tmp_path, measure="containment", threshold=0.9, shingle="word:3")
    cluster, _ = read.page(0)
    pair = cluster["pairs"][0]
    assert [member["id"] for member in cluster["members"]] == ["book", "page"]
    assert (pair["similarity"], pair["b_in_a"]) == (1.0, 1.0)
    assert pair["jaccard"] == pytest.approx(58 / 598)
    assert read.meta["measure"] == "containment"
    assert cluster["similarities"] == [[0, 1, 1.0]]


def test_a_report_is_not_written_where_it_would_be_read_or_over_something_else(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "essay.txt").write_text("words")
    with pytest.raises(OutputError, match=r"holds 'essay.txt'"):
        report(tmp_path, folder)
    target = tmp_path / "page.html"
    report(["a", "b"], target, single_file=True)
    with pytest.raises(InputError, match=r"page.html is an input, and lies where the report is to be written"):
        report(tmp_path, target, single_file=True, glob="*.html")
