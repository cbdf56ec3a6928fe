"""Commands run in this process, and all that comes of each as text that is the same on every machine.

A transcript is a file of snapshots/ that names its own commands: lines that begin with ``$ neardup`` are run, in their
order and in one folder, and what follows each is what came of it: exit code, stdout, stderr, files. To add a case,
write its line and run ``python -m tests.golden.freeze``.

Masked as ``#`` are times, speeds and the memory used; versions and the folder have names. Floats are cut to nine
digits. Everything else, the order of keys among it, is as the command wrote it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shlex
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
from click.testing import CliRunner
from tests.golden.pages import page_parts

from neardup import __version__
from neardup.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WIDTH = 100
LONGEST = 60
"""Lines of stdout or stderr that are shown whole; of more, the first ``HEAD`` and a digest of all.

A command that ends in --json or -h has all of them.
"""
HEAD = 5
MEASURED = {"seconds", "total_seconds", "mb_per_second", "peak_memory"}
"""Keys of JSON whose values are of the machine."""
FILE_SIZES = {"total_bytes", "size"}
"""Keys of JSON that count the bytes of files, some of which the version of SQLite decides."""

_WORDS = [
    (re.compile(r"\b(\d+ h \d\d min|\d+ min \d\d s|\d+(\.\d+)? s)(?![\w/])"), "# s"),
    (re.compile(r"(?<![\d.,])[\d.,]+ MB/s"), "# MB/s"),
    (re.compile(r"^(peak memory +)[\d.]+ \w+", re.MULTILINE), r"\1# MB"),
    (re.compile(r"\bneardup " + re.escape(__version__)), "neardup VERSION"),
    (re.compile(r"(?<=\()[\d.]+ \w?B(?=, \d+ files?\)$)", re.MULTILINE), "# MB"),  # of a report
    (re.compile(r"^(size +).*", re.MULTILINE), r"\1# MB"),
    (re.compile(r"(?<=, )[\d.]+ \w?B, before [\d.]+ \w?B", re.MULTILINE), "# MB, before # MB"),
    (re.compile(r"^(  (?:LOCK|index\.sqlite|segments/)\S*) *[\d.]+ \w?B", re.MULTILINE), r"\1 # MB"),
    (re.compile(r"^(Try '.*) -h' for help", re.MULTILINE), r"\1 --help' for help"),  # click before 8.4
    (re.compile(r"(?<=\d{12}-\d{12}-)[0-9a-f]{8}(?=\.)"), "########"),  # drawn at random
    (re.compile(r"^neardup: compiling for this processor, .*\n", re.MULTILINE), ""),
    (re.compile(r"^time  .*(\n {14}.*)*\n", re.MULTILINE), ""),  # stages that took no time are left out of it
    (re.compile(r"^neardup: [a-z ]+: .*( so far|\d%.*)\n", re.MULTILINE), ""),  # after ten seconds of a stage
]
_PLAIN_LIST = re.compile(r"\[(?:[^\[\]{}]|\[[^\[\]{}]*\])*\]")
"""A list of JSON that has no objects, and lists of one level only."""
_LONG_FLOAT = re.compile(r"-?\d+\.\d{9,}(e-?\d+)?|-?\d+\.\d+e-?\d+")
TEXT = {".csv", ".jsonl", ".json", ".txt", ".js", ".html"}

BAD = """\
{"id": "a", "text": "The first of four lines that can be used, and it is the longest of them all."}
{"id": "b", "text": "The first of four lines that can be used, and it is the longest of them all!"}
{"id": "c", "text": 7}

{"id": "d"
{"id": "a", "text": "Another text under an id that was there before, which is told and does no harm."}
{"id": "e", "text": ""}
{"id": "f", "text": "short"}
{"id": "g"}
"""
"""A text, its near-copy, an id seen before, an empty text, one shorter than a shingle, a blank line, three bad ones."""
BASKETS = "1 2 3 4 5\n1 2 3 4 5 6\n7 8\n\n1 2 3 4 5\n9\n"
CROWD = "".join(
    json.dumps({"id": f"{kind}{i}", "text": f"{start} and then what all say {'once more ' * 9}{i % 3}"}) + "\n"
    for kind, start in (("x", "What is said at first"), ("y", "Quite another beginning of it"))
    for i in range(9)
)
RANKED = """\
id,text,score,day
one,The quick brown fox jumps over the lazy dog in the rain of the evening,3,2024-05-01
two,The quick brown fox jumps over the lazy dog in the rain of the evening.,7,2024-01-09
three,The quick brown fox jumps over the lazy dog in the rain of the evenings.,,2023-12-31
four,"Nothing of the kind was ever seen here, ""they"" said",1,2024-02-02
"""


def set_up(folder: Path) -> None:
    """Put the inputs of all transcripts into a folder."""
    shutil.copytree(EXAMPLES / "chapters", folder / "chapters")
    shutil.copy(EXAMPLES / "abstracts.jsonl", folder)
    lines = (EXAMPLES / "abstracts.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "half.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[:300]), mtime=0))
    (folder / "few.jsonl").write_bytes(b"".join(lines[100:160]))
    for name, text in (("bad.jsonl", BAD), ("baskets.txt", BASKETS), ("crowd.jsonl", CROWD), ("ranked.csv", RANKED)):
        (folder / name).write_text(text, encoding="utf-8")


def transcript(text: str, folder: Path) -> str:
    """The transcript anew: its comments and commands as they are, and what comes of each command now."""
    kept = [line for line in text.splitlines() if line.startswith(("# ", "$ "))]
    with chdir(folder), ticking():
        return "\n".join(_told(line, folder) if line.startswith("$ ") else f"{line}\n" for line in kept)


def invoke(line: str) -> Any:
    """Run a line of a transcript, ``$ neardup …``, perhaps with ``< FILE`` at its end; click's result."""
    words = shlex.split(line)[2:]
    given = None
    if "<" in words:
        words, given = words[: words.index("<")], Path(words[-1]).read_bytes()
    runner = CliRunner(env={"COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHON_COLORS": "0", "FORCE_COLOR": None})
    return runner.invoke(main, words, input=given, prog_name="neardup")


def _told(line: str, folder: Path) -> str:
    before = _files(folder)
    result = invoke(line)
    parts = [line, f"exit {result.exit_code}"]
    for name, said in (("stdout", result.stdout), ("stderr", result.stderr)):
        text = _plain(said, folder)
        lines = text.splitlines()
        if len(lines) > LONGEST and line.split()[-1] not in ("--json", "-h"):
            lines = [*lines[:HEAD], f"… {len(lines)} lines, {digest(text.encode())}"]
        parts += [f"{name}:"] * bool(lines) + [f"  {_cut(each)}".rstrip() for each in lines]
    for path, stamp in _files(folder).items():
        if before.get(path) != stamp:
            parts += _file(folder / path, path, folder)
    parts += [f"gone {path}" for path in before if not (folder / path).exists()]
    return "\n".join(parts) + "\n"


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Files of a folder by name, with what changes when one is written; an index is one file, by its name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        inside = next((up for up in path.parents if up.suffix == ".index" and folder in up.parents), None)
        if path.is_file() and inside is None:
            stat = path.stat()
            found[path.relative_to(folder).as_posix()] = (stat.st_mtime_ns, stat.st_ino)
    return found


def _file(path: Path, name: str, folder: Path) -> list[str]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    inner = name.removesuffix(".gz")
    if inner.endswith(".html"):
        return [f"wrote {name}"] + [f"  {part}: {digest(piece)}" for part, piece in page_parts(data.decode())]
    if inner.endswith(".parquet"):
        rows = pq.read_table(path).to_pylist()
        data = "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows).encode()
    elif Path(inner).suffix not in TEXT:
        return [f"wrote {name}"]
    text = _plain(data.decode(), folder)
    lines = text.splitlines()
    shown = lines if len(lines) <= 12 else lines[:2]
    cut = [_cut(each) for each in shown]
    told = f"wrote {name}: {len(lines)} lines, {digest(text.encode())}"
    return [told, *(f"  {each}".rstrip() for each in ([] if name.endswith(".js") else cut))]


def _cut(line: str) -> str:
    return line if len(line) <= 2 * WIDTH else f"{line[:WIDTH]}… {digest(line.encode())}"


def _plain(text: str, folder: Path) -> str:
    """A text without what is of the machine, the moment or the release."""
    text = text.replace(str(folder), "HERE")
    if text.startswith("{\n") and text.rstrip().endswith("\n}"):
        value = json.loads(text)
        is_usual = json.dumps(value, ensure_ascii=False, indent=2) == text.strip()
        text = _PLAIN_LIST.sub(_on_a_line, json.dumps(_masked(value), ensure_ascii=False, indent=2)) + "\n"
        return text if is_usual else text + "(spaced otherwise)\n"
    text = _LONG_FLOAT.sub(lambda found: f"{float(found[0]):.9g}", text)
    for pattern, instead in _WORDS:
        text = pattern.sub(instead, text)
    return text


def _on_a_line(found: re.Match[str]) -> str:
    return re.sub(r"\n *", " ", found[0]).replace("[ ", "[").replace(" ]", "]")


def _masked(value: Any, key: str = "") -> Any:
    if key in MEASURED:
        if isinstance(value, dict):
            return {name: _masked(each, key) for name, each in value.items()}
        return "#" if isinstance(value, int if key == "peak_memory" else float) else f"# {type(value).__name__}"
    if key in FILE_SIZES:
        return "#"
    if isinstance(value, dict):
        if key == "bytes":
            return {re.sub(r"[0-9a-f]{8}\.", "########.", name): "#" for name in value}
        return {name: _masked(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return "VERSION" if value == __version__ else value


def digest(data: bytes) -> str:
    """Twelve digits of the SHA-256."""
    return f"sha256 {hashlib.sha256(data).hexdigest()[:12]}"


@contextmanager
def ticking() -> Iterator[None]:
    """While this lasts, the clock of processor time goes on by a millisecond a call: plans rest on nothing else."""
    clocks = threading.local()

    def tick() -> float:
        clocks.calls = getattr(clocks, "calls", 0) + 1
        return float(clocks.calls) / 1000

    with patch.object(time, "thread_time", tick):
        yield
