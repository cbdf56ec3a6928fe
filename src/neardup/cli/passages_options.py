"""The options of ``neardup passages``, and those of ``neardup dedup`` for passages inside the documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from neardup.cli import forms, options
from neardup.errors import InputError
from neardup.params import (
    DEFAULT_SHINGLE,
    LOCAL,
    PIPELINES,
    Normalize,
    Shingle,
    check_preset,
    check_share,
    check_threshold,
    pipelines_help,
)

POLICIES = ("first", "first-greedy", "none", "other-documents")
SNAPS = ("char", "word", "line", "sentence")
UNITS = ("line", "sentence", "paragraph")
"""As ``neardup.passages`` has them. These are written here so that the help loads no numpy; a test compares them."""


def _share(value: object, *, name: str, cure: str) -> float:
    try:
        return check_share(float(str(value)), name)
    except ValueError as exc:  # InputError too
        raise InputError(f"{name} is {value}. {cure}") from exc


def _cuts(option: str) -> Callable[[Any], Any]:
    return click.option(
        "--cuts",
        metavar="FILE",
        help=f"With {option}: file that says of each document that was cut its id, cut_bytes, the characters left, and"
        " whether it was kept.  [default: none is written]",
    )


compared = options.together(
    click.option(
        "--preset",
        "preset",
        type=options.Checked("pipeline", partial(check_preset, option="preset", names=PIPELINES)),
        metavar="PIPELINE",
        help="What a known pipeline did with repeated lines and sentences, in place of the defaults. Options given"
        f" with it win, and --cut is only set with -o. {pipelines_help()}.  [default: none]",
    ),
    click.option(
        "--unit",
        type=click.Choice(UNITS),
        help="Compare whole lines, sentences or paragraphs: a passage is then a run of --span of them. A paragraph"
        " ends at a blank line. Sentences need neardup[sentences].  [default: passages begin and end anywhere]",
    ),
    options.number(
        "--span",
        (1, 1000),
        help="With --unit: lines, sentences or paragraphs of the shortest passage.  [default: 1]",
    ),
    click.option(
        "--threshold",
        "-t",
        type=options.Checked("number", check_threshold),
        metavar="T",
        help="With --unit: near-duplicates from this similarity on, one by one, in place of equal units. They are"
        " found as neardup dedup finds documents; the table has the similarity to the first one of a group. "
        " [default: equal units]",
    ),
    click.option(
        "--shingle",
        type=options.Checked("unit:k", Shingle.parse),
        metavar="UNIT:K",
        help=f"With --threshold: what the similarity is taken of, as for neardup find.  [default: {DEFAULT_SHINGLE}]",
    ),
    options.number(
        "--min-bytes",
        (1, 1 << 16),
        help="Bytes of the shortest passage, in UTF-8, from 16: 100 are about 17 English words, or 33 Chinese"
        " characters. With --unit this and the next two say how large a unit must be, from 1, to count.  [default:"
        " 100, without the next two and --unit]",
    ),
    options.number(
        "--min-words",
        (1, 1 << 16),
        help="Words instead, from 4: runs of letters, marks and numbers. What stands between words is not compared,"
        " and a passage is from its first word to its last.",
    ),
    options.number("--min-chars", (1, 1 << 16), help="Characters instead, from 16."),
    options.defaulted(
        "--normalize",
        type=options.Checked("steps", Normalize.parse),
        metavar="STEPS",
        default="none",
        help="What is compared, as for neardup find, such as nfc,casefold,space; each unit by itself. Lengths are"
        " of the normalised text, and spans and cuts are places in the text as it was read.",
    ),
)
"""What is compared, and how long a passage is."""

selected = options.together(
    options.several_inputs(
        "--against",
        type=click.Path(path_type=Path, allow_dash=True),
        help="Second collection: find only what stands in it, and cut that, at every place of the inputs and by every"
        " policy. The sources of spans (source_id) are its documents; places and documents are counted in the inputs."
        " May be given several times.  [default: none]",
    ),
    click.option(
        "--ignore",
        multiple=True,
        metavar="FILE",
        help="Template, such as a licence: what stands in it is no repeat. Passages in it are apart by lines of ---"
        " alone. A stretch that is in part of the template and in part of what stands around it is still found if it"
        " repeats, but no byte of the template is cut. Several are allowed.  [default: all text counts]",
    ),
    click.option(
        "--group-by",
        metavar="RULE",
        help="Look for passages inside each group of documents by itself, such as the pages of a site: folder:1, the"
        " first folder below the inputs; column:NAME; or a regular expression that is searched in each id. The table"
        " has the columns group and group_documents too.  [default: the whole collection is one]",
    ),
    options.number(
        "--min-count",
        (1, (1 << 32) - 1),
        help="Find only what stands at so many places, of the group if there are groups; with --gaps a passage as a"
        " whole.  [default: 2, with --against 1]",
    ),
    options.number(
        "--min-docs",
        (1, (1 << 32) - 1),
        help="Find only what stands in so many documents, of the group if there are groups; with --gaps a passage as a"
        " whole.  [default: 1]",
    ),
    click.option(
        "--min-share",
        type=options.Checked("share", partial(_share, name="min_share", cure="Give a share from 0 to 1.")),
        metavar="SHARE",
        help="Find only what stands in such a share of all documents, or of those of its group, such as 0.05; in two at"
        " least.  [default: any share]",
    ),
)
"""Which passages are wanted."""

changed = options.together(
    options.number(
        "--gaps",
        (1, 1000),
        help="Find passages that stand again with changes too, such as errors of a scanner: bytes, words or characters"
        " between two equal stretches of a passage, at most. The table has other columns then.  [default: all is"
        " compared exactly]",
    ),
    options.number(
        "--min-match",
        (2, None),
        help="With --gaps: length of an equal stretch.  [default: 12 bytes or characters, or 3 words]",
    ),
    click.option(
        "--min-similarity",
        type=options.Checked("share", partial(_share, name="min_similarity", cure="Give a number from 0.3 to 1.")),
        metavar="S",
        help="With --gaps: least similarity of a passage and the earlier one, from 0.3 to 1: one less what differs"
        " (edit distance) as a share of the longer of the two.  [default: 0.5]",
    ),
)
"""Passages with changes."""

written = options.together(
    click.option(
        "--output",
        "-o",
        metavar="OUTPUT",
        help="File for the table of spans; .jsonl, .csv, .parquet or .xlsx; - is stdout. With --cut the place of the"
        " clean copies, as for neardup dedup: a folder, for a single input a file, or - for one stream.  [default:"
        " none is written, and required with --cut]",
    ),
    click.option(
        "--cut",
        type=click.Choice(POLICIES),
        help="Write copies of the inputs without what is repeated. first: each passage still stands whole at its first"
        " place. first-greedy: more is cut, and a passage that overlaps with an earlier one may be lost everywhere."
        " none: no copy stays. other-documents: as first, but what is repeated inside one document only is left there."
        "  [default: nothing is cut]",
    ),
    click.option(
        "--snap",
        type=click.Choice(SNAPS),
        help="To what a cut is moved inward, so that no word, line or sentence is cut in two. Not with --unit: units"
        " are cut whole, with the white space on one side.  [default: word]",
    ),
    options.number(
        "--min-cut",
        (0, None),
        help="Bytes of the shortest cut, after it was moved inward.  [default: those of the shortest passage, 0 with"
        " --unit]",
    ),
    options.number(
        "--min-left",
        (0, None),
        help="The fewest characters that a document that was cut must have left. With fewer it is left out of the"
        " copies; --cuts lists it. With 0 documents may be emptied.  [default: 1; under none a document of which"
        " nothing but white space would be left is not cut]",
    ),
    click.option(
        "--spans",
        metavar="FILE",
        help="With --cut: file for the table of spans.  [default: none is written]",
    ),
    _cuts("--cut"),
    click.option(
        "--second-pass",
        is_flag=True,
        help="With --cut: search the clean copies in the same way, and say how much still repeats in them. A cut brings"
        " together what stood on its two sides, and one that was moved inward leaves the ends of a passage. Nothing"
        " more is cut. Takes about as long as the first search of so much text.",
    ),
    click.option(
        "--report",
        metavar="PAGE",
        help="Write a page to look at: the passages where they stand, and what --cut takes of each document, or would"
        " take. A name that ends in .html is one file, of about 20 MB at most; another a folder, of about 200 MB at"
        " most.  [default: none is written]",
    ),
)
"""What is written and cut."""

inside = options.together(
    click.option(
        "--passages",
        type=click.Choice(POLICIES),
        help="Also cut the passages that repeat inside documents, as neardup passages --cut does. first: of the"
        " documents that stay; each passage is left whole at its first place. none: cut them everywhere first, and"
        " compare what is left. Documents of --protect take no part.  [default: texts stay as they are]",
    ),
    options.number(
        "--min-bytes",
        (16, 1 << 16),
        help="With --passages: bytes of the shortest passage, in UTF-8.  [default: 100, without the next two]",
    ),
    options.number("--min-words", (4, 1 << 16), help="With --passages: words instead.  [default: bytes]"),
    options.number("--min-chars", (16, 1 << 16), help="With --passages: characters instead.  [default: bytes]"),
    options.number(
        "--min-docs",
        (1, None),
        help="With --passages: cut only what stands in so many documents or more.  [default: 1]",
    ),
    click.option(
        "--snap",
        type=click.Choice(SNAPS),
        help="With --passages: to what a cut is moved inward, so that no word, line or sentence is cut in two. "
        " [default: word]",
    ),
    options.number(
        "--min-cut",
        (0, None),
        help="With --passages: bytes of the shortest cut.  [default: those of the shortest passage]",
    ),
    options.number(
        "--min-left",
        (0, None),
        help="With --passages: the fewest characters that a document that was cut must have left. With fewer it is left"
        " out, and --cuts lists it. With 0 documents may be emptied.  [default: 1; under none a document of which"
        " nothing but white space would be left is not cut]",
    ),
    _cuts("--passages"),
)
"""The passages that ``neardup dedup`` cuts."""


def check_inside(ctx: click.Context, policy: str | None, *, annotate: bool, engine: str) -> None:
    """Raise UsageError for options of ``inside`` that make no sense with others."""
    if policy is None:
        own = ("min_bytes", "min_words", "min_chars", "min_docs", "snap", "min_cut", "min_left", "cuts")
        for name in forms.typed(ctx, own):
            raise click.UsageError(
                f"--{name.replace('_', '-')} is for passages that are cut. Give --passages too, or leave it out."
            )
    elif annotate:
        raise click.UsageError("--annotate copies everything as it is. Leave --passages out.")
    elif engine != LOCAL:
        raise click.UsageError(f"--passages is for --engine {LOCAL}. Leave --engine out, or --passages.")
