"""The noisy sums of a training run, step by step: integers in, estimates out.

Released is h = a * x + Z in integers, and the estimate of x_t is (h_t - sum over k >= 1 of a_k times that of x_(t-k))
/ a_0, which is computed from h alone.  Sums x of the last steps are kept for correlated noise; they are secret and are
never stored.  Theorem and proof: `private_gradients`, docs/theory/private_gradients.md.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.learning.neural.draws import Draws, DrawsAhead
from discreet.learning.neural.private_gradients import POINT, PrivateGradients

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor


class NoisySums:
    """Adds the noise of a run to its sums, each once.

    >>> import torch
    >>> run = PrivateGradients(noise_multiplier=1, rate=1, steps=4, parameters=3, bands=2)
    >>> with NoisySums(run, device="cpu") as noisy:
    ...     noisy.release(torch.zeros(3, dtype=torch.int64)).shape
    torch.Size([3])
    """

    def __init__(self, run: PrivateGradients, *, device: str, rng: RandomSource | None = None) -> None:
        self._device, self._coefficients = device, run.coefficients
        self._sums: deque[Tensor] = deque(maxlen=run.bands - 1)
        self._estimates: deque[Tensor] = deque(maxlen=run.bands - 1)
        self._draws: Draws | DrawsAhead
        if device == "cpu" or rng is not None:  # a given source gives its numbers in one order
            self._draws = Draws(run.sigma**2, size=run.parameters, steps=run.steps, rng=rng)
        else:
            self._draws = DrawsAhead(run.sigma**2, size=run.parameters, device=device)

    def release(self, total: Tensor) -> Tensor:
        """The estimate of a step's sum, in clipping lengths, from what is released of it."""
        import torch

        first, *rest = self._coefficients
        noise = self._draws.take()
        if not isinstance(noise, torch.Tensor):
            if not rest and self._device == "cpu":
                return _plain(total, noise)
            noise = torch.from_numpy(noise).to(self._device)
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

    def __enter__(self) -> NoisySums:
        return self

    def __exit__(self, *_: object) -> None:
        """Forget what is secret."""
        self._sums.clear()
        self._draws.close()


def _plain(total: Tensor, noise: npt.NDArray[np.int64]) -> Tensor:
    """The same with independent noise on the processor, in one pass."""
    import torch

    from discreet.learning.neural.kernels import estimates

    made = torch.empty(len(total))
    estimates(total.numpy(), noise, 2.0**-POINT, made.numpy())
    return made
