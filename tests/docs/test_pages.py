"""Every command and code block of README.md and docs/ runs, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import warm
from tests.docs.blocks import Block, blocks_of, commands_of, matches, run_block
from tests.remote.stores import running_store
from tests.spark.session import missing, submitting

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"])
_FILL = """
import sys
from pyarrow import fs
store, _ = fs.FileSystem.from_uri("s3://corpus?allow_bucket_creation=true")
store.create_dir("corpus")
lines = open(sys.argv[1], "rb").readlines()
for name, some in (("a", lines[::2]), ("b", lines[1::2])):
    with store.open_output_stream(f"corpus/raw/{name}.jsonl") as out:
        out.write(b"".join(some))
"""
KINDS = {"console", "python", "text", "json", "csv", "toml", "yaml"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a copy of examples/, as the commands of the pages expect."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.fixture
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment with a ``neardup`` that is the one under test, and a terminal of known width."""
    tools = tmp_path_factory.mktemp("bin")
    warm.shell_commands(tools)
    return {**warm.environment(), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def store() -> Iterator[dict[str, str]]:
    """The variables by which a store is reached, which has the bucket that the page reads and writes."""
    with running_store() as found:
        filled = {**warm.environment(), **found, "PATH": os.environ["PATH"]}
        done = warm.run(["-c", _FILL, str(ROOT / "examples" / "abstracts.jsonl")], env=filled, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        yield found


def is_run_as_notebook(page: Path) -> bool:
    """Whether test_notebooks runs all blocks of a page, and compares what they print: a tutorial of commands alone."""
    return page.parent.name == "tutorial" and all(block.info[:1] != ("python",) for block in blocks_of(page, ROOT))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if not is_run_as_notebook(page)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_the_blocks_of_a_page_run(
    page: Path, folder: Path, env: dict[str, str], request: pytest.FixtureRequest
) -> None:
    if page.name == "object-stores.md":
        env |= request.getfixturevalue("store")
    for block in blocks_of(page, ROOT):
        assert block.info[:1], f"{block}: a block without a kind"
        assert block.info[0] in KINDS, f"{block}: a kind of block that is not run: {block.info[0]}"
        if "spark" in block.info and (why := missing()) is not None:
            pytest.skip(f"{block}: {why}")
        run_block(block, folder, {**env, **submitting()} if "spark" in block.info else env)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    missing = [target for target in targets if target and "://" not in target and not (page.parent / target).exists()]
    assert missing == []


def test_the_readme_sets_everything_up_with_two_commands() -> None:
    commands = [
        line.removeprefix("$ ")
        for block in blocks_of(ROOT / "README.md", ROOT)
        if block.info[:1] == ("console",)
        for line in block.body.splitlines()
        if "pip install" in line
    ]
    assert commands == [
        "pip install . && neardup find examples/abstracts.jsonl -t 0.8",
        "pip install '.[test]' && pytest",
    ]


def test_a_false_output_is_noticed() -> None:
    assert matches("a…c\n…\nz\n", "abc\n1\n2\nz\n")
    assert not matches("a\nz\n", "a\nb\nz\n")
    assert not matches("a\n", "a\nb\n")


def test_set_up_is_left_out_of_what_is_run() -> None:
    block = Block("x.md", 1, ("console",), "$ pip install . && neardup find x \\\n  -t 0.8\n$ pip install 'a[b]'\n")
    assert [command.text for command in commands_of(block)] == ["neardup find x   -t 0.8", ""]
