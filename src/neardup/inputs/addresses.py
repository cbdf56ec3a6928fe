"""Addresses such as ``s3://bucket/data.jsonl``: which are read and written, which are not, and what to do then.

Nothing is loaded or asked for here: ``stores`` reaches what is at an address. What is behind the bucket is a name as it
is, and never decoded: a ``%`` is a ``%``. A file of this machine that is called like an address is a file. Beside it,
what to say of paths that lead nowhere.
"""

from __future__ import annotations

import os
import posixpath
import re
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from neardup.errors import InputError, did_you_mean
from neardup.shown import shown_path

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]{1,11}):/{1,3}(?=[^/])(.*)", re.IGNORECASE | re.DOTALL)
"""A path of pathlib has one slash where two were typed. One letter before the colon is a drive of Windows."""
BY_ARROW = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfs"} | {
    scheme: scheme for scheme in ("hdfs", "viewfs")
}
"""Schemes that pyarrow reaches, and what they are called here."""
_SERVERS = frozenset({"hdfs", "viewfs", "sftp", "smb", "webhdfs"})
"""Schemes of servers with folders: capitals in the name of the server and doubled slashes make no difference."""
_DOTS = re.compile(r"(^|/)\.\.?(/|$)")
BY_FSSPEC = frozenset(
    {
        *("adl", "az", "box", "dbfs", "dropbox", "gdrive", "lakefs", "memory", "oci", "oss", "sftp", "smb", "ssh"),
        *("tos", "webdav", "webhdfs"),
    }
)
"""Schemes that fsspec reaches, most with a further library."""
_COPY = {
    ("http", "https", "ftp", "ftps"): "curl -LO {address}",
    ("hf",): "hf download --repo-type dataset {rest} --local-dir FOLDER",
    ("wasb", "wasbs"): "azcopy copy --recursive ADDRESS FOLDER",
    ("scp",): "scp -r HOST:PATH FOLDER",
    ("r2", "b2", "cos", "obs", "swift"): "rclone copy ADDRESS FOLDER",
}
_FILE = "file"
_HAS_DRIVES = os.name == "nt"
_DRIVE = re.compile(r"/[A-Za-z]:(/|$)")
_SETTINGS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL, or by "
    "~/.aws/config and ~/.aws/credentials (AWS_PROFILE)",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or by gcloud auth application-default login",
    "abfs": "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or by az login",
    "hdfs": "HADOOP_HOME, JAVA_HOME, CLASSPATH, ARROW_LIBHDFS_DIR and HADOOP_CONF_DIR",
}
GLOB_CHARACTERS = frozenset("*?[")
_CURES = {scheme: cure for schemes, cure in _COPY.items() for scheme in schemes}
_KNOWN = frozenset({*BY_ARROW, *BY_FSSPEC, *_CURES, _FILE})
_OPTIONS = re.compile(r"\?[A-Za-z_][\w.-]*=.*", re.DOTALL)


def address_of(path: str) -> str | None:
    """Return the one form of the address that was typed, or None if a path is not an address but a local file.

    Two addresses of one object are equal: see also ``check_parts``.
    """
    found = _ADDRESS.fullmatch(path) if ":/" in path else None  # asked of each of a million files
    if found is None or (scheme := found[1].lower()) not in _KNOWN or os.path.lexists(path):
        return None
    scheme = "sftp" if scheme == "ssh" else BY_ARROW.get(scheme, scheme)
    rest = found[2] if scheme == _FILE else found[2].rstrip("/")
    if scheme in _SERVERS:
        server, slash, name = re.sub("/+", "/", rest).partition("/")
        user, at, host = server.rpartition("@")
        rest = f"{user}{at}{host.lower()}{slash}{name}"
    return f"{scheme}://{rest}"


def is_remote(path: str) -> bool:
    """Whether a path is the address of something that is read or written where it is, by its scheme."""
    address = address_of(path)
    return address is not None and is_reached(address) and scheme_of(address) != _FILE


def is_reached(address: str) -> bool:
    """Whether an address is of a kind that is read and written, by its scheme."""
    return scheme_of(address) not in _CURES


def place_of(path: str) -> str:
    """The address that a path is, the path that an address ``file:///path`` stands for, or the path as it is.

    Raises InputError for an address that is neither read nor written, or has a password or options in it.
    """
    address = address_of(path)
    if address is None:
        return path
    if scheme_of(address) == _FILE:
        local = "/" + address.partition("://")[2].removeprefix("localhost/").lstrip("/")
        if _HAS_DRIVES and _DRIVE.match(local):
            local = local[1:]  # file:///C:/data is C:/data
        return local if os.path.lexists(local) else unquote(local)
    check_address(address)
    return address


def scheme_of(address: str) -> str:
    """Such as "s3"."""
    return address.partition("://")[0]


def settings_of(address: str) -> str:
    """Which variables and files say how to reach a store, for the end of a message."""
    scheme = scheme_of(address)
    scheme = "hdfs" if scheme == "viewfs" else scheme
    return _SETTINGS.get(scheme, "the variables and files that its library for fsspec reads")


def check_address(path: str) -> None:
    """Raise InputError where a path is an address that is not read or written, or says what no address should."""
    address = address_of(path)
    if address is None:
        return
    scheme, _, rest = address.partition("://")
    host, slash, name = rest.partition("/")
    user, at, server = host.rpartition("@")
    if scheme in _CURES:
        rest = rest.removeprefix("datasets/") if scheme == "hf" else rest
        raise InputError(
            f"{address} is an address that is not reached from here. Fetch what is there first, such as with "
            f"{_CURES[scheme].format(rest=rest, address=address)}; then give the files or the folder."
        )
    if at and (scheme == "s3" or ":" in user):
        raise InputError(
            f"{scheme}://…@{server}{slash}{_OPTIONS.sub('', name)} has a key or a password in it, and none is read "
            f"from an address. Leave it out; it is given by {settings_of(address)}."
        )
    if scheme != _FILE and (found := _OPTIONS.search(rest)) is not None:
        raise InputError(
            f"{scheme}://{rest[: found.start()]} is followed by options, which are read from no address. Leave out "
            f"what begins with '?'; options are given by {settings_of(address)}. If the name has a '?', write [?]."
        )
    if scheme != _FILE:
        check_parts(address)
    if not host and scheme not in ("hdfs", "memory", "viewfs", _FILE):
        raise InputError(f"{address} names no bucket. Write {scheme}://BUCKET/NAME.")


def check_parts(address: str) -> None:
    """Raise InputError if ``.`` or ``..`` is a part of an address, since clients take them out or resolve them."""
    if _DOTS.search(address.partition("://")[2]) is not None:
        raise InputError(
            f"{shown_path(address)} has '.' or '..' between slashes, which leads to another name. Write the address "
            "without them. An object with such a part in its own name must be copied to another name."
        )


def joined(folder: str, name: str) -> str:
    """A name in a folder, which may be at an address."""
    return f"{folder.rstrip('/')}/{name}" if is_remote(folder) else os.path.join(folder, name)


def real_place(path: str | os.PathLike[str]) -> str:
    """Return the same for all ways to one file: its path without links, or its address in its one form."""
    name = place_of(os.fspath(path))
    return name if is_remote(name) else os.path.realpath(name)


def as_path(path: str) -> str:
    """An absolute path to compare with others by its parts; that of an address begins with its scheme and bucket."""
    if not is_remote(path):
        return os.path.abspath(path)
    scheme, _, rest = place_of(path).partition("://")
    return posixpath.normpath(f"/{scheme}:/{rest}")


def fits(parts: list[str], wanted: list[str]) -> bool:
    """Return whether a name fits a pattern, both cut at their slashes; ``**`` stands for any folders or none.

    A hidden name fits only a part that begins with a dot too.
    """
    if not parts or not wanted:
        return not parts and not wanted
    is_shown = not parts[0].startswith(".")
    if wanted[0] == "**":
        return fits(parts, wanted[1:]) or (is_shown and fits(parts[1:], wanted))
    return (is_shown or wanted[0].startswith(".")) and fnmatchcase(parts[0], wanted[0]) and fits(parts[1:], wanted[1:])


def check_there(path: str) -> None:
    """Raise InputError where an input is an address that cannot be read, or names nothing and is no pattern."""
    if os.path.lexists(path) or path == "-" or is_remote(path := place_of(path)):
        return
    if not os.path.lexists(path) and not any(character in path for character in GLOB_CHARACTERS):
        raise InputError(f"{shown_path(path)} does not exist.{near_files(path)}")


def near_files(name: str) -> str:
    """What to do about a file that is not there, for the end of a message."""
    parent = Path(name).parent
    try:
        return did_you_mean(Path(name).name, os.listdir(parent)) or " Check the path."
    except OSError:
        return f" There is no folder {parent} either. Check the path."
