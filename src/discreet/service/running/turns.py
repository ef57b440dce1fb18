"""One at a time, and principals take turns (`queue.py`): for work that everybody may have, and nobody alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from discreet.service.problems import Problem
from discreet.service.running.queue import Queue

Waiting = tuple[str, "asyncio.Future[None]"]


class Turns:
    """A line for one place.

    >>> async def seen(turns, name, order):
    ...     async with turns.turn(name):
    ...         order.append(name)
    ...         await asyncio.sleep(0)
    >>> async def all_of_them(order):
    ...     turns = Turns(most=8)
    ...     await asyncio.gather(*(seen(turns, name, order) for name in ("eve", "eve", "eve", "ada")))
    ...     return order
    >>> asyncio.run(all_of_them([]))
    ['eve', 'eve', 'ada', 'eve']
    """

    def __init__(self, *, most: int) -> None:
        self._queue: Queue[Waiting] = Queue(most=most, each=1)
        self._taken = False

    @asynccontextmanager
    async def turn(self, principal: str) -> AsyncIterator[None]:
        """Wait for the place and hold it; where the line is full the greediest is turned away."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left = self._queue.put(principal, (principal, mine), free=not self._taken)
        if left is not None and not left[1].done():
            left[1].set_exception(
                Problem("too-many-requests", "too many wait for this; nothing was spent", headers={"Retry-After": "60"})
            )
        self._next()
        try:
            await mine
            yield
        finally:
            if mine.done() and not mine.cancelled() and mine.exception() is None:
                self._taken = False
                self._queue.done(principal)
                self._next()

    def _next(self) -> None:
        while not self._taken and (found := self._queue.take()) is not None:
            principal, waiting = found
            if waiting.done():  # went away meanwhile
                self._queue.done(principal)
            else:
                self._taken = True
                waiting.set_result(None)
