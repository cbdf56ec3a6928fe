"""Why a document cannot be read, with the cure: one exception for all kinds of documents."""

from __future__ import annotations

__all__ = ["MOST_BYTES", "MOST_TIMES", "Unreadable", "damaged", "protected", "too_large"]

MOST_BYTES = 256 << 20
"""Bytes of a document, unpacked, that are read at most, and bytes of its text."""
MOST_TIMES = 100
"""How many times its own size a package may unpack to; the XML of real ones shrinks 5 to 50 times, pictures hardly."""


class Unreadable(Exception):
    """A document that gives no text. Not an InputError: one file among many does not end a run."""

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(f"{reason}. {cure}" if cure else reason)
        self.reason = reason
        """What is wrong, as a sentence without its full stop; the subject is the file."""
        self.cure = cure


def damaged(detail: str) -> Unreadable:
    """The fault of a file that is not what its suffix says, or not whole."""
    said = " ".join(detail.split()).rstrip(".")[:200]
    return Unreadable(f"it is damaged: {said}", "Fetch it again, or open it in its program and save it anew.")


def protected() -> Unreadable:
    """The fault of a file that asks for a password."""
    return Unreadable("it is protected by a password", "Save it without one.")


def too_large() -> Unreadable:
    """The fault of a file that would take all memory, or all day."""
    return Unreadable(
        f"it unpacks to more than {MOST_BYTES >> 20} MB, or to more than {MOST_TIMES} times its size",
        "Split it, or leave it out.",
    )
