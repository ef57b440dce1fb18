"""Every public mechanism with its worst-case neighbours: what the audits run on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import mechanisms
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
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact


@dataclass(frozen=True)
class Rows:
    """An additive mechanism on a number or a vector, many times in one call: its entries are independent."""

    mechanism: Any

    def __call__(self, value, *, rng=None):
        return self.mechanism(np.asarray(value), rng=rng)

    def releases(self, value, count, *, rng=None):
        copies = np.full(count, value) if np.ndim(value) == 0 else np.tile(np.asarray(value), (count, 1))
        return self.mechanism(copies, rng=rng)

    def privacy(self) -> Guarantee:
        return self.mechanism.privacy()


@dataclass(frozen=True)
class Case:
    """A mechanism, a pair of neighbours, and the share of the claim that an audit must find on it."""

    mechanism: Any
    inputs: tuple[Any, Any]
    share: float = 0.0
    delta: float = 0.0
    slow: bool = False  # has no way to draw many at once

    def __str__(self) -> str:
        return f"{self.mechanism}-{self.inputs}"


def tight(epsilon: float) -> float:
    """How much of a tight claim a million samples a side show."""
    return 0.95 if epsilon >= 0.5 else 0.88


def laplace(epsilon: float) -> Iterator[Case]:
    one, three = (Laplace(epsilon=epsilon, sensitivity=s) for s in (1, 3))
    yield Case(one, (0, 1), tight(epsilon))
    yield Case(one, (10**9, 10**9 - 1), tight(epsilon))
    yield Case(three, (-1, 2), tight(epsilon))
    yield Case(Rows(three), ((0, 0, 0), (1, -1, 1)), 0.8 if epsilon >= 0.5 else 0.0)


def selections(make: Callable[..., Any]) -> Callable[[float], Iterator[Case]]:
    def cases(epsilon: float) -> Iterator[Case]:
        free, monotone = make(epsilon=epsilon), make(epsilon=epsilon, monotone=True, neighbours=AddRemove)
        ahead = round(2 / epsilon)
        yield Case(free, ((0, 1), (1, 0)))
        yield Case(free, ((0, *(1,) * 9), (1, *(0,) * 9)))
        yield Case(free, ((ahead, 0, 0), (ahead - 1, 1, 1)), 0.3)
        yield Case(monotone, ((ahead, 0, 0), (ahead, 1, 1)))
        yield Case(monotone, ((0, *(0,) * 9), (1, *(0,) * 9)), 0.3)

    return cases


def sparse_vector(epsilon: float) -> Iterator[Case]:
    for count in (1, 3):
        sparse = SparseVector(epsilon=epsilon, sensitivity=1, threshold=0, count=count)
        rising = SparseVector(
            epsilon=epsilon, sensitivity=1, threshold=0, count=count, monotone=True, neighbours=AddRemove
        )
        yield Case(sparse, ((0,) * 10, (1,) * 5 + (-1,) * 5))
        yield Case(sparse, ((-2,) * 4 + (-1,) * count, (-1,) * 4 + (-2,) * count))
        yield Case(sparse, ((0, 1), (1, 0)))
        yield Case(rising, ((0,) * 8, (1,) * 8))


def randomized_response(epsilon: float) -> Iterator[Case]:
    yield Case(RandomizedResponse(epsilon=epsilon), (0, 1), tight(epsilon))
    yield Case(RandomizedResponse(epsilon=epsilon), (1, 0), tight(epsilon))
    yield Case(RandomizedResponse(epsilon=epsilon, categories=4), (0, 3), 0.9 if epsilon >= 0.5 else 0.8)
    yield Case(RandomizedResponse.with_truth_probability("3/4"), (0, 1), 0.95)


def gaussian(epsilon: float) -> Iterator[Case]:
    """Audited at a delta that a million samples can see."""
    for delta in (0.1, 0.01):
        noisy = Gaussian(epsilon=epsilon, delta=delta, sensitivity=1)
        yield Case(noisy, (0, 1), 0.5 if epsilon >= 0.5 else 0.0, delta)
    yield Case(Gaussian(epsilon=epsilon, delta=1e-6, sensitivity=1), (10**9, 10**9 - 1), 0.0, 1e-6)
    yield Case(Rows(Gaussian.with_sigma(4 / epsilon, sensitivity=2)), ((0, 0, 0, 0), (1, -1, 1, 1)), 0.0, 0.01)


def staircase(epsilon: float) -> Iterator[Case]:
    yield Case(Staircase(epsilon=epsilon, sensitivity=1), (0, 1), tight(epsilon))
    yield Case(Staircase(epsilon=epsilon, sensitivity=10), (0, 10), tight(epsilon))
    yield Case(Staircase(epsilon=epsilon, sensitivity=10, objective="magnitude"), (3, -7), tight(epsilon))
    yield Case(Staircase(epsilon=epsilon, sensitivity=10), (0, 1))


def bounded_laplace(epsilon: float) -> Iterator[Case]:
    share = 0.7 if epsilon >= 0.5 else 0.5
    bounded, wide = (BoundedLaplace(epsilon=epsilon, sensitivity=s, lower=-5, upper=5) for s in (1, 3))
    yield Case(bounded, (-5, -4), share)
    yield Case(bounded, (5, 4), share)
    yield Case(bounded, (0, 1))
    yield Case(wide, (-5, -2), share)


def truncated_laplace(epsilon: float) -> Iterator[Case]:
    for delta in (0.05, 1e-6):
        truncated = TruncatedLaplace(epsilon=epsilon, delta=delta, sensitivity=1)
        own = float(truncated.privacy().delta)
        yield Case(truncated, (0, 1), 0.5 if epsilon >= 0.5 else 0.0, own)
        yield Case(truncated, (7, 6), 0.5 if epsilon >= 0.5 else 0.0, own)


def on_lattice(epsilon: float) -> Iterator[Case]:
    cents = Lattice("0.01")
    real = Rows(OnLattice(mechanism=Laplace(epsilon=epsilon, sensitivity=cents.sensitivity(1)), lattice=cents))
    yield Case(real, (0.0, 1.0), tight(epsilon))
    yield Case(real, (-0.5, 0.5), tight(epsilon))
    yield Case(real, (1.0, float(np.nextafter(1.0, 2.0))))  # one bit apart: the same lattice point
    yield Case(real, (2.0**20, 2.0**20 + 1), tight(epsilon))


def numeric_sparse(epsilon: float) -> Iterator[Case]:
    sparse = SparseVector(epsilon=epsilon / 2, sensitivity=1, threshold=0, count=1)
    numeric = NumericSparse(above=sparse, answers=Laplace(epsilon=epsilon / 2, sensitivity=1))
    yield Case(numeric, ([0, 0, 1], [1, 1, 0]), slow=True)


def partition_selection(epsilon: float) -> Iterator[Case]:
    for delta in (0.05, 1e-6):
        selection = PartitionSelection(epsilon=epsilon, delta=delta)
        middle = selection.threshold(0.5)
        yield Case(Rows(selection), (0, 1), delta=delta)
        yield Case(Rows(selection), (middle - 1, middle), 0.5 if epsilon >= 0.5 else 0.0, delta)
        yield Case(Rows(selection), (middle + 1, middle), 0.0, delta)
    three = PartitionSelection(epsilon=epsilon, delta=0.05, groups_per_unit=3)
    yield Case(Rows(three), ((0, 0, 0), (1, 1, 1)), 0.0, 0.05)
    yield Case(Rows(three), ((5, 5, 5), (6, 6, 6)), 0.0, 0.05)


def thresholded(epsilon: float) -> Iterator[Case]:
    two = Gaussian(epsilon=epsilon, delta=0.01, sensitivity=2, dimension=2)
    for noise in (Laplace(epsilon=epsilon, sensitivity=2), two):
        named = Thresholded(noise=noise, delta=0.05, groups_per_unit=2)
        yield Case(named, ([0, named.cut], [1, named.cut - 1]), 0.0, 0.06, slow=True)


def first(pair: tuple[int, int]) -> int:
    return pair[0]


def second(pair: tuple[int, int], smoothness: object = None) -> int:
    return pair[1]


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


CASES: dict[str, Callable[[float], Iterator[Case]]] = {
    "Laplace": laplace,
    "Exponential": selections(lambda **p: Exponential(sensitivity=1, **p)),
    "PermuteAndFlip": selections(lambda **p: PermuteAndFlip(sensitivity=1, **p)),
    "NoisyMax": selections(lambda **p: NoisyMax(sensitivity=1, noise="laplace", **p)),
    "NoisyMax, exponential": selections(lambda **p: NoisyMax(sensitivity=1, noise="exponential", **p)),
    "NoisyMax, gumbel": selections(lambda **p: NoisyMax(sensitivity=1, noise="gumbel", **p)),
    "SparseVector": sparse_vector,
    "NumericSparse": numeric_sparse,
    "RandomizedResponse": randomized_response,
    "Gaussian": gaussian,
    "Staircase": staircase,
    "BoundedLaplace": bounded_laplace,
    "TruncatedLaplace": truncated_laplace,
    "OnLattice": on_lattice,
    "SmoothSensitivity": smooth_sensitivity,
    "ProposeTestRelease": propose_test_release,
    "PartitionSelection": partition_selection,
    "Thresholded": thresholded,
}


def public_mechanisms() -> set[str]:
    """The names of all mechanisms that `discreet.mechanisms` exports."""
    return {
        name
        for name, item in vars(mechanisms).items()
        if isinstance(item, type) and hasattr(item, "privacy") and hasattr(item, "event") and name != "Mechanism"
    }
