"""An open index as one that may only read it has it: queries, documents, pairs, what it is.

``Index`` in ``store`` is this and all that makes, opens, changes and closes an index.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import numpy as np

from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.index import backup, checking, folders
from neardup.index.answers import candidates_of, check, find_ids, hits, unverified
from neardup.index.as_input import IndexSource, stored_blocks
from neardup.index.contained import find_contained
from neardup.index.core import Core
from neardup.index.outcomes import ContainedHit, Hit, IndexInfo, Stored, Verified
from neardup.index.prepared import PreparedDocuments, as_iterable, id_text, original_id
from neardup.index.statements import FORMAT, Reading, Row
from neardup.index.upkeep import Upkeep
from neardup.index.views import View, documents_of, names_of
from neardup.inputs.items import COLLECTIONS
from neardup.inputs.reader import Reader
from neardup.inputs.source import ReadOptions
from neardup.params import (
    CONTAINMENT,
    DEFAULT_MEASURE,
    LINK_RULES,
    MEASURES,
    RunOptions,
    Spec,
    check_choice,
    check_threshold,
)
from neardup.result import Result
from neardup.session import Run

__all__ = ["ReadableIndex"]

DEFAULT_TOP = 10
QUERY_BLOCK = 1024
"""Queries that are answered at a time."""

Outcome = TypeVar("Outcome")


class ReadableIndex:
    """What can be asked of an open index."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._upkeep = Upkeep(core)
        self._process = os.getpid()

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
        return self._ask(lambda reading, view: reading.state().documents)

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, (str, int, np.integer)) or isinstance(id, bool):
            return False
        name = id_text(id)
        return bool(self._ask(lambda reading, view: find_ids(reading, view, self._core.id_row, [name])))

    def __iter__(self) -> Iterator[int | str]:
        """Ids, in order of addition, as of one moment."""
        return iter(
            self._ask(
                lambda reading, view: [original_id(id, kind) for _, id, kind in names_of(reading.ids(), reading.path)]
            )
        )

    def __reduce__(self) -> Any:
        raise TypeError("an Index cannot be copied or pickled. Open it again where it is needed, with read_only=True.")

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"at {str(self.path)!r}"
        return f"<neardup.Index {where}: threshold {self.spec.threshold}, {self.spec.shingle}>"

    def info(self) -> IndexInfo:
        """What the index is and holds."""
        spec = self.spec

        def tell(reading: Reading, view: View) -> IndexInfo:
            state = reading.state()
            sizes = folders.sizes(self.path) if self.path is not None else {}
            return IndexInfo(
                path=None if self.path is None else str(self.path),
                documents=state.documents,
                empty=state.empty,
                threshold=spec.threshold,
                recall=spec.recall,
                bands=str(spec.bands),
                shingle=str(spec.shingle),
                normalize=str(spec.normalize),
                spec=spec.as_dict(),
                spec_id=spec.id,
                format=FORMAT,
                created_by=self._core.created_by,
                generation=state.generation,
                segments=len(view.segments),
                segment_documents=view.covered,
                removed=reading.removed_count(),
                bytes=sizes,
                total_bytes=sum(sizes.values()),
                healed=self._core.repaired,
                trouble=self._upkeep.trouble,
            )

        return self._ask(tell)

    def _blocks(self) -> Iterator[list[Row]]:
        """All documents, as of one moment. In memory they are listed first: nothing is locked while they are used."""
        with self._reading() as reading:
            if self.path is not None:
                yield from stored_blocks(reading)
                return
            held = list(stored_blocks(reading))
        yield from held

    # asking it

    @overload
    def query(
        self, texts: str, *, top: int | None = ..., threshold: float | None = ..., exact: bool = ...
    ) -> list[Hit]: ...
    @overload
    def query(
        self, texts: str, *, top: int | None = ..., threshold: float | None = ..., measure: Literal["containment"]
    ) -> list[ContainedHit]: ...
    @overload
    def query(
        self, texts: Any, *, top: int | None = ..., threshold: float | None = ..., exact: bool = ..., measure: str = ...
    ) -> Any: ...
    def query(
        self,
        texts: Any,
        *,
        top: int | None = DEFAULT_TOP,
        threshold: float | None = None,
        exact: bool = True,
        measure: str = DEFAULT_MEASURE,
    ) -> Any:
        """Documents that are like a text, or like each of several.

        Args:
            texts: a text, or a list of texts. Where the index holds sets: a set, or a list of sets; there a list of
                strings or numbers is one set, and a text is the set of its words.
            top: most hits for each; None: all.
            threshold: least similarity; the index's when None, and no less than that. Of containment any.
            exact: verify; False: only look up which documents share a band, without similarities.
            measure: ``jaccard``, or ``containment`` for the documents that contain a text or are part of it. Bands do
                not find those, so all stored texts are read, once for all queries together: ask with many at a time.

        Returns:
            list[Hit], most similar first, of equals the one added first; a list of these for several texts. Of
            containment list[ContainedHit], which say which one is part of the other.

        Raises:
            InputError: an argument is out of range, or a text is none.
        """
        is_containment = check_choice(measure, MEASURES, "measure") == CONTAINMENT
        least = self._threshold(threshold, is_containment=is_containment)
        if top is not None and (not isinstance(top, int) or isinstance(top, bool) or top < 1):
            raise InputError(f"top is {top!r}. Give a whole number of at least 1, or None for all.")
        if not exact and threshold is not None:
            raise InputError("a threshold needs similarities, which exact=False leaves out. Give one of them.")
        if not exact and is_containment:
            raise InputError("containment is always exact. Leave exact=False out.")
        if isinstance(texts, Iterator):
            texts = list(texts)
        is_one = self._is_one(texts)
        documents = self._core.sketcher.from_values([texts] if is_one else texts)
        if is_containment:
            with self._reading() as reading:
                contained = find_contained(self._core, reading, documents, top=top, threshold=least)
            return contained[0] if is_one else contained
        if is_one:
            return self._answer(self._core.sketcher.prepare_query(documents), top, least, exact=exact)[0]
        found: list[list[Hit]] = []
        for start in range(0, len(documents), QUERY_BLOCK):
            block = documents.slice(start, min(start + QUERY_BLOCK, len(documents)))
            found += self._answer(self._core.sketcher.prepare_query(block), top, least, exact=exact)
        return found

    def _answer(
        self, prepared: PreparedDocuments, top: int | None, threshold: float, *, exact: bool
    ) -> list[list[Hit]]:
        core, n = self._core, len(prepared)

        def work(reading: Reading, view: View) -> list[list[Hit]]:
            candidates = candidates_of(view, prepared)
            if len(candidates) == 0:
                return [[] for _ in range(n)]
            if not exact:
                return unverified(reading, n, candidates, top)
            similarity, names = check(reading, core.sketcher, prepared, candidates, threshold)
            return hits(reading, n, candidates, similarity, names, top)

        return self._ask(work)

    def _is_one(self, texts: Any) -> bool:
        if isinstance(texts, str):
            return True
        if not self._core.sketcher.is_item:
            return False
        values = as_iterable(texts, "texts")
        return not any(isinstance(value, COLLECTIONS) for value in values)

    def get(self, id: int | str) -> Stored | None:
        """The document of an id, or None."""
        return self.get_many([id])[0]

    def get_many(self, ids: Any) -> list[Stored | None]:
        """The documents of several ids, or None for each that is not there, as of one moment."""
        names = [id_text(id) for id in as_iterable(ids, "ids")]

        def work(reading: Reading, view: View) -> list[Stored | None]:
            there = find_ids(reading, view, self._core.id_row, names)
            found: dict[str, Stored] = {}
            for rows in reading.row_blocks(sorted(number for number, _ in there.values())):
                documents_of(rows, reading.path)
                for _, id, kind, _, blob in rows:
                    found[id] = Stored(original_id(id, kind), self._core.sketcher.text(blob))
            return [found.get(name) for name in names]

        return self._ask(work)

    def find(
        self,
        *,
        link: str = "star",
        memory: int | str | None = None,
        threads: int | None = None,
        observer: Observer | None = None,
    ) -> Result:
        """All near-duplicate pairs and clusters inside the index: what ``find`` gives for its documents.

        Args:
            link: how pairs become clusters: ``star`` or ``connected``.
            memory: limit of the resident memory of the process; half of what is free when None.
            threads: how many; as the index was opened when None.
            observer: told about progress.
        """
        check_choice(link, LINK_RULES, "link")
        options = RunOptions(threads=self._core.threads if threads is None else threads, memory=memory)
        with self._reading() as reading:
            source = IndexSource(reading, self._core.name)
            reader = Reader([source], [source.name], ReadOptions(item=self._core.sketcher.is_item), self)
            run = Run(reader, self.spec, options, observer=observer or Silent())
            with run:
                return run.find(link).result()

    def pairs(self, **options: Any) -> Any:
        """Arrow table id_a, id_b, similarity of all near-duplicate pairs; options as of ``find``."""
        return self.find(**options).pairs

    def clusters(self, **options: Any) -> Any:
        """Arrow table id, cluster, keeper, similarity of all documents in clusters; options as of ``find``."""
        return self.find(**options).clusters

    def backup(
        self, path: str | os.PathLike[str], *, replace: bool = False, observer: Observer | None = None
    ) -> IndexInfo:
        """Copy the index to a new folder, as of one moment; all others go on meanwhile, also one that writes.

        The copy is an index of its own: open it, or move it where the index was. It holds exactly what one change left,
        gets its name when it is whole and on the disk, and is read in full once while it is made. An index in memory
        can be kept so; it waits meanwhile.

        Args:
            path: a folder that is not there yet.
            replace: or an index, which is replaced when the copy is whole.
            observer: told about progress.

        Returns:
            What the copy is and holds.

        Raises:
            InputError: the path is the index itself, or inside it.
            OutputError: the folder is there already, is no index, or cannot be written.
            IndexLocked: the index that was to be replaced is being written to.
            FormatError: a document is damaged; nothing is written.
        """
        self._need_process()
        with (
            backup.backed_up(self._core, Path(path), replace=replace, observer=observer or Silent()) as place,
            closing(Core.open(place, read_only=False, threads=self._core.threads)) as copy,
        ):
            info = ReadableIndex(copy).info()
        sizes = folders.sizes(Path(path))
        return dataclasses.replace(info, path=str(path), bytes=sizes, total_bytes=sum(sizes.values()))

    def verify(self, *, repair: bool = True) -> Verified:
        """Read and check everything; damaged segments are made again unless ``repair`` is False."""
        self._need_process()
        return checking.verify(self._core, repair=repair)

    # parts

    def _threshold(self, threshold: float | None, *, is_containment: bool = False) -> float:
        if threshold is None:
            return self.spec.threshold
        value = check_threshold(threshold)
        if value < self.spec.threshold and not is_containment:
            raise InputError(
                f"threshold is {value}, and the index finds documents from {self.spec.threshold} on. Give at least "
                "that, or build an index with a lower threshold."
            )
        return value

    def _ask(self, work: Callable[[Reading, View], Outcome]) -> Outcome:
        self._need_process()
        return self._core.ask(work)

    def _reading(self) -> Any:
        self._need_process()
        return self._core.database.reading()

    def _need_process(self) -> None:
        self._core.database.need_open()
        if self._process != os.getpid():
            raise InputError(
                "the index was opened in the process that this one was forked from. Open it again here, with "
                "read_only=True, or start processes by 'spawn'."
            )
