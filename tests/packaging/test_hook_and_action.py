"""The pre-commit hook and the action for GitHub, which hold other people's documents against copies of themselves."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import warm

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
TEXT = "The ferry crosses the river at eight, at noon and at six, but for Sundays, when nobody is there to cross it."


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """A repository with two documents that are alike, one of them in a folder, and one that is not."""
    place = tmp_path / "repository"
    (place / "docs").mkdir(parents=True)
    (place / "docs" / "ferry.md").write_text(TEXT, encoding="utf-8")
    (place / "old.md").write_text(TEXT.replace("noon", "two"), encoding="utf-8")
    (place / "docs" / "mill.md").write_text("Nobody has ground corn here since the mill burnt down.", encoding="utf-8")
    return place


def hook() -> dict[str, Any]:
    (only,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return dict(only)


def run_hook(folder: Path, args: list[str]) -> subprocess.CompletedProcess[str]:
    """As pre-commit calls it: the words of the entry, then the arguments, and no names of files."""
    program, *words = shlex.split(hook()["entry"])
    assert program == "neardup"
    return warm.run(["-m", "neardup", *words, *args], cwd=folder, encoding="utf-8")


def test_the_hook_lists_documents_that_are_alike_and_fails(documents: Path) -> None:
    done = run_hook(documents, [*hook()["args"][:-1], "0.7"])
    assert (done.returncode, done.stderr) == (3, "")
    assert re.search(r"^\./docs/ferry\.md +\./old\.md +0\.[789]", done.stdout, re.MULTILINE)
    assert "mill.md" not in done.stdout


def test_the_hook_passes_where_nothing_is_alike(documents: Path) -> None:
    (documents / "old.md").unlink()
    done = run_hook(documents, hook()["args"])
    assert (done.returncode, done.stderr) == (0, "")


def test_the_hook_takes_inputs_and_options_in_place_of_its_own(documents: Path) -> None:
    assert run_hook(documents, ["docs", "--glob", "*.md", "-t", "0.7"]).returncode == 0


def test_the_hook_reads_all_documents_whatever_is_committed() -> None:
    assert hook()["pass_filenames"] is False


@pytest.fixture
def act(tmp_path: Path, documents: Path) -> Callable[..., tuple[subprocess.CompletedProcess[str], str, str]]:
    """Do the step of the action that compares; returns how it ended, its outputs and the summary of the job."""
    tools = tmp_path / "bin"
    tools.mkdir()
    warm.shell_commands(tools)

    def run(**given: str) -> tuple[subprocess.CompletedProcess[str], str, str]:
        output, summary = tmp_path / "output", tmp_path / "summary"
        for path in (output, summary):
            path.write_text("", encoding="utf-8")
        inputs = {name.upper(): str(each["default"]) for name, each in action()["inputs"].items()}
        told = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
        path = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", str(ROOT / ".ci" / "action")],
            cwd=documents,
            env={**warm.environment(), **inputs, **given, **told, **path},
            capture_output=True,
            text=True,
            timeout=warm.LIMIT,
            check=False,
        )
        return done, output.read_text(encoding="utf-8"), summary.read_text(encoding="utf-8")

    return run


def action() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8")))


def test_the_action_tells_the_job_its_summary_and_its_output(act: Any) -> None:
    done, output, summary = act(THRESHOLD="0.7")
    assert done.returncode == 3, done.stderr
    assert output == "pairs=1\n"
    assert '"./docs/ferry.md"' in summary
    assert done.stdout.splitlines()[-1] == "::error::1 pairs of documents are near-duplicates"


def test_the_action_may_list_and_let_the_job_pass(act: Any) -> None:
    done, output, _ = act(THRESHOLD="0.7", FAIL="false")
    assert (done.returncode, output) == (0, "pairs=1\n")


def test_the_action_passes_where_nothing_is_alike(act: Any) -> None:
    done, output, summary = act(INPUTS="docs\n\n", OPTIONS="--glob *.md")
    assert (done.returncode, output, done.stdout) == (0, "pairs=0\n", ""), done.stderr
    assert summary == "### Near-duplicate documents: 0 pairs\n"


@pytest.mark.parametrize(
    ("given", "code"), [({"INPUTS": "absent"}, 1), ({"OPTIONS": "--no-such"}, 2), ({"FAIL": "no"}, 2)]
)
def test_the_action_fails_by_another_code_when_it_cannot_compare(act: Any, given: dict[str, str], code: int) -> None:
    done, output, _ = act(**given)
    assert (done.returncode, output) == (code, "")
    assert "::error::" in done.stdout


def test_names_of_files_cannot_give_commands_to_the_log(act: Any, documents: Path) -> None:
    (documents / "a\n::error::not so\n```.md").write_text(TEXT, encoding="utf-8")
    done, output, summary = act(THRESHOLD="0.7")
    assert output == "pairs=3\n"
    assert [line for line in done.stdout.splitlines() if line.startswith("::")] == [
        "::error::3 pairs of documents are near-duplicates"
    ]
    assert summary.count("\n```") == 2


def test_options_give_the_list_of_pairs_no_other_form(act: Any, documents: Path) -> None:
    """One pair a line is counted, and lines of CSV would begin with a name."""
    (documents / "::error::not so.md").write_text(TEXT, encoding="utf-8")
    done, output, _ = act(THRESHOLD="0.7", OPTIONS="--format csv -o pairs.csv")
    assert output == "pairs=3\n"
    assert [line for line in done.stdout.splitlines() if line.startswith("::")] == [
        "::error::3 pairs of documents are near-duplicates"
    ]
    assert not (documents / "pairs.csv").exists()


def test_every_input_reaches_the_step_by_the_environment() -> None:
    step = action()["runs"]["steps"][-1]
    for name in action()["inputs"]:
        assert step["env"][name.upper()] == f"${{{{ inputs.{name} }}}}"
    assert "${{" not in step["run"]


def test_the_page_names_the_inputs_and_the_hook() -> None:
    page = (ROOT / "docs" / "howto" / "ci.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (configured,) = yaml.safe_load(blocks[0])["repos"][0]["hooks"]
    assert configured["id"] == hook()["id"]
    step = yaml.safe_load(blocks[1])["jobs"]["copies"]["steps"][-1]
    assert set(step["with"]) <= set(action()["inputs"])
    rows = re.findall(r"^\| `(\w+)` \|.*\|([^|]+)\|$", page, re.MULTILINE)
    assert {name for name, _ in rows} == set(action()["inputs"])
    for name, default in rows:
        assert default.strip() == (
            f"`{action()['inputs'][name]['default']}`" if action()["inputs"][name]["default"] else "none"
        )


def test_folders_of_the_runner_are_those_that_its_shell_knows() -> None:
    """In a container the expressions have the paths outside of it, and on Windows a colon, which cuts the PATH."""
    steps = [step for step in action()["runs"]["steps"] if "run" in step]
    assert "github.action_path" not in str(steps)
    paths = [line for step in steps for line in step["run"].splitlines() if line.lstrip().startswith("PATH=")]
    assert len(paths) == 1
    assert "RUNNER_TEMP" not in paths[0]


def test_the_step_that_compares_finds_neardup(tmp_path: Path) -> None:
    for name, said in (("temp/neardup/bin/neardup", "installed"), ("action/.ci/action", "called $(neardup)")):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(f'#!/bin/sh\necho "{said}"\n', encoding="utf-8")
        path.chmod(0o755)
    step = action()["runs"]["steps"][-1]["run"]
    env = {**os.environ, "RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_ACTION_PATH": str(tmp_path / "action")}
    done = subprocess.run(["bash", "-e", "-c", step], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "called installed\n"


@pytest.mark.parametrize("name", ["ci", "release"])
def test_what_a_step_of_a_workflow_refuses_ends_it(name: str) -> None:
    """``set -e`` lets ``! command`` fail."""
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    runs = [step.get("run", "") for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    assert any(runs)
    assert not re.search(r"^\s*! ", "\n".join(runs), re.MULTILINE)
