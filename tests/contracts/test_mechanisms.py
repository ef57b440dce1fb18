"""What every mechanism of `discreet.mechanisms` promises, tested over all of them at once."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

from discreet.attacks.confidence import clopper_pearson
from discreet.composition.price import price
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.lattice import Lattice
from discreet.mechanisms import (
    BoundedLaplace,
    Exponential,
    Gaussian,
    Laplace,
    NoisyMax,
    NumericSparse,
    OnLattice,
    PartitionSelection,
    PermuteAndFlip,
    ProposeTestRelease,
    RandomizedResponse,
    SmoothSensitivity,
    SparseVector,
    Staircase,
    Thresholded,
    TruncatedLaplace,
)
from discreet.mechanisms.base import Mechanism
from discreet.privacy.event import Event, from_dict
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact
from tests.statistical.cases import public_mechanisms


class NoDraw:
    """A random source that must not be touched."""

    secure = True

    def bits(self, count):
        raise AssertionError("drew bits")

    def words(self, count):
        raise AssertionError("drew words")


def additive_errors(mechanism, value, count, rng):
    return np.abs(mechanism(np.full(count, value), rng=rng) - value)


def array_errors(mechanism, value, count, rng):
    """For mechanisms that treat the entries of an array alike, but do not take every integer."""
    return np.abs(mechanism(np.full(count, value), rng=rng) - value)


def wrong_reports(mechanism, value, count, rng):
    return mechanism(np.full(count, value), rng=rng) != value


def repeated_errors(mechanism, value, count, rng):
    """For mechanisms that take one number at a time."""
    return np.abs(np.asarray(mechanism.releases(value, count, rng=rng), dtype=np.int64) - value)


def selection_errors(mechanism, value, count, rng):
    return max(value) - np.asarray(value)[mechanism.releases(value, count, rng=rng)]


def threshold_errors(mechanism, value, count, rng):
    """How far beyond the threshold a wrong decision was, the worst of each run."""
    runs, over = mechanism.releases(value, count, rng=rng), np.asarray(value) - mechanism.threshold
    return np.where(runs == 1, -over, np.where(runs == 0, over, 0)).max(axis=1)


@dataclass(frozen=True)
class Case:
    """A mechanism, a value it takes, and how to see its errors."""

    mechanism: Any
    value: Any
    errors: Callable[..., Any] | None = None
    sized: dict[str, int] = field(default_factory=dict)
    bad_values: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return repr(self.mechanism)


NOT_INTEGERS = (1.0, math.nan, math.inf, True, "3", None, [0.5], np.array([1.5]), np.array([math.nan]), [True])
NOT_SCORES = ([], [0.5, 1.0], [0.5, math.nan, 1], [True, False], ["a", "b"], np.array([[1, 2], [3, 4]]), 3, None)
SELECTIONS = [
    make(epsilon=Fraction(1, 2), sensitivity=1, **more)
    for make in (Exponential, PermuteAndFlip, NoisyMax)
    for more in ({}, {"monotone": True, "neighbours": AddRemove})
] + [NoisyMax(epsilon=1, sensitivity=2, noise=noise) for noise in ("laplace", "gumbel")]
ADDITIVE = [
    Laplace(epsilon=Fraction(1, 2), sensitivity=1),
    Laplace(epsilon=3, sensitivity=2),
    Gaussian(epsilon=1, delta=1e-6, sensitivity=1),
    Gaussian.with_sigma(3, sensitivity=2),
    TruncatedLaplace(epsilon=1, delta=1e-3, sensitivity=1),
]
CENTS = Lattice("0.01")


def first(pair):
    return pair[0]


def second(pair, smoothness=None):
    return pair[1]


SPARSE = SparseVector(epsilon=1, sensitivity=1, threshold=10, count=2)

CASES = [
    *(Case(noisy, 5, additive_errors, bad_values=NOT_INTEGERS) for noisy in ADDITIVE),
    *(Case(Staircase(epsilon=1, sensitivity=s), 5, repeated_errors, bad_values=NOT_INTEGERS) for s in (1, 7)),
    *(
        Case(BoundedLaplace(epsilon=1, sensitivity=1, lower=0, upper=9), at, repeated_errors, bad_values=NOT_INTEGERS)
        for at in (0, 4)
    ),
    *(
        Case(RandomizedResponse(epsilon=1, categories=k), 1, wrong_reports, bad_values=(0.5, math.nan, "1", None))
        for k in (2, 5)
    ),
    Case(RandomizedResponse.with_truth_probability("3/4"), 0, wrong_reports, bad_values=(0.5, [0.5])),
    Case(
        OnLattice(mechanism=Laplace(epsilon=1, sensitivity=CENTS.sensitivity(1)), lattice=CENTS),
        2.5,
        array_errors,
        bad_values=(True, "many", np.array(["many"]), np.array([True])),
    ),
    *(Case(choice, (9, 7, 5, 0), selection_errors, {"size": 4}, NOT_SCORES) for choice in SELECTIONS),
    Case(SPARSE, (0, 20, 5, 15, 12), threshold_errors, {"queries": 5}, NOT_SCORES[1:]),
    *(
        Case(PartitionSelection(epsilon=1, delta=1e-3, groups_per_unit=groups), at, bad_values=NOT_INTEGERS)
        for groups, at in ((1, 7), (3, 20))
    ),
    *(
        Case(Thresholded(noise=noise, delta=1e-3), (0, 20, 5), bad_values=NOT_SCORES[1:])
        for noise in (ADDITIVE[0], *ADDITIVE[2:4])
    ),
    *(
        Case(
            SmoothSensitivity(query=first, smooth=second, epsilon=1, delta=delta, smoothness=0.05, noise=noise),
            [5, 40],
            bad_values=([math.nan, 1], [1, math.nan], [1, -1], [True, 1], [None, 1]),
        )
        for noise, delta in (("auto", 0), ("cauchy", 0), ("power", 0), ("laplace", 1e-6), ("gaussian", 1e-3))
    ),
    *(
        Case(
            ProposeTestRelease(query=first, distance=second, bound=bound, epsilon=1, delta=1e-6),
            [5, 26 if bound else 13],
            bad_values=([0.5, 1], [1, -1], [1, 0.5], [math.nan, 1], [True, 1], [None, 1], [1, -math.inf]),
        )
        for bound in (0, 3)
    ),
    Case(NumericSparse(above=SPARSE, answers=Laplace(epsilon=1, sensitivity=1)), (0, 20, 5), bad_values=NOT_SCORES[1:]),
]
every_mechanism = pytest.mark.parametrize("case", CASES, ids=str)


def test_no_public_mechanism_is_left_out():
    assert public_mechanisms() == {type(case.mechanism).__name__ for case in CASES}


@every_mechanism
def test_is_a_mechanism_with_a_claim_and_an_event(case):
    assert isinstance(case.mechanism, Mechanism)
    assert isinstance(case.mechanism.privacy(), Guarantee)
    assert isinstance(case.mechanism.event(), Event)


@every_mechanism
def test_is_a_frozen_value(case):
    name = dataclasses.fields(case.mechanism)[0].name

    assert dataclasses.replace(case.mechanism) == case.mechanism
    assert hash(dataclasses.replace(case.mechanism)) == hash(case.mechanism)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(case.mechanism, name, getattr(case.mechanism, name))


@every_mechanism
def test_nothing_private_has_a_default(case):
    defaulted = {
        f.name for f in dataclasses.fields(case.mechanism) if f.default is not dataclasses.MISSING
    }  # fmt: skip

    assert not defaulted & {"epsilon", "delta", "sensitivity", "threshold", "count"}


@pytest.mark.parametrize("times", [1, 2, 64])
@every_mechanism
def test_repeating_costs_what_composing_one_by_one_costs(case, times):
    one = case.mechanism.privacy()

    assert one.repeat(times) == reduce(add, [one] * times)


@every_mechanism
def test_the_event_is_priced_at_the_claim(case):
    claim, cost = case.mechanism.privacy(), price(case.mechanism.event())
    match claim:
        case PureDP(epsilon=epsilon):
            assert (cost.epsilon, cost.delta) == (exact(epsilon), 0)
        case ApproxDP(epsilon=epsilon, delta=delta) if cost.epsilon is not None:
            assert (cost.epsilon, cost.delta) == (exact(epsilon), exact(delta))
        case _:
            assert cost.rho > 0


@every_mechanism
def test_the_event_can_be_stored(case):
    event = case.mechanism.event()

    assert from_dict(event.to_dict()) == event


@every_mechanism
def test_the_same_seed_gives_the_same_release(case):
    first, second = (case.mechanism(case.value, rng=SeededRandom(9)) for _ in range(2))

    assert repr(first) == repr(second)


@every_mechanism
def test_the_system_generator_is_the_default_and_does_not_repeat_itself(case):
    """With four even candidates, or noise, sixty releases all alike have a probability below 1e-9."""
    even = (10,) * 4 if isinstance(case.value, tuple) else case.value

    assert len({repr(case.mechanism(even)) for _ in range(60)}) > 1


@pytest.mark.parametrize("case", [case for case in CASES if case.errors is additive_errors], ids=str)
def test_integers_in_integers_out(case):
    rng = SeededRandom(3)
    scalar, numpy_scalar = case.mechanism(5, rng=rng), case.mechanism(np.int32(5), rng=rng)
    array, grid = case.mechanism(np.arange(6), rng=rng), case.mechanism(np.zeros((2, 3), dtype=np.int8), rng=rng)

    assert type(scalar) is type(numpy_scalar) is int
    assert array.dtype == grid.dtype == np.int64
    assert (array.shape, grid.shape) == ((6,), (2, 3))
    assert abs(case.mechanism(2**80, rng=rng) - 2**80) < 2**40  # exact beyond 64 bits
    assert case.mechanism(np.array([2**63 - 1]), rng=rng)[0] > 0  # never wraps


@every_mechanism
def test_a_value_that_is_none_is_refused_before_anything_is_drawn(case):
    for value in case.bad_values:
        with pytest.raises(ParameterError):
            case.mechanism(value, rng=NoDraw())


BAD_NUMBERS = {
    "epsilon": (0, -1, math.nan, math.inf, -math.inf, True, "many", 1j),
    "delta": (-0.1, 1, 2, math.nan, True),
    "sensitivity": (0, -1, math.nan, math.inf, True),
    "threshold": (0.5, math.nan, True),
    "count": (0, -1, 1.5, True),
}


@every_mechanism
def test_bad_parameters_are_refused(case):
    names = [f.name for f in dataclasses.fields(case.mechanism) if f.name in BAD_NUMBERS]
    for name in names:
        for bad in BAD_NUMBERS[name]:
            with pytest.raises(ParameterError):
                dataclasses.replace(case.mechanism, **{name: bad})


@every_mechanism
def test_bad_betas_are_refused(case):
    for beta in (0, 1, -1, 2, math.nan, math.inf):
        with pytest.raises((ParameterError, UnsupportedError)):
            case.mechanism.accuracy(beta, **case.sized)


@pytest.mark.statistical
@pytest.mark.parametrize("beta", [0.5, 0.05])
@pytest.mark.parametrize("case", [case for case in CASES if case.errors], ids=str)
def test_the_error_exceeds_alpha_with_probability_at_most_beta(case, beta):
    """100,000 releases, failure probability 1e-6."""
    errors = case.errors(case.mechanism, case.value, 100_000, SeededRandom(4))
    alpha = case.mechanism.accuracy(beta, **case.sized)

    assert clopper_pearson(int((errors > alpha).sum()), 100_000, beta=1e-6)[0] <= beta


@pytest.mark.statistical
@pytest.mark.parametrize("case", [case for case in CASES if case.errors in (additive_errors, repeated_errors)], ids=str)
def test_a_smaller_alpha_would_be_refuted(case):
    """The bound test can fail: one less than the least alpha is exceeded too often."""
    errors = case.errors(case.mechanism, case.value, 1_000_000, SeededRandom(5))
    alpha = case.mechanism.accuracy(0.05)

    assert alpha == 0 or clopper_pearson(int((errors > alpha - 1).sum()), 1_000_000, beta=1e-6)[0] > 0.05
