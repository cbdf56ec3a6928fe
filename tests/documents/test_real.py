"""Real documents are read as other programs read them; where the two differ, the test says why."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest

pytest.importorskip("lxml")
pytest.importorskip("pypdfium2")

from neardup.inputs.documents import Unreadable, read_document

FIXTURES = Path(__file__).parent / "fixtures"
_WORD = re.compile(r"\w+")

# name -> share of the oracle's words that must be ours, share of our words that must be the oracle's
KNOWN = {
    "delins.docx": (1.0, 1.0),
    "endnotes.docx": (0.98, 1.0),  # pandoc writes the number of a note twice
    "sample.docx": (1.0, 1.0),
    "smart-tags.docx": (1.0, 1.0),
    "unicode.docx": (1.0, 1.0),
    "imageslabels.odt": (0.91, 1.0),  # odt2txt writes [-- Image: name --]
    "serious_poem.odt": (1.0, 1.0),
    "styles.odt": (0.95, 1.0),  # odt2txt takes the template of an index for text
    "userfields_ooo3.odt": (1.0, 1.0),
    "variables.odt": (1.0, 1.0),
    "features.epub": (0.9, 0.96),  # pandoc writes formulas as TeX
    "formatting.epub": (0.97, 0.99),  # pandoc numbers lists and writes H₂O
    "img.epub": (0.89, 1.0),  # pandoc writes what stands for pictures
    "manual.epub": (1.0, 1.0),
    "verses.epub": (0.96, 0.95),  # pandoc leaves out a title page and numbers notes
    "SF424_page2.pdf": (0.91, 1.0),  # pdftotext reads what was filled into fields
    "crazyones.pdf": (0.99, 0.99),  # pdftotext keeps a ligature
    "libreoffice-form.pdf": (0.9, 1.0),  # pdftotext reads what was filled into fields
    "multilang.pdf": (0.95, 0.95),
    "pdflatex-outline.pdf": (1.0, 1.0),
    "french.html": (1.0, 1.0),
    "mathjax.html": (0.97, 0.97),
    "sphinx.html": (0.98, 1.0),  # w3m numbers lists and shows a button
    "python.html": (0.97, 0.99),  # w3m writes what stands for pictures
    "contents.html": (1.0, 1.0),
}

ENDS = {
    "delins.docx": ("Tika can be:", "Apache Tika is a subproject of the Lucene"),
    "sample.docx": ("Lorem ipsum dolor sit amet, consectetuer", "In sit amet lorem at velit faucibus vestibulum."),
    "unicode.docx": ("This is a fairly simple word document, over two pages", "Les Précieuses ridicules. The end."),
    "serious_poem.odt": ("The boy stood    on the burning deck,", "Shone o'er him, round the dead."),
    "imageslabels.odt": ("Left justified picture with paragraph anchor.", "Illustration 1:Error"),
    "verses.epub": ("Two Chapters in Verse\nNew Heart English Bible", '31. Webster has:\n"and have not charity,"'),
    "manual.epub": ("Six Chapters in Five Versions", "last generated: 2026-11-23 12:00:00 +0000"),
    "crazyones.pdf": ("The Crazy Ones\nOctober 14, 1998", "are the ones who do."),
    "multilang.pdf": ("English:\nHello World\nArabic:\nمرحبا بالعالم", "こんにちは世界"),
    "pdflatex-outline.pdf": ("Contents\n1 Foo 2\n2 Bar 2", "length of words should match the language. 5 4"),
    "python.html": ("Table of Contents\nhtml — HyperText Markup Language support", "Created using Sphinx 5.3.0."),
    "sphinx.html": ("Navigation\nindex", "Created using Sphinx 5.3.0."),
}


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def test_there_are_five_of_each_kind() -> None:
    assert Counter(name.rpartition(".")[2] for name in KNOWN) == dict.fromkeys(
        ("docx", "odt", "epub", "pdf", "html"), 5
    )


@pytest.mark.parametrize("name", KNOWN)
def test_the_words_are_those_of_another_program(name: str) -> None:
    ours = words(read_document(str(FIXTURES / name)))
    others = words(gzip.decompress((FIXTURES / "oracles" / f"{name}.txt.gz").read_bytes()).decode("utf-8"))
    common = (Counter(ours) & Counter(others)).total()
    least_found, least_right = KNOWN[name]
    assert common >= least_found * len(others), (Counter(others) - Counter(ours)).most_common(20)
    assert common >= least_right * len(ours), (Counter(ours) - Counter(others)).most_common(20)
    if len(ours) < 3000:
        order = SequenceMatcher(None, ours, others, autojunk=False).ratio()
        assert order >= 0.9 or name in ("SF424_page2.pdf", "libreoffice-form.pdf"), "the words stand in another order"


@pytest.mark.parametrize("name", ENDS)
def test_a_text_begins_and_ends_as_it_is_seen(name: str) -> None:
    text = read_document(str(FIXTURES / name))
    first, last = ENDS[name]
    assert text.startswith(first)
    assert text.endswith(last)


def test_deleted_words_are_gone_and_inserted_ones_are_there() -> None:
    text = read_document(str(FIXTURES / "delins.docx"))
    assert "Tika Waylan" not in text
    assert "Maang Tika" not in text
    assert "Apache Tika 0.3 has been released. Please see the download page for more details." in text
    assert "Introducing Apache Mahout - Grant Ingersoll. March 25th @ 10:30" in text


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("protected.docx", "protected by a password"),
        ("protected.pdf", "protected by a password"),
        ("pictures.pdf", "no text on its page, only pictures or nothing; perhaps it was scanned"),
    ],
)
def test_real_files_without_readable_text_say_why(name: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_document(str(FIXTURES / name))


def test_one_text_in_six_kinds_of_files_is_found() -> None:
    import neardup

    found = neardup.find(FIXTURES / "same", threshold=0.95)
    pairs = {frozenset((Path(pair["id_a"]).suffix, Path(pair["id_b"]).suffix)) for pair in found.pairs.to_pylist()}
    assert found.summary.bad == 0
    assert len(pairs) == 15
