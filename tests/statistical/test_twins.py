"""The audits have power: broken twins are caught 99 times in 100, honest mechanisms accused at most once in 1000."""

import pytest

from discreet.attacks import audit
from discreet.attacks.broken import SAMPLED
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Exponential, Laplace, SparseVector
from tests.scale import counts

TRIES = counts(quick=8, full=100)
HONEST = [
    (Laplace(epsilon=0.1, sensitivity=1), (0, 1)),
    (Laplace(epsilon=1, sensitivity=1), (0, 1)),
    (Laplace(epsilon=4, sensitivity=2), (5, 3)),
    (Exponential(epsilon=1, sensitivity=1), ((0, 1, 1), (1, 0, 0))),
    (SparseVector(epsilon=1, sensitivity=1, threshold=0, count=2), ((0, 0, 0, 0), (1, 1, -1, -1))),
]


@pytest.mark.statistical
@pytest.mark.parametrize("twin", SAMPLED, ids=repr)
def test_a_twin_is_caught(twin):
    samples = 1_000_000 if 0 < twin.privacy().epsilon < 0.5 else 200_000  # more where less would miss it
    caught = sum(
        audit(twin, twin.worst, samples, rng=SeededRandom(seed)).violates() for seed in range(100, 100 + TRIES)
    )

    assert caught >= 0.99 * TRIES


@pytest.mark.statistical
@pytest.mark.parametrize(("mechanism", "inputs"), HONEST, ids=str)
def test_an_honest_mechanism_is_not_accused(mechanism, inputs):
    tries = counts(quick=20, full=200)
    alarms = sum(
        audit(mechanism, inputs, 100_000, rng=SeededRandom(seed)).violates() for seed in range(1000, 1000 + tries)
    )

    assert alarms == 0  # at beta = 1e-5 even one in a thousand would be a hundred times too many
