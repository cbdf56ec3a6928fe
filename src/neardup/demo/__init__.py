"""The collection that ``neardup demo`` shows: 24 chapters of the New Testament in 11 English versions.

``chapters.jsonl.gz``: id (``VERSION:Book.chapter``), text, version, chapter; 264 documents. All versions are in the
public domain; they come from SWORD modules by way of the GitHub repository scrollmapper/bible_databases. Of the
chapters, those whose names have the smallest SHA-256.
"""

from __future__ import annotations

from importlib import resources

__all__ = ["TEXTS", "read"]

TEXTS = "chapters.jsonl.gz"


def read() -> bytes:
    """The collection as a gzip-packed JSON Lines file."""
    return resources.files(__name__).joinpath(TEXTS).read_bytes()
