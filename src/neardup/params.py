"""The parameters of a run, parsed and checked once, and the spec that every artefact carries.

Here: ``Shingle``, ``Normalize``, ``Bands``, ``Spec`` and the public defaults. Choosing bands from a recall
target is in ``tuning``; what the parameters do is in the stages. This module imports neither numpy nor numba,
so that ``neardup --help`` stays instant.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from neardup.errors import InputError, did_you_mean

__all__ = [
    "AUTO",
    "BOILERPLATE",
    "CONTAINMENT",
    "DEFAULT_ALARM",
    "DEFAULT_AUDIT",
    "DEFAULT_CROWD",
    "DEFAULT_KEEP",
    "DEFAULT_MEASURE",
    "DEFAULT_NORMALIZE",
    "DEFAULT_RECALL",
    "DEFAULT_SEED",
    "DEFAULT_SHINGLE",
    "DEFAULT_SKETCH",
    "DEFAULT_THRESHOLD",
    "DEFAULT_VERIFY",
    "DEFAULT_WEIGHTS",
    "LINK_RULES",
    "MAX_SLOTS",
    "MEASURES",
    "MIN_SLOTS",
    "ON_DUPLICATE",
    "ON_MISSING",
    "SKETCH_FAMILIES",
    "SPEC_VERSION",
    "TEXT",
    "VERIFY",
    "Bands",
    "Keep",
    "Normalize",
    "Shingle",
    "Spec",
    "check_exact",
    "check_link",
    "check_measure",
    "check_probability",
    "check_share",
    "check_sketch",
    "check_slots",
    "check_threshold",
    "check_verify",
    "parse_memory",
]

SPEC_VERSION = 1
"""Raised whenever the same spec would give other hashes, signatures or bands."""

DEFAULT_THRESHOLD = 0.8
DEFAULT_RECALL = 0.99
DEFAULT_MEASURE = "jaccard"
DEFAULT_SHINGLE = "char:9"
DEFAULT_NORMALIZE = "nfc"
DEFAULT_SKETCH = "hybrid"
DEFAULT_SEED = 1
DEFAULT_KEEP = "longest"
BOILERPLATE = ("keep", "remove")
"""What can be done with the menus, headers and footers of web pages."""
DEFAULT_ALARM = 0.5
"""Share of a source's documents whose removal raises an alarm."""
DEFAULT_AUDIT = 1000
"""Documents that an audit draws."""
DEFAULT_CROWD = 1000
"""A bucket or a group of copies of more documents than this is a crowd: checked and listed as a star."""

AUTO = "auto"
"""In place of True or False: let the plan decide."""
DEFAULT_WEIGHTS = (0.5, 0.5)
"""Of the areas of false positives and of false negatives, as datasketch has them."""

MIN_SLOTS, MAX_SLOTS = 2, 4096
SKETCH_FAMILIES = ("hybrid", "independent", "one-permutation", "permutation", "universal")
LINK_RULES = ("star", "connected")
CONTAINMENT = "containment"
MEASURES = (DEFAULT_MEASURE, CONTAINMENT)
"""Of two sets: the share of their union that both have, and the share of the smaller one that the other has."""
DEFAULT_VERIFY = "hash"
TEXT = "text"
VERIFY = (DEFAULT_VERIFY, TEXT)
"""What the shingles of a pair are compared by before it is given: their hashes, or themselves."""
ON_DUPLICATE = ("error", "skip", "replace")
"""What a document does whose id an index has."""
ON_MISSING = ("error", "skip")
"""What an id does that is to be removed and that an index has not."""

_SHINGLE_DEFAULT_K = {"char": 9, "word": 3, "byte": 9}
_FORMS = ("none", "nfc", "nfkc")
_STEPS = ("casefold", "space", "strip", "punct")


def check_share(value: float, name: str) -> float:
    """Return a share from 0 to 1.

    Raises:
        InputError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise InputError(f"{name} is {value!r}. Give a share from 0 to 1.")
    return float(value)


def parse_memory(value: int | str | None, name: str = "memory") -> int | None:
    """Bytes of a size such as ``2GB``, ``500 MB`` or ``1.5GiB`` (GB: 10**9, GiB: 2**30), or of a number of bytes.

    Raises:
        InputError: not a size.

    >>> parse_memory("1.5GB")
    1500000000
    """
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        if value > 0:
            return value
    elif isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", value, re.IGNORECASE)
        if found and float(found[1]) > 0:
            base = 1024 if found[3] else 1000
            return int(float(found[1]) * base ** " kmgt".index(found[2].lower() or " "))
    raise InputError(f"{name} is {value!r}. Give a size such as 2GB, 500MB or 1.5GiB.")


def check_exact(value: bool | str, measure: str = DEFAULT_MEASURE) -> bool:
    """Return whether the exact join is asked for outright; ``auto`` leaves it to the plan.

    Raises:
        InputError: neither True nor False nor ``auto``; or ``auto`` for containment, which is always exact.
    """
    if value == AUTO and measure == CONTAINMENT:
        raise InputError(f"exact is {AUTO!r}, and containment is always exact. Leave exact out.")
    if value != AUTO and not isinstance(value, bool):
        raise InputError(f"exact is {value!r}. Give True, False, or {AUTO!r} to let the plan decide.")
    return value is True


def check_threshold(value: float) -> float:
    """Return ``value`` as a float when 0 < value <= 1, else raise InputError."""
    return _number(value, "threshold", cure="Give a Jaccard similarity above 0 and at most 1.")


def check_probability(value: float, name: str) -> float:
    """Return ``value`` as a float when 0 < value < 1, else raise InputError naming ``name``."""
    number = _number(value, name, cure=f"Give a {name} above 0 and below 1, such as 0.99.")
    if number >= 1.0:
        raise InputError(
            f"{name} is {value}: no banding finds every pair for certain. Give a {name} below 1, such as 0.99."
        )
    return number


def _number(value: float, name: str, *, cure: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as exc:
        raise InputError(f"{name} is {value!r}, not a number. {cure}") from exc
    if not (0.0 < number <= 1.0):
        raise InputError(f"{name} is {value}. {cure}")
    return number


def check_slots(value: int) -> int:
    """Return ``value`` when it is a usable number of signature slots, else raise InputError."""
    if not isinstance(value, int) or isinstance(value, bool) or not MIN_SLOTS <= value <= MAX_SLOTS:
        raise InputError(f"slots is {value!r}. Give a whole number from {MIN_SLOTS} to {MAX_SLOTS}.")
    return value


def _choice(value: str, known: tuple[str, ...], name: str) -> str:
    if value not in known:
        raise InputError(f"{name} is {value!r}; known are {', '.join(known)}.{did_you_mean(str(value), known)}")
    return value


def check_sketch(value: str) -> str:
    """Return the name of a sketch family, or raise InputError listing them."""
    return _choice(value, SKETCH_FAMILIES, "sketch")


def check_link(value: str) -> str:
    """Return the name of a link rule, or raise InputError listing them."""
    return _choice(value, LINK_RULES, "link")


def check_measure(value: str) -> str:
    """Return the name of a measure of similarity, or raise InputError listing them."""
    return _choice(value, MEASURES, "measure")


def check_verify(value: str) -> str:
    """Return what shingles are compared by, or raise InputError listing what they can be compared by."""
    return _choice(value, VERIFY, "verify")


@dataclass(frozen=True, slots=True)
class Shingle:
    """What a shingle is: runs of ``k`` tokens of ``kind``.

    ``kind`` is ``char`` (code points), ``word`` (runs of letters, marks and numbers in any script), ``byte``
    (bytes of the UTF-8 text) or ``item`` (the document is a set of items; ``k`` is 1).
    """

    kind: str
    k: int

    @classmethod
    def parse(cls, text: str | Shingle) -> Shingle:
        """Parse ``char:9``, ``word:3``, ``byte:8``, ``char`` (its default k) or ``item``.

        Raises:
            InputError: the kind is unknown or k is not a whole number from 1 to 1000.
        """
        if isinstance(text, Shingle):
            return text
        kind, colon, size = str(text).partition(":")
        if kind == "item" and not colon:
            return cls("item", 1)
        if kind not in _SHINGLE_DEFAULT_K:
            known = ("char", "word", "byte", "item")
            raise InputError(f"shingle is {text!r}. Give char:K, word:K, byte:K or item.{did_you_mean(kind, known)}")
        if not colon:
            return cls(kind, _SHINGLE_DEFAULT_K[kind])
        if not re.fullmatch(r"[0-9]{1,4}", size) or not 1 <= int(size) <= 1000:
            raise InputError(f"shingle is {text!r}: K must be a whole number from 1 to 1000, such as {kind}:5.")
        return cls(kind, int(size))

    def __str__(self) -> str:
        return "item" if self.kind == "item" else f"{self.kind}:{self.k}"


@dataclass(frozen=True, slots=True)
class Normalize:
    """How a text is changed before it is cut into shingles; the order of steps is fixed.

    ``form`` is ``none``, ``nfc`` or ``nfkc``. Then, where asked for: ``casefold`` (Unicode full case folding,
    followed by the form again), ``punct`` (every character of Unicode category P* is dropped),
    ``space`` (a run of white space becomes one space, none at the ends), ``strip`` (all white space is dropped).
    """

    form: str
    casefold: bool = False
    punct: bool = False
    space: bool = False
    strip: bool = False

    @classmethod
    def parse(cls, text: str | Normalize) -> Normalize:
        """Parse a comma list such as ``nfc``, ``none`` or ``nfkc,casefold,space,punct``.

        Steps without a form use NFC.

        Raises:
            InputError: a name is unknown, given twice, or two forms are given.
        """
        if isinstance(text, Normalize):
            return text
        names = [part.strip().lower() for part in str(text).split(",")]
        known = (*_FORMS, *_STEPS)
        for name in names:
            if name not in known:
                raise InputError(f"normalize has {name!r}; known are {', '.join(known)}.{did_you_mean(name, known)}")
        if len(set(names)) < len(names):
            raise InputError(f"normalize is {text!r}: a name is given twice. Give each once.")
        forms = [name for name in names if name in _FORMS]
        if len(forms) > 1:
            raise InputError(f"normalize is {text!r}: give one of none, nfc, nfkc, not several.")
        if "space" in names and "strip" in names:
            raise InputError(f"normalize is {text!r}: space keeps one space, strip keeps none. Give one of them.")
        steps = {name: name in names for name in _STEPS}
        return cls(forms[0] if forms else "nfc", **steps)

    @property
    def is_form_only(self) -> bool:
        """True when only a Unicode form (or nothing) is applied."""
        return not (self.casefold or self.punct or self.space or self.strip)

    def __str__(self) -> str:
        return ",".join([self.form, *(name for name in _STEPS if getattr(self, name))])


@dataclass(frozen=True, slots=True)
class Keep:
    """Which document of a cluster is kept: ``first``, ``last``, ``longest``, ``shortest``, ``max:COLUMN``,
    ``min:COLUMN``."""

    rule: str
    column: str | None = None

    @classmethod
    def parse(cls, text: str | Keep) -> Keep:
        """Read a policy as it is typed.

        Raises:
            InputError: no such policy, or a column is missing or too much.

        >>> Keep.parse("max:date")
        Keep(rule='max', column='date')
        """
        if isinstance(text, Keep):
            return text
        rule, colon, column = str(text).partition(":")
        if rule in ("max", "min") and column:
            return cls(rule, column)
        if rule in ("first", "last", "longest", "shortest") and not colon:
            return cls(rule)
        known = ("first", "last", "longest", "shortest", "max:COLUMN", "min:COLUMN")
        raise InputError(f"keep is {text!r}; known are {', '.join(known)}.{did_you_mean(str(text), known)}")

    def __str__(self) -> str:
        return self.rule if self.column is None else f"{self.rule}:{self.column}"


@dataclass(frozen=True, slots=True)
class Bands:
    """``bands`` bands of ``rows`` rows: a pair is a candidate when all rows of some band agree."""

    bands: int
    rows: int

    @classmethod
    def parse(cls, text: str | Bands) -> Bands:
        """Parse ``BxR``, such as ``32x8``.

        Raises:
            InputError: not of that shape, or not positive.
        """
        if isinstance(text, Bands):
            return text
        match = re.fullmatch(r"\s*([0-9]{1,5})\s*[x×]\s*([0-9]{1,5})\s*", str(text))
        if match is None or int(match[1]) < 1 or int(match[2]) < 1:
            raise InputError(f"bands is {text!r}. Give bands x rows, such as 32x8.")
        return cls(int(match[1]), int(match[2]))

    @property
    def slots(self) -> int:
        """Signature slots that the bands use."""
        return self.bands * self.rows

    def __str__(self) -> str:
        return f"{self.bands}x{self.rows}" if self.bands else "none"


@dataclass(frozen=True, slots=True)
class Spec:
    """All that decides which pairs are found. Two artefacts with the same ``id`` may be compared."""

    threshold: float
    recall: float
    """The promised probability that a pair *at* the threshold is found (bands and estimate filter together)."""
    shingle: Shingle
    normalize: Normalize
    sketch: str
    slots: int
    bands: Bands
    seed: int
    min_matches: int
    """A candidate whose signatures agree in fewer slots is dropped unchecked; inside the recall promise."""
    crowd: int
    collapse_exact: bool = False
    exact: bool = False
    """Found by the exact join: no signatures (0 slots, no bands, sketch "none"), and no pair is missed."""
    measure: str = DEFAULT_MEASURE
    """Of similarity. Pairs of a containment of the threshold are all found, by a join of their own."""
    verify: str = DEFAULT_VERIFY
    """``text``: the shingles of each pair that is given were compared themselves, not only their hashes."""

    def as_dict(self) -> dict[str, Any]:
        """Return the spec as plain JSON values, with its version and id."""
        plain = self._fields()
        plain.update(shingle=str(self.shingle), normalize=str(self.normalize), bands=str(self.bands))
        return {"version": SPEC_VERSION, "id": self.id, **plain}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Spec:
        """The spec whose ``as_dict`` this is.

        Raises:
            KeyError, TypeError, ValueError: it is none, or its id is another spec's.
        """
        plain = {name: value for name, value in stored.items() if name not in ("version", "id")}
        plain.update(
            shingle=Shingle.parse(plain["shingle"]),
            normalize=Normalize.parse(plain["normalize"]),
            bands=Bands(0, 0) if plain["bands"] == str(Bands(0, 0)) else Bands.parse(plain["bands"]),
        )
        spec = cls(**plain)
        if spec.id != stored["id"]:
            raise ValueError("its id is another spec's")
        return spec

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that name the spec."""
        plain = self._fields()
        plain["version"] = SPEC_VERSION
        canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]

    def _fields(self) -> dict[str, Any]:
        """All fields; those that came later only where set, so that specs made before keep their id."""
        plain = asdict(self)
        if not self.exact:
            del plain["exact"]
        if self.measure == DEFAULT_MEASURE:
            del plain["measure"]
        if self.verify == DEFAULT_VERIFY:
            del plain["verify"]
        return plain
