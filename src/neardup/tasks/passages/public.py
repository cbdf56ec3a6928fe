"""``neardup.passages``: inputs to RepeatedPassages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from neardup.calls import hinted
from neardup.engine.observe import Observer, Silent
from neardup.inputs.reader import open_inputs
from neardup.params import InputOptions, Normalize, RunOptions
from neardup.tasks.passages.chains import Changes, passage_run
from neardup.tasks.passages.outcome import RepeatedPassages
from neardup.tasks.passages.run import Length
from neardup.watching import watched


@hinted
@watched
def passages(
    inputs: Any,
    *,
    min_bytes: int | None = None,
    min_words: int | None = None,
    min_chars: int | None = None,
    normalize: str | Normalize = "none",
    gaps: int | None = None,
    min_match: int | None = None,
    min_similarity: float | None = None,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    glob: str | None = None,
    encoding: str = "utf-8",
    boilerplate: str = "keep",
    on_bad: str = "fail",
    input_format: str | None = None,
    threads: int | None = None,
    block: int | None = None,
    memory: int | str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    observer: Observer | None = None,
    progress: bool = False,
) -> RepeatedPassages:
    """Find every stretch of so many bytes, words or characters that stands at two or more places of a collection.

    Stretches lie within one document each; the places may be in one document or in several, and may overlap. All are
    found, and each is compared unit for unit: no hash decides. The answer is the same for any ``threads``, ``block``
    and ``memory``. Which place is the first goes by the order of the input. Time grows with the bytes of the text.

    Args:
        inputs: as for ``find``.
        min_bytes: bytes of the shortest stretch, in UTF-8: 100 bytes are about 17 English words, or 33 Chinese
            characters. From 16 to 65,536; 100 when none of the three is given.
        min_words: words instead, from 4 to 65,536: runs of letters, marks and numbers. What stands between words is
            not compared; a span is from the first word to the last. The distinct words are held in memory.
        min_chars: characters (code points) instead, from 16 to 65,536.
        normalize: what is compared, as for ``find``, such as ``nfc,casefold,space``; ``none`` leaves texts as they are.
            Lengths are of the normalised text; spans and cuts are places in the text as it was read.
        gaps: find passages that stand again with changes too, such as errors of a scanner: units (bytes, words or
            characters) between two equal stretches of a passage, at most, from 1 to 1,000. Such passages are found
            by rule and not without exception, and ``spans`` has other columns. None: all is compared exactly.
        min_match: with ``gaps``, units of an equal stretch, at least: from 12 bytes or characters (12 when None), or
            from 2 words (3 when None).
        min_similarity: with ``gaps``, of a passage and the earlier one, at least, from 0.3 to 1 (0.5 when None): one
            less the units that differ (edit distance) as a share of the longer of the two.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``.
        memory: as for ``find``. Past it texts and work go to disk.
        workdir: folder for the work on disk; a temporary one when None.
        observer, progress: as for ``find``.

    Returns:
        RepeatedPassages with the Arrow table ``spans``, a ``summary`` and ``cut``, which gives the texts without them.

    Raises:
        InputError: an option, a file or a record cannot be used, or the copies of one passage need more memory than
            the limit; the message names it and the cure.
        SpoolError: the folder for the work on disk cannot be used.

    >>> import neardup
    >>> verse = "The quick brown fox jumps over the lazy dog"
    >>> found = neardup.passages([f"One. {verse}", f"Two! {verse}"], min_bytes=20)
    >>> found.spans.select(["id", "start", "end", "source_id", "source_start", "first"]).to_pylist()[1]
    {'id': 1, 'start': 4, 'end': 48, 'source_id': 0, 'source_start': 4, 'first': False}
    """
    given = locals()
    reader = open_inputs(inputs, InputOptions.of(given))
    length = Length.of(min_bytes, min_words, min_chars)
    run = passage_run(
        Changes.of(length, gaps, min_match, min_similarity),
        reader,
        length,
        RunOptions.of({**given, "resume": False}),
        observer or Silent(),
        Normalize.parse(normalize),
    )
    run.__enter__()
    try:
        return RepeatedPassages(run)
    except BaseException:
        run.__exit__(None, None, None)
        raise
