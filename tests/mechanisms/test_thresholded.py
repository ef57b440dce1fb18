"""discreet.mechanisms.thresholded: each claim in the module docstring, in order."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.confidence import clopper_pearson
from discreet.composition.price import price
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.partition_selection import PartitionSelection
from discreet.mechanisms.thresholded import Thresholded, gaussian_tail
from discreet.privacy.event import ApproxEvent, ComposedEvent
from discreet.privacy.number import exact
from tests.privacy.test_profile import real
from tests.scale import counts

TUPLES = counts(quick=200, full=10_000)


def tail(noise, k):
    """Pr[Z >= k] on the discrete law, with 40 digits: the closed form for Laplace, a sum for Gaussian noise."""
    if isinstance(noise, Laplace):
        a = mpmath.exp(-1 / real(noise.scale))
        return a**k / (1 + a)
    variance, reach = real(exact(noise.sigma) ** 2), math.ceil(15 * exact(noise.sigma)) + 10
    weights = [mpmath.exp(-mpmath.mpf(j * j) / (2 * variance)) for j in range(k + reach)]
    return mpmath.fsum(weights[k:]) / (2 * mpmath.fsum(weights) - 1)


def settings(seed, count):
    """Noise, delta, groups and change, spread over their range."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        epsilon, delta = round(10 ** rng.uniform(-1, 0.9), 3), float(f"{10 ** rng.uniform(-12, -2):.3g}")
        groups, change = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        if i % 2:
            noise = Laplace(epsilon=epsilon, sensitivity=groups * change)
        else:
            noise = Gaussian.with_sigma(round(2 / epsilon, 3), sensitivity=2 * change)
        yield Thresholded(noise=noise, delta=delta, groups_per_unit=groups, change=change)


def law(noise, value, cut, reach):
    """The law of one key on silence and the counts from cut to cut + reach, in floating point."""
    z = np.arange(-reach - cut, reach + cut + 1)
    rate = float(noise.scale) if isinstance(noise, Laplace) else float(noise.sigma)
    weights = np.exp(-np.abs(z) / rate) if isinstance(noise, Laplace) else np.exp(-z * z / (2 * rate**2))
    weights /= weights.sum()
    seen = np.where(value > 0, weights[np.arange(cut, cut + reach) - value + reach + cut], 0.0)
    return np.append(seen, 1 - seen.sum())


def joint_delta(thresholded, epsilon, here, there, *, noise=None, cut=None):
    """The hockey stick between two tables, in both directions, over all outcomes of all keys."""
    noise, cut, reach = noise or thresholded.noise, cut or thresholded.cut, 150

    def joint(values):
        one = law(noise, values[0], cut, reach)
        for value in values[1:]:
            one = np.multiply.outer(one, law(noise, value, cut, reach)).ravel()
        return one

    p, q = joint(here), joint(there)
    return max(np.maximum(0, a - np.exp(epsilon) * b).sum() for a, b in ((p, q), (q, p)))


def test_the_claimed_delta_is_that_of_the_discrete_law_and_the_cut_is_the_least():
    """A unit alone in all its keys: one of them is named with this probability, and without the unit never."""
    for thresholded in settings(1, TUPLES):
        groups, k = thresholded.groups_per_unit, thresholded.cut - thresholded.change
        naming = price(thresholded.event()).delta
        alone = -mpmath.expm1(groups * mpmath.log1p(-tail(thresholded.noise, k)))

        assert alone <= real(naming) <= alone * mpmath.mpf("1.01")
        assert naming <= exact(thresholded.delta)
        if k > 1:  # the twin: a threshold one too low
            assert groups * tail(thresholded.noise, k - 1) > real(exact(thresholded.delta))


def test_a_threshold_one_too_low_has_the_known_price():
    """Claimed 0.00493, true 0.0134: the error of computing with `>` and running `>=`."""
    thresholded = Thresholded(noise=Laplace(epsilon=1, sensitivity=1), delta=0.005)

    assert thresholded.cut == 6
    assert float(thresholded.privacy().delta) == pytest.approx(0.00493, abs=1e-5)
    assert joint_delta(thresholded, 1, (0,), (1,)) == pytest.approx(0.00493, abs=1e-5)
    assert joint_delta(thresholded, 1, (0,), (1,), cut=5) == pytest.approx(0.0134, abs=1e-4)


@pytest.mark.parametrize("delta", [0.02, 1e-4])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_one_key_keeps_the_claim_at_every_count(kind, delta):
    noise = Laplace(epsilon=1, sensitivity=2) if kind == "laplace" else Gaussian(epsilon=1, delta=1e-3, sensitivity=2)
    thresholded = Thresholded(noise=noise, delta=delta, change=2)
    claimed = float(thresholded.privacy().delta)
    pairs = [(v, v + step) for v in range(thresholded.cut + 12) for step in (1, 2)]
    found = [joint_delta(thresholded, 1, (a,), (b,)) for a, b in pairs]

    assert max(found) <= claimed * (1 + 1e-9)
    if kind == "laplace":
        assert max(found) >= claimed * (1 - 1e-9)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_two_keys_keep_the_claim_and_noise_for_one_does_not(kind):
    """Keys that appear, keys that are there already, and both; the twin has noise for a unit in one key only."""
    if kind == "laplace":
        noise, twin = (Laplace(epsilon=1, sensitivity=s) for s in (2, 1))
    else:
        noise = Gaussian(epsilon=1, delta=1e-2, sensitivity=math.sqrt(2), dimension=2)
        twin = Gaussian(epsilon=1, delta=1e-2, sensitivity=1)
    thresholded = Thresholded(noise=noise, delta=0.02, groups_per_unit=2)
    claimed, c = float(thresholded.privacy().delta), thresholded.cut
    values = (0, 1, c - 1, c, c + 20)
    pairs = [(here, (here[0] + 1, here[1] + 1)) for here in product(values, repeat=2)]

    assert max(joint_delta(thresholded, 1, a, b) for a, b in pairs) <= claimed * (1 + 1e-9)
    assert max(joint_delta(thresholded, 1, a, b, noise=twin) for a, b in pairs) > claimed * 1.2


@pytest.mark.parametrize(("sigma", "k"), [("0.05", 1), ("1/3", 1), (1, 1), (1, 7), (5, 20), (60, 400), (499, 2600)])
def test_the_gaussian_tail_is_the_sum(sigma, k):
    ours, true = gaussian_tail(exact(sigma) ** 2, k), tail(Gaussian.with_sigma(sigma, sensitivity=1), k)

    assert true * (1 - mpmath.mpf(10) ** -30) <= real(ours) <= true * (1 + mpmath.mpf(10) ** -20)


@pytest.mark.parametrize(("sigma", "k"), [(501, 1), (501, 2600), (5000, 20_000)])
def test_the_tail_of_wide_gaussian_noise_is_bounded_by_the_continuous_one(sigma, k):
    ours, true = gaussian_tail(exact(sigma) ** 2, k), tail(Gaussian.with_sigma(sigma, sensitivity=1), k)

    assert true <= real(ours) <= true * mpmath.mpf("1.02")


@given(st.sampled_from([0.5, 0.6, 0.95, 0.999]), st.sampled_from([1e-9, 1e-3]), st.booleans())
def test_threshold_is_the_least_count_that_is_released_so_often(probability, delta, gaussian):
    noise = Gaussian.with_sigma(3, sensitivity=1) if gaussian else Laplace(epsilon=0.7, sensitivity=1)
    thresholded = Thresholded(noise=noise, delta=delta)
    least = thresholded.threshold(probability)

    def released(n):
        k = thresholded.cut - n
        return tail(noise, k) if k >= 1 else 1 - tail(noise, 1 - k)

    assert released(least) >= probability * (1 - 1e-12)
    assert released(least - 1) < probability


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [Laplace(epsilon=1, sensitivity=1), Gaussian.with_sigma(2, sensitivity=1)], ids=repr)
def test_singletons_are_named_with_the_claimed_probability(noise):
    """A hundred thousand keys of one unit each, failure probability 1e-6; keys of nobody are never named."""
    thresholded, runs = Thresholded(noise=noise, delta=5e-3), 100_000
    where, noisy = thresholded(np.ones(runs, dtype=int), rng=SeededRandom(1))
    low, high = clopper_pearson(where.size, runs, beta=1e-6)

    assert low <= tail(noise, thresholded.cut - 1) <= high
    assert not low <= tail(noise, thresholded.cut - 2) <= high  # the twin: `>` for `>=`
    assert noisy.min() == thresholded.cut
    assert thresholded(np.zeros(runs, dtype=int), rng=SeededRandom(2))[0].size == 0


def test_positions_come_in_their_order_with_their_counts():
    thresholded = Thresholded(noise=Laplace(epsilon=50, sensitivity=1), delta=1e-6)
    where, noisy = thresholded([500, 0, 1, 700, 600])

    assert where.tolist() == [0, 3, 4]
    assert np.abs(noisy - [500, 700, 600]).max() <= 1


def test_one_release_names_and_counts_better_than_two():
    """The same budget: the threshold needs fewer units and half the noise; alone, the optimal rule needs fewest."""
    together = Thresholded(noise=Laplace(epsilon=1, sensitivity=1), delta=1e-6)
    half = PartitionSelection(epsilon=0.5, delta=1e-6)
    alone = PartitionSelection(epsilon=1, delta=1e-6)

    assert alone.threshold(0.95) < together.threshold(0.95) < half.threshold(0.95)
    assert together.accuracy(0.05) < Laplace(epsilon=0.5, sensitivity=1).accuracy(0.05)


def test_many_groups_are_cheaper_with_gaussian_noise():
    gaussian = Gaussian(epsilon=1, delta=5e-7, sensitivity=10, dimension=100)
    noise = Thresholded(noise=gaussian, delta=5e-7, groups_per_unit=100)
    rule = PartitionSelection(epsilon=1, delta=1e-6, groups_per_unit=100)

    assert 4 * noise.threshold(0.95) < rule.threshold(0.95)


def test_the_event_is_the_noise_and_a_failure():
    laplace, gaussian = Laplace(epsilon=1, sensitivity=3), Gaussian.with_sigma(10, sensitivity=2)
    for noise in (laplace, gaussian):
        thresholded = Thresholded(noise=noise, delta=1e-6, groups_per_unit=3)
        _, failure = thresholded.event().events

        assert thresholded.event() == ComposedEvent(events=(noise.event(), failure))
        assert isinstance(failure, ApproxEvent)
        assert failure.epsilon == 0
        assert Fraction(1, 2 * 10**6) < failure.delta <= Fraction(1, 10**6)
        assert price(thresholded.event()).rho == price(noise.event()).rho
    assert exact(thresholded.privacy().epsilon) == exact(gaussian.privacy().to_approx(1e-6).epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-308, 1e-308), (1e308, 1e-308), (1e-6, 0.1), (700, 0.9)])
def test_extreme_parameters_work(epsilon, delta):
    thresholded = Thresholded(noise=Laplace(epsilon=epsilon, sensitivity=1), delta=delta)
    where, _ = thresholded(np.array([0, 1, 2**62]), rng=SeededRandom(1))

    assert price(thresholded.event()).delta <= exact(delta)
    assert 0 not in where


@pytest.mark.parametrize(
    "bad",
    [
        {"delta": 0}, {"delta": 1}, {"delta": math.nan}, {"groups_per_unit": 0}, {"groups_per_unit": 2.0},
        {"change": 0}, {"change": True}, {"groups_per_unit": 4}, {"change": 2},
        {"noise": PartitionSelection(epsilon=1, delta=0.1)},
        {"noise": Gaussian.with_sigma(3, sensitivity=1)}, {"noise": Gaussian(epsilon=1, delta=0.1, sensitivity=2)},
    ],
    ids=str,
)  # fmt: skip
def test_rejects_bad_parameters_and_noise_for_fewer_groups(bad):
    good = {"noise": Laplace(epsilon=1, sensitivity=3), "delta": 1e-6, "groups_per_unit": 3}
    with pytest.raises(ParameterError, match="need"):
        Thresholded(**(good | bad))


@pytest.mark.parametrize("probability", [0.4, 1, math.nan, -1])
def test_rejects_probabilities_below_a_half(probability):
    with pytest.raises(ParameterError, match="need"):
        Thresholded(noise=Laplace(epsilon=1, sensitivity=1), delta=1e-6).threshold(probability)
