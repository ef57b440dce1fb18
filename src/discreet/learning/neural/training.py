"""The steps of private training: sample, clip, add up, release, move.

    taken = batches.take(step)            secret: which rows, in which order
    x = sum of blocks, as integers        secret
    g = noisy.release(x)                  public from here on
    velocity = momentum velocity + g / batch;  weights -= learning_rate velocity;  mean follows weights

The gradient is divided by the public `batch`, never by the number of rows that were taken.  The mean of the weights
over about the last quarter of the steps is the network that is handed out: noise averages out of it.  Theorem and
proof: `private_gradients`, docs/theory/private_gradients.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.learning.neural.batches import Batches
from discreet.learning.neural.noise import NoisySums
from discreet.learning.neural.per_example_gradients import Gradients
from discreet.learning.neural.private_gradients import POINT, PrivateGradients

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    Places = npt.NDArray[np.int64]


MEMORY = 0.25  # of all steps, over which weights are averaged


@dataclass(frozen=True, kw_only=True, slots=True)
class Descent:
    """How weights move: public settings."""

    batch: float  # rows that a step takes on average, by what is public
    clip: float
    learning_rate: float
    momentum: float


class BlockSums:
    """The integers x of a step: secret sums over the rows of a dataset.

    >>> import numpy as np, torch
    >>> from discreet.learning.neural.per_example_gradients import DenseNetwork
    >>> network = DenseNetwork((3, 2), clip=1.0, block=2, table=4)
    >>> sums = BlockSums(network, torch.ones(10, 3), torch.zeros(10, dtype=torch.int64), places=np.arange(4))
    >>> sums(np.arange(6)).dtype
    torch.int64
    """

    def __init__(self, network: Gradients, inputs: Tensor, targets: Tensor, *, places: Places, bits: int = 24) -> None:
        import torch

        self._network, self._inputs, self._targets = network, inputs, targets
        self._places = torch.from_numpy(places).to(inputs.device)
        self._ends = (places + 1).tolist()
        self._together = len(places) == network.table
        self._rows = torch.zeros(network.table, *inputs.shape[1:], device=inputs.device)
        self._labels = torch.zeros(network.table, dtype=targets.dtype, device=inputs.device)
        self._total = torch.zeros(len(network.weights), dtype=torch.int64, device=inputs.device)
        self._into = torch.empty_like(self._total, dtype=torch.float64 if bits == 53 else torch.float32)

    def __call__(self, taken: Places) -> Tensor:
        """The sum over the rows that were taken, table by table; the next one is written over it."""
        import torch

        self._total.zero_()
        taken_rows = torch.from_numpy(taken).to(self._inputs.device)
        for chosen in taken_rows.split(len(self._places)):
            if len(chosen):
                last = self._ends[len(chosen) - 1]
                for block in self._network.sums(self._table(chosen), last, self._into):
                    self._add(block)
        return self._total

    def _table(self, chosen: Tensor) -> list[Tensor]:
        """The gradients of some rows, in a table that is as long as all; a row that was not chosen counts as zero."""
        import torch

        count = len(chosen)
        if self._together:
            torch.index_select(self._inputs, 0, chosen, out=self._rows[:count])
            torch.index_select(self._targets, 0, chosen, out=self._labels[:count])
            parts = self._network.rows(self._rows, self._labels)
            parts[-1][count:] = 0
            return parts
        used = self._places[:count]
        self._rows[used], self._labels[used] = self._inputs[chosen], self._targets[chosen]
        parts = self._network.rows(self._rows, self._labels)
        counts = torch.zeros(len(self._rows), dtype=torch.bool, device=used.device)
        counts[used] = True
        parts[-1] = torch.where(counts, parts[-1], 0.0)
        return parts

    def _add(self, block: Tensor) -> None:
        if block.is_cuda or block.dtype.itemsize == 8:
            self._total += (block * 2.0**POINT).round_().long()
            return
        import numpy as np

        from discreet.learning.neural.kernels import add_rounded

        add_rounded(block.numpy(), np.float32(2.0**POINT), self._total.numpy())


def train(
    sums: BlockSums,
    network: Gradients,
    velocity: Tensor,
    mean: Tensor,
    run: PrivateGradients,
    descent: Descent,
    *,
    rows: int,
    steps: range,
    each: int,
    after: Callable[[int], None] = lambda step: None,
    rng: RandomSource | None = None,
) -> None:
    """Take the steps, moving `network.weights`, `velocity` and `mean`; `after` is called after every `each` steps."""
    batches = Batches(rows=rows, rate=run.rate, bands=run.bands, rng=rng)
    scale = descent.clip / descent.batch
    with NoisySums(run, device=network.weights.device.type, rng=rng) as noisy:
        for step in steps:
            gradient = noisy.release(sums(batches.take(step)))
            velocity.mul_(descent.momentum).add_(gradient, alpha=scale)
            network.weights.sub_(velocity, alpha=descent.learning_rate)
            mean.lerp_(network.weights, min(1.0, max(1 / (1 + step), 1 / (MEMORY * run.steps))))
            if (step + 1) % each == 0:
                after(step + 1)
