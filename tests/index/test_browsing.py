"""Pages of the documents of an index, and what it holds in numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.specs import TEXTS
from tests.index.tiny import tiny

from neardup import Index, InputError
from neardup.index import browsing


def all_pages(index: Any, **options: Any) -> list[Any]:
    """The ids of each page, from the first to the last."""
    pages, after = [], None
    while True:
        page = index.page(after, **options)
        pages.append([document.id for document in page.documents])
        after = page.next
        if after is None:
            return pages


@settings(max_examples=25)
@given(
    st.lists(st.text("ab%_é", min_size=1, max_size=3), unique=True, max_size=20),
    st.sets(st.integers(0, 19)),
    st.text("ab%_é", max_size=2),
    st.integers(1, 5),
    st.booleans(),
    st.integers(1, 7),
)
def test_pages_together_are_all_documents_of_a_prefix(
    ids: Any, gone: Any, prefix: str, size: int, newest: bool, scanned: int
) -> None:
    with Index.create(None) as index, pytest.MonkeyPatch.context() as patch:
        patch.setattr(browsing, "SCANNED", scanned)
        index.add(ids, [f"text of {id}" for id in ids])
        index.remove([id for place, id in enumerate(ids) if place in gone])
        pages = all_pages(index, size=size, prefix=prefix, newest=newest, opening=0)
    left = [id for place, id in enumerate(ids) if place not in gone and id.startswith(prefix)]
    assert [id for page in pages for id in page] == (left[::-1] if newest else left)
    assert all(len(page) <= size for page in pages)


def test_a_page_has_openings_and_lengths(index: Any) -> None:
    page = index.page(opening=6)
    assert [(document.id, document.characters, document.opening) for document in page.documents] == [
        (id, len(text), text[:6]) for id, text in TEXTS.items()
    ]
    assert page.next is None
    assert {document.characters for document in index.page(opening=0).documents} == {None}


def test_a_page_reads_some_megabytes_at_most(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "BATCH_BYTES", 60)  # two of the texts have more
    pages = all_pages(index)
    assert [id for page in pages for id in page] == list(TEXTS)
    assert len(pages) > 1


def test_a_page_goes_on_where_it_was_though_documents_come_and_go(index: Any) -> None:
    first = index.page(size=2)
    index.remove(["rose too"])
    index.add(["late"], ["added meanwhile"])
    assert [document.id for document in index.page(first.next).documents] == ["tulip", 17, "late"]


@pytest.mark.parametrize(
    ("options", "words"), [({"size": 0}, "size"), ({"opening": -1}, "opening"), ({"after": -5}, "after")]
)
def test_values_out_of_range_are_named(index: Any, options: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        index.page(**options)


def test_an_empty_index_has_one_empty_page_and_nothing_to_count() -> None:
    with Index.create(None) as index:
        assert all_pages(index) == [[]]
        told = index.statistics()
    assert (told.documents, told.distinct, told.copied, told.largest_group, told.sharing) == (0, 0, 0, 0, 0)


def test_statistics_count_texts_copies_and_what_shares_a_band(tmp_path: Path) -> None:
    """With bands of one row whatever is alike shares one; what has no shingle in common never does."""
    rose, other = "a rose is a rose is a rose", "0123456789"
    texts = {"r1": rose, "r2": rose, "r3": rose + "!", "o1": other, "o2": other, "alone": "zyxwvutsrq", "empty": ""}
    with tiny():
        with Index.create(tmp_path / "i", threshold=0.5, shingle="char:4", slots=128, bands="128x1") as index:
            for id, text in texts.items():
                index.add([id], [text])
            index.add(["r4", "x"], [rose, "zyxwvutsrq!"])
            index.remove(["r4", "x"])
        with Index.open(tmp_path / "i") as index:
            for compacted in (False, True):
                if compacted:
                    index.compact()
                told = index.statistics()
                assert (told.documents, told.empty, told.distinct) == (7, 1, 5)
                assert (told.copied, told.largest_group) == (4, 2)
                assert told.sharing == 3  # r1, r2 and r3; copies alone do not count
    assert sum(span for span, _ in told.segments) + told.tail_documents == 9
    assert told.total_bytes > 0


def test_the_curve_rises_from_never_to_always_and_has_the_promise(index: Any) -> None:
    curve = dict(index.statistics().recall_curve)
    bands = index.spec.bands
    assert (curve[0.0], curve[1.0]) == (0.0, 1.0)
    assert curve[0.7] >= index.spec.recall  # which counts the loss of a filter that an index has not
    assert curve[0.35] == pytest.approx(1 - (1 - 0.35**bands.rows) ** bands.bands)


def test_too_many_postings_are_not_counted_and_nothing_else_is_lost(
    index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsing, "MOST_POSTINGS", 10)
    told = index.statistics()
    assert (told.sharing, told.distinct) == (None, 4)


def test_a_damaged_file_of_postings_is_made_again_and_nothing_is_counted_wrong(tmp_path: Path) -> None:
    path = tmp_path / "i"
    texts = [f"text number {number % 30} of some" for number in range(60)]
    Index.build(path, [(str(number), text) for number, text in enumerate(texts)], threshold=0.6).close()
    with Index.open(path, read_only=True) as index:
        whole = index.statistics()
    assert (whole.distinct, whole.copied, whole.largest_group) == (30, 60, 2)
    (segment,) = (path / "segments").iterdir()
    with segment.open("r+b") as file:
        file.seek(-4096, 2)
        page = file.read(4096)
        file.seek(-4096, 2)
        file.write(bytes(byte ^ 0xFF for byte in page))
    with Index.open(path, read_only=True) as index:
        told = index.statistics()
        assert index.info().healed == 1
    assert (told.distinct, told.copied, told.sharing) == (whole.distinct, whole.copied, whole.sharing)
