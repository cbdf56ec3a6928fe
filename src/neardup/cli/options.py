"""The options that commands share: one decorator each, with one meaning everywhere.

A value is checked while it is parsed, with the same functions that the library uses, so a wrong one is a usage error
(exit code 2) before any input is opened. Defaults are those of ``neardup.params``.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup import params
from neardup.cli import VERBOSE
from neardup.cli.voice import Context
from neardup.errors import InputError

PAIR_FORMATS = ("table", "jsonl", "csv", "parquet", "xlsx")
STDOUT = "-"
"""As the name of an output; of an input it is stdin."""
INPUTS = ("inputs", "against", "originals", "protect")
"""Parameters that are paths of inputs."""

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # generic in the stubs only: click 8.1 has no ParamType[...]


NORMALIZE_STEPS = ("none", "nfc", "nfkc", "casefold", "space", "strip", "punct", "digits")
"""What a shell offers for --normalize."""


class Checked(ParamType):
    """A value that ``check`` accepts; what it raises as InputError becomes a usage error with the same words."""

    def __init__(self, name: str, check: Callable[[Any], Any], offer: Sequence[str] = ()) -> None:
        """``offer``: what a shell offers as values, or parts of values between commas."""
        self.name = name
        self._check = check
        self._offer = offer

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from neardup.cli.completing import words

        return words(*self._offer)(ctx, param, incomplete)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._check(value)
        except InputError as exc:
            self.fail(str(exc), param, ctx)


def _slots(value: Any) -> int:
    text = str(value)
    return params.check_slots(int(text) if text.isdecimal() else value)


def _crowd(value: Any) -> int:
    text = str(value).strip()
    return params.check_crowd(int(text) if text.isdecimal() else value)


def whole(name: str, low: int, high: int | None = None) -> Checked:
    """A whole number from ``low`` to ``high``; click's IntRange would print its bounds into the help."""

    def check(value: Any) -> int:
        text = str(value).strip()
        number = int(text) if re.fullmatch(r"-?[0-9]{1,30}", text) else None
        if number is None or number < low or number > (2**63 - 1 if high is None else high):
            bounds = f"of {low} or more" if high is None else f"from {low} to {high}"
            raise InputError(f"{name} is {value}. Give a whole number {bounds}.")
        return number

    return Checked("number", check)


def _encoding(value: str) -> str:
    try:
        codecs.lookup(value)
    except LookupError as exc:
        raise InputError(f"encoding is {value!r}, which Python does not know. Give utf-8, latin-1 …") from exc
    return value


defaulted = partial(click.option, show_default=True)
"""An option whose help says what its default is."""
several_inputs = partial(click.option, multiple=True, metavar="INPUT")
"""An option for further inputs, which may be given several times."""


def number(name: str, bounds: tuple[int, int | None], *, help: str, **default: Any) -> Callable[[Any], Any]:
    """Declare an option for a whole number between two bounds, as ``whole`` checks it; the help says its default."""
    kind = whole(name.removeprefix("--"), *bounds)
    return click.option(name, type=kind, metavar="N", show_default=bool(default), help=help, **default)


inputs = click.argument(
    "inputs", nargs=-1, required=True, metavar="INPUT…", type=click.Path(path_type=Path, allow_dash=True)
)

preset = click.option(
    "--for",
    "preset",
    type=Checked("kind", partial(params.check_preset, option="for"), params.PRESETS),
    metavar="KIND",
    help="Settings that were measured on a kind of text, in place of the defaults: shingle, normalisation, threshold."
    f" Options given with it win. {params.presets_help()}.  [default: none, which is as copies]",
)

threshold = defaulted(
    "--threshold",
    "-t",
    type=Checked("number", params.check_threshold),
    metavar="T",
    default=params.DEFAULT_THRESHOLD,
    help="Similarity from which two documents are near-duplicates; above 0, at most 1. A pair at exactly this"
    " value is in.",
)

measure = defaulted(
    "--measure",
    type=click.Choice(params.MEASURES),
    default=params.DEFAULT_MEASURE,
    help="What the threshold is compared with. jaccard: shingles in both texts, as a share of all their shingles."
    " containment: as a share of those of the smaller text, for texts that are part of others; all such pairs are"
    " found, by a separate join.",
)

verify = defaulted(
    "--verify",
    type=click.Choice(params.VERIFY),
    default=params.DEFAULT_VERIFY,
    help="How the shingles of a pair are compared before it is reported. hash: by 64-bit hashes with a random key"
    " that is new in each run. text: also as text, so that nothing depends on a hash; takes longer.",
)

recall = defaulted(
    "--recall",
    type=Checked("probability", partial(params.check_probability, name="recall")),
    metavar="P",
    default=params.DEFAULT_RECALL,
    help="Probability with which a pair at the threshold is found, at least; above 0, below 1. Pairs above the"
    " threshold are found more surely still.",
)

shingle = defaulted(
    "--shingle",
    type=Checked("unit:k", params.Shingle.parse, ("char:", "word:", "byte:", "item")),
    metavar="UNIT",
    default=params.DEFAULT_SHINGLE,
    help="What documents are compared by: char:K, word:K or byte:K (runs of K characters, words or bytes), or item"
    " (each document is a set: a JSON list, or a line of items with white space between).",
)

normalize = defaulted(
    "--normalize",
    type=Checked("steps", params.Normalize.parse, NORMALIZE_STEPS),
    metavar="STEPS",
    default=params.DEFAULT_NORMALIZE,
    help="What is done to a text first: none, nfc or nfkc, and any of casefold, space (runs of white space become"
    " one space), strip (no white space), punct (no punctuation), digits (each becomes 0),"
    " with commas between.",
)

slots = click.option(
    "--slots",
    type=Checked("number", _slots),
    metavar="N",
    help="Length of a signature, from 2 to 4096. More slots leave fewer candidates to check and take longer to"
    " make.  [default: chosen for the threshold and recall]",
)

bands = click.option(
    "--bands",
    type=Checked("bxr", params.Bands.parse),
    metavar="BxR",
    help="Bands and rows, such as 32x8; --recall then only sets how hard candidates are filtered, and the"
    " summary says which recall they give.  [default: chosen for the threshold and recall]",
)

candidates_by = click.option(
    "--candidates-by",
    type=Checked("unit:k", params.CandidateShingle.parse),
    metavar="UNIT:K[@T]",
    help="Find the pairs to be checked by these, longer shingles, such as char:12 where --shingle is char:5: for low"
    " thresholds in large collections, where unrelated texts share too many short ones. Pairs are still checked by"
    " --shingle and -t, but recall is not promised: --recall is that of pairs at T of these shingles, and neardup"
    " audit measures the rest.  [default: by --shingle; T is chosen]",
)

seed = number(
    "--seed",
    (0, 2**63 - 1),
    default=params.DEFAULT_SEED,
    help="Seed of the hash functions. Another seed may miss other pairs, within the promised recall.",
)

sketch = defaulted(
    "--sketch",
    type=click.Choice(params.SKETCH_FAMILIES),
    default=params.DEFAULT_SKETCH,
    help="Family of MinHash functions. The others are from the literature; they are slower and find the same pairs.",
)

link = defaulted(
    "--link",
    type=click.Choice(params.LINK_RULES),
    default="star",
    help="How pairs make clusters. star: each member forms a found pair with the representative of the cluster."
    " connected: all documents that a chain of pairs joins.",
)

collapse_exact = click.option(
    "--collapse-exact",
    is_flag=True,
    help="List a document and its exact copies once: pairs name the first of the copies only. Clusters still have all.",
)

crowd = defaulted(
    "--crowd",
    type=Checked("number", _crowd),
    metavar="N",
    default=params.DEFAULT_CROWD,
    help="A group of more than this many similar documents, a crowd, is listed as a star: each is paired with its"
    " leader, not with each other. The summary names the crowds. 0: there are none, and every pair is listed.",
)

YES = "yes"
"""Value of an option that stands alone."""
_MAY_STAND_ALONE: dict[str, Callable[[str], bool]] = {
    "--exact": lambda word: word == params.AUTO,
    "--with-text": str.isdecimal,
}
"""Options that take a value or none, and which words behind them are one: any other is the next input."""


class Command(click.Command):
    """A command some of whose options may stand alone; see ``_MAY_STAND_ALONE``."""

    context_class = Context

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give options that stand alone their value, so that they do not swallow the input behind them."""
        end = args.index("--") if "--" in args else len(args)
        own = {name for param in self.params for name in param.opts} & _MAY_STAND_ALONE.keys()
        for at in range(end):
            if args[at] in own and not any(map(_MAY_STAND_ALONE[args[at]], args[at + 1 : at + 2])):
                args[at] = f"{args[at]}={YES}"
        return super().parse_args(ctx, args)


def _exact(ctx: click.Context, param: click.Parameter, value: str | None) -> bool | str:
    return value == YES if value != params.AUTO else value


exact = click.option(
    "--exact",
    type=click.Choice([YES, params.AUTO]),
    callback=_exact,
    metavar="[auto]",
    help="Find all pairs by the exact join, none missed. With the word auto: when that is predicted to be no"
    " slower, for which the inputs are read once more.  [default: find pairs by banding]",
)

against = several_inputs(
    "--against",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Second collection: find the pairs of one document of it (id_b) and one of INPUT (id_a) only, all of"
    " them, by the exact join. May be given several times.  [default: none]",
)


def _text_length(value: Any) -> bool | int:
    text = str(value)
    if text in (YES, str(True), str(False)):
        return text != str(False)
    return params.check_text_length(int(text) if text.isdecimal() and len(text) < 19 else value)


with_text = click.option(
    "--with-text",
    type=Checked("number", _text_length),
    metavar="[N]",
    default=False,
    help="Put the texts, as they were written, beside the ids. With a number: so many characters of each, at most."
    " Without: in files whole texts, on a terminal one line of each.  [default: ids only]",
)

sort = click.option(
    "--sort",
    type=click.Choice(params.ORDERS),
    help="Order of the pairs: that of the input, or the most similar first, ties in the order of the input."
    "  [default: similarity with --top, else input]",
)


def parse_top(value: Any) -> int | None:
    """The number of a ``--top``; None for the word all."""
    text = str(value).strip()
    if text == "all":
        return None
    if not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise InputError(f"top is {value}. Give a whole number of 1 or more, or all.")
    return int(text)


top = click.option(
    "--top",
    type=Checked("number", parse_top),
    metavar="N",
    help="List the N most similar pairs only; the summary counts all, and clusters are made of all.  [default: all]",
)

plot = click.option(
    "--plot",
    metavar="FILE",
    help="Draw it: a .png, .svg or .pdf file. Needs matplotlib: pip install 'neardup[plot]'.  [default: none]",
)


def complete_columns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    from neardup.cli.completing import columns

    return columns(ctx, param, incomplete)


text_column = click.option(
    "--text",
    metavar="COLUMN",
    shell_complete=complete_columns,
    help="Column or field that holds the text; several with commas between make one text, a newline between."
    "  [default: the first there is of text, content, body, document, abstract, raw_content, code, title; else the only"
    " one of texts beside the id]",
)

id_column = click.option(
    "--id",
    metavar="COLUMN",
    shell_complete=complete_columns,
    help="Column or field that names a document.  [default: the first there is of id, doc_id, docid, document_id,"
    " uuid, key, name; else FILE:ROW]",
)

glob = click.option(
    "--glob",
    multiple=True,
    callback=lambda ctx, param, value: value or None,
    metavar="PATTERN",
    help="Which files of a folder are read, at any depth; can be given again.  [default: all of a format that is read;"
    " what is not is counted and said]",
)

encoding = defaulted(
    "--encoding",
    type=Checked("name", _encoding),
    metavar="NAME",
    default="utf-8",
    help="Encoding of text, JSONL and CSV inputs.",
)

on_bad = defaulted(
    "--on-bad",
    type=click.Choice(params.ON_BAD),
    default="fail",
    help="What a record that cannot be used does: end the run with a message, or be left out, counted and listed.",
)

input_format = click.option(
    "--input-format",
    type=click.Choice(params.INPUT_FORMATS),
    help="Format of the inputs, where their names do not tell.  [default: by suffix]",
)

boilerplate = defaulted(
    "--boilerplate",
    type=click.Choice(params.BOILERPLATE),
    default="keep",
    help="What is done with menus, headers, footers and lists of links of HTML files.",
)

threads = number(
    "--threads",
    (1, None),
    help="Threads to work with. The result does not depend on it.  [default: one for each core]",
)

memory = click.option(
    "--memory",
    type=Checked("size", params.parse_memory),
    metavar="SIZE",
    help="Limit of the memory of the process, such as 500MB or 2GB. What does not fit is worked on in files. The"
    " result does not depend on it.  [default: half of what is free]",
)

workdir = click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for the work on disk, used from the start, so that the run can be resumed; removed when it is"
    " done.  [default: OUTPUT.neardup-work, and only when memory gets short]",
)

resume = click.option(
    "--resume",
    is_flag=True,
    help="Continue an interrupted run: repeat the same command with the same inputs and options, and this one.",
)

engine = defaulted(
    "--engine",
    type=click.Choice(params.ENGINES),
    default=params.LOCAL,
    help="Who does the work: this machine, or a Spark cluster, which needs --workdir. The result is the same.",
)

master = click.option(
    "--master",
    metavar="URL",
    help="The Spark cluster, such as local[4], spark://host:7077 or yarn.  [default: as Spark is configured]",
)

conf = click.option(
    "--conf",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of Spark, such as spark.executor.memory=4g. May be given several times.  [default: none]",
)

output = click.option("--output", "-o", metavar="FILE", help="File for the pairs; - is stdout.  [default: stdout]")

output_format = click.option(
    "--format",
    type=click.Choice(PAIR_FORMATS),
    help="Format of what is written.  [default: by the suffix of each file (.jsonl, .csv, .parquet, .xlsx); on stdout a"
    " table for a terminal, else jsonl]",
)

clusters = click.option(
    "--clusters",
    metavar="FILE",
    help="File for the clusters: id, cluster, keeper (the representative) and similarity to it, of every document that"
    " is in one.  [default: none is written]",
)

json_summary = click.option(
    "--json",
    is_flag=True,
    help="Print the summary on stdout as one JSON object. Data is then written only where -o says.",
)

quiet = click.option("--quiet", "-q", is_flag=True, help="Say nothing on stderr but errors.")


def _note_verbose(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    ctx.meta[VERBOSE] = value
    return value


verbose = click.option(
    "--verbose",
    is_flag=True,
    is_eager=True,
    callback=_note_verbose,
    help="Say more: the whole spec, and the traceback of an unexpected error.",
)


def together(*given: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator, in the order in which the help is to show them."""

    def decorate(command: Any) -> Any:
        for option in reversed(given):
            command = option(command)
        return command

    return decorate


reading = together(text_column, id_column, glob, encoding, boilerplate, on_bad, input_format)
"""How inputs are read."""
signatures = together(slots, bands, sketch, seed)
"""How signatures are made and cut."""
listing = together(with_text, sort, top)
"""What a table of pairs lists."""
working = together(threads, memory, workdir, resume)
"""What a run may use, and how it goes on."""
clustered = together(engine, master, conf)
"""Who does the work."""
voices = together(quiet, verbose)
"""How much is said."""
