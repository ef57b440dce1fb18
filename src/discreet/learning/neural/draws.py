"""Discrete Gaussian noise for many steps: drawn in one call for a few of them, or ahead of a device, on threads.

Every number is drawn by `hazmat`, from the given source or from the system's, and is used once.  Threads draw from
sources of their own, which are keyed by the operating system, as they would wait for one another at a common one.  Why
exact noise on integers is all that the guarantee needs: docs/theory/private_gradients.md.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

from discreet.hazmat.entropy import RandomSource, SystemRandom
from discreet.hazmat.samplers import discrete_gaussian

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    Integers = npt.NDArray[np.int64]

TOGETHER = 1 << 20  # numbers that are drawn at once
PART = 1 << 17  # numbers that a thread draws at a time
THREADS = 16  # that draw ahead, at most


class Draws:
    """Vectors of `size` numbers, for `steps` steps.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> Draws(100, size=3, steps=2, rng=SeededRandom(1)).take().dtype
    dtype('int64')
    """

    def __init__(self, variance: int, *, size: int, steps: int, rng: RandomSource | None = None) -> None:
        self._variance, self._size, self._rng = variance, size, rng
        self._count = max(1, min(steps, TOGETHER // size))
        self._home, self._held = os.getpid(), []

    def take(self) -> Integers:
        """The noise of a step; a forked copy of this process draws its own."""
        if not self._held or self._home != os.getpid():
            self._home = os.getpid()
            drawn = discrete_gaussian(self._variance, shape=(self._count, self._size), rng=self._rng)
            self._held = list(cast("Integers", drawn))
        return self._held.pop()

    def close(self) -> None:
        """Forget what was not used."""
        self._held.clear()


class DrawsAhead:
    """The same on a device: the noise of the next steps is drawn while this one is computed."""

    def __init__(self, variance: int, *, size: int, device: str) -> None:
        self._variance, self._device = variance, device
        self._parts = [min(PART, size - start) for start in range(0, size, PART)]
        threads = min(THREADS, os.cpu_count() or 1)
        self._pool, self._own = ThreadPoolExecutor(threads), threading.local()
        self._drawn: deque[Future[Tensor]] = deque()
        for _ in range(1 + -(-2 * threads // len(self._parts))):
            self._begin()

    def _begin(self) -> None:
        self._drawn.extend(self._pool.submit(self._part, count) for count in self._parts)

    def _part(self, count: int) -> Tensor:
        import torch

        if not hasattr(self._own, "source"):
            self._own.source = SystemRandom()
        drawn = discrete_gaussian(self._variance, shape=(count,), rng=self._own.source)
        return torch.from_numpy(cast("Integers", drawn)).pin_memory()

    def take(self) -> Tensor:
        """The noise of a step, on the device."""
        import torch

        self._begin()
        parts = [self._drawn.popleft().result().to(self._device, non_blocking=True) for _ in self._parts]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def close(self) -> None:
        """Forget what was not used."""
        self._pool.shutdown(cancel_futures=True)
        self._drawn.clear()
