"""Clean copies of Arrow IPC files (Feather too) and streams, batch by batch.

Kept: whether it is a file or a stream, the schema with its metadata, the batches' order and their metadata,
dictionaries (those that grow or are replaced in a stream too), and the compression of the buffers. A batch that
loses all its rows is left out; a batch much larger than the memory allowed becomes several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from neardup.inputs.blocks import read_all
from neardup.inputs.columnar import flatbuffers
from neardup.inputs.columnar.ipc import check_messages, map_file, messages_of
from neardup.inputs.columnar.source import explained
from neardup.inputs.formats import stored_codec
from neardup.inputs.source import RecordLimit
from neardup.inputs.stream import size_of
from neardup.outputs.sink import Sink
from neardup.tasks.rewrite.columnar import Editor, batch_slices, explained_each
from neardup.tasks.rewrite.model import Rewrite

_FILE_MAGIC = b"ARROW1"
_FILE_START = 8
"""Where the messages of a file begin: behind the magic and two bytes of padding."""
_RECORD_BATCH = "record batch"
_CODECS = ("lz4", "zstd")
"""In the order of the format's numbers for them."""


def rewrite_ipc(job: Rewrite, sink: Sink) -> int:
    """Write an Arrow file or stream without some rows, or with three more columns; the rows that it had."""
    name, limit = job.path, job.options.limit
    data, reader, is_file, release = open_ipc(name, limit)
    with explained(name, "Arrow"):
        columns = range(len(reader.schema))
        # nothing else is held by now, so a batch may have more than while the documents are read
        check_messages(
            messages_of(data, is_file=is_file, schema=reader.schema, columns=columns), name, limit, 2 * limit.whole
        )
        options = pa.ipc.IpcWriteOptions(compression=_compression(data, is_file))
    editor = Editor(job, reader.schema, one_dictionary=is_file)
    new = partial(pa.ipc.new_file, metadata=reader.metadata) if is_file else pa.ipc.new_stream
    with new(sink.file(), editor.schema, options=options) as writer:
        for batch, metadata in _batches(reader, is_file, name):
            for piece in batch_slices(batch, job.group_bytes):
                edited = editor.edit(piece)
                if len(edited) or not len(batch):
                    writer.write_batch(edited, custom_metadata=metadata)
                release()
    return editor.end()


def count_ipc(path: str, limit: RecordLimit) -> int:
    """The rows of an Arrow file or stream."""
    _, reader, is_file, release = open_ipc(path, limit)
    count = 0
    for batch, _ in _batches(reader, is_file, path):
        count += len(batch)
        release()
    return count


def open_ipc(path: str, limit: RecordLimit) -> tuple[Any, Any, bool, Callable[[], None]]:
    """The bytes, their reader, whether they are a file and no stream, and how to give back memory that was read."""
    with explained(path, "Arrow"):
        if stored_codec(path) is not None:
            data = pa.py_buffer(read_all(path, limit=limit, many=True))
            release: Callable[[], None] = lambda: None  # noqa: E731 - the pages of memory of our own stay
        elif size_of(path):
            file, release = map_file(path)
            data = file.read_buffer()
        else:
            raise pa.ArrowInvalid("it is empty (0 bytes)")
        is_file = data[: len(_FILE_MAGIC)].to_pybytes() == _FILE_MAGIC
        return data, (pa.ipc.open_file if is_file else pa.ipc.open_stream)(pa.BufferReader(data)), is_file, release


def _batches(reader: Any, is_file: bool, name: str) -> Iterator[tuple[Any, Any]]:
    """Each batch with its own metadata."""
    if is_file:
        batches = (reader.get_batch_with_custom_metadata(i) for i in range(reader.num_record_batches))
    else:
        batches = reader.iter_batches_with_custom_metadata()
    for each in explained_each(batches, name, "Arrow"):
        yield each.batch, each.custom_metadata


def _compression(data: Any, is_file: bool) -> str | None:
    """How the buffers of the first record batch are compressed; the rest of the file is written alike."""
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(data[_FILE_START:] if is_file else data))
    for message in messages:
        if message.type == _RECORD_BATCH:
            # pyarrow does not tell: a RecordBatch has the table BodyCompression as its field 3, and that the byte
            # ``codec`` as its field 0, left out when it is 0
            metadata = bytes(message.metadata)
            batch = flatbuffers.table(metadata, flatbuffers.root(metadata), 2)
            compression = flatbuffers.table(metadata, batch, 3)
            return _CODECS[flatbuffers.scalar(metadata, compression, 0, "B")] if compression else None
    return None
