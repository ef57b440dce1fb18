"""Two exercises of the notes about classifiers: independent errors, and what a network costs to run.

Theorem (Exercise 17).  If (X1, Y1) and (X2, Y2) are independent with the same law, then for every g the events
g(X1) = Y1 and g(X2) = Y2 are independent, so both hold with probability p^2, p = P(g(X) = Y).

Theorem (Exercise 18).  A network with d inputs, m hidden layers of k neurons and one output, all with a bias, takes
d k + (m - 1) k^2 + k multiplications, as many additions, m k + 1 sigmoids, and as many numbers in memory as it has
weights and biases, d k + (m - 1) k^2 + k + m k + 1, at 8 bytes each.  Proof: docs/theory/sample_complexity.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeVar

from discreet.errors import require
from discreet.privacy.number import Number, exact

X = TypeVar("X")
Y = TypeVar("Y")
Law = Mapping[tuple[X, Y], Number]


def agreement(law: Law[X, Y], g: Callable[[X], object]) -> Fraction:
    """P(g(X) = Y) under a law of pairs (X, Y), exactly.

    >>> agreement({(0, 0): "1/2", (1, 0): "1/4", (1, 1): "1/4"}, lambda x: x)
    Fraction(3, 4)
    """
    return sum((exact(p) for (x, y), p in _law(law).items() if g(x) == y), Fraction(0))


def joint_agreement(law: Law[X, Y], g: Callable[[X], object]) -> Fraction:
    """P(g(X1) = Y1 and g(X2) = Y2) of two independent pairs, by enumerating all pairs of outcomes.

    >>> joint_agreement({(0, 0): "1/2", (1, 0): "1/4", (1, 1): "1/4"}, lambda x: x)
    Fraction(9, 16)
    """
    found = Fraction(0)
    for ((x1, y1), p1), ((x2, y2), p2) in product(_law(law).items(), repeat=2):
        if g(x1) == y1 and g(x2) == y2:
            found += exact(p1) * exact(p2)
    return found


def _law(law: Law[X, Y]) -> Law[X, Y]:
    chances = [exact(p) for p in law.values()]
    require(min(chances, default=Fraction(-1)) >= 0 and sum(chances) == 1, "probabilities that sum to 1", law=dict(law))
    return law


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkCost:
    """What one prediction costs.

    >>> network_cost(784, layers=2, width=128).sigmoids
    257
    """

    multiplications: int
    additions: int
    sigmoids: int
    parameters: int

    @property
    def bytes(self) -> int:
        """Memory of the parameters as doubles."""
        return 8 * self.parameters


def network_cost(d: int, layers: int, width: int) -> NetworkCost:
    """The cost of a trained network with d inputs, `layers` hidden layers of `width` neurons, and one output.

    >>> network_cost(784, layers=2, width=128)
    NetworkCost(multiplications=116864, additions=116864, sigmoids=257, parameters=117121)
    >>> network_cost(784, layers=2, width=128).bytes
    936968
    """
    for name, value in (("d", d), ("layers", layers), ("width", width)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        require(whole and value >= 1, f"an integer {name} >= 1", **{name: value})
    weights = d * width + (layers - 1) * width**2 + width
    return NetworkCost(
        multiplications=weights,
        additions=weights,
        sigmoids=layers * width + 1,
        parameters=weights + layers * width + 1,
    )
