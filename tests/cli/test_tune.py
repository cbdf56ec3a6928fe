"""Settings by asking, through the command: whom it asks, what it keeps, and what every other command makes of it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import shlex
import struct
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from tests import warm

import neardup
from neardup.cli import main
from neardup.cli.tune.differing import differing
from neardup.cli.tune.page import Page
from neardup.cli.tune.program import Program
from neardup.cli.tune.terminal import Terminal
from neardup.tasks.tune import tuning_run
from neardup.tasks.tune.answers import AnswerFile, Labels
from neardup.tasks.tune.asking import Reply
from neardup.tasks.tune.outcome import AskedPair

TITLES = (
    "Learning deep features for scene recognition",
    "A fast algorithm for mining association rules",
    "The anatomy of a large scale search engine",
    "Support vector machines for text categorization",
    "Random forests and their use in remote sensing",
    "An introduction to variable and feature selection",
)
ROWS = [
    (f"{i}/{name}", text)
    for i, title in enumerate(TITLES)
    for name, text in (("plain", title), ("loud", f"{title.upper()}."), ("other", f"{title} revisited"))
]
JUDGE = """
import json, sys
for line in sys.stdin:
    pair = json.loads(line)
    assert set(pair) == {"id_a", "id_b", "text_a", "text_b"}
    print("yes" if pair["id_a"][0] == pair["id_b"][0] else "no", flush=True)
"""
PAIR = AskedPair("a", "b", "one text", "another text", 1, 40)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("docs.jsonl", ROWS)
    Path("judge.py").write_text(JUDGE)
    return tmp_path


def write(name: str, rows: list[tuple[Any, str]]) -> None:
    Path(name).write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in rows))


def program(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def run(*words: str, **extra: Any) -> Result:
    return CliRunner().invoke(main, ["tune", "docs.jsonl", "-o", "tuned.toml", *words], **extra)


def judged(*words: str) -> Result:
    return run("--ask", f"{shlex.quote(sys.executable)} judge.py", "--budget", "8", *words)


def lines(name: str = "tuned.answers.jsonl") -> list[dict[str, Any]]:
    text = Path(name).read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_a_program_is_asked_and_every_command_runs_with_the_settings(here: Path) -> None:
    done = judged("--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    settings = tomllib.loads(Path("tuned.toml").read_text())
    assert settings == told["options"]
    assert told["answers"]["yes"] + told["answers"]["no"] == len(lines()) <= 8
    assert told["cost"]["estimate"]["total_seconds"] > 0
    for words in (
        ["find", "docs.jsonl", "--json", "-o", "p.csv"],
        ["dedup", "docs.jsonl", "--json", "-o", "clean.jsonl"],
        ["audit", "docs.jsonl", "--json"],
        ["plan", "docs.jsonl", "--json"],
    ):
        made = CliRunner().invoke(main, [*words, "--config", "tuned.toml"])
        assert made.exit_code == 0, made.output
        spec = json.loads(made.stdout)["spec"]
        assert {name: spec[name] for name in ("shingle", "normalize", "threshold")} == {
            "shingle": settings["shingle"],
            "normalize": str(neardup.Normalize.parse(settings["normalize"])),
            "threshold": settings["threshold"],
        }
    for words in (["report", "docs.jsonl", "-o", "report"], ["index", "build", "i.index", "docs.jsonl"]):
        made = CliRunner().invoke(main, [*words, "--config", "tuned.toml"])
        assert made.exit_code == 0, made.output


def test_what_was_answered_is_not_asked_again(here: Path) -> None:
    first = judged("--json")
    before = lines()
    refuses = program("raise SystemExit(5)")
    again = run("--ask", refuses, "--budget", str(len(before)), "--json")
    assert again.exit_code == 0, again.output
    told, earlier = json.loads(again.stdout), json.loads(first.stdout)
    assert told["answers"]["earlier"] == len(before)
    assert lines() == before
    assert (told["options"], told["expected"]) == (earlier["options"], earlier["expected"])


def test_answers_on_documents_that_are_gone_are_counted_and_told(here: Path) -> None:
    assert judged().exit_code == 0
    before = lines()
    gone = {before[0]["id_a"], before[0]["id_b"]}
    write("docs.jsonl", [(id, text) for id, text in ROWS if id not in gone])
    done = judged("--json")
    tally = json.loads(done.stdout)["answers"]
    assert tally["earlier_gone"] == sum(bool(gone & {each["id_a"], each["id_b"]}) for each in before) > 0
    assert "with an id that is not in the inputs, such as " in judged().stdout


def test_labels_alone_choose_settings_and_nobody_is_asked(here: Path) -> None:
    ids = [id for id, _ in ROWS]
    pairs = [(a, b, a[0] == b[0]) for i, a in enumerate(ids) for b in ids[i + 1 :]]
    Path("labels.csv").write_text("id_b,label,id_a\n" + "".join(f"{b},{int(is_same)},{a}\n" for a, b, is_same in pairs))
    done = run("--labels", "labels.csv", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["answers"]["labels"] == len(pairs)
    assert not Path("tuned.answers.jsonl").exists()
    found = neardup.find(Path("docs.jsonl"), **told["options"]).pairs.to_pylist()
    right = sum(each["id_a"][0] == each["id_b"][0] for each in found)
    assert right / len(found) > 0.9
    assert right > 0.9 * 3 * len(TITLES)
    by_rows = neardup.tune(dict(ROWS), labels=pairs)
    assert by_rows.options == told["options"]


def test_labels_both_ways_or_of_other_documents_are_told(here: Path) -> None:
    Path("labels.jsonl").write_text(
        "".join(
            json.dumps({"id_a": a, "id_b": b, "label": label}) + "\n"
            for a, b, label in (("0/plain", "0/loud", True), ("0/loud", "0/plain", "no"), ("0/plain", "nobody", 1))
        )
    )
    done = run("--labels", "labels.jsonl")
    assert done.exit_code == 0, done.output
    assert "1 pair labelled both ways" in done.stdout
    assert "1 label with an id that is not in the inputs, such as nobody" in done.stdout


def test_labels_may_name_any_copy_of_a_text(here: Path) -> None:
    ids = [id for id, _ in ROWS]
    pairs = [(a, b, a[0] == b[0]) for i, a in enumerate(ids) for b in ids[i + 1 :]]
    by_first = neardup.tune(dict(ROWS), labels=pairs)
    write("docs.jsonl", [*ROWS, *((f"copy of {id}", text) for id, text in ROWS)])
    rows = [f"copy of {a},copy of {b},{int(is_same)}" for a, b, is_same in pairs]
    more = ["0/plain,copy of 0/plain,yes", "0/plain,copy of 0/loud,yes", "1/plain,2/plain,yes"]
    Path("labels.csv").write_text("\n".join(["id_a,id_b,label", *rows, *more, ""]))
    done = run("--labels", "labels.csv", "--json")
    assert done.exit_code == 0, done.output
    tally = json.loads(done.stdout)["answers"]
    assert tally["labels"] == len(by_first.answers) - 1
    assert (tally["labels_same"], tally["labels_repeated"], tally["labels_contradicting"]) == (1, 2, 1)
    assert tally["labels_gone"] == tally["labels_aside"] == 0
    told = run("--labels", "labels.csv").stdout
    assert "1 label of two documents with the same text" in told
    assert "1 pair labelled both ways" in told


def test_labels_of_documents_that_were_not_drawn_teach_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning_run, "draw_texts", partial(tuning_run.draw_texts, documents=8))
    ids = [id for id, _ in ROWS]
    pairs = [(a, b, a[0] == b[0]) for i, a in enumerate(ids) for b in ids[i + 1 :]]
    labelled, asked = neardup.tune(dict(ROWS), labels=pairs), neardup.tune(dict(ROWS), ask=lambda pair: None)
    assert asked.texts == labelled.texts <= 8
    assert labelled.pairs == asked.pairs < len(pairs) / 2
    assert labelled.answers.num_rows > 2 * labelled.pairs
    assert neardup.tune(dict(ROWS), labels=pairs[::-1]).as_dict() == labelled.as_dict()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("l.csv", "id_a,id_b\na,b\n", "no column label"),
        ("l.csv", "id_a,id_b,label\na,b,perhaps\n", "l.csv:2: the label is 'perhaps'"),
        ("l.jsonl", '{"id_a": 1, "id_b": 2}\n', "l.jsonl:1 has no label"),
        ("l.jsonl", "[1]\n", "l.jsonl:1 is no JSON object"),
        ("l.txt", "", "no .csv and no .jsonl"),
    ],
)
def test_labels_that_cannot_be_used_are_named_by_file_and_line(here: Path, name: str, text: str, told: str) -> None:
    Path(name).write_text(text)
    done = run("--labels", name)
    assert done.exit_code == 2
    assert told in done.output


def test_without_a_question_a_preset_is_proposed_with_its_reason(here: Path) -> None:
    done = run("--budget", "0")
    assert done.exit_code == 0, done.output
    assert "proposed      without an answer, because" in done.stdout
    assert "shingle" in tomllib.loads(Path("tuned.toml").read_text())


def test_documents_that_are_too_long_to_be_drawn_are_counted_with_the_limit(here: Path) -> None:
    write("docs.jsonl", [*ROWS, ("book", "one long book " * 80_000), ("page", "one page " * 1000)])
    done = run("--budget", "0", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["documents"], told["texts"], told["too_long"]) == (len(ROWS) + 2, len(ROWS) + 1, 1)
    assert "too long      1 document of more than 1.0 MB" in run("--budget", "0").stdout


def test_where_there_is_no_terminal_it_says_what_to_do(here: Path) -> None:
    done = run()
    assert done.exit_code == 2
    assert "--ask page, --ask COMMAND, --labels FILE, or --budget 0" in done.output


@pytest.mark.parametrize(
    "rows", [[], [("a", "alone")], [("a", "same"), ("b", "same")], [("a", ""), ("b", " ")]], ids=len
)
def test_collections_without_pairs_get_settings_too(here: Path, rows: list[tuple[str, str]]) -> None:
    write("docs.jsonl", rows)
    done = judged()
    assert done.exit_code == 0, done.output
    assert "answers       none: there are no two texts to ask about" in done.stdout
    assert "this is not sure: there are no two texts that are alike" in done.stdout
    assert tomllib.loads(Path("tuned.toml").read_text())


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise SystemExit(3)", "ended with 3 after 0 answers"),
        ("import sys; input(); print('perhaps')", "answered 'perhaps' for the pair a and b"),
        ("import sys; input(); print('x' * 100_000, end='')", "answered 'xxx"),
        ("input(); import os; os.close(1); import time; time.sleep(60)", "closed its stdout after 0 answers"),
        ("import sys; sys.stdout.write('yes\\nyes\\n'); sys.stdout.flush(); [None for _ in sys.stdin]", "wrote 'yes'"),
        ("print('a\\x1b[31m', flush=True); input()", r"'a\x1b[31m'"),
    ],
)
def test_a_program_that_does_not_keep_to_its_part_ends_the_run_with_a_message(code: str, told: str) -> None:
    large = AskedPair("a", "b", "x" * 500_000, "y", 1, 40)  # more than a pipe holds
    with Program(program(code)) as asked, pytest.raises(neardup.InputError) as raised:  # noqa: PT012 at the third at last
        for _ in range(3):
            asked.ask(large)
    assert told in str(raised.value)


def test_ids_and_texts_of_any_characters_stay_on_one_line_for_a_program() -> None:
    code = (
        "import json, sys\n"
        "for line in sys.stdin.buffer:\n"
        "    pair = json.loads(line)\n"
        "    print('yes' if pair['id_a'] == 'a\\nb\\u2028\\x85' and pair['id_b'] == 7 else 'no', flush=True)\n"
    )
    with Program(program(code)) as asked:
        assert asked.ask(AskedPair("a\nb\u2028\x85", 7, "\n\r\x00", "\u2029", 1, 40)) is Reply.YES
        assert asked.ask(AskedPair("other", 7, "", "", 2, 40)) is Reply.NO


def test_a_program_that_cannot_be_started_is_a_usage_error(here: Path) -> None:
    done = run("--ask", "no-such-program-anywhere")
    assert done.exit_code == 2
    assert "there is no program 'no-such-program-anywhere'" in done.output


def test_answers_before_a_failure_are_kept(here: Path) -> None:
    once = program("input(); print('yes', flush=True); input()")
    done = run("--ask", once)
    assert done.exit_code == 1
    assert "1 answer kept in tuned.answers.jsonl" in done.output
    assert [each["answer"] for each in lines()] == ["yes"]
    assert lines()[0]["by"] == Path(sys.executable).name  # arguments, which may be secret, are not kept
    assert not Path("tuned.toml").exists()


def test_a_line_that_was_not_written_to_its_end_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id_a": "a", "id_b": "b", "answer": "yes"}\n{"id_a": "a", "id')
    kept = AnswerFile.of(path)
    assert len(kept) == 1
    assert kept.cut_off == 17
    kept.add(kept.told["a", "b"][0])
    kept.close()
    assert [each["answer"] for each in lines(str(path))] == ["yes", "yes"]
    path.write_text('{"id_a": "a"}\n')
    with pytest.raises(neardup.InputError, match=r"answers.jsonl:1 is no answer"):
        AnswerFile.of(path)


def test_an_undone_answer_is_none_in_the_next_run(tmp_path: Path) -> None:
    replies = iter(["yes", "undo", "no", "skip", "undo", "stop"])
    path, seen = tmp_path / "a.jsonl", []

    def ask(pair: AskedPair) -> str:
        seen.append((pair.id_a, pair.id_b))
        return next(replies)

    tuned = neardup.tune(dict(ROWS), ask=ask, answers=path)
    assert seen[0] == seen[2]  # the second pair was shown, and the answer on the first one taken back
    assert seen[3] == seen[5]
    assert [each["answer"] for each in lines(str(path))] == ["yes", "undo", "no", "skip", "undo"]
    assert tuned.answers["answer"].to_pylist() == [False]
    again = neardup.tune(dict(ROWS), answers=path)
    assert again.answers.to_pylist() == tuned.answers.to_pylist()
    assert again.options == tuned.options


def test_labels_that_are_rows_may_be_of_any_id_and_word() -> None:
    known = Labels.of([(1, "2", "YES"), {"id_a": "b", "id_b": "a", "label": False}, ("c", "c", 1)])
    assert known.said == {("1", "2"): True, ("a", "b"): False}
    assert known.same == 1


def at_terminal(keys: str, pair: AskedPair, width: int = 80) -> tuple[Reply, str]:
    shown, pressed = io.StringIO(), iter(keys)
    console = Console(file=shown, width=width, height=24, highlight=False)
    return Terminal(console=console, key=lambda: next(pressed)).ask(pair), shown.getvalue()


@pytest.mark.parametrize(
    ("keys", "reply"), [("y", Reply.YES), ("xN", Reply.NO), ("s", Reply.SKIP), ("\x04", Reply.STOP)]
)
def test_one_key_is_an_answer_and_others_are_none(keys: str, reply: Reply) -> None:
    assert at_terminal(keys, PAIR)[0] is reply


@pytest.mark.parametrize("width", [30, 80, 200])
def test_nothing_that_a_terminal_would_act_upon_reaches_it(width: int) -> None:
    evil = "\x1b]0;title\x07 \x1b[2J\x9b31m\r\x00 \u202etext\u202c"
    _, shown = at_terminal("mq", AskedPair(f"i\x1b[31m{evil}", "b\nc", evil * 20, f"{evil} end", 1, 40), width)
    assert not set(shown) & set("\x1b\x07\x9b\r\x00\u202e")
    assert "<ESC>" in shown
    assert width < 80 or max(map(len, shown.splitlines())) <= width


def test_of_long_texts_what_differs_is_shown_and_a_key_shows_the_rest() -> None:
    words = [f"word{i}" for i in range(3000)]
    long = " ".join(words)
    other = " ".join([*words[:2000], "changed", *words[2001:]])
    _, short = at_terminal("n", AskedPair("a", "b", long, other, 1, 40))
    assert "{changed}" in short
    assert "{word2000}" in short
    assert "word2500" not in short
    _, whole = at_terminal("mn", AskedPair("a", "b", long, other, 1, 40))
    assert "word2500" in whole


def test_of_unlike_texts_the_beginnings_are_shown_and_nothing_is_marked() -> None:
    _, shown = at_terminal("n", AskedPair("a", "b", "wholly unlike words " * 200, "something else altogether", 1, 40))
    assert "{" not in shown
    assert "most words differ" in shown
    assert "wholly unlike words wholly" in shown
    assert "something else altogether" in shown


def test_differing_words_are_those_of_a_longest_common_subsequence_by_hand() -> None:
    a, b = "A new method for  tests.", "a method for many tests"
    spans_a, spans_b = differing(a, b)
    assert [a[start:end] for start, end in spans_a] == ["new", "."]
    assert [b[start:end] for start, end in spans_b] == ["many"]
    assert differing("同じ文章です", "同じ文書です") == ([(3, 4)], [(3, 4)])
    assert differing("", "x") == ([], [(0, 1)])


@contextmanager
def a_page(pairs: list[AskedPair]) -> Iterator[tuple[Page, list[Reply]]]:
    """A page on which some pairs are asked about in another thread."""
    replies: list[Reply] = []
    with Page() as page:

        def ask() -> None:
            replies.extend(map(page.ask, pairs))

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        yield page, replies
        thread.join(warm.LIMIT)


def fetch(url: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, given), timeout=warm.LIMIT) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, exc.read()


def test_the_page_shows_pairs_takes_each_answer_once_and_ends() -> None:
    evil = "<script>alert(1)</script> & \u2028"
    pairs = [AskedPair(evil, 2, evil, "text of b", 1, 40), PAIR]
    with a_page(pairs) as (page, replies):
        status, document = fetch(page.address)
        assert status == 200
        assert b"connect-src" in document
        assert b"alert(1)" not in document
        status, state = fetch(f"{page.address}state?after=0")
        shown = json.loads(state)
        assert b"<" not in state
        assert shown["pair"]["members"][0]["id"] == evil
        assert shown["number"] == 1
        assert fetch(f"{page.address}answer", {"turn": 1, "answer": "yes"})[0] == 200
        assert fetch(f"{page.address}answer", {"turn": 1, "answer": "no"})[0] == 409
        assert json.loads(fetch(f"{page.address}state?after=1")[1])["turn"] == 2
        assert fetch(f"{page.address}answer", {"turn": 2, "answer": "stop"})[0] == 200
    assert replies == [Reply.YES, Reply.STOP]


def test_the_page_answers_only_who_knows_its_token_and_names_this_machine() -> None:
    with a_page([PAIR]) as (page, replies):
        root = page.address.removesuffix(f"{page.token}/")
        body = {"turn": 1, "answer": "yes"}
        assert fetch(f"{page.address}state?after=0")[0] == 200
        assert fetch(root)[0] == 404
        assert fetch(f"{root}{'x' * len(page.token)}/state")[0] == 404
        assert fetch(f"{page.address}answer", body, Host="evil.example")[0] == 421
        assert fetch(f"{page.address}answer", body, Origin="http://evil.example")[0] == 403
        assert fetch(f"{page.address}answer", body, Content_Type="text/plain")[0] == 404
        assert fetch(f"{page.address}answer", b"[" * 9000)[0] == 400
        assert fetch(f"{page.address}answer", b"x" * 20_000)[0] == 413
        assert fetch(f"{page.address}answer", {"turn": 1, "answer": "perhaps"})[0] == 400
        assert fetch(f"{page.address}../etc/passwd")[0] == 404
        assert replies == []
        assert fetch(f"{page.address}answer", body, Origin=root.rstrip("/"))[0] == 200


def test_the_command_serves_the_page_and_goes_on_when_it_is_done(here: Path) -> None:
    command = [sys.executable, "-m", "neardup", "tune", "docs.jsonl", "-o", "tuned.toml", "--ask", "page", "--json"]
    env = warm.environment()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = next(line for line in process.stderr if "http://" in line).split()[1]
        for turn, word in ((1, "yes"), (2, "skip"), (3, "stop")):
            assert json.loads(fetch(f"{address}state?after={turn - 1}")[1])["turn"] == turn
            assert fetch(f"{address}answer", {"turn": turn, "answer": word})[0] == 200
        assert json.loads(fetch(f"{address}state?after=3")[1])["pair"] is None
        told = json.loads(process.stdout.read())
    assert process.returncode == 0
    assert (told["answers"]["yes"], told["answers"]["skipped"]) == (1, 1)
    assert [(each["answer"], each["by"]) for each in lines()] == [("yes", "page"), ("skip", "page")]


def test_a_collection_may_come_through_a_pipe_where_a_program_is_asked(here: Path) -> None:
    words = ["tune", "-", "--input-format", "jsonl", "-o", "tuned.toml", "--ask", program(JUDGE), "--budget", "3"]
    done = CliRunner().invoke(main, words, input=Path("docs.jsonl").read_bytes())
    assert done.exit_code == 0, done.output
    assert len(lines()) == 3
    assert "a run " not in done.stdout  # what cannot be read again is not planned


def test_answers_are_not_kept_at_an_address(here: Path) -> None:
    done = CliRunner().invoke(main, ["tune", "docs.jsonl", "-o", "s3://bucket/tuned.toml", "--budget", "0"])
    assert done.exit_code == 2
    assert "Give --answers FILE" in done.output


def pressed(command: list[str], steps: list[tuple[str, Callable[[str], bool]]], **extra: Any) -> tuple[int, str]:
    """Run in a terminal of 80 columns and press each key until what is shown says that it was heard."""
    import fcntl
    import pty
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        command, stdin=slave, stderr=slave, stdout=subprocess.DEVNULL, start_new_session=True, **extra
    )
    os.close(slave)
    shown, waiting = b"", list(steps)
    while process.poll() is None:
        if select.select([master], [], [], 0.3)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError:
                break
            continue
        text = shown.decode("utf-8", "replace")
        while waiting and waiting[0][1](text):
            waiting.pop(0)
        if waiting and "q stop here" in text:
            os.write(master, waiting[0][0].encode())
    code = process.wait(warm.LIMIT)
    with contextlib.suppress(OSError):  # Linux says so that all was read
        while select.select([master], [], [], 0)[0] and (more := os.read(master, 65536)):
            shown += more
    os.close(master)
    return code, shown.decode("utf-8", "replace")


def test_ctrl_c_at_a_terminal_leaves_whole_answers(here: Path) -> None:
    pytest.importorskip("pty")
    command = [sys.executable, "-m", "neardup", "tune", "docs.jsonl", "-o", "tuned.toml"]
    steps = [("y", lambda text: "pair 2 of" in text), ("\x03", lambda text: False)]
    code, shown = pressed(command, steps, env=warm.environment())
    assert code == 130, shown
    assert "the same command goes on from there" in shown
    assert {each["answer"] for each in lines()} == {"yes"}
    assert not Path("tuned.toml").exists()


@pytest.mark.parametrize(("width", "height"), [(50, 30), (80, 24), (200, 50)])
@pytest.mark.parametrize("is_broken", [False, True])
def test_a_pair_fills_a_terminal_and_does_not_scroll_off(width: int, height: int, is_broken: bool) -> None:
    words = [f"word{i}" for i in range(4000)]
    shared, own = " ".join(words[:12]), ("\n" if is_broken else " ").join(words[12:])
    for a, b in ((f"{shared} {own}", shared), (own, own.replace("word500", "other"))):
        shown = io.StringIO()
        console = Console(file=shown, width=width, height=height, highlight=False)
        Terminal(console=console, key=lambda: "y").ask(AskedPair("a", "b", a, b, 1, 40))
        rows = shown.getvalue().split("\n")
        assert rows[1].startswith("pair 1 of at most 40: are these duplicates")
        used = sum(max(1, -(-len(row) // width)) for row in rows)
        assert height / (3 if is_broken else 2) < used <= height


def test_nothing_can_be_undone_before_anything_was_said() -> None:
    shown, pressed = io.StringIO(), iter("uynun")
    terminal = Terminal(console=Console(file=shown, width=80, height=24), key=lambda: next(pressed))
    assert [terminal.ask(PAIR) for _ in range(4)] == [Reply.YES, Reply.NO, Reply.UNDO, Reply.NO]
    assert shown.getvalue().count("u undo") == 3
