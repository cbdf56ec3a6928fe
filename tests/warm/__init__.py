"""Running Python and the command without starting Python each time.

A start of Python with NumPy, Numba, PyArrow and the compiled kernels costs one to two seconds of a processor, which was
nearly half of the whole suite. Here one process for each worker of pytest, the *server*, has loaded them, and each run
is a fork of it, in a few hundredths of a second. Each run has modules, environment, folder, arguments, standard streams
and exit of its own.

    test ── run() ──────────┐
    bash ── neardup (shim) ─┴─► server ── fork ──► the command

``client`` is for tests; ``shim`` is what a client says to the server, and the ``neardup`` that shell blocks find on
their PATH; ``server`` is the process that forks. A run whose surroundings a fork cannot give it (another environment,
another limit, a system other than Linux) gets a real process; with ``NEARDUP_TESTS_COLD=1`` every run does.

``compiling`` lets workers that need the same kernel compile it once.

What is itself about a process keeps a real one: signals from outside, closed streams, limits, what is imported at the
start, how much memory a run takes.
"""

from tests.warm.client import LIMIT, PACKAGE, Forked, environment, run, shell_commands, start

__all__ = ["LIMIT", "PACKAGE", "Forked", "environment", "run", "shell_commands", "start"]
