"""The spec that every artefact carries: all that decides which pairs are found, with nothing left open."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from neardup.params.checks import DEFAULT_MEASURE, DEFAULT_VERIFY
from neardup.params.values import Bands, Normalize, Shingle

__all__ = ["SPEC_VERSION", "Spec"]

SPEC_VERSION = 1
"""Raised whenever the same spec would give other hashes, signatures or bands."""


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
