"""Object stores, HDFS and what else has addresses: each as a file system of pyarrow, and its faults in words.

pyarrow has clients of its own for S3, Google Cloud Storage, Azure and HDFS; fsspec is asked for all others. Credentials
and settings come from the variables and files that the clients read, never from an address. What is read and written
there is in ``remote`` and in ``outputs.uploads``.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from neardup.errors import MissingDependency, NeardupError
from neardup.inputs.addresses import BY_FSSPEC, check_address, check_parts, scheme_of, settings_of
from neardup.shown import first_line

_OBJECTS = ("s3", "gs")
_GIVES_UP = "?retry_limit_seconds=30"
"""Of Google Cloud Storage: its client tries for a quarter of an hour else."""
SILENCE = 30.0
"""Seconds without a byte after which a request to S3 has failed. Each is made three times."""
_NAME = "Check its name."
_KINDS = (
    (r"NO_SUCH_BUCKET|[Bb]ucket '?\S* ?(not found|does not exist)", "there is no such bucket", _NAME),
    (
        r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|EXPIRED|UNRECOGNIZED_CLIENT|status:? 40[13]|[Cc]redential"
        r"|PERMISSION_DENIED|UNAUTHENTICATED|OAuth2|[Pp]ermission denied|Forbidden",
        "that is not allowed with the credentials at hand",
        "",
    ),
    (
        r"NETWORK_CONNECTION|REQUEST_TIMEOUT|curlCode|[Tt]imed? ?out|[Cc]onnect|resolve host|UNAVAILABLE|ENDPOINT",
        "the store does not answer",
        "Check the network; ",
    ),
    (r"SLOW_DOWN|THROTTL|status:? (429|503)", "the store asks for fewer requests", "Run again later; "),
)
"""What clients say, what it means, and a cure before the settings."""
_SPARE = re.compile(r"\. Detail: .*| \(Request ID: [^)]*\)")
"""The parts of such a message that help nobody."""


@dataclass(frozen=True, slots=True)
class Store:
    """One bucket, or one server."""

    files: Any
    """A pyarrow FileSystem."""
    base: str
    """What it calls the place that addresses begin at."""
    appears_closed: bool
    """Whether an object is seen only when all of it is there: it then needs no other name while it is written."""

    def path(self, address: str) -> str:
        """Return what the file system calls the thing at an address. Raises InputError as ``check_parts``."""
        check_parts(address)
        name = address.partition("://")[2].partition("/")[2]
        return f"{self.base.rstrip('/')}/{name}" if name else self.base


_stores: dict[str, Store] = {}
_lock = threading.Lock()


def store_of(address: str) -> Store:
    """The store of an address, reached once for all of the same bucket or server.

    Raises:
        MissingDependency: a library is not there, with what to install.
        OSError, pyarrow.ArrowException: it cannot be reached; ``explained`` tells of that.
    """
    scheme, _, rest = address.partition("://")
    root = f"{scheme}://{rest.partition('/')[0]}"
    with _lock:
        if root not in _stores:
            check_address(address)
            _stores[root] = _by_fsspec(root) if scheme in BY_FSSPEC else _by_arrow(root)
        return _stores[root]


def _by_arrow(root: str) -> Store:
    scheme = scheme_of(root)
    files, base = pafs.FileSystem.from_uri(root + _GIVES_UP if scheme == "gs" else root)
    if scheme == "s3":  # which was asked in which region the bucket is, and would wait without end
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        files = pafs.S3FileSystem(region=files.region or None, endpoint_override=endpoint, request_timeout=SILENCE)
    return Store(files, base, scheme in _OBJECTS)


def _by_fsspec(root: str) -> Store:
    scheme = scheme_of(root)
    if find_spec("fsspec") is None:
        raise MissingDependency(f"{root}: addresses of {scheme} need fsspec: pip install 'neardup[remote]'")
    import fsspec

    try:
        files, base = fsspec.core.url_to_fs(f"{root}/")
    except ImportError as exc:  # it says what to install for this scheme
        raise MissingDependency(
            f"{root}: addresses of {scheme} need a library beside fsspec. {first_line(exc)}"
        ) from exc
    except ValueError as exc:
        raise OSError(first_line(exc)) from exc
    return Store(pafs.PyFileSystem(pafs.FSSpecHandler(files)), base, False)


@contextmanager
def explained(address: str, what: str, error: Callable[[str], NeardupError]) -> Iterator[None]:
    """Turn what a client says into ``error``, called with the fact and the cure; ``what`` is as "cannot be read"."""
    try:
        yield
    except (NeardupError, MemoryError):
        raise
    except Exception as exc:  # a client of fsspec raises what it likes
        raise error(told(address, what, exc)) from exc


def told(address: str, what: str, exc: BaseException) -> str:
    """The fact and the cure, for what a client has raised."""
    if isinstance(exc, FileNotFoundError):
        return f"{address} does not exist. Check the bucket and the name."
    said = _SPARE.sub("", first_line(exc)).rstrip(". ")
    if isinstance(exc, pa.ArrowInvalid) and "Empty path component" in said:
        return f"{address} has two slashes in a row, and such a name cannot be reached. Copy it to another."
    if "libhdfs" in said or "libjvm" in said:
        return (
            f"{address} {what}: {said}. HDFS needs Java and the native library of Hadoop, which are found by "
            f"{settings_of(address)}."
        )
    denied = _KINDS[1] if isinstance(exc, PermissionError) else None
    found = denied or next((kind for kind in _KINDS if re.search(kind[0], said)), None)
    if found is not None:
        _, meaning, cure = found
        return f"{address} {what}: {meaning} ({said}). {cure}{_given(address, cure)}"
    return f"{address} {what}: {said}. {_given(address, '')}"


def _given(address: str, cure: str) -> str:
    if cure == _NAME:
        return ""
    begin = "how" if cure else "How"
    return f"{begin} it is reached is told by {settings_of(address)}."
