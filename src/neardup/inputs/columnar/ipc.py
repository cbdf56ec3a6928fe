"""Arrow files (Feather too) and streams, message by message: what a batch unpacks to is known before it is unpacked.

The buffers of a batch may be compressed, each with a number before it that says how much it unpacks to, which is what
pyarrow allocates. A batch that is too large to be held is passed over, with its rows counted.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

from neardup.errors import InputError
from neardup.inputs.addresses import is_remote
from neardup.inputs.columnar import flatbuffers
from neardup.inputs.columnar.arrow_columns import Chosen, choose_columns
from neardup.inputs.columnar.source import Batches, ColumnarFile, explained
from neardup.inputs.columns import ReadColumns
from neardup.inputs.formats import stored_codec
from neardup.inputs.packed import Borrowed
from neardup.inputs.source import RecordLimit, Task, TooLarge, TooLargeRows
from neardup.inputs.stream import open_whole

_FILE_MAGIC = b"ARROW1"
_FEATHER_V1_MAGIC = b"FEA1"
_DICTIONARY, _RECORDS = 2, 3
_CONTINUED = 0xFFFFFFFF
_LOOKED_AT = 1 << 12
"""Bytes after the end of a stream that must be zeros. A stream that was appended begins there."""
_WITH_THREE = (
    *(pat.is_string, pat.is_binary, pat.is_large_string, pat.is_large_binary),
    *(pat.is_list_view, pat.is_large_list_view),
)


class IpcSource(ColumnarFile):
    """One Arrow IPC file (Feather too) or stream, mapped into memory."""

    format = "arrow"

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text, without a copy where the file is not compressed."""
        with explained(self.name, "Arrow"):
            opened, rest = self._opened()
            with opened as file:
                schema, is_file = self._schema(file)
                data = file.read_buffer()
                chosen = choose_columns(schema, self._options, self.name)
                self.columns, self.names = chosen.columns(schema.names, self.name), schema.names
                how: dict[str, Any] = {"is_file": is_file, "part": self.part}
                batches = ipc_batches(data, self.name, schema, chosen, self._options.limit, **how)
                yield from self.cut(batches, chosen.alone(), rest=rest, first_row=self.first_row)

    def pieces(self) -> list[tuple[int, int]]:
        """Bytes and rows of each batch of a file; none of a stream, whose batches follow each other."""
        if not self.is_plain:
            return []
        with explained(self.name, "Arrow"), self._opened()[0] as file:
            schema, is_file = self._schema(file)
            data = file.read_buffer()
            choose_columns(schema, self._options, self.name)
            messages = messages_of(data, is_file=True, schema=schema, columns=[]) if is_file else []
            return [(message.end - message.start, message.rows) for message in messages if message.is_records]

    def look(self) -> ReadColumns | None:
        with explained(self.name, "Arrow"), self._looked_at() as file:
            schema, _ = self._schema(file)
            return choose_columns(schema, self._options, self.name).columns(schema.names, self.name)

    def _opened(self) -> tuple[Any, Callable[[], None] | None]:
        """The bytes as a pyarrow file, and how to let go of its pages where it is mapped."""
        unpacked = self.unpacked()
        if unpacked is not None:
            return unpacked, None
        if self.total_bytes == 0:
            raise InputError(f"{self.name} is empty (0 bytes), so it is no Arrow file. Write it again.")
        return map_file(self.name)

    def _looked_at(self) -> Any:
        """As a pyarrow file, of which little is read."""
        if self._stream is None and stored_codec(self.name) is None and is_remote(self.name):
            from neardup.inputs.remote import ArrowFile

            return ArrowFile(self.name)
        return self._opened()[0]

    def _schema(self, file: Any) -> tuple[Any, bool]:
        """Read the schema, and whether it is that of a file and not of a stream; then go back to the beginning."""
        magic = file.read_at(len(_FILE_MAGIC), 0)
        file.seek(0)
        if magic.startswith(_FEATHER_V1_MAGIC):
            raise InputError(
                f"{self.name} is a Feather file of version 1, which current libraries no longer write. "
                "Write it again as Feather version 2 or Parquet."
            )
        is_file = magic == _FILE_MAGIC
        schema = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).schema
        file.seek(0)
        return schema, is_file


def ipc_batches(
    data: Any, name: str, schema: Any, chosen: Chosen, limit: RecordLimit, *, is_file: bool, part: range | None = None
) -> Batches:
    """Yield the chosen columns of an Arrow file or stream, batch by batch, in the order of the schema.

    ``data``: pyarrow buffer of all of it; ``part``: the batches of a file that are wanted alone. Raises ArrowException
    when it is damaged, TooLarge when a dictionary cannot be held, InputError when a stream has no end marker.
    """
    columns = chosen.places
    messages = messages_of(data, is_file=is_file, schema=schema, columns=columns, part=part)
    if not is_file:
        _check_end(data, name)
    check_messages([message for message in messages if not message.is_records], name, limit, limit.whole)
    records = [message for message in messages if message.is_records]
    doomed = [message for message in records if message.unpacked > limit.whole]
    options = pa.ipc.IpcReadOptions(included_fields=columns)
    file = pa.BufferReader(data) if is_file or not doomed else _without(data, doomed)
    reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file, options=options)
    told = 0
    for i, message in enumerate(records, start=0 if part is None else part.start):
        if is_file:  # of one that is no stream the order is the footer's
            count = reader.num_record_batches
            consumed = len(data) * (i + 1) // count - len(data) * i // count
        else:
            told, consumed = message.end, message.end - told
        if message.unpacked > limit.whole:
            yield TooLargeRows(message.rows, "the batch", message.unpacked), consumed
        else:
            yield reader.get_batch(i) if is_file else reader.read_next_batch(), consumed


def map_file(path: str) -> tuple[pa.BufferReader, Callable[[], None]]:
    """Map a file that is not empty, so that columns are read without a copy.

    A page of a mapped file counts as memory of the process as long as it stays mapped, which would break a memory
    limit. So beside the pyarrow file this gives a function that lets go of all pages; what is still looked at is read
    again.
    """
    with open_whole(path) as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def rest() -> None:
        if hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)

    return pa.BufferReader(pa.py_buffer(mapped)), rest


@dataclass(frozen=True, slots=True)
class Message:
    """A dictionary or a batch of records."""

    is_records: bool
    start: int
    end: int
    """Where its bytes begin and end in the file."""
    rows: int
    unpacked: int
    """Bytes that its compressed buffers unpack to, those of the columns asked for."""


def messages_of(
    data: Any, *, is_file: bool, schema: Any, columns: Sequence[int], part: range | None = None
) -> list[Message]:
    """The dictionaries and batches of an Arrow file or stream, a file's in the order that its footer gives.

    ``data``: pyarrow buffer of all of it. ``columns``: places of those that are read. ``part``: the batches of a file
    that are wanted beside the dictionaries; None: all. Raises ArrowInvalid for damage.
    """
    try:
        places = _of_footer(data, part) if is_file else _of_stream(data)
        return [found for found in (_message(data, *place, schema, columns) for place in places) if found is not None]
    except (struct.error, IndexError) as exc:
        raise pa.ArrowInvalid(f"a message is damaged ({exc})") from exc


def _without(data: Any, messages: Sequence[Message]) -> Any:
    """A stream as a pyarrow file that lacks some of its messages."""
    pieces = []
    at = 0
    for message in messages:
        pieces.append(data[at : message.start])
        at = message.end
    return pa.PythonFile(_Joined([*pieces, data[at:]]), mode="r")


def check_messages(messages: Sequence[Message], name: str, limit: RecordLimit, most: int) -> None:
    """Raise TooLarge when one of ``messages``, which are all needed, unpacks to more than ``most`` bytes."""
    for message in messages:
        if message.unpacked > most:
            what = "a batch" if message.is_records else "a dictionary of a column"
            raise TooLarge(name, *limit.refusal(what, message.unpacked, most=most))


class _Joined(Borrowed):
    """Buffers one after the other as a file."""

    def __init__(self, pieces: list[Any]) -> None:
        super().__init__(None)
        self._pieces = pieces

    def read(self, size: int = -1) -> bytes:
        found = []
        while self._pieces and size:
            piece = self._pieces[0]
            taken = len(piece) if size < 0 else min(size, len(piece))
            found.append(piece[:taken].to_pybytes())
            self._pieces[0] = piece[taken:]
            if taken == len(piece):
                del self._pieces[0]
            size -= taken if size > 0 else 0
        return b"".join(found)


def _check_end(data: Any, name: str) -> None:
    """Raise InputError if a stream has no end marker. The format allows that, but a cut stream looks like it too."""
    *_, (_, _, end) = _of_stream(data)
    if end == len(data):
        raise InputError(
            f"{name} is an Arrow stream without an end marker, so batches may be missing. Write it again and close the "
            r"writer. If you know that it is whole, add the marker: printf '\377\377\377\377\0\0\0\0' >> FILE"
        )


def _of_stream(data: Any) -> Iterator[tuple[int, int, int]]:
    """Start, begin of the body and end of each message."""
    at = 0
    while at < len(data):
        marker, head = data[at : at + 4].to_pybytes(), 4
        if marker == _CONTINUED.to_bytes(4, "little"):
            marker, head = data[at + 4 : at + 8].to_pybytes(), 8
        (size,) = struct.unpack("<i", marker)
        if size == 0:
            if data[at + head : at + head + _LOOKED_AT].to_pybytes().strip(b"\0"):
                raise IndexError("more follows the end of the stream")
            return
        body = at + head + size
        metadata = data[at + head : body].to_pybytes()
        end = body + flatbuffers.scalar(metadata, flatbuffers.root(metadata), 3, "q")
        if end < body:
            raise IndexError("its size is negative")
        yield at, body, end
        at = end


def _of_footer(data: Any, part: range | None) -> Iterator[tuple[int, int, int]]:
    size = struct.unpack("<i", data[len(data) - 10 : len(data) - 6].to_pybytes())[0]
    footer = data[len(data) - 10 - size : len(data) - 10].to_pybytes()
    at = flatbuffers.root(footer)
    batches = flatbuffers.structs(footer, at, 3, "qi4xq")
    if part is not None:
        batches = batches[part.start : part.stop]
    for start, head, body in [*flatbuffers.structs(footer, at, 2, "qi4xq"), *batches]:
        yield start, start + head, start + head + body


def _message(data: Any, start: int, body: int, end: int, schema: Any, columns: Sequence[int]) -> Message | None:
    if not 0 <= start < body <= end <= len(data):
        raise IndexError("it lies outside of the file")
    raw = data[start:body].to_pybytes()
    metadata = raw[8:] if struct.unpack_from("<I", raw)[0] == _CONTINUED else raw[4:]
    at = flatbuffers.root(metadata)
    kind = flatbuffers.scalar(metadata, at, 1, "B")
    if kind not in (_DICTIONARY, _RECORDS):
        return None
    batch = flatbuffers.table(metadata, at, 2)
    if kind == _DICTIONARY:
        batch = flatbuffers.table(metadata, batch, 1)
    rows = flatbuffers.scalar(metadata, batch, 0, "q")
    unpacked = 0
    if flatbuffers.table(metadata, batch, 3):
        buffers = flatbuffers.structs(metadata, batch, 2, "qq")
        if kind == _RECORDS:
            counts = iter([count for (count,) in flatbuffers.structs(metadata, batch, 4, "q")])
            sizes = [_buffers(each.type, counts) for each in schema]
            first = [sum(sizes[:i]) for i in range(len(sizes))]
            buffers = [each for i in columns for each in buffers[first[i] : first[i] + sizes[i]]]
        unpacked = sum(_unpacked(data, body + place, size) for place, size in buffers)
    return Message(kind == _RECORDS, start, end, rows, unpacked)


def _unpacked(data: Any, at: int, size: int) -> int:
    # -1: it is not compressed, and lies in the file as it is
    return 0 if size < 8 else max(0, int(struct.unpack("<q", data[at : at + 8].to_pybytes())[0]))


def _buffers(type_: Any, counts: Iterator[int]) -> int:
    """How many buffers a column of a type has in a batch; ``counts``: the further ones of each view in it."""
    if isinstance(type_, pa.BaseExtensionType):
        return _buffers(type_.storage_type, counts)
    if pat.is_null(type_) or pat.is_run_end_encoded(type_):
        inner = [type_.run_end_type, type_.value_type] if pat.is_run_end_encoded(type_) else []
        return sum(_buffers(each, counts) for each in inner)
    if pat.is_dictionary(type_):
        return 2
    if pat.is_string_view(type_) or pat.is_binary_view(type_):
        return 2 + next(counts, 0)
    own = 2
    if any(is_kind(type_) for is_kind in _WITH_THREE):
        own = 3
    elif pat.is_fixed_size_list(type_) or pat.is_struct(type_):
        own = 1
    elif pat.is_union(type_):
        own = 1 if type_.mode == "sparse" else 2
    return own + sum(_buffers(type_.field(i).type, counts) for i in range(type_.num_fields))
