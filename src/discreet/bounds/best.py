"""The best lower bound that is known here for a workload: what nobody can do, beside what is done.

    packing           every mechanism     some error is at least the value with probability above beta
    discrepancy       every mechanism     the same
    fingerprints      every mechanism     the root mean square error of some query is at least the value
    gamma_2           every unbiased one  the largest standard deviation is at least the value
    factorization     continuous Gaussian noise of any covariance, under (epsilon, delta): the same

for mechanisms that keep the guarantee, on the worst dataset, in counts.  The last binds one kind of noise and nobody
else: Laplace noise, and even the discrete Gaussian noise of this library, may lie below it.  It is listed, and never
the best.  Each has its theorem in its own module; here they are only compared.  A bound whose computation would take
longer than seconds is left out: a bound that is missing is never claimed to be 0.  What keeps epsilon = 0 or rho = 0
keeps a small one too, which then stands for it.  Theory: docs/theory/lower_bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.bounds.discrepancy_error import discrepancy_error
from discreet.bounds.fingerprinting import fingerprinting
from discreet.bounds.packing_search import REALS, packing
from discreet.bounds.unbiased import distinguishability, unbiased_error
from discreet.errors import UnsupportedError, require
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import Number, exact
from discreet.queries.workload import Workload, swaps
from discreet.release.gamma2_closed import gamma2_lower
from discreet.release.noise import relation_for

LISTED = 96  # cells up to which discrepancy is looked for
QUERIES = 4096  # and queries
SMALL = Fraction(1, 1 << 30)  # epsilon in place of 0
SIGMA = 1 - 1e-9  # what the search for sigma may be above the least
WIDEST, LEAST = 10**6, Fraction(1, 10**300)  # epsilon and delta between which sigma is computed


@dataclass(frozen=True, kw_only=True, slots=True)
class LowerBound:
    """In counts: `who` cannot have less than `value` of `what`; `witness` is what proves it.

    >>> from discreet.privacy import PureDP
    >>> from discreet.queries import thresholds
    >>> found = best(thresholds(64), n=10_000, guarantee=PureDP(1))
    >>> found.value > 0, found.who
    (True, 'every mechanism')
    """

    value: float
    name: str
    who: str
    what: str
    witness: str
    reference: str
    every: bool  # whether biased mechanisms, too, are bound
    gaussian: bool = False  # whether one kind of noise is bound, and no other mechanism

    def to_dict(self) -> dict[str, str | float | bool]:
        """For programs: JSON-ready."""
        names = ("value", "name", "who", "what", "witness", "reference", "every", "gaussian")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        return f"{self.who}: {self.what} at least {self.value:.4g} ({self.name}: {self.witness}; {self.reference})"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    workload: Workload
    n: int
    guarantee: Guarantee
    neighbours: type[Neighbours]
    beta: Number


def best(
    workload: Workload,
    *,
    n: int,
    guarantee: Guarantee,
    neighbours: type[Neighbours] | None = None,
    beta: Number = 0.05,
) -> LowerBound:
    """The largest bound on every mechanism, biased ones included; where there is none, that on every unbiased one.

    Bounds on unlike quantities, such as a largest error and a root mean square, are ordered by size alone; `what` says
    which one it is.

    Without a relation, neither here nor in the guarantee, n is public and a row may be replaced.

    >>> from discreet.queries import thresholds
    >>> print(best(thresholds(1024), n=100_000, guarantee=PureDP(0.1)))
    every mechanism: largest error, with probability above 0.05, at least 49 (packing: 1023 others 98 steps away; ...)
    """
    found = lower_bounds(workload, n=n, guarantee=guarantee, neighbours=neighbours, beta=beta)
    if not found or found[0].gaussian:
        raise UnsupportedError(f"no lower bound is known for {workload!r} under {guarantee!r}")
    return found[0]


def lower_bounds(
    workload: Workload,
    *,
    n: int,
    guarantee: Guarantee,
    neighbours: type[Neighbours] | None = None,
    beta: Number = 0.05,
) -> tuple[LowerBound, ...]:
    """Every bound above 0: on every mechanism first, then on every unbiased one, then on Gaussian noise alone.

    Among bounds of one kind the largest is first.  A relation may be named here or in the guarantee, or the same in
    both.

    >>> from discreet.queries import thresholds
    >>> [bound.name for bound in lower_bounds(thresholds(64), n=1000, guarantee=ZCDP(0.1))]
    ['packing', 'discrepancy', 'gamma_2']
    """
    require(isinstance(workload, Workload), "a Workload", workload=type(workload).__name__)
    require(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer n >= 1", n=n)
    require(0 < exact(beta) < 1, "0 < beta < 1", beta=beta)
    require(isinstance(guarantee, Guarantee), "a guarantee", guarantee=type(guarantee).__name__)
    agrees = neighbours is None or guarantee.neighbours in (None, neighbours)
    require(agrees, "the relation of the guarantee", neighbours=neighbours, guarantee=guarantee)
    relation = neighbours or relation_for(guarantee, n=n)
    if not isinstance(guarantee, PureDP | ApproxDP | ZCDP | GaussianDP):
        raise UnsupportedError(
            f"bounds are known for PureDP, ApproxDP, ZCDP, GaussianDP, got {type(guarantee).__name__}"
        )
    asked = _Asked(workload=workload, n=n, guarantee=_positive(guarantee), neighbours=relation, beta=beta)
    if swaps(relation) and workload.domain.size == 1:
        return ()  # no row can be replaced by another
    found = [bound for one in BOUNDS if (bound := _tried(one, asked)) is not None and bound.value > 0]
    return tuple(sorted(found, key=lambda bound: (not bound.every, bound.gaussian, -bound.value)))


def _positive(guarantee: PureDP | ApproxDP | ZCDP | GaussianDP) -> Guarantee:
    """A guarantee above 0 that this one implies: what it forbids, this one forbids."""
    match guarantee:
        case PureDP() if not exact(guarantee.epsilon):
            return PureDP(SMALL)
        case ApproxDP() if not exact(guarantee.epsilon):
            return ApproxDP(SMALL, guarantee.delta)
        case ZCDP() if not exact(guarantee.rho):
            return ZCDP(SMALL**2)
        case GaussianDP() if not exact(guarantee.mu):
            return GaussianDP.from_square(SMALL**2)
    return guarantee


def _tried(one: Callable[[_Asked], LowerBound], asked: _Asked) -> LowerBound | None:
    try:
        return one(asked)
    except UnsupportedError:
        return None


def _packing(asked: _Asked) -> LowerBound:
    found = packing(asked.workload, budget=asked.guarantee, n=asked.n, neighbours=asked.neighbours, beta=asked.beta)
    return LowerBound(
        value=found.value,
        name="packing",
        who="every mechanism",
        what=f"largest error, with probability above {asked.beta},",
        witness=f"{_many(found.packing.others)} others {found.copies * found.packing.steps} steps away",
        reference="Hardt and Talwar 2010",
        every=True,
    )


def _many(count: int) -> str:
    """A number, or the power of two just below it."""
    return str(count) if count < 10**9 else f"2^{count.bit_length() - 1}"


def _discrepancy(asked: _Asked) -> LowerBound:
    queries, cells = asked.workload.shape
    if cells > LISTED or queries > QUERIES or (not asked.workload.integral and queries * cells > REALS):
        raise UnsupportedError(f"discrepancy is looked for up to {LISTED} cells")
    found = discrepancy_error(
        asked.workload, budget=asked.guarantee, n=asked.n, neighbours=asked.neighbours, beta=asked.beta
    )
    return LowerBound(
        value=found.value,
        name="discrepancy",
        who="every mechanism",
        what=f"largest error, with probability above {asked.beta},",
        witness=f"{len(found.columns)} cells of {found.copies} rows or none, discrepancy {found.discrepancy:g}",
        reference="Muthukrishnan and Nikolov 2012",
        every=True,
    )


def _fingerprints(asked: _Asked) -> LowerBound:
    found = fingerprinting(asked.workload, budget=asked.guarantee, n=asked.n, neighbours=asked.neighbours)
    return LowerBound(
        value=found.value,
        name="fingerprints",
        who="every mechanism",
        what="largest root mean square error",
        witness=f"{found.queries} independent queries of {found.rows} rows",
        reference="Bun, Ullman and Vadhan 2014",
        every=True,
    )


def _unbiased(asked: _Asked) -> LowerBound:
    budget = asked.guarantee.to_zcdp() if isinstance(asked.guarantee, GaussianDP) else asked.guarantee
    distinguishability(budget)  # refuses what has none, before anything is searched for
    gamma = gamma2_lower(asked.workload)
    if swaps(asked.neighbours):
        gamma = math.nextafter(gamma - math.nextafter(float(asked.workload.entry), math.inf), -math.inf)
    return LowerBound(
        value=unbiased_error(max(gamma, 0), budget=budget),
        name="gamma_2",
        who="every unbiased mechanism",
        what="largest standard deviation",
        witness=f"gamma_2 at least {max(gamma, 0):.4g}",
        reference="Edmonds, Nikolov and Ullman 2020; Hammersley 1950",
        every=False,
    )


def _factorization(asked: _Asked) -> LowerBound:
    budget = asked.guarantee
    if not isinstance(budget, ApproxDP) or exact(budget.delta) < LEAST or exact(budget.epsilon) > WIDEST:
        raise UnsupportedError("the bound on Gaussian noise is for (epsilon, delta)")
    sigma = analytic_sigma(epsilon=budget.epsilon, delta=budget.delta, sensitivity=1) * SIGMA
    gamma = gamma2_lower(asked.workload, neighbours=asked.neighbours)
    return LowerBound(
        value=gamma * sigma,
        name="factorization",
        who="continuous Gaussian noise on every factorization",
        what="largest standard deviation",
        witness=f"gamma_2 at least {gamma:.4g}",
        reference="Li, Hay, Rastogi, Miklau and McGregor 2010; Balle and Wang 2018",
        every=False,
        gaussian=True,
    )


BOUNDS = (_packing, _discrepancy, _fingerprints, _unbiased, _factorization)
