"""Making, opening, building and closing an index."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.index.specs import TEXTS
from tests.oracles.index import NaiveIndex

from neardup import (
    FormatError,
    Index,
    IndexLocked,
    IndexNotFound,
    InputError,
    NeardupError,
    OutputError,
)


def test_create_refuses_what_is_there_or_cannot_be(tmp_path: Path) -> None:
    Index.create(tmp_path / "index").close()
    with pytest.raises(OutputError, match="index"):
        Index.create(tmp_path / "index")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "empty").mkdir()
    for name in ("file", "empty", "no/such/folder", "file/below"):
        with pytest.raises(OutputError, match=name.split("/")[0]):
            Index.create(tmp_path / name)
    assert (tmp_path / "file").read_text() == "precious"
    assert os.listdir(tmp_path / "empty") == []
    assert sorted(os.listdir(tmp_path)) == ["empty", "file", "index"]


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 0},
        {"threshold": 1.5},
        {"recall": 1.0},
        {"shingle": "char:0"},
        {"shingle": "lines"},
        {"normalize": "nfd"},
        {"slots": 1},
        {"bands": "0x0"},
        {"bands": "64x4", "slots": 128},
        {"seed": -1},
        {"threads": 0},
        {"threads": 1.5},
    ],
)
def test_create_refuses_bad_options_and_leaves_nothing(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        Index.create(tmp_path / "index", **options)
    assert os.listdir(tmp_path) == []


def test_open_says_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("no index")
    for read_only in (True, False):
        for name in ("nowhere", "empty", "file"):
            with pytest.raises((IndexNotFound, FormatError), match=name):
                Index.open(tmp_path / name, read_only=read_only)
    with pytest.raises(FileNotFoundError):
        Index.open(tmp_path / "nowhere")
    assert os.listdir(tmp_path / "empty") == []


def test_a_closed_index_says_so(tmp_path: Path) -> None:
    for path in (None, tmp_path / "index"):
        index = Index.create(path)
        index.add("a", "text")
        index.close()
        index.close()
        for use in (
            lambda index=index: len(index),
            lambda index=index: "a" in index,
            lambda index=index: list(index),
            lambda index=index: index.add("b", "text"),
            lambda index=index: index.add_each(["b"], ["text"]),
            lambda index=index: index.add_if_new("b", "text"),
            lambda index=index: index.get("a"),
            lambda index=index: index.remove("a"),
            lambda index=index: index.query("text"),
            lambda index=index: index.find(),
            lambda index=index: index.compact(),
            lambda index=index: index.verify(),
            lambda index=index: index.info(),
            lambda index=index: index.merge(tmp_path / "x"),
        ):
            with pytest.raises(InputError, match="closed"):
                use()


def test_every_change_lasts(tmp_path: Path) -> None:
    path = tmp_path / "index"
    with Index.create(path, shingle="char:4", threshold=0.7) as index:
        index.add(list(TEXTS), list(TEXTS.values()))
    with Index.open(path) as index:
        assert list(index) == list(TEXTS)
        assert index.path == path
        assert not index.read_only
        index.remove("tulip")
        index.add("rose", "no more a rose", on_duplicate="replace")
    with Index.open(path) as index:
        assert list(index) == ["rose too", 17, "rose"]
        assert index.spec.threshold == 0.7
        assert index.query("no more a rose")[0].id == "rose"


def test_an_index_cannot_be_pickled_or_copied_by_accident(tmp_path: Path) -> None:
    import copy
    import pickle

    with Index.create(tmp_path / "index") as index:
        for use in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises((TypeError, NeardupError)):
                use(index)


def test_build_is_create_and_add(tmp_path: Path) -> None:
    rng = random.Random(1)
    words = [f"w{i}" for i in range(40)]
    documents = {f"d{i}": " ".join(rng.choices(words, k=rng.randrange(12))) for i in range(300)}
    options = {"threshold": 0.5, "shingle": "word:1", "slots": 128, "bands": "128x1", "recall": 0.9999999}
    naive = NaiveIndex(0.5, "word:1")
    naive.add(list(documents), list(documents.values()))
    with Index.build(tmp_path / "built", documents, **options) as built:
        assert list(built) == naive.ids
        answers = built.query(naive.texts, top=None)
        assert [[(hit.id, hit.similarity) for hit in hits] for hits in answers] == [
            naive.query(text) for text in naive.texts
        ]
        assert built.verify().ok
        assert built.info().empty == naive.empty > 0
        built.add("more", "w1 w2")
    with Index.open(tmp_path / "built") as again:
        assert len(again) == 301


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    documents = [("a", "text"), ("b", "text"), ("a", "other")]
    with pytest.raises(InputError, match="a"):
        Index.build(here / "index", documents)
    with pytest.raises(InputError):
        Index.build(here / "index", [("a", "text"), ("b", 5)])
    with pytest.raises(InputError):
        Index.build(here / "index", tmp_path / "nothing.jsonl")

    def breaking() -> Iterator[tuple[str, str]]:
        yield from ((f"d{i}", f"text {i}") for i in range(100))
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        Index.build(here / "index", breaking())
    assert os.listdir(here) == []
    with Index.build(here / "index", documents, on_duplicate="skip") as index:
        assert [index.get(id).text for id in index] == ["text", "text"]
    (here / "taken").write_text("precious")
    with pytest.raises(OutputError, match="taken"):
        Index.build(here / "taken", documents, on_duplicate="skip")
    with Index.build(here / "last", documents, on_duplicate="replace") as index:
        assert {id: index.get(id).text for id in index} == {"a": "other", "b": "text"}
    with Index.build(here / "none", []) as index:
        assert len(index) == 0
        assert index.query("text") == []


def test_a_lock_is_no_lock_of_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "index"
    with Index.create(path) as index:
        index.add("a", "text")
        with pytest.raises(IndexLocked), Index.open(path):
            pass
        with Index.open(path, read_only=True) as one, Index.open(path, read_only=True) as two:
            assert one.query("text") == two.query("text") == index.query("text")
