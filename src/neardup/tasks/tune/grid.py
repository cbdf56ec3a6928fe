"""The settings that are tried: shingles and normalisations, each at many thresholds.

A setting is what ``find`` takes; ``arguments`` gives it by name. The measure is Jaccard similarity throughout: on the
six labelled collections where containment was tried, it raised the F1 of the best cell by 0.002 at most, and it would
double the settings between which the same answers have to tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neardup.engine.kind import SHORT, look
from neardup.params import PRESETS, Normalize, Shingle, preset_options

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""0.05 to 0.95."""
LONG_SIGNATURE_AT, LONG_SIGNATURE = 0.4, 256
"""Up to this threshold presets have longer signatures: the same recall with a tenth of the candidates."""

_PLAIN = ("nfc", "casefold,space", "casefold,punct,space")
_STRIPPED = "nfkc,casefold,punct,strip"
_SPACED = ("char:3", "char:5", "char:9", "word:1", "word:2", "word:3", "word:5")
_CHARACTERS = ("char:3", "char:5", "char:9")
_UNSEGMENTED = ("char:2", "char:3", "char:5", "char:9")


@dataclass(frozen=True, slots=True)
class Setting:
    """A shingle and a normalisation, as they are typed."""

    shingle: str
    normalize: str

    def __str__(self) -> str:
        return f"{self.shingle}, {self.normalize}"

    def arguments(self, threshold: float) -> dict[str, Any]:
        """The arguments of ``find`` for a threshold.

        >>> Setting("word:1", "casefold,space").arguments(0.5)
        {'shingle': 'word:1', 'normalize': 'casefold,space', 'threshold': 0.5}
        """
        more = {"slots": LONG_SIGNATURE} if threshold <= LONG_SIGNATURE_AT else {}
        return {"shingle": self.shingle, "normalize": self.normalize, "threshold": threshold, **more}


def settings_for(texts: Sequence[str]) -> tuple[Setting, ...]:
    """The settings that suit some texts: characters only where there are no spaces between words."""
    is_unsegmented = bool(texts) and look(texts)[0]
    return unsegmented_settings() if is_unsegmented else spaced_settings()


def spaced_settings() -> tuple[Setting, ...]:
    """For texts with spaces between words: seven shingles under three normalisations, and characters without spaces."""
    plain = [Setting(shingle, normalize) for normalize in _PLAIN for shingle in _SPACED]
    return (*plain, *(Setting(shingle, _STRIPPED) for shingle in _CHARACTERS))


def unsegmented_settings() -> tuple[Setting, ...]:
    """For scripts without spaces between words: four shingles of characters under four normalisations."""
    return tuple(Setting(shingle, normalize) for normalize in (*_PLAIN, _STRIPPED) for shingle in _UNSEGMENTED)


def preset_of(setting: Setting, threshold: float, *, half: int) -> str | None:
    """Return the preset with this setting and threshold, or None if there is none.

    Two presets find the same copies. The one for short texts is chosen if ``half``, the median number of characters, is
    at most SHORT.

    >>> preset_of(Setting("word:1", "casefold,space"), 0.5, half=80)
    'records'
    >>> [preset_of(Setting("char:9", "nfc"), 0.8, half=half) for half in (80, 800)]
    ['short', 'copies']
    """
    for name in PRESETS:
        own = preset_options(name)
        same = Shingle.parse(own["shingle"]) == Shingle.parse(setting.shingle)
        if same and own["threshold"] == threshold and _parsed(own["normalize"]) == _parsed(setting.normalize):
            return "short" if name == "copies" and half <= SHORT else name
    return None


def _parsed(normalize: str) -> Normalize:
    return Normalize.parse(normalize)
