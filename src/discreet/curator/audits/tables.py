"""Laws of mechanisms on two inputs, written down: the exact half of an audit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from discreet.attacks.broken.sparse import answers_law
from discreet.attacks.broken.tails import gaussian_law
from discreet.mechanisms.bounded_laplace import BoundedLaplace
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.partition_selection import PartitionSelection
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.thresholded import Thresholded
from discreet.mechanisms.truncated_laplace import TruncatedLaplace
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.number import Number, exact

REACH = 5  # outputs beyond the two values that have a cell of their own
LOST = 1 - 1e-12  # of a probability that is compared with a delta, for the floats in which it is written


class HasProbabilities(Protocol):
    """A selection that can write down how likely each candidate is."""

    def probabilities(self, scores: Any, /) -> Any:  # noqa: ANN401 - each mechanism says
        """One probability a candidate."""
        ...


def pair(first: Mapping[Any, Number], second: Mapping[Any, Number]) -> FiniteMechanism:
    """Two laws as a table of two inputs."""
    return FiniteMechanism({0: first, 1: second}, neighbours=[(0, 1)])


def laplace_pair(laplace: Laplace, inputs: tuple[int, int]) -> FiniteMechanism:
    """Outputs between the inputs and a little beyond; where the ratio no longer changes, all of them together.

    >>> round(laplace_pair(Laplace(epsilon=1, sensitivity=1), (0, 1)).epsilon(), 9)
    1.0
    """
    low, high = min(inputs) - REACH, max(inputs) + REACH
    a = math.exp(-1 / float(laplace.scale))

    def law(value: int) -> dict[int, float]:
        inside = {z: (1 - a) / (1 + a) * a ** abs(z - value) for z in range(low + 1, high)}
        return {low: a ** (value - low) / (1 + a), **inside, high: a ** (high - value) / (1 + a)}

    return pair(law(inputs[0]), law(inputs[1]))


def response_pair(response: RandomizedResponse, inputs: tuple[int, int]) -> FiniteMechanism:
    """The truth, and every lie alike.

    >>> round(response_pair(RandomizedResponse(epsilon=1), (0, 1)).epsilon(), 9)
    1.0
    """
    lie = (1 - response.truth) / (response.categories - 1)
    laws = [{x: response.truth if x == value else lie for x in range(response.categories)} for value in inputs]
    return pair(laws[0], laws[1])


def selection_pair(selection: HasProbabilities, inputs: Sequence[Any]) -> FiniteMechanism:
    """Each candidate by its place.

    >>> from discreet.mechanisms.exponential import Exponential
    >>> round(selection_pair(Exponential(epsilon=1, sensitivity=1), [(0, 1), (1, 0)]).epsilon(), 3)  # of 1
    0.5
    """
    laws = [{i: float(p) for i, p in enumerate(selection.probabilities(list(value)))} for value in inputs]
    return pair(laws[0], laws[1])


def kept_pair(selection: PartitionSelection, inputs: tuple[int, int]) -> FiniteMechanism:
    """Kept or not.

    >>> kept_pair(PartitionSelection(epsilon=1, delta=0.05), (0, 1)).epsilon_at(0.05)
    0.0
    """
    laws = [{True: exact(selection.probability(n)), False: 1 - exact(selection.probability(n))} for n in inputs]
    return pair(laws[0], laws[1])


def bounded_pair(bounded: BoundedLaplace, inputs: tuple[int, int]) -> FiniteMechanism:
    """Every integer between the ends.

    >>> found = bounded_pair(BoundedLaplace(epsilon=1, sensitivity=1, lower=0, upper=3), (0, 1))
    >>> round(found.epsilon(), 9)
    1.0
    """
    a = math.exp(-1 / float(bounded.scale))

    def law(value: int) -> dict[int, float]:
        weights = {z: a ** abs(z - value) for z in range(bounded.lower, bounded.upper + 1)}
        total = math.fsum(weights.values())
        return {z: weight / total for z, weight in weights.items()}

    return pair(law(inputs[0]), law(inputs[1]))


def truncated_pair(truncated: TruncatedLaplace, inputs: tuple[int, int]) -> FiniteMechanism:
    """Every integer that the noise reaches; what only one value reaches a little less, for rounding.

    >>> noisy = TruncatedLaplace(epsilon=1, delta=0.05, sensitivity=1)
    >>> found = truncated_pair(noisy, (0, 1))
    >>> round(found.epsilon_at(noisy.privacy().delta), 9), found.epsilon_at(0.99 * float(noisy.privacy().delta))
    (1.0, inf)
    """
    a, bound = math.exp(-1 / float(truncated.scale)), truncated.bound
    total = math.fsum(a ** abs(z) for z in range(-bound, bound + 1))

    def law(value: int, other: int) -> dict[int, float]:
        found = {value + z: a ** abs(z) / total for z in range(-bound, bound + 1)}
        less = {z: p * LOST if abs(z - other) > bound else p for z, p in found.items()}
        less[value] += math.fsum(found[z] - less[z] for z in found)
        return less

    return pair(law(inputs[0], inputs[1]), law(inputs[1], inputs[0]))


def sparse_pair(sparse: SparseVector, inputs: Sequence[Sequence[int]]) -> FiniteMechanism:
    """Every row of answers, up to the last that is above.

    >>> one = SparseVector(epsilon=1, sensitivity=1, threshold=0, count=1)
    >>> round(sparse_pair(one, [(0,) * 10, (1,) * 5 + (-1,) * 5]).epsilon(), 3)
    0.976
    """
    scales: dict[str, Any] = {"threshold": sparse.threshold_scale, "noise": sparse.query_scale, "count": sparse.count}
    laws = [answers_law(tuple(q - sparse.threshold for q in value), **scales) for value in inputs]
    return pair(laws[0], laws[1])


def named_pair(thresholded: Thresholded, inputs: tuple[int, int]) -> FiniteMechanism:
    """One key, named or not: what it counts is noise added to what is named.

    >>> named = Thresholded(noise=Laplace(epsilon=1, sensitivity=1), delta=0.05)
    >>> named_pair(named, (0, 1)).epsilon_at(named.privacy().delta) < 1
    True
    """

    def chance(value: int) -> float:
        if value == 0:
            return 0.0  # a key that nobody holds is never named
        least = thresholded.cut - value
        if isinstance(thresholded.noise, Laplace):
            a = math.exp(-1 / float(thresholded.noise.scale))
            below = a ** (1 - least) / (1 + a)
            return LOST * (a**least / (1 + a) if least >= 1 else 1 - below)
        law = gaussian_law(0, float(exact(thresholded.noise.sigma)))
        return LOST * math.fsum(p for z, p in law.items() if z >= least)  # type: ignore[operator]

    laws = [{"named": chance(value), "not": 1 - chance(value)} for value in inputs]
    return pair(laws[0], laws[1])
