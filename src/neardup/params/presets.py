"""Presets: settings for kinds of text under one name, and how they are put to use beside what else was given.

The values are those of docs/howto/settings.md, which has the measurements. A preset is nothing but other defaults: what
is given by hand wins, and the spec of a run is the one that the same options by hand would make.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from neardup.params.checks import CONTAINMENT, check_choice

__all__ = [
    "PIPELINES",
    "PRESETS",
    "Preset",
    "about_preset",
    "as_options",
    "check_preset",
    "pipelines_help",
    "preset_options",
    "presets_help",
    "resolve",
    "with_preset",
]

P = ParamSpec("P")
T = TypeVar("T")

_PUNCT = "casefold,punct,space"
_STRIPPED = "nfkc,casefold,punct,strip"

# The texts that each preset is for, and its options. A row may set any parameter of ``find``; each function and command
# uses the ones that it has. Thresholds of 0.4 and less have twice the usual slots: bands of more rows keep the promise
# with a tenth of the candidates, which would otherwise be a sixth of all pairs. Short texts have a third of the slots:
# unrelated ones share few shingles, so bands of fewer rows cost hardly any candidates and sketching costs less.
_TABLE: dict[str, tuple[str, dict[str, Any]]] = {
    "copies": (
        "articles and other texts of a paragraph or more: only copies with small changes",
        {"shingle": "char:9", "normalize": "nfc", "threshold": 0.8},
    ),
    "short": (
        "reviews, verses, messages of a sentence or two: only copies with small changes, in less time",
        {"shingle": "char:9", "normalize": "nfc", "threshold": 0.8, "slots": 40},
    ),
    "articles": (
        "articles, abstracts, chapters: all versions of one text",
        {"shingle": "char:5", "normalize": _PUNCT, "threshold": 0.4, "slots": 256},
    ),
    "essays": (
        "essays, homework: who took passages from whom",
        {"shingle": "word:3", "normalize": "nfc,casefold,punct", "threshold": 0.2, "slots": 256, "link": "connected"},
    ),
    "records": (
        "short records: titles, citations, addresses",
        {"shingle": "word:1", "normalize": "casefold,space", "threshold": 0.5},
    ),
    "code": (
        "source code",
        {"shingle": "word:5", "normalize": "nfc", "threshold": 0.6},
    ),
    "scans": (
        "scanned text with errors (OCR)",
        {"shingle": "char:5", "normalize": _STRIPPED, "threshold": 0.4, "slots": 256},
    ),
    "unsegmented": (
        "scripts without spaces between words: Chinese, Japanese, Thai, Khmer, Lao, Burmese",
        {"shingle": "char:3", "normalize": _STRIPPED, "threshold": 0.5},
    ),
    "web": (
        "messages and web pages, with quotes and boilerplate",
        {"shingle": "char:5", "normalize": _PUNCT, "threshold": 0.8},
    ),
}

PRESETS = tuple(_TABLE)
"""Names of the presets."""

# What known pipelines did with repeated lines and sentences. Sources, and where we differ: docs/howto/passages.md.
_PIPELINES: dict[str, tuple[str, dict[str, Any]]] = {
    "c4": (
        "as the paper on C4 has it: all but one of any span of three sentences goes",
        {"unit": "sentence", "span": 3, "normalize": "casefold,space", "cut": "first"},
    ),
    "c4-lines": (
        "as the program that made C4 does it: all but one of a line goes",
        {"unit": "line", "span": 1, "normalize": "casefold,space", "cut": "first"},
    ),
    "ccnet": (
        "as CCNet: of a line that repeats no copy stays, digits and punctuation aside",
        {"unit": "line", "span": 1, "normalize": "casefold,digits,punct", "cut": "none"},
    ),
}
PIPELINES = tuple(_PIPELINES)
"""Names of the presets of ``neardup passages``."""
_SHORT = {"threshold": "-t"}
_PLAIN = ("shingle", "normalize", "threshold")
"""Options that every preset has: in a help text their values tell which they are."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset as it was put to use."""

    name: str
    """As it is typed."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What it set, by name of option."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Options that it would have set, and that were given beside it: these won."""

    def __str__(self) -> str:
        """The preset as it is typed, and what it stands for: ``--for essays = --shingle word:3 …``."""
        beside = f"; given with it: {as_options(self.given)}" if self.given else ""
        option = "--preset" if self.name in PIPELINES else "--for"
        return f"{option} {self.name} = {as_options(self.options) or 'nothing'}{beside}"

    def as_dict(self) -> dict[str, Any]:
        """The preset as plain JSON values."""
        plain = {"options": self.options, "given": self.given}
        return {"name": self.name, **{key: _plain(values) for key, values in plain.items()}}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of options as JSON has them: what is more than a number or a word as it is typed."""
    return {name: value if isinstance(value, (str, int, float)) else str(value) for name, value in values.items()}


def check_preset(name: str, option: str = "preset", names: Sequence[str] = PRESETS) -> str:
    """Return the name of a preset, else raise InputError that names the option and lists those that there are."""
    return check_choice(name, names, option)


def preset_options(name: str) -> dict[str, Any]:
    """The options that a preset stands for, by name.

    >>> preset_options("records")
    {'shingle': 'word:1', 'normalize': 'casefold,space', 'threshold': 0.5}
    """
    return dict({**_TABLE, **_PIPELINES}[name][1])


def about_preset(name: str) -> str:
    """For which texts a preset is."""
    return _TABLE[name][0]


def as_options(values: Mapping[str, Any]) -> str:
    """Options as they are typed.

    >>> as_options({"shingle": "word:1", "threshold": 0.5})
    '--shingle word:1 -t 0.5'
    """
    return " ".join(_typed(name, value) for name, value in values.items())


def _typed(name: str, value: Any) -> str:
    option = _SHORT.get(name, f"--{name.replace('_', '-')}")
    return f"{option} {value:g}" if isinstance(value, float) else f"{option} {value}"


def presets_help() -> str:
    """What every preset stands for, in one paragraph: the shingle, the normalisation, the threshold, and the rest."""
    return ", ".join(f"{name} ({_in_short(options)})" for name, (_, options) in _TABLE.items())


def pipelines_help() -> str:
    """What every preset of ``neardup passages`` stands for, in one paragraph."""
    return ", ".join(f"{name} ({as_options(options)})" for name, (_, options) in _PIPELINES.items())


def _in_short(options: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in options.items() if name not in _PLAIN}
    return " ".join([*(str(options[name]) for name in _PLAIN), *([as_options(rest)] if rest else [])])


def resolve(values: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """Named options with the preset among them, ``values["preset"]``, put to use.

    The preset becomes the value of each option among ``values`` that it has and that is not among ``given``, the names
    of those that were given by hand, be it with their default. Its name becomes a ``Preset``, which tells what it
    did. Where there is no preset, or one that was put to use before, the values are as they were.

    Raises:
        InputError: no such preset.

    >>> seen = resolve({"preset": "records", "shingle": "char:9", "threshold": 0.8, "link": "star"}, {"threshold"})
    >>> seen["shingle"], seen["threshold"], seen["link"]
    ('word:1', 0.8, 'star')
    >>> str(seen["preset"])
    '--for records = --shingle word:1; given with it: -t 0.8'
    """
    name = values.get("preset")
    if name is None or isinstance(name, Preset):
        return dict(values)
    check_preset(name, names=PIPELINES if "unit" in values else PRESETS)
    own = {key: value for key, value in preset_options(name).items() if key in values}
    if not _has_bands(values):
        own.pop("slots", None)
    sets = {key: value for key, value in own.items() if key not in given}
    beside = {key: values[key] for key in own if key in given}
    return {**values, **sets, "preset": Preset(name, sets, beside)}


def _has_bands(values: Mapping[str, Any]) -> bool:
    """Whether these are options of a search that chooses its bands, so that slots of a preset have a use."""
    by_hand = values.get("bands") is not None or values.get("candidates_by") is not None
    is_across = bool(values.get("against")) and "purpose" not in values  # a report bands earlier documents with all
    by_join = values.get("exact") is True or values.get("measure") == CONTAINMENT or is_across
    return "recall" in values and not by_hand and not by_join


def with_preset(function: Callable[P, T]) -> Callable[P, T]:
    """Let ``preset`` among the arguments of a function be the defaults of those that are left out of a call.

    The signature stays as it is written; only a call tells what was given and what is the default.
    """

    @wraps(function)
    def call(*args: P.args, **named: P.kwargs) -> T:
        if named.get("preset") is None:
            return function(*args, **named)
        bound = signature(function).bind(*args, **named)
        given = set(bound.arguments)
        bound.apply_defaults()
        bound.arguments.update(resolve(bound.arguments, given))
        return function(*bound.args, **bound.kwargs)

    return call
