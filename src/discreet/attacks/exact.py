"""An exact audit: the whole law of a mechanism against its claim.

A pair of laws satisfies (epsilon, delta) iff the excess sum of max(0, p - e^epsilon q) is at
most delta in both directions (`FiniteMechanism`), and rho-zCDP iff
D_order(p || q) <= rho order for every order > 1, also in both.  Laws may be floats, and laws
on all integers may be cut where their tails vanish: a claim is called false only when it is
missed by more than `MARGIN`, relatively, and `ROUNDING`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.errors import UnsupportedError, require
from discreet.privacy.finite import FiniteMechanism, Witness
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import Number, exact

MARGIN = 1e-9
ROUNDING = 1e-14
ORDERS = (1.001, 1.01, 1.1, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0)

Law = Mapping[Any, Number]  # output -> probability


class HasLaw(Protocol):
    """A mechanism that can write down its output probabilities."""

    def law(self, value: Any, /) -> Law:  # noqa: ANN401 - each mechanism says
        """Output -> probability."""
        ...

    def privacy(self) -> Guarantee:
        """The claim."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactAudit:
    """What the laws say: `found` against `claimed`, both of them deltas, or both rhos, with the worst event.

    >>> from discreet.attacks.broken import ThresholdOffByOne
    >>> found = audit_exact(ThresholdOffByOne(epsilon=1, delta=1e-5), (0, 1))
    >>> found.found > found.claimed, found.violates()
    (True, True)
    """

    found: float
    claimed: float
    witness: Witness | None

    def violates(self) -> bool:
        """Whether the claim is false on this pair."""
        return self.found > self.claimed * (1 + MARGIN) + ROUNDING


def renyi(first: Law, second: Law, order: float) -> float:
    """The Renyi divergence of one law from another; infinite where the second misses an output of the first.

    >>> round(renyi({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}, 2), 6)  # ln(7 / 3)
    0.847298
    """
    require(order > 1, "order > 1", order=order)
    terms: list[float] = []
    for output, p in first.items():
        a, b = float(exact(p)), float(exact(second.get(output, 0)))
        if a > 0 and b == 0:
            return math.inf
        if a > 0:
            terms.append(math.exp(order * math.log(a) + (1 - order) * math.log(b)))
    return math.log(math.fsum(terms)) / (order - 1)


def audit_exact(mechanism: HasLaw, inputs: Sequence[Hashable], *, claim: Guarantee | None = None) -> ExactAudit:
    """The mechanism's claim, or another, against its laws on two neighbouring inputs.

    >>> from discreet.attacks.broken import ThresholdOffByOne
    >>> audit_exact(ThresholdOffByOne(epsilon=1, delta=1e-5), (0, 1)).violates()
    True
    >>> audit_exact(ThresholdOffByOne(epsilon=1, delta=1e-5, slack=0), (0, 1)).violates()
    False
    """
    require(len(inputs) == 2, "two inputs", inputs=len(inputs))
    first, second = (mechanism.law(value) for value in inputs)
    match claim or mechanism.privacy():
        case PureDP(epsilon=epsilon):
            return _excess(first, second, epsilon, 0)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return _excess(first, second, epsilon, delta)
        case ZCDP(rho=rho):
            ways = ((first, second), (second, first))
            found = max(renyi(p, q, order) / order for p, q in ways for order in ORDERS)
            return ExactAudit(found=found, claimed=float(exact(rho)), witness=None)
        case other:
            raise UnsupportedError(f"no exact audit of {type(other).__name__}; claim PureDP, ApproxDP or ZCDP")


def _excess(first: Law, second: Law, epsilon: Number, delta: Number) -> ExactAudit:
    pair = FiniteMechanism({0: first, 1: second}, neighbours=[(0, 1)])
    return ExactAudit(found=float(pair.delta(epsilon)), claimed=float(exact(delta)), witness=pair.witness(epsilon))
