"""MWEM as a synthesizer: one weight for every combination of values, where these can be listed.

Theorem.  MWEM (discreet.release.mwem) with epsilon / k, or rho / k^2, keeps epsilon, or rho, for a unit of at most k
rows: a unit is a group of rows.  An (epsilon, delta) budget is spent as the largest rho that implies it.
Proof: docs/theory/synthesis.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.composition.filter import largest_rho
from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact
from discreet.queries.marginals import Marginals, marginals
from discreet.release.group import for_one_row
from discreet.release.mwem import MWEM

if TYPE_CHECKING:
    from discreet.data.domain import Domain
    from discreet.synthesis.synthesizer import Synthesizer


def mechanism(synthesizer: Synthesizer) -> MWEM:
    """The MWEM of a synthesizer over its intervals; what it cannot do is refused."""
    coarse = synthesizer.encoding.coarse
    if coarse.size > synthesizer.capacity:
        raise UnsupportedError(
            f"mwem lists all combinations of values, and there are more than {synthesizer.capacity:,};"
            " take the adaptive method, fewer columns or intervals, or more cells"
        )
    if synthesizer.zeros:
        raise UnsupportedError("mwem knows no impossible combinations: take the adaptive method for zeros")
    workload = _workload(synthesizer, coarse)
    require(synthesizer.rounds != 0, "rounds >= 1 for mwem", rounds=synthesizer.rounds)
    paid = for_one_row(share(synthesizer.budget), synthesizer.rows_per_unit)
    paid = paid.under(synthesizer.neighbours)
    if synthesizer.rounds is None:
        return MWEM(workload, budget=paid, n=synthesizer.n)
    return MWEM(workload, budget=paid, n=synthesizer.n, rounds=synthesizer.rounds)


def share(budget: Guarantee) -> PureDP | ZCDP:
    """The budget in what adds up and divides: epsilon, or the rho that it allows."""
    match budget:
        case PureDP() | ZCDP():
            return budget
        case ApproxDP():
            require(exact(budget.epsilon) > 0, "epsilon > 0", epsilon=budget.epsilon)
            if exact(budget.delta) == 0:
                raise UnsupportedError("delta = 0 is a pure budget: pass PureDP(epsilon)")
            return ZCDP(largest_rho(exact(budget.epsilon), exact(budget.delta)))
    raise UnsupportedError(f"synthetic data are paid in PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")


def _workload(synthesizer: Synthesizer, coarse: Domain) -> Marginals:
    if isinstance(synthesizer.workload, Marginals):
        return Marginals(coarse, synthesizer.workload.sets)
    return marginals(coarse, min(2, len(coarse)))
