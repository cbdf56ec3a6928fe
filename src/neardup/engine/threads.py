"""Work done in threads, results in the order of the items, and never far ahead of whoever takes them.

A reader's task for very much text (``Alone``, or found out by ``NeedsRoom``) is worked on by itself, in the calling
thread. So memory has to hold one such text and not one for each thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, TypeVar

from neardup.types import Alone, NeedsRoom

Item = TypeVar("Item")
Done = TypeVar("Done")


def in_order(
    work: Callable[[Item], Done], items: Iterable[Item], *, threads: int, ahead: int | None = None
) -> Iterator[Done]:
    """Results of ``work`` on each item, in order; items are taken as threads get free.

    ``work`` is called in a thread, or right here when ``threads`` is 1. ``items`` may be endless and lazy; they are
    taken in the calling thread. ``ahead``: results that may wait for the caller, those in work included;
    ``2 * threads + 1`` when None.
    """
    if threads == 1:
        for item in items:
            yield _done(partial(work, item), work)
        return
    most = 2 * threads + 1 if ahead is None else max(ahead, threads)
    waiting: deque[Future[Done]] = deque()
    errors: list[Exception] = []
    pool = ThreadPoolExecutor(threads, thread_name_prefix="neardup")
    try:
        for item in _until_error(items, errors):
            if isinstance(item, Alone):
                while waiting:
                    yield _done(waiting.popleft().result, work, waiting)
                yield work(item)
                continue
            waiting.append(pool.submit(work, item))
            if len(waiting) >= most:
                yield _done(waiting.popleft().result, work, waiting)
        while waiting:
            yield _done(waiting.popleft().result, work, waiting)
        if errors:
            raise errors.pop()  # not held here, where its traceback would hold it in a circle
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _until_error(items: Iterable[Item], errors: list[Exception]) -> Iterator[Item]:
    """The items; what goes wrong with them is noted, to be raised behind the results of those before it."""
    try:
        yield from items
    except Exception as exc:
        errors.append(exc)


def _done(result: Callable[[], Done], work: Callable[[Any], Done], others: Iterable[Future[Done]] = ()) -> Done:
    """A result; where its item is one to be worked on alone, that is done now, after what is in work."""
    try:
        return result()
    except NeedsRoom as exc:
        task = exc.task
    finally:
        del result  # an error's traceback would hold the future, which holds the error: a circle
    wait(others)
    return work(task)
