"""``neardup index dedup-stream``: lines byte for byte, as they come, and none twice, whatever happens in between."""

from __future__ import annotations

import csv
import errno
import gzip
import json
import os
import random
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import warm
from tests.cli.indexing import ELSE, FOX, FOXED, MORE, SPEC, answer, good, index, jaccard, ran, rows, start, write_jsonl
from tests.warm import LIMIT

from neardup import Index

HUGE = "x" + "".join(chr(0x4E00 + i % 20000) for i in range(200_000))
LINES = [
    b'{"id": "crlf", "text": "a first text, quite unlike the others"}\r\n',
    b'  {"text" :"odd   spacing in a line of JSON",\t"id":  "odd" , "more": [1, 2.50, null]}  \n',
    '{"id": "escaped", "text": "\\u0064\\u00e9j\\u00e0 vu: d\xe9j\xe0 lu et relu"}\n'.encode(),
    b'{"id": "slash", "text": "http:\\/\\/example.org\\/ and a tab\\t"}\n',
    b'{"text": "no id at all, and none is needed here", "id": 12345678901234567890}\n',
    b'{"id": "twice", "id": "last", "text": "the last of two equal keys counts"}\n',
    json.dumps({"id": "huge", "text": HUGE}).encode() + b"\n",
    b'{"id": "end", "text": "the last line has no newline at its end"}',
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with an empty index."""
    monkeypatch.chdir(tmp_path)
    good("create", "i", *SPEC)
    return tmp_path


def ids() -> list[int | str]:
    with Index.open("i", read_only=True) as held:
        return list(held)


def test_lines_go_through_byte_for_byte() -> None:
    Path("in.jsonl").write_bytes(b"".join(LINES))
    result = good("dedup-stream", "i", "in.jsonl")
    assert result.stdout_bytes == b"".join(LINES)
    assert len(ids()) == len(LINES)
    assert result.stderr.splitlines()[0] == f"documents     {len(LINES)}"
    assert f"neardup: {len(LINES)} documents, {len(LINES)} new, 0 removed" in result.stderr
    assert good("dedup-stream", "i", "in.jsonl").stdout_bytes == b""


def test_a_byte_order_mark_is_part_of_its_line() -> None:
    Path("in.jsonl").write_bytes(b"\xef\xbb\xbf" + LINES[0] + LINES[1])
    assert good("dedup-stream", "i", "in.jsonl").stdout_bytes == b"\xef\xbb\xbf" + LINES[0] + LINES[1]


def test_near_copies_stay_behind_and_are_listed() -> None:
    lines = write_jsonl("in.jsonl", [("fox", FOX), ("foxed", FOXED), ("else", ELSE), ("else2", ELSE), ("e", "")])
    result = good("dedup-stream", "i", "in.jsonl", "--removed", "removed.csv")
    assert result.stdout_bytes == lines[0] + lines[2] + lines[4]
    assert "removed       2 near-duplicates, 0 with an id that was there" in result.stderr
    assert Path("removed.csv").read_text().splitlines() == [
        "id,match,similarity", f"foxed,fox,{jaccard(FOX, FOXED)!r}", "else2,else,1.0"
    ]  # fmt: skip
    assert good("dedup-stream", "i", "in.jsonl", "--removed", "removed.csv", "--quiet").stdout_bytes == b""
    with open("removed.csv", newline="") as stream:
        again = list(csv.DictReader(stream))[2:]
    assert [row["id"] for row in again] == ["fox", "foxed", "else", "else2", "e"]
    assert [row["match"] for row in again] == ["fox", "fox", "else", "else", "e"]


def test_removed_as_jsonl() -> None:
    write_jsonl("in.jsonl", [(1, FOX), (2, FOX)])
    good("dedup-stream", "i", "in.jsonl", "--removed", "removed.jsonl")
    assert Path("removed.jsonl").read_text() == '{"id": 2, "match": 1, "similarity": 1.0}\n'


def test_repeated_documents_name_the_one_that_stays() -> None:
    repeated = [("fox", FOX), ("fox", FOX), ("near", FOXED), ("near", FOXED), ("e", ""), ("e", ""), ("e", "")]
    lines = write_jsonl("in.jsonl", repeated)
    result = good("dedup-stream", "i", "in.jsonl", "--removed", "removed.jsonl")
    assert result.stdout_bytes == lines[0] + lines[4]
    removed = [(row["id"], row["match"]) for row in rows(Path("removed.jsonl").read_text())]
    assert removed == [("fox", "fox"), ("near", "fox"), ("near", "fox"), ("e", "e"), ("e", "e")]


def test_a_higher_threshold_lets_more_through() -> None:
    write_jsonl("in.jsonl", [("fox", FOX), ("foxed", FOXED)])
    assert len(good("dedup-stream", "i", "in.jsonl", "-t", "0.95").stdout.splitlines()) == 2


def test_lines_of_text_from_stdin_need_no_ids() -> None:
    text = f"{FOX}\r\n\n{FOXED}\n{ELSE}\n{ELSE}"
    result = good("dedup-stream", "i", "-", "--input-format", "lines", input=text)
    assert result.stdout_bytes == f"{FOX}\r\n{ELSE}\n".encode()
    assert "left out      1 blank line" in result.stderr
    # another day: other texts at the same lines
    assert good("dedup-stream", "i", "-", "--input-format", "lines", input=f"{MORE}\n{FOX}\n").stdout == f"{MORE}\n"
    assert len(set(ids())) == 3


def test_several_inputs_of_which_one_lacks_its_last_newline() -> None:
    Path("a.jsonl").write_bytes(b'{"id": 1, "text": "one text"}')
    with gzip.open("b.jsonl.gz", "wb") as stream:
        stream.write(b'{"id": 2, "text": "another and different"}\n')
    result = good("dedup-stream", "i", "a.jsonl", "b.jsonl.gz")
    assert result.stdout == '{"id": 1, "text": "one text"}\n{"id": 2, "text": "another and different"}\n'


def test_a_compressed_stream_on_stdin(folder: Path) -> None:
    done = ran(folder, "dedup-stream", "i", "-", input=gzip.compress(b"".join(LINES)))
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"".join(LINES)


def test_stdin_of_an_unknown_format_is_told() -> None:
    result = index("dedup-stream", "i", "-", input="a line\n")
    assert result.exit_code == 1
    assert "--input-format lines" in result.stderr
    assert good("dedup-stream", "i", "-", input="").stdout == ""


def test_bad_records_end_the_stream_or_are_left_out() -> None:
    lines = write_jsonl("in.jsonl", [(1, FOX), (2, ELSE)])
    Path("in.jsonl").write_bytes(lines[0] + b"nonsense\n" + lines[1])
    result = index("dedup-stream", "i", "in.jsonl")
    assert result.exit_code == 1
    assert "in.jsonl:2: no valid JSON" in result.stderr
    assert (result.stdout, ids()) == ("", [])
    result = good("dedup-stream", "i", "in.jsonl", "--on-bad", "skip")
    assert result.stdout_bytes == lines[0] + lines[1]
    assert "  in.jsonl:2: no valid JSON" in result.stderr


@pytest.mark.parametrize("choice", ["error", "skip", "replace"])
def test_an_id_with_another_text(choice: str) -> None:
    write_jsonl("in.jsonl", [(1, FOX)])
    good("dedup-stream", "i", "in.jsonl")
    lines = write_jsonl("in.jsonl", [(2, ELSE), (1, MORE)])
    result = index("dedup-stream", "i", "in.jsonl", "--on-duplicate", choice, "--removed", "removed.jsonl")
    if choice == "error":
        assert result.exit_code == 1
        assert "1" in result.stderr
        assert (result.stdout, ids()) == ("", [1])
        return
    assert result.exit_code == 0
    assert result.stdout_bytes == b"".join(lines if choice == "replace" else lines[:1])
    expected = [] if choice == "replace" else [{"id": 1, "match": None, "similarity": None}]
    assert rows(Path("removed.jsonl").read_text()) == expected


def test_output_grows_behind_what_the_file_has(folder: Path) -> None:
    Path("out.jsonl").write_bytes(b"kept, with no newline")
    lines = write_jsonl("in.jsonl", [(1, FOX)])
    summary = answer("dedup-stream", "i", "in.jsonl", "-o", "out.jsonl")
    assert {name: summary[name] for name in ("read", "new", "near", "paid", "documents")} == {
        "read": 1, "new": 1, "near": 0, "paid": 0, "documents": 1
    }  # fmt: skip
    more = write_jsonl("in.jsonl", [(2, ELSE)])
    good("dedup-stream", "i", "in.jsonl", "-o", "out.jsonl")
    assert Path("out.jsonl").read_bytes() == b"kept, with no newline\n" + lines[0] + more[0]
    assert sorted(os.listdir()) == ["i", "in.jsonl", "out.jsonl"]


def test_a_large_stream_is_that_of_a_naive_loop() -> None:
    rng = random.Random(5)
    words = [f"{number:x}" for number in range(4096, 5096)]
    documents: list[tuple[int, str]] = []
    for number in range(500):
        if documents and rng.random() < 0.3:
            parts = rng.choice(documents)[1].split()
            parts[rng.randrange(len(parts))] = rng.choice(words)
            documents.append((number, " ".join(parts)))
        else:
            documents.append((number, " ".join(rng.choices(words, k=40))))
    lines = write_jsonl("in.jsonl", documents)
    kept: list[tuple[set[str], bytes]] = []
    for (_, text), line in zip(documents, lines, strict=True):
        mine = {text[i : i + 9] for i in range(len(text) - 8)}
        if not any(len(mine & other) >= 0.8 * len(mine | other) for other, _ in kept):
            kept.append((mine, line))
    good("create", "large")
    out = good("dedup-stream", "large", "in.jsonl").stdout_bytes.splitlines(keepends=True)
    expected = [line for _, line in kept]
    assert len(set(out) ^ set(expected)) <= 0.01 * len(expected)
    assert [line for line in out if line in set(expected)] == [line for line in expected if line in set(out)]


# a stream that pauses


def read_some(process: subprocess.Popen[bytes]) -> bytes:
    """What comes on stdout, as soon as something comes; nothing where it hangs."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], LIMIT)
    return os.read(process.stdout.fileno(), 1 << 20) if ready else b""


@pytest.fixture
def stream(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command behind a pipe of lines; killed at the end if it still runs."""
    with start(folder, "dedup-stream", "i", "-", "--input-format", "lines") as process:
        yield process
        process.kill()


def feed(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.flush()


def test_lines_come_out_while_the_input_pauses(stream: subprocess.Popen[bytes]) -> None:
    feed(stream, f"{FOX}\n".encode())
    assert read_some(stream) == f"{FOX}\n".encode()  # the first one waits for the start
    assert len(ids()) == 1  # durable, and seen by others
    feed(stream, f"{FOXED}\n{ELSE}\n{MORE[:9]}".encode())
    assert read_some(stream) == f"{ELSE}\n".encode()
    out, err = stream.communicate(MORE[9:].encode(), timeout=LIMIT)
    assert out == MORE.encode()  # and not its first half as a line before
    assert stream.returncode == 0
    assert b"neardup: 4 documents, 3 new, 1 removed, 3 in the index" in err


def test_ctrl_c_keeps_what_went_through_and_says_how_much(stream: subprocess.Popen[bytes]) -> None:
    feed(stream, f"{FOX}\n{ELSE}\n".encode())
    assert read_some(stream) == f"{FOX}\n{ELSE}\n".encode()
    stream.send_signal(signal.SIGINT)
    _, err = stream.communicate(timeout=LIMIT)  # its input would never end
    assert stream.returncode == 130
    assert err == b"interrupted, complete before that: 2 documents added\n"
    assert len(ids()) == 2
    good("verify", "i")


def test_lines_that_a_closed_pipe_does_not_take_can_be_given_again(stream: subprocess.Popen[bytes]) -> None:
    feed(stream, f"{FOX}\n".encode())
    assert read_some(stream)
    assert stream.stdout is not None
    stream.stdout.close()
    stream.stdout = None
    _, err = stream.communicate(f"{ELSE}\n".encode(), timeout=LIMIT)
    assert stream.returncode == 1
    assert b"Error: cannot write stdout: Broken pipe. The documents of the lines that were to go out" in err
    assert b"Traceback" not in err
    assert len(ids()) == 1
    again = good("dedup-stream", "i", "-", "--input-format", "lines", input=f"{FOX}\n{ELSE}\n")
    assert again.stdout == f"{ELSE}\n"


# killed between making durable and writing

KILLED = """
import os, signal, sys
from neardup.cli import main
from neardup.index.stream.outputs import FileOutput

plain = FileOutput.write

def write(self, lines, ids=()):
    if not lines:
        return plain(self, lines)
    if sys.argv[1] == "half":
        self._stream.write(lines[0][: len(lines[0]) // 2])
        self._stream.flush()
    elif sys.argv[1] == "whole":
        self._note.rename("kept")
        plain(self, lines)
        os.rename("kept", self._note)
    os.kill(os.getpid(), signal.SIGKILL)

FileOutput.write = write
main(["index", "dedup-stream", "i", "in.jsonl", "-o", "out.jsonl"], prog_name="neardup")
"""


@pytest.mark.parametrize("moment", ["before", "half", "whole"])
def test_a_file_is_completed_after_a_kill_between_the_index_and_the_line(moment: str) -> None:
    write_jsonl("in.jsonl", [(0, MORE)])
    good("dedup-stream", "i", "in.jsonl", "-o", "out.jsonl")
    lines = write_jsonl("in.jsonl", [(0, MORE), (1, FOX), (2, FOXED), (3, ELSE), (3, ELSE)])
    done = warm.run(["-c", KILLED, moment])
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert ids() == [0, 1, 3]
    result = good("dedup-stream", "i", "in.jsonl", "-o", "out.jsonl")
    assert Path("out.jsonl").read_bytes() == lines[0] + lines[1] + lines[3]
    assert result.stderr.splitlines()[0] == "neardup: 2 lines written that a run that was killed had not"
    assert sorted(os.listdir()) == ["i", "in.jsonl", "out.jsonl"]


KILLED_EARLIER = KILLED.replace("FileOutput.write = write", """
def add_if_new(self, *args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)
import neardup
neardup.Index.add_if_new = add_if_new
""")  # fmt: skip


def test_a_kill_before_the_index_owes_nothing() -> None:
    lines = write_jsonl("in.jsonl", [(1, FOX), (2, FOXED), (3, ELSE)])
    done = warm.run(["-c", KILLED_EARLIER, "x"])
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert ids() == []
    assert Path("out.jsonl.neardup-pending").exists()
    good("dedup-stream", "i", "in.jsonl", "-o", "out.jsonl")
    assert Path("out.jsonl").read_bytes() == lines[0] + lines[2]
    assert not Path("out.jsonl.neardup-pending").exists()


def test_a_note_that_does_not_fit_is_not_followed() -> None:
    write_jsonl("in.jsonl", [(1, FOX), (3, ELSE)])
    warm.run(["-c", KILLED, "before"])
    note = Path("out.jsonl.neardup-pending")
    plain = note.read_bytes()
    head, _, rest = plain.partition(b"\n")
    longer = json.dumps({**json.loads(head), "size": 99}).encode() + b"\n" + rest
    good("create", "j", *SPEC)
    for target, content in (("i", b"{"), ("i", b"[]\n"), ("i", longer), ("j", plain)):
        note.write_bytes(content)
        result = index("dedup-stream", target, "in.jsonl", "-o", "out.jsonl")
        assert result.exit_code == 1
        assert f"Delete {note.resolve()}" in result.stderr
        assert Path("out.jsonl").read_bytes() == b""
    note.unlink()
    good("dedup-stream", "i", "in.jsonl", "-o", "out.jsonl")
    assert Path("out.jsonl").read_bytes() == b""


def test_killed_at_random_moments_no_line_is_lost_or_doubled(folder: Path) -> None:
    rng = random.Random(8)
    words = [f"{number:x}" for number in range(4096, 9096)]
    write_jsonl("in.jsonl", [(number, " ".join(rng.choices(words, k=30))) for number in range(6000)])
    data = Path("in.jsonl").read_bytes()
    out = Path("out.jsonl")
    for part in (0, 1, 2, 3):
        with start(folder, "dedup-stream", "i", "in.jsonl", "-o", "out.jsonl", stdin=subprocess.DEVNULL) as process:
            while process.poll() is None and (out.stat().st_size if out.exists() else 0) <= part * len(data) // 5:
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.05))
            process.kill()
        assert data.startswith(out.read_bytes())
    good("dedup-stream", "i", "in.jsonl", "-o", "out.jsonl")
    assert Path("out.jsonl").read_bytes() == data


def test_a_file_that_cannot_be_written_is_completed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = write_jsonl("in.jsonl", [(1, FOX), (3, ELSE)])
    plain = os.fsync

    def full(descriptor: int) -> None:
        found, file = os.fstat(descriptor), Path("out.jsonl").stat()
        if found.st_ino == file.st_ino and found.st_size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plain(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        result = index("dedup-stream", "i", "in.jsonl", "-o", "out.jsonl")
    assert result.exit_code == 1
    assert "cannot write out.jsonl: No space left on device. Free some space" in result.stderr
    good("dedup-stream", "i", "in.jsonl", "-o", "out.jsonl")
    assert Path("out.jsonl").read_bytes() == lines[0] + lines[1]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("how", ["stdout", "-o"])
def test_a_full_device_leaves_the_index_as_it_was(folder: Path, how: str) -> None:
    write_jsonl("in.jsonl", [(1, FOX)])
    with open("/dev/full", "wb") as full:
        more, options = ([], {"stdout": full}) if how == "stdout" else (["-o", "/dev/full"], {})
        process = start(folder, "dedup-stream", "i", "in.jsonl", *more, **options)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    name = b"stdout" if how == "stdout" else b"/dev/full"
    assert b"Error: cannot write " + name + b": No space left on device." in err
    assert ids() == []


def test_inputs_that_are_not_there_are_told_before_anything_is_done() -> None:
    write_jsonl("in.jsonl", [(1, FOX)])
    result = index("dedup-stream", "i", "in.jsonl", "im.jsonl")
    assert result.exit_code == 1
    assert "im.jsonl does not exist. Did you mean 'in.jsonl'?" in result.stderr
    assert (result.stdout, ids()) == ("", [])
