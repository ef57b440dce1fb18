"""What training does is what is accounted for: the samples it draws, and how far one row moves what it releases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from discreet.data import Domain, Real
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import NeuralNetwork
from discreet.learning.neural.batches import Batches
from discreet.learning.neural.private_gradients import POINT
from discreet.learning.neural.training import BlockSums, Descent, train
from discreet.privacy.guarantee import ApproxDP
from tests.arrays import torch
from tests.learning.worlds import Mean, World
from tests.scale import counts

torch.set_num_threads(1)  # threads that wait for one another take a hundred times longer on a busy machine

SAMPLES = counts(quick=8000, full=100_000)
SIDE = counts(quick=1500, full=100_000)  # observations of each world
AUDITS = counts(quick=1, full=100)  # of each broken twin
EPOCHS = counts(quick=600, full=10_000)  # of six steps
ROWS, RATE = 24, "1/6"


# Sampling done is sampling accounted for


def poisson(seed):
    batches = Batches(rows=ROWS, rate=RATE, rng=SeededRandom(seed))
    return [batches.take(step) for step in range(SAMPLES)]


def shuffled(seed):
    """Twin: a shuffled pass, cut into batches of a sixth."""
    draw = np.random.default_rng(seed)
    passes = (draw.permutation(ROWS) for _ in range(-(-SAMPLES // 6)))
    return [part for order in passes for part in np.split(order, 6)][:SAMPLES]


def fixed_size(seed):
    """Twin: a sixth of the rows, drawn without replacement."""
    draw = np.random.default_rng(seed)
    return [draw.choice(ROWS, ROWS // 6, replace=False) for _ in range(SAMPLES)]


def p_values(samples):
    """Of the law of sizes, of how often each row is in, of pairs in one sample, and of a row in two in turn."""
    held = np.zeros((len(samples), ROWS), dtype=bool)
    for place, sample in enumerate(samples):
        held[place, sample] = True
    sizes = np.bincount(held.sum(1).clip(0, 9), minlength=10)
    law = binom.pmf(np.arange(10), ROWS, 1 / 6)
    law[9] = binom.sf(8, ROWS, 1 / 6)
    each = held.sum(0)
    pairs = np.array([(held[:, i] & held[:, j]).sum() for i, j in itertools.combinations(range(ROWS), 2)])
    turns = (held[1:] & held[:-1]).sum()
    return [
        chisquare(sizes, len(samples) * law).pvalue,
        tail(each, len(samples), 1 / 6),
        tail(pairs, len(samples), 1 / 36),
        tail(np.array([turns]), (len(samples) - 1) * ROWS, 1 / 36),
    ]


def tail(found, number, chance):
    """The two-sided tail of the farthest of some counts, for all of them together."""
    one = np.minimum(binom.cdf(found, number, chance), binom.sf(found - 1, number, chance))
    return min(1.0, 2 * len(found) * float(one.min()))


@pytest.mark.statistical
def test_every_row_is_taken_on_its_own_coin():
    assert min(p_values(poisson(1))) > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("twin", [shuffled, fixed_size])
def test_batches_of_one_size_sold_as_coins_are_caught(twin):
    assert min(p_values(twin(1))) < 1e-6


def taken_by_training(monkeypatch, *, epochs=EPOCHS, **how):
    """Which rows every step of a whole fit takes; the sums are left out."""
    seen = []

    def record(self, taken):
        seen.append(taken.copy())
        return self._total

    monkeypatch.setattr(BlockSums, "__call__", record)
    domain, frame = Domain({"x": Real(-1, 1)}), np.zeros((ROWS, 1))
    given = {"budget": ApproxDP(3.0, 1e-5), "domain": domain, "rows": ROWS, "batch": 4, "epochs": epochs} | how
    NeuralNetwork((), **given).fit(frame, np.zeros(ROWS, dtype=bool), rng=SeededRandom(5))
    return seen


class TwiceAsOften(Batches):
    """Twin: twice the rate that is accounted for."""

    def __init__(self, *, rate, **how):
        super().__init__(rate=2 * rate, **how)


class OnePass:
    """Twin: a shuffled pass, cut into batches, drawn from the source."""

    def __init__(self, *, rows, rate, bands, rng):
        self._rows, self._parts, self._random, self._left = rows, round(1 / rate), rng, []

    def take(self, step):
        if not self._left:
            self._left = np.split(np.argsort(self._random.words(self._rows)), self._parts)
        return self._left.pop()


class OneBand(Batches):
    """Twin: rows have no classes, whatever the noise takes for granted."""

    def __init__(self, *, bands, **how):
        super().__init__(bands=1, **how)


@pytest.mark.statistical
def test_a_whole_training_run_takes_every_row_on_its_own_coin(monkeypatch):
    """At the rate that is accounted for: what `train` does, and not what its parts can do."""
    assert min(p_values(taken_by_training(monkeypatch))) > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("twin", [TwiceAsOften, OnePass])
def test_a_training_run_that_samples_otherwise_is_caught(monkeypatch, twin):
    monkeypatch.setattr("discreet.learning.neural.training.Batches", twin)

    assert min(p_values(taken_by_training(monkeypatch))) < 1e-6


def in_both_parities(samples):
    """How many rows are in an even step and in an odd one."""
    return len(set(np.concatenate(samples[::2]).tolist()) & set(np.concatenate(samples[1::2]).tolist()))


def test_with_correlated_noise_a_row_takes_part_in_the_steps_of_its_class_only(monkeypatch):
    """Of a whole training run; the twin in which rows have no classes is caught."""
    two = {"noise": "correlated", "bands": 2, "epochs": 50}
    assert in_both_parities(taken_by_training(monkeypatch, **two)) == 0
    monkeypatch.setattr("discreet.learning.neural.training.Batches", OneBand)
    assert in_both_parities(taken_by_training(monkeypatch, **two)) == ROWS


@pytest.mark.statistical
def test_the_order_of_a_sample_is_uniform():
    batches = Batches(rows=3, rate=1, rng=SeededRandom(2))
    orders = [tuple(batches.take(step).tolist()) for step in range(6000)]
    found = [orders.count(order) for order in itertools.permutations(range(3))]

    assert chisquare(found).pvalue > 1e-6


@pytest.mark.statistical
def test_a_row_takes_part_in_the_steps_of_its_class_only_and_classes_are_fair():
    batches = Batches(rows=3000, rate=1, bands=3, rng=SeededRandom(3))
    rounds = [[set(batches.take(step).tolist()) for step in range(start, start + 3)] for start in (0, 3)]

    assert rounds[0] == rounds[1]
    assert sum(map(len, rounds[0])) == len(set.union(*rounds[0])) == 3000
    assert chisquare([len(one) for one in rounds[0]]).pvalue > 1e-6


def test_a_sample_is_not_used_twice():
    batches = Batches(rows=ROWS, rate=RATE)
    batches.take(4)

    for step in (4, 0):
        with pytest.raises(UnsupportedError, match="drawn once"):
            batches.take(step)


# One step, seen from outside by somebody who knows all rows but one


class Scaled(BlockSums):
    """Sums with other scales."""

    def _table(self, chosen):
        parts = super()._table(chosen)
        counted = parts[-1] > 0
        value, change = parts[0].double(), parts[1].double()
        parts[-1] = torch.where(counted, self.scale(value.square().sum(1) * change.square().sum(1)), 0.0)
        return parts


class Unclipped(Scaled):
    """Twin: no clipping."""

    def scale(self, square):
        return torch.full_like(square, 4.0)


class WithoutBiases(Scaled):
    """Twin: biases are left out of the length."""

    def scale(self, square):
        return 1 / square.sqrt().clamp(min=0.25)


class Whole(BlockSums):
    """Twin: gradients are added up unclipped, and the sum is clipped (a microbatch as long as the batch)."""

    def __call__(self, taken):
        total = Unclipped(self._network, self._inputs, self._targets, places=self._places.numpy())(taken).double()
        return (total * min(1.0, 2.0**POINT / float(total.norm()))).round().long()


class Twofold(BlockSums):
    """Twin: a batch factor: sums are over the rows and divided by half as many."""

    def __call__(self, taken):
        return 2 * super().__call__(taken)


@pytest.mark.statistical
def test_one_step_tells_the_last_row_as_well_as_it_says_and_no_better():
    found = World().audited(SIDE, 1)

    assert found <= 1
    assert found >= (0.95 if SIDE >= 100_000 else 0.6)


TWINS = {
    "a third of the noise": {"noise": 1 / 3},
    "half of the noise": {"noise": 1 / 2},
    "no clipping": {"sums": Unclipped},
    "biases are not clipped": {"sums": WithoutBiases},
    "a batch factor": {"sums": Twofold},
    "the sum is clipped": {"sums": Whole},
}


@pytest.mark.statistical
@pytest.mark.parametrize("twin", TWINS)
def test_a_step_that_hides_less_than_it_says_is_caught(twin):
    world = World(**TWINS[twin])
    if twin == "the sum is clipped":  # the rows that everybody knows point the other way
        world.network.weights.zero_()
        world.inputs[:5], world.targets[:5] = 1.0, 1
        world.inputs[5] = 100.0
    caught = [world.audited(1000, 10 + 2 * seed) > 1 for seed in range(AUDITS)]

    assert np.mean(caught) >= 0.99


class InOrder:
    """Samples of all rows, in the order of the dataset."""

    def __init__(self, *, rows, rate, bands, rng):
        self.rows = rows

    def take(self, step):
        return np.arange(self.rows)


def trained(sums, rows):
    """The weights after three steps on the first rows."""
    world = World()
    world.inputs[5] = float("nan")
    network, velocity = world.network, torch.zeros_like(world.network.weights)
    made = sums(network, world.inputs[:rows], world.targets[:rows], places=np.arange(8))
    descent = Descent(batch=5, clip=0.25, learning_rate=0.5, momentum=0.9)
    train(
        made, network, velocity, velocity.clone(), world.plan, descent, rows=rows, steps=range(3), each=3,
        rng=SeededRandom(7),
    )  # fmt: skip
    return network.weights


def test_what_is_released_does_not_depend_on_how_many_rows_there_are(monkeypatch):
    """A row without gradient, added, changes nothing at all: the sum is divided by a public number."""
    monkeypatch.setattr("discreet.learning.neural.training.Batches", InOrder)

    assert torch.equal(trained(BlockSums, 5), trained(BlockSums, 6))
    assert torch.equal(trained(Mean, 5), trained(BlockSums, 5))
    assert not torch.equal(trained(Mean, 5), trained(Mean, 6))
