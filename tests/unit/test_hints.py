"""What is said of files that are not read: the cure for their kind, never the suffix of another; and of addresses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import main
from neardup.errors import InputError
from neardup.inputs.formats import SUFFIXES, near_suffix
from neardup.inputs.reader import open_inputs


@pytest.mark.parametrize(
    "suffix", [".zip", ".tar", ".doc", ".xls", ".exe", ".png", ".ps", ".c", ".h", ".ipynb", ".db", ""]
)
def test_no_hint_names_the_suffix_of_another_kind(suffix: str) -> None:
    assert near_suffix(suffix) == "" or suffix in SUFFIXES


@pytest.mark.parametrize(
    ("suffix", "near"),
    [(".jsnol", ".jsonl"), (".josnl", ".jsonl"), (".cvs", ".csv"), (".parqet", ".parquet"), (".fether", ".feather")],
)
def test_a_suffix_that_was_mistyped_is_known(suffix: str, near: str) -> None:
    assert near_suffix(suffix) == f" Did you mean {near!r}?"


@pytest.mark.parametrize(
    ("name", "cure"), [("a.doc", "docx"), ("a.xls", "xlsx"), ("a.7z", "unpack"), ("a.msg", "mail")]
)
def test_a_file_that_is_not_read_is_told_with_what_to_do(tmp_path: Path, name: str, cure: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=f"are not read: .*{cure}"):
        open_inputs(tmp_path / name)


@pytest.mark.parametrize(
    ("address", "cure"),
    [
        ("hf://datasets/a/b", "hf download --repo-type dataset a/b"),
        ("https://example.org/x.csv", "curl -LO https://example.org/x.csv"),
        ("HTTPS://example.org/x.csv", "curl -LO https://example.org/x.csv"),
        ("scp://host/x.csv", "scp -r HOST:PATH"),
    ],
)
def test_an_address_that_is_not_read_is_told_as_it_was_typed_with_how_to_fetch_it(address: str, cure: str) -> None:
    for given in (address, Path(address)):  # which makes one slash of two
        with pytest.raises(InputError, match="is an address") as caught:
            neardup.find(given)
        assert cure in str(caught.value)
    result = CliRunner().invoke(main, ["find", address])
    assert result.exit_code == 1
    assert cure in result.stderr
    assert CliRunner().invoke(main, ["dedup", "x.csv", "-o", address]).exit_code == 1


def test_an_output_at_such_an_address_is_refused_and_a_file_with_a_colon_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s3:", "bucket").mkdir(parents=True)
    Path("s3:", "bucket", "x.txt").write_text("a text")
    assert open_inputs("s3://bucket/x.txt").total_bytes == 6
    result = CliRunner().invoke(main, ["find", "s3:/bucket/x.txt", "-o", "https://other/pairs.csv"])
    assert result.exit_code == 1
    assert "cannot write https://other/pairs.csv: it is an address" in result.stderr
    with pytest.raises(InputError, match="does not exist"):
        open_inputs("C:/no/such/file.txt")
