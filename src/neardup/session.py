"""One run, from its options to its results: opens the inputs, makes the spec, keeps the workdir, names the rows.

``tasks`` returns the results to Python as whole tables, ``cli`` writes them to files piece by piece. ``engine`` does
the work; ``inputs`` reads and writes.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup._version import __version__
from neardup.arrays import numbers, strings
from neardup.cutting import distinct
from neardup.engine import run as engine
from neardup.engine.check import TooLargeError
from neardup.engine.fit import PASSAGES, SLOW, Hint, fit, layout_hints
from neardup.engine.observe import Observer, Silent
from neardup.engine.pairing import Pairing
from neardup.engine.reading.families import check_room
from neardup.engine.reading.template import Template
from neardup.engine.results.ordered import ordered_pairs
from neardup.engine.space import Budget, Space
from neardup.engine.state import FoundRows, Gathered, RunTally, SearchState
from neardup.errors import InputChanged, InputError
from neardup.inputs.addresses import address_of
from neardup.inputs.folder import FilesSource
from neardup.inputs.lookup import Lookup, PairTexts
from neardup.inputs.names import Provenance
from neardup.inputs.passed import suffix_of
from neardup.inputs.reader import Reader, Stamps
from neardup.outputs.rows import RowTable
from neardup.params import CONTAINMENT, LOCAL, OVERLAP, ListOptions, Overlap, Preset, RunOptions, Spec
from neardup.result import Result, Summary
from neardup.spool import Column, peak_memory
from neardup.types import I32, I64, Mask, Pairs

if TYPE_CHECKING:
    from neardup.engine.joins.overlap import Overlaps

CONTAINED = strings(["a", "both", "b"])
"""The contained one of a pair, if the first set is smaller, equally large or larger."""
METHODS = {CONTAINMENT: "containment join", OVERLAP: "overlap join"}
"""The ways of finding pairs that follow from the measure."""
NAMES_PART = 0.05
"""The share of the memory for data available to the ids of documents that are written together."""

ALL = ListOptions()


def limit_records(
    reader: Reader, budget: Budget, threads: int, limits: Sequence[int] | None = None, *, setting: str | None = None
) -> None:
    """Limit the bytes of a record in a reader, by the budget or by ``limits``: bytes of a record and of the memory.

    ``setting``: the setting that raises the memory, if it is not that of the command.
    """
    largest, memory = limits or (budget.record, budget.limit)
    together = budget.together(threads)
    limit = reader.options.limit
    limit.set(largest, memory=memory, growth=1 / budget.record_share, together=together, setting=setting)


def lasting_limits(reader: Reader, space: Space) -> Sequence[int] | None:
    """Return the limits for ``limit_records`` that a run keeps in its workdir, or None.

    If too large records are skipped, a resumed run uses the limits with which it began, because the blocks that it has
    read, and the answer, depend on them.
    """
    if reader.options.on_bad != "skip":
        return None
    limits: Sequence[int] = space.state.get("record") or [space.budget.record, space.budget.limit]
    space.lasting["record"] = limits
    return limits


def compare_stamps(stamps: Mapping[str, Stamps], known: Mapping[str, str]) -> dict[str, str]:
    """Doubt the files whose stamps differ from those of an interrupted run; return the digests for a later run.

    ``known`` has the digest of each source as an interrupted run took it. Size and time of modification are part of the
    identity of a run; a file that was changed and given its old time differs only in these stamps.
    """
    for name, mine in stamps.items():
        mine.are_doubted |= known.get(name, mine.digest) != mine.digest
    return {**{name: mine.digest for name, mine in stamps.items()}, **known}


def work_path(options: RunOptions, reader: Reader, spill_to: Path | None = None) -> Path:
    """Open the folder for a run's work on disk: the one in the options, else ``spill_to``, else a temporary one.

    Raises InputError if it cannot be a folder on this machine, or if an interrupted run cannot be resumed.
    """
    workdir = options.workdir
    if workdir is not None and (address := address_of(os.fspath(workdir))) is not None:
        raise InputError(
            f"workdir is {address}, and the work of a run is kept in files that are read here and there. "
            "Name a folder of this machine with --workdir (workdir=)."
        )
    path = Path(workdir) if workdir is not None else spill_to
    if options.resume and path is None:
        raise InputError("resume needs the workdir of the interrupted run. Name it with --workdir (workdir=).")
    if options.resume and not reader.is_lasting:
        raise InputError("a run over standard input or values in memory cannot be resumed. Run it without --resume.")
    return path or Path(tempfile.gettempdir()) / f"neardup-{os.getpid()}-{time.time_ns():x}"


@dataclass(slots=True)
class Run:
    """A run, as a context manager: the workdir is removed when the block succeeds, and kept when it fails."""

    reader: Reader
    spec: Spec
    options: RunOptions = field(default_factory=RunOptions)
    spill_to: Path | None = None
    """The folder to use when memory runs short, if there is no workdir; None for a temporary folder."""
    task: dict[str, Any] = field(default_factory=dict)
    """Further values that must be equal to resume an interrupted run."""
    choice: str | None = None
    """The reason for the way of finding pairs, if the plan decided."""
    preset: Preset | None = None
    """The origin of the settings, for the summary."""
    observer: Observer = field(default_factory=Silent)
    hints: tuple[Hint, ...] = field(init=False, default=())
    """The settings that do not suit the texts, known once the texts were read for a search."""
    template: Template | None = None
    """Text that counts in no document."""
    pairing: Callable[[Run], Pairing | None] | None = None
    """Decides, once the documents are read, which of them may form pairs; None: any two."""
    keep_written: bool = False
    """Whether the texts will be shown, and must be kept as written rather than as compared."""
    provenance: Provenance = field(init=False, default_factory=Provenance)
    stamps: dict[str, Stamps] = field(init=False, default_factory=dict)
    """The stamps of the files of each source, taken before the first was read."""
    space: Space = field(init=False)
    begin: float = field(init=False, default_factory=time.perf_counter)

    def __enter__(self) -> Run:
        workdir, resume = self.options.workdir, self.options.resume
        path = work_path(self.options, self.reader, self.spill_to)
        budget = self.reader.budget or Budget.of(self.options.memory_limit)
        limit_records(self.reader, budget, self.threads)  # the first record that is looked at may be too large
        self.reader.check()
        ids = self.provenance.ids
        ids.piece_bytes = min(ids.piece_bytes, budget.share(NAMES_PART))
        if workdir is not None:
            check_room(self.spec)
        self.stamps = self.reader.stamps()
        identity = {
            "spec_id": self.spec.id,
            "spec": self.spec.as_dict(),
            "version": __version__,
            "inputs": self.reader.identity(),
            "reading": self.reader.settings,
            **({"across": self.reader.across} if self.reader.across is not None else {}),
            **({"texts (with_text, show)": True} if self.keep_written else {}),
            **self.task,
        }
        self.space = Space(budget, path, identity, at_once=workdir is not None, resume=resume)
        self.space.lasting["stamps"] = compare_stamps(self.stamps, self.space.state.get("stamps", {}))
        limit_records(self.reader, budget, self.threads, lasting_limits(self.reader, self.space))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lasting = self.reader.is_lasting and (self.options.workdir is not None or self.spill_to is not None)
        # of an input that is another now, nothing can be gone on with
        finished = error is None or not lasting or isinstance(error, InputChanged)
        self.space.close(finished=finished, refused=isinstance(error, InputError))

    @property
    def engine(self) -> str:
        """The engine that does the work, one of ENGINES."""
        return LOCAL

    @property
    def master(self) -> str | None:
        """The address of the cluster that does the work."""
        return None

    @property
    def threads(self) -> int:
        """The number of threads."""
        return self.options.workers

    @property
    def token(self) -> str:
        """A name for the run, which stays the same when it is resumed."""
        return token_of([self.space.identity, str(self.space.path)])

    def gather(self, spec: Spec) -> Gathered:
        """Read the inputs, sketch them as ``spec`` says, and find their exact copies."""
        with closing(self.reader.tasks(self.threads)) as tasks:
            return engine.gather(
                tasks if self.template is None else self.template.tasks(tasks),
                spec if self.template is None else self.template.search_spec(spec),
                total_bytes=self.reader.total_bytes,
                threads=self.threads,
                names=self.provenance,
                observer=self.observer,
                space=self.space,
                reopened=self.reader.reopened,
                keep_written=self.keep_written,
            )

    def search(self, *, keep_keys: bool = False) -> SearchState:
        """Find the verified pairs of representatives; InputError if two are too long for the memory limit.

        ``keep_keys``: the buckets will be needed once more.
        """
        with self._refusing_too_large():
            gathered = self.gather(self.spec)
            self._tell_hints(fit(gathered.collection, gathered.copies.weight))
            pairing = None if self.pairing is None else self.pairing(self)
            if pairing is not None:
                gathered = engine.with_pairing(gathered, pairing)
            return engine.search(gathered, split_row=self._split_row(), keep_keys=keep_keys)

    def _tell_hints(self, found: Sequence[Hint]) -> None:
        """Keep the hints on a collection, and report those that are useful before the work."""
        hints = (*found, *layout_hints(self._kinds(), self.spec))
        # with a preset the user has chosen the default on purpose
        self.hints = tuple(hint for hint in hints if hint.kind != PASSAGES or self.preset is None)
        for hint in self.hints:
            if hint.kind == SLOW:
                self.observer.note(hint.text)

    def overlap(self, gathered: Gathered, is_protected: Mask) -> tuple[SearchState, Overlaps]:
        """Find documents that overlap with protected ones, by the rule of the spec; InputError as in ``search``."""
        with self._refusing_too_large():
            return engine.overlap(gathered, Overlap.parse(self.spec.overlap), is_protected)

    def _kinds(self) -> set[str]:
        """Return the suffixes of files that hold one document each, if some are not plain text."""
        files = [file for part in self.reader.parts if isinstance(part, FilesSource) for file in part.files]
        return {suffix_of(file.path) for file in files} if any(file.is_document for file in files) else set()

    @contextmanager
    def _refusing_too_large(self) -> Iterator[None]:
        try:
            yield
        except TooLargeError as exc:
            names = " and ".join(map(str, self.provenance.ids.take(exc.rows).to_pylist()))
            more = (self.space.budget.limit - self.space.budget.work + 1.1 * exc.need) / 1e6
            raise InputError(
                f"the documents {names} are too long to be compared within a memory limit of "
                f"{self.space.budget.limit / 1e6:.0f} MB. Raise --memory (memory=) to about {more:.0f}MB, or leave "
                "them out."
            ) from exc

    def _split_row(self) -> int | None:
        """The first row of the collection that the inputs are compared with, if there is one."""
        if self.reader.across is None:
            return None
        return self.provenance.places.first_row(self.reader.across)

    def find(self, rule: str) -> Finding:
        """Search, and return the pairs and clusters of all rows."""
        return self.finding(self.search(), rule)

    def finding(self, search: SearchState, rule: str) -> Finding:
        """Return the pairs and clusters of all rows from the result of ``search``."""
        return Finding(self, engine.find(search, rule=rule), rule)


def token_of(facts: Any) -> str:
    """Return a name for a run, made of JSON values."""
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=6).hexdigest()


@dataclass(slots=True)
class Finding:
    """Pairs, clusters and crowds with the ids of documents, and the summary."""

    _run: Run
    _found: FoundRows
    _rule: str
    _pairs: int = 0
    _listed: list[tuple[I64, I64]] | None = None
    """The documents, by number, of the pairs that were returned last, if they are recorded."""

    def pairs(self, listing: ListOptions = ALL, *, text_rows: int | None = None) -> RowTable | pa.RecordBatchReader:
        """Return id_a, id_b, similarity as a stream, which need not fit into memory; read it before ``summary``.

        For containment, also contained: which one is part of the other, "a", "b" or, if the sets are equally large,
        "both". With texts also text_a and text_b; ``text_rows`` limits these to the first pairs.
        """
        ids, sizes = self._run.provenance.ids, self._found.sizes
        schema = pa.schema([("id_a", ids.type), ("id_b", ids.type), ("similarity", pa.float64())])
        if sizes is not None:
            schema = schema.append(pa.field("contained", pa.string()))

        def pieces() -> Iterator[Pairs]:
            self._pairs = 0
            for piece in self._found.pairs.pieces():
                self._pairs += len(piece)
                yield piece

        def columns() -> Iterator[list[Any]]:
            space, n = self._run.space, len(ids)
            for piece in ordered_pairs(pieces(), n, space, by_similarity=listing.by_similarity, top=listing.top):
                space.release_memory()  # what the last piece took
                if self._listed is not None:
                    self._listed.append((piece.left, piece.right))
                found = [piece.left, piece.right, numbers(piece.similarity)]
                if sizes is not None:
                    found.append(CONTAINED.take(numbers(sizes.sides(piece.left, piece.right))))
                yield found

        table = RowTable(schema, ids, columns())
        return table.with_texts(self._found.texts, ("text_a", "text_b"), listing.with_text, text_rows)

    def clusters(self, with_text: bool | int = False) -> RowTable | pa.RecordBatchReader:
        """Return id, cluster, keeper, similarity of the documents in clusters of two and more, as a stream.

        With texts also text and keeper_text.
        """
        members, ids = self._found.members, self._run.provenance.ids
        labels = distinct(members.label)
        kinds = [("id", ids.type), ("cluster", pa.int64()), ("keeper", ids.type), ("similarity", pa.float64())]

        def columns() -> Iterator[list[Any]]:
            for part in ids.pieces(members.rows, members.keeper):
                rows, keeper = members.rows[part].astype(np.int64), members.keeper[part].astype(np.int64)
                number = np.searchsorted(labels, members.label[part]).astype(np.int64)
                yield [rows, numbers(number), keeper, numbers(members.similarity[part])]

        table = RowTable(pa.schema(kinds), ids, columns())
        return table.with_texts(self._found.texts, ("text", "keeper_text"), with_text)

    def crowds(self) -> pa.Table:
        """Return a table leader, documents: the first document and the size of each crowd."""
        leaders = self._run.provenance.ids.take(self._found.crowd_leaders)
        return pa.table({"leader": leaders, "documents": numbers(self._found.crowd_documents)})

    def result(self, listing: ListOptions = ALL) -> Result:
        """Return everything as tables in memory."""
        self._listed = []
        pairs, clusters = self.pairs(listing).read_all(), self.clusters(listing.with_text).read_all()
        listed, self._listed = [(np.empty(0, np.int64),) * 2, *self._listed], None
        left, right = (np.concatenate(side) for side in zip(*listed, strict=True))
        members, prints = self._found.members, self._found.prints
        assert prints is not None, "a search of this machine knows the prints"
        again = texts_again(self._run, prints, (left, right), (members.rows, members.keeper))
        return Result(pairs, clusters, self.crowds(), self.summary(), self._run.spec, self.faults, *again)

    @property
    def faults(self) -> tuple[Any, ...]:
        """The first bad records."""
        return tuple(self._run.provenance.faults)

    def summary(self, pairs: int | None = None) -> Summary:
        """Summarise inputs, results, promises and costs; ``pairs``: their number, that of the pairs read if None."""
        found = self._found
        return make_summary(
            self._run,
            found.tally,
            pairs=self._pairs if pairs is None else pairs,
            clusters=int(distinct(found.members.label).size),
            crowds=found.crowd_leaders.size,
            crowd_documents=int(found.crowd_documents.sum()),
            link=self._rule,
        )


def texts_again(run: Run, prints: Column, *tables: tuple[I32 | I64, I32 | I64]) -> list[PairTexts]:
    """Return, for each table of pairs of documents, an object that fetches their texts after the run."""
    provenance = run.provenance
    count = len(provenance.ids)
    is_named = np.zeros(count, dtype=np.bool_)
    for column in chain.from_iterable(tables):
        is_named[column] = True
    rows = np.flatnonzero(is_named)
    sizes = provenance.sizes if sum(provenance.sizes) == count else ()  # a resumed run did not read all itself
    lookup = Lookup(run.reader, run.spec, sizes, rows, prints.take(rows))
    if count > np.iinfo(np.int32).max:
        return [PairTexts(lookup, left, right) for left, right in tables]
    return [PairTexts(lookup, left.astype(np.int32), right.astype(np.int32)) for left, right in tables]


def make_summary(
    run: Run, tally: RunTally, *, pairs: int, clusters: int, crowds: int, crowd_documents: int, link: str
) -> Summary:
    """Make the summary of a run."""
    spec, provenance, space = run.spec, run.provenance, run.space
    duplicates, example = provenance.ids.count_duplicates(space.budget.share(0.2), space.workdir)
    seconds = time.perf_counter() - run.begin
    return Summary(
        documents=tally.documents,
        bytes=tally.read_bytes,
        empty=tally.empty,
        short=tally.short,
        bad=provenance.bad,
        blank=provenance.blank,
        passed_over=run.reader.passed_over,
        columns=run.reader.columns,
        duplicate_ids=duplicates,
        duplicate_id_example=example,
        exact_copies=tally.exact_copies,
        candidates=tally.candidates,
        checked=tally.checked,
        pairs=pairs,
        clusters=clusters,
        crowds=crowds,
        crowd_documents=crowd_documents,
        overfull=tally.overfull,
        recall=spec.recall,
        threshold=spec.threshold,
        slots=spec.slots,
        bands=str(spec.bands),
        link=link,
        sketch=spec.sketch,
        method=METHODS.get(spec.measure, "exact join" if spec.exact else "banding"),
        choice=run.choice,
        seconds={name: round(value, 4) for name, value in tally.seconds.items()},
        total_seconds=round(seconds, 4),
        mb_per_second=round(tally.read_bytes / 1e6 / max(seconds, 1e-9), 3),
        peak_memory=peak_memory(),
        memory_limit=space.budget.limit,
        spooled=space.workdir.peak_bytes if space.workdir is not None else 0,
        threads=tally.threads,
        engine=run.engine,
        master=run.master,
        exchanged=tally.exchanged,
        spec=spec.as_dict(),
        spec_id=spec.id,
        preset=run.preset,
        hints=run.hints,
        version=__version__,
    )
