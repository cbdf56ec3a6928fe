"""What a request may take.

The limits are enforced where the thing limited passes by: bodies in ``exchange`` and ``stream``, connections in
``protocol``, work in ``work``, documents in ``wire``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """Every limit of the service; all are options of ``neardup serve``."""

    query_bytes: int = MIB
    """Body of a query."""
    document_bytes: int = 8 * MIB
    """Body of one document, and one line of a stream."""
    characters: int = 1_000_000
    """Characters of a document or of a query's text."""
    texts: int = 256
    """Texts of one query."""
    batch: int = 1_000
    """Documents of a stream that are committed together, and single ones that arrive together."""
    buffered_bytes: int = 256 * MIB
    """Bodies and lines that have arrived and are not answered yet, of all requests together."""
    connections: int = 1_000
    streams: int = 4
    """Streams of documents at one time."""
    threads: int = min(4, os.cpu_count() or 1)
    """Threads that read the index; one more writes."""
    waiting: int = 128
    """Requests that wait for a thread, beyond which one is refused; those that write count apart."""
    answer_seconds: float = 30.0
    """From the whole body to the answer."""
    receive_seconds: float = 30.0
    """For a whole body, or a whole line of a stream; and for a client to take what it was sent."""
    head_seconds: float = 10.0
    """For the head of a request, from its first byte or from the connection."""
    stop_seconds: float = 20.0
    """For what is at work when the service is told to stop."""
