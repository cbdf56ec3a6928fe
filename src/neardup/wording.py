"""Numbers as text, for the terminal and for the report.

A rounded similarity never tells a falsehood: it does not show 1 for less than 1, nor a value on the wrong side of the
threshold.
"""

from __future__ import annotations

__all__ = ["counted", "duration", "megabytes", "percent", "similarity_text"]

_PLACES = 4


def similarity_text(value: float, threshold: float) -> str:
    """Return ``value`` with four decimal places, or as many more as it takes to be true.

    Rounding may not move it to 1 nor across ``threshold``.

    Example:
        >>> similarity_text(0.99996, 0.8), similarity_text(1.0, 0.8), similarity_text(2 / 3, 2 / 3)
        ('0.99996', '1.0000', '0.6667')
    """
    for places in range(_PLACES, 17):
        text = f"{value:.{places}f}"
        shown = float(text)
        if (shown >= threshold) == (value >= threshold) and (shown == 1.0) == (value == 1.0):
            return text
    return repr(value)


def megabytes(count: float) -> str:
    """Return a number of bytes as B, kB, MB, GB or TB, powers of 1000."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 999.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} TB"


def counted(number: int, noun: str) -> str:
    """Return ``1 pair``, ``2 pairs``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Return a time as ``0.41 s``, ``12 s``, ``3 min 05 s`` or ``2 h 10 min``."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def percent(part: int, whole: int) -> str:
    """Return a share in percent; 0 % and 100 % stand for themselves only.

    Example:
        >>> percent(1, 4), percent(1, 100_000), percent(99_999, 100_000)
        ('25.0 %', '< 0.1 %', '> 99.9 %')
    """
    if part in (0, whole):
        return f"{100 if part else 0} %"
    share = 100 * part / whole
    if share < 0.1:
        return "< 0.1 %"
    return "> 99.9 %" if share > 99.9 else f"{share:.1f} %"
