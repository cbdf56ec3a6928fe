"""``python -m docs.site [FOLDER] [--versions TAG...]``: build the site, check it, and say where it is."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from docs.site import checking, notebooks, python_pages, results, sources
from sphinx.cmd.build import build_main

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
VERSIONS = "versions.js"
"""What the switcher of versions reads: JSON in a script, for a page that is opened from the disk may fetch no file."""


class SiteError(Exception):
    """The site cannot be built, and why."""


def build(folder: Path, root: Path = ROOT) -> list[str]:
    """Build the site of a checkout into ``folder``, whose files are replaced; return what is wrong with it."""
    make_room(folder)
    with tempfile.TemporaryDirectory() as work:
        stage = Path(work) / "pages"
        sources.collect(root, stage)
        results.split_results(stage)
        python_pages.write_pages(stage / "reference")
        notebooks.write_notebooks(stage / "tutorial")
        options = ["-b", "html", "-c", str(HERE), "-d", str(Path(work) / "doctrees"), "-W", "--keep-going", "-n", "-q"]
        if build_main([*options, str(stage), str(folder)]) != 0:
            return ["Sphinx gave warnings, which are errors here; they stand above"]
    return checking.faults_of(folder)


def make_room(folder: Path) -> None:
    """Remove an earlier site, and leave a file that says that this is one.

    Raises:
        SiteError: the folder holds something else, which is not removed.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / VERSIONS).exists():
        raise SiteError(f"{folder} holds files that are not a site. Name another folder, or empty it.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_versions(folder, [""], "")


def build_version(tag: str, folder: Path) -> None:
    """Build the site of a tag by the tag's own ``docs.site``.

    Raises:
        SiteError: there is no such tag, or it has no site, or it fails.
    """
    with tempfile.TemporaryDirectory() as work:
        archive = subprocess.run(["git", "-C", ROOT, "archive", tag], capture_output=True)
        if archive.returncode != 0:
            raise SiteError(f"git has no files of {tag!r}: {archive.stderr.decode().strip()}")
        subprocess.run(["tar", "-x", "-C", work], input=archive.stdout, check=True)
        if not (Path(work) / "docs" / "site").exists():
            raise SiteError(f"{tag} is older than the site: it has no docs/site. Leave it out of --versions.")
        env = {**os.environ, "PYTHONPATH": str(Path(work) / "src")}
        done = subprocess.run([sys.executable, "-m", "docs.site", folder.resolve()], cwd=work, env=env)
        if done.returncode != 0:
            raise SiteError(f"the site of {tag} could not be built; see above.")


def write_versions(folder: Path, names: Sequence[str], current: str) -> None:
    """Write the list of versions that the switcher of one version reads; the name of this checkout is ``""``."""
    up = "../" if current else ""
    listed = [
        {
            "name": name or "development",
            "path": "" if name == current else f"{up}{name}/" if name else up,
            "current": name == current,
        }
        for name in names
    ]
    (folder / VERSIONS).write_text(f"window.neardupVersions = {json.dumps(listed)};\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description="Build the site of the documentation.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/site"), help="where to [build/site]")
    parser.add_argument("--versions", metavar="TAG", nargs="+", default=[], help="also the sites of these tags, in it")
    chosen = parser.parse_args(arguments)
    try:
        faults = build(chosen.folder)
        for tag in chosen.versions:
            build_version(tag, chosen.folder / tag)
    except (SiteError, results.NoSuchTable) as error:
        faults = [str(error)]
    if faults:
        print(*faults, f"{len(faults)} faults", sep="\n", file=sys.stderr)
        return 1
    for name in (names := ["", *chosen.versions]):
        write_versions(chosen.folder / name, names, name)
    print(f"{chosen.folder / 'index.html'}: {len(list(chosen.folder.rglob('*.html')))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
