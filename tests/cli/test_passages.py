"""``neardup passages`` as it is typed: what is found, what is cut out of which format, what is said and refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests.oracles.repeats import left_by, windows

import neardup
from neardup.cli import main, passages_options
from neardup.stages.repeats.policies import POLICIES
from neardup.stages.repeats.surgery import SNAPS
from neardup.tasks.repeats.decided import DecidedCuts

Cli = Callable[..., Result]
NOTICE = 'All rights are "reserved" by us, everywhere and for all times, café included.'
ROWS: list[dict[str, Any]] = [
    {"id": "a", "n": 1.50, "text": f"The first story. {NOTICE} It ends."},
    {"id": "b", "n": 2, "text": f"Another one,\nof two lines. {NOTICE} Done."},
    {"id": "c", "n": 3, "text": "Nothing that is anywhere else."},
    {"id": "d", "n": 4, "text": f"{NOTICE}"},
]
CUT = [ROWS[0]["text"], "Another one,\nof two lines. Done.", ROWS[2]["text"]]
"""The texts of a, b and c without the notice where it stood before; d has nothing left."""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run ``neardup passages …`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> Result:
        return CliRunner().invoke(main, ["passages", *args, "--threads", "1"], prog_name="neardup")

    return run


def cut(cli: Cli, source: str, target: str, *more: str) -> None:
    options = ("--min-bytes", "60", "--cut", "first", "--snap", "sentence", "--min-left", "1", "-o", target, "-q")
    done = cli(source, *options, *more)
    assert done.exit_code == 0, done.stderr


def jsonl(rows: list[dict[str, Any]], **how: Any) -> str:
    return "".join(json.dumps(row, **how) + "\n" for row in rows)


def test_the_lists_of_the_help_are_those_of_python() -> None:
    assert (tuple(POLICIES), SNAPS) == (passages_options.POLICIES, passages_options.SNAPS)


def test_words_and_normalised_text_are_compared_as_in_python(cli: Cli) -> None:
    notice = ["All", "rights", "are", "reserved", "by", "us", "and", "nobody", "else"]
    texts = [f"One. {' '.join(notice)}", f"Two: {', '.join(notice).upper()}; three"]
    Path("in.jsonl").write_text(jsonl([{"id": i, "text": text} for i, text in enumerate(texts)]))
    done = cli("in.jsonl", "--min-words", "9", "--normalize", "nfc,casefold", "-o", "spans.parquet", "--json", "-q")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    spans = pq.read_table("spans.parquet")
    assert spans.to_pylist() == neardup.passages("in.jsonl", min_words=9, normalize="nfc,casefold").spans.to_pylist()
    places = list(zip(*(spans[name].to_pylist() for name in ("id", "start", "end")), strict=True))
    assert [texts[i][start:end] for i, start, end in places] == [" ".join(notice), ", ".join(notice).upper()]
    assert summary["top_passages"][0]["opening"] == " ".join(notice)
    assert summary["most_repeated"] == [{"id": 1, "bytes": len(texts[1]), "cut_bytes": len(", ".join(notice))}]
    done = cli("in.jsonl", "--min-words", "12", "--normalize", "nfc,casefold")
    assert "no passage of 12 words of normalised text" in done.stderr
    assert cli("in.jsonl", "--min-words", "9", "--min-bytes", "20").exit_code == 2


def test_passages_with_changes_are_those_of_python_and_cut_whole(cli: Cli) -> None:
    texts = [
        f"The first story. {NOTICE} It ends.",
        "Nothing.",
        f"Another one: {NOTICE.replace('everywhere', 'anywhere')}",
    ]
    Path("in.jsonl").write_text(jsonl([{"id": i, "text": text} for i, text in enumerate(texts)]))
    options = ("in.jsonl", "--min-bytes", "60", "--gaps", "12")
    done = cli(*options, "-o", "spans.parquet", "--json", "--min-similarity", "0.8")
    assert done.exit_code == 0, done.stderr
    summary, spans = json.loads(done.stdout), pq.read_table("spans.parquet")
    wanted = {"gaps": 12, "min_match": 12, "min_similarity": 0.8, "passages": 1, "spans": 2}
    assert {name: summary[name] for name in wanted} == wanted
    in_python = neardup.passages("in.jsonl", min_bytes=60, gaps=12, min_similarity=0.8)
    assert spans.to_pylist() == in_python.spans.to_pylist()
    size = len(f" {NOTICE}".encode())
    assert spans["similarity"].to_pylist() == [1.0, 1 - 4 / size]  # ever to an: two letters are others, two are lost
    done = cli(*options, "--cut", "first", "--snap", "word", "-o", "clean.jsonl")
    assert "changes       gaps of up to 12 between equal stretches of 12 or more, similarity of 0.5" in done.stderr
    left = [json.loads(line)["text"] for line in Path("clean.jsonl").read_text().splitlines()]
    assert left == [*texts[:2], "Another one:"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--min-match", "20"), "min_match is for passages with changes"),
        (("--gaps", "9", "--min-match", "101"), "from 12 to 100"),
        (("--gaps", "9", "--min-similarity", "0.1"), "min_similarity is 0.1. Give a number from 0.3 to 1."),
        (("--gaps", "9", "--min-similarity", "much"), "min_similarity is much. Give a number from 0.3 to 1."),
        (("--gaps", "0"), "gaps is 0"),
    ],
)
def test_changes_that_cannot_be_used_are_wrong_usage(cli: Cli, options: tuple[str, ...], words: str) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS))
    done = cli("in.jsonl", *options)
    assert done.exit_code == 2
    assert words in done.stderr


def test_the_table_is_that_of_python_and_of_brute_force(cli: Cli) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS))
    assert cli("in.jsonl", "--min-bytes", "60", "-o", "spans.parquet", "-q").exit_code == 0
    spans = pq.read_table("spans.parquet")
    assert spans.to_pylist() == neardup.passages("in.jsonl", min_bytes=60).spans.to_pylist()
    assert len(spans) == 3
    ids, texts = [row["id"] for row in ROWS], [row["text"].encode() for row in ROWS]
    covered = {
        (ids.index(row["id"]), i) for row in spans.to_pylist() for i in range(row["start_byte"], row["end_byte"])
    }
    assert covered == {(d, j) for d, i in windows(texts, 60) for j in range(i, i + 60)}
    assert spans["first"].to_pylist() == [True, False, False]


def test_units_are_compared_and_cut_whole(cli: Cli) -> None:
    rows = [{"id": "a", "text": "Home\nAbout\nA story."}, {"id": "b", "text": "Home\r\n\r\nA tale. \nAbout\n"}]
    Path("in.jsonl").write_text(jsonl(rows))
    done = cli(
        "in.jsonl", "--unit", "line", "--min-chars", "5", "--cut", "first", "-o", "out.jsonl", "--spans", "s.csv"
    )
    assert done.exit_code == 0, done.stderr
    assert "1 passage of 1 line (5 characters at least) or more, in 2 spans" in done.stderr
    assert "out of 1 document, by the policy first" in done.stderr
    assert [json.loads(line)["text"] for line in Path("out.jsonl").read_text().splitlines()] == [
        rows[0]["text"],
        "Home\r\n\r\nA tale.\n",
    ]
    spans = list(csv.DictReader(io.StringIO(Path("s.csv").read_text())))
    assert [(row["id"], row["start"], row["end"], row["source_id"]) for row in spans] == [
        ("a", "5", "10", "a"),
        ("b", "17", "22", "a"),
    ]


def test_near_duplicate_units_are_told_with_their_similarity(cli: Cli) -> None:
    letter = "Dear {}, thank you for your order. It left our house on Monday and will be with you within the week."
    Path("in.jsonl").write_text(jsonl([{"id": name, "text": letter.format(name)} for name in ("Ada", "Ben", "Cyd")]))
    more = ("--threshold", "0.7", "--shingle", "char:5", "--cut", "first", "--min-left", "1", "-o", "out.jsonl")
    done = cli("in.jsonl", "--unit", "line", *more, "--spans", "s.parquet")
    assert done.exit_code == 0, done.stderr
    assert "100 % of the text is in units with a near-duplicate" in done.stderr
    assert "1 passage of 1 line (similarity 0.7 at least), in 3 spans" in done.stderr
    assert [json.loads(line)["id"] for line in Path("out.jsonl").read_text().splitlines()] == ["Ada"]
    table = pq.read_table("s.parquet")
    assert table["similarity"].to_pylist()[0] == 1.0
    assert all(0.7 <= each < 1 for each in table["similarity"].to_pylist()[1:])


def test_a_preset_is_told_and_what_is_typed_wins(cli: Cli) -> None:
    Path("in.jsonl").write_text(
        jsonl([{"id": i, "text": f"Page {i}\nOne story {i}{i}.\n{c} x"} for i, c in enumerate("abc")])
    )
    looked = cli("in.jsonl", "--preset", "ccnet", "--json")
    told = json.loads(looked.stdout)
    assert (told["unit"], told["span"], told["normalize"], told["cut"]) == (
        "line",
        1,
        "nfc,casefold,punct,digits",
        None,
    )
    assert told["preset"]["options"] == {"unit": "line", "span": 1, "normalize": "casefold,digits,punct"}
    done = cli("in.jsonl", "--preset", "ccnet", "-o", "out.jsonl")
    assert "--preset ccnet = --unit line --span 1 --normalize casefold,digits,punct --cut none" in done.stderr
    assert [json.loads(line)["text"] for line in Path("out.jsonl").read_text().splitlines()] == ["a x", "b x", "c x"]
    kept = cli("in.jsonl", "--preset", "ccnet", "--cut", "first", "--normalize", "none", "-o", "kept.jsonl", "--json")
    told = json.loads(kept.stdout)
    assert (told["normalize"], told["cut"]["policy"], told["spans"]) == ("none", "first", 0)
    assert told["preset"]["given"] == {"normalize": "none", "cut": "first"}
    assert neardup.passages("in.jsonl", preset="ccnet").cut()["text"].to_pylist() == ["a x", "b x", "c x"]


def test_nothing_found_is_a_warning_with_the_settings(cli: Cli) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS[:1]))
    done = cli("in.jsonl")
    assert done.exit_code == 0
    assert "WARNING       no passage of 100 bytes or more stands at two places." in done.stderr


def test_places_that_have_a_part_of_a_passage_do_not_count_as_the_whole_of_it(cli: Cli) -> None:
    """The first place has both lines, and the seven others one of them."""
    share, footer = "Share this page", "All rights are reserved by us, everywhere and for all times."
    texts = [f"{share}\n{footer}", *(f"{i}\n{share}\nstory {i}" for i in range(6)), f"7\n{footer}\nstory 7"]
    Path("in.jsonl").write_text(jsonl([{"id": str(i), "text": text} for i, text in enumerate(texts)]))
    done = cli("in.jsonl", "--unit", "line", "--json")
    (top,) = json.loads(done.stdout)["top_passages"]
    in_all = len(share) + 1 + len(footer) + 6 * len(share) + len(footer)
    assert (top["count"], top["bytes"], top["bytes_in_all"]) == (8, len(share) + 1 + len(footer), in_all)
    done = cli("in.jsonl", "--unit", "line", "--cut", "first", "-o", "out.jsonl", "--spans", "s.csv", "--cuts", "c.csv")
    assert f"most weight   8 places, {in_all} bytes  Share this page All rights" in done.stderr
    assert done.stderr.endswith("; s.csv, c.csv and out.jsonl written\n")


def test_the_summary_tells_the_heaviest_passage_and_who_loses_most(cli: Cli) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS))
    done = cli("in.jsonl", "--min-bytes", "60", "--json")
    told = json.loads(done.stdout)
    size = len(NOTICE.encode())
    assert (told["documents"], told["too_short"], told["passages"]) == (4, 1, 1)
    assert told["top_passages"][0]["count"] == 3
    assert "All rights are" in told["top_passages"][0]["opening"]
    # a and b also share ". " before the notice and " " behind it
    assert told["most_repeated"] == [
        {"id": "b", "bytes": len(ROWS[1]["text"].encode()), "cut_bytes": size + 3},
        {"id": "d", "bytes": size, "cut_bytes": size},
    ]


def test_of_json_lines_only_the_text_changes(cli: Cli) -> None:
    odd = (
        '{ "n" : 1.50e0,"text": "lost", "text":'
        + json.dumps(ROWS[1]["text"])
        + ' ,"id":"b", "big": 12345678901234567890 }\r\n'
    )
    lines = [jsonl(ROWS[:1]), odd, "\n", jsonl(ROWS[2:], ensure_ascii=False)]
    Path("in.jsonl").write_bytes("".join(lines).encode())
    cut(cli, "in.jsonl", "out.jsonl", "--cuts", "cuts.csv", "--spans", "spans.csv")
    wanted = [lines[0], odd.replace(json.dumps(ROWS[1]["text"]), json.dumps(CUT[1])), "\n", jsonl(ROWS[2:3])]
    assert Path("out.jsonl").read_bytes() == "".join(wanted).encode()
    left = str(len(CUT[1]))
    assert list(csv.reader(io.StringIO(Path("cuts.csv").read_text()))) == [
        ["id", "cut_bytes", "left", "kept"],
        ["b", str(len(NOTICE.encode()) + 1), left, "true"],
        ["d", str(len(NOTICE.encode())), "0", "false"],
    ]


def test_of_csv_only_the_text_changes(cli: Cli) -> None:
    out = io.StringIO()
    writer = csv.DictWriter(out, ["id", "text", "n"])
    writer.writeheader()
    writer.writerows(ROWS)
    for name, codec, more in (("a", "utf-8-sig", ()), ("b", "latin-1", ("--encoding", "latin-1"))):
        Path(f"{name}.csv").write_bytes(out.getvalue().removesuffix("\r\n").encode(codec))
        cut(cli, f"{name}.csv", f"{name}-clean.csv", *more)
        text = Path(f"{name}-clean.csv").read_bytes().decode(codec)
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert [row["text"] for row in rows] == CUT
        assert [row["n"] for row in rows] == ["1.5", "2", "3"]
        assert text.startswith(out.getvalue()[: out.getvalue().index("\r\nb,")])
        assert text.endswith("\r\n")


def test_of_parquet_and_arrow_only_the_text_changes(cli: Cli) -> None:
    rows = pa.Table.from_pylist([{**row, "n": float(row["n"])} for row in ROWS])
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.binary()):
        table = rows.set_column(2, "text", rows["text"].cast(pa.binary() if kind == pa.binary() else kind))
        pq.write_table(table, "in.parquet", row_group_size=3)
        cut(cli, "in.parquet", "out.parquet")
        found = pq.read_table("out.parquet")
        assert found.schema == table.schema
        texts = [text.decode() if isinstance(text, bytes) else text for text in found["text"].to_pylist()]
        assert texts == CUT
        assert found.drop_columns(["text"]).equals(table.drop_columns(["text"])[:3])
    with pa.ipc.new_file("in.arrow", rows.schema) as writer:
        writer.write_table(rows)
    cut(cli, "in.arrow", "out.arrow")
    assert pa.ipc.open_file("out.arrow").read_all()["text"].to_pylist() == CUT


def test_text_files_of_a_folder_are_copied_and_those_that_are_cut_changed(cli: Cli) -> None:
    Path("in").mkdir()
    for row in ROWS:
        Path("in", f"{row['id']}.txt").write_bytes(row["text"].encode("utf-8-sig"))
    Path("in", "e.txt.gz").write_bytes(gzip.compress(f"Packed. {NOTICE}".encode()))
    cut(cli, "in", "out")
    found = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    assert found.keys() == {"a.txt", "b.txt", "c.txt", "e.txt.gz"}
    assert [found[f"{name}.txt"].decode("utf-8-sig") for name in "abc"] == CUT
    assert gzip.decompress(found["e.txt.gz"]).decode().strip() == "Packed."


def test_lines_go_to_stdout_as_one_stream(cli: Cli) -> None:
    for name in "xy":
        Path(f"{name}.lines").write_text(f"Line {name}. {NOTICE}\nno more\n")
    options = ("--input-format", "lines", "--min-bytes", "60", "--cut", "first", "--snap", "sentence", "-o", "-", "-q")
    done = cli("x.lines", "y.lines", *options)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"Line x. {NOTICE}\nno more\nLine y.\nno more\n"


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_left_of_json_lines_is_what_brute_force_leaves(cli: Cli, policy: str) -> None:
    """But for the white space that parts words which would run together."""
    texts = [f"{i} abcdefghijklmnopqrst {i % 3} uvwxyzABCDEFGHIJ {i % 2} uvwxyzABCDEFGHIJ" for i in range(12)]
    Path("in.jsonl").write_text(jsonl([{"text": text} for text in texts]))
    options = ("--min-bytes", "16", "--cut", policy, "--snap", "char", "--min-cut", "1", "--min-left", "0")
    options += ("-o", "out.jsonl", "-q")
    assert cli("in.jsonl", *options).exit_code == 0
    found = [json.loads(line)["text"] for line in Path("out.jsonl").read_text().splitlines()]
    wanted = left_by([text.encode() for text in texts], 16, policy)
    assert ["".join(text.split()) for text in found] == [b"".join(text.split()).decode() for text in wanted]


def test_what_is_left_out_is_said(cli: Cli) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS))
    done = cli("in.jsonl", "--min-bytes", "60", "--cut", "first", "--min-left", "50", "-o", "out.jsonl")
    assert "left out      2 documents of which fewer than 50 characters were left: b, d" in done.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["in.jsonl", "--cut", "first"], "there is no place for the clean copies. Give -o."),
        (["in.jsonl", "--snap", "line"], "--snap is for what is cut. Give --cut too, or leave it out."),
        (["in.jsonl", "--cut", "first", "-o", "in.jsonl"], "in.jsonl is an input too (in.jsonl)."),
        (["in.jsonl", "--cut", "first", "-o", "-", "--json"], "stdout can take one thing only."),
        (["-", "--cut", "first", "-o", "out.jsonl"], "stdin can be read once."),
        (["in.jsonl", "--cut", "first", "-o", "out.csv"], "is named as csv"),
        (["in.jsonl", "--cut", "first", "-o", ".", "--cuts", "in.jsonl"], "in.jsonl is an input too"),
        (["in.jsonl", "--cut", "first", "-o", "./to/", "--cuts", "to/in.jsonl"], "would be the copy of an input too"),
        (["in.html", "--cut", "first", "-o", "out.html"], "cannot be written back into it"),
        (["in.jsonl", "--text", "text,id", "--cut", "first", "-o", "out.jsonl"], "Give one with --text."),
        (["in.jsonl", "--span", "3"], "span is for lines, sentences and paragraphs."),
        (["in.jsonl", "--unit", "line", "--snap", "word", "--cut", "none", "-o", "out.jsonl"], "Leave snap out."),
        (["in.jsonl", "--preset", "ccnett"], "Did you mean 'ccnet'?"),
        (["in.jsonl", "--min-bytes", "15"], "Give a whole number from 16 to 65,536."),
    ],
)
def test_what_cannot_be_is_refused_with_a_cure(cli: Cli, args: list[str], message: str) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS))
    Path("in.html").write_text("<p>Hello</p>")
    Path("to").mkdir()
    done = cli(*args)
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.stderr.split())
    assert Path("in.jsonl").read_text() == jsonl(ROWS)
    assert not Path("out.jsonl").exists()


def test_a_text_that_changes_while_it_is_read_again_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS))
    table = DecidedCuts.table

    def change(self: DecidedCuts) -> pa.Table:
        Path("in.jsonl").write_text(jsonl(ROWS).replace("Another", "Changed"))
        return table(self)

    monkeypatch.setattr(DecidedCuts, "table", change)
    done = cli("in.jsonl", "--min-bytes", "60", "--cut", "first", "-o", "out.jsonl", "--cuts", "cuts.csv")
    assert done.exit_code == 1
    assert "in.jsonl was written to since it was looked at when the run began." in " ".join(done.stderr.split())
    assert sorted(path.name for path in Path().iterdir()) == ["in.jsonl"]


def test_a_second_pass_says_what_still_repeats_in_the_copies(cli: Cli) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS))
    options = ("--min-bytes", "60", "--cut", "first", "--snap", "sentence", "-o", "out.jsonl", "--second-pass")
    done = cli("in.jsonl", *options, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)["second_pass"]
    left = neardup.passages("out.jsonl", min_bytes=60).summary.as_dict()
    assert told == {name: left[name] for name in told}
    assert "second pass   nothing repeats in the copies any more" in cli("in.jsonl", *options).stderr
    done = cli("in.jsonl", *options, "--min-bytes", "16", "--min-cut", "200")
    assert "of the copies still stands at two or more places" in done.stderr
    assert "--second-pass is for what is cut." in cli("in.jsonl", "--second-pass").stderr


def test_the_column_of_the_text_may_be_named(cli: Cli) -> None:
    Path("in.jsonl").write_text(jsonl([{"body": row["text"], "text": ""} for row in ROWS]))
    cut(cli, "in.jsonl", "out.jsonl", "--text", "body")
    assert [json.loads(line)["body"] for line in Path("out.jsonl").read_text().splitlines()] == CUT


def test_several_files_of_json_lines_go_to_stdout_as_one_stream(cli: Cli) -> None:
    """The second has no newline at its end, and the first document of the third goes."""
    parts = [ROWS[:1], ROWS[1:3], [ROWS[3], ROWS[2]]]
    for name, rows in zip("xyz", parts, strict=True):
        Path(f"{name}.jsonl").write_text(jsonl(rows).rstrip("\n") if name == "y" else jsonl(rows))
    done = cli("x.jsonl", "y.jsonl", "z.jsonl", *("--min-bytes", "60", "--cut", "first", "--snap", "sentence"),
               *("--min-left", "1", "-o", "-", "-q"))  # fmt: skip
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == [ROWS[0], {**ROWS[1], "text": CUT[1]}, ROWS[2], ROWS[2]]


def test_a_page_is_written_beside_what_else_is_asked_for(cli: Cli) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS))
    done = cli("in.jsonl", "--min-bytes", "60", "--report", "page.html", "-o", "spans.csv", "--json")
    assert done.exit_code == 0, done.stderr
    assert "spans.csv and page.html written" in done.stderr
    told = json.loads(done.stdout)["report"]
    assert told["files"] == 1
    assert told["bytes"] == Path("page.html").stat().st_size
    would = neardup.passages("in.jsonl", min_bytes=60).report("again.html").path.read_bytes()
    assert Path("page.html").read_bytes() == would
    cut(cli, "in.jsonl", "clean.jsonl", "--report", "site")
    page = (Path("site") / "index.html").read_text()
    assert "Documents that lost most" in page
    assert '"policy":"first","snap":"sentence","min_cut":60,"min_left":1' in page
    assert [json.loads(line)["text"] for line in Path("clean.jsonl").read_text().splitlines()] == CUT
    again = cli("in.jsonl", "--report", "site", "-q")
    assert again.exit_code == 0, again.stderr


def test_a_page_takes_the_place_of_nothing_else(cli: Cli) -> None:
    Path("in.jsonl").write_text(jsonl(ROWS))
    Path("mine.html").write_text("mine")
    Path("texts").mkdir()
    Path("texts/a.txt").write_text(NOTICE)
    for target, code in (("-", 2), ("in.jsonl", 2), ("mine.html", 1), ("texts", 1), ("nowhere/page.html", 1)):
        done = cli("in.jsonl" if target != "texts" else "texts", "--report", target)
        assert done.exit_code == code, (target, done.stderr)
        assert "Traceback" not in done.stderr
    assert Path("mine.html").read_text() == "mine"
    assert sorted(path.name for path in Path("texts").iterdir()) == ["a.txt"]
    both = cli("in.jsonl", "--report", "x.html", "-o", "x.html")
    assert both.exit_code != 0
    assert not Path("x.html").exists()


def test_what_only_a_page_or_near_duplicates_need_is_not_loaded_without_them(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(f"{NOTICE}\n{NOTICE}\n")
    program = (
        "import sys; from neardup.cli import main; main(['passages', 'in.txt', '-q'], standalone_mode=False);"
        " print([name for name in ('jinja2', 'neardup.tasks.dedup', 'neardup.pages') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
