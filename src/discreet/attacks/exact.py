"""An exact audit: the whole law of a mechanism against its claim.

For two laws p, q of a finite mechanism on neighbouring inputs,

    delta(epsilon) = sum over outputs z of max(0, p(z) - e^epsilon q(z))

is the least delta for which the pair satisfies (epsilon, delta) in this direction, attained
by the event of the outputs with p(z) > e^epsilon q(z); and the pair satisfies rho-zCDP iff
D_order(p || q) <= rho order for every order > 1.  Both directions are taken.  Laws may be
floats: a claim is called violated only when it is missed by more than `MARGIN`, relatively.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import Number, exact

MARGIN = 1e-9
ORDERS = (1.001, 1.01, 1.1, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0)

Law = Mapping[Hashable, Number]


class HasLaw(Protocol):
    """A mechanism that can write down its output probabilities."""

    def law(self, value: object, /) -> Law:
        """Output -> probability."""
        ...

    def privacy(self) -> Guarantee:
        """The claim."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactAudit:
    """What the laws say: `found` against `claimed`, both deltas, or both rhos; `witness` is the worst event."""

    found: float
    claimed: float
    witness: frozenset[Hashable]

    def violates(self) -> bool:
        """Whether the claim is false on this pair."""
        return self.found > self.claimed * (1 + MARGIN) + 1e-15


def hockey_stick(first: Law, second: Law, epsilon: Number) -> tuple[float, frozenset[Hashable]]:
    """sum of max(0, p - e^epsilon q), and the event that attains it.

    >>> hockey_stick({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}, 0)
    (0.5, frozenset({0}))
    """
    ratio = math.exp(float(exact(epsilon)))
    excess = {z: float(p) - ratio * float(second.get(z, 0)) for z, p in first.items()}
    event = frozenset(z for z, gain in excess.items() if gain > 0)
    return math.fsum(excess[z] for z in event), event


def renyi(first: Law, second: Law, order: float) -> float:
    """The Renyi divergence of one law from another; infinite where the second misses an output of the first."""
    require(order > 1, "order > 1", order=order)
    if any(float(p) > 0 and float(second.get(z, 0)) == 0 for z, p in first.items()):
        return math.inf
    terms = (float(p) ** order * float(second[z]) ** (1 - order) for z, p in first.items() if float(p) > 0)
    return math.log(math.fsum(terms)) / (order - 1)


def audit_exact(mechanism: HasLaw, inputs: Sequence[object], *, claim: Guarantee | None = None) -> ExactAudit:
    """The mechanism's claim, or another, against its exact laws on two neighbouring inputs."""
    require(len(inputs) == 2, "two inputs", inputs=len(inputs))
    laws = [mechanism.law(value) for value in inputs]
    for law in laws:
        total = math.fsum(float(p) for p in law.values())
        require(abs(total - 1) < 1e-9, "probabilities that sum to 1", total=total)
    ways = (laws, laws[::-1])
    match claim or mechanism.privacy():
        case PureDP(epsilon=epsilon):
            found, witness = max((hockey_stick(p, q, epsilon) for p, q in ways), key=lambda pair: pair[0])
            return ExactAudit(found=found, claimed=0.0, witness=witness)
        case ApproxDP(epsilon=epsilon, delta=delta):
            found, witness = max((hockey_stick(p, q, epsilon) for p, q in ways), key=lambda pair: pair[0])
            return ExactAudit(found=found, claimed=float(exact(delta)), witness=witness)
        case ZCDP(rho=rho):
            found = max(renyi(p, q, order) / order for p, q in ways for order in ORDERS)
            return ExactAudit(found=found, claimed=float(exact(rho)), witness=frozenset())
        case other:
            raise UnsupportedError(f"no exact audit of {type(other).__name__}; claim PureDP, ApproxDP or ZCDP")
