"""The floor under every plan: errors that no mechanism of a class can go below (docs/theory/lower_bounds.md)."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.bounds.packing import packing_error
from discreet.bounds.unbiased import unbiased_error
from discreet.errors import UnsupportedError
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import exact
from discreet.queries.workload import Workload, swaps
from discreet.release.gamma2_closed import gamma2_lower


@dataclass(frozen=True, kw_only=True, slots=True)
class Floor:
    """A lower bound in counts: on the largest error, or on the largest standard deviation, of a class of mechanisms."""

    who: str  # the mechanisms it binds
    what: str
    value: float


def floors(workload: Workload, *, budget: Guarantee, n: int, neighbours: type[Neighbours], beta: float) -> list[Floor]:
    """Every bound that can be computed for this workload.

    >>> from discreet.privacy.neighbours import AddRemove
    >>> from discreet.queries import thresholds
    >>> (least,) = floors(thresholds(64), budget=ZCDP(0.1), n=1000, neighbours=AddRemove, beta=0.05)
    >>> least.who, round(least.value, 1)
    ('every unbiased mechanism', 4.5)
    """
    found = []
    if isinstance(budget, PureDP):
        try:
            least = packing_error(workload, budget=budget, n=n, neighbours=neighbours, beta=beta)
            found.append(Floor(who="every pure mechanism", what=f"largest error at beta = {beta:g}", value=least))
        except UnsupportedError:
            pass
    try:
        if isinstance(budget, PureDP | ZCDP):
            gamma = gamma2_lower(workload)
            if swaps(neighbours):
                gamma -= float(workload.entry)
            value = unbiased_error(max(gamma, 0), budget=budget)
            found.append(Floor(who="every unbiased mechanism", what="largest standard deviation", value=value))
        elif isinstance(budget, ApproxDP) and exact(budget.delta) > 0:
            sigma = analytic_sigma(epsilon=budget.epsilon, delta=budget.delta, sensitivity=1)
            value = gamma2_lower(workload, neighbours=neighbours) * sigma
            found.append(Floor(who="every Gaussian factorization", what="largest standard deviation", value=value))
    except UnsupportedError:
        pass
    return [floor for floor in found if floor.value > 0]
