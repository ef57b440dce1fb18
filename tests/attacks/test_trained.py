"""discreet.attacks.trained: leaks that no entry shows by itself are found, and none is invented."""

import math

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.attacks import events as event_module
from discreet.attacks.trained import WIDEST, LinearScore, TreeScore, classifiers
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.samplers import bernoulli, discrete_laplace, uniform_below


class Together:
    """Two entries that agree with probability 3/4 under one input and disagree under the other: ln 3 in all.

    Neither by itself says anything, and two more that are noise hide them in sums, differences and extremes."""

    def releases(self, value, count, *, rng=None):
        side = uniform_below(2, shape=(count,), rng=rng)
        same = bernoulli("3/4", shape=(count,), rng=rng) == bool(value)
        told = np.stack([side, np.where(same, side, 1 - side)], axis=1) * 10_000
        far = 10**6 + uniform_below(10**9, shape=(count, 2), rng=rng)
        return np.concatenate([far * [1, -1], told + uniform_below(10_000, shape=(count, 2), rng=rng)], axis=1)

    def __call__(self, value, *, rng=None):
        return self.releases(value, 1, rng=rng)[0]


class Thin:
    """Forty entries of which every other falls when the rest rise, by a tenth of the noise each."""

    def releases(self, value, count, *, rng=None):
        return discrete_laplace(10, shape=(count, 40), rng=rng) + value * np.resize([1, -1], 40)

    def __call__(self, value, *, rng=None):
        return self.releases(value, 1, rng=rng)[0]


@pytest.mark.statistical
def test_what_entries_say_together_is_found(monkeypatch):
    with_trees = audit(Together(), (0, 1), 50_000, rng=SeededRandom(1)).epsilon
    monkeypatch.setattr(event_module, "classifiers", lambda first, second: ())
    without = audit(Together(), (0, 1), 50_000, rng=SeededRandom(1)).epsilon

    assert 1.0 < with_trees <= math.log(3)
    assert without < 0.1


@pytest.mark.statistical
def test_leaks_spread_over_many_entries_are_found_and_not_exaggerated():
    found = audit(Thin(), (0, 1), 50_000, rng=SeededRandom(2)).epsilon

    assert 0.8 < found <= 4.0


@pytest.mark.statistical
def test_nothing_is_found_where_there_is_nothing():
    class Noise(Thin):
        def releases(self, value, count, *, rng=None):
            return uniform_below(1000, shape=(count, 4), rng=rng)

    alarms = sum(audit(Noise(), (0, 1), 1000, beta=0.05, rng=SeededRandom(seed)).epsilon > 0 for seed in range(30))

    assert alarms <= 7  # 30 at 0.05: more has a probability below 1e-4


@pytest.mark.parametrize("kind", [LinearScore, TreeScore])
def test_outputs_that_are_far_or_no_numbers_have_a_score(kind):
    rng = np.random.default_rng(1)
    score = kind.learn(rng.normal(0, 1, (500, 2)), rng.normal(1, 1, (500, 2)))
    found = score(np.array([[0.0, 0.0], [math.inf, 1.0], [math.nan, -math.inf], [1e300, -1e300]]))

    assert np.isfinite(found).all()


def test_entries_that_never_change_are_no_trouble():
    same = np.ones((200, 3))

    assert all(len(set(score(same).tolist())) == 1 for _, score in classifiers(same, same))


def test_outputs_that_are_too_wide_are_not_trained_on():
    wide = np.zeros((10, WIDEST + 1))

    assert list(classifiers(wide, wide)) == []
