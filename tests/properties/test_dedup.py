"""Invariants of ``neardup.dedup`` that hold for every collection and policy, and the oracle's word on who goes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import dedup, text
from tests.oracles.dedup import Doc
from tests.oracles.results import pair_map
from tests.properties.strategies import NORMALIZE, SHINGLES, THRESHOLDS, collections

import neardup

EXAMPLES = settings(max_examples=40)
FEWER = settings(max_examples=25)
BY_PLACE_OR_SIZE = st.sampled_from(["first", "last", "longest", "shortest"])
NUMBERS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**53, 2**53 + 1, -(2**60)]))
FLOATS = st.one_of(st.none(), st.sampled_from([0.5, -0.0, 0.0, 1e300, float("inf"), float("-inf"), float("nan")]))
STRINGS = st.one_of(st.none(), st.sampled_from(["", "a", "B", "ab", "é", "日", "2024-01-02", "2023-12-31"]))
WORTHY = st.sampled_from(["max:worth", "min:worth"])
SOURCES = ("a.jsonl", "b.jsonl", "c.jsonl")


def options(threshold, shingle, **more):
    return {"threshold": threshold, "shingle": shingle, "threads": 1, **more}


def gone_of(cleaned):
    """id -> why, from the table of removals; fails when a document is listed twice."""
    rows = cleaned.removed.select(["id", "keeper", "similarity"]).to_pylist()
    found = {row["id"]: dedup.Gone(row["keeper"], row["similarity"]) for row in rows}
    assert len(found) == len(rows), "a document is removed twice"
    return found


def docs_of(documents, source=""):
    return [Doc(name, body, source) for name, body in documents]


def test_the_oracle_agrees_with_what_was_worked_out_by_hand():
    # a chain a - b - c - d, and p near to b and c
    near = {frozenset(pair): 0.9 for pair in ("ab", "bc", "cd", "pb", "pc")}
    docs = [Doc(name, name * (i + 1), "held" if name == "p" else "mine", {"n": i}) for i, name in enumerate("abcdp")]

    def gone(keep, **how):
        order = dedup.in_order(docs, keep, **how)
        return {name: why.keeper for name, why in dedup.greedy(order, near, how.get("protected", ())).items()}

    assert gone("first") == {"b": "a", "d": "c", "p": "c"}
    assert gone("longest") == gone("last") == gone("max:n") == {"b": "p", "c": "p"}
    assert gone("min:n") == gone("shortest") == gone("first")
    assert gone("first", protected=["held"]) == {"b": "p", "c": "p"}
    assert gone("first", protected=["mine"]) == {"p": "b"}
    assert gone("first", prefer=["held"]) == {"b": "p", "c": "p"}


@EXAMPLES
@given(collections(), SHINGLES, THRESHOLDS, BY_PLACE_OR_SIZE, NORMALIZE)
def test_those_go_that_the_oracle_says_given_the_found_pairs(documents, shingle, threshold, keep, normalize):
    how = options(threshold, shingle, normalize=normalize)
    cleaned = neardup.dedup(documents, keep=keep, **how)
    found = pair_map(neardup.find(documents, **how).pairs)
    order = dedup.in_order(docs_of(documents), keep, normalize=normalize)
    assert gone_of(cleaned) == dedup.greedy(order, found)


@EXAMPLES
@given(collections(), st.sampled_from(["char:3", "word:1"]), st.sampled_from([0.5, 0.7, 0.9, 1.0]), BY_PLACE_OR_SIZE)
def test_those_go_that_the_oracle_says_when_every_pair_is_a_candidate(documents, shingle, threshold, keep):
    # one row a band: a pair at 0.5 is missed once in 2**128
    cleaned = neardup.dedup(documents, keep=keep, **options(threshold, shingle, slots=128, bands="128x1"))
    docs = docs_of(documents)
    found = dedup.true_pairs(docs, threshold, shingle)
    assert gone_of(cleaned) == dedup.greedy(dedup.in_order(docs, keep), found)


@EXAMPLES
@given(collections(), SHINGLES, THRESHOLDS, WORTHY, st.sampled_from([NUMBERS, FLOATS, STRINGS]), st.data())
def test_a_column_decides_who_stays(documents, shingle, threshold, keep, values, data):
    worth = data.draw(st.lists(values, min_size=len(documents), max_size=len(documents)))
    if not any(value is not None for value in worth):
        worth = [1] * len(documents)
    names, bodies = [name for name, _ in documents], [body for _, body in documents]
    table = pa.table({"id": pa.array(names, pa.string()), "text": pa.array(bodies, pa.string()), "worth": worth})
    how = options(threshold, shingle)
    cleaned = neardup.dedup(table, keep=keep, **how)
    docs = [Doc(name, body, "", {"worth": value}) for name, body, value in zip(names, bodies, worth, strict=True)]
    expected = dedup.greedy(dedup.in_order(docs, keep), pair_map(neardup.find(table, **how).pairs))
    assert gone_of(cleaned) == expected
    assert cleaned.data.schema == table.schema
    stays = [i for i, name in enumerate(names) if name not in expected]
    assert cleaned.data.equals(table.take(pa.array(stays, pa.int64())))


@st.composite
def placed(draw):
    """Documents in up to three files, which of these are preferred in which order, and which are protected."""
    documents = draw(collections(most=18))
    sources = draw(st.lists(st.sampled_from(SOURCES), min_size=len(documents), max_size=len(documents)))
    docs = [Doc(name, body, source) for (name, body), source in zip(documents, sources, strict=True)]
    docs.sort(key=lambda doc: doc.source)
    used = sorted({doc.source for doc in docs})
    prefer = draw(st.lists(st.sampled_from(used), unique=True)) if used else []
    protected = draw(st.lists(st.sampled_from(used), unique=True, max_size=2)) if used else []
    return docs, prefer, protected


def write_files(folder, docs):
    """One JSONL file a source; paths by source."""
    paths = {source: folder / source for source in sorted({doc.source for doc in docs})}
    for source, path in paths.items():
        lines = [json.dumps({"id": doc.id, "text": doc.body}) for doc in docs if doc.source == source]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return paths


@FEWER
@given(placed(), st.sampled_from(["char:3", "char:5", "word:1"]), st.sampled_from([0.5, 0.7, 0.9]), BY_PLACE_OR_SIZE)
def test_preferred_and_protected_files_are_honoured(tmp_path_factory, placing, shingle, threshold, keep):
    docs, prefer, protected = placing
    if not docs:
        return
    paths = write_files(tmp_path_factory.mktemp("files"), docs)
    how = options(threshold, shingle)
    cleaned = neardup.dedup(
        list(paths.values()),
        keep=keep,
        prefer=[str(paths[source]) for source in prefer],
        protect=[paths[source] for source in protected],
        **how,
    )
    found = pair_map(neardup.find(list(paths.values()), **how).pairs)
    order = dedup.in_order(docs, keep, prefer=prefer, protected=protected)
    expected = dedup.greedy(order, found, protected)
    assert gone_of(cleaned) == expected
    assert not {doc.id for doc in docs if doc.source in protected} & expected.keys()
    kept_by = {doc.id: doc.source for doc in docs}
    for pair in dedup.left_pairs(docs, expected, found):
        assert all(kept_by[name] in protected for name in pair)
    assert cleaned.summary.protected == sum(doc.source in protected for doc in docs)


@FEWER
@given(placed(), st.sampled_from(["char:3", "word:1"]), BY_PLACE_OR_SIZE)
def test_further_protected_files_take_documents_and_are_not_written(tmp_path_factory, placing, shingle, keep):
    docs, _, _ = placing
    folder = tmp_path_factory.mktemp("files")
    paths = write_files(folder, docs)
    if "a.jsonl" not in paths or len(paths) < 2:
        return
    inputs = [path for source, path in paths.items() if source != "a.jsonl"]
    how = options(0.6, shingle)
    (folder / "out").mkdir()
    cleaned = neardup.dedup(inputs, output=str(folder / "out"), protect=[paths["a.jsonl"]], keep=keep, **how)
    ordered = [*(doc for doc in docs if doc.source != "a.jsonl"), *(doc for doc in docs if doc.source == "a.jsonl")]
    found = pair_map(neardup.find([*inputs, paths["a.jsonl"]], **how).pairs)
    expected = dedup.greedy(dedup.in_order(ordered, keep, protected=["a.jsonl"]), found, ["a.jsonl"])
    assert gone_of(cleaned) == expected
    written = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert sorted(written) == sorted(path.name for path in inputs)
    for path in inputs:
        lines = path.read_bytes().splitlines(keepends=True)
        assert written[path.name] == b"".join(line for line in lines if json.loads(line)["id"] not in expected)


@EXAMPLES
@given(collections(), SHINGLES, THRESHOLDS, BY_PLACE_OR_SIZE)
def test_each_that_goes_is_truly_near_to_one_that_stays_and_no_found_pair_is_left(documents, shingle, threshold, keep):
    how = options(threshold, shingle)
    cleaned = neardup.dedup(documents, keep=keep, **how)
    gone = gone_of(cleaned)
    sets = {name: text.shingles(body, shingle) for name, body in documents}
    for name, why in gone.items():
        a, b = sets[name], sets[why.keeper]
        assert why.similarity == len(a & b) / len(a | b) >= threshold
        assert why.keeper not in gone
    assert not dedup.left_pairs(docs_of(documents), gone, pair_map(neardup.find(documents, **how).pairs))


@EXAMPLES
@given(collections(), SHINGLES, THRESHOLDS, BY_PLACE_OR_SIZE)
def test_what_stays_and_what_goes_is_all_there_was_in_the_old_order(documents, shingle, threshold, keep):
    cleaned = neardup.dedup(documents, keep=keep, **options(threshold, shingle))
    gone = gone_of(cleaned)
    assert list(cleaned.data) == [(name, body) for name, body in documents if name not in gone]
    summary = cleaned.summary
    assert (summary.kept, summary.removed, summary.documents) == (len(cleaned.data), len(gone), len(documents))
    assert cleaned.removed["row"].to_pylist() == [i for i, (name, _) in enumerate(documents, 1) if name in gone]


@EXAMPLES
@given(collections(), SHINGLES, BY_PLACE_OR_SIZE)
def test_an_empty_document_never_goes(documents, shingle, keep):
    documents = [("void", ""), *documents, ("void too", "")]
    gone = gone_of(neardup.dedup(documents, keep=keep, **options(0.3, shingle)))
    assert not {name for name, body in documents if not body} & gone.keys()


@EXAMPLES
@given(collections(), SHINGLES, THRESHOLDS, BY_PLACE_OR_SIZE)
def test_clusters_and_rules_tell_what_happened(documents, shingle, threshold, keep):
    cleaned = neardup.dedup(documents, keep=keep, **options(threshold, shingle))
    rows = cleaned.removed.to_pylist()
    groups = {}
    for row in rows:
        groups.setdefault(row["cluster"], set()).update((row["id"], row["keeper"]))
    assert {frozenset(group) for group in groups.values()} == dedup.clusters(gone_of(cleaned))
    assert sorted(groups) == list(range(len(groups)))
    places = {name: i for i, (name, _) in enumerate(documents)}
    smallest = [min(places[name] for name in groups[number]) for number in sorted(groups)]
    assert smallest == sorted(smallest)
    sizes = {name: len(text.normalise(body).encode()) for name, body in documents}
    for row in rows:
        same = keep == "first" or (keep in ("longest", "shortest") and sizes[row["id"]] == sizes[row["keeper"]])
        assert row["rule"] == ("first" if same else keep)
    sizes_of_groups = Counter(len(group) for group in groups.values())
    assert cleaned.summary.largest_cluster == max(sizes_of_groups, default=0)
    assert cleaned.summary.clusters == len(groups)


@FEWER
@given(collections(), THRESHOLDS, BY_PLACE_OR_SIZE, st.integers(2, 4))
def test_crowds_lose_every_found_neighbour_too(documents, threshold, keep, crowd):
    how = options(threshold, "char:3", crowd=crowd)
    gone = gone_of(neardup.dedup(documents, keep=keep, **how))
    sets = {name: text.shingles(body, "char:3") for name, body in documents}
    for name, why in gone.items():
        a, b = sets[name], sets[why.keeper]
        assert why.similarity == len(a & b) / len(a | b) >= threshold
        assert why.keeper not in gone
    assert not dedup.left_pairs(docs_of(documents), gone, pair_map(neardup.find(documents, **how).pairs))
    there = [shingles for name, shingles in sets.items() if name not in gone and shingles]
    assert len(set(there)) == len(there)  # no copies are left


@FEWER
@given(collections(), st.sampled_from([0.5, 0.7, 0.9]), BY_PLACE_OR_SIZE)
def test_threads_blocks_and_a_workdir_change_nothing(tmp_path_factory, documents, threshold, keep):
    folder = tmp_path_factory.mktemp("work")
    plain = neardup.dedup(documents, keep=keep, **options(threshold, "char:5"))
    for more in ({"threads": 3, "block": 2}, {"workdir": folder / "w"}, {"workdir": folder / "w", "block": 5}):
        other = neardup.dedup(documents, keep=keep, **{**options(threshold, "char:5"), **more})
        assert other.removed.equals(plain.removed)
        assert other.data == plain.data
    assert list(folder.iterdir()) == []


@FEWER
@given(placed(), BY_PLACE_OR_SIZE, st.booleans())
def test_files_come_out_alike_from_memory_and_from_a_workdir(tmp_path_factory, placing, keep, annotate):
    docs, prefer, _ = placing
    if not docs:
        return
    folder = tmp_path_factory.mktemp("work")
    paths = write_files(folder, docs)
    outcomes = []
    (folder / "ram").mkdir()
    (folder / "disk").mkdir()
    for name, more in (("ram", {}), ("disk", {"workdir": folder / "w", "block": 3})):
        cleaned = neardup.dedup(
            list(paths.values()),
            output=str(folder / name),
            keep=keep,
            prefer=[str(paths[source]) for source in prefer],
            annotate=annotate,
            **options(0.6, "char:3", **more),
        )
        files = {path.name: path.read_bytes() for path in sorted((folder / name).iterdir())}
        outcomes.append((files, cleaned.removed.to_pylist()))
    assert outcomes[0] == outcomes[1]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*paths, "ram", "disk"])


@pytest.mark.parametrize("keep", ["max:nothing", "longer", "max:", "first:x"])
def test_a_rule_that_cannot_be_is_refused(tmp_path: Path, keep: str):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "a b c"}\n{"id": 2, "text": "a b c"}\n')
    with pytest.raises(neardup.InputError):
        neardup.dedup(tmp_path / "a.jsonl", keep=keep)
