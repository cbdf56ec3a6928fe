"""``neardup demo``: from nothing to a report, as a newcomer would."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from neardup import demo
from neardup.cli import main


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo") / "some" / "place"
    done = CliRunner().invoke(main, ["demo", "-o", str(folder)])
    assert done.exit_code == 0, done.output
    return folder, done.stderr


def test_texts_and_report_are_left(made: tuple[Path, str]):
    folder, _ = made
    assert sorted(path.name for path in folder.iterdir()) == ["chapters.jsonl.gz", "report"]
    assert (folder / "report" / "index.html").stat().st_size > 1000


def test_the_place_of_the_report_and_the_command_for_it_are_told(made: tuple[Path, str]):
    folder, said = made
    assert str(folder / "report" / "index.html") in said
    assert f"neardup report {folder / demo.TEXTS} -t 0.5" in said


def test_again_is_the_same(made: tuple[Path, str]):
    folder, _ = made
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert CliRunner().invoke(main, ["demo", "-o", str(folder)]).exit_code == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_file_in_the_way_is_a_usage_error(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    done = CliRunner().invoke(main, ["demo", "-o", str(tmp_path / "file")])
    assert done.exit_code == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_the_collection_is_what_it_is_said_to_be():
    documents = [json.loads(line) for line in gzip.decompress(demo.read()).splitlines()]
    assert len(documents) == 24 * 11
    assert len({document["chapter"] for document in documents}) == 24
    assert all(document["id"] == f"{document['version']}:{document['chapter']}" for document in documents)
