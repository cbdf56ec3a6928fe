"""``Index``: a growing collection behind one class, which checks its arguments.

The other modules of this package do the work.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, overload

import numpy as np

from neardup import logs, params, tuning
from neardup.calls import hinted_methods
from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.index import browsing, changes, folders, retention
from neardup.index.ages import parse_age
from neardup.index.answers import answers, find_ids
from neardup.index.backup import backed_up
from neardup.index.batch import IndexBatch
from neardup.index.bulk import build_folder
from neardup.index.checking import verify
from neardup.index.columns import Where
from neardup.index.core import Core, check_same
from neardup.index.database import Database
from neardup.index.nearest import ANY, scan
from neardup.index.outcomes import (
    Added,
    Admission,
    ContainedHit,
    Hit,
    Hits,
    IndexInfo,
    IndexPage,
    IndexStatistics,
    RemovedByAge,
    Stored,
    Streamed,
    Verified,
)
from neardup.index.pairs import find_contained, find_pairs
from neardup.index.prepared import PreparedDocuments, id_text, id_texts, of_batches, original_id
from neardup.index.stream.run import DedupStream, as_sources
from neardup.index.upkeep import Upkeep
from neardup.index.views import documents_of, names_of
from neardup.inputs.json_columns import checked_where
from neardup.inputs.reader import open_inputs, read_options
from neardup.params import (
    Bands,
    InputOptions,
    ListOptions,
    Normalize,
    Preset,
    RunOptions,
    SearchOptions,
    Shingle,
    Spec,
    check_threads,
    check_top,
    with_preset,
)
from neardup.result import Result
from neardup.types import Documents
from neardup.watching import watched

DEFAULT_TOP = 10


@hinted_methods
class Index:
    """A persistent collection of documents that finds those similar to a text.

    Every hit is verified: its similarity is the exact Jaccard similarity of the shingle sets, at least the threshold.
    A document at the threshold is found with the promised recall, a more similar one with a higher probability. A
    change is one transaction, and durable when the call returns. One process may have an index open for writing, and
    any number for reading; they see whole changes only. All methods may be called from any thread.

    ``Index.create``, ``Index.open`` and ``Index.build`` return an index.

    >>> import neardup
    >>> index = neardup.Index.create(threshold=0.5, shingle="word:2")
    >>> index.add(["a", "b"], ["the quick brown fox jumps", "something else entirely"]).added
    2
    >>> index.query("the quick brown fox jumped")
    [Hit(id='a', similarity=0.6)]
    """

    def __init__(self, core: Core | None = None, **_: Any) -> None:
        """Wrap a core; call ``create``, ``open`` or ``build`` instead."""
        if not isinstance(core, Core):
            raise TypeError("an index is made by Index.create(…) or Index.build(…), and opened by Index.open(path)")
        self._core = core
        self._upkeep = Upkeep(core)

    # making, opening, closing

    @classmethod
    @with_preset
    def create(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        preset: str | Preset | None = None,
        threshold: float = params.DEFAULT_THRESHOLD,
        recall: float = params.DEFAULT_RECALL,
        shingle: str | Shingle = params.DEFAULT_SHINGLE,
        normalize: str | Normalize = params.DEFAULT_NORMALIZE,
        slots: int | None = None,
        bands: str | Bands | None = None,
        seed: int = params.DEFAULT_SEED,
        threads: int | None = None,
    ) -> Index:
        """Make an empty index and open it for writing.

        Args:
            path: a folder that does not exist yet; None for an index in memory.
            preset: settings for a kind of text, as in ``find``.
            threshold: least Jaccard similarity that a query can ask for, 0 < t <= 1.
            recall: least probability of finding a document at the threshold.
            shingle, normalize, slots, bands, seed: as in ``find``; they cannot be changed later.
            threads: the number of threads that process documents added from files; None for all processors.

        Raises:
            InputError: an option is out of range.
            OutputError: the folder exists already, or cannot be made.
        """
        spec = tuning.make_spec(SearchOptions.of(locals()))
        workers = check_threads(threads)
        if path is None:
            return cls(Core(None, spec, Database.create(None, spec), threads=workers))
        with folders.appearing(Path(path)) as place:
            Database.create(place, spec).close()
        return cls.open(path, threads=threads)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False, threads: int | None = None) -> Index:
        """Open an existing index.

        Args:
            path: its folder.
            read_only: open for reading; any number of processes can read while one writes.
            threads: see ``create``.

        Raises:
            IndexNotFound: there is no index at this path.
            IndexLocked: another process has it open for writing.
            FormatError: it is damaged, or a later version of neardup made it.
        """
        return cls(Core.open(Path(path), read_only=read_only, threads=check_threads(threads)))

    @classmethod
    @watched
    @with_preset
    def build(
        cls,
        path: str | os.PathLike[str],
        inputs: Any,
        *,
        preset: str | Preset | None = None,
        threshold: float = params.DEFAULT_THRESHOLD,
        recall: float = params.DEFAULT_RECALL,
        shingle: str | Shingle = params.DEFAULT_SHINGLE,
        normalize: str | Normalize = params.DEFAULT_NORMALIZE,
        slots: int | None = None,
        bands: str | Bands | None = None,
        seed: int = params.DEFAULT_SEED,
        text: str | Sequence[str] | None = None,
        id: str | None = None,
        column: str | Sequence[str] | None = None,
        glob: str | None = None,
        encoding: str = "utf-8",
        boilerplate: str = "keep",
        on_bad: str = "fail",
        input_format: str | None = None,
        on_duplicate: str = "error",
        threads: int | None = None,
        observer: Observer | None = None,
        progress: bool = False,
    ) -> Index:
        """Make an index of a whole collection and open it for writing. It appears whole, or not at all.

        This is several times as fast as adding to an empty index, since nothing need be durable before the end.

        Args:
            path: a folder that does not exist yet.
            inputs: as in ``find``; ``text``, ``id``, ``glob``, ``encoding``, ``boilerplate``, ``on_bad`` and
                ``input_format`` too.
            preset, threshold, recall, shingle, normalize, slots, bands, seed: see ``create``.
            column: names of the columns, or fields, to store with each text, as in ``add``.
            on_duplicate: the treatment of an id that occurs again: ``error``, ``skip`` (keep the first) or ``replace``.
            threads: their number; None for all processors.
            observer: receives the progress.
            progress: show a bar, as ``find`` does.

        Raises:
            InputError: an option, a file or a record cannot be used, or an id occurs again.
            OutputError: the folder exists already, or cannot be written.
        """
        given = locals()
        params.check_choice(on_duplicate, params.ON_DUPLICATE, "on_duplicate")
        spec = tuning.make_spec(SearchOptions.of(given))
        reader = open_inputs(inputs, InputOptions.of(given), item=spec.shingle.kind == "item")
        added = build_folder(
            Path(path), reader, spec, on_duplicate, threads=check_threads(threads), observer=observer or Silent()
        )
        index = cls.open(path, threads=threads)
        index.built = added
        return index

    built: Added | None = None
    """The counts of ``build``; None for an index made in another way."""

    def close(self) -> None:
        """Stop the background upkeep of the index and close its files. May be called again."""
        if self._core.database.process != os.getpid():
            return  # a forked copy: the files belong to the parent process
        self._upkeep.stop()
        self._core.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # what it is

    @property
    def path(self) -> Path | None:
        """The folder; None for an index in memory."""
        return self._core.folder

    @property
    def read_only(self) -> bool:
        """Whether the index is open for reading only."""
        return self._core.database.read_only

    @property
    def spec(self) -> Spec:
        """All settings that decide which documents are found."""
        return self._core.spec

    def __len__(self) -> int:
        return self._core.ask(lambda reading, view: reading.state().documents)

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, (str, int, np.integer)) or isinstance(id, bool):
            return False
        name = id_text(id)
        return bool(self._core.ask(lambda reading, view: find_ids(reading, view, self._core.id_row, [name])))

    def __iter__(self) -> Iterator[int | str]:
        """Iterate over the ids in order of addition, as they are now."""
        named = self._core.ask(lambda reading, view: names_of(reading.ids(), reading.path))
        return iter([original_id(id, kind) for _, id, kind in named])

    def __reduce__(self) -> Any:
        raise TypeError("an Index cannot be copied or pickled. Open it again where it is needed, with read_only=True.")

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"at {str(self.path)!r}"
        return f"<neardup.Index {where}: threshold {self.spec.threshold}, {self.spec.shingle}>"

    def info(self) -> IndexInfo:
        """Return the settings, contents and files of the index."""
        return browsing.info(self._core, self._upkeep.trouble)

    def statistics(self) -> IndexStatistics:
        """Count distinct texts, copies, documents that share a bucket, and files of postings.

        This reads all postings but no text: about a second for a million documents.

        >>> index = Index.create()
        >>> index.add(["a", "b", "c"], ["one and the same text", "one and the same text", "another"]).added
        3
        >>> index.statistics().distinct
        2
        """
        return browsing.statistics(self._core)

    # asking it

    @overload
    def query(
        self, texts: str, *, top: int | None = ..., threshold: float | None = ..., exact: bool = ..., where: Where = ...
    ) -> list[Hit]: ...
    @overload
    def query(
        self,
        texts: str,
        *,
        top: int | None = ...,
        threshold: float | None = ...,
        measure: Literal["containment"],
        where: Where = ...,
        observer: Observer | None = ...,
        progress: bool = ...,
    ) -> list[ContainedHit]: ...
    @overload
    def query(
        self,
        texts: Any,
        *,
        top: int | None = ...,
        threshold: float | None = ...,
        exact: bool = ...,
        measure: str = ...,
        where: Where = ...,
        observer: Observer | None = ...,
        progress: bool = ...,
    ) -> Any: ...
    @watched
    def query(
        self,
        texts: Any,
        *,
        top: int | None = DEFAULT_TOP,
        threshold: float | None = None,
        exact: bool = True,
        measure: str = params.DEFAULT_MEASURE,
        where: Where = None,
        observer: Observer | None = None,
        progress: bool = False,
    ) -> Any:
        """Find the documents that are similar to a text, or to each of several.

        Args:
            texts: a text, or a list of texts. If the index holds sets: a set, or a list of sets; a list of strings
                or numbers is then one set, and a text is the set of its words.
            top: the largest number of hits for each text; None for all.
            threshold: least similarity, at least the index's, which is the default. Containment may have any.
            exact: verify the hits; False returns the documents that share a bucket, without similarities.
            measure: ``jaccard``, or ``containment`` for the documents that contain a text or are part of it. Bands do
                not find those, so each call reads all stored texts once: pass many queries at a time.
            where: only documents that have all these columns, such as ``{"tenant": "a"}``. Values are strings, numbers,
                booleans and None; as in JSON, 1 equals 1.0 and does not equal True. A column that a document does not
                have equals nothing.
            observer: receives the progress of that reading; an exception that it raises ends it.
            progress: show a bar, as ``find`` does.

        Returns:
            list[Hit], most similar first, and among equals the one added first; a list of these for several texts. For
            containment list[ContainedHit], which say which one is part of the other.

        Raises:
            InputError: an argument is out of range or has the wrong type.
        """
        is_containment = params.check_choice(measure, params.MEASURES, "measure") == params.CONTAINMENT
        least, wanted = self._threshold(threshold, is_containment=is_containment), checked_where(where)
        check_top(top)
        if not exact and threshold is not None:
            raise InputError("a threshold needs similarities, which exact=False leaves out. Give one of them.")
        if not exact and is_containment:
            raise InputError("containment is always exact. Leave exact=False out.")
        is_one, asked = self._core.sketcher.asked(texts)
        found: list[Any]
        if is_containment:
            how: dict[str, Any] = {"top": top, "threshold": least, "where": wanted, "observer": observer}
            found = find_contained(self._core, Documents.from_bytes(asked), **how)
        else:
            found = answers(self._core, asked, top, least if exact else None, where=wanted)
        return Hits(found[0]) if is_one else list(map(Hits, found))

    def seen(self, texts: Any, *, threshold: float | None = None, where: Where = None) -> Any:
        """Return a verified match of a text, or None if the index has nothing similar; a list for several texts.

        If thousands of documents are similar to it, this is much faster than ``query``, because it stops at the first
        match. Candidates that share the most bands are checked first, 32 at a time, and the match is the most similar
        of the first 32 that contain one; for up to 32 candidates it is the hit of ``query(top=1)``. Arguments and
        errors are those of ``query``.

        >>> index = Index.create(threshold=0.5, shingle="word:2")
        >>> index.add("a", "the quick brown fox jumps").added
        1
        >>> index.seen(["the quick brown fox jumped", "something else entirely"])
        [Hit(id='a', similarity=0.6), None]
        """
        least, wanted = self._threshold(threshold), checked_where(where)
        is_one, asked = self._core.sketcher.asked(texts)
        found = answers(self._core, asked, 1, least, where=wanted, is_first=True)
        matches = [hits[0] if hits else None for hits in found]
        return matches[0] if is_one else matches

    @watched
    def nearest(
        self,
        texts: Any,
        *,
        top: int | None = DEFAULT_TOP,
        threshold: float = 0.0,
        exhaustive: bool = False,
        where: Where = None,
        observer: Observer | None = None,
        progress: bool = False,
    ) -> Any:
        """Find the documents most similar to a text, or to each of several, even below the threshold of the index.

        Similarities are exact. Documents are found by their bands, which are chosen for the threshold of the index: the
        further a similarity is below it, the more likely the document is missed. ``statistics().recall_curve`` and
        ``s_curve`` give the probability for each similarity. ``exhaustive`` misses none.

        Args:
            texts: as in ``query``.
            top: the largest number of hits for each text; None for all that share a shingle.
            threshold: least similarity, 0 to 1.
            exhaustive: compare the texts with every document, in O(all stored text) for each.
            where: only documents that have all these columns, as in ``query``.
            observer: receives the progress of ``exhaustive``; an exception that it raises ends it.
            progress: show a bar, as ``find`` does.

        Returns:
            list[Hit], most similar first, and among equals the one added first; a list of these for several texts. A
            hit that only ``exhaustive`` finds agrees in 0 bands.

        Raises:
            InputError: an argument is out of range or has the wrong type.

        >>> index = Index.create(threshold=0.9, shingle="word:1")
        >>> index.add(["a", "b"], ["one two three four", "five six one"]).added
        2
        >>> index.nearest("one two three", exhaustive=True)[1].similarity
        0.2
        """
        check_top(top)
        least = max(params.check_share(threshold, "threshold"), ANY)
        how: dict[str, Any] = {"top": top, "threshold": least, "where": checked_where(where)}
        is_one, asked = self._core.sketcher.asked(texts)
        if exhaustive:
            found = scan(self._core, asked, **how, observer=observer or Silent())
        else:
            found = answers(self._core, asked, **how)
        return Hits(found[0]) if is_one else list(map(Hits, found))

    def get(self, id: int | str) -> Stored | None:
        """Return the document with an id, or None."""
        return self.get_many([id])[0]

    def get_many(self, ids: Any) -> list[Stored | None]:
        """Return the documents with several ids, or None for each unknown id, all from one moment."""
        return browsing.get_many(self._core, id_texts(ids))

    def page(
        self,
        after: int | None = None,
        *,
        size: int = 50,
        prefix: str = "",
        newest: bool = False,
        opening: int = 200,
        where: Where = None,
    ) -> IndexPage:
        """List some documents in order of addition, for browsing an index; a page is bounded in time and memory.

        A page may have fewer documents than ``size``, even none, without being the last: it looks through at most
        50,000 documents for the prefix and the columns, and reads at most some megabytes of text.

        Args:
            after: ``next`` of the previous page; None for the first page.
            size: the largest number of documents, 1 to 1,000.
            prefix: only documents whose id begins with this.
            newest: start with the documents added last.
            opening: the number of characters returned from the start of each text, with its length; 0 reads no texts.
            where: only documents that have all these columns, as in ``query``.

        Raises:
            InputError: an argument is out of range.

        >>> index = Index.create()
        >>> index.add(["a", "b"], ["the first text", "the second text"]).added
        2
        >>> [(document.id, document.opening) for document in index.page(opening=9).documents]
        [('a', 'the first'), ('b', 'the secon')]
        """
        how: dict[str, Any] = {"size": size, "prefix": id_text(prefix), "newest": newest, "opening": opening}
        return browsing.page(self._core, after, where=checked_where(where), **how)

    @watched
    def find(
        self,
        *,
        link: str = "star",
        with_text: bool | int = False,
        sort: str | None = None,
        top: int | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        observer: Observer | None = None,
        progress: bool = False,
    ) -> Result:
        """Find all near-duplicate pairs and clusters inside the index, as ``find`` does for its documents.

        Args:
            link: the rule that forms clusters from pairs: ``star`` or ``connected``.
            with_text, sort, top: the contents of the tables, as in ``find``.
            memory: limit of the resident memory of the process; half of the free memory when None.
            threads: their number; that with which the index was opened when None.
            observer: receives the progress.
            progress: show a bar, as ``find`` does.
        """
        params.check_choice(link, params.LINK_RULES, "link")
        listing = ListOptions(with_text, sort, top)
        options = RunOptions(threads=self._core.threads if threads is None else threads, memory=memory)
        return find_pairs(self._core, self, listing, link=link, options=options, observer=observer or Silent())

    def pairs(self, **options: Any) -> Any:
        """Return all near-duplicate pairs as an Arrow table id_a, id_b, similarity; options as in ``find``."""
        return self.find(**options).pairs

    def clusters(self, **options: Any) -> Any:
        """Return all documents in clusters as a table id, cluster, keeper, similarity; options as in ``find``."""
        return self.find(**options).clusters

    # changing it

    @watched
    def add(
        self,
        documents: Any,
        texts: Any = None,
        columns: Any = None,
        *,
        on_duplicate: str = "error",
        text: str | Sequence[str] | None = None,
        id: str | None = None,
        column: str | Sequence[str] | None = None,
        glob: str | None = None,
        encoding: str = "utf-8",
        boilerplate: str = "keep",
        on_bad: str = "fail",
        input_format: str | None = None,
        observer: Observer | None = None,
        progress: bool = False,
    ) -> Added:
        """Add documents; they are durable when this returns.

        There are two forms: ``add(ids, texts)`` adds documents from memory, in one transaction; ``add(inputs)``
        reads files, frames and so on, and adds them in transactions of some thousand documents.

        Values in memory without ids, such as a list of texts, get hashes of their texts as ids. So the same text has
        the same id, and is skipped if the index has it already, unless ``on_duplicate`` is ``replace``.

        Args:
            documents: with ``texts``, an id for each text, or one id. Otherwise inputs as in ``find``: a path, a frame,
                a record or a list of them, pairs (id, text) and so on. A whole number outside 64 bits becomes text.
            texts: a text for each id, or one; None if ``documents`` are inputs.
            columns: values to store with each text and to return with hits: a dict of JSON values for each id, or
                None; for one id, one dict. At most 16 KiB a document.
            text, id, glob, encoding, boilerplate, on_bad, input_format: the way to read inputs, as in ``find``.
            column: names of the columns, or fields, of inputs to store with each text, written as several names of
                ``text`` are.
            on_duplicate: the treatment of a document whose id is in the index: ``error``, ``skip`` (keep the first) or
                ``replace``, columns included.
            observer: receives the progress.
            progress: show a bar, as ``find`` does.

        Raises:
            InputError: a document cannot be used, or the index has its id; nothing of its transaction is added.
            OutputError: the disk is full.
        """
        given = locals()
        self._need_writing(on_duplicate)
        if texts is not None:
            for name in ("text", "id", "column", "glob", "input_format"):
                if (value := given[name]) is not None:
                    raise InputError(
                        f"{name} is {value!r}, which is for inputs; ids and texts were given. Leave it out."
                    )
            prepared = self._core.sketcher.from_given(documents, texts, columns)
            return prepared.counted(self._store(prepared, on_duplicate, strict=True))
        if columns is not None:
            raise InputError("columns are for ids and texts, and inputs were given. Name columns of them with column=.")
        reader = open_inputs(documents, InputOptions.of(given), item=self._core.sketcher.is_item, positions=False)
        is_hashed = reader.value is not None
        watching = observer or Silent()
        watching.stage("add", reader.total_bytes, "bytes")
        total = Added()
        with closing(of_batches(self._core.sketcher, reader, self._core.threads, hashed=is_hashed)) as batches:
            for batch, prepared in batches:
                logs.skipped(batch.faults)
                known = "skip" if is_hashed and batch.ids is None and on_duplicate == "error" else on_duplicate
                status = self._store(prepared, known, strict=True)
                total += prepared.counted(status) + Added(bad=batch.bad, blank=batch.blank, faults=tuple(batch.faults))
                watching.advance(batch.consumed)
        return total + Added(columns=reader.columns, passed_over=reader.passed_over)

    def batch(self, *, on_duplicate: str = "error") -> IndexBatch:
        """Return a batch, which takes documents one at a time and stores some thousand of them together.

        ``add`` of the index makes every call durable before it returns, which on a disk takes milliseconds. ``add`` of
        the batch returns at once, and the documents are durable when the ``with`` block ends, or after ``flush``; an
        exception in the block drops those that are still waiting.

        Args:
            on_duplicate: as in ``add``; an error names the id, and none of the waiting documents is added.
        """
        self._need_writing(on_duplicate)
        return IndexBatch(self._core.sketcher, partial(self._store, on_duplicate=on_duplicate, strict=True))

    def add_each(
        self, ids: Iterable[int | str], texts: Iterable[Any], columns: Any = None, *, on_duplicate: str = "error"
    ) -> list[str]:
        """Add documents as ``add(ids, texts)`` does, and return a status for each instead of raising an error.

        Returns:
            ``added``, ``replaced``, ``skipped``, or ``duplicate``: the index has the id, and ``on_duplicate`` is
            ``error``.
        """
        self._need_writing(on_duplicate)
        return self._store(self._core.sketcher.from_given(ids, texts, columns), on_duplicate, strict=False)

    def _store(self, prepared: PreparedDocuments, on_duplicate: str, *, strict: bool) -> list[str]:
        self._need_writing()
        if len(prepared) == 0:
            return []
        status = changes.store(self._core, prepared, on_duplicate, strict=strict)
        self._upkeep.note_change()
        return status

    def remove(self, ids: Any = None, *, where: Where = None, missing: str = "error") -> int:
        """Remove documents in one transaction, and return their number.

        Args:
            ids: one, or several; None removes all documents that match ``where``.
            where: only documents that have all these columns, as in ``query``; the ids of others count as missing.
            missing: the treatment of an id that the index does not have: ``error`` or ``skip``.

        Raises:
            InputError: the index does not have an id; nothing is removed.
        """
        params.check_choice(missing, params.ON_MISSING, "missing")
        self._need_writing()
        wanted = checked_where(where)
        if ids is None and wanted is None:
            raise InputError("neither ids nor where is given. Say which documents are to be removed.")
        removed = changes.remove(self._core, None if ids is None else id_texts(ids), wanted, missing)
        self._upkeep.note_change()
        return removed

    def remove_older_than(self, age: str | timedelta, *, dry_run: bool = False) -> RemovedByAge:
        """Remove all documents older than an age, in one transaction.

        The age counts from the addition to this index, to the second; for a replaced document, from that of its new
        text. Documents that a neardup before 0.2 added have no time: they are counted and kept.

        Args:
            age: a number and ``s``, ``min``, ``h``, ``d`` or ``w`` (``30d``), or a timedelta; above 0.
            dry_run: change nothing, and count the documents that would be removed.

        Raises:
            InputError: the age is not valid.

        >>> index = Index.create()
        >>> index.add("a", "a text that was added just now").added
        1
        >>> index.remove_older_than("30d").removed
        0
        """
        wanted = parse_age(age)
        if not dry_run:
            self._need_writing()
        told = retention.remove_older(self._core, wanted, dry_run=dry_run)
        if told.removed and not dry_run:
            self._upkeep.note_change()
        return told

    @overload
    def add_if_new(
        self, ids: int | str, texts: Any, columns: Any = ..., *, threshold: float | None = ..., on_duplicate: str = ...
    ) -> Admission: ...
    @overload
    def add_if_new(
        self, ids: Any, texts: Any, columns: Any = ..., *, threshold: float | None = ..., on_duplicate: str = ...
    ) -> Any: ...
    def add_if_new(
        self, ids: Any, texts: Any, columns: Any = None, *, threshold: float | None = None, on_duplicate: str = "error"
    ) -> Any:
        """Add each document unless the index has a similar one: the check and the addition are one step.

        Documents are checked and added in order, so those of one call are compared with each other too. A call is one
        transaction for every 1,024 documents, and a document that replaces another has its own. The match is chosen as
        ``seen`` does. Empty documents are always new.

        Args:
            ids, texts, columns: one of each for every document, or those of one document; ``columns`` as in ``add``.
            threshold: a document this similar is not new; at least the index's threshold, which is the default.
            on_duplicate: the treatment of a new document whose id is in the index: ``error``, ``skip`` or ``replace``.

        Returns:
            A list with an Admission for each document; for one id that is not in a list, the Admission itself.

        Raises:
            InputError: a document cannot be used, or the index has its id; earlier ones may have been added.
        """
        self._need_writing(on_duplicate)
        least = self._threshold(threshold)
        is_one = isinstance(ids, (str, int, np.integer))
        prepared = self._core.sketcher.from_given(ids, texts, columns)
        admissions = changes.admit(self._core, prepared, least, on_duplicate)
        self._upkeep.note_change()
        return admissions[0] if is_one else admissions

    def dedup_stream(
        self,
        inputs: Any,
        output: str | os.PathLike[str] | BinaryIO,
        *,
        removed: str | os.PathLike[str] | None = None,
        threshold: float | None = None,
        text: str | Sequence[str] | None = None,
        id: str | None = None,
        column: str | Sequence[str] | None = None,
        on_bad: str = "fail",
        input_format: str | None = None,
        on_duplicate: str = "error",
    ) -> Streamed:
        """Pass on the lines of a stream whose documents are new, byte for byte and as they arrive.

        A line is written to the output, and its document added to the index, if neither the index nor an earlier line
        of the stream has a near-duplicate. Lines are processed at most 0.2 seconds after they arrive, in transactions
        of up to 1,000 documents, and a line is written when its document is on disk.

        The call may end at any moment, even by an exception or with the process, and be repeated with the same stream
        or the rest of it. No line is written twice: a document that is in the index is a near-duplicate of itself. If
        the output is a file, the next call first writes the lines that the earlier one had in the index and had not
        written, at most those of one transaction. So each is written exactly once; lines on their way to a stream are
        lost.

        For records that are not lines, use ``add_if_new``.

        Args:
            inputs: JSON Lines or, as ``input_format`` says, a text a line: names of files, which may be compressed,
                ``-`` for stdin, an open binary file or an iterable of bytes; a separate thread reads them.
            output: a file to append to, ``-`` for stdout, or an open binary stream. During a step there is a note
                next to the file (``.neardup-pending``), from which the next call completes it.
            removed: a .jsonl or .csv file to which a row is appended for each document that is not passed on: id,
                match, similarity.
            threshold, on_duplicate: see ``add_if_new``.
            text, id, column: the fields with the text, the id, and the values to store with the text. A document
                without an id gets a hash of its text.
            on_bad: the treatment of a record that cannot be used: ``fail`` or ``skip``.
            input_format: ``jsonl`` or ``lines``. None: as the name of a file says; without a name ``jsonl``, or
                ``lines`` if the index holds sets.

        Returns:
            Counts of the documents by outcome.

        Raises:
            InputError: an argument, a file or a record cannot be used, or the index has an id; earlier lines are kept.
            OutputError: the output cannot be written. If it is a stream, the documents of the step are removed from
                the index; if it is a file, the next call completes the step.
            FormatError: the note next to the file is damaged, or belongs to another index.

        >>> import io
        >>> index, output = Index.create(threshold=0.5, shingle="word:2"), io.BytesIO()
        >>> lines = [b"one line of a log\\n", b"and another one\\n", b"one line of a log\\n"]
        >>> index.dedup_stream(iter(lines), output, input_format="lines").new
        2
        >>> output.getvalue()
        b'one line of a log\\nand another one\\n'
        """
        self._need_writing(on_duplicate)
        self._threshold(threshold)
        with DedupStream(
            self,
            as_sources(inputs),
            os.fspath(output) if isinstance(output, os.PathLike) else output,
            removed=None if removed is None else os.fspath(removed),
            reading=read_options(InputOptions(text, id, column, on_bad=on_bad), item=self._core.sketcher.is_item),
            input_format=input_format,
            threshold=threshold,
            on_duplicate=on_duplicate,
        ) as stream:
            for chunk in stream.chunks():
                for _ in stream.take(chunk):
                    pass
            return stream.done

    def merge(self, other: Index | str | os.PathLike[str], *, on_duplicate: str = "error") -> Added:
        """Add all documents of another index, which must have the same spec and is not changed.

        Raises:
            SpecMismatch: its spec is another; the message names the differences.
            InputError: an id is in both, and ``on_duplicate`` is ``error``; earlier documents may have been added.
        """
        self._need_writing(on_duplicate)
        if not isinstance(other, Index):
            with Index.open(other, read_only=True) as opened:
                return self.merge(opened, on_duplicate=on_duplicate)
        if other._core is self._core:
            raise InputError("an index cannot be merged with itself. Name another one.")
        check_same(self.spec, other.spec, other._core.name)
        total = Added()
        for rows, columns in browsing.blocks(other._core):
            documents, _, _ = documents_of(rows, other._core.name)
            ids = [original_id(row[1], row[2]) for row in rows]
            prepared = self._core.sketcher.prepare(documents, ids, [columns.get(row[0]) for row in rows])
            total += prepared.counted(self._store(prepared, on_duplicate, strict=True))
        return total

    # keeping it

    def compact(self) -> None:
        """Merge all postings into one segment, drop those of removed documents, and release free space."""
        self._need_writing()
        self._upkeep.compact()

    @watched
    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        observer: Observer | None = None,
        progress: bool = False,
    ) -> IndexInfo:
        """Copy the index, as it is at one moment, to a new folder, while others read and write it.

        The copy is a separate index: open it, or move it to the place of the original. It holds exactly the state after
        one change, gets its name once it is complete and on disk, and is checked in full on the way. An index in memory
        can be saved in this way; its other callers wait.

        Args:
            path: a folder that does not exist yet.
            replace: allow an existing index there, which is replaced when the copy is complete.
            observer: receives the progress.
            progress: show a bar, as ``find`` does.

        Returns:
            The info of the copy.

        Raises:
            InputError: the path is the index itself, or inside it.
            OutputError: the folder exists already, is not an index, or cannot be written.
            IndexLocked: the index to be replaced is open for writing.
            FormatError: a document is damaged; nothing is written.
        """
        self._core.database.need_open()
        with (
            backed_up(self._core, Path(path), replace=replace, observer=observer or Silent()) as place,
            closing(Core.open(place, read_only=False, threads=self._core.threads)) as copy,
        ):
            info = Index(copy).info()
        sizes = folders.sizes(Path(path))
        return dataclasses.replace(info, path=str(path), bytes=sizes, total_bytes=sum(sizes.values()))

    def verify(self, *, repair: bool = True) -> Verified:
        """Read and check everything; rebuild damaged segments unless ``repair`` is False."""
        self._core.database.need_open()
        return verify(self._core, repair=repair)

    # parts

    def _threshold(self, threshold: float | None, *, is_containment: bool = False) -> float:
        if threshold is None:
            return self.spec.threshold
        value = params.check_threshold(threshold)
        if value < self.spec.threshold and not is_containment:
            raise InputError(
                f"threshold is {value}, and the index finds documents from {self.spec.threshold} on. Give at least "
                "that, or build an index with a lower threshold."
            )
        return value

    def _need_writing(self, on_duplicate: str = "error") -> None:
        params.check_choice(on_duplicate, params.ON_DUPLICATE, "on_duplicate")
        self._core.database.need_open()
        if self.read_only:
            raise InputError(f"{self._core.name} is open for reading only. Open it without read_only to change it.")
