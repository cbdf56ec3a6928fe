"""Who may ask what: the bearer token, the name by which the service is called, the headers of the page.

Without a token a service listens on this machine only (the command sees to that), and answers only to names of this
machine: a page of another site whose name resolves to 127.0.0.1 would otherwise read the index through a browser (DNS
rebinding).
"""

from __future__ import annotations

import ipaddress
import re

from neardup.server.exchange import Exchange, Headers
from neardup.server.problems import Problem
from neardup.server.tokens import READ, Tokens

PAGE = {
    "/": b"text/html; charset=utf-8",
    "/docs": b"text/html; charset=utf-8",
    "/page.js": b"text/javascript; charset=utf-8",
    "/docs.js": b"text/javascript; charset=utf-8",
    "/page.css": b"text/css; charset=utf-8",
}
"""Paths of the pages for people, and the types of what they give."""
PAGE_HEADERS: Headers = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        b" base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
)

_OPEN = frozenset({*PAGE, "/health", "/ready"})
"""Paths that need no token: they tell nothing of the index."""
_HOST = re.compile(rb"(\[[^\[\]]*\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::([0-9]{0,5}))?")
"""A name or an address, and a port (RFC 9110, section 7.2). Names of users have no place in it."""
_MOST_PORT = 65535


def is_loopback(host: str) -> bool:
    """Whether what listens on ``host`` is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Gate:
    """Lets requests in that bring one of the ``tokens``, if there are any, and call the service by one of ``hosts``,
    if any."""

    def __init__(self, tokens: Tokens | None, hosts: frozenset[str] | None) -> None:
        self._tokens = tokens
        self._hosts = None if hosts is None else frozenset(name.encode() for name in hosts)

    def check(self, exchange: Exchange) -> None:
        """Note the role of a request, and raise Problem for one that may not pass: 400 for a malformed Host, 421
        another name, 401 no token."""
        name = _name([value for key, value in exchange.headers if key == b"host"])
        if name is None:
            raise Problem(400, "Host must be one name or address, and may have a port.", field="Host", refused="host")
        if self._hosts is not None and name not in self._hosts:
            fault = "the service answers to the names of its own machine only, such as localhost and 127.0.0.1."
            raise Problem(421, fault, field="Host", refused="host")
        if self._tokens is None:
            return
        kind, _, given = (exchange.header(b"authorization") or b"").partition(b" ")
        role = self._tokens.role(given.strip())
        if kind.lower() == b"bearer":
            exchange.role = role
        if exchange.role is None and exchange.path not in _OPEN:
            challenge = (b"www-authenticate", b'Bearer realm="neardup"')
            fault = "a token is needed: send the header Authorization: Bearer TOKEN."
            raise Problem(401, fault, headers=(challenge,), refused="token")

    def check_still(self, exchange: Exchange) -> None:
        """Raise Problem when a request that was let in to write may go on no more: its token was taken out, or is one
        for reading now."""
        role = exchange.role
        try:
            self.check(exchange)
            check_may_write(exchange)
        except Problem as problem:
            if problem.status != 401:
                raise
            raise Problem(401, "the token is no longer in force. Send another one.", refused="token") from problem
        finally:
            exchange.role = role


def check_may_write(exchange: Exchange) -> None:
    """Raise Problem: 403 for a request whose token is for reading."""
    if exchange.role == READ:
        challenge = (b"www-authenticate", b'Bearer realm="neardup", error="insufficient_scope"')
        fault = "the token is for reading. Send one with the role write to change the index."
        raise Problem(403, fault, headers=(challenge,), refused="role")


def _name(hosts: list[bytes]) -> bytes | None:
    """The name in the Host headers of a request, without its port; None when they are not one well-formed host."""
    found = _HOST.fullmatch(hosts[0] if hosts else b"")
    if found is None or len(hosts) > 1 or int(found[2] or 0) > _MOST_PORT:
        return None
    name = found[1].lower()
    if not name.startswith(b"["):
        return name
    try:
        return b"[%s]" % str(ipaddress.IPv6Address(name[1:-1].decode("ascii"))).encode()
    except ValueError:
        return None
