"""Makes a release of a clean checkout: ``python .ci/release.py 0.2.0``. docs/development/releasing.md is about it.

It writes the number and the date where they stand, builds the source archive and out of that a wheel for this platform
and one for all others, checks them, installs the first into a new environment of each Python at hand and uses it there,
commits, and tags. What fails leaves the checkout as it was. Nothing is pushed or uploaded.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Those that pyproject.toml and CI are for."""
MANYLINUX = "manylinux_2_28_x86_64"
"""What a wheel of Linux may be used on, for the index of packages: its library needs the C library alone."""
VERSION_FILE, CHANGELOG, CITATION = "src/neardup/_version.py", "CHANGELOG.md", "CITATION.cff"
RECIPE = "recipe/recipe.yaml"
GENERATED = ("docs/reference/api.md", "tests/golden/snapshots/public_names.txt")
"""What is made by a program and has the version as the value of a name; the tests hold it against the program."""
_NUMBER = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_UNRELEASED = "## Unreleased\n"


class ReleaseError(Exception):
    """Why there is no release: the fact, then the cure."""


# ---- what is written


def with_version(text: str, version: str) -> str:
    """``_version.py`` of a version."""
    return _replaced(text, r'^__version__ = "[^"]*"$', f'__version__ = "{version}"', VERSION_FILE)


def with_release(text: str, version: str, date: datetime.date) -> str:
    """A changelog whose changes became those of a version, below a new heading for what comes next."""
    before, heading, after = text.partition(_UNRELEASED)
    changes = re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)[0]
    if not heading:
        raise ReleaseError(f"{CHANGELOG} has no heading {_UNRELEASED.strip()!r}. Add it above the last version.")
    if not re.search(r"^- ", changes, re.MULTILINE):
        raise ReleaseError(f"{CHANGELOG} says of no change under {_UNRELEASED.strip()!r}. Say what a user sees.")
    return f"{before}{_UNRELEASED}\n## {version} - {date.isoformat()}\n{after}"


def with_citation(text: str, version: str, date: datetime.date) -> str:
    """A CITATION.cff of a version."""
    text = _replaced(text, r"^version: .*$", f"version: {version}", CITATION)
    return _replaced(text, r"^date-released: .*$", f'date-released: "{date.isoformat()}"', CITATION)


def with_recipe(text: str, version: str) -> str:
    """The recipe for conda of a version, whose checksum is known when its tag was handed out."""
    text = _replaced(text, r'^  version: ".*"$', f'  version: "{version}"', RECIPE)
    return _replaced(text, r'^  sha256: ".*"$', f'  sha256: "{"0" * 64}"', RECIPE)


def _replaced(text: str, pattern: str, by: str, name: str) -> str:
    changed, count = re.subn(pattern, by, text, flags=re.MULTILINE)
    if count != 1:
        raise ReleaseError(f"{name} has {count} lines of the form {pattern} and should have one. Mend it by hand.")
    return changed


def check_number(version: str, current: str) -> None:
    """Raise ReleaseError unless ``version`` follows ``current``."""
    new, old = _NUMBER.fullmatch(version), _NUMBER.fullmatch(current)
    if new is None:
        raise ReleaseError(f"{version} is no version. Give three numbers, such as 0.2.0.")
    if old is not None and tuple(map(int, new.groups())) <= tuple(map(int, old.groups())):
        raise ReleaseError(f"{version} does not follow {current}, the version that is there. Give a higher one.")


# ---- what is run


def run(*words: str | Path, cwd: Path = ROOT, **more: str) -> str:
    """Run a program to its end; its stdout. ReleaseError with what it said where it fails. ``more``: environment."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=cwd, env={**environment, **more}, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-30:])
        raise ReleaseError(f"{' '.join(command)} failed ({done.returncode}):\n{said}")
    return done.stdout


def check_checkout(version: str) -> None:
    """Raise ReleaseError unless the checkout is clean and the tag is free."""
    changed = run("git", "status", "--porcelain").strip()
    if changed:
        raise ReleaseError(f"the checkout has changes:\n{changed}\nCommit them, or put them aside with git stash -u.")
    if run("git", "tag", "--list", f"v{version}").strip():
        raise ReleaseError(f"the tag v{version} is there already. A version is never changed: give the next number.")


def pythons(named: Sequence[str]) -> dict[str, str]:
    """Interpreters by their version, such as 3.12: those named, else those on the PATH and of pyenv."""
    found: dict[str, str] = {}
    shims = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin/python"))
    for each in named or [sys.executable, *(f"python{version}" for version in PYTHONS), *map(str, shims)]:
        program = shutil.which(each)
        if program is None:
            if named:
                raise ReleaseError(f"there is no program {each}. Name an interpreter of Python with --python.")
            continue
        asked = [program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False)
        version = told.stdout.strip()
        if told.returncode == 0 and version in PYTHONS:
            found.setdefault(version, program)
    return dict(sorted(found.items(), key=lambda item: PYTHONS.index(item[0])))


def build(dist: Path) -> tuple[Path, Path]:
    """Build the source archive, and out of it the wheel of this platform, and the one that has no machine code."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", dist, ROOT)
    (source,) = dist.glob("*.tar.gz")
    made = [_wheel(source, dist, NEARDUP_NATIVE=wanted) for wanted in ("1", "0")]
    return made[0], made[1]


def _wheel(source: Path, dist: Path, **environment: str) -> Path:
    """Build a wheel out of the source archive, as ``pip`` does it for a user."""
    with tempfile.TemporaryDirectory() as place:
        pip = _pip(Path(place), sys.executable)
        run(*pip, "wheel", "--no-deps", "--wheel-dir", place, source, cwd=Path(place), **environment)
        (made,) = Path(place).glob("neardup-*.whl")
        if made.name.endswith("-linux_x86_64.whl"):
            run(sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", MANYLINUX, made)
            (made,) = Path(place).glob("neardup-*.whl")
        return Path(shutil.move(made, dist / made.name))


def _pip(folder: Path, program: str) -> list[str]:
    """The words that call pip in a new environment of an interpreter."""
    run(program, "-m", "venv", folder / "env")
    return [str(_program(folder / "env", "python")), "-m", "pip", "--disable-pip-version-check", "--quiet"]


def _program(environment: Path, name: str) -> Path:
    return environment / ("Scripts" if os.name == "nt" else "bin") / name


def check_built(dist: Path) -> None:
    """Raise ReleaseError where the index of packages would refuse an archive, or a wheel holds what it should not."""
    archives = sorted(dist.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *archives)
    run(sys.executable, "-m", "check_wheel_contents", *(each for each in archives if each.suffix == ".whl"))


def try_installed(wheel: Path, program: str, version: str) -> None:
    """Install a wheel with nothing else into a new environment, and do there what a new user does."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        extra = "[compile]" if wheel.name.endswith("-any.whl") else ""
        run(*_pip(folder, program), "install", f"neardup{extra} @ {wheel.as_uri()}", cwd=folder)
        neardup = _program(folder / "env", "neardup")
        told = run(neardup, "--version", cwd=folder).split()
        if told != ["neardup", version]:
            raise ReleaseError(f"{wheel.name} says that it is {' '.join(told)} and not {version}.")
        pairs = run(neardup, "find", ROOT / "examples" / "abstracts.jsonl", "-t", "0.8", cwd=folder).splitlines()
        if len(pairs) != 106:
            raise ReleaseError(f"{wheel.name} finds {len(pairs)} pairs among the examples, which have 106.")
        run(neardup, "demo", "-o", folder / "demo", "--quiet", cwd=folder)
        if not (folder / "demo" / "report" / "index.html").is_file():
            raise ReleaseError(f"{wheel.name} writes no report of the demo.")


# ---- the order of events


def release(
    version: str, date: datetime.date, dist: Path, named: Sequence[str], *, commit: bool, say: Callable[[str], None]
) -> None:
    """Do all of it; without ``commit`` the files get back what was in them, and ``dist`` has the archives."""
    written = {name: ROOT / name for name in (VERSION_FILE, CHANGELOG, CITATION, RECIPE, *GENERATED)}
    check_checkout(version)
    before = {name: path.read_text(encoding="utf-8") for name, path in written.items()}
    current = re.findall(r'"(.*)"', before[VERSION_FILE])[0]
    check_number(version, current)
    if dist.exists() and any(dist.iterdir()):
        raise ReleaseError(f"{dist} is not empty, and everything in it would be uploaded. Empty it, or give --dist.")
    changed = {
        VERSION_FILE: with_version(before[VERSION_FILE], version),
        CHANGELOG: with_release(before[CHANGELOG], version, date),
        CITATION: with_citation(before[CITATION], version, date),
        RECIPE: with_recipe(before[RECIPE], version),
        **{name: before[name].replace(f"'{current}'", f"'{version}'") for name in GENERATED},
    }
    interpreters = pythons(named)
    missing = [each for each in PYTHONS if each not in interpreters]
    if not interpreters:
        raise ReleaseError(f"no Python of {', '.join(PYTHONS)} is at hand. Name one with --python.")
    say(f"Python {', '.join(interpreters)}" + (f"; not tried: {', '.join(missing)}" if missing else ""))
    is_done = False
    dist.mkdir(parents=True, exist_ok=True)
    try:
        for name, path in written.items():
            path.write_text(changed[name], encoding="utf-8", newline="\n")
        say("building the source archive and the wheels: some minutes")
        native, plain = build(dist)
        check_built(dist)
        for tag, wheel in [*((tag, native) for tag in interpreters), (next(iter(interpreters)), plain)]:
            say(f"trying {wheel.name} on Python {tag}")
            try_installed(wheel, interpreters[tag], version)
        if commit:
            run("git", "commit", "--quiet", "-m", f"Release {version}", "--", *written)
            try:
                run("git", "tag", "--annotate", f"v{version}", "-m", f"neardup {version}")
            except BaseException:
                run("git", "reset", "--quiet", "HEAD~1")  # the commit is ours, and nobody has it yet
                raise
            is_done = True
    except BaseException:
        for archive in dist.iterdir():
            archive.unlink()  # it was empty before
        raise
    finally:
        if not is_done:
            for name, path in written.items():
                path.write_text(before[name], encoding="utf-8", newline="\n")
    for archive in sorted(dist.iterdir()):
        say(f"{archive.stat().st_size / 1e6:8.1f} MB  {archive}")
    say(
        f"released {version} here: git push origin HEAD v{version} hands it out"
        if commit
        else "a trial: nothing was committed, and the files are as they were"
    )


def _say(text: str) -> None:
    print(text, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make a release of a clean checkout; nothing is pushed or uploaded.")
    parser.add_argument("version", help="the number of the release, such as 0.2.0")
    parser.add_argument("--date", type=datetime.date.fromisoformat, help="its date; default: today in UTC")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="empty folder for the archives; default: dist")
    parser.add_argument("--python", action="append", default=[], help="interpreter to try it on; default: all at hand")
    parser.add_argument("--trial", action="store_true", help="do everything but the commit and the tag")
    given = parser.parse_args(words)
    date = given.date or datetime.datetime.now(datetime.UTC).date()
    try:
        release(given.version, date, given.dist.resolve(), given.python, commit=not given.trial, say=_say)
    except ReleaseError as exc:
        print(f"no release: {exc}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
