"""The grammar of a request's head, checked on its bytes before the parser of ``protocol`` sees them.

A service behind a proxy shares each connection between people. If the two disagree about the end of a request, what one
person sends becomes the beginning of the next one's request (request smuggling). llhttp, the parser, forgives more than
this service should, so only the grammar of RFC 9112 passes here: a carriage return before each line feed, no folded
line, no white space before a colon (sections 2.2, 3 and 5), and at most one header that says how long the body is
(section 6). ``security`` says what Host may hold.
"""

from __future__ import annotations

import re

from httptools import HttpParserError

CHUNKED = -1
END = b"\r\n\r\n"
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_HEAD = re.compile(rb"(%b) ([!-\"$-~]+) (HTTP/1\.[01])((?:\r\n%b:[\t -~\x80-\xff]*)*)\r\n\r\n" % (_TOKEN, _TOKEN))
"""Method, target, version and fields."""
_NEVER = re.compile(rb"\A[^A-Za-z]|(?<!\r)\n")
_FRAMING = re.compile(rb"\r\n(Content-Length|Transfer-Encoding):([^\r]*)", re.IGNORECASE)
_LENGTH = re.compile(rb"[0-9]{1,18}")
_HOST = re.compile(rb"\r\nHost:[^\r]*", re.IGNORECASE)
_UPGRADE = re.compile(rb"\r\nUpgrade:[^\r]*", re.IGNORECASE)
_ABSOLUTE = re.compile(rb"https?://([^/?]+)(.*)", re.IGNORECASE)


class Refused(HttpParserError):
    """The request is well-formed, but can be read in two ways or does not name a path of this service."""


def is_hopeless(begun: bytes) -> bool:
    """Return whether no head begins with these bytes, so that there is no point in waiting for its end."""
    return _NEVER.search(begun) is not None


def read_head(head: bytes) -> tuple[bytes, int]:
    """Check a head up to its empty line; return it as the parser is to see it, and the length of the body.

    The parser sees a path for a target, and no ``Upgrade``, after which it would take the body for another protocol.

    Returns:
        The head, and the number of bytes of the body or ``CHUNKED``.

    Raises:
        HttpParserError: the head does not follow the grammar, or is ``Refused``.
    """
    found = _HEAD.fullmatch(head)
    if found is None:
        raise HttpParserError
    method, target, version, fields = found.groups()
    length = _length(version, _FRAMING.findall(fields))
    hosts = len(_HOST.findall(fields))
    if hosts > 1 or (hosts == 0 and version == b"HTTP/1.1"):
        raise Refused("the request must have one Host.")
    if not target.startswith(b"/") and (method, target) != (b"OPTIONS", b"*"):
        # An absolute address says which host is meant, and Host does not count (section 3.2.2).
        absolute = _ABSOLUTE.fullmatch(target)
        if absolute is None:
            raise Refused("the requested address is neither a path nor a URL of http.")
        target = absolute[2] if absolute[2].startswith(b"/") else b"/" + absolute[2]
        fields = b"\r\nHost: " + absolute[1] + _HOST.sub(b"", fields)
    return b"%b %b %b%b%b" % (method, target, version, _UPGRADE.sub(b"", fields), END), length


def _length(version: bytes, framing: list[tuple[bytes, bytes]]) -> int:
    """Return the length of a body by the headers about it: none, one number, or ``chunked`` in HTTP/1.1."""
    if not framing:
        return 0
    (name, value), *others = framing
    value = value.strip(b"\t ")  # a pattern that leaves out the white space takes quadratic time
    if any(other.lower() != name.lower() for other, _ in others):
        raise Refused("the request has both Content-Length and Transfer-Encoding. Send one of them.")
    if others:
        raise Refused(f"the request has more than one {name.decode()}. Send one of them.")
    if name.lower() == b"content-length":
        if not _LENGTH.fullmatch(value):
            raise Refused("Content-Length is not a number of bytes.")
        return int(value)
    if version == b"HTTP/1.0":
        raise Refused("HTTP/1.0 has no Transfer-Encoding. Send Content-Length, or HTTP/1.1.")
    if value.lower() != b"chunked":
        raise Refused("Transfer-Encoding is not chunked, the only transfer coding that this service reads.")
    return CHUNKED
