"""The command that makes a release: what it writes, when it refuses, and that a failure changes nothing."""

from __future__ import annotations

import datetime
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import neardup

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
DAY = datetime.date(2030, 1, 2)
LOG = """# Changes

What a user sees.

## Unreleased

- Something new.

## 0.1.0

The first version.
"""


@pytest.fixture
def tool() -> ModuleType:
    described = importlib.util.spec_from_file_location("neardup_release", ROOT / ".ci" / "release.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path, tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the files that a release writes, from which archives are not really built."""
    place = tmp_path / "checkout"
    for name in (tool.VERSION_FILE, tool.CITATION, tool.RECIPE, *tool.GENERATED):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, place / name)
    (place / tool.VERSION_FILE).write_text('__version__ = "0.1.0"\n', encoding="utf-8")
    (place / tool.GENERATED[0]).write_text("__version__ = '0.1.0'\n", encoding="utf-8")
    (place / tool.CHANGELOG).write_text(LOG, encoding="utf-8")
    git(place, "init", "--quiet")
    git(place, "config", "user.email", "test@example.org")
    git(place, "config", "user.name", "A test")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "-m", "first")
    monkeypatch.setattr(tool, "ROOT", place)
    monkeypatch.setattr(tool.run, "__defaults__", None)
    monkeypatch.setattr(tool.run, "__kwdefaults__", {"cwd": place})
    return place


Releasing = Callable[..., list[str]]


@pytest.fixture
def releasing(tool: ModuleType, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Releasing:
    """Make a release whose archives are empty files; returns what was said and done."""
    done: list[str] = []

    def build(dist: Path) -> tuple[Path, Path]:
        native, plain = dist / "neardup-0.2.0-cp311-abi3-x.whl", dist / "neardup-0.2.0-py3-none-any.whl"
        for path in (native, plain, dist / "neardup-0.2.0.tar.gz"):
            path.write_bytes(b"")
        done.append((checkout / tool.VERSION_FILE).read_text(encoding="utf-8").strip())
        return native, plain

    def tried(wheel: Path, program: str, version: str) -> None:
        done.append(f"tried {wheel.name} of {version}")

    monkeypatch.setattr(tool, "build", build)
    monkeypatch.setattr(tool, "check_built", lambda dist: done.append("checked"))
    monkeypatch.setattr(tool, "try_installed", tried)
    monkeypatch.setattr(tool, "pythons", lambda named: {"3.11": "a", "3.13": "b"})

    def run(version: str = "0.2.0", *, commit: bool = True, dist: Path = tmp_path / "dist") -> list[str]:
        tool.release(version, DAY, dist, [], commit=commit, say=done.append)
        return done

    return run


def test_a_release_has_its_number_everywhere_and_is_committed_and_tagged(
    releasing: Releasing, checkout: Path, tool: ModuleType
) -> None:
    done = releasing()
    assert done[0] == "Python 3.11, 3.13; not tried: 3.12, 3.14"
    assert done[2:4] == ['__version__ = "0.2.0"', "checked"]
    tried = [each for each in done if each.startswith("tried ")]
    native = "cp311-abi3-x"
    assert tried == [f"tried neardup-0.2.0-{name}.whl of 0.2.0" for name in (native, native, "py3-none-any")]
    log = (checkout / tool.CHANGELOG).read_text(encoding="utf-8")
    assert log == LOG.replace("## Unreleased\n", "## Unreleased\n\n## 0.2.0 - 2030-01-02\n")
    cited = yaml.safe_load((checkout / tool.CITATION).read_text(encoding="utf-8"))
    assert (cited["version"], cited["date-released"]) == ("0.2.0", "2030-01-02")
    assert yaml.safe_load((checkout / tool.RECIPE).read_text(encoding="utf-8"))["context"]["version"] == "0.2.0"
    assert (checkout / tool.GENERATED[0]).read_text(encoding="utf-8") == "__version__ = '0.2.0'\n"
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "log", "--format=%s", "-1").strip() == "Release 0.2.0"
    assert git(checkout, "tag", "--points-at", "HEAD").strip() == "v0.2.0"
    assert git(checkout, "cat-file", "-t", "v0.2.0").strip() == "tag"


def test_a_trial_leaves_archives_and_nothing_else(releasing: Releasing, checkout: Path, tmp_path: Path) -> None:
    releasing(commit=False)
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "log", "--format=%s").split() == ["first"]
    assert git(checkout, "tag") == ""
    assert len(list((tmp_path / "dist").iterdir())) == 3


@pytest.mark.parametrize("step", ["build", "check_built", "try_installed", "commit", "tag"])
def test_a_step_that_fails_leaves_the_checkout_as_it_was(
    step: str,
    releasing: Releasing,
    checkout: Path,
    tool: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> None:
        raise tool.ReleaseError("the disk is full")

    if step == "commit":
        (checkout / ".git" / "hooks").mkdir(exist_ok=True)
        hook = checkout / ".git" / "hooks" / "pre-commit"
        hook.write_text("#!/bin/sh\necho the disk is full; exit 1\n", encoding="utf-8")
        hook.chmod(0o755)
    elif step == "tag":
        program = tmp_path / "gpg"
        program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        program.chmod(0o755)
        git(checkout, "config", "tag.gpgSign", "true")
        git(checkout, "config", "gpg.program", str(program))
    else:
        monkeypatch.setattr(tool, step, fails)
    with pytest.raises(tool.ReleaseError, match=r"the disk is full|sign the data"):
        releasing()
    assert git(checkout, "log", "--format=%s").split() == ["first"]
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "tag") == ""
    assert list((tmp_path / "dist").iterdir()) == [], "or the next run would refuse it"


@pytest.mark.parametrize(
    ("version", "words"),
    [("0.2", "three numbers"), ("v0.2.0", "three numbers"), ("0.1.0", "does not follow"), ("0.0.9", "does not follow")],
)
def test_a_number_that_does_not_follow_is_refused(version: str, words: str, releasing: Releasing) -> None:
    with pytest.raises(Exception, match=words):
        releasing(version)


def test_changes_that_are_not_committed_are_refused(releasing: Releasing, checkout: Path) -> None:
    (checkout / "new.py").write_text("", encoding="utf-8")
    with pytest.raises(Exception, match=r"the checkout has changes:\n\?\? new.py"):
        releasing()


def test_a_tag_that_is_there_is_refused(releasing: Releasing, checkout: Path) -> None:
    git(checkout, "tag", "v0.2.0")
    with pytest.raises(Exception, match="is there already"):
        releasing()


def test_a_folder_with_other_archives_is_refused(releasing: Releasing, tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "neardup-0.1.0.tar.gz").write_bytes(b"")
    with pytest.raises(Exception, match="is not empty"):
        releasing()


@pytest.mark.parametrize(
    ("log", "words"), [("# Changes\n", "no heading"), (LOG.replace("- Something new.\n", ""), "says of no change")]
)
def test_a_changelog_without_changes_is_refused(log: str, words: str, tool: ModuleType) -> None:
    with pytest.raises(tool.ReleaseError, match=words):
        tool.with_release(log, "0.2.0", DAY)


def test_the_command_says_why_there_is_no_release(
    tool: ModuleType, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(["0.1.0"]) == 1
    assert capsys.readouterr().err.startswith("no release: 0.1.0 does not follow 0.1.0")


def test_the_number_is_the_same_in_every_file(tool: ModuleType) -> None:
    cited = yaml.safe_load((ROOT / tool.CITATION).read_text(encoding="utf-8"))
    recipe = yaml.safe_load((ROOT / tool.RECIPE).read_text(encoding="utf-8"))
    assert {str(cited["version"]), recipe["context"]["version"]} == {neardup.__version__}
    assert datetime.date.fromisoformat(cited["date-released"])


def test_this_changelog_takes_a_release(tool: ModuleType) -> None:
    text = (ROOT / tool.CHANGELOG).read_text(encoding="utf-8")
    if re.search(r"^## Unreleased\n\n- ", text, re.MULTILINE):
        assert "## Unreleased\n\n## 9.9.9 - 2030-01-02\n\n- " in tool.with_release(text, "9.9.9", DAY)


def test_the_recipe_asks_for_what_the_package_asks_for(tool: ModuleType) -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {each.partition(";")[0].strip() for each in project["dependencies"] if "python_version" not in each}
    recipe = yaml.safe_load((ROOT / tool.RECIPE).read_text(encoding="utf-8"))
    held = {each.replace(" ", "") for each in recipe["requirements"]["run"] if not each.startswith("python ")}
    assert held == asked
