"""A collection large enough to be killed over, and the command run on it in a process of its own."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tests import warm

MEGABYTE = 1_000_000


def write_collection(folder: Path, megabytes: float, *, seed: int) -> list[Path]:
    """Two JSONL files of random words, a third of the documents copies or near-copies of others in either file."""
    rng = random.Random(seed)
    words = [f"{number:x}" for number in range(0x1000, 0x2000)]
    originals: list[str] = []
    paths = [folder / "a.jsonl", folder / "b.jsonl"]
    number = 0
    for path in paths:
        size = 0
        with path.open("w", encoding="ascii") as out:
            while size < megabytes * MEGABYTE / 2:
                if originals and rng.random() < 0.35:
                    body = _edited(rng, rng.choice(originals), words)
                else:
                    body = " ".join(rng.choices(words, k=rng.randint(20, 300)))
                    originals.append(body)
                number += 1
                size += out.write(json.dumps({"id": f"d{number}", "text": body, "stars": rng.randint(1, 5)}) + "\n")
    return paths


def _edited(rng: random.Random, body: str, words: list[str]) -> str:
    """A copy with none to three words changed."""
    parts = body.split()
    for _ in range(rng.randint(0, 3)):
        parts[rng.randrange(len(parts))] = rng.choice(words)
    return " ".join(parts)


def fails(folder: Path, *args: str) -> str:
    """Run the command in ``folder``, which must end with exit code 1; what it said on stderr."""
    done = warm.run(["-m", "neardup", *args], cwd=folder, encoding="utf-8")
    assert done.returncode == 1, done.stderr
    return str(done.stderr)


def finish(folder: Path, *args: str) -> str:
    """Run the command to its end, which must be a good one; what it said on stderr."""
    done = warm.run(["-m", "neardup", *args], cwd=folder, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return str(done.stderr)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder``, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
