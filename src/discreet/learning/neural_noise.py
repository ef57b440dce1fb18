"""The noisy sums of a training run, step by step: integers in, estimates out.

Released is h = a * x + Z in integers, and the estimate of x_t is (h_t - sum over k >= 1 of a_k times that of x_(t-k))
/ a_0, which is computed from h alone.  Sums x of the last steps are kept for correlated noise; they are secret and are
never stored.  Theorem and proof: `private_gradients`, docs/theory/private_gradients.md.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import discrete_gaussian
from discreet.learning.private_gradients import POINT, PrivateGradients

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

AHEAD = 1 << 20  # numbers drawn at once on the processor
THREADS = 8  # that draw noise ahead while a device computes
PART = 1 << 14  # numbers that a thread draws at a time


class NoisySums:
    """Adds the noise of a run to its sums, each once.

    >>> import torch
    >>> run = PrivateGradients(noise_multiplier=1, rate=1, steps=4, parameters=3, bands=2)
    >>> with NoisySums(run, device="cpu") as noisy:
    ...     noisy.release(torch.zeros(3, dtype=torch.int64)).shape
    torch.Size([3])
    """

    def __init__(self, run: PrivateGradients, *, device: str, rng: RandomSource | None = None) -> None:
        self._run, self._device, self._rng = run, device, rng
        self._variance = run.sigma**2
        self._sums: deque[Tensor] = deque(maxlen=run.bands - 1)
        self._estimates: deque[Tensor] = deque(maxlen=run.bands - 1)
        ahead = device != "cpu" and rng is None  # a seeded source gives its numbers in one order
        self._pool = ThreadPoolExecutor(THREADS) if ahead else None
        self._drawn = self._start()
        self._home, self._held = os.getpid(), []

    def release(self, total: Tensor) -> Tensor:
        """The estimate of a step's sum, in clipping lengths, from what is released of it."""
        import torch

        if self._run.bands == 1 and not total.is_cuda:
            return self._plain(total)
        first, *rest = self._run.coefficients
        noise = torch.from_numpy(self._noise()).to(self._device, non_blocking=True)
        noisy = torch.add(noise, total, alpha=first)
        for past, a in zip(self._sums, rest, strict=False):
            noisy.add_(past, alpha=a)
        estimate = noisy.double()
        for past, a in zip(self._estimates, rest, strict=False):
            estimate.sub_(past, alpha=a)
        if first != 1:
            estimate.div_(first)
        if rest:
            self._sums.appendleft(total.clone())
            self._estimates.appendleft(estimate.clone())
        return estimate.mul_(2.0**-POINT).float()

    def _plain(self, total: Tensor) -> Tensor:
        """The same with independent noise on the processor, in one pass."""
        import torch

        from discreet.learning.neural_kernels import estimates

        made = torch.empty(len(total))
        estimates(total.numpy(), self._noise(), 2.0**-POINT, made.numpy())
        return made

    def _draw(self, count: int) -> npt.NDArray[np.int64]:
        return discrete_gaussian(self._variance, shape=(count,), rng=self._rng)  # type: ignore[return-value]

    def _start(self) -> list[Future[npt.NDArray[np.int64]]]:
        """Begin the noise of the next step."""
        if self._pool is None:
            return []
        size = self._run.parameters
        return [self._pool.submit(self._draw, min(PART, size - start)) for start in range(0, size, PART)]

    def _noise(self) -> npt.NDArray[np.int64]:
        if self._pool is None:
            return self._next()
        import numpy as np

        made = np.concatenate([part.result() for part in self._drawn])
        self._drawn = self._start()
        return made

    def _next(self) -> npt.NDArray[np.int64]:
        """The noise of a step, drawn with that of the next ones; a forked copy draws its own."""
        if not self._held or self._home != os.getpid():
            self._home, count = os.getpid(), max(1, min(self._run.steps, AHEAD // self._run.parameters))
            self._held = list(self._draw(count * self._run.parameters).reshape(count, -1))
        return self._held.pop()

    def __enter__(self) -> NoisySums:
        return self

    def __exit__(self, *_: object) -> None:
        """Forget what is secret."""
        self._sums.clear()
        self._held.clear()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
