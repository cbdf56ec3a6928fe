"""Work done in threads, results in the order of the items, and never far ahead of whoever takes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_order"]

Item = TypeVar("Item")
Done = TypeVar("Done")


def in_order(
    work: Callable[[Item], Done], items: Iterable[Item], *, threads: int, ahead: int | None = None
) -> Iterator[Done]:
    """Results of ``work`` on each item, in order; items are taken as threads get free.

    Args:
        work: what to do; called in a thread, or right here when ``threads`` is 1.
        items: may be endless and lazy; taken in the calling thread.
        threads: how many.
        ahead: results that may wait for the caller, those in work included; ``2 * threads + 1`` when None.
    """
    if threads == 1:
        yield from map(work, items)
        return
    most = 2 * threads + 1 if ahead is None else max(ahead, threads)
    waiting: deque[Future[Done]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="neardup")
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
