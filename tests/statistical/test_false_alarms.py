"""An audit accuses an honest mechanism with probability at most beta: measured at a beta that can be measured."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from discreet.attacks import audit
from discreet.attacks.confidence import log_ratio_bound
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Exponential, Laplace, RandomizedResponse
from tests.scale import counts

TRIES = counts(quick=150, full=1000)
BETA = 0.05
MOST = int(binom.isf(1e-6, TRIES, BETA))  # alarms that an honest audit exceeds with probability 1e-6
TIGHT = [(RandomizedResponse(epsilon=1), (0, 1)), (Laplace(epsilon=1, sensitivity=1), (0, 1))]
HONEST = [
    *TIGHT,
    (Laplace(epsilon="1/10", sensitivity=2), (5, 3)),
    (Exponential(epsilon=1, sensitivity=1), ((9, 0), (8, 1))),
]


def audits(mechanism, inputs):
    return [audit(mechanism, inputs, 1000, beta=BETA, rng=SeededRandom(seed)) for seed in range(TRIES)]


@pytest.mark.statistical
@pytest.mark.parametrize(("mechanism", "inputs"), HONEST, ids=str)
def test_an_honest_mechanism_is_accused_as_rarely_as_it_says(mechanism, inputs):
    """At beta = 0.05 by at most that part of the audits, and by none at the beta that audits come with."""
    found = audits(mechanism, inputs)
    epsilon = float(mechanism.privacy().epsilon)
    usual = [log_ratio_bound(one.hits, (one.tested, one.tested), beta=1e-5) for one in found]

    assert sum(one.violates() for one in found) <= MOST
    assert not any(bound > epsilon for bound in usual)


@pytest.mark.statistical
@pytest.mark.parametrize(("mechanism", "inputs"), TIGHT, ids=str)
def test_the_twin_that_compares_frequencies_accuses_every_other_time(mechanism, inputs):
    """Where a claim is tight, an estimate without a bound is above it half of the time."""
    found = audits(mechanism, inputs)
    naive = sum(math.log((one.hits[0] + 1e-9) / max(one.hits[1], 1e-9)) > 1 for one in found)

    assert naive > MOST
