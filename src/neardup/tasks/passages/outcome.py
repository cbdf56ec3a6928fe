"""What ``neardup.passages`` gives."""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.outputs.frames import pandas_frame, polars_frame
from neardup.shown import counted, megabytes, percent
from neardup.tasks.repeats.groups import group_table
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.second import second_pass
from neardup.tasks.repeats.settings import Cutting
from neardup.tasks.repeats.summary import PassageSummary
from neardup.tasks.repeats.unit_runs import cutting_of

if TYPE_CHECKING:
    from neardup.pages.contexts import Contexts

LISTED = 5
"""Passages and documents that a notebook shows without being asked."""


@dataclass(frozen=True, slots=True)
class PassagePage:
    """A page of repeated passages that was written."""

    path: Path
    """The page to open."""
    files: int
    bytes: int
    summary: PassageSummary
    """What was read and found."""

    def __repr__(self) -> str:
        return f"<{self.path}, {counted(self.files, 'file')}, {self.bytes:,} bytes>"

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import page_view

        facts = [
            ("repeated", percent(self.summary.repeated_bytes, self.summary.bytes)),
            ("files", f"{self.files:,}"),
            ("size", megabytes(self.bytes)),
        ]
        title = f"{counted(self.summary.passages, 'repeated passage')} in {counted(self.summary.documents, 'document')}"
        return page_view(title, self.path, facts=facts, is_whole=self.files == 1, size=self.bytes)


class RepeatedPassages:
    """The repeated passages of a collection: spans, a summary, and the texts without them.

    It keeps the texts, in memory or in a temporary file, for ``cut``, ``show`` and ``report``; the file goes with it,
    or with ``close``.
    """

    def __init__(self, run: PassageRun, policy: str = "first") -> None:
        """Take over a run that has begun; ``policy`` is the default of ``cut``."""
        self._run = run
        self._policy = policy
        self._end = weakref.finalize(self, run.__exit__, None, None, None)
        self.spans: pa.Table = run.spans().read_all()
        """One row a span, in the order of the input:

        ``id``; ``start``, ``end`` (characters, those that are whole in it), ``start_byte``, ``end_byte`` (UTF-8), all
        in the text as it was read; ``source_id``, ``source_start`` (characters): an earlier place of the same text, or
        the span itself where it is ``first``; ``count``, ``count_min``: the most and the fewest places at which a
        window of it stands; ``documents``: the most documents that hold one; ``first``: whether all its windows stand
        here for the first time; ``elsewhere``: whether all stood for the first time in an earlier document; with a
        ``threshold`` also ``similarity``, to the source.

        With ``against`` the sources are documents of the other collection, and no span is ``first``; places and
        documents are counted in the inputs. With ``group_by`` also ``group`` and ``group_documents``, the documents of
        the group: sources are in it, and places and documents are counted in it.

        With ``gaps`` one row a place of a passage: the same but for ``source_end`` behind ``source_start``, then
        ``similarity`` (one less the units that differ between the two, as a share of the longer; 1 where it is
        ``first``) and ``passage`` (a number, from 0, that all places of one passage have), and no ``count_min``.
        ``count`` is the places of the passage, and ``first`` says that no earlier one was found.
        """
        self.groups: pa.Table | None = group_table(run)
        """With ``group_by`` every group that repeats something, the one with most first, else None: ``group``,
        ``documents``, ``bytes``, ``spans``, ``repeated_bytes``. ``group`` is null for a document that tells none."""
        self.summary: PassageSummary = run.summary()
        """What was read and found."""

    def __repr__(self) -> str:
        found = self.summary
        return f"<{found.spans:,} repeated passages in {found.documents:,} documents>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The spans, for any library that takes Arrow streams."""
        return self.spans.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The spans as a pandas data frame. MissingDependency: pandas is not installed."""
        return pandas_frame(self.spans)

    def to_polars(self) -> Any:
        """The spans as a polars data frame. MissingDependency: polars is not installed."""
        return polars_frame(self.spans)

    def cut(
        self,
        policy: str | None = None,
        *,
        snap: str | None = None,
        min_cut: int | None = None,
        min_left: int | None = None,
    ) -> pa.Table:
        """The texts without repeated passages: a table of id, text and cut_bytes, in the order of the input.

        Args:
            policy: ``first``: every passage still stands whole at its first place; ``first-greedy``: more is cut, and a
                passage that overlaps with an earlier one may be lost everywhere; ``none``: no copy stays;
                ``other-documents``: as ``first``, but what is repeated inside one document only is left there. When
                None that of the ``preset``, else ``first``.
            snap: to what a cut is moved inward: ``char``, ``word`` (when None), ``line`` or ``sentence``. Not with
                ``unit``: a line, sentence or paragraph is cut whole, with the white space on one side.
            min_cut: bytes of the shortest cut; when None ``min_bytes`` or ``min_chars``, or two less one a word of
                ``min_words``; 0 with ``unit``.
            min_left: texts of which something was cut and fewer characters are left are not in the table; with 0 they
                may be empty. None: 1, but under ``none`` a text of which nothing but white space would be left is not
                cut, since it would be lost everywhere.

        Raises:
            InputError: an option cannot be used.

        >>> import neardup
        >>> notice = "Printed by the committee. All rights are reserved by it, everywhere and for all times."
        >>> found = neardup.passages([f"A tale. {notice}", f"A play. {notice}"], min_bytes=40)
        >>> found.cut()["text"].to_pylist()[1]
        'A play'
        """
        cutting = self._cutting(policy, snap, min_cut, min_left)
        kept: Any = self._run.texts(cutting).read_all().filter(pc.field("is_kept"))
        return kept.drop_columns(["is_kept"])

    def second_pass(
        self,
        policy: str | None = None,
        *,
        snap: str | None = None,
        min_cut: int | None = None,
        min_left: int | None = None,
    ) -> PassageSummary:
        """The summary of the same search over the texts that ``cut`` gives with these options: how much still repeats.

        A cut brings together what stood on its two sides; the ends of a passage stay where a cut was moved inward. It
        takes about as long as the first search of texts of that size. Nothing is cut.

        Raises:
            InputError: an option cannot be used.

        >>> import neardup
        >>> line = "the same line in each of them, "
        >>> found = neardup.passages([line + "one", line + "six", line + "two"], min_bytes=20)
        >>> found.summary.later_bytes, found.second_pass().later_bytes
        (62, 0)
        """
        cutting = self._cutting(policy, snap, min_cut, min_left)
        return second_pass(self._run, self._run.cut_documents(cutting), cutting.least_left)

    def report(
        self,
        output: str | os.PathLike[str],
        *,
        policy: str | None = None,
        snap: str | None = None,
        min_cut: int | None = None,
        min_left: int | None = None,
        title: str | None = None,
        single_file: bool = False,
    ) -> PassagePage:
        """Write a page to look at: the passages with their places, and what would be cut of which document.

        Args:
            output: a name that ends in .html, for one file of about 20 MB at most; else a folder of about 200 MB at
                most, made when it is not there. An earlier page in its place is replaced. The page says what it
                leaves out.
            policy, snap, min_cut, min_left: as for ``cut``: the page shows what that would cut.
            title: title of the page; made of the names of the inputs when None.
            single_file: one file whatever its name.

        Returns:
            PassagePage with ``path`` (of the page to open), ``files`` and ``bytes``.

        Raises:
            InputError: an option cannot be used.
            OutputError: the page cannot be written, or something else is there.

        >>> import neardup, tempfile, pathlib
        >>> notice = "Printed by the committee. All rights are reserved by it, everywhere and for all times."
        >>> found = neardup.passages([f"A tale. {notice}", f"A play. {notice}"], min_bytes=40)
        >>> found.report(pathlib.Path(tempfile.mkdtemp(), "page.html")).path.name
        'page.html'
        """
        from neardup.tasks.passages.page import write_page

        cutting = self._cutting(policy, snap, min_cut, min_left)
        written = write_page(self._run, cutting, output, title=title, single_file=single_file)
        return PassagePage(written.path, written.files, written.bytes, self.summary)

    def show(self, n: int = 10, *, places: int = 3, characters: int = 200) -> Contexts:
        """The passages that weigh most, where they stand: in a notebook, or as text.

        Args:
            n: so many passages; those first whose places have most bytes together.
            places: of each passage, the first in the order of the input.
            characters: of the text before, in and behind a passage, at most so many each.

        Raises:
            InputError: a number is less than 1.

        >>> import neardup
        >>> notice = "Printed by the committee. All rights are reserved by it, everywhere and for all times."
        >>> neardup.passages([f"A tale. {notice}", f"A play. {notice}"], min_bytes=40).show(characters=30)
        88 bytes at 2 places in 2 documents
          0 at 6  A tale[. Printed by the committee. Al…]
          1 at 6  A play[. Printed by the committee. Al…]
        """
        from neardup.tasks.passages.contexts import find_contexts

        return find_contexts(self._run, n, places, characters)

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import Table, view
        from neardup.tasks.repeats.overview import losers, top_passages

        found = self.summary
        share = [percent(size, found.bytes) for size in (found.repeated_bytes, found.later_bytes)]
        facts = [
            ("documents", f"{found.documents:,}"),
            ("repeated", f"{share[0]}, {share[1]} stood before"),
            ("passages", f"{found.passages:,}"),
            ("spans", f"{found.spans:,}"),
        ]
        if self._end.peek() is None:  # closed: the texts are gone
            return view(repr(self).strip("<>"), facts=facts)
        passages = [
            [each["count"], each["bytes"], str(each["id"]), each["opening"]] for each in top_passages(self._run, LISTED)
        ]
        columns = ["places", "bytes", "first in", "text"]
        top = Table(columns, passages, "The passages that weigh most", found.passages - len(passages))
        lost = [[str(each["id"]), each["bytes"], each["cut_bytes"]] for each in losers(self._run, "first", LISTED)]
        least = Table(["document", "bytes", "would be cut"], lost, "The documents that would lose most")
        return view(repr(self).strip("<>"), facts=facts, tables=[top, least])

    def _cutting(self, policy: str | None, snap: str | None, min_cut: int | None, min_left: int | None) -> Cutting:
        chosen = self._policy if policy is None else policy
        return cutting_of(self._run.length, chosen, snap=snap, min_cut=min_cut, min_left=min_left)

    def close(self) -> None:
        """Give back what is kept for ``cut``, ``show`` and ``report``, which cannot be called any more."""
        self._end()
