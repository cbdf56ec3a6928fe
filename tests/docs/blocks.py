"""The fenced blocks of a Markdown page, and how each kind is run.

``console`` blocks hold shell commands after ``$``; the lines below a command are its stdout (with
``console all`` its stderr too), in which ``…`` stands for anything, and on a line of its own for any lines.
``python`` blocks run as they are, or as doctests when they begin with ``>>>``. ``toml`` blocks are written to the file
that their first line, a comment, names. Other kinds are not run.

``console spark`` and ``python spark`` blocks need PySpark and Java, and run with a session of two cores.

``console checkout`` blocks hold the commands of a developer in a checkout. They are not run: they set up environments,
publish, or would run this very test again. ``test_development`` looks whether what they call is there.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import warm

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_SET_UP = re.compile(r"\bpip install [^&|;]*(&&\s*)?")
_DOCTEST = (
    "import doctest, sys\n"
    "flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE\n"
    "test = doctest.DocTestParser().get_doctest(sys.stdin.read(), {}, sys.argv[1], sys.argv[1], 0)\n"
    "sys.exit(doctest.DocTestRunner(optionflags=flags).run(test).failed)\n"
)
NOT_RUN_HERE = ("pytest", ".ci/run")
"""Commands that would run this very test again."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its page and line, the words after the fence, and its text."""

    page: str
    line: int
    info: tuple[str, ...]
    body: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a console block and the output that the page shows for it."""

    text: str
    shown: str


def blocks_of(page: Path, root: Path) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page.relative_to(root).as_posix(),
            text.count("\n", 0, match.start()) + 1,
            tuple(match["info"].split()),
            match["body"],
        )
        for match in _FENCE.finditer(text)
    ]


def commands_of(block: Block) -> Iterator[Command]:
    """Yield the commands of a console block; a line that ends in a backslash goes on in the next one."""
    joined = block.body.replace("\\\n", "")
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        text, _, shown = part.partition("\n")
        yield Command(_SET_UP.sub("", text).strip(), shown)


def matches(shown: str, printed: str) -> bool:
    """Whether the output that a page shows is what was printed."""
    pattern = "".join(
        r"(?:[^\n]*\n)*" if line.strip() == "…" else re.escape(line).replace("…", "[^\n]*") + "\n"
        for line in shown.rstrip("\n").split("\n")
    )
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def is_of_checkout(block: Block) -> bool:
    """Whether the commands of a block are a developer's."""
    return block.info == ("console", "checkout")


def run_block(block: Block, folder: Path, env: Mapping[str, str]) -> None:
    """Run a block in ``folder``; fail with the transcript when it fails or prints something else."""
    if is_of_checkout(block):
        return
    if block.info[:1] == ("console",):
        for command in commands_of(block):
            _run_command(block, command, folder, env)
    elif block.info[:1] == ("toml",):
        name, _, _ = block.body.partition("\n")
        (folder / name.removeprefix("# ")).write_text(block.body, encoding="utf-8")
    elif block.info[:1] == ("python",):
        is_doctest = block.body.startswith(">>>")
        source = ["-c", _DOCTEST, str(block)] if is_doctest else ["-c", block.body]
        body = block.body if is_doctest else ""
        done = warm.run(source, cwd=folder, env=dict(env), input=body, encoding="utf-8")
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"


def _run_command(block: Block, command: Command, folder: Path, env: Mapping[str, str]) -> None:
    if not command.text or command.text.split()[0] in NOT_RUN_HERE:
        return
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.text],
        cwd=folder, env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=warm.LIMIT,
    )  # fmt: skip
    printed = done.stdout + done.stderr if "all" in block.info else done.stdout
    transcript = f"{block}\n$ {command.text}\n{done.stdout}{done.stderr}"
    assert done.returncode in (0, 141), transcript  # 141: a program before `head` in the pipe, told to stop
    assert not command.shown.strip() or matches(command.shown, printed), f"{transcript}\nshown:\n{command.shown}"
