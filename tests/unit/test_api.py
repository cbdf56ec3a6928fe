"""The Python face: the parts do what they say, wrong arguments are refused by value and cure, results go anywhere."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import neardup
from neardup import InputError, SpecMismatch

TEXTS = ["one text and its near copy", "one text and its near copy!", "something else altogether"]


@pytest.fixture(scope="module")
def found() -> neardup.Result:
    return neardup.find(TEXTS, threshold=0.7)


# The parts


def test_shingles_are_distinct_in_order_of_first_appearance():
    assert neardup.shingle("abcab", "char:2") == ["ab", "bc", "ca"]
    assert neardup.shingle("a rose is a rose", "word:2") == ["a rose", "rose is", "is a"]
    assert neardup.shingle("x y x", "item") == ["x", "y"]
    assert neardup.shingle("é", "byte:1") == ["Ã", "©"]


def test_a_short_text_is_its_one_shingle_and_an_empty_one_has_none():
    assert neardup.shingle("abc", "char:9") == ["abc"]
    assert neardup.shingle("one two", "word:3") == ["one two"]
    assert neardup.shingle("?!", "word:3") == ["?!"]
    for shingle in ("char:9", "word:3", "byte:2", "item"):
        assert neardup.shingle("", shingle) == []


def test_texts_are_normalised_before_they_are_cut():
    assert neardup.shingle("e\u0301", "char:1") == ["é"]
    assert neardup.shingle("e\u0301", "char:1", normalize="none") == ["e", "\u0301"]
    assert neardup.jaccard("Ａ b", "a  B", "char:2", normalize="nfkc,casefold,space") == 1.0


def test_jaccard_of_texts_and_of_sets():
    assert neardup.jaccard("Nadal", "Nadia", "char:2") == 2 / 6
    assert neardup.jaccard({1, 2, 3}, [3, 4, 3]) == 1 / 4
    assert neardup.jaccard("", "") == 1.0
    assert neardup.jaccard("", "a") == 0.0
    assert neardup.jaccard((), ()) == 1.0
    assert neardup.jaccard(iter("ab"), iter("bc")) == 1 / 3


def test_jaccard_of_a_text_and_a_set_is_refused():
    with pytest.raises(InputError, match=r"str and list\. Give two texts or two sets"):
        neardup.jaccard("a", ["a"])


@pytest.mark.parametrize("family", ["hybrid", "independent", "universal", "permutation"])
def test_signatures_have_a_row_for_each_text_and_a_column_for_each_slot(family):
    made = neardup.sketch([*TEXTS, ""], sketch=family, slots=64)
    assert made.signatures.values.shape == (4, 64)
    assert made.signatures.values.dtype == np.uint32
    assert len(made) == 4
    assert (made.signatures.values[3] == 0xFFFFFFFF).all()
    assert (made.signatures.values[:3] != 0xFFFFFFFF).all()


def test_an_estimate_is_the_share_of_equal_slots_and_empty_slots_equal_nothing():
    made = neardup.sketch([*TEXTS, "", ""])
    values = made.signatures.values
    assert made.estimate(0, made, 0) == 1.0
    assert made.estimate(0, made, 1) == np.count_nonzero(values[0] == values[1]) / 128
    assert abs(made.estimate(0, made, 1) - neardup.jaccard(*TEXTS[:2])) < 0.2
    assert made.estimate(3, made, 4) == 0.0
    assert neardup.estimate(values[0], values[1]) == made.estimate(0, made, 1)
    assert neardup.estimate([2, 1, 2, 1], (2, 1, 4, 1)) == 0.75


def test_slots_that_are_empty_in_both_are_left_out_of_the_estimate():
    empty = 0xFFFFFFFF
    rows = np.array([[empty, 1, 2, empty], [empty, 1, 3, 4], [empty] * 4], dtype=np.uint32)
    expected = {(0, 1): 1 / 3, (0, 0): 1.0, (0, 2): 0.0, (2, 2): 0.0}
    for (i, j), share in expected.items():
        assert neardup.estimate(rows[i], rows[j]) == share
        a, b = ([None if v == empty else v for v in rows[k].tolist()] for k in (i, j))
        assert neardup.estimate(a, b) == share


def test_signatures_of_different_lengths_are_refused():
    for a, b in (([1], [1, 2]), ([], [])):
        with pytest.raises(InputError, match=f"{len(a)} and {len(b)} slots"):
            neardup.estimate(a, b)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"seed": 2}, r"seed \(1 and 2\)"),
        ({"shingle": "char:5"}, r"shingle \(char:9 and char:5\)"),
        ({"normalize": "none"}, r"normalize \(nfc and none\)"),
        ({"sketch": "universal"}, r"sketch \(hybrid and universal\)"),
        ({"slots": 64}, r"slots \(128 and 64\)"),
    ],
)
def test_estimates_across_settings_are_refused_with_both_values(other, words):
    one, two = neardup.sketch(TEXTS), neardup.sketch(TEXTS, **other)
    with pytest.raises(SpecMismatch, match=f"signatures differ in {words}. Sketch one side again"):
        one.estimate(0, two, 0)


def test_minhash_takes_callables_and_orders_and_leaves_empty_sets_without_a_value():
    order = {x: i for i, x in enumerate("beadc")}
    sets = [set("ad"), set("c"), set("bde"), set("acd"), set()]
    assert neardup.minhash(sets, [order]) == [[2], [4], [0], [2], [None]]
    assert neardup.minhash([[3, 1, 2]], [lambda x: -x, abs]) == [[-3, 1]]


# Wrong arguments

WRONG = [
    ({"threshold": 0}, "threshold is 0. Give a Jaccard similarity above 0 and at most 1"),
    ({"threshold": 1.2}, r"threshold is 1\.2"),
    ({"threshold": "high"}, "threshold is 'high', not a number"),
    ({"threshold": float("nan")}, "threshold is nan"),
    ({"recall": 1}, "recall is 1: no banding finds every pair"),
    ({"recall": 0}, "recall is 0. Give a recall above 0"),
    ({"shingle": "chars:9"}, "shingle is 'chars:9'.*Did you mean 'char'"),
    ({"shingle": "word:0"}, "shingle is 'word:0': K must be a whole number from 1 to 1000"),
    ({"normalize": "nfd"}, "normalize has 'nfd'; known are"),
    ({"sketch": "hybird"}, "sketch is 'hybird'.*Did you mean 'hybrid'"),
    ({"slots": 1}, "slots is 1. Give a whole number from 2 to 4096"),
    ({"slots": 12.5}, r"slots is 12\.5"),
    ({"bands": "32"}, "bands is '32'. Give bands x rows, such as 32x8"),
    (
        {"bands": "32x8", "slots": 128},
        "bands 32x8 need 256 slots, slots is 128. Give more slots or smaller bands",
    ),
    ({"bands": "1000x1000"}, "slots is 1000000"),
    (
        {"threshold": 0.01, "slots": 2},
        "2 slots cannot reach recall .* at threshold 0.01.*Give more slots or a lower recall",
    ),
    ({"seed": -1}, "seed is -1. Give a whole number from 0"),
    ({"seed": 2**63}, "seed is 9223372036854775808"),
    ({"seed": 1.0}, r"seed is 1\.0"),
    ({"seed": True}, "seed is True"),
    ({"crowd": 1}, "crowd is 1. Give a whole number of at least 2, such as 1000"),
    ({"link": "stars"}, "link is 'stars'; known are star, connected.*Did you mean 'star'"),
    ({"threads": 0}, "threads is 0. Give a whole number of at least 1"),
    ({"threads": 1.5}, r"threads is 1\.5"),
    ({"block": 0}, "block is 0"),
    ({"on_bad": "ignore"}, "on_bad is 'ignore'.*fail.*skip"),
    ({"encoding": "utf-9"}, "'utf-9' is no encoding that Python knows. Did you mean 'utf-8'"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[str(options) for options, _ in WRONG])
def test_a_wrong_argument_is_refused_with_its_value_and_a_cure(options, words, tmp_path):
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(InputError, match=words):
        neardup.find(tmp_path, **options)


def test_a_refusal_of_the_recall_that_slots_can_give_names_the_recall_that_was_asked():
    """The bands must reach a little more, for the filter's sake; the message speaks of what the user typed."""
    with pytest.raises(InputError, match=r"recall 0\.99 "):
        neardup.find(TEXTS, threshold=0.01, slots=2)


def test_an_unknown_argument_is_an_error():
    with pytest.raises(TypeError, match="treshold"):
        neardup.find(TEXTS, treshold=0.8)
    with pytest.raises(TypeError, match="positional"):
        neardup.find(TEXTS, 0.8)


def test_every_error_is_also_the_builtin_that_people_catch():
    with pytest.raises(ValueError, match="threshold"):
        neardup.find(TEXTS, threshold=2)


# Results


def test_a_result_has_pairs_clusters_a_summary_and_the_spec_that_made_them(found):
    assert found.pairs.column_names == ["id_a", "id_b", "similarity"]
    assert found.clusters.column_names == ["id", "cluster", "keeper", "similarity"]
    (pair,) = found.pairs.to_pylist()
    assert (pair["id_a"], pair["id_b"]) == (0, 1)
    assert pair["similarity"] == neardup.jaccard(*TEXTS[:2])
    assert found.clusters["id"].to_pylist() == [0, 1]
    assert found.spec.threshold == found.summary.threshold == 0.7
    assert found.summary.spec_id == found.spec.id
    assert (found.summary.documents, found.summary.pairs, found.summary.clusters) == (3, 1, 1)
    assert found.faults == ()
    assert repr(found) == "<neardup.Result: 1 pairs, 1 clusters of 3 documents at 0.7>"


def test_a_summary_is_plain_json(found):
    plain = json.loads(json.dumps(found.summary.as_dict()))
    assert plain == found.summary.as_dict()
    assert plain["spec"] == found.spec.as_dict()
    assert plain["version"] == neardup.__version__


def test_a_result_cannot_be_changed(found):
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.pairs = None


def test_pairs_go_to_pandas_polars_and_arrow_without_change(found):
    rows = found.pairs.to_pylist()
    assert found.to_pandas().to_dict("records") == rows
    assert isinstance(found.to_pandas(), pd.DataFrame)
    assert found.to_polars().to_dicts() == rows
    assert pa.table(found).equals(found.pairs)


def test_a_result_is_an_arrow_stream_for_any_library(found):
    rows = found.pairs.to_pylist()
    assert pa.RecordBatchReader.from_stream(found).read_all().to_pylist() == rows
    assert pl.DataFrame(found).to_dicts() == rows
    relation = duckdb.from_arrow(pa.RecordBatchReader.from_stream(found))
    assert relation.fetchall() == [tuple(row.values()) for row in rows]


def test_conversions_say_which_library_is_missing(found, monkeypatch):
    for name, convert in (("pandas", found.to_pandas), ("polars", found.to_polars)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(neardup.MissingDependency, match=f"pip install {name}"):
            convert()


def test_a_collection_without_documents_or_pairs_gives_empty_tables():
    for texts in ([], ["alone"], ["", ""], ["one", "other"]):
        result = neardup.find(texts)
        assert result.pairs.num_rows == result.clusters.num_rows == result.crowds.num_rows == 0
        assert result.pairs.schema.field("similarity").type == pa.float64()
        assert result.summary.documents == len(texts)
        assert result.summary.empty == texts.count("")


@pytest.mark.parametrize("shingle", ["char:9", "byte:9", "word:3", "word:1", "item"])
def test_empty_documents_are_counted_and_never_pair(shingle):
    result = neardup.find(["", "", "same", "same"], shingle=shingle)
    assert result.summary.empty == 2
    assert result.pairs["id_a"].to_pylist() == [2]


def test_parts_and_whole_agree_on_similarity():
    """Sets of hashes and sets of strings give one number, for every kind of shingle."""
    a, b = (
        "the quick brown fox jumps — über den faulen Hund",
        "the quick brown fox jumped — über den faulen Hund",
    )
    for shingle in ("char:3", "char:12", "word:1", "word:2", "byte:5", "item"):
        (pair,) = neardup.find([a, b], shingle=shingle, threshold=0.3, recall=0.999).pairs.to_pylist()
        assert pair["similarity"] == neardup.jaccard(a, b, shingle)


WITHOUT_EXTRAS = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "duckdb", "datasets"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import neardup
print(neardup.find(["a", "a"]).pairs.to_pylist())
"""


def test_finding_needs_none_of_the_optional_libraries():
    command = [sys.executable, "-c", WITHOUT_EXTRAS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.stdout.strip() == "[{'id_a': 0, 'id_b': 1, 'similarity': 1.0}]", done.stderr[-2000:]
