"""The screen of candidate pairs: a few bits of each signature slot, compared where two documents meet in a bucket.

Keeping the lowest bits of MinHash values is b-bit minwise hashing (P. Li, C. König, "b-Bit Minwise Hashing", WWW 2010):
equal slots have equal bits, and different slots agree in their lowest w bits with probability 2**-w. So a field of w
bits agrees with probability t + (1 - t) / 2**w for a pair of similarity t, and 2**-w for a pair of unrelated documents.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from neardup.params import Bands, Screen

if TYPE_CHECKING:
    from neardup.types import F64

WORDS = (2, 4, 8)
"""Possible numbers of 64-bit words per document, ascending: few bytes next to the keys, of 5 bytes per band."""
WIDTHS = (1, 2, 4, 8)
"""Possible widths of a field: the number of lowest bits of a slot that it holds."""
STRANGERS = 1 / 3
"""The fraction of the threshold at which pairs should be screened out: documents that share a half are as similar."""
MOST_STRANGERS = 0.01
"""If at most this share of the candidate pairs of that similarity passes, more bits are not worth their memory."""

MARGIN = 1e-9
"""The relative difference below which two shares count as equal: far more than rounding, which differs by machine."""


def field_chances(similarity: float, bands: Bands, fields: int, width: int) -> tuple[F64, F64]:
    """Return the probability that a pair becomes a candidate and agrees in j of its fields, for every j.

    The result is two arrays, float64[fields + 1]: one for pairs that meet in exactly one band, one for pairs that meet
    in several. Together they sum to the S-curve. The slots of a pair are assumed to agree independently, each with
    probability ``similarity``. Each of the first ``fields`` slots has a field of ``width`` bits.

    The number of agreeing fields depends on the number of bands in which a pair meets: a pair that meets only once has
    fewer equal slots. So the distribution is computed band by band, as polynomials in z whose coefficient of z**j
    belongs to j agreeing fields. A slot with a field contributes q z + 1 - q, with q = t + (1 - t) / 2**width. A band
    of r slots with k fields contributes t**r z**k if all its slots agree, and (q z + 1 - q)**k - t**r z**k otherwise.
    Slots outside the bands contribute only their fields.
    """
    import numpy as np

    agree = similarity + (1.0 - similarity) * 2.0**-width
    field = np.array([1.0 - agree, agree])
    whole = similarity**bands.rows

    def spoilt(k: int) -> F64:
        """Return the polynomial of a band that has k fields and at least one differing slot."""
        found = np.ones(1)
        for _ in range(k):
            found = np.convolve(found, field)
        found[k] = max(0.0, found[k] - whole)
        return found

    of_whole_band = spoilt(min(bands.rows, fields))
    none, one, several = np.ones(1), np.zeros(1), np.zeros(1)
    for band in range(bands.bands):
        k = min(max(fields - band * bands.rows, 0), bands.rows)
        apart = of_whole_band if k == min(bands.rows, fields) else spoilt(k)
        met = np.zeros(k + 1)
        met[k] = whole
        several = np.convolve(several, apart + met) + np.convolve(one, met)
        one = np.convolve(one, apart) + np.convolve(none, met)
        none = np.convolve(none, apart)
    beside = np.ones(1)
    for _ in range(fields - bands.slots):
        beside = np.convolve(beside, field)
    return np.convolve(one, beside), np.convolve(several, beside)


@lru_cache(maxsize=256)
def choose_screen(threshold: float, bands: Bands, *, slots: int, loss: float) -> Screen:
    """Choose the fields of a screen, and how many of them must agree, so that few pairs at the threshold are lost.

    A candidate pair passes if it agrees in at least m fields; a pair that meets in only one band needs m' >= m. For a
    pair *at* the threshold, the probability of becoming a candidate and then failing the screen is a sum over
    ``field_chances``: those of several bands below m, and those of one band below m'. Divided by the S-curve, it is the
    share of candidates at the threshold that are lost. Pairs above the threshold agree in more fields and meet in more
    bands, so fewer are lost; pairs with equal signatures always pass. Among all m and m' that lose at most ``loss``,
    choose those that let the fewest candidate pairs at a third of the threshold pass. Use the fewest words for which at
    most MOST_STRANGERS of those pairs pass. If no number of words is enough, use the fields that let the fewest pass.

    At 0.8 with 21x6 bands and a loss of 0.001, the fields are one bit of each of 128 slots.

    >>> choose_screen(0.8, Bands(21, 6), slots=128, loss=0.001)
    Screen(fields=128, width=1, least=103, least_alone=106)
    """
    best: tuple[float, Screen] | None = None
    for words in WORDS:
        of_words = []
        for width in WIDTHS:
            fields = min(slots, 64 * words // width)
            if words == WORDS[0] or fields * width > 32 * words:  # if not, fewer words hold as many fields
                of_words.append(_best(threshold, bands, fields, width, loss))
        best = min([*([best] if best else []), *of_words], key=lambda found: found[0])
        if best[0] <= MOST_STRANGERS:
            break
    assert best is not None
    return best[1]


def _best(threshold: float, bands: Bands, fields: int, width: int, loss: float) -> tuple[float, Screen]:
    """Return the share of unrelated candidate pairs that pass the strictest screen within ``loss``, and that screen."""
    import numpy as np

    lost_alone, lost = (_below(chances) for chances in field_chances(threshold, bands, fields, width))
    # the sums from the end lose no digits, however small they are: every machine makes the same choice
    one, several = (_below(each[::-1])[::-1] for each in field_chances(STRANGERS * threshold, bands, fields, width))
    allowed = loss * (lost[-1] + lost_alone[-1])
    best, passing = Screen(fields, width, 0, 0), np.inf
    for least in range(min(fields, int(np.searchsorted(lost + lost_alone, allowed, side="right")) - 1) + 1):
        alone = min(fields, int(np.searchsorted(lost_alone, allowed - lost[least], side="right")) - 1)
        passes = (several[least] + one[alone]) / max(one[0] + several[0], 1e-300)
        if passes < (1 - MARGIN) * passing:
            best, passing = Screen(fields, width, least, alone), passes
    return float(passing), best


def _below(chances: F64) -> F64:
    """Return the sum of the values before each index, and of all values."""
    import numpy as np

    return np.concatenate(([0.0], np.cumsum(chances)))


def screen_loss(similarity: float, bands: Bands, screen: Screen) -> float:
    """Return the probability that a pair of this similarity meets in a band and is screened out."""
    one, several = field_chances(similarity, bands, screen.fields, screen.width)
    return float(several[: screen.least].sum() + one[: screen.least_alone].sum())
