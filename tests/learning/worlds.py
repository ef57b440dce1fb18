"""One step of training in two worlds, for those who know all rows but one; it needs PyTorch when it is used only."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta, norm

from discreet.hazmat.entropy import SeededRandom
from discreet.learning.neural.noise import NoisySums
from discreet.learning.neural.per_example_gradients import DenseNetwork
from discreet.learning.neural.private_gradients import POINT, PrivateGradients
from discreet.learning.neural.training import BlockSums
from tests.arrays import torch


class World:
    """A network, rows that everybody knows, and one more row whose gradient is long: what is released of a step."""

    def __init__(self, *, sums=BlockSums, noise=1.0, seed=1):
        generator = torch.Generator().manual_seed(seed)
        self.network = DenseNetwork((3, 2), clip=0.25, block=8, table=8)
        self.inputs = torch.randn(6, 3, generator=generator)
        self.inputs[5] = 0.01  # its gradient is in the biases
        self.targets = torch.tensor([0, 1, 0, 1, 0, 0])
        self.plan = PrivateGradients(
            noise_multiplier=1, rate=1, steps=1_000_000, parameters=len(self.network.weights), block=8
        )
        self.sums, self.noise = sums, noise

    def released(self, rows, count, seed):
        """`count` steps without moving the weights."""
        draw = np.random.default_rng(seed)
        inputs, targets = self.inputs[:rows], self.targets[:rows]
        sums = self.sums(self.network, inputs, targets, places=np.arange(8))
        with NoisySums(self.plan, device="cpu", rng=SeededRandom(seed)) as noisy:
            noisy._draws._variance = int(noisy._draws._variance * self.noise**2)
            return np.array([noisy.release(sums(draw.permutation(rows))).numpy() for _ in range(count)])

    def audited(self, count, seed):
        """A lower bound on mu, at confidence 1 - 1e-5."""
        one, other = self.released(5, count, seed), self.released(6, count, seed + 1)
        sums = [self.sums(self.network, self.inputs[:n], self.targets[:n], places=np.arange(8)) for n in (5, 6)]
        true = [made(np.arange(n)).numpy().astype(float) for made, n in zip(sums, (5, 6), strict=True)]
        direction = true[1] - true[0]
        middle = direction @ (true[0] + true[1]) / 2 / 2**POINT
        low = binomial_low((other @ direction > middle).sum(), count)
        high = 1 - binomial_low((one @ direction <= middle).sum(), count)
        return norm.ppf(low) - norm.ppf(high)


def binomial_low(hits, number):
    """Clopper and Pearson, at 5e-6."""
    return 0.0 if hits == 0 else float(beta.ppf(5e-6, hits, number - hits + 1))


class Mean(BlockSums):
    """Twin: the sum is divided by how many rows were taken."""

    def __call__(self, taken):
        return (super().__call__(taken) * (5 / len(taken))).round().long()
