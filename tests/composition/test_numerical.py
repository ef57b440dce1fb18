"""discreet.composition.numerical: from above, tight, and never a filter."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

from discreet.composition import concentrated, numerical, optimal
from discreet.composition.losses import Losses, losses
from discreet.composition.numerical import _composed, _probabilities, lattice
from discreet.composition.price import gather
from discreet.composition.transform import Law
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ZCDP, AddRemove, ApproxDP, GaussianDP, PureDP
from discreet.privacy.event import (
    ApproxEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureEvent,
    RandomizedResponseEvent,
    RepeatedEvent,
)
from tests.composition.oracle import discrete_gaussian, gaussian_delta, least_epsilon, losses_delta

module = importlib.import_module("discreet.composition.numerical")  # the package has a function of this name


@pytest.mark.parametrize(("epsilon", "k"), [("0.1", 100), ("0.01", 1000), ("0.5", 20), ("0.001", 100_000)])
def test_k_randomized_responses_equal_optimal_composition(epsilon, k):
    exact = optimal([PureDP(epsilon)] * k, 1e-6).epsilon
    found = numerical([RepeatedEvent(event=RandomizedResponseEvent(epsilon=epsilon), count=k)], 1e-6).epsilon

    assert exact <= found <= exact * (1 + 1e-4)


@pytest.mark.parametrize("k", [1, 10, 1000])
@pytest.mark.parametrize("delta", [1e-4, 1e-9])
def test_k_normal_pairs_equal_one(k, delta):
    mu = 1.0
    exact = float(GaussianDP(mu).to_approx(delta).epsilon)
    found = float(numerical([GaussianDP.from_square(f"1/{k}")] * k, delta).epsilon)

    assert float(gaussian_delta(mu, found)) <= delta
    assert found <= exact + max(1e-6, 1e-4 * exact)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_k_discrete_gaussians_equal_their_direct_convolution(k):
    table = discrete_gaussian(4.2308, 1, k)
    truth = least_epsilon(lambda e: losses_delta(table, e), 1e-6, 50.0)
    found = float(numerical([GaussianEvent(sigma="4.2308", sensitivity=1)] * k, 1e-6).epsilon)

    assert truth <= found <= truth * (1 + 1e-4)
    assert k > 1 or found == pytest.approx(1.0, abs=2e-5)


def test_the_continuous_accountant_would_promise_too_much():
    """The broken twin: mu = 1 / sigma for discrete noise."""
    table = discrete_gaussian(4.2247, 1)
    twin = float(numerical([GaussianDP(1 / 4.2247)], 1e-6).epsilon)

    assert losses_delta(table, twin) > 1e-6


def test_the_batches_measured_against_peers():
    """Two of the benchmark's lists; discrete Laplace at scale 100 is randomized response at 0.01."""
    first = [GaussianEvent(sigma=50, sensitivity=1)] * 1000 + [LaplaceEvent(scale=100, sensitivity=1)] * 1000
    sampled = PoissonSampledEvent(rate="0.01", event=GaussianEvent(sigma=1, sensitivity=1))

    assert numerical(first, 1e-6).epsilon == pytest.approx(3.3075, abs=5e-4)
    assert numerical([RepeatedEvent(event=sampled, count=10_000)], 1e-6).epsilon == pytest.approx(6.908, abs=2e-3)


def test_a_sampled_batch_holds_under_add_remove():
    sampled = PoissonSampledEvent(rate="0.1", event=LaplaceEvent(scale=1, sensitivity=1))

    assert numerical([sampled], 1e-6).neighbours is AddRemove


def test_small_deltas_fall_back_to_the_tilted_transform():
    mu = math.sqrt(1000) / 50
    found = float(numerical([GaussianDP("0.02")] * 1000, 1e-14).epsilon)

    assert float(gaussian_delta(mu, found)) <= 1e-14
    assert found <= float(GaussianDP(mu).to_approx(1e-14).epsilon) * 1.001


def test_the_error_bound_covers_the_transform():
    """Against a direct convolution without transforms, which has relative error only."""
    rng = np.random.default_rng(1)
    law = Law(np.arange(-20, 21), rng.dirichlet(np.ones(41)))
    composed, error = _composed([(law, 40)], 0.01, 1e-6)
    direct = np.array([1.0])
    for _ in range(40):
        direct = np.convolve(direct, law.masses)
    offset = composed._lower_loss + 800
    window = direct[offset : offset + composed.size]

    assert np.abs(_probabilities(composed)[: len(window)] - window).sum() <= error + 1e-10
    assert error < 1e-10


def test_vector_noise_is_between_its_continuous_limit_and_zcdp():
    events = [GaussianEvent(sigma=50, sensitivity=10)] * 10
    found = float(numerical(events, 1e-6).epsilon)

    assert float(GaussianDP.from_square("2/5").to_approx(1e-6).epsilon) < found < concentrated(events, 1e-6).epsilon


def test_mechanisms_of_many_kinds_compose():
    items = [
        PureDP("0.1"),
        ApproxDP("0.1", "1e-8"),
        ExponentialEvent(epsilon="0.2"),
        LaplaceEvent(scale=9, sensitivity=3),
    ]
    items += [GaussianEvent(sigma=10, sensitivity=1), GaussianDP("0.1")]
    found = float(numerical(items, 1e-6).epsilon)

    assert 0.5 < found < concentrated(items, 1e-6).epsilon
    many = [PureDP(f"0.0{i}") for i in range(1, 40)]
    assert numerical(many, 1e-6).epsilon <= float(optimal(many, 1e-6).epsilon) * 1.001


def test_refuses_what_it_cannot_bound():
    with pytest.raises(UnsupportedError, match="use concentrated"):
        numerical([ZCDP(1)], 1e-6)
    with pytest.raises(UnsupportedError, match="no finite epsilon"):
        numerical([ApproxDP(1, 1e-6)] * 10, 1e-6)
    with pytest.raises(ParameterError, match="0 < delta < 1"):
        numerical([PureDP(1)], 0)


CUT = [
    [RepeatedEvent(event=LaplaceEvent(scale=10, sensitivity=1), count=40)],
    [RepeatedEvent(event=GaussianEvent(sigma=20, sensitivity=1), count=30)],
    [RepeatedEvent(event=LaplaceEvent(scale=9, sensitivity=1), count=20), GaussianEvent(sigma=8, sensitivity=1)],
    [RepeatedEvent(event=PoissonSampledEvent(event=GaussianEvent(sigma=3, sensitivity=1), rate="1/10"), count=50)],
    [LaplaceEvent(scale=9, sensitivity=20), GaussianEvent(sigma=8, sensitivity=1)],
]


@pytest.mark.parametrize("items", CUT, ids=lambda items: f"{len(items)} {type(items[0]).__name__}")
def test_the_mass_that_a_convolution_cuts_off_is_counted_as_lost(items, monkeypatch):
    """Cut off ten thousand times more than is asked for, the answer rises by that; without it, it would fall."""
    step = lattice(gather(items))
    laws = [(losses(leaf, step).forward, count) for leaf, count in gather(items).counts.items()]
    whole, _ = module._composed(laws, step, 1e-10)
    monkeypatch.setattr(module, "TAIL", 1.0)
    cut, _ = module._composed(laws, step, 40.0)  # a tail of 4e-4, shared by both ends
    ends = step * np.linspace(whole._lower_loss, whole._lower_loss + whole.size, 200)

    assert cut._infinity_mass > 1e-6
    assert all(_beyond(cut, step, end) >= _beyond(whole, step, end) - 1e-9 for end in ends)


def _beyond(composed, step: float, end: float) -> float:
    """The mass of losses above one."""
    masses = _probabilities(composed)
    at = step * (composed._lower_loss + np.arange(len(masses)))
    return float(masses[at > end].sum()) + composed._infinity_mass


@pytest.mark.parametrize("leaf", ["gaussian", "laplace"])
def test_both_directions_are_composed(leaf, monkeypatch):
    """The epsilon is the larger of the two, whichever direction it is of."""
    event = {"gaussian": GaussianEvent(sigma=2, sensitivity=1), "laplace": LaplaceEvent(scale=2, sensitivity=1)}[leaf]
    items = [RepeatedEvent(event=PoissonSampledEvent(event=event, rate="1/5"), count=20)]
    found = numerical(items, delta=1e-5).epsilon
    step = lattice(gather(items))
    one = losses(items[0].event, step)
    ways = [module._epsilon([(law, 20)], step, 1e-5) for law in (one.forward, one.backward)]
    real = module.losses
    monkeypatch.setattr(module, "losses", lambda *given: _turned(real(*given)))

    assert found == pytest.approx(max(ways), rel=1e-9)
    assert abs(ways[0] - ways[1]) > 0.01 * max(ways)  # else one would do
    assert numerical(items, delta=1e-5).epsilon == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("count", [1, 30])
def test_what_a_mechanism_loses_for_certain_is_composed_too(count):
    """Mechanisms that fail with a probability of their own: the mass at infinity of each adds up."""
    items = [ApproxEvent(epsilon="1/10", delta="1/100000"), RepeatedEvent(event=PureEvent(epsilon="1/20"), count=9)]
    items = [RepeatedEvent(event=one, count=count) for one in items]
    exactly = optimal(items, delta="1/1000").epsilon
    found = numerical(items, delta="1/1000").epsilon

    assert exactly <= found <= exactly * 1.001
    with pytest.raises(UnsupportedError):
        numerical(items, delta=count * 0.99e-5)


def _turned(found: Losses) -> Losses:
    """The two directions exchanged."""
    return Losses(found.backward, found.forward, found.shift)


def test_a_delta_below_every_float_is_answered_or_refused():
    assert concentrated([GaussianEvent(sigma=2, sensitivity=1)], delta="1e-400").epsilon > 10
    with pytest.raises(UnsupportedError):
        numerical([GaussianEvent(sigma=2, sensitivity=1)], delta="1e-400")
