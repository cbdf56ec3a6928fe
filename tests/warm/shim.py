"""What a client says to the server; run as a program it is the ``neardup`` of shell blocks.

Run by ``python -IS``, in about ten milliseconds, so it imports little. Request and answer are marshalled, each in one
message; the descriptors of the standard streams travel beside the request.
"""

from __future__ import annotations

import marshal
import os
import resource
import signal
import socket
import struct
import sys

LENGTH = struct.Struct("!I")
LIMITS = sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})


def surroundings() -> tuple[list[tuple[int, int]], int, list[int]]:
    """What a process inherits beside its environment and that a fork of the server must have alike.

    Returns:
        The limits, the mask of new files, and the signals that are ignored.
    """
    mask = os.umask(0)
    os.umask(mask)
    ignored = [number for number in range(1, 32) if signal.getsignal(number) == signal.SIG_IGN]
    return [resource.getrlimit(number) for number in LIMITS], mask, ignored


def send(connection: socket.socket, message: object, descriptors: list[int]) -> None:
    """Send one message, which may have descriptors beside it."""
    data = marshal.dumps(message)
    socket.send_fds(connection, [LENGTH.pack(len(data))], descriptors)
    connection.sendall(data)


def receive(connection: socket.socket, descriptors: int = 0) -> tuple[object, list[int]]:
    """The next message and the descriptors beside it; None for the message where the other side has gone."""
    head, received, _, _ = socket.recv_fds(connection, LENGTH.size, descriptors)
    if not head:
        return None, []
    (left,) = LENGTH.unpack(head)
    parts = []
    while left:
        part = connection.recv(min(left, 1 << 20))
        if not part:
            return None, received
        parts.append(part)
        left -= len(part)
    return marshal.loads(b"".join(parts)), received


def ask(path: str, arguments: list[str], folder: str, environment: dict[str, str], streams: list[int]) -> socket.socket:
    """Ask the server at ``path`` to run Python with these arguments.

    ``receive`` then gives the process id, or None where the server refuses the run; and, when it has ended, the exit
    code, minus the number of a signal that ended it.
    """
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    send(connection, (arguments, folder, environment, surroundings()), streams)
    return connection


def main(path: str, python: str, *arguments: str) -> None:
    """Run ``neardup`` with these arguments, and end as it does."""
    line = ["-m", "neardup", *arguments]
    pid = None
    if arguments[:1] != ("serve",):  # which is told to stop by a signal to this process
        connection = ask(path, line, os.getcwd(), dict(os.environ), [0, 1, 2])
        pid, _ = receive(connection)
    if pid is None:
        os.execv(python, [python, *line])
    code, _ = receive(connection)
    assert isinstance(code, int)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
