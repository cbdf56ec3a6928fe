"""Presets: named settings for kinds of text, and the rules for combining a preset with other options.

docs/howto/settings.md has the measurements behind the values. A preset only changes defaults: options given by hand
win, and a run has the same spec as a run with the same options given by hand.
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

# The treatment of repeated lines and sentences in known pipelines. docs/howto/passages.md has the sources and our
# deviations.
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
"""The options that every preset has. Help texts print their values without the names."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset and its effect on one call."""

    name: str
    """The name, as the user types it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options that the preset set, by name."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The options of the preset that the user gave as well. The user's values won."""

    def __str__(self) -> str:
        """Return the preset and its options as the user would type them: ``--for essays = --shingle word:3 …``."""
        beside = f"; given with it: {as_options(self.given)}" if self.given else ""
        option = "--preset" if self.name in PIPELINES else "--for"
        return f"{option} {self.name} = {as_options(self.options) or 'nothing'}{beside}"

    def as_dict(self) -> dict[str, Any]:
        """Return the preset as plain JSON values."""
        plain = {"options": self.options, "given": self.given}
        return {"name": self.name, **{key: _plain(values) for key, values in plain.items()}}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return option values for JSON: strings and numbers as they are, other values as the user would type them."""
    return {name: value if isinstance(value, (str, int, float)) else str(value) for name, value in values.items()}


def check_preset(name: str, option: str = "preset", names: Sequence[str] = PRESETS) -> str:
    """Return the name of a preset, or raise InputError with the option and the known names."""
    return check_choice(name, names, option)


def preset_options(name: str) -> dict[str, Any]:
    """Return the options of a preset, by name.

    >>> preset_options("records")
    {'shingle': 'word:1', 'normalize': 'casefold,space', 'threshold': 0.5}
    """
    return dict({**_TABLE, **_PIPELINES}[name][1])


def about_preset(name: str) -> str:
    """Describe the texts that a preset is for."""
    return _TABLE[name][0]


def as_options(values: Mapping[str, Any]) -> str:
    """Return options as the user would type them.

    >>> as_options({"shingle": "word:1", "threshold": 0.5})
    '--shingle word:1 -t 0.5'
    """
    return " ".join(_typed(name, value) for name, value in values.items())


def _typed(name: str, value: Any) -> str:
    option = _SHORT.get(name, f"--{name.replace('_', '-')}")
    return f"{option} {value:g}" if isinstance(value, float) else f"{option} {value}"


def presets_help() -> str:
    """Describe every preset in one paragraph: the shingle, the normalisation, the threshold, and other options."""
    return ", ".join(f"{name} ({_in_short(options)})" for name, (_, options) in _TABLE.items())


def pipelines_help() -> str:
    """Describe every preset of ``neardup passages`` in one paragraph."""
    return ", ".join(f"{name} ({as_options(options)})" for name, (_, options) in _PIPELINES.items())


def _in_short(options: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in options.items() if name not in _PLAIN}
    return " ".join([*(str(options[name]) for name in _PLAIN), *([as_options(rest)] if rest else [])])


def resolve(values: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """Apply the preset ``values["preset"]`` to the options in ``values``.

    Each option takes the value of the preset if the preset has one and if the option is not in ``given``, the names of
    the options that the user gave, even with their defaults. The name of the preset becomes a ``Preset``, which records
    the effect. If there is no preset, or if it was applied before, the values are returned unchanged.

    Raises:
        InputError: there is no such preset.

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
    """Return whether these options leave the bands open, so that the slots of a preset have an effect."""
    by_hand = values.get("bands") is not None or values.get("candidates_by") is not None
    is_across = bool(values.get("against")) and "purpose" not in values  # a report bands earlier documents too
    by_join = values.get("exact") is True or values.get("measure") == CONTAINMENT or is_across
    return "recall" in values and not by_hand and not by_join


def with_preset(function: Callable[P, T]) -> Callable[P, T]:
    """Make ``preset``, an argument of a function, provide the defaults of the arguments that a call omits.

    The signature stays unchanged, because only a call shows which arguments the user gave.
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
