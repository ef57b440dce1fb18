"""Training that is not what is accounted for, seen by somebody who knows all rows but one: three more broken twins.

The others are in tests/learning/test_neural_audit.py: noise, clipping, biases, microbatches, batch factors.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet.attacks.confidence import log_ratio_bound
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.neural.batches import Batches
from discreet.learning.neural.per_example_gradients import DenseNetwork
from discreet.learning.neural.private_gradients import PrivateGradients
from discreet.mechanisms import Gaussian
from tests.arrays import torch
from tests.learning.worlds import Mean, World
from tests.scale import counts

torch.set_num_threads(1)

AUDITS = counts(quick=1, full=100)  # of each broken twin


def pointing_away(world):
    """The five rows that everybody knows have one gradient, and the last row the opposite one."""
    world.network.weights.zero_()
    world.inputs[:5], world.targets[:5] = 1.0, 1
    world.inputs[5], world.targets[5] = 100.0, 0
    return world


class Mixing(DenseNetwork):
    """Twin: rows less the mean of their table, as batch normalisation has it."""

    def rows(self, inputs, targets):
        return super().rows(inputs - inputs.mean(0), targets)


def normalised():
    world = pointing_away(World())
    world.network = Mixing((3, 2), clip=0.25, block=8, table=8)
    world.network.weights.zero_()
    return world


def divided():
    return pointing_away(World(sums=Mean))


@pytest.mark.statistical
@pytest.mark.parametrize("twin", [normalised, divided], ids=["batch normalisation", "the number of rows in the mean"])
def test_a_step_in_which_rows_see_one_another_is_caught(twin):
    honest, broken = pointing_away(World()), twin()
    caught = [broken.audited(1000, 10 + 2 * seed) > 1 for seed in range(AUDITS)]

    assert np.mean(caught) >= 0.99
    assert not any(honest.audited(1000, 10 + 2 * seed) > 1 for seed in range(min(3, AUDITS)))


# Shuffled batches, accounted for as if each row had tossed its own coins


STEPS, ROWS, DELTA = 10, 10, 0.66
OBSERVED = 2000  # runs of each world
UNIT = 1000  # one clipped gradient
NOISE = Gaussian.with_sigma(UNIT // 5, sensitivity=UNIT)  # a fifth: what is hidden is hidden by the sampling


def claimed():
    """The epsilon of ten Poisson samples at this delta: with a third of the runs the row is in no sample at all."""
    run = PrivateGradients(noise_multiplier="0.2", rate="1/10", steps=STEPS, parameters=1)
    return float(run.privacy(delta=DELTA).epsilon)


def poisson(seed):
    rng = SeededRandom(seed)
    for _ in range(OBSERVED):
        batches = Batches(rows=ROWS, rate="1/10", rng=rng)
        yield [ROWS - 1 in batches.take(step) for step in range(STEPS)]


def shuffled(seed):
    """Twin: one row a batch, each once."""
    draw = np.random.default_rng(seed)
    for _ in range(OBSERVED):
        yield draw.permutation(ROWS) == ROWS - 1


def audited(sampling, seed):
    """A lower bound on epsilon at DELTA: is the largest of the ten noisy sums above a half?"""
    held = np.array(list(sampling(seed)))  # (runs, steps): whether the last row is in
    sums = [NOISE(part * UNIT, rng=SeededRandom(seed + i)) for i, part in enumerate((held, 0 * held))]
    hits = tuple(int((np.max(side, axis=1) > UNIT // 2 + 300).sum()) for side in sums)
    return log_ratio_bound(hits, (OBSERVED, OBSERVED), delta=DELTA, beta=1e-5)


@pytest.mark.statistical
def test_shuffled_batches_sold_as_coins_are_caught_from_outside():
    tries = counts(quick=1, full=100)
    caught = [audited(shuffled, 50 + 2 * seed) > claimed() for seed in range(tries)]

    assert np.mean(caught) >= 0.99
    assert not any(audited(poisson, 50 + 2 * seed) > claimed() for seed in range(tries))
