"""Arrow columns as texts, sets and ids.

A text is a string of any Arrow layout (string, large_string, string_view, dictionary of strings), or binary
that is valid UTF-8. A set is a list of strings or whole numbers in any list layout, or a text to split at
white space. An id is a whole number, or whatever Arrow can write as a string. A null text, item or id is a
fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from numpy.typing import NDArray

from neardup.arrays import as_numpy, blobs, numbers
from neardup.cutting import starts_of
from neardup.errors import InputError
from neardup.inputs.batches import Columns, joined_texts, make_batch
from neardup.inputs.columns import ReadColumns, choose_id, choose_more, choose_text, column_place, guess_text
from neardup.inputs.items import ITEM_SEPARATOR
from neardup.inputs.json_columns import columns_of
from neardup.inputs.source import BATCH_BYTES, INT64, Faults, ReadOptions
from neardup.kernels.integers import LONGEST, join_integers
from neardup.types import I64, SLACK, Batch, Mask, frozen

_SCALAR_BYTES = 8
"""What a number or a time counts for."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where the text and the id are among the columns."""

    text: tuple[int, ...]
    """The columns that make the text."""
    id: int | None
    more: tuple[int, ...] = ()
    """Further columns that are read."""

    @property
    def places(self) -> list[int]:
        """All of them, ascending."""
        return sorted({*self.text, *self.more, *([] if self.id is None else [self.id])})

    def alone(self) -> Chosen:
        """Where they are when there are no other columns."""
        at = {place: i for i, place in enumerate(self.places)}
        text, more = (tuple(at[place] for place in places) for places in (self.text, self.more))
        return Chosen(text, None if self.id is None else at[self.id], more)

    def beside(self, batch: Any) -> Any:
        """Return the further columns of a record batch; None if none are read."""
        return batch.select(list(self.more)) if self.more else None

    def columns(self, names: Sequence[str], source: str) -> ReadColumns:
        """Their names, among those of all columns."""
        texts = tuple(names[place] for place in self.text)
        return ReadColumns(texts, None if self.id is None else names[self.id], example=source)

    def texts(self, batch: Any) -> Any:
        """The texts of a record batch: its column, or several joined."""
        if len(self.text) == 1:
            return batch.column(self.text[0])
        return joined_texts([_strings(batch.column(place)) for place in self.text])


def choose_columns(schema: Any, options: ReadOptions, source: str) -> Chosen:
    """Find the columns by the names asked for, else by known names, passing over columns of unfit types.

    Raises InputError when there is no such column, or it is there twice, or its type is no text and no set.
    """
    named: Any = options.text
    fit = [field.name for field in schema if _is_text(field.type) or (options.item and _is_set(field.type))]
    if named is None:
        named = guess_text(schema.names) if guess_text(fit) is None else guess_text(fit)
        named = None if named is None else (named,)
    names = schema.names
    if options.id is None:  # a column of the type null, which has no value at all, names no document
        names = [field.name for field in schema if _is_id(field.type) and not pat.is_null(field.type)]
    name = choose_id(names, options.id, source)
    place = None if name is None else column_place(schema.names, name, source)
    if place is not None and not _is_id(schema.field(place).type):
        raise InputError(
            f"{source}: column {name!r} is of type {schema.field(place).type}, which is no id. "
            "Choose a column of strings or whole numbers with --id."
        )
    chosen = choose_text(schema.names, named, source, texts=[each for each in fit if each != name])
    texts = tuple(column_place(schema.names, each, source) for each in chosen)
    for text in texts:
        check_text_type(schema.field(text), options.item and len(texts) == 1, source)
    more = choose_more(schema.names, options.column, source)
    return Chosen(texts, place, tuple(column_place(schema.names, each, source) for each in more))


def check_text_type(field: Any, item: bool, source: str) -> None:
    """Raise InputError, with the cure, when the column is no text (with ``item``: and no set)."""
    if _is_text(field.type) or (item and _is_set(field.type)):
        return
    column = f"column {field.name!r}" if field.name else "the column"
    if _is_set(field.type):
        cure = "Use --shingle item to compare lists as sets, or choose a column of strings with --text."
    elif pat.is_nested(field.type):
        cure = "Make the text a column of its own, or choose one of strings with --text."
    else:
        cure = f"Choose a column of strings{' or lists' if item else ''} with --text."
    raise InputError(f"{source}: {column} is of type {field.type}, not text. {cure}")


def _bare(type_: Any) -> Any:
    """The type under extensions and dictionaries."""
    if isinstance(type_, pa.BaseExtensionType):
        return _bare(type_.storage_type)
    return _bare(type_.value_type) if pat.is_dictionary(type_) else type_


def _is_string(type_: Any) -> bool:
    return any(kind(type_) for kind in (pat.is_string, pat.is_large_string, pat.is_string_view))


def _is_binary(type_: Any) -> bool:
    return any(kind(type_) for kind in (pat.is_binary, pat.is_large_binary, pat.is_binary_view))


def _is_text(type_: Any) -> bool:
    bare = _bare(type_)
    return _is_string(bare) or _is_binary(bare) or pat.is_null(bare)


def _is_list(type_: Any) -> bool:
    kinds = (pat.is_list, pat.is_large_list, pat.is_fixed_size_list, pat.is_list_view, pat.is_large_list_view)
    return any(kind(type_) for kind in kinds)


def _is_set(type_: Any) -> bool:
    bare = _bare(type_)
    if not _is_list(bare):
        return False
    item = _bare(bare.value_type)
    return _is_string(item) or pat.is_integer(item) or pat.is_null(item)


def _is_id(type_: Any) -> bool:
    bare = _bare(type_)
    return not (pat.is_nested(bare) or pat.is_fixed_size_binary(bare))


def column_cuts(column: Any, ids: Any, block: int | None) -> Iterator[tuple[int, int, int]]:
    """Cut a column into runs of rows of about BATCH_BYTES, at most ``block`` rows; a very large row by itself.

    Yields the first row, the row behind the last, and bytes about. ``ids``, where there are any, count where they are
    long.
    """
    if len(column) == 0:
        return
    offsets = _offsets(column)
    if ids is not None and not pat.is_integer(_bare(ids.type)):
        more = _offsets(ids)
        if more[-1] - more[0] > BATCH_BYTES:
            offsets = offsets - offsets[0] + (more - more[0])
    start, last = 0, len(column)
    while start < last:
        stop = int(np.searchsorted(offsets, int(offsets[start]) + BATCH_BYTES, side="right"))
        stop = min(max(stop, start + 1), last, start + (block or last))
        size = int(offsets[stop] - offsets[start])
        if size > 2 * BATCH_BYTES and stop - start > 1:  # by its last row, or the run would have ended before
            yield start, stop - 1, int(offsets[stop - 1] - offsets[start])
            start, size = stop - 1, int(offsets[stop] - offsets[stop - 1])
        yield start, stop, size
        start = stop


def _offsets(array: Any) -> Any:
    """int64[n + 1] or int32[n + 1], rising; its differences are the bytes of each value, as a text or joined set."""
    width = offset_type(array.type)
    if width is not None and array.buffers()[1] is not None:
        offsets: NDArray[Any] = np.frombuffer(array.buffers()[1], dtype=width)
        return offsets[array.offset : array.offset + len(array) + 1]
    return starts_of(_sizes(array))


def offset_type(type_: Any) -> Any:
    """The dtype of the offsets of a string or binary column, None for other layouts."""
    if pat.is_string(type_) or pat.is_binary(type_):
        return np.int32
    return np.int64 if pat.is_large_string(type_) or pat.is_large_binary(type_) else None


def _sizes(array: Any) -> I64:
    """int64[n]: bytes of each value as a text, or joined as a set; a few too many for a null."""
    type_ = array.type
    if isinstance(array, pa.ExtensionArray):
        return _sizes(array.storage)
    if pat.is_dictionary(type_):
        if len(array.dictionary) == 0:
            return np.zeros(len(array), dtype=np.int64)
        places = as_numpy(_without_nulls(array.indices.cast(pa.int64())))
        of_each: I64 = _sizes(array.dictionary)[places]
        return of_each
    if offset_type(type_) is not None:
        return np.diff(_offsets(array)) if array.buffers()[1] is not None else np.zeros(len(array), dtype=np.int64)
    if pat.is_string_view(type_) or pat.is_binary_view(type_):
        views: NDArray[np.int32] = np.frombuffer(array.buffers()[1], dtype=np.int32).reshape(-1, 4)
        return views[array.offset : array.offset + len(array), 0].astype(np.int64)
    if _is_list(type_):
        counts = as_numpy(_without_nulls(pc.list_value_length(array).cast(pa.int64())))
        if pat.is_integer(type_.value_type):
            return counts * (_SCALAR_BYTES + 1)
        return np.diff(starts_of(_sizes(array.flatten()) + 1)[starts_of(counts)])
    return np.full(len(array), _SCALAR_BYTES, dtype=np.int64)


def read_rows(
    texts: Any,
    ids: Any,
    more: Any,
    first_row: int,
    source: str,
    options: ReadOptions,
    *,
    consumed: int | None,
    positions: bool,
) -> Batch:
    """Turn a piece of the columns into a batch.

    ``texts`` is an Arrow array of a text or, with ``options.item``, set type; ``first_row`` counts from 1.
    ``consumed``: stored bytes; None: those of the texts. ``positions``: rows without an id have their 0-based position.
    ``more``: a record batch of further columns, a list of records that have them, or None.
    """
    faults = Faults(source, options.on_bad)
    rows = np.arange(first_row, first_row + len(texts), dtype=np.int64)
    is_set = _is_set(texts.type)
    plain = _joined_sets(texts) if is_set else _large(texts)
    mask = np.ones(len(texts), dtype=np.bool_)
    _note_nulls(plain, mask, rows, faults, "the set is null or has a null in it" if is_set else "the text is null")
    if ids is not None:
        ids = _id_array(ids)
        _note_nulls(ids, mask, rows, faults, "the id is null")
    elif positions:
        ids = numbers(rows - 1)
    beside = None
    if more is not None:
        beside = columns_of(more.to_pylist() if hasattr(more, "to_pylist") else more, mask, rows, faults)
    columns = Columns(plain, rows, ids, more=beside)
    columns.keep(mask)
    if is_set:  # joined by a byte that is no UTF-8: nothing to check
        columns.texts = columns.texts.view(pa.large_binary())
    return make_batch(
        columns,
        faults,
        split=options.item and not is_set,
        check_texts=not is_set,
        consumed=int(plain.nbytes) if consumed is None else consumed,
    )


def _without_nulls(array: Any) -> Any:
    """An int64 array with 0 for each null."""
    return pc.fill_null(array, numbers(np.zeros(1, np.int64))[0]) if array.null_count else array


def _note_nulls(array: Any, mask: Mask, rows: I64, faults: Faults, reason: str) -> None:
    """Clear the rows of null values in ``mask``. Each of them that was set until now is one bad record."""
    if array.null_count:
        is_valid = as_numpy(array.is_valid())
        for row in rows[mask & ~is_valid]:
            faults.add(int(row), reason)
        mask &= is_valid


def _flat(array: Any) -> Any:
    """The array without extension types and dictionaries."""
    if isinstance(array, pa.ExtensionArray):
        return _flat(array.storage)
    return _flat(array.dictionary_decode()) if pat.is_dictionary(array.type) else array


def _strings(array: Any) -> Any:
    """As large_binary; whether it is UTF-8 is looked at when it is joined."""
    return _large(array).cast(pa.large_binary())


def _large(array: Any) -> Any:
    """As large_string or large_binary; of string and binary only the offsets are copied."""
    array = _flat(array)
    return array.cast(pa.large_binary() if _is_binary(array.type) else pa.large_string())


def _id_array(array: Any) -> Any:
    array = _flat(array)
    if pat.is_integer(array.type):
        is_wide = pat.is_uint64(array.type) and len(array) and (pc.max(array).as_py() or 0) >= 1 << 63
        return array.cast(pa.large_string() if is_wide else pa.int64())
    return _large(array)


def _joined_sets(array: Any) -> Any:
    """A list array as large_binary, its items joined; null where a list or a member is null."""
    array = _flat(array)
    lengths = _without_nulls(pc.list_value_length(array).cast(pa.int64()))
    items = _flat(array.flatten())  # leaves out what null lists cover
    starts = starts_of(as_numpy(lengths))
    if _is_int64(items):
        return _joined_integers(items, starts, array)
    items = items.cast(pa.large_string()).cast(pa.large_binary())
    lists = pa.LargeListArray.from_arrays(numbers(starts), items)
    joined = pc.binary_join(lists, blobs([ITEM_SEPARATOR])[0])
    if array.null_count:
        joined = pc.if_else(array.is_valid(), joined, pa.nulls(1, joined.type)[0])
    return joined


def _is_int64(items: Any) -> bool:
    """Whether the items are whole numbers without nulls, none of them beyond int64."""
    if not pat.is_integer(items.type) or items.null_count:
        return False
    return not (pat.is_uint64(items.type) and len(items) and pc.max(items).as_py() not in INT64)


def _joined_integers(items: Any, starts: I64, lists: Any) -> Any:
    """Lists of whole numbers as large_binary, joined; null where a list is null. 20 ns an item, 30 through strings."""
    values = frozen(as_numpy(items.cast(pa.int64())))
    out = np.empty((LONGEST + 1) * len(values) + SLACK, dtype=np.uint8)  # only what is written takes memory
    offsets = np.empty(starts.size, dtype=np.int64)
    join_integers(values, frozen(starts), out, offsets)
    used = out[: int(offsets[-1]) + SLACK]
    valid = pc.is_valid(lists).buffers()[1] if lists.null_count else None
    return pa.Array.from_buffers(pa.large_binary(), len(lists), [valid, pa.py_buffer(offsets), pa.py_buffer(used)])
