"""What ``neardup.passages`` gives."""

from __future__ import annotations

import weakref
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.tasks.passages.run import Cutting, Length, PassageRun, PassageSummary


class RepeatedPassages:
    """The repeated passages of a collection: spans, a summary, and the texts without them.

    It keeps the texts, in memory or in a temporary file, for ``cut``; the file goes with it, or with ``close``.
    """

    def __init__(self, run: PassageRun) -> None:
        """Take over a run that has begun."""
        self._run = run
        self._end = weakref.finalize(self, run.__exit__, None, None, None)
        self.spans: pa.Table = run.spans().read_all()
        """One row a span, in the order of the input:

        ``id``; ``start``, ``end`` (characters, those that are whole in it), ``start_byte``, ``end_byte`` (UTF-8), all
        in the text as it was read; ``source_id``, ``source_start`` (characters): an earlier place of the same text, or
        the span itself where it is ``first``; ``count``, ``count_min``: the most and the fewest places at which a
        window of it stands; ``documents``: the most documents that hold one; ``first``: whether all its windows stand
        here for the first time; ``elsewhere``: whether all stood for the first time in an earlier document.

        With ``gaps`` one row a place of a passage: the same but for ``source_end`` behind ``source_start``, then
        ``similarity`` (one less the units that differ between the two, as a share of the longer; 1 where it is
        ``first``) and ``passage`` (a number, from 0, that all places of one passage have), and no ``count_min``.
        ``count`` is the places of the passage, and ``first`` says that no earlier one was found.
        """
        self.summary: PassageSummary = run.summary()
        """What was read and found."""

    def __repr__(self) -> str:
        found = self.summary
        return f"<{found.spans:,} repeated passages in {found.documents:,} documents>"

    def cut(
        self, policy: str = "first", *, snap: str = "word", min_cut: int | None = None, min_left: int = 0
    ) -> pa.Table:
        """The texts without repeated passages: a table of id, text and cut_bytes, in the order of the input.

        Args:
            policy: ``first``: every passage still stands whole at its first place; ``first-greedy``: more is cut, and a
                passage that overlaps with an earlier one may be lost everywhere; ``none``: no copy stays;
                ``other-documents``: as ``first``, but what is repeated inside one document only is left there.
            snap: to what a cut is moved inward: ``char``, ``word``, ``line`` or ``sentence``.
            min_cut: bytes of the shortest cut; when None ``min_bytes`` or ``min_chars``, or two less one a word of
                ``min_words``.
            min_left: texts of which something was cut and fewer characters are left are not in the table.

        Raises:
            InputError: an option cannot be used.

        >>> import neardup
        >>> notice = "Printed by the committee. All rights are reserved by it, everywhere and for all times."
        >>> found = neardup.passages([f"A tale. {notice}", f"A play. {notice}"], min_bytes=40)
        >>> found.cut()["text"].to_pylist()[1]
        'A play'
        """
        shortest = Length.of(self.summary.min_bytes, self.summary.min_words, self.summary.min_chars)
        least = shortest.least_bytes if min_cut is None else min_cut
        table = self._run.texts(Cutting(policy, snap, least, min_left)).read_all()
        kept: Any = table.filter(pc.field("is_kept"))
        return kept.drop_columns(["is_kept"])

    def close(self) -> None:
        """Give back what is kept for ``cut``, which cannot be called any more."""
        self._end()
