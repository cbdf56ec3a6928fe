"""``neardup.passages``: inputs to RepeatedPassages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from neardup.calls import hinted
from neardup.engine.observe import Observer, Silent
from neardup.params import InputOptions, Normalize, Preset, RunOptions, Shingle, preset_options, with_preset
from neardup.tasks.passages.near_units import find_near
from neardup.tasks.passages.outcome import RepeatedPassages
from neardup.tasks.repeats.chains import Changes, passage_run
from neardup.tasks.repeats.selection import Selection
from neardup.tasks.repeats.unit_runs import length_of
from neardup.watching import watched


@hinted
@watched
@with_preset
def passages(
    inputs: Any,
    *,
    preset: str | Preset | None = None,
    unit: str | None = None,
    span: int | None = None,
    threshold: float | None = None,
    shingle: str | Shingle | None = None,
    min_bytes: int | None = None,
    min_words: int | None = None,
    min_chars: int | None = None,
    normalize: str | Normalize = "none",
    against: Any = None,
    ignore: Any = (),
    group_by: str | None = None,
    min_count: int | None = None,
    min_docs: int | None = None,
    min_share: float | None = None,
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
    resume: bool = False,
    observer: Observer | None = None,
    progress: bool = False,
) -> RepeatedPassages:
    """Find every stretch of so many bytes, words or characters that stands at two or more places of a collection.

    Stretches lie within one document each; the places may be in one document or in several, and may overlap. All are
    found, and each is compared unit for unit: no hash decides. The answer is the same for any ``threads``, ``block``
    and ``memory``. Which place is the first goes by the order of the input. Time grows with the bytes of the text.

    With ``unit`` whole lines, sentences or paragraphs are compared instead: every run of ``span`` of them that stands
    at two or more places is found. Units are trimmed of white space, and each is normalised by itself.

    Args:
        inputs: as for ``find``.
        preset: what a known pipeline did, ``c4``, ``c4-lines`` or ``ccnet``, in place of the defaults: unit, span,
            normalisation and the policy of ``cut``. What is given beside it wins.
        unit: ``line`` (to a line break), ``paragraph`` (to a blank line) or ``sentence``, which needs
            ``neardup[sentences]``.
        span: units that stand one behind the other, from 1 to 1,000; 1 when None. Only with ``unit``.
        threshold: similarity, above 0 and at most 1, from which units are near-duplicates, in place of equal ones; they
            are found as ``dedup`` finds documents, with its recall. Only with ``unit``, and with a span of 1; not with
            ``against``, ``ignore`` and ``group_by``.
        shingle: what that similarity is taken of, as for ``find``; ``char:9`` when None.
        min_bytes: bytes of the shortest stretch, in UTF-8: 100 bytes are about 17 English words, or 33 Chinese
            characters. From 16 to 65,536; 100 when none of the three is given.
        min_words: words instead, from 4 to 65,536: runs of letters, marks and numbers. What stands between words is
            not compared; a span is from the first word to the last. The distinct words are held in memory.
        min_chars: characters (code points) instead, from 16 to 65,536. With ``unit`` one of the three says how large a
            unit must be, from 1, to count: a smaller one is part of no run.
        normalize: what is compared, as for ``find``, such as ``nfc,casefold,space``; ``none`` leaves texts as they are.
            Lengths are of the normalised text; spans and cuts are places in the text as it was read.
        against: a second collection, given as ``inputs`` may be: then only what stands in it is found in the inputs,
            once or more often, and the sources of spans are its documents. Only the inputs are cut; every policy cuts
            all that stands there.
        ignore: files with text that is no repeat, such as a licence; passages in one are apart by lines of ``---``. A
            stretch that stands in one is neither reported nor cut. One that is in part of it, in part of what stands
            around it, is reported if it repeats; of it, too, no byte of the template is cut.
        group_by: look inside each group of documents by itself: ``folder:1`` (the first folder below the inputs),
            ``column:NAME``, for which inputs are read twice, or a regular expression that is searched in each id. A
            document that tells no group is one by itself.
        min_count: places at which a stretch stands at least; 2 when None, with ``against`` 1.
        min_docs: documents that hold it at least.
        min_share: the same as a share, from 0 to 1, of all documents, or of those of its group; two at least. These
            three are of every stretch of the least length, or run of ``span`` units, by itself; with ``gaps`` of a
            passage as a whole.
        gaps: find passages that stand again with changes too, such as errors of a scanner: units (bytes, words or
            characters) between two equal stretches of a passage, at most, from 1 to 1,000. Such passages are found
            by rule and not without exception, and ``spans`` has other columns. None: all is compared exactly.
        min_match: with ``gaps``, units of an equal stretch, at least: from 12 bytes or characters (12 when None), or
            from 2 words (3 when None).
        min_similarity: with ``gaps``, of a passage and the earlier one, at least, from 0.3 to 1 (0.5 when None): one
            less the units that differ (edit distance) as a share of the longer of the two.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``.
        memory: as for ``find``. Past it texts and work go to disk.
        workdir: folder to work in from the start, so that a run over files that was killed can be resumed; it is
            removed with the result. When None, a temporary folder is used if memory gets short.
        resume: continue the interrupted run whose work is in ``workdir``, behind the last stage that it finished: texts
            read, repeats grouped, spans known.
        observer, progress: as for ``find``.

    Returns:
        RepeatedPassages with the Arrow table ``spans``, a ``summary`` and ``cut``, which gives the texts without them.

    Raises:
        MissingDependency: sentences are asked for, and the library that finds them is not installed.
        InputError: an option, a file or a record cannot be used, or the copies of one passage need more memory than
            the limit; the message names it and the cure.
        SpoolError: the folder for the work on disk cannot be used: another run's, damaged, or its disk is full.

    >>> import neardup
    >>> verse = "The quick brown fox jumps over the lazy dog"
    >>> found = neardup.passages([f"One. {verse}", f"Two! {verse}"], min_bytes=20)
    >>> found.spans.select(["id", "start", "end", "source_id", "source_start", "first"]).to_pylist()[1]
    {'id': 1, 'start': 4, 'end': 48, 'source_id': 0, 'source_start': 4, 'first': False}
    """
    given = locals()
    selection = Selection.of(given)
    length = length_of(
        unit=unit,
        span=span,
        min_bytes=min_bytes,
        min_words=min_words,
        min_chars=min_chars,
        threshold=threshold,
        shingle=shingle,
    )
    changes = Changes.of(length, gaps, min_match, min_similarity)
    reader = selection.open(inputs, InputOptions.of(given))
    run = passage_run(
        changes,
        reader,
        length,
        RunOptions.of(given),
        observer or Silent(),
        Normalize.parse(normalize),
        selection=selection,
        near=find_near if threshold is not None else None,
    )
    run.__enter__()
    try:
        policy = preset_options(preset.name)["cut"] if isinstance(preset, Preset) else "first"
        return RepeatedPassages(run, policy)
    except BaseException as error:
        run.__exit__(type(error), error, error.__traceback__)
        raise
