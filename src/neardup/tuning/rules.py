"""The rules of the literature for choosing bands, beside the one that neardup uses.

All of them but ``recall`` centre the S-curve on the threshold, so that a good part of the pairs *at* it is missed; they
are here to be compared and used by name. The rule that weighs areas is in ``areas``, that of a recall target in
``choice``.
"""

from __future__ import annotations

import math

from neardup.params import Bands

__all__ = ["divisor_rule", "knee", "log_rule", "threshold_rule"]


def knee(bands: Bands) -> float:
    """Similarity near which the S-curve is steepest: (1/b)**(1/r).

    Source: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.2.

    >>> round(knee(Bands(20, 5)), 3)
    0.549
    """
    return float((1.0 / bands.bands) ** (1.0 / bands.rows))


def threshold_rule(threshold: float, slots: int) -> Bands:
    """As many bands of r rows as the slots allow, for the r whose (1/b)**(1/r) is nearest to the threshold.

    Of two equally near the one with fewer rows. Source: as ``knee``.
    """
    choices = [Bands(slots // rows, rows) for rows in range(1, slots + 1)]
    return min(choices, key=lambda bands: abs(knee(bands) - threshold))


def divisor_rule(threshold: float, slots: int) -> Bands:
    """The divisor b of the slots for which (1/b)**(b/slots) is nearest to the threshold (Vilaseca, Lacasa, Martín)."""
    choices = [Bands(count, slots // count) for count in range(1, slots + 1) if slots % count == 0]
    return min(choices, key=lambda bands: abs(knee(bands) - threshold))


def log_rule(threshold: float, slots: int) -> Bands:
    """The smallest b with b ln b >= -slots ln t, which solves t = (1/b)**(b/slots) (Hanna, Hunt; Chang, Tang)."""
    needed = -slots * math.log(threshold)
    count = next(b for b in range(1, slots + 1) if b * math.log(b) >= needed or b == slots)
    return Bands(count, max(1, slots // count))
