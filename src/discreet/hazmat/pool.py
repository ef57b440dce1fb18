"""Single draws, made ahead in batches and handed out once each.

A scalar draw made on its own takes a time that depends on its value, and whoever times
the answer learns something about the noise.  A draw taken from a pool takes the time of
one `list.pop`, whatever its value; filling the pool takes the time of a whole batch.

A draw is handed out once: `list.pop` is one step for all threads, and in a forked child
the pool is empty, because the generator then has another generation.  Draws in the pool
are independent of one another and of everything else, so drawing them early changes no law.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from discreet.errors import EntropyError
from discreet.hazmat.entropy import system

BATCH = 256


class Pool:
    """Draws from the system's generator, ready to be taken; `draw(count)` makes more.

    >>> from discreet.hazmat.entropy import source
    >>> coins = Pool(lambda count: [source(None).bits(1) for _ in range(count)])
    >>> coins.take() in (0, 1)
    True
    """

    def __init__(self, draw: Callable[[int], list[int]]) -> None:
        self._draw = draw
        self._ready: list[int] = []
        self._generation = system().generation

    def take(self) -> int:
        """One draw, never handed out before."""
        while True:
            generation = system().generation
            if self._generation is not generation:
                self._ready = []  # first, so that nobody finds old draws under the new generation
                self._generation = generation
            ready = self._ready
            try:
                return ready.pop()
            except IndexError:
                batch = self._draw(BATCH)
                if system().generation is generation:  # else a fork came between, and both sides hold the batch
                    ready.extend(batch)

    def __reduce__(self) -> NoReturn:
        """Refused: a copied pool repeats its noise."""
        raise EntropyError("a pool of noise cannot be pickled or copied: its copy would repeat the same noise")
