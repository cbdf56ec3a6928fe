"""The table of formats: every line of it can be read."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest

from neardup.inputs.formats import ARCHIVES, DOCUMENTS, FORMATS, SUFFIXES, suffix_format
from neardup.params import INPUT_FORMATS


def test_the_formats_that_can_be_asked_for_are_those_that_can_be_read() -> None:
    assert tuple(FORMATS) == INPUT_FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_a_reader_of_its_name(name: str) -> None:
    source = FORMATS[name].load()
    assert source.format == name
    assert callable(source.tasks)


@pytest.mark.parametrize("module", sorted(set(DOCUMENTS.values())))
def test_a_kind_of_document_has_a_module_that_loads_it(module: str) -> None:
    assert find_spec(f"neardup.inputs.documents.{module}") is not None
    assert callable(import_module(f"neardup.inputs.documents.{module}").load)


def test_no_suffix_stands_for_two_formats() -> None:
    listed = [suffix for format in FORMATS.values() for suffix in format.suffixes]
    assert DOCUMENTS.keys() & ARCHIVES.keys() == {".eml"}  # a message is an archive if documents are attached to it
    listed += [*(DOCUMENTS.keys() - ARCHIVES.keys()), *ARCHIVES]
    assert len(listed) == len(set(listed)) == len(SUFFIXES)
    assert all(suffix == suffix.lower() for suffix in listed)


def test_a_suffix_is_found_under_that_of_a_compression_in_capitals_too() -> None:
    assert [suffix_format(name) for name in ("a.JSONL.GZ", "a.csv.zst", "a.gz", "a.pdf")] == [
        "jsonl", "csv", None, "document",
    ]  # fmt: skip
