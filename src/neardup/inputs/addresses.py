"""Paths that lead nowhere, and addresses of other machines: what to say of them, before anything large is loaded.

An address such as ``s3://bucket/data.jsonl`` is not read; it is said how to fetch what is there.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from neardup.errors import InputError, did_you_mean
from neardup.shown import shown_path

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]{1,11}):/{1,3}(?=[^/])(.*)", re.IGNORECASE | re.DOTALL)
"""A path of pathlib has one slash where two were typed. One letter before the colon is a drive of Windows."""
_COPY = {
    ("s3", "s3a", "s3n"): "aws s3 cp --recursive s3://{rest} FOLDER",
    ("gs", "gcs"): "gcloud storage cp -r gs://{rest} FOLDER",
    ("http", "https", "ftp", "ftps"): "curl -LO {address}",
    ("hf",): "hf download --repo-type dataset {rest} --local-dir FOLDER",
    ("az", "abfs", "abfss", "adl", "wasb", "wasbs"): "azcopy copy --recursive ADDRESS FOLDER",
    ("hdfs",): "hdfs dfs -get {address} FOLDER",
    ("sftp", "scp", "ssh"): "scp -r HOST:PATH FOLDER",
    ("r2", "b2", "oss", "cos", "obs", "swift", "gdrive", "webdav", "dropbox"): "rclone copy ADDRESS FOLDER",
}
_FILE = "file"
GLOB_CHARACTERS = frozenset("*?[")
_CURES = {scheme: cure for schemes, cure in _COPY.items() for scheme in schemes}


def address_of(path: str) -> str | None:
    """The address that was typed, where a path is one and no file of this machine."""
    found = _ADDRESS.fullmatch(path)
    return f"{found[1].lower()}://{found[2]}" if found and found[1].lower() in (*_CURES, _FILE) else None


def check_address(path: str) -> None:
    """Raise InputError where a path is an address that cannot be read as a file of this machine."""
    address = address_of(path)
    if address is None:
        return
    scheme, _, rest = address.partition("://")
    if scheme == _FILE:
        raise InputError(f"{address} is an address. Give the path by itself: /{rest.lstrip('/')}.")
    rest = rest.removeprefix("datasets/") if scheme == "hf" else rest
    raise InputError(
        f"{address} is an address, and neardup reads files of this machine. Fetch what is there first, such as with "
        f"{_CURES[scheme].format(rest=rest, address=address)}; then give the files or the folder."
    )


def check_there(path: str) -> None:
    """Raise InputError where a path of an input is an address, or names nothing and is no pattern."""
    if os.path.lexists(path) or path == "-":
        return
    check_address(path)
    if not any(character in path for character in GLOB_CHARACTERS):
        raise InputError(f"{shown_path(path)} does not exist.{near_files(path)}")


def near_files(name: str) -> str:
    """What to do about a file that is not there, for the end of a message."""
    parent = Path(name).parent
    try:
        return did_you_mean(Path(name).name, os.listdir(parent)) or " Check the path."
    except OSError:
        return f" There is no folder {parent} either. Check the path."
