"""discreet.attacks.gaussian_audit: it finds nearly all of mu, not more, and a tenth too little noise."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.attacks import GaussianAudit, audit_gaussian, audit_scores
from discreet.attacks.confidence import log_ratio_bound, shift_bound
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Gaussian
from discreet.privacy.guarantee import GaussianDP, PureDP
from tests.scale import counts

SIDE = 100_000


def worlds(mu, seed, side=SIDE):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, side), rng.normal(mu, 1, side)


@pytest.mark.statistical
@pytest.mark.parametrize(("mu", "share"), [(0.5, 0.94), (1, 0.97), (2, 0.98)])
def test_finds_nearly_all_of_mu_and_not_more(mu, share):
    """At beta = 0.01 and 100,000 a side the mean is 0.970, 0.983 and 0.989 of mu."""
    found = [audit_scores(*worlds(mu, seed), beta=0.01).mu / mu for seed in range(counts(quick=8, full=100))]

    assert share < np.mean(found) < 1


@pytest.mark.statistical
@pytest.mark.parametrize("mu", [0.5, 1, 2])
def test_noise_a_tenth_too_small_is_caught(mu):
    tries = counts(quick=10, full=100)
    caught = sum(audit_scores(*worlds(mu / 0.9, seed), beta=0.01).mu > mu for seed in range(tries))

    assert caught >= 0.99 * tries


@pytest.mark.statistical
def test_exceeds_the_truth_no_more_often_than_beta_says():
    """At beta = 0.05 more than 5 % + 5 sigma of audits above mu would be a bug."""
    runs = counts(quick=300, full=3000)
    above = sum(audit_scores(*worlds(1, seed, 2000), beta=0.05).mu > 1 for seed in range(runs))

    assert above <= runs * 0.05 + 5 * math.sqrt(runs * 0.05 * 0.95)


@pytest.mark.statistical
def test_choosing_the_threshold_on_the_tested_numbers_would_invent_a_leak():
    """The broken twin of the split: the best of many thresholds on one sample of pure noise."""

    def fooled(seed):
        first, second = worlds(0, seed, 500)
        cuts = np.linspace(-2.5, 2.5, 25)
        return max(
            shift_bound((int((second > c).sum()), int((first > c).sum())), (500, 500), beta=0.3) for c in cuts
        ) > 0  # fmt: skip

    runs = range(60)

    assert sum(fooled(seed) for seed in runs) > 30
    assert sum(audit_scores(*worlds(0, seed, 500), beta=0.3).mu > 0 for seed in runs) <= 30


def test_the_bound_is_the_shift_at_every_split_of_the_risk():
    found = shift_bound((6900, 3100), (10_000, 10_000), beta=0.01)
    rate = norm.ppf(0.69) - norm.ppf(0.31)

    assert 0.93 * rate < found < rate
    assert shift_bound((0, 0), (100, 100), beta=0.01) == shift_bound((50, 100), (100, 100), beta=0.01) == 0
    assert 0 < shift_bound((100, 0), (100, 100), beta=0.01) < math.inf
    assert shift_bound((6900, 3100), (10_000, 10_000), beta=1e-6) < found


@pytest.mark.statistical
def test_reads_mechanisms_forwards_and_backwards():
    noisy = Gaussian.with_sigma(4, sensitivity=4)
    there, back = (audit_gaussian(noisy, pair, 20_000, rng=SeededRandom(1)) for pair in ((0, 4), (4, 0)))

    assert 0.88 < there.mu < 1.003
    assert 0.88 < back.mu < 1.003
    assert (there.swapped, back.swapped) == (False, True)


class Vector:
    """Gaussian noise on eight entries that all move by an eighth of the square: mu is 1 / factor."""

    def __init__(self, factor):
        self.noise = Gaussian.with_sigma(100 * factor, sensitivity=100)

    def releases(self, value, count, *, rng=None):
        moved = np.full((count, 8), round(value * 100 / math.sqrt(8)))
        return self.noise(moved, rng=rng)

    def __call__(self, value, *, rng=None):
        return self.releases(value, 1, rng=rng)[0]

    def privacy(self):
        return GaussianDP(1)


@pytest.mark.statistical
def test_vectors_are_projected_on_what_tells_them_apart():
    honest, twin = (audit_gaussian(Vector(f), (0, 1), 20_000, rng=SeededRandom(2)) for f in (1, 0.8))

    assert 0.88 < honest.mu <= 1
    assert not honest.violates()
    assert twin.violates()
    half = audit_gaussian(Vector(1), (0, 1), 20_000, score=lambda rows: rows[:, 0], rng=SeededRandom(2))
    assert half.mu < 0.5  # one entry has an eighth of the square


@pytest.mark.statistical
def test_sees_what_an_audit_of_epsilon_cannot():
    """A fifth too little noise at delta = 1e-5: no event that likely is rare enough, and mu shows it."""
    first, second = worlds(1.25, 3, 50_000)
    claim = GaussianDP(1)
    epsilon = float(claim.to_approx(1e-5).epsilon)
    best = max(
        log_ratio_bound((int((second > c).sum()), int((first > c).sum())), (50_000, 50_000), delta=1e-5, beta=1e-5)
        for c in np.linspace(-1, 4, 40)
    )

    assert best < epsilon
    assert audit_scores(first, second).violates(claim)


def test_only_a_claim_of_mu_is_judged():
    found = audit_scores(*worlds(1, 4, 1000))

    assert isinstance(found, GaussianAudit)
    with pytest.raises(ParameterError, match="need a guarantee"):
        found.violates()
    with pytest.raises(UnsupportedError, match="PureDP"):
        found.violates(PureDP(1))


@pytest.mark.parametrize(
    "bad", [{"inputs": (0,)}, {"samples": 10}, {"samples": True}, {"samples": 1e5}, {"beta": 0.0}, {"beta": math.nan}]
)
def test_bad_input_is_refused_before_anything_is_drawn(bad):
    def never(value, *, rng=None):
        raise AssertionError("drawn")

    with pytest.raises(ParameterError):
        audit_gaussian(never, **({"inputs": (0, 1), "samples": 1000} | bad))


@pytest.mark.parametrize(
    "sides", [([1.0] * 50, [1.0] * 50), ([1.0] * 200, [1.0] * 100), ([math.nan] * 200, [1.0] * 200)]
)
def test_numbers_that_cannot_be_compared_are_refused(sides):
    with pytest.raises(ParameterError):
        audit_scores(*sides)
