"""The mechanisms of `discreet.mechanisms` with their worst-case neighbours."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from discreet.curator.audits.case import Case, Cases, Many, Rows, Subject
from discreet.curator.audits.tables import (
    bounded_pair,
    kept_pair,
    laplace_pair,
    named_pair,
    response_pair,
    selection_pair,
    sparse_pair,
    truncated_pair,
)
from discreet.hazmat.lattice import Lattice
from discreet.mechanisms.bounded_laplace import BoundedLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.on_lattice import OnLattice
from discreet.mechanisms.partition_selection import PartitionSelection
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.smooth_sensitivity import SmoothSensitivity
from discreet.mechanisms.sparse_vector import NumericSparse, SparseVector
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.thresholded import Thresholded
from discreet.mechanisms.truncated_laplace import TruncatedLaplace
from discreet.privacy.gaussian_profile import unit_mu
from discreet.privacy.guarantee import GaussianDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact, up


def tight(epsilon: float) -> float:
    """How much of a tight claim a million samples a side show."""
    return 0.95 if epsilon >= 0.5 else 0.88


def laplace(epsilon: float) -> Iterator[Case]:
    """One number, a far one, a wider step, and a vector."""
    one, three = (Laplace(epsilon=epsilon, sensitivity=s) for s in (1, 3))
    yield Case(one, (0, 1), tight(epsilon), table=lambda: laplace_pair(one, (0, 1)))
    far = (10**9, 10**9 - 1)
    yield Case(one, far, tight(epsilon), table=lambda: laplace_pair(one, far))
    yield Case(three, (-1, 2), tight(epsilon), table=lambda: laplace_pair(three, (-1, 2)))
    yield Case(Rows(three), ((0, 0, 0), (1, -1, 1)), 0.8 if epsilon >= 0.5 else 0.0)


def selections(make: Callable[..., Any]) -> Cases:
    """Candidates that change places, one against many, and a leader that is caught up with."""

    def cases(epsilon: float) -> Iterator[Case]:
        free, monotone = make(epsilon=epsilon), make(epsilon=epsilon, monotone=True, neighbours=AddRemove)
        ahead = round(2 / epsilon)
        yield chosen(free, ((0, 1), (1, 0)))
        yield chosen(free, ((0, *(1,) * 9), (1, *(0,) * 9)))
        yield chosen(free, ((ahead, 0, 0), (ahead - 1, 1, 1)), 0.3)
        yield chosen(monotone, ((ahead, 0, 0), (ahead, 1, 1)))
        yield chosen(monotone, ((0, *(0,) * 9), (1, *(0,) * 9)), 0.3)

    return cases


def chosen(selection: Any, inputs: tuple[Any, Any], share: float = 0.0) -> Case:  # noqa: ANN401 - any selection
    """A case with its law, where the selection can write it down."""
    table = functools.partial(selection_pair, selection, inputs) if hasattr(selection, "probabilities") else None
    return Case(selection, inputs, share, table=table)


def sparse_vector(epsilon: float) -> Iterator[Case]:
    """Answers on both sides of the threshold, with one and with three reports."""
    for count in (1, 3):
        sparse = SparseVector(epsilon=epsilon, sensitivity=1, threshold=0, count=count)
        rising = SparseVector(
            epsilon=epsilon, sensitivity=1, threshold=0, count=count, monotone=True, neighbours=AddRemove
        )
        yield asked(sparse, ((0,) * 10, (1,) * 5 + (-1,) * 5))
        yield asked(sparse, ((-2,) * 4 + (-1,) * count, (-1,) * 4 + (-2,) * count))
        yield asked(sparse, ((0, 1), (1, 0)))
        yield asked(rising, ((0,) * 8, (1,) * 8))


def asked(sparse: SparseVector, inputs: tuple[Any, Any]) -> Case:
    """A case with its law: a sum over the noise of the threshold."""
    return Case(sparse, inputs, table=functools.partial(sparse_pair, sparse, inputs))


def randomized_response(epsilon: float) -> Iterator[Case]:
    """A coin, four categories, and a coin given by its odds: 3 to 1 at epsilon = 1."""
    coin, four = (RandomizedResponse(epsilon=epsilon, categories=k) for k in (2, 4))
    yield Case(coin, (0, 1), tight(epsilon), table=lambda: response_pair(coin, (0, 1)))
    yield Case(coin, (1, 0), tight(epsilon), table=lambda: response_pair(coin, (1, 0)))
    yield Case(four, (0, 3), 0.9 if epsilon >= 0.5 else 0.8, table=lambda: response_pair(four, (0, 3)))
    odds = Fraction(3.0**epsilon)
    told = RandomizedResponse.with_truth_probability(odds / (1 + odds))
    yield Case(told, (0, 1), tight(epsilon), table=lambda: response_pair(told, (0, 1)))


def gaussian(epsilon: float) -> Iterator[Case]:
    """Audited in mu, and at a delta that a million samples can see."""
    unit = Gaussian.with_sigma(2 / epsilon, sensitivity=2)
    mu = 2 * unit_mu(exact(unit.sigma) ** 2, 40)  # discrete noise is a little more than continuous noise
    yield Case(Many(lambda value, count, rng: unit.releases(value, count, rng=rng), GaussianDP(up(mu))), (0, 2), 0.95)
    for delta in (0.1, 0.01):
        noisy = Gaussian(epsilon=epsilon, delta=delta, sensitivity=1)
        yield Case(noisy, (0, 1), 0.5 if epsilon >= 0.5 else 0.0, delta)
    yield Case(Gaussian(epsilon=epsilon, delta=1e-6, sensitivity=1), (10**9, 10**9 - 1), 0.0, 1e-6)
    yield Case(Rows(Gaussian.with_sigma(4 / epsilon, sensitivity=2)), ((0, 0, 0, 0), (1, -1, 1, 1)), 0.0, 0.01)


def staircase(epsilon: float) -> Iterator[Case]:
    """The whole step, and one that is a tenth of it."""
    yield Case(Staircase(epsilon=epsilon, sensitivity=1), (0, 1), tight(epsilon))
    yield Case(Staircase(epsilon=epsilon, sensitivity=10), (0, 10), tight(epsilon))
    yield Case(Staircase(epsilon=epsilon, sensitivity=10, objective="magnitude"), (3, -7), tight(epsilon))
    yield Case(Staircase(epsilon=epsilon, sensitivity=10), (0, 1))


def bounded_laplace(epsilon: float) -> Iterator[Case]:
    """The ends, where the law is cut, and the middle."""
    share = 0.7 if epsilon >= 0.5 else 0.5
    bounded, wide = (BoundedLaplace(epsilon=epsilon, sensitivity=s, lower=-5, upper=5) for s in (1, 3))
    for made, inputs, least in ((bounded, (-5, -4), share), (bounded, (5, 4), share), (bounded, (0, 1), 0.0),
                                (wide, (-5, -2), share)):  # fmt: skip
        yield Case(made, inputs, least, table=functools.partial(bounded_pair, made, inputs))


def truncated_laplace(epsilon: float) -> Iterator[Case]:
    """A delta that can be seen and one that cannot."""
    for delta in (0.05, 1e-6):
        truncated = TruncatedLaplace(epsilon=epsilon, delta=delta, sensitivity=1)
        own = float(truncated.privacy().delta)
        for inputs in ((0, 1), (7, 6)):
            law = functools.partial(truncated_pair, truncated, inputs)
            yield Case(truncated, inputs, 0.5 if epsilon >= 0.5 else 0.0, own, table=law)


def on_lattice(epsilon: float) -> Iterator[Case]:
    """Real numbers, far ones, and two that are one bit apart."""
    cents = Lattice("0.01")
    real = Rows(
        OnLattice(mechanism=Laplace(epsilon=epsilon, sensitivity=int(exact(cents.sensitivity(1)))), lattice=cents)
    )
    yield Case(real, (0.0, 1.0), tight(epsilon))
    yield Case(real, (-0.5, 0.5), tight(epsilon))
    yield Case(real, (1.0, math.nextafter(1.0, 2.0)))  # one bit apart: the same lattice point
    yield Case(real, (2.0**20, 2.0**20 + 1), tight(epsilon))


def numeric_sparse(epsilon: float) -> Iterator[Case]:
    """Reports with answers."""
    sparse = SparseVector(epsilon=epsilon / 2, sensitivity=1, threshold=0, count=1)
    numeric = NumericSparse(above=sparse, answers=Laplace(epsilon=epsilon / 2, sensitivity=1))
    yield Case(numeric, ([0, 0, 1], [1, 1, 0]), slow=True)


def partition_selection(epsilon: float) -> Iterator[Case]:
    """From nobody to somebody, and around the threshold."""
    for delta in (0.05, 1e-6):
        selection = PartitionSelection(epsilon=epsilon, delta=delta)
        middle = selection.threshold(0.5)
        yield Case(Rows(selection), (0, 1), delta=delta, table=functools.partial(kept_pair, selection, (0, 1)))
        half, kept = (middle - 1, middle), functools.partial(kept_pair, selection, (middle - 1, middle))
        yield Case(Rows(selection), half, 0.5 if epsilon >= 0.5 else 0.0, delta, table=kept)
        yield Case(Rows(selection), (middle + 1, middle), 0.0, delta)
    three = PartitionSelection(epsilon=epsilon, delta=0.05, groups_per_unit=3)
    yield Case(Rows(three), ((0, 0, 0), (1, 1, 1)), 0.0, 0.05)
    yield Case(Rows(three), ((5, 5, 5), (6, 6, 6)), 0.0, 0.05)


def thresholded(epsilon: float) -> Iterator[Case]:
    """A key that is new and one at the threshold; and a new key alone at its own delta, whose law is known."""
    two = Gaussian(epsilon=epsilon, delta=0.01, sensitivity=2, dimension=2)
    for noise in (Laplace(epsilon=epsilon, sensitivity=2), two):
        named = Thresholded(noise=noise, delta=0.05, groups_per_unit=2)
        yield Case(named, ([0, named.cut], [1, named.cut - 1]), 0.0, 0.06, slow=True)
    for noise in (Laplace(epsilon=epsilon, sensitivity=1), Gaussian(epsilon=epsilon, delta=1e-6, sensitivity=1)):
        alone = Thresholded(noise=noise, delta=0.05)
        own = float(exact(alone.privacy().delta))
        yield Case(alone, ([0], [1]), 0.0, own, slow=True, table=functools.partial(named_pair, alone, (0, 1)))


def first(value: tuple[int, int]) -> int:
    """The answer."""
    return value[0]


def second(value: tuple[int, int], smoothness: object = None) -> int:
    """Its sensitivity, or its distance."""
    return value[1]


def smooth_sensitivity(epsilon: float) -> Iterator[Case]:
    """Value and sensitivity of two neighbours, at the ends of what smoothness allows."""
    for noise, smoothness, delta, share in (
        ("cauchy", 0.7 * min(epsilon, 1), 0, 0.8 if epsilon <= 1 else 0.5),
        ("lomax", 0.25 * epsilon, 0, 0.5),
        ("power", 0.1 * epsilon, 0, 0.5),
        ("laplace", 0.1 * epsilon, 0.01, 0.4),
        ("gaussian", 0.05 * epsilon, 0.01, 0.2),
    ):
        mechanism = SmoothSensitivity(
            query=first, smooth=second, epsilon=epsilon, delta=delta, smoothness=smoothness, noise=noise
        )
        wide = math.floor(1000 * math.exp(smoothness))
        yield Case(mechanism, ((0, 1000), (1000, wide)), share if epsilon >= 0.5 else 0.0, delta)
        yield Case(mechanism, ((0, wide), (1000, 1000)), 0.0, delta)
        yield Case(mechanism, ((0, 1000), (1000, 1000)), 0.0, delta)


def propose_test_release(epsilon: float) -> Iterator[Case]:
    """Answer and distance of two neighbours: within the bound, or both at distance 0."""
    for bound in (0, 2):
        tested = ProposeTestRelease(query=first, distance=second, bound=bound, epsilon=epsilon, delta=0.01)
        own = float(exact(tested.privacy().delta))
        at = tested.threshold
        yield Case(tested, ((0, at), (bound, at - 1)), 0.5 if epsilon >= 0.5 else 0.0, own)
        yield Case(tested, ((0, 0), (1000, 0)), 0.0, own)


def _subject(name: str, cases: Cases, twin: float, **more: Any) -> Subject:  # noqa: ANN401 - counts and names
    return Subject(name=name, room="mechanisms", cases=cases, twin=twin, **more)


NOISES = ("CauchyNoise", "LomaxNoise", "PowerNoise", "LaplaceNoise", "GaussianNoise")  # of smooth sensitivity, each


SUBJECTS = (
    _subject("Laplace", laplace, 1.15),
    _subject("Exponential", selections(lambda **p: Exponential(sensitivity=1, **p)), 3),
    _subject("PermuteAndFlip", selections(lambda **p: PermuteAndFlip(sensitivity=1, **p)), 3),
    _subject("NoisyMax", selections(lambda **p: NoisyMax(sensitivity=1, noise="laplace", **p)), 3),
    _subject("NoisyMax, exponential", selections(lambda **p: NoisyMax(sensitivity=1, noise="exponential", **p)), 3),
    _subject("NoisyMax, gumbel", selections(lambda **p: NoisyMax(sensitivity=1, noise="gumbel", **p)), 3),
    _subject("SparseVector", sparse_vector, 3),
    _subject("NumericSparse", numeric_sparse, 3, slow=6000),
    _subject("RandomizedResponse", randomized_response, 1.15),
    _subject("Gaussian", gaussian, 1.15),
    _subject("Staircase", staircase, 1.15),
    _subject("BoundedLaplace", bounded_laplace, 1.5),
    _subject("TruncatedLaplace", truncated_laplace, 1.5),
    _subject("OnLattice", on_lattice, 1.15),
    _subject("SmoothSensitivity", smooth_sensitivity, 1.5, samples=25_000, covers=NOISES),
    _subject("ProposeTestRelease", propose_test_release, 2),
    _subject("PartitionSelection", partition_selection, 2),
    _subject("Thresholded", thresholded, 3, slow=6000),
)
