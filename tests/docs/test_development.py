"""What CONTRIBUTING.md and docs/development/ name is there: files, modules, rooms, commands, steps of .ci/run."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.docs.blocks import blocks_of, commands_of, is_of_checkout

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "neardup"
CI = ROOT / ".ci" / "run"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
ARCHITECTURE = ROOT / "docs" / "development" / "architecture.md"
PAGES = [CONTRIBUTING, *sorted((ROOT / "docs" / "development").glob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
MADE = ("dist/", "build/")
"""What a command on these pages makes."""


def names_on(page: Path) -> list[str]:
    """What a page writes as code in its text and drawings, and looks like a file or a folder."""
    text = page.read_text("utf-8")
    drawn = [name for block in blocks_of(page, ROOT) if block.info == ("text",) for name in block.body.split()]
    written = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    looks_like_a_path = re.compile(r"\.?[\w-]+(/[\w.-]*)+|[\w-]+\.(py|md|toml|yml|yaml)")
    return [name for name in [*drawn, *written] if looks_like_a_path.fullmatch(name) and not name.startswith(MADE)]


def is_there(name: str) -> bool:
    return any((base / name).is_dir() if name.endswith("/") else (base / name).exists() for base in (ROOT, SOURCE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_folders_that_a_page_names_are_there(page: Path) -> None:
    names = names_on(page)
    assert len(names) > 5
    assert [name for name in names if not is_there(name)] == []


def test_a_file_that_is_not_there_is_noticed() -> None:
    assert not is_there("engine/no_such_module.py")
    assert not is_there("session.py/")


def test_every_room_of_the_source_is_in_the_drawing() -> None:
    (drawing,) = [block.body.split() for block in blocks_of(ARCHITECTURE, ROOT) if block.info == ("text",)]
    rooms = {f"{path.parent.name}/" for path in SOURCE.glob("*/__init__.py")}
    small = {"demo/"}  # a collection, no code of its own
    assert rooms - small - set(drawing) == set()


def test_the_drawing_has_the_layers_from_the_top_down() -> None:
    layers = next(each["layers"] for each in PROJECT["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    (drawing,) = [block.body for block in blocks_of(ARCHITECTURE, ROOT) if block.info == ("text",)]
    lines = []
    for layer in layers:
        for module in layer.split("|"):
            name = module.strip(" ()").removeprefix("neardup.")
            drawn = f"{name}/" if (SOURCE / name).is_dir() else f"{name}.py"
            where = [number for number, line in enumerate(drawing.splitlines()) if drawn in line.split()]
            assert where, f"{drawn} is not in the drawing"
            lines.append(where[0])
    assert lines == sorted(lines)


def steps() -> dict[str, bool]:
    """The steps that ``.ci/run --list`` names, and whether each runs only when it is asked for."""
    listed = subprocess.run([CI, "--list"], capture_output=True, text=True, timeout=60, check=True).stdout
    found = re.findall(r"^(?:steps:)? +(\[?)([a-z]+)\]? +\S", listed.partition("\nsteps:")[2], re.MULTILINE)
    return {name: bool(bracket) for bracket, name in found}


def test_the_list_of_steps_has_every_step() -> None:
    script = CI.read_text("utf-8")
    listed = steps()
    assert set(listed) == set(re.findall(r"^step_(\w+)\(\)", script, re.MULTILINE))
    for array, is_asked_for in (("all", False), ("on_request", True)):
        (names,) = re.findall(rf"^{array}=\((.*)\)$", script, re.MULTILINE)
        assert names.split() == [name for name, bracket in listed.items() if bracket is is_asked_for]


def test_a_step_that_is_not_there_is_a_usage_error() -> None:
    done = subprocess.run([CI, "lint", "no-such"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("there is no step no-such\n")
    assert not done.stdout


def _fault(words: list[str]) -> str | None:
    """What of a command on a page is not there; the program itself is one of these."""
    match words:
        case [".ci/run", *named]:
            missing = [name for name in named if name not in steps()]
        case ["python", "-m", module, *_]:
            tools = [re.split("[><=]", need)[0] for need in PROJECT["project"]["optional-dependencies"]["dev"]]
            missing = [module] if module not in tools and importlib.util.find_spec(module) is None else []
        case ["python", script, *_] if script.endswith(".py"):
            missing = [] if is_there(script) else [script]
        case ["pytest", *more]:
            files = [word for word in more if "/" in word]
            marks = {mark.partition(":")[0] for mark in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}
            asked = re.findall(r"\w+", " ".join(more[more.index("-m") + 1 :])) if "-m" in more else []
            missing = [name for name in files if not is_there(name)]
            missing += [word for word in asked if word not in marks | {"not", "and"}]
        case ["pip", "install", "-e", extra]:
            wanted = extra.partition("[")[2].rstrip("]")
            missing = [] if wanted in PROJECT["project"]["optional-dependencies"] else [extra]
        case ["ruff" | "mypy" | "lint-imports" | "check-jsonschema" | "zizmor" as program, *arguments]:
            said = " ".join([program, *(word for word in arguments if "/" not in word and word != ".")])
            plain = re.sub(r" --output-format concise|'", "", CI.read_text("utf-8"))
            missing = [] if said in plain else [said]
        case ["pre-commit", "install"] | ["pre-commit", "run", "--all-files"]:
            missing = []
        case ["git", "tag" | "push", *_] | ["twine", "check" | "upload", *_] | [".", ".venv/bin/activate"]:
            missing = []
        case _:
            missing = [" ".join(words)]
    return ", ".join(missing) or None


def test_what_the_commands_of_a_developer_call_is_there() -> None:
    lines = [
        line.removeprefix("$ ")
        for page in PAGES
        for block in blocks_of(page, ROOT)
        if is_of_checkout(block)
        for line in block.body.splitlines()
    ]
    assert len(lines) > 15
    commands = [shlex.split(part) for line in lines for part in line.split("&&")]
    assert {shlex.join(words): _fault(words) for words in commands if _fault(words)} == {}


def test_commands_of_a_checkout_are_the_only_ones_that_are_not_run() -> None:
    for page in PAGES:
        for block in blocks_of(page, ROOT):
            assert block.info[:1] != ("console",) or is_of_checkout(block) or list(commands_of(block)), str(block)


def test_the_workflow_and_the_hooks_call_what_is_there() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    called = {name for line in re.findall(r"run: \.ci/run (.+)", workflow) for name in line.split()}
    assert called == set(steps())
    hooks = re.findall(r"entry: (\S+)", (ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert {"ruff", "mypy", "lint-imports"} <= set(hooks)
    for python in ("3.11", "3.12", "3.13", "3.14"):
        assert workflow.count(f'"{python}"') >= 2
