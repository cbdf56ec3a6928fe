"""``Index``: a collection that grows, behind one class, which checks what it is given.

The work is done in the modules beside it.
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
    """A persistent collection of documents that can be asked which of them are like a text.

    Every hit is verified: its similarity is the exact Jaccard similarity of the shingle sets, at least the threshold.
    A document at the threshold is found with the promised recall, a more similar one more surely. A change is one
    transaction, and durable when the call returns. One process may have an index open for writing, and any number for
    reading; they see whole changes only. All methods may be called from any thread.

    Made by ``Index.create``, ``Index.open`` or ``Index.build``.

    >>> import neardup
    >>> index = neardup.Index.create(threshold=0.5, shingle="word:2")
    >>> index.add(["a", "b"], ["the quick brown fox jumps", "something else entirely"]).added
    2
    >>> index.query("the quick brown fox jumped")
    [Hit(id='a', similarity=0.6)]
    """

    def __init__(self, core: Core | None = None, **_: Any) -> None:
        """Not to be called: ``create``, ``open`` and ``build`` make an index."""
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
            path: a folder that is not there yet; None: in memory.
            preset: settings for a kind of text, as of ``find``.
            threshold: least Jaccard similarity that a query can ask for, 0 < t <= 1.
            recall: least probability of finding a document at the threshold.
            shingle, normalize, slots, bands, seed: as of ``find``; they can never be changed for this index.
            threads: how many work on what is added from files; all processors when None.

        Raises:
            InputError: an option is out of range.
            OutputError: the folder is there already, or cannot be made.
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
        """Open an index that is there.

        Args:
            path: its folder.
            read_only: do not write; possible for any number of processes, beside one that writes.
            threads: see ``create``.

        Raises:
            IndexNotFound: there is none.
            IndexLocked: another process writes to it.
            FormatError: it is damaged, or of a later version.
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

        Several times as fast as adding to an empty index: nothing has to last before the end.

        Args:
            path: a folder that is not there yet.
            inputs: as of ``find``; ``text``, ``id``, ``glob``, ``encoding``, ``boilerplate``, ``on_bad`` and
                ``input_format`` too.
            preset, threshold, recall, shingle, normalize, slots, bands, seed: see ``create``.
            column: names of the columns, or fields, that are stored beside each text, as of ``add``.
            on_duplicate: what an id that comes back does: ``error``, ``skip`` (the first stays) or ``replace``.
            threads: how many; all processors when None.
            observer: told about progress.
            progress: show a bar, as ``find`` does.

        Raises:
            InputError: an option, a file or a record cannot be used, or an id comes back.
            OutputError: the folder is there already, or cannot be written.
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
    """What ``build`` read; None for an index that was made otherwise."""

    def close(self) -> None:
        """End what is being done for the index in the background and close its files. May be called again."""
        if self._core.database.process != os.getpid():
            return  # a copy of another process's: its files are not ours to close
        self._upkeep.stop()
        self._core.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # what it is

    @property
    def path(self) -> Path | None:
        """Its folder; None in memory."""
        return self._core.folder

    @property
    def read_only(self) -> bool:
        """Whether it is open for reading only."""
        return self._core.database.read_only

    @property
    def spec(self) -> Spec:
        """All that decides which documents are found."""
        return self._core.spec

    def __len__(self) -> int:
        return self._core.ask(lambda reading, view: reading.state().documents)

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, (str, int, np.integer)) or isinstance(id, bool):
            return False
        name = id_text(id)
        return bool(self._core.ask(lambda reading, view: find_ids(reading, view, self._core.id_row, [name])))

    def __iter__(self) -> Iterator[int | str]:
        """Ids, in order of addition, as of one moment."""
        named = self._core.ask(lambda reading, view: names_of(reading.ids(), reading.path))
        return iter([original_id(id, kind) for _, id, kind in named])

    def __reduce__(self) -> Any:
        raise TypeError("an Index cannot be copied or pickled. Open it again where it is needed, with read_only=True.")

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"at {str(self.path)!r}"
        return f"<neardup.Index {where}: threshold {self.spec.threshold}, {self.spec.shingle}>"

    def info(self) -> IndexInfo:
        """Tell what the index is and holds."""
        return browsing.info(self._core, self._upkeep.trouble)

    def statistics(self) -> IndexStatistics:
        """What the index holds in numbers: distinct texts, copies, documents that share a band, files of postings.

        All postings are read, but no text: about a second for a million documents.

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
        """Find the documents that are like a text, or like each of several.

        Args:
            texts: a text, or a list of texts. Where the index holds sets: a set, or a list of sets; there a list of
                strings or numbers is one set, and a text is the set of its words.
            top: most hits for each; None: all.
            threshold: least similarity; the index's when None, and no less than that. Of containment any.
            exact: verify; False: only look up which documents share a band, without similarities.
            measure: ``jaccard``, or ``containment`` for the documents that contain a text or are part of it. Bands do
                not find those, so all stored texts are read, once for all queries together: ask with many at a time.
            where: only documents that have all these columns, such as ``{"tenant": "a"}``. Values are strings, numbers,
                booleans and None; as in JSON, 1 equals 1.0 and does not equal True. A column that a document does not
                have equals nothing.
            observer: told about the progress of that reading; what it raises ends it.
            progress: show a bar, as ``find`` does.

        Returns:
            list[Hit], most similar first, of equals the one added first; a list of these for several texts. Of
            containment list[ContainedHit], which say which one is part of the other.

        Raises:
            InputError: an argument is out of range, or a text is none.
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
        """Return a verified match of a text, or None if nothing in the index is like it; a list for several texts.

        If thousands of documents are like it, this is much faster than ``query``, because it stops at the first match.
        Candidates that share the most bands are checked first, 32 at a time, and the match is the most similar of the
        first 32 that hold one: with up to 32, the hit of ``query(top=1)``. Arguments and errors are those of ``query``.

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
        """The documents that are most like a text, or each of several, also below the threshold of the index.

        Similarities are exact. Documents are found by their bands, which are chosen for the threshold of the index: the
        further a document lies below it, the more probably it is missed. How probably one of a given similarity is
        found is told by ``statistics().recall_curve`` and by ``s_curve``. ``exhaustive`` misses none.

        Args:
            texts: as of ``query``.
            top: most hits for each; None: all that share a shingle.
            threshold: least similarity, 0 to 1.
            exhaustive: compare the texts with every document, in O(all stored text) for each.
            where: only documents that have all these columns, as for ``query``.
            observer: told about the progress of that; what it raises ends it.
            progress: show a bar, as ``find`` does.

        Returns:
            list[Hit], most similar first, of equals the one added first; a list of these for several texts. A hit that
            only ``exhaustive`` finds agrees in 0 bands.

        Raises:
            InputError: an argument is out of range, or a text is none.

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
        """The document of an id, or None."""
        return self.get_many([id])[0]

    def get_many(self, ids: Any) -> list[Stored | None]:
        """The documents of several ids, or None for each that is not there, as of one moment."""
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
        """List some documents in order of addition, to look through an index; a page is bounded in time and memory.

        A page may have fewer documents than ``size``, and even none, and not be the last: it looks through 50,000
        documents at most for ids with the prefix and for columns, and reads some megabytes of text at most.

        Args:
            after: ``next`` of the page before; None for the first page.
            size: most documents, 1 to 1,000.
            prefix: only documents whose id begins with this.
            newest: the documents added last come first.
            opening: characters of each text that are given, with the length of the whole; 0 reads no texts.
            where: only documents that have all these columns, as for ``query``.

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
        """All near-duplicate pairs and clusters inside the index: what ``find`` gives for its documents.

        Args:
            link: how pairs become clusters: ``star`` or ``connected``.
            with_text, sort, top: what the tables list, as for ``find``.
            memory: limit of the resident memory of the process; half of what is free when None.
            threads: how many; as the index was opened when None.
            observer: told about progress.
            progress: show a bar, as ``find`` does.
        """
        params.check_choice(link, params.LINK_RULES, "link")
        listing = ListOptions(with_text, sort, top)
        options = RunOptions(threads=self._core.threads if threads is None else threads, memory=memory)
        return find_pairs(self._core, self, listing, link=link, options=options, observer=observer or Silent())

    def pairs(self, **options: Any) -> Any:
        """Arrow table id_a, id_b, similarity of all near-duplicate pairs; options as of ``find``."""
        return self.find(**options).pairs

    def clusters(self, **options: Any) -> Any:
        """Arrow table id, cluster, keeper, similarity of all documents in clusters; options as of ``find``."""
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

        Called in two ways: ``add(ids, texts)`` adds documents that are at hand, in one transaction; ``add(inputs)``
        reads files, frames and so on, and adds them in one transaction for every some thousand documents.

        Values in memory without ids, such as a list of texts, get hashes of their texts as ids. So the same text has
        the same id, and is skipped if it is there already, unless ``on_duplicate`` is ``replace``.

        Args:
            documents: with ``texts``, their ids, as many, or one id. Without, inputs as of ``find``: a path, a frame,
                a record or a list of them, pairs (id, text) and so on. A whole number outside 64 bits becomes text.
            texts: a text for each id, or one; None if ``documents`` are inputs.
            columns: what is stored beside each text and comes back with hits: a dict of JSON values for each id, or
                None; of one id, one dict. At most 16 KiB a document.
            text, id, glob, encoding, boilerplate, on_bad, input_format: how inputs are read, as of ``find``.
            column: names of the columns, or fields, of inputs that are stored beside each text, named as several of
                ``text`` are.
            on_duplicate: what a document does whose id is there: ``error``, ``skip`` (the first stays) or ``replace``,
                with its columns.
            observer: told about progress.
            progress: show a bar, as ``find`` does.

        Raises:
            InputError: a document cannot be used, or its id is there; nothing of its transaction is added.
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
        """Add documents that come one at a time, and store some thousand of them together.

        ``add`` makes every call durable before it returns, which on a disk takes milliseconds. Here ``add`` of the
        batch returns at once, and the documents are durable when the ``with`` block ends, or after ``flush``; an
        exception in the block drops those that still wait.

        Args:
            on_duplicate: as for ``add``; an error names the id, and none of the documents that waited is added.
        """
        self._need_writing(on_duplicate)
        return IndexBatch(self._core.sketcher, partial(self._store, on_duplicate=on_duplicate, strict=True))

    def add_each(
        self, ids: Iterable[int | str], texts: Iterable[Any], columns: Any = None, *, on_duplicate: str = "error"
    ) -> list[str]:
        """Add documents as ``add`` of ids and texts, with a status for each in place of an error.

        Returns:
            ``added``, ``replaced``, ``skipped``, or ``duplicate``: its id is there and ``on_duplicate`` is ``error``.
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
        """Remove documents, in one transaction, and return how many.

        Args:
            ids: one, or several; None with ``where``: all that match it.
            where: only documents that have all these columns, as for ``query``. To others their ids are not there.
            missing: what an id does that is not there: ``error``, or ``skip``.

        Raises:
            InputError: an id is not there; nothing is removed.
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
        """Remove all documents that were added longer ago than an age, in one transaction.

        The time of a document is that of its addition to this index, to the second; a replaced document has that of
        its new text. Documents that a neardup before 0.2 added have none: they are counted, and stay.

        Args:
            age: a number and ``s``, ``min``, ``h``, ``d`` or ``w`` (``30d``), or a timedelta; above 0.
            dry_run: change nothing, and say how many would go.

        Raises:
            InputError: the age is none.

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
        """Add each document unless one that is there is like it: the check and the addition are one step.

        Each document is checked and added in one step, in order, so those of one call are compared with each other too.
        A call is one transaction for every 1,024 documents, and a document that replaces another has its own. A match
        in the index is that of ``seen``. Empty documents are always new.

        Args:
            ids, texts, columns: of the documents, as many of each, or of one; ``columns`` as for ``add``.
            threshold: similarity from which a document is not new; the index's when None, and no less than that.
            on_duplicate: what a new document does whose id is there: ``error``, ``skip`` or ``replace``.

        Returns:
            A list of one Admission for each document; for one id that is not in a list, the Admission itself.

        Raises:
            InputError: a document cannot be used, or its id is there; those before it may have been added.
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

        A line is written to the output, and its document added to the index, when it is a near-duplicate of none in
        the index and of none before it in the stream. What has come is worked on after 0.2 seconds at most, in
        transactions of up to 1,000 documents, and a line is written when its document is on disk.

        The call may end at any moment, also by an exception or with the process, and be made again with the same
        stream or its rest. No line is written twice: a document that is in the index is a near-duplicate of itself.
        What the first call had in the index and not yet written, of one transaction at most, the next one writes first
        where the output is a file. So that is exactly once; what was on its way to a stream is lost.

        For records that are no lines there is ``add_if_new``.

        Args:
            inputs: JSON Lines or, as ``input_format`` says, a text a line: names of files, also compressed, ``-`` for
                stdin, or what gives bytes (an open binary file, a generator); a thread of its own reads them.
            output: a file, to the end of which lines are added, ``-`` for stdout, or an open binary stream. While a
                step is worked on, a note is beside the file (``.neardup-pending``), from which the next call completes
                it.
            removed: a .jsonl or .csv file that a row is added to for each document that is not passed on: id, match,
                similarity.
            threshold, on_duplicate: see ``add_if_new``.
            text, id, column: fields of the text, of the id, and of what is stored beside the text. Documents without an
                id get a hash of their text as theirs.
            on_bad: what a record does that cannot be used: ``fail``, or ``skip``.
            input_format: ``jsonl`` or ``lines``. When None, as the name of a file tells; without a name ``jsonl``, or
                ``lines`` where the index holds sets.

        Returns:
            Counts of what became of the documents.

        Raises:
            InputError: an argument, a file or a record cannot be used, or an id is there; what came before it stays.
            OutputError: the output takes no more. The documents of the step are out of the index again where it is a
                stream; where it is a file the next call completes it.
            FormatError: the note beside the file is damaged, or of another index.

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
        """Add all documents of another index, which must have the same spec, and stays as it is.

        Raises:
            SpecMismatch: it has another; the message says what differs.
            InputError: an id is in both, and that was to be an error; documents before it may have been added.
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
        """Merge all postings into one segment, without those of removed documents, and give free room back."""
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
        """Copy the index to a new folder, as of one moment; all others go on meanwhile, also one that writes.

        The copy is an index of its own: open it, or move it where the index was. It holds exactly what one change left,
        gets its name when it is whole and on the disk, and is read in full once while it is made. An index in memory
        can be kept so; it waits meanwhile.

        Args:
            path: a folder that is not there yet.
            replace: or an index, which is replaced when the copy is whole.
            observer: told about progress.
            progress: show a bar, as ``find`` does.

        Returns:
            What the copy is and holds.

        Raises:
            InputError: the path is the index itself, or inside it.
            OutputError: the folder is there already, is no index, or cannot be written.
            IndexLocked: the index that was to be replaced is being written to.
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
        """Read and check everything; damaged segments are made again unless ``repair`` is False."""
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
