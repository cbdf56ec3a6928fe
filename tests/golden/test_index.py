"""Indexes that earlier versions wrote open, and answer what the oracle answered when they were written.

A fixture is made by ``python -m tests.golden.make_index``, once for each format version.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from neardup import Index

FIXTURES = sorted(Path(__file__).resolve().parent.glob("index-v*"))


@pytest.fixture(params=FIXTURES, ids=lambda path: path.name)
def fixture(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of the index, and what is expected of it."""
    shutil.copytree(request.param / "index", tmp_path / "index")
    return tmp_path / "index", json.loads((request.param / "expected.json").read_text(encoding="utf-8"))


def check(index: Any, expected: dict[str, Any]) -> None:
    documents = expected["documents"]
    questions = [document["text"] for document in documents] + expected["further questions"]
    assert list(index) == [document["id"] for document in documents]
    assert [index.get(document["id"]).as_dict() for document in documents] == documents
    answers = index.query(questions, top=None)
    assert [[[hit.id, hit.similarity] for hit in hits] for hits in answers] == expected["hits"]
    pairs = index.pairs().to_pylist()
    found = sorted([*sorted((str(row["id_a"]), str(row["id_b"]))), row["similarity"]] for row in pairs)
    assert found == expected["pairs"]
    assert index.spec.as_dict() == expected["spec"]
    even = [document["id"] for document in documents if document.get("columns", {}).get("is_even")]
    assert [document.id for document in index.page(size=50, where={"is_even": True}).documents] == even


def test_there_is_a_fixture_of_this_version() -> None:
    with Index.create() as index:
        assert f"index-v{index.info().format}" in [path.name for path in FIXTURES]


@pytest.mark.parametrize("read_only", [True, False])
def test_an_index_of_a_released_version_answers_as_it_did(
    fixture: tuple[Path, dict[str, Any]], read_only: bool
) -> None:
    path, expected = fixture
    with Index.open(path, read_only=read_only) as index:
        check(index, expected)
        told = index.verify(repair=False)
        assert (told.ok, told.faults) == (True, ())


def test_an_index_of_a_released_version_can_be_changed(fixture: tuple[Path, dict[str, Any]]) -> None:
    path, expected = fixture
    with Index.open(path) as index:
        index.add("new", expected["further questions"][0])
        assert "new" in [hit.id for hit in index.query(expected["further questions"][0], top=None)]
        index.remove("new")
        index.compact()
        check(index, expected)
        assert index.verify().ok


def test_an_index_of_a_released_version_whose_segments_are_gone_makes_the_same_again(
    fixture: tuple[Path, dict[str, Any]],
) -> None:
    """Segments of today from documents of then: the hashes have not changed."""
    path, expected = fixture
    before = {file.name: file.read_bytes() for file in (path / "segments").iterdir()}
    for file in (path / "segments").iterdir():
        file.unlink()
    with Index.open(path) as index:
        check(index, expected)
    assert before
