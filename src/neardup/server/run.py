"""Serving: a socket, uvicorn around the application, and an end that loses nothing."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from neardup.errors import InputError
from neardup.server.app import Service
from neardup.server.jobs import warm_up
from neardup.server.limits import ServiceLimits
from neardup.server.protocol import GuardedProtocol
from neardup.server.security import is_loopback
from neardup.server.tokens import Tokens

if TYPE_CHECKING:
    from neardup.index.store import Index


_KEEP_ALIVE_SECONDS = 30
_SWITCH_SECONDS = 0.0005
"""For which a thread may keep the others from running. Python's 5 ms would be what an answer waits for while the
threads of the index are busy: the event loop needs only a moment, but needs it now."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(
    index: Index, *, host: str, port: int, tokens: Tokens | None, limits: ServiceLimits, ready: Callable[[str], None]
) -> None:
    """Serve an index until SIGTERM or SIGINT tells to stop; the index stays open.

    It then takes no new connections, lets what is at work end, has the streams end after the lines that have arrived,
    and ends the threads when they have done what waits. A second SIGINT does not wait. ``ready`` is called with the
    address when requests are answered; port 0 takes a free one.
    """
    listener = _listen(host, port)
    warm_up(index)
    hosts = None
    if tokens is None and is_loopback(host):
        named = f"[{ipaddress.IPv6Address(host)}]" if ":" in host else host
        hosts = frozenset({"localhost", "127.0.0.1", "[::1]", named.lower()})
    service = Service(index, limits=limits, tokens=tokens, hosts=hosts)
    # What goes wrong is told by the service itself; of clients that break off uvicorn would tell at length.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        service,
        http=GuardedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(limits.stop_seconds)),
    )
    address = _address(host, listener.getsockname()[1])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        _Server(config, service, lambda: ready(address)).run(sockets=[listener])
    finally:
        sys.setswitchinterval(interval)
        listener.close()
        service.close()


class _Server(uvicorn.Server):
    """uvicorn that says when it is ready, tells the service to stop, and ends without the signal that ended it."""

    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._told) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _told(self, number: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit and number == signal.SIGINT
        self.should_exit = True


def _listen(host: str, port: int) -> socket.socket:
    """A socket that is bound; uvicorn has it listen when all is ready."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, proto)
    except OSError as exc:
        raise InputError(f"host is {host}, which is no address of this machine: {exc.strerror or exc}.") from exc
    try:
        if sys.platform != "win32":  # there it would let two services have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as exc:
        listener.close()
        fault = f"{_address(host, port)} cannot be listened on: {exc.strerror or exc}."
        raise InputError(f"{fault} Give another --host or --port; 0 takes a free port.") from exc
    return listener


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
