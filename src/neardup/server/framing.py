"""Requests whose end, or whose host, can be read in two ways: refused before the application sees them.

A service behind a proxy shares each connection between people. Where the two disagree about the end of a request, what
one person sends becomes the beginning of the next one's request (request smuggling). h11 already refuses lengths that
are no number or that differ, transfer codings other than ``chunked``, malformed chunks (since its version 0.16), white
space before a colon, NUL and lone carriage returns in the head, and more than one Host. Here is the rest, by RFC 9112,
sections 3.2, 6.1 and 6.3.
What a Host may say is in ``security``.
"""

from __future__ import annotations

import re
from typing import Any

import h11

__all__ = ["StrictConnection"]

_ABSOLUTE = re.compile(rb"https?://([^/?#]*)([^#]*)", re.IGNORECASE)
_ANY = (b"OPTIONS", b"*")


class StrictConnection(h11.Connection):
    """The reading side of a connection; after an error nothing more is read from it."""

    fault: str | None = None
    """Why the request was refused, where it was refused here."""

    def next_event(self) -> Any:
        """What comes next; a request always in origin form, its Host the one that it is meant for.

        Raises:
            h11.RemoteProtocolError: it is no request, or an ambiguous one. Answer and close the connection.
        """
        event = super().next_event()
        if not isinstance(event, h11.Request):
            return event
        names = [name for name, _ in event.headers]
        if event.http_version not in (b"1.0", b"1.1"):
            raise self._refused("the version of HTTP is neither 1.0 nor 1.1.")
        if b"transfer-encoding" in names and b"content-length" in names:
            raise self._refused("the request has both Content-Length and Transfer-Encoding. Send one of them.")
        if b"transfer-encoding" in names and event.http_version == b"1.0":
            raise self._refused("HTTP/1.0 has no Transfer-Encoding. Send Content-Length, or HTTP/1.1.")
        if event.target.startswith(b"/") or event.method == b"CONNECT" or (event.method, event.target) == _ANY:
            return event
        return self._origin_form(event)

    def _origin_form(self, request: h11.Request) -> h11.Request:
        """A request with an absolute address as one with a path. What its Host said does not count (section 3.2.2)."""
        found = _ABSOLUTE.fullmatch(request.target)
        if not found or not found[1]:
            raise self._refused("the address that is asked for is neither a path nor a URL of http.")
        rest = found[2] if found[2].startswith(b"/") else b"/" + found[2]
        headers = [(name, value) for name, value in request.headers if name != b"host"]
        return h11.Request(
            method=request.method,
            headers=[(b"host", found[1]), *headers],
            target=rest,
            http_version=request.http_version,
        )

    def _refused(self, fault: str) -> h11.RemoteProtocolError:
        self.fault = fault
        return h11.RemoteProtocolError(fault)
