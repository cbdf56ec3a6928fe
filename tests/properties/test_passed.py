"""Nothing is lost in silence: whatever a folder holds is a document, a bad record, or counted as passed over.

The oracle walks by ``os.walk`` and shares no code with ``inputs.walk``: it knows names, links and what can be opened.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neardup.errors import InputError
from neardup.inputs.passed import PassedOver, suffix_of
from neardup.inputs.reader import Reader, open_inputs

READ = (
    ".txt",
    ".md",
    ".docx",
    ".odt",
    ".pdf",
    ".epub",
    ".html",
    ".htm",
    ".xhtml",
    ".jsonl",
    ".csv",
    ".parquet",
    ".txt.gz",
)
ODD = (".doc", ".DOC", ".wps", ".msg", ".jpg", ".jsonl", ".txt.gz", ".2019", "", ".pages", ".zip")
GLOBS = (None, ("*.txt",), ("*.txt", "*.jsonl", "*.csv", "*.parquet"), ("*",), ("**/in*/*.txt",), (".*",))
KINDS = (
    "text", "text", "capital", "empty", "undecodable", "page", "damaged", "odd", "odd", "hidden", "hidden folder",
    "folder", "folder", "lock", "link", "link", "folder link", "broken", "loop", "pipe", "report", "jsonl",
    "csv", "parquet",
)  # fmt: skip


@dataclass
class Tree:
    """A folder that is being filled, and what is known of its data files."""

    root: str
    folders: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    records: dict[str, int] = field(default_factory=dict)
    """Lines, or rows, of each data file, by its real path."""

    def add(self, i: int, kind: str, where: int, which: int, suffix: str, lines: list[str]) -> None:
        """Put one thing into a folder."""
        folder = self.folders[where % len(self.folders)]
        name = os.path.join(folder, f"in{i}")
        path = Path(f"{name}{suffix}")
        if kind in ("folder", "hidden folder", "report"):
            made = os.path.join(folder, f"{'.' if kind == 'hidden folder' else ''}in{i}")
            os.mkdir(made)
            Path(made, "inside.txt").write_text("inside")
            if kind == "report":
                Path(made, "neardup-report.json").touch()
            if kind != "hidden folder":
                self.folders.append(made)
        elif kind in ("link", "folder link"):
            targets = self.files if kind == "link" else self.folders
            if targets:
                target = os.path.abspath(targets[which % len(targets)])
                os.symlink(target, path.with_suffix(".txt") if where % 2 and kind == "link" else path)
        elif kind == "broken":
            os.symlink("nowhere", path)
        elif kind == "loop":
            os.symlink(path.name, path)
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind in ("jsonl", "csv", "parquet"):
            self._data(f"{name}.{kind}", kind, lines)
        else:
            contents = {"undecodable": b"\xff\xfe\xfa", "empty": b"", "page": b"<p>a page with some words</p>"}
            suffixes = {"capital": ".TXT", "page": ".html", "damaged": ".docx", "odd": suffix}
            prefix = {"hidden": ".", "lock": "~$"}.get(kind, "")
            file = Path(folder, f"{prefix}in{i}{suffixes.get(kind, '.txt')}")
            file.write_bytes(contents.get(kind, f"words {i}".encode()))
            self.files.append(str(file))

    def _data(self, path: str, kind: str, lines: list[str]) -> None:
        if kind == "parquet":
            texts = [None if line in ("bad", "blank") else line for line in lines]
            pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), path)
        else:
            good = '{{"text": "{}"}}' if kind == "jsonl" else "{},x"
            spelled = {"bad": '{"text": "' if kind == "jsonl" else "1,2,3", "blank": ""}
            header = ["text,y"] if kind == "csv" else []
            body = [spelled.get(line, good.format(line)) for line in lines]
            Path(path).write_text("".join(f"{line}\n" for line in [*header, *body]))
        self.files.append(path)
        self.records[os.path.realpath(path)] = len(lines)


THINGS = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, 9),
        st.integers(0, 9),
        st.sampled_from((*ODD, ".txt", ".txt", ".jsonl")),
        st.lists(st.sampled_from(["word", "other", "bad", "blank"]), min_size=1, max_size=6),
    ),
    max_size=20,
)


@dataclass
class Oracle:
    """What is in a folder, by what must become of it."""

    read: list[str] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    unlistable: int = 0
    everything: int = 0


def oracle(root: str, globs: tuple[str, ...] | None) -> Oracle:
    """Sort all that ``os.walk`` finds; hidden folders and those that hold a report count as one thing each."""
    found, entered, wanted = Oracle(), set(), []
    sees_hidden = globs is not None and any(part.startswith(".") for glob in globs for part in glob.split("/"))

    def fail(_: OSError) -> None:
        found.unlistable += 1

    for folder, folders, files in os.walk(root, followlinks=True, onerror=fail):
        real = os.path.realpath(folder)
        if real in entered or "neardup-report.json" in files:
            found.passed["report" if real not in entered else "folder linked twice"] += 1
            entered.add(real)
            found.everything += 1
            folders.clear()
            continue
        entered.add(real)
        if not sees_hidden:
            hidden = [name for name in folders if name.startswith(".")]
            found.passed["hidden folder"] += len(hidden)
            found.everything += len(hidden)
            folders[:] = [name for name in folders if name not in hidden]
        folders.sort()
        for name in files:
            found.everything += 1
            path = os.path.join(folder, name)
            if name.startswith("~$") and not sees_hidden:
                found.passed["lock file"] += 1
            elif name.startswith(".") and not sees_hidden:
                found.passed["hidden file"] += 1
            elif globs is None and not name.lower().endswith(READ):
                found.passed["suffix"] += 1
            elif globs is not None and not is_asked(os.path.relpath(path, root), globs):
                found.passed["not asked for"] += 1
            else:
                wanted.append(path)
    once: set[str] = set()
    for path in sorted(wanted):
        if os.path.realpath(path) in once:
            found.passed["file linked twice"] += 1
        else:
            once.add(os.path.realpath(path))
            found.read.append(path)
    return found


def is_asked(path: str, globs: tuple[str, ...]) -> bool:
    """Whether one of GLOBS names a path: those that have a folder, any depth above it."""
    *above, name = path.split("/")
    for glob in globs:
        if glob.startswith("."):
            named = fnmatchcase(name, glob) and not any(part.startswith(".") for part in above)
        elif "/" in glob:
            named = bool(above) and fnmatchcase(above[-1], "in*") and fnmatchcase(name, "*.txt")
        else:
            named = fnmatchcase(name, glob) and not any(part.startswith(".") for part in [*above, name])
        if named:
            return True
    return False


def counted(passed: tuple[PassedOver, ...]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for each in passed:
        totals[each.reason] += each.count
    return totals


def read_all(reader: Reader) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return documents, bad records and blank lines by source; a run would refuse a folder in which all is bad."""
    documents: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    blank: Counter[str] = Counter()
    for task in (task for source in reader.parts for task in source.tasks()):
        batch = task()
        documents[batch.source] += len(batch.documents)
        bad[batch.source] += batch.bad
        blank[batch.source] += batch.blank
    return documents, bad, blank


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(THINGS, st.sampled_from(GLOBS))
def test_what_a_folder_holds_is_read_or_bad_or_passed_over(things: Any, globs: tuple[str, ...] | None) -> None:
    with tempfile.TemporaryDirectory() as root:
        tree = Tree(root, [root])
        for i, thing in enumerate(things):
            tree.add(i, *thing)
        wanted = oracle(root, globs)
        if not wanted.read and not wanted.unlistable:
            with pytest.raises(InputError, match="has no file that"):
                open_inputs(Path(root), glob=globs, on_bad="skip", text="text")
            return
        reader = open_inputs(Path(root), glob=globs, on_bad="skip", text="text")
        passed = counted(reader.passed_over)
        assert passed == +wanted.passed
        documents, bad, blank = read_all(reader)
        whole = [path for path in wanted.read if kind_of(path) == "text"]
        data = [path for path in wanted.read if kind_of(path) != "text" and os.path.isfile(path)]
        lost = [path for path in wanted.read if kind_of(path) != "text" and not os.path.isfile(path)]
        for path in data:
            if (lines := tree.records.get(os.path.realpath(path))) is not None:
                assert documents.pop(path, 0) + bad.pop(path, 0) + blank.pop(path, 0) == lines, path
            else:
                documents.pop(path, 0), bad.pop(path, 0), blank.pop(path, 0)  # another file under a name for data
        as_files = sum(documents.values()) + sum(bad.values()) + sum(blank.values())
        assert as_files == len(whole) + len(lost) + wanted.unlistable
        assert as_files + len(data) + sum(passed.values()) == wanted.everything + wanted.unlistable


def kind_of(path: str) -> str:
    """How a file is read when it was asked for: as records by its suffix, or as one document."""
    bare = path.removesuffix(".gz")
    return next((kind for kind in ("jsonl", "csv", "parquet") if bare.endswith(f".{kind}")), "text")


@given(st.lists(st.sampled_from(["a.doc", "b.DOC", "c.doc.gz", "README", "x.2019", "y.7z", "z.md5"]), max_size=30))
def test_the_suffixes_of_what_was_passed_over_add_up(names: list[str]) -> None:
    known = {"a.doc": ".doc", "b.DOC": ".doc", "c.doc.gz": ".doc.gz", "README": "", "x.2019": "", "y.7z": ".7z",
             "z.md5": ".md5"}  # fmt: skip
    with tempfile.TemporaryDirectory() as root:
        Path(root, "one.txt").write_text("a text")
        for i, name in enumerate(names):
            Path(root, f"{i}").mkdir()
            Path(root, f"{i}", name).touch()
        passed = open_inputs(Path(root)).passed_over
        assert {each.suffix: each.count for each in passed} == Counter(known[name] for name in names)
        assert all(each.reason == "suffix" for each in passed)
        assert [each.count for each in passed] == sorted((each.count for each in passed), reverse=True)
        asked = open_inputs(Path(root), glob="*.txt").passed_over
        assert {each.suffix: each.count for each in asked} == {each.suffix: each.count for each in passed}
        assert all(each.reason == "not asked for" and each.cure is None for each in asked)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.Tar.GZ", ".tar.gz"),
        ("a.gz", ".gz"),
        (".x.doc", ".doc"),
        ("letter of Mr. Smith", ""),
        ("v1.2", ""),
        ("a.7z", ".7z"),
    ],
)
def test_a_suffix_is_what_tells_a_kind(name: str, suffix: str) -> None:
    assert suffix_of(f"some.folder/{name}") == suffix
