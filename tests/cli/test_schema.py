"""JSON Schemas of answers and of specs: real ones are valid, and a field that they do not name is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.cli.answers import answer_schemas, spec_schema
from tests.cli.test_config import COMMANDS, run

SCHEMAS = answer_schemas()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("schema")
    sentences = [
        f"sentence number {number} says what no other sentence says, {number * 7} times." for number in range(9)
    ]
    texts = [" ".join(sentences[at : at + 5]) for at in range(5)]
    rows = [{"id": f"n{at}", "text": text, "site": f"s{at % 2}"} for at, text in enumerate([*texts, texts[0], "", "x"])]
    (made / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "\nno json\n")
    (made / "some.csv").write_text("id,text\n" + "".join(f'{row["id"]},"{row["text"]}"\n' for row in rows[:3]))
    (made / "labels.csv").write_text("id_a,id_b,label\nn0,n1,1\nn0,n4,0\n")
    (made / "template.txt").write_text(sentences[2])
    return made


LOOSE = ("docs.jsonl", "--on-bad", "skip", "-t", "0.3", "--shingle", "word:2")
ANSWERS = {
    "find": [
        ("find", *LOOSE, "--for", "essays"),
        ("find", *LOOSE, "--top", "1", "-o", "p.csv", "--audit", "5"),
        ("find", *LOOSE, "--exact"),
        ("find", *LOOSE, "--measure", "containment", "--verify", "text", "-o", "c.jsonl"),
        ("find", *LOOSE, "--candidates-by", "word:3@0.2"),
        ("find", *LOOSE, "--against", "some.csv"),
        ("find", *LOOSE, "--dry-run"),
        ("find", "labels.csv", "--text", "id_a", "--id", "id_b"),
    ],
    "dedup": [
        ("dedup", *LOOSE, "-o", "d.jsonl", "--removed", "r.csv"),
        ("dedup", *LOOSE, "--dry-run", "--show", "2"),
        ("dedup", *LOOSE, "-o", "e.jsonl", "--passages", "first", "--min-chars", "30", "--cuts", "cuts.csv"),
        ("dedup", *LOOSE[:3], "-o", "f.jsonl", "--protect", "some.csv", "--overlap", "word:3:0.5"),
        ("dedup", *LOOSE, "--annotate", "-o", "g.jsonl"),
    ],
    "audit": [("audit", *LOOSE), ("audit", *LOOSE, "--candidates-by", "word:3@0.2")],
    "plan": [
        ("plan", *LOOSE),
        ("plan", "-t", "0.5"),
        ("plan", "-t", "0.5", "--for", "web"),
    ],
    "passages": [
        ("passages", *LOOSE[:3], "--min-chars", "30", "-o", "s.csv"),
        ("passages", *LOOSE[:3], "--min-words", "5", "--cut", "first", "-o", "h.jsonl", "--second-pass"),
        ("passages", *LOOSE[:3], "--min-words", "5", "--gaps", "3", "-o", "i.csv"),
        ("passages", *LOOSE[:3], "--min-words", "5", "--against", "some.csv", "-o", "j.csv"),
        ("passages", *LOOSE[:3], "--unit", "line", "--span", "1", "-o", "k.csv"),
        ("passages", *LOOSE[:3], "--min-words", "5", "--group-by", "column:site", "--min-share", "0.1", "-o", "l.csv"),
        ("passages", *LOOSE[:3], "--min-words", "5", "--ignore", "template.txt", "-o", "o.csv"),
        ("passages", *LOOSE[:3], "--min-words", "5", "--report", "page.html"),
        ("passages", *LOOSE[:3], "--preset", "c4-lines", "-o", "m.jsonl"),
    ],
    "compare": [("compare", "n0", "n1", "--in", "some.csv"), ("compare", "template.txt", "template.txt")],
    "explain": [
        ("explain", "one two three", "two three four", "--shingle", "word:1", "--slots", "4"),
        ("explain", "--set", "1,2,3", "--set", "2,3,4", "--permutation", "4,3,2,1"),
    ],
    "tune": [
        ("tune", "docs.jsonl", "--on-bad", "skip", "-o", "t.toml", "--budget", "0"),
        ("tune", "docs.jsonl", "--on-bad", "skip", "-o", "u.toml", "--labels", "labels.csv"),
    ],
    "index create": [("index", "create", "a.index"), ("index", "create", "b.index", "--for", "essays")],
    "index build": [("index", "build", "c.index", *LOOSE), ("index", "build", "d.index", "some.csv")],
    "index add": [
        ("index", "add", "c.index", "some.csv", "--on-duplicate", "replace"),
        ("index", "add", "d.index", *LOOSE[:3], "--if-new", "-o", "n.csv", "--on-duplicate", "skip"),
    ],
    "index query": [
        ("index", "query", "c.index", "some.csv", "-o", "q.csv"),
        ("index", "query", "c.index", "some.csv", "-o", "v.csv", "--measure", "containment"),
    ],
    "index pairs": [
        ("index", "pairs", "c.index", "--top", "1", "-o", "z.csv"),
        ("index", "pairs", "c.index", "-o", "w.csv"),
    ],
    "index dedup-stream": [("index", "dedup-stream", "a.index", "docs.jsonl", "--on-bad", "skip", "-o", "x.jsonl")],
    "index remove": [
        ("index", "remove", "c.index", "n0", "zz", "--missing", "skip"),
        ("index", "remove", "c.index", "--older-than", "1d"),
        ("index", "remove", "c.index", "--older-than", "1d", "--dry-run"),
    ],
    "index merge": [("index", "merge", "e.index", "f.index")],
    "index info": [("index", "info", "c.index")],
    "index statistics": [("index", "statistics", "c.index")],
    "index verify": [("index", "verify", "c.index")],
    "index compact": [("index", "compact", "c.index")],
    "index backup": [("index", "backup", "c.index", "g.index")],
}
"""Of each command runs whose answers differ in what they have. They are done one after the other, in one folder."""


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    return [
        f"{list(each.absolute_path)}: {each.message[:300]}" for each in Draft202012Validator(schema).iter_errors(value)
    ]


def test_every_command_with_json_has_a_schema_and_its_answers_here() -> None:
    with_json = {
        " ".join(words) for words, command in COMMANDS.items() if any(p.name == "json" for p in command.params)
    }
    assert with_json == set(SCHEMAS) == set(ANSWERS)


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


@pytest.mark.parametrize("name", [*SCHEMAS, "spec"])
def test_each_schema_is_one_and_leaves_no_object_open(name: str) -> None:
    schema = spec_schema() if name == "spec" else SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    is_open = [each for each in objects(schema) if "additionalProperties" not in each]
    assert not is_open


@pytest.mark.slow
def test_real_answers_are_valid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name in ("e.index", "f.index"):
        assert run("index", "create", name).exit_code == 0
    wrong = {}
    for name, runs in ANSWERS.items():
        for words in runs:
            done = run(*words, "--json")
            try:
                answer = json.loads(done.stdout)
            except ValueError:
                wrong[" ".join(words)] = [done.stderr[-600:]]
                continue
            if found := faults(SCHEMAS[name], answer):
                wrong[" ".join(words)] = found
            assert faults(SCHEMAS[name], {**answer, "more": 1})
            assert faults(SCHEMAS[name], dict(list(answer.items())[1:]))
    assert not wrong, json.dumps(wrong, indent=1)
    specs = sorted(folder.glob("*.spec.json"))
    assert len(specs) > 5
    for path in specs:
        assert not faults(spec_schema(), json.loads(path.read_text())), path.name
