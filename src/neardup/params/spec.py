"""The spec that every artefact carries: every setting that decides which pairs are found, with nothing left open.

The module also has the parameters that are more than a number or a word, with their parsers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from neardup.errors import InputError, did_you_mean
from neardup.params.checks import DEFAULT_MEASURE, DEFAULT_VERIFY, check_threshold

__all__ = ["SPEC_VERSION", "Bands", "CandidateShingle", "Keep", "Normalize", "Screen", "Shingle", "Spec"]

SPEC_VERSION = 1
"""The version of the spec. It rises whenever the same spec would give other hashes, signatures or bands."""
_SHINGLE_DEFAULT_K = {"char": 9, "word": 3, "byte": 9}
_FORMS = ("none", "nfc", "nfkc")
_STEPS = ("casefold", "space", "strip", "punct", "digits")


@dataclass(frozen=True, slots=True)
class Shingle:
    """The definition of a shingle: a run of ``k`` tokens of ``kind``.

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

    @property
    def letters(self) -> int:
        """The characters of a run that touches as many words as a shingle does, at five letters and a space a word.

        >>> Shingle.parse("char:12").letters, Shingle.parse("word:3").letters
        (12, 13)
        """
        return 6 * self.k - 5 if self.kind == "word" else self.k

    def __str__(self) -> str:
        return "item" if self.kind == "item" else f"{self.kind}:{self.k}"


@dataclass(frozen=True, slots=True)
class CandidateShingle:
    """The shingles that candidates are found by, if pairs are checked by others."""

    shingle: Shingle
    threshold: float | None = None
    """The similarity in these shingles for which the bands are chosen. None: not chosen yet."""

    @classmethod
    def parse(cls, text: str | CandidateShingle) -> CandidateShingle:
        """Parse ``char:12``, or ``word:3@0.15`` with a threshold.

        Raises:
            InputError: the shingle is unknown, or the threshold is not above 0 and at most 1.
        """
        if isinstance(text, CandidateShingle):
            return text
        name, at, threshold = str(text).partition("@")
        try:
            shingle = Shingle.parse(name)
            return cls(shingle, check_threshold(float(threshold)) if at else None)
        except ValueError as exc:  # InputError is a ValueError too
            raise InputError(
                f"candidates_by is {text!r}. Give char:K, word:K or byte:K, with @T behind it for another threshold of "
                f"these shingles than is chosen: char:12, word:3@0.15."
            ) from exc

    def __str__(self) -> str:
        return str(self.shingle) if self.threshold is None else f"{self.shingle}@{self.threshold!r}"


@dataclass(frozen=True, slots=True)
class Normalize:
    """The changes made to a text before it is cut into shingles; the order of the steps is fixed.

    ``form`` is ``none``, ``nfc`` or ``nfkc``. The optional steps follow: ``casefold`` (Unicode full case folding, then
    the form again), ``digits`` (every decimal digit, of Unicode category Nd, becomes 0), ``punct`` (every character of
    Unicode category P* is dropped), ``space`` (a run of white space becomes one space, and none stays at the ends),
    ``strip`` (all white space is dropped).
    """

    form: str
    casefold: bool = False
    punct: bool = False
    space: bool = False
    strip: bool = False
    digits: bool = False

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
        """True if only a Unicode form, or nothing, is applied."""
        return not (self.casefold or self.punct or self.space or self.strip or self.digits)

    def __str__(self) -> str:
        return ",".join([self.form, *(name for name in _STEPS if getattr(self, name))])


@dataclass(frozen=True, slots=True)
class Keep:
    """The policy that picks the document of a cluster to keep: ``first``, ``last``, ``longest``, ``shortest``,
    ``max:COLUMN``, ``min:COLUMN``, or ``none``."""

    rule: str
    column: str | None = None

    @classmethod
    def parse(cls, text: str | Keep) -> Keep:
        """Parse a policy, such as ``first`` or ``max:date``.

        Raises:
            InputError: the policy is unknown, or lacks its column, or has a column that it does not take.

        >>> Keep.parse("max:date")
        Keep(rule='max', column='date')
        """
        if isinstance(text, Keep):
            return text
        rule, colon, column = str(text).partition(":")
        if rule in ("max", "min") and column:
            return cls(rule, column)
        if rule in ("first", "last", "longest", "shortest", "none") and not colon:
            return cls(rule)
        known = ("first", "last", "longest", "shortest", "max:COLUMN", "min:COLUMN", "none")
        raise InputError(f"keep is {text!r}; known are {', '.join(known)}.{did_you_mean(str(text), known)}")

    def __str__(self) -> str:
        return self.rule if self.column is None else f"{self.rule}:{self.column}"


@dataclass(frozen=True, slots=True)
class Bands:
    """``bands`` bands of ``rows`` rows each: a pair is a candidate if all rows of some band agree."""

    bands: int
    rows: int

    @classmethod
    def parse(cls, text: str | Bands) -> Bands:
        """Parse ``BxR``, such as ``32x8``.

        Raises:
            InputError: the text does not have that shape, or a number is not positive.
        """
        if isinstance(text, Bands):
            return text
        match = re.fullmatch(r"\s*([0-9]{1,5})\s*[x×]\s*([0-9]{1,5})\s*", str(text))
        if match is None or int(match[1]) < 1 or int(match[2]) < 1:
            raise InputError(f"bands is {text!r}. Give bands x rows, such as 32x8.")
        return cls(int(match[1]), int(match[2]))

    @property
    def slots(self) -> int:
        """The number of signature slots that the bands use."""
        return self.bands * self.rows

    def __str__(self) -> str:
        return f"{self.bands}x{self.rows}" if self.bands else "none"


@dataclass(frozen=True, slots=True)
class Screen:
    """The screen of candidate pairs: the condition under which the lowest bits make a pair worth an exact check."""

    fields: int
    """The number of slots whose lowest bits are kept, each as a field. They are the first slots of a signature."""
    width: int
    """The number of lowest bits in each field."""
    least: int
    """The least number of fields in which a pair must agree."""
    least_alone: int
    """The least number of fields in which a pair must agree if it meets in only one band."""

    @classmethod
    def parse(cls, text: str) -> Screen:
        """Parse the output of ``str``, such as ``103/106 of 128x1``."""
        least, alone, fields, width = map(int, re.findall("[0-9]+", text))
        return cls(fields, width, least, alone)

    def __str__(self) -> str:
        return f"{self.least}/{self.least_alone} of {self.fields}x{self.width}"

    @property
    def words(self) -> int:
        """The number of 64-bit words that hold the fields of a document."""
        return -(-self.fields * self.width // 64)


@dataclass(frozen=True, slots=True)
class Spec:
    """Every setting that decides which pairs are found. Two artefacts with the same ``id`` may be compared."""

    threshold: float
    recall: float | None
    """The promised probability that a pair *at* the threshold is found, by bands, filter and screen together. It is
    None if candidates are found by other shingles, because then nothing is promised."""
    shingle: Shingle
    normalize: Normalize
    sketch: str
    slots: int
    bands: Bands
    seed: int
    min_matches: int
    """A pair of a large bucket that agrees in fewer slots is dropped unchecked; ``recall`` counts this loss."""
    crowd: int
    collapse_exact: bool = False
    exact: bool = False
    """Whether the exact join finds all pairs, without signatures (0 slots, no bands, sketch "none")."""
    measure: str = DEFAULT_MEASURE
    """The measure of similarity. A separate join finds all pairs whose containment reaches the threshold."""
    verify: str = DEFAULT_VERIFY
    """With ``text``, the shingles of each reported pair were compared themselves, not only their hashes."""
    overlap: str = ""
    """The rule of n-gram overlap, if the measure is overlap: see ``Overlap``."""
    candidates_by: CandidateShingle | None = None
    """The shingles of the signatures, for which bands and filter are chosen. None: ``shingle`` serves for both."""
    screen: Screen | None = None
    """The screen of candidate pairs, in JSON as LEAST/LEAST_ALONE of FIELDSxWIDTH. ``recall`` counts the pairs that it
    may lose. None: there are no bands."""

    @property
    def screening(self) -> Screen:
        """The screen of candidate pairs; of a spec that has none, such as an older index keeps, one that all pass."""
        return self.screen or Screen(fields=1, width=1, least=0, least_alone=0)

    def __repr__(self) -> str:
        found = f"slots {self.slots}, bands {self.bands}" if self.slots else "no bands"
        what = f"{self.measure} at {self.threshold:g}, shingle {self.shingle}, normalize {self.normalize}"
        return f"<neardup.Spec {self.id}: {what}, sketch {self.sketch}, {found}, seed {self.seed}>"

    @property
    def sketched(self) -> Shingle:
        """The shingles that signatures are made of."""
        return self.shingle if self.candidates_by is None else self.candidates_by.shingle

    @property
    def banded_at(self) -> float:
        """The similarity, in the shingles that signatures are made of, for which bands and filter are chosen."""
        if self.candidates_by is None or self.candidates_by.threshold is None:
            return self.threshold
        return self.candidates_by.threshold

    def as_dict(self) -> dict[str, Any]:
        """Return the spec as plain JSON values, with its version and id."""
        parts = {"shingle": str(self.shingle), "normalize": str(self.normalize), "bands": str(self.bands)}
        if self.candidates_by is not None:
            parts["candidates_by"] = str(self.candidates_by)
        if self.screen is not None:
            parts["screen"] = str(self.screen)
        return {"version": SPEC_VERSION, "id": self.id, **self._fields(), **parts}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Spec:
        """Make a spec from the result of its ``as_dict``.

        Raises:
            KeyError, TypeError, ValueError: the values do not make a spec, or the id belongs to another spec.
        """
        plain = {name: value for name, value in stored.items() if name not in ("version", "id")}
        plain.update(
            shingle=Shingle.parse(plain["shingle"]),
            normalize=Normalize.parse(plain["normalize"]),
            bands=Bands(0, 0) if plain["bands"] == str(Bands(0, 0)) else Bands.parse(plain["bands"]),
        )
        if "candidates_by" in plain:
            plain["candidates_by"] = CandidateShingle.parse(plain["candidates_by"])
        if "screen" in plain:
            plain["screen"] = Screen.parse(plain["screen"])
        spec = cls(**plain)
        if spec.id != stored["id"]:
            raise ValueError("its id is another spec's")
        return spec

    @property
    def id(self) -> str:
        """The name of the spec, twelve hexadecimal digits."""
        plain = {**self._fields(), "version": SPEC_VERSION}
        canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]

    def _fields(self) -> dict[str, Any]:
        """Return all fields, but those added later only if they are set, so that earlier specs keep their id."""
        later = {
            "exact": False,
            "measure": DEFAULT_MEASURE,
            "verify": DEFAULT_VERIFY,
            "overlap": "",
            "candidates_by": None,
            "screen": None,
        }
        plain = asdict(self)
        if not self.normalize.digits:
            del plain["normalize"]["digits"]
        return {name: value for name, value in plain.items() if name not in later or value != later[name]}
