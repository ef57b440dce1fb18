"""discreet.composition.losses: every loss distribution against its mechanism, summed directly."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from discreet.composition.losses import losses
from discreet.composition.transform import Law
from discreet.errors import UnsupportedError
from discreet.privacy import ZCDP, GaussianDP, PureDP
from discreet.privacy.enclosure import root_up
from discreet.privacy.event import (
    ApproxEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureEvent,
)
from tests.composition.oracle import gaussian_delta

losses_module = importlib.import_module("discreet.composition.losses")

STEP = 1e-3
EPSILONS = [0.0, 0.1, 0.35, 0.8, 1.5]


def delta_of(law: Law, epsilon: float, step: float = STEP) -> float:
    return law.infinite + float(np.sum(law.masses * np.maximum(0, -np.expm1(epsilon - law.indices * step))))


def stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.sum(np.maximum(0, p - math.exp(epsilon) * q)))


def gaussian(sigma: float, shift: int, reach: int = 200) -> np.ndarray:
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-((z - shift) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


def laplace(scale: float, shift: int, reach: int = 400) -> np.ndarray:
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(z - shift) / scale)
    return weights / weights.sum()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_expected_loss_of_randomized_response_is_the_largest_of_all_pure_mechanisms(epsilon):
    """sup KL over epsilon-DP pairs is epsilon tanh(epsilon / 2), attained here."""
    law = losses(PureEvent(epsilon=epsilon), epsilon / 1000).forward
    mean = float(np.dot(law.masses, law.indices * epsilon / 1000))

    assert mean == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-6)
    assert mean <= epsilon**2 / 2


def test_the_published_expected_losses():
    assert 1 * math.tanh(0.5) == pytest.approx(0.462117, abs=5e-7)
    assert 0.1 * math.tanh(0.05) == pytest.approx(0.00499584, abs=5e-9)


@pytest.mark.parametrize("mu", [0.2, 1.0, 2.5])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_the_normal_loss_reproduces_the_gaussian_delta(mu, epsilon):
    """L ~ N(mu^2/2, mu^2), so E[(1 - e^(epsilon - L))_+] is Balle and Wang's delta."""
    from scipy.integrate import quad

    def integrand(loss: float) -> float:
        return (
            -math.expm1(epsilon - loss)
            * math.exp(-(((loss - mu**2 / 2) / mu) ** 2) / 2)
            / (mu * math.sqrt(2 * math.pi))
        )

    integral = quad(integrand, epsilon, mu**2 / 2 + 40 * mu, epsabs=1e-13, epsrel=1e-12)[0]
    exact = float(gaussian_delta(mu, epsilon))
    found = delta_of(losses(GaussianDP(mu), 1e-4).forward, epsilon, 1e-4)

    assert integral == pytest.approx(exact, abs=1e-10)
    assert exact <= found <= exact * (1 + 1e-5) + 1e-12


def test_a_loss_above_epsilon_with_probability_delta_is_sufficient_and_not_necessary():
    """The notes call the two equivalent.  The true converse is Pr[L > epsilon + t] <= delta / (1 - e^-t)."""
    mu, epsilon, t = 1.0, 1.0, 0.5
    delta = float(gaussian_delta(mu, epsilon))

    def above(x: float) -> float:
        return 0.5 * math.erfc((x - mu**2 / 2) / (mu * math.sqrt(2)))

    assert above(epsilon) > delta  # so (epsilon, delta)-DP does not give the probability statement
    assert above(epsilon + t) <= delta / -math.expm1(-t)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("shift", [1, 2, 7])
def test_discrete_laplace_is_exact_and_above(shift, epsilon):
    event = LaplaceEvent(scale=5, sensitivity=shift)
    exact = stick(laplace(5, 0), laplace(5, shift), epsilon)
    found = delta_of(losses(event, STEP).forward, epsilon)

    assert exact - 1e-14 <= found <= exact + 1e-5


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_moving_one_coordinate_by_everything_is_the_worst_case_for_laplace(epsilon):
    """All ways to spread an l1 change of 4 over coordinates."""
    one = delta_of(losses(LaplaceEvent(scale=3, sensitivity=4), STEP).forward, epsilon)
    for parts in [(4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)]:
        tables = [[(a, b) for a, b in zip(laplace(3, 0, 30), laplace(3, k, 30), strict=True)] for k in parts]
        merged = {0: (1.0, 1.0)}
        for table in tables:  # merge outputs of equal loss, which keeps the hockey stick
            longer: dict[int, tuple[float, float]] = {}
            for (key, (p, q)), (a, b) in product(merged.items(), table):
                new = key + round(3 * math.log(a / b))
                old = longer.get(new, (0.0, 0.0))
                longer[new] = (old[0] + p * a, old[1] + q * b)
            merged = longer
        spread = sum(max(0.0, p - math.exp(epsilon) * q) for p, q in merged.values())
        assert spread <= one + 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sigma", [0.7, 1.5, 4.2247])
def test_a_discrete_gaussian_that_moves_by_one_is_exact_and_above(sigma, epsilon):
    exact = stick(gaussian(sigma, 0), gaussian(sigma, 1), epsilon)
    found = delta_of(losses(GaussianEvent(sigma=sigma, sensitivity=1), STEP).forward, epsilon)

    assert exact - 1e-14 <= found <= exact + 1e-5


def test_the_continuous_gaussian_does_not_dominate_the_discrete_one():
    """The trap: at sigma 4.2247 the continuous law has delta 1e-6 and the discrete one more."""
    event = GaussianEvent(sigma="4.2247", sensitivity=1)
    continuous = float(gaussian_delta(1 / 4.2247, 1.0))
    discrete = delta_of(losses(event, 1e-5).forward, 1.0, 1e-5)

    assert continuous == pytest.approx(1e-6, rel=1e-3)
    assert discrete == pytest.approx(1.0196e-6, rel=1e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sigma", [3.0, 8.0])
@pytest.mark.parametrize("move", [(2,), (1, 1), (3,), (2, 2, 1), (1, 1, 1), (2, 1, 1)])
def test_the_smoothed_pair_dominates_every_integer_move(sigma, move, epsilon):
    """<move, Z> decides the loss; its law under Z^d is convolved directly."""
    square = sum(x * x for x in move)
    z = np.arange(-150, 151)
    law = np.array([1.0])
    for x in move:
        spaced = np.zeros(300 * x + 1)
        spaced[::x] = gaussian(sigma, 0, 150)[: len(spaced[::x])]
        law = np.convolve(law, spaced)
    inner = np.arange(len(law)) - (len(law) - 1) // 2
    loss = (square - 2 * inner) / (2 * sigma**2)
    exact = float(np.sum(law * np.maximum(0, -np.expm1(epsilon - loss))))
    found = losses(GaussianEvent(sigma=sigma, sensitivity=math.sqrt(square) + 1e-9), STEP)

    assert len(z) == 301
    assert exact <= delta_of(found.forward, epsilon - found.shift)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5, 0.9])
def test_the_pair_of_the_exponential_mechanism_dominates_it(epsilon):
    """Every bounded-range pair has losses t and t - 1 for some t; the bound is their envelope."""
    found = delta_of(losses(ExponentialEvent(epsilon=1), STEP).forward, epsilon)
    ts = np.linspace(0, 1, 2001)
    p = (math.e - np.exp(ts)) / (math.e - 1)
    envelope = float(np.max(p * np.maximum(0, -np.expm1(epsilon - ts))))

    assert envelope == pytest.approx((math.exp(0.5) - math.exp(epsilon / 2)) ** 2 / (math.e - 1), abs=1e-6)
    assert envelope <= found <= envelope + 1e-6


@pytest.mark.parametrize("rate", [0.01, 0.3])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2])
def test_poisson_samples_are_exact_and_above_in_both_directions(rate, epsilon):
    pairs = {
        GaussianEvent(sigma=1, sensitivity=1): (gaussian(1, 1), gaussian(1, 0)),
        LaplaceEvent(scale=2, sensitivity=3): (laplace(2, 3), laplace(2, 0)),
    }
    for event, (p, q) in pairs.items():
        found = losses(PoissonSampledEvent(rate=rate, event=event), 1e-4)
        mixed = (1 - rate) * q + rate * p
        for law, exact in ((found.forward, stick(mixed, q, epsilon)), (found.backward, stick(q, mixed, epsilon))):
            assert exact - 1e-14 <= delta_of(law, epsilon, 1e-4) <= exact + 1e-6


@pytest.mark.parametrize("rate", [0.02, 0.4])
def test_a_sampled_normal_pair_agrees_with_the_integral(rate):
    """The pair behind large sigmas: sampled, split and compared with quadrature."""
    sigma, square = 20.0, 100
    event = PoissonSampledEvent(rate=rate, event=GaussianEvent(sigma=sigma, sensitivity=10))
    found = losses(event, 1e-4)
    mu = math.sqrt(square / (sigma**2 - 2))
    x = np.linspace(-12, 12, 400_001)
    q, p = np.exp(-(x**2) / 2), np.exp(-((x - mu) ** 2) / 2)
    scale = (x[1] - x[0]) / math.sqrt(2 * math.pi)
    for epsilon in (0.0, 0.05, 0.1):
        forward = stick((1 - rate) * q + rate * p, q, epsilon) * scale
        backward = stick(q, (1 - rate) * q + rate * p, epsilon) * scale

        assert delta_of(found.forward, epsilon, 1e-4) == pytest.approx(forward, abs=3e-7)
        assert delta_of(found.backward, epsilon, 1e-4) == pytest.approx(backward, abs=3e-7)


def test_own_deltas_sit_at_infinity():
    law = losses(ApproxEvent(epsilon=1, delta="0.01"), STEP).forward

    assert law.infinite == pytest.approx(0.01)
    assert law.masses.sum() == pytest.approx(0.99)


def test_an_integer_vector_that_moves_by_less_than_one_does_not_move():
    law = losses(GaussianEvent(sigma=1, sensitivity="0.5"), STEP).forward

    assert law.masses[law.indices > 1].sum() == 0


@pytest.mark.parametrize("square", range(1, 12))
def test_the_float_of_a_root_counts_as_the_root(square):
    """math.sqrt(3) prints a number below the root of 3; an event that says it must not cost what 2 does."""
    exactly = losses(GaussianEvent(sigma=5, sensitivity=root_up(Fraction(square))), 0.01)
    given = losses(GaussianEvent(sigma=5, sensitivity=math.sqrt(square)), 0.01)

    assert list(given.forward.masses) == list(exactly.forward.masses)


def test_a_sensitivity_a_rounding_below_one_is_one():
    almost = losses(GaussianEvent(sigma=5, sensitivity=0.9999999999999999), STEP)
    one = losses(GaussianEvent(sigma=5, sensitivity=1), STEP)

    assert list(almost.forward.masses) == list(one.forward.masses)


def test_refuses_what_has_no_loss_distribution():
    with pytest.raises(UnsupportedError, match="use concentrated"):
        losses(ZCDP(1), STEP)
    with pytest.raises(UnsupportedError, match="use concentrated"):
        losses(GaussianEvent(sigma=1, sensitivity=2), STEP)


def test_a_finer_lattice_is_never_worse():
    coarse, fine = (delta_of(losses(PureDP(0.345), step).forward, 0.2, step) for step in (0.1, 0.01))
    steps = [delta_of(losses(PureDP(0.345), step).forward, 0.2, step) for step in (0.2, 0.1, 0.05, 0.025)]

    assert fine <= coarse
    assert all(a >= b - 1e-12 for a, b in pairwise(steps))


LEAVES = [
    GaussianEvent(sigma=4, sensitivity=1),
    GaussianEvent(sigma=9, sensitivity=2),
    GaussianDP(Fraction(1, 2)),
    LaplaceEvent(scale=3, sensitivity=1),
    LaplaceEvent(scale=3, sensitivity=4),
    ExponentialEvent(epsilon="3/2"),
    PureEvent(epsilon="1/2"),
    ApproxEvent(epsilon="1/2", delta="1/100"),
]
SAMPLED = [
    PoissonSampledEvent(event=leaf, rate=rate)
    for leaf in LEAVES
    if not isinstance(leaf, GaussianDP)
    for rate in ("1/10", "1/2")
]


@pytest.mark.parametrize("reach", [0.5, 1.0, 2.0, 10.5])
@pytest.mark.parametrize("leaf", [*LEAVES, *SAMPLED], ids=repr)
def test_no_mass_is_dropped_where_a_law_is_cut_off(leaf, reach, monkeypatch):
    """So little is kept that what is cut off would be seen: it is moved up, in both directions, and never lost."""
    whole = losses(leaf, STEP)
    with monkeypatch.context() as patch:
        patch.setattr(losses_module, "REACH", reach)
        cut = losses(leaf, STEP)
    for full, law in ((whole.forward, cut.forward), (whole.backward, cut.backward)):
        assert float(law.masses.sum()) + law.infinite >= 1 - 1e-9
        for epsilon in EPSILONS:
            assert delta_of(law, epsilon) >= delta_of(full, epsilon) * (1 - 1e-9) - 1e-12


def test_the_twins_that_drop_a_tail_are_caught(monkeypatch):
    """A law without the mass that was cut off understates delta by far."""
    leaf = GaussianEvent(sigma=4, sensitivity=1)
    whole = losses(leaf, STEP).forward
    monkeypatch.setattr(losses_module, "REACH", 1.0)
    law = losses(leaf, STEP).forward
    dropped = Law(law.indices, law.masses * (1 - law.infinite), 0.0)

    assert delta_of(dropped, 0.35) < delta_of(whole, 0.35) / 2
