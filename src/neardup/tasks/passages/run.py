"""One run: inputs read, repeats found, spans and clean texts given as streams."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from neardup._version import __version__
from neardup.arrays import flags, numbers, strings
from neardup.engine.observe import Observer, Silent
from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.find import Repeats, find_repeats
from neardup.engine.repeats.units import Units, Window
from neardup.engine.space import Budget, Space
from neardup.errors import InputError
from neardup.inputs.reader import Reader
from neardup.params import Normalize, RunOptions
from neardup.params.checks import check_choice
from neardup.session import limit_records
from neardup.stages.repeats.policies import IGNORABLE, LATER, POLICIES, REPEATED, Cuts, find_cuts, stretches_of
from neardup.stages.repeats.segments import FIRST, IGNORED, OTHER, Segments
from neardup.stages.repeats.surgery import SNAPS, snap_cuts, without
from neardup.tasks.grouping import Groups, group_documents
from neardup.tasks.passages.selection import InputNames, Selection, batch_of
from neardup.types import I64, Batch

DEFAULT_MIN_BYTES = 100
LEAST = {"byte": 16, "char": 16, "word": 4}
"""Units of the shortest stretch that may be asked for: half of them are an anchor, of eight bytes or two words."""
MOST = 1 << 16
"""The hashes of one stretch are held."""
UNCHANGED = Normalize("none")
TEXT_BYTES = 4 << 20
"""Bytes of clean texts in a batch, about."""


@dataclass(frozen=True, slots=True)
class Length:
    """How long a stretch is at least."""

    kind: str
    """``byte``, ``char`` or ``word``."""
    units: int

    def __post_init__(self) -> None:
        least, value = LEAST[self.kind], self.units
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
            raise InputError(f"min_{self.kind}s is {value!r}. Give a whole number from {least} to {MOST:,}.")

    @classmethod
    def of(cls, min_bytes: Any, min_words: Any, min_chars: Any) -> Length:
        """The one that is given, DEFAULT_MIN_BYTES if none is; InputError where several are, or it cannot be used."""
        named = (("byte", min_bytes), ("word", min_words), ("char", min_chars))
        given = [(kind, value) for kind, value in named if value is not None]
        if len(given) > 1:
            names = " and ".join(f"min_{kind}s" for kind, _ in given)
            raise InputError(f"{names} are given. Give one of min_bytes, min_words and min_chars.")
        return cls(*given[0]) if given else cls("byte", DEFAULT_MIN_BYTES)

    @property
    def least_bytes(self) -> int:
        """Bytes of the shortest text that can have so many units: one for each, and one between two words."""
        return 2 * self.units - 1 if self.kind == "word" else self.units


@dataclass(frozen=True, slots=True)
class Cutting:
    """What is cut of repeated passages."""

    policy: str = "first"
    """One of POLICIES."""
    snap: str = "word"
    """One of SNAPS: to what a cut is moved inward."""
    min_cut: int = DEFAULT_MIN_BYTES
    """Bytes of the shortest cut."""
    min_left: int = 0
    """Characters that a text that was cut must have left; with fewer it is left out."""

    def __post_init__(self) -> None:
        check_choice(self.policy, tuple(POLICIES), "policy")
        check_choice(self.snap, SNAPS, "snap")
        for name in ("min_cut", "min_left"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InputError(f"{name} is {value!r}. Give a whole number of at least 0.")


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A document of which something is cut; texts are UTF-8."""

    row: int
    before: bytes
    after: bytes
    cut_bytes: int

    @property
    def left(self) -> int:
        """Characters that are left."""
        return len(self.after.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class PassageSummary:
    """What was read and found."""

    documents: int
    too_short: int
    """Documents that are shorter than the shortest stretch, and hold no passage."""
    bytes: int
    bad: int
    """Records left out because they could not be used."""
    spans: int
    passages: int
    """Spans of which each window stands there for the first time; with ``against`` all spans, which stood there."""
    documents_with_spans: int
    repeated_bytes: int
    """Bytes of text in spans, each counted once."""
    later_bytes: int
    """Bytes in spans that stood before, each counted once."""
    min_bytes: int | None
    min_words: int | None
    min_chars: int | None
    """Units of the shortest stretch; one of the three, and None of the others."""
    normalize: str
    seconds: float
    against: dict[str, int] | None = None
    """``documents`` and ``bytes`` of the collection that the inputs were held against."""
    ignored: dict[str, int] | None = None
    """``passages`` of templates, how many of them are ``too_short`` to be looked for, and the ``bytes`` of the inputs
    that stand in one of the others."""
    groups: dict[str, int] | None = None
    """``count`` of the groups, and ``untold``: documents that do not tell theirs, each a group by itself."""
    group_by: str | None = None
    min_count: int | None = None
    min_docs: int | None = None
    min_share: float | None = None
    """As they were given."""
    version: str = __version__

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class PassageRun:
    """A run that is set up. A context manager: what it has on disk goes when the block ends."""

    reader: Reader
    length: Length
    """Of the shortest stretch."""
    options: RunOptions = field(default_factory=RunOptions)
    observer: Observer = field(default_factory=Silent)
    normalize: Normalize = UNCHANGED
    """How texts are changed before they are compared."""
    selection: Selection = field(default_factory=Selection)
    """Which passages are wanted; ``reader`` is what it opened."""
    groups: Groups | None = field(init=False, default=None)
    """Of the documents, where passages are looked for inside groups; there when the inputs were read."""
    provenance: InputNames = field(init=False, default_factory=InputNames)
    space: Space = field(init=False)
    begin: float = field(init=False, default_factory=time.perf_counter)
    _repeats: Repeats | None = field(init=False, default=None)
    _short_templates: int = field(init=False, default=0)
    _template_passages: int = field(init=False, default=0)

    @property
    def shortest(self) -> dict[str, Any]:
        """The length of the shortest passage, what is compared, and which passages are wanted, as options."""
        length = {f"min_{self.length.kind}s": self.length.units, "normalize": str(self.normalize)}
        return {**length, **self.selection.as_dict()}

    def __enter__(self) -> PassageRun:
        budget = Budget.of(self.options.memory_limit)
        workdir = self.options.workdir
        temporary = Path(tempfile.gettempdir()) / f"neardup-{os.getpid()}-{time.time_ns():x}"
        path = temporary if workdir is None else Path(workdir)
        identity = {"command": "passages", **self.shortest, "version": __version__}
        self.space = Space(budget, path, identity)
        limit_records(self.reader, budget, self.options.workers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.space.close(finished=True)

    def find(self) -> Repeats:
        """Read the inputs and find what repeats; done once."""
        if self._repeats is None:
            self.observer.stage("reading", self.reader.total_bytes, "B")
            threads, length = self.options.workers, self.length
            units = Units(length.kind, self.normalize, self.space)
            templates = self._templates(units)
            with closing(self.reader.tasks(threads)) as tasks:
                self._repeats = find_repeats(
                    chain(tasks, [] if templates is None else [lambda: templates]),
                    Window.of(length.kind, length.units),
                    units=units,
                    total_bytes=self.reader.total_bytes,
                    threads=threads,
                    names=self.provenance,
                    observer=self.observer,
                    space=self.space,
                    choose=self._choose,
                )
        return self._repeats

    def _templates(self, units: Units) -> Batch | None:
        """The passages of templates; InputError where those of a file are too short to be looked for."""
        templates = self.selection.templates()
        if not templates:
            return None
        batch = batch_of(templates)
        window = Window.of(self.length.kind, self.length.units)
        sizes = np.diff(units.of(batch.documents).documents.offsets) // window.unit
        self._template_passages, first = sizes.size, 0
        for template in templates:
            of_it = sizes[first : first + len(template.passages)].tolist()
            self._short_templates += template.check(of_it, window.span, self.length.kind, LEAST[self.length.kind])
            first += len(of_it)
        return batch

    def _choose(self, documents: int) -> Choice:
        """Which windows count, when the inputs, the other collection and the templates were read."""
        selection, places = self.selection, self.provenance.places
        inputs = len(places) if self.reader.across is None else places.first_row(self.reader.across)
        if (by := selection.grouping) is not None:
            self.groups = group_documents(self, by)
        sizes = np.array([inputs], dtype=np.int64) if self.groups is None else self.groups.sizes()
        return Choice(
            inputs,
            documents - self._template_passages,
            selection.is_across,
            selection.least_count(),
            np.empty(0, dtype=np.int32) if self.groups is None else self.groups.of,
            selection.least_documents(sizes),
        )

    def spans(self) -> pa.RecordBatchReader:
        """A stream of all spans in the order of the input; the columns are those of ``RepeatedPassages.spans``."""
        repeats, ids, groups = self.find(), self.provenance.ids, self.groups
        whole = ("start", "end", "start_byte", "end_byte")
        schema = pa.schema(
            [
                ("id", ids.type),
                *((name, pa.int64()) for name in whole),
                ("source_id", ids.type),
                ("source_start", pa.int64()),
                ("count", pa.int64()),
                ("count_min", pa.int64()),
                ("documents", pa.int64()),
                ("first", pa.bool_()),
                ("elsewhere", pa.bool_()),
                *(() if groups is None else (("group", pa.large_string()), ("group_documents", pa.int64()))),
            ]
        )
        names, sizes = (None, None) if groups is None else (pa.array(groups.names, pa.large_string()), groups.sizes())

        def batches() -> Iterator[pa.RecordBatch]:
            for found in repeats.segments():
                found = in_bytes(repeats, found)
                start, end, source_start = _in_characters(repeats, found)
                columns = [
                    ids.take(found.document),
                    *map(numbers, (start, end, found.start, found.end)),
                    ids.take(found.source),
                    *map(numbers, (source_start, found.most, found.least, found.documents)),
                    flags(found.kind == FIRST),
                    flags(found.kind == OTHER),
                ]
                if groups is not None and names is not None and sizes is not None:
                    group = groups.of[found.document].astype(np.int64)
                    columns += [names.take(numbers(group)), numbers(sizes[group])]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def cuts(self, policy: str) -> Iterator[Cuts]:
        """What a policy cuts, in bytes of the texts as read, before cuts are moved inward; those of one document come
        together."""
        repeats = self.find()
        for found in whole_documents(repeats.segments(with_ignored=True)):
            cuts = find_cuts(found, policy)
            yield Cuts(cuts.document, *repeats.originals.inside(cuts.document, cuts.start, cuts.end))

    def texts(self, cutting: Cutting) -> pa.RecordBatchReader:
        """A stream of id, text, cut_bytes, is_kept of every document, in the order of the input."""
        repeats, ids = self.find(), self.provenance.ids
        schema = pa.schema(
            [("id", ids.type), ("text", pa.large_string()), ("cut_bytes", pa.int64()), ("is_kept", pa.bool_())]
        )

        def batches() -> Iterator[pa.RecordBatch]:
            row, texts, cut, kept, size = 0, [], [], [], 0
            for text, gone in _cut_texts(repeats, self.cuts(cutting.policy), cutting):
                texts.append(text)
                cut.append(gone)
                kept.append(not gone or len(text) >= cutting.min_left)
                size += len(text)
                if size >= TEXT_BYTES:
                    yield batch(row, texts, cut, kept)
                    row, texts, cut, kept, size = row + len(texts), [], [], [], 0
            if texts:
                yield batch(row, texts, cut, kept)

        def batch(row: int, texts: list[str], cut: list[int], kept: list[bool]) -> pa.RecordBatch:
            rows = np.arange(row, row + len(texts))
            columns = [ids.take(rows), strings(texts), numbers(np.array(cut, dtype=np.int64)), flags(np.array(kept))]
            return pa.RecordBatch.from_arrays(columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def cut_documents(self, cutting: Cutting) -> Iterator[CutDocument]:
        """The documents of which something is cut, in the order of the input."""
        return _cut_documents(self.find(), self.cuts(cutting.policy), cutting)

    def summary(self) -> PassageSummary:
        """What was read and found: one pass over the segments."""
        repeats = self.find()
        length, inputs, offsets = self.length, repeats.documents, repeats.originals.text.offsets
        sizes, selection = np.diff(repeats.text.offsets[: inputs + 1]), self.selection
        spans = passages = holding = 0
        templates = self._template_passages
        asked = (REPEATED, LATER, IGNORABLE) if templates else (REPEATED, LATER)
        covered = np.zeros(len(asked), dtype=np.int64)
        for found in whole_documents(repeats.segments(with_ignored=True)):
            is_span = found.kind != IGNORED
            spans += int(np.count_nonzero(is_span))
            passages += int(np.count_nonzero(is_span if selection.is_across else found.kind == FIRST))
            held = found.document[is_span]
            holding += int(np.count_nonzero(np.diff(held, prepend=-1)))
            found = in_bytes(repeats, found)
            covered += [stretches_of(found, kinds).size for kinds in asked]
        repeated, later, ignored = [*covered.tolist(), 0][:3]
        groups = self.groups
        other = {
            "documents": repeats.choice.templates - inputs,
            "bytes": int(offsets[repeats.choice.templates] - offsets[inputs]),
        }
        ignoring = {"passages": templates, "too_short": self._short_templates, "bytes": ignored}
        return PassageSummary(
            documents=inputs,
            too_short=int(np.count_nonzero(sizes < length.units)),
            bytes=int(offsets[inputs]),
            bad=self.provenance.bad,
            spans=spans,
            passages=passages,
            documents_with_spans=holding,
            repeated_bytes=repeated,
            later_bytes=later,
            min_bytes=length.units if length.kind == "byte" else None,
            min_words=length.units if length.kind == "word" else None,
            min_chars=length.units if length.kind == "char" else None,
            normalize=str(self.normalize),
            seconds=round(time.perf_counter() - self.begin, 4),
            against=other if selection.is_across else None,
            ignored=ignoring if templates else None,
            groups=None if groups is None else {"count": len(groups.names), "untold": groups.untold},
            group_by=selection.group_by,
            min_count=selection.min_count,
            min_docs=selection.min_docs,
            min_share=selection.min_share,
        )


def in_bytes(repeats: Repeats, found: Segments) -> Segments:
    """The segments in bytes of the texts as read, in place of the units that were compared."""
    start, end = repeats.originals.around(found.document, found.start, found.end)
    source_start, _ = repeats.originals.around(found.source, found.source_start, found.source_start + 1)
    return replace(found, start=start, end=end, source_start=source_start)


def _in_characters(repeats: Repeats, found: Segments) -> tuple[I64, I64, I64]:
    """Start, end and start in the source of segments in bytes, in characters: of those that are whole in them."""
    text, offsets = repeats.originals.text, repeats.originals.text.offsets
    own, other = offsets[found.document], offsets[found.source]
    begin = text.characters(own)
    end_place = own + found.end
    start = text.characters(own + found.start) - begin
    end = (
        text.characters(end_place)
        - begin
        - (text.goes_on_at(end_place) & (found.end < offsets[found.document + 1] - own))
    )
    return start, end, text.characters(other + found.source_start) - text.characters(other)


def whole_documents(parts: Iterator[Segments]) -> Iterator[Segments]:
    """The same segments, all those of one document together."""
    held: list[Segments] = []
    for part in parts:
        last = int(np.searchsorted(part.document, part.document[-1]))
        if last > 0:
            yield Segments.together([*held, part.take(slice(0, last))])
            held = [part.take(slice(last, len(part)))]
        elif held and held[-1].document[-1] != part.document[0]:
            yield Segments.together(held)
            held = [part]
        else:
            held.append(part)
    if held:
        yield Segments.together(held)


def _cut_texts(repeats: Repeats, parts: Iterator[Cuts], cutting: Cutting) -> Iterator[tuple[str, int]]:
    """The text of each document without what is cut, and how many bytes that was."""
    row = 0

    def as_is(until: int) -> Iterator[tuple[str, int]]:
        for document in range(row, until):
            yield _bytes_of(repeats, document).decode("utf-8", "replace"), 0

    for each in _cut_documents(repeats, parts, cutting):
        yield from as_is(each.row)
        yield each.after.decode("utf-8", "replace"), each.cut_bytes
        row = each.row + 1
    yield from as_is(repeats.documents)


def _cut_documents(repeats: Repeats, parts: Iterator[Cuts], cutting: Cutting) -> Iterator[CutDocument]:
    for part in parts:
        bounds = np.flatnonzero(np.diff(part.document, prepend=-1, append=-1))
        for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            document = int(part.document[first])
            whole = _bytes_of(repeats, document)
            spans = list(zip(part.start[first:stop].tolist(), part.end[first:stop].tolist(), strict=True))
            spans = snap_cuts(whole, spans, snap=cutting.snap, least=cutting.min_cut)
            if spans:
                gone = sum(end - start for start, end in spans)
                yield CutDocument(document, whole, without(whole, spans), gone)


def _bytes_of(repeats: Repeats, document: int) -> bytes:
    text = repeats.originals.text
    begin, end = text.offsets[document : document + 2].tolist()
    return text.piece(begin, end).tobytes()
