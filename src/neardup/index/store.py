"""``Index``: a collection that grows, behind one class. What it does with its parts is in the modules beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, overload

import numpy as np

from neardup import tuning
from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.index import changes
from neardup.index.as_input import check_same
from neardup.index.bulk import build_folder
from neardup.index.core import Core
from neardup.index.folders import create_folder
from neardup.index.outcomes import Added, Admission, Streamed
from neardup.index.prepared import (
    PreparedDocuments,
    as_iterable,
    id_text,
    of_batches,
    original_id,
)
from neardup.index.readable import ReadableIndex
from neardup.index.stream.run import DedupStream, as_sources
from neardup.index.views import documents_of
from neardup.inputs.reader import ON_BAD, open_inputs
from neardup.inputs.source import ReadOptions
from neardup.params import (
    DEFAULT_NORMALIZE,
    DEFAULT_RECALL,
    DEFAULT_SEED,
    DEFAULT_SHINGLE,
    DEFAULT_THRESHOLD,
    ON_DUPLICATE,
    ON_MISSING,
    Bands,
    Normalize,
    Shingle,
)
from neardup.session import check_threads

__all__ = ["Index"]


class Index(ReadableIndex):
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
    [Hit(id='a', similarity=0.6, bands=9)]
    """

    # making, opening, closing

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        threshold: float = DEFAULT_THRESHOLD,
        recall: float = DEFAULT_RECALL,
        shingle: str | Shingle = DEFAULT_SHINGLE,
        normalize: str | Normalize = DEFAULT_NORMALIZE,
        slots: int | None = None,
        bands: str | Bands | None = None,
        seed: int = DEFAULT_SEED,
        threads: int | None = None,
    ) -> Index:
        """Make an empty index and open it for writing.

        Args:
            path: a folder that is not there yet; None: in memory.
            threshold: least Jaccard similarity that a query can ask for, 0 < t <= 1.
            recall: least probability of finding a document at the threshold.
            shingle, normalize, slots, bands, seed: as of ``find``; they can never be changed for this index.
            threads: how many work on what is added from files; all processors when None.

        Raises:
            InputError: an option is out of range.
            OutputError: the folder is there already, or cannot be made.
        """
        spec = tuning.make_spec(
            threshold=threshold,
            recall=recall,
            shingle=shingle,
            normalize=normalize,
            slots=slots,
            bands=bands,
            seed=seed,
        )
        workers = check_threads(threads)
        if path is None:
            return cls(Core.in_memory(spec, threads=workers))
        create_folder(Path(path), spec)
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
    def build(
        cls,
        path: str | os.PathLike[str],
        inputs: Any,
        *,
        threshold: float = DEFAULT_THRESHOLD,
        recall: float = DEFAULT_RECALL,
        shingle: str | Shingle = DEFAULT_SHINGLE,
        normalize: str | Normalize = DEFAULT_NORMALIZE,
        slots: int | None = None,
        bands: str | Bands | None = None,
        seed: int = DEFAULT_SEED,
        text: str | None = None,
        id: str | None = None,
        glob: str | None = None,
        encoding: str = "utf-8",
        boilerplate: str = "keep",
        on_bad: str = "fail",
        input_format: str | None = None,
        on_duplicate: str = "error",
        threads: int | None = None,
        observer: Observer | None = None,
    ) -> Index:
        """Make an index of a whole collection and open it for writing. It appears whole, or not at all.

        Several times as fast as adding to an empty index: nothing has to last before the end.

        Args:
            path: a folder that is not there yet.
            inputs: as of ``find``; ``text``, ``id``, ``glob``, ``encoding``, ``boilerplate``, ``on_bad`` and
                ``input_format`` too.
            threshold, recall, shingle, normalize, slots, bands, seed: see ``create``.
            on_duplicate: what an id that comes back does: ``error``, ``skip`` (the first stays) or ``replace``.
            threads: how many; all processors when None.
            observer: told about progress.

        Raises:
            InputError: an option, a file or a record cannot be used, or an id comes back.
            OutputError: the folder is there already, or cannot be written.
        """
        _check_choice(on_duplicate, ON_DUPLICATE, "on_duplicate")
        spec = tuning.make_spec(
            threshold=threshold,
            recall=recall,
            shingle=shingle,
            normalize=normalize,
            slots=slots,
            bands=bands,
            seed=seed,
        )
        reader = open_inputs(
            inputs,
            text=text,
            id=id,
            glob=glob,
            encoding=encoding,
            boilerplate=boilerplate,
            on_bad=on_bad,
            input_format=input_format,
            item=spec.shingle.kind == "item",
        )
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
        if self._process != os.getpid():
            return  # a copy of another process's: its files are not ours to close
        self._upkeep.stop()
        self._core.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # changing it

    def add(
        self,
        documents: Any,
        texts: Any = None,
        *,
        on_duplicate: str = "error",
        text: str | None = None,
        id: str | None = None,
        glob: str | None = None,
        encoding: str = "utf-8",
        boilerplate: str = "keep",
        on_bad: str = "fail",
        input_format: str | None = None,
        observer: Observer | None = None,
    ) -> Added:
        """Add documents; they are durable when this returns.

        Called in two ways: ``add(ids, texts)`` adds documents that are at hand, in one transaction; ``add(inputs)``
        reads files, frames and so on, and adds them in one transaction for every some thousand documents.

        Args:
            documents: with ``texts``, their ids, as many, or one id. Without, inputs as of ``find``: a path, a frame,
                pairs (id, text) and so on.
            texts: a text for each id, or one; None where ``documents`` are inputs.
            text, id, glob, encoding, boilerplate, on_bad, input_format: how inputs are read, as of ``find``.
            on_duplicate: what a document does whose id is there: ``error``, ``skip`` (the first stays) or ``replace``.
            observer: told about progress.

        Raises:
            InputError: a document cannot be used, or its id is there; nothing of its transaction is added.
            OutputError: the disk is full.
        """
        _check_choice(on_duplicate, ON_DUPLICATE, "on_duplicate")
        self._need_writing()
        if texts is not None:
            reading = {"text": text, "id": id, "glob": glob, "input_format": input_format}
            for name, value in reading.items():
                if value is not None:
                    raise InputError(
                        f"{name} is {value!r}, which is for inputs; ids and texts were given. Leave it out."
                    )
            prepared = self._core.sketcher.from_given(documents, texts)
            return prepared.counted(self._store(prepared, on_duplicate, strict=True))
        reader = open_inputs(
            documents,
            text=text,
            id=id,
            glob=glob,
            encoding=encoding,
            boilerplate=boilerplate,
            on_bad=on_bad,
            input_format=input_format,
            item=self._core.sketcher.is_item,
        )
        watching = observer or Silent()
        watching.stage("add", reader.total_bytes, "bytes")
        total = Added(passed_over=reader.passed_over)
        for batch, prepared in of_batches(self._core.sketcher, reader.tasks(), self._core.threads):
            status = self._store(prepared, on_duplicate, strict=True)
            total += prepared.counted(status) + Added(bad=batch.bad, blank=batch.blank, faults=tuple(batch.faults))
            watching.advance(batch.consumed)
        return total

    def add_each(self, ids: Iterable[int | str], texts: Iterable[Any], *, on_duplicate: str = "error") -> list[str]:
        """As ``add`` of ids and texts, with a status for each document in place of an error.

        Returns:
            ``added``, ``replaced``, ``skipped``, or ``duplicate``: its id is there and ``on_duplicate`` is ``error``.
        """
        _check_choice(on_duplicate, ON_DUPLICATE, "on_duplicate")
        self._need_writing()
        return self._store(self._core.sketcher.from_given(ids, texts), on_duplicate, strict=False)

    def _store(self, prepared: PreparedDocuments, on_duplicate: str, *, strict: bool) -> list[str]:
        if len(prepared) == 0:
            return []
        status = changes.store(self._core, prepared, on_duplicate, strict=strict)
        self._upkeep.note_change()
        return status

    def remove(self, ids: Any, *, missing: str = "error") -> int:
        """Remove documents, in one transaction; returns how many.

        Args:
            ids: one, or several.
            missing: what an id does that is not there: ``error``, or ``skip``.

        Raises:
            InputError: an id is not there; nothing is removed.
        """
        _check_choice(missing, ON_MISSING, "missing")
        self._need_writing()
        is_one = isinstance(ids, (str, int, np.integer))
        names = [id_text(id) for id in ([ids] if is_one else as_iterable(ids, "ids"))]
        if not names:
            return 0
        removed = changes.remove(self._core, names, missing)
        self._upkeep.note_change()
        return removed

    @overload
    def add_if_new(
        self, ids: int | str, texts: Any, *, threshold: float | None = ..., on_duplicate: str = ...
    ) -> Admission: ...
    @overload
    def add_if_new(self, ids: Any, texts: Any, *, threshold: float | None = ..., on_duplicate: str = ...) -> Any: ...
    def add_if_new(self, ids: Any, texts: Any, *, threshold: float | None = None, on_duplicate: str = "error") -> Any:
        """Add each document unless one that is there is like it: the check and the addition are one step.

        Each document is checked and added in one step, in order, so those of one call are held against each other too.
        A call is one transaction for every 1,024 documents, and a document that replaces another has its own. Empty
        documents are always new.

        Args:
            ids, texts: of the documents, as many of both; or of one.
            threshold: similarity from which a document is not new; the index's when None, and no less than that.
            on_duplicate: what a new document does whose id is there: ``error``, ``skip`` or ``replace``.

        Returns:
            A list of one Admission for each document; for one id that is not in a list, the Admission itself.

        Raises:
            InputError: a document cannot be used, or its id is there; those before it may have been added.
        """
        _check_choice(on_duplicate, ON_DUPLICATE, "on_duplicate")
        self._need_writing()
        least = self._threshold(threshold)
        is_one = isinstance(ids, (str, int, np.integer))
        admissions = changes.admit(self._core, self._core.sketcher.from_given(ids, texts), least, on_duplicate)
        self._upkeep.note_change()
        return admissions[0] if is_one else admissions

    def dedup_stream(
        self,
        inputs: Any,
        output: str | os.PathLike[str] | BinaryIO,
        *,
        removed: str | os.PathLike[str] | None = None,
        threshold: float | None = None,
        text: str | None = None,
        id: str | None = None,
        on_bad: str = "fail",
        input_format: str | None = None,
        on_duplicate: str = "error",
    ) -> Streamed:
        """Let the lines of a stream through whose documents are new, byte for byte and as they come.

        A line goes to the output, and its document into the index, when it is near to none of the index and to none
        before it in the stream. What has come is worked on after 0.2 seconds at most, in transactions of up to 1,000
        documents, and a line is written when its document is on disk.

        The call may end at any moment, also by an exception or with the process, and be made again with the same
        stream or its rest. No line is written twice: a document that is in the index is near to itself. What the first
        call had in the index and not yet written, of one transaction at most, the next one writes first where the
        output is a file. So that is exactly once; what was on its way to a stream is lost.

        For records that are no lines there is ``add_if_new``.

        Args:
            inputs: JSON Lines or, as ``input_format`` says, a text a line: names of files, also compressed, ``-`` for
                stdin, or what gives bytes (an open binary file, a generator); a thread of its own reads them.
            output: a file, to the end of which lines are added, ``-`` for stdout, or an open binary stream. While a
                step is worked on, a note is beside the file (``.neardup-pending``), from which the next call completes
                it.
            removed: a .jsonl or .csv file that a row is added to for each document that is not let through: id, match,
                similarity.
            threshold, on_duplicate: see ``add_if_new``.
            text, id: fields of the text and of the id. Documents without an id get a hash of their text as theirs.
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
        _check_choice(on_duplicate, ON_DUPLICATE, "on_duplicate")
        _check_choice(on_bad, ON_BAD, "on_bad")
        self._need_writing()
        self._threshold(threshold)
        with DedupStream(
            self,
            as_sources(inputs),
            os.fspath(output) if isinstance(output, os.PathLike) else output,
            removed=None if removed is None else os.fspath(removed),
            reading=ReadOptions(text, id, on_bad=on_bad, item=self._core.sketcher.is_item),
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
        _check_choice(on_duplicate, ON_DUPLICATE, "on_duplicate")
        self._need_writing()
        if not isinstance(other, Index):
            with Index.open(other, read_only=True) as opened:
                return self.merge(opened, on_duplicate=on_duplicate)
        if other._core is self._core:
            raise InputError("an index cannot be merged with itself. Name another one.")
        check_same(self.spec, other.spec, other._core.name)
        total = Added()
        for rows in other._blocks():
            documents, _, _ = documents_of(rows, other._core.name)
            prepared = self._core.sketcher.prepare(documents, [original_id(row[1], row[2]) for row in rows])
            total += prepared.counted(self._store(prepared, on_duplicate, strict=True))
        return total

    # keeping it; ``backup`` and ``verify`` are in ``readable``, for they change nothing that is asked

    def compact(self) -> None:
        """Merge all postings into one segment, without those of removed documents, and give free room back."""
        self._need_writing()
        self._upkeep.compact()

    # parts

    def _need_writing(self) -> None:
        self._need_process()
        if self.read_only:
            raise InputError(f"{self._core.name} is open for reading only. Open it without read_only to change it.")


def _check_choice(value: str, known: tuple[str, ...], name: str) -> None:
    if value not in known:
        raise InputError(f"{name} is {value!r}; known are {', '.join(known)}.")
