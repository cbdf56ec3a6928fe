"""What the source archive holds may be passed on under Apache-2.0, and REUSE.toml says who wrote each file.

The list is in the form of https://reuse.software, whose own program (`reuse lint`) finds it complete, too.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import tomllib
import zipfile
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FREE = {"Apache-2.0", "BSD-3-Clause", "CC0-1.0", "LicenseRef-PublicDomain", "MIT", "PSF-2.0"}
"""Licences that ask no more of who passes a file on than ours does."""
OTHERS = ("tests/documents/fixtures/", "examples/chapters/", "examples/abstracts", "src/neardup/demo/")
"""Where files lie that are not ours by themselves: each must be named."""
STRICTER = re.compile(
    rb"GNU (Lesser |Affero |Library )?General Public Licen[sc]e|\b[AL]?GPL-?v?[23]|Attribution-ShareAlike"
    rb"|creativecommons\.org/licenses/by(-nc)?(-nd|-sa)|\bCC[- ]BY(-NC)?-(SA|ND|NC)\b",
    re.IGNORECASE,
)
SPEAK_OF_THEM = {
    "CHANGELOG.md",
    "REUSE.toml",
    "LICENSES/CC0-1.0.txt",
    "tests/documents/fixtures/README.md",  # one file may be had under the GPL or Apache-2.0
    "tests/packaging/test_licences.py",
}


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout of git")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def entries() -> list[tuple[list[str], str]]:
    """Patterns and licence of each entry, in order."""
    told = tomllib.loads((ROOT / "REUSE.toml").read_text(encoding="utf-8"))["annotations"]
    return [
        ([each["path"]] if isinstance(each["path"], str) else each["path"], each["SPDX-License-Identifier"])
        for each in told
    ]


def licence_of(name: str) -> tuple[str, str]:
    """The pattern that holds for a file, and its licence: the last entry that fits, as the format has it."""
    return [
        (pattern, licence) for patterns, licence in entries() for pattern in patterns if fnmatchcase(name, pattern)
    ][-1]


def contents(name: str, data: bytes) -> list[bytes]:
    """A file, and where it is packed what is in it."""
    if name.endswith((".epub", ".docx", ".odt")) and zipfile.is_zipfile(BytesIO(data)):
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return [archive.read(member) for member in archive.namelist()]
    return [gzip.decompress(data)] if name.endswith(".gz") else [data]


def test_every_file_has_a_licence_that_asks_no_more_than_ours() -> None:
    assert {licence_of(name)[1] for name in tracked()} == FREE


def test_every_file_of_others_is_named() -> None:
    ours = {"tests/documents/fixtures/README.md", "src/neardup/demo/__init__.py"}
    nameless = [
        name
        for name in tracked()
        if name.startswith(OTHERS) and licence_of(name)[0] == "**" and not name.endswith(".py") and name not in ours
    ]
    assert nameless == []


def test_every_entry_is_about_files_that_are_there() -> None:
    names = tracked()
    stale = [
        pattern for patterns, _ in entries() for pattern in patterns if not any(fnmatchcase(n, pattern) for n in names)
    ]
    assert stale == []


def test_the_text_of_every_licence_lies_beside_them() -> None:
    assert {path.stem for path in (ROOT / "LICENSES").iterdir()} == {licence for _, licence in entries()}
    assert (ROOT / "LICENSES" / "Apache-2.0.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_page_of_the_documents_says_the_same() -> None:
    page = (ROOT / "tests" / "documents" / "fixtures" / "README.md").read_text(encoding="utf-8")
    told = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3:
            told |= dict.fromkeys(re.findall(r"`([\w.-]+\.(?:docx|odt|epub|pdf|html))`", cells[0]), cells[2])
    fixtures = {
        name.rpartition("/")[2]: licence_of(name)[1]
        for name in tracked()
        if re.fullmatch(r"tests/documents/fixtures/[^/]+", name) and not name.endswith(".md")
    }
    assert set(told) == set(fixtures)
    words = {"LicenseRef-PublicDomain": "public domain", "Apache-2.0": "(Apache-2.0|ours)"}
    for name, licence in fixtures.items():
        assert re.search(words.get(licence, re.escape(licence)), told[name]), name


def test_no_file_says_that_it_is_under_a_stricter_licence() -> None:
    found = [
        name
        for name in tracked()
        if name not in SPEAK_OF_THEM
        for data in contents(name, (ROOT / name).read_bytes())
        if STRICTER.search(data)
    ]
    assert found == []


@pytest.mark.parametrize(
    "words", ["the GNU General Public License", "GPL-3.0-or-later", "http://creativecommons.org/licenses/by-sa/3.0/"]
)
def test_words_of_stricter_licences_are_known_inside_of_a_book(words: str) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("content.opf", f"<dc:rights>{words}</dc:rights>")
    assert any(STRICTER.search(data) for data in contents("a.epub", packed.getvalue()))
