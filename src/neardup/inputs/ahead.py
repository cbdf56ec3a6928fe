"""Tasks made in a thread of their own, so that files are read and unpacked beside the work on what was read before."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterator

from neardup.inputs.source import Task
from neardup.types import Alone

AHEAD = 2
"""Tasks that wait for whoever takes them, 4 MB each; one more is being made."""


def made_ahead(tasks: Iterator[Task]) -> Generator[Task, None, None]:
    """The same tasks in the same order; what goes wrong is raised where it would be without the thread.

    The thread ends when the last task was made, or when this is closed, within the making of one task. It makes none
    beyond one that is to be worked on alone before whoever took that asks for another.

    ``tasks`` must need nothing but files: a thread that waits for a pipe could not be ended.
    """
    maker = _Maker(tasks)
    thread = threading.Thread(target=maker.run, name="neardup-read", daemon=True)
    thread.start()
    try:
        while (task := maker.take()) is not None:
            yield task
            del task  # its memory may be used again for the next
    finally:
        maker.stop()
        thread.join()


class _Maker:
    """Makes tasks in one thread and hands them out in another."""

    def __init__(self, tasks: Iterator[Task]) -> None:
        self._tasks = tasks
        self._made: deque[Task] = deque()
        self._changed = threading.Condition()
        self._is_alone = False
        """Whether a task was made that is to be worked on alone, and may not be done."""
        self._took_alone = False
        self._is_ended = False
        self._error: BaseException | None = None

    def run(self) -> None:
        """Make tasks until there are no more, or nobody wants them."""
        try:
            for task in self._tasks:
                with self._changed:
                    self._made.append(task)
                    self._is_alone = isinstance(task, Alone)
                    del task
                    self._changed.notify_all()
                    while not self._is_ended and (self._is_alone or len(self._made) >= AHEAD):
                        self._changed.wait()
                    if self._is_ended:
                        break
        except BaseException as exc:
            self._error = exc
        finally:
            close = getattr(self._tasks, "close", None)
            if close is not None:
                close()
            with self._changed:
                self._is_ended = True
                self._changed.notify_all()

    def take(self) -> Task | None:
        """The next task; None when there are no more."""
        with self._changed:
            if self._took_alone:
                self._is_alone = self._took_alone = False
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._made or self._is_ended)
            if self._made:
                task = self._made.popleft()
                self._took_alone = isinstance(task, Alone)
                self._changed.notify_all()
                return task
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback would hold it, and with it all that this was at
        return None

    def stop(self) -> None:
        """Let the thread end."""
        with self._changed:
            self._is_ended = True
            self._made.clear()
            self._changed.notify_all()
