"""What a run of passages is told: how long a passage is at least, and what is cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neardup.errors import InputError
from neardup.params import Normalize
from neardup.params.checks import check_choice, check_whole
from neardup.stages.repeats.policies import POLICIES
from neardup.stages.repeats.surgery import SNAPS, UNIT

DEFAULT_MIN_BYTES = 100
LEAST = {"byte": 16, "char": 16, "word": 4}
"""Units of the shortest stretch that may be asked for: half of them are an anchor, of eight bytes or two words."""
MOST = 1 << 16
"""The hashes of one stretch are held."""
UNCHANGED = Normalize("none")


@dataclass(frozen=True, slots=True)
class Length:
    """How long a stretch is at least."""

    kind: str
    """``byte``, ``char`` or ``word``."""
    units: int

    def __post_init__(self) -> None:
        check_whole(self.units, f"min_{self.kind}s", LEAST[self.kind], MOST)

    @classmethod
    def of(cls, min_bytes: Any, min_words: Any, min_chars: Any) -> Length:
        """The one that is given, DEFAULT_MIN_BYTES if none is; InputError where several are, or it cannot be used."""
        return cls(*(one_length(min_bytes, min_words, min_chars) or ("byte", DEFAULT_MIN_BYTES)))

    @property
    def options(self) -> dict[str, Any]:
        """It as an option."""
        return {f"min_{self.kind}s": self.units}

    @property
    def least_bytes(self) -> int:
        """Bytes of the shortest text that can have so many units: one for each, and one between two words."""
        return 2 * self.units - 1 if self.kind == "word" else self.units


def one_length(min_bytes: Any, min_words: Any, min_chars: Any) -> tuple[str, Any] | None:
    """The kind and the value of the one that is given, or None; InputError where several are."""
    named = (("byte", min_bytes), ("word", min_words), ("char", min_chars))
    given = [(kind, value) for kind, value in named if value is not None]
    if len(given) > 1:
        names = " and ".join(f"min_{kind}s" for kind, _ in given)
        raise InputError(f"{names} are given. Give one of min_bytes, min_words and min_chars.")
    return given[0] if given else None


@dataclass(frozen=True, slots=True)
class Cutting:
    """What is cut of repeated passages."""

    policy: str = "first"
    """One of POLICIES."""
    snap: str = "word"
    """One of SNAPS: to what a cut is moved inward; or UNIT, where units are cut whole."""
    min_cut: int = DEFAULT_MIN_BYTES
    """Bytes of the shortest cut."""
    min_left: int | None = None
    """The fewest characters that a text that was cut must have left, or it is left out. None: 1, unless the run spares
    texts of which nothing would be left."""

    @property
    def least_left(self) -> int:
        """The fewest characters that a document in the copies has left; 0: it may be empty."""
        return 1 if self.min_left is None else self.min_left

    def __post_init__(self) -> None:
        check_choice(self.policy, tuple(POLICIES), "policy")
        check_choice(self.snap, (*SNAPS, UNIT), "snap")
        check_whole(self.min_cut, "min_cut", 0)
        if self.min_left is not None:
            check_whole(self.min_left, "min_left", 0)
