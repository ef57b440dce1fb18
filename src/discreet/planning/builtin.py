"""The mechanisms of the library, as the planner sees them; each is imported when it is first built.

The forecasts of time are rough fits to single runs on one core of a machine of two, as functions of public sizes
(`work`); those of memory are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError
from discreet.planning import work
from discreet.planning.candidate import Build, Candidate, Cost, ReleaseMechanism
from discreet.planning.work import LISTED
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Thresholds
from discreet.queries.products import Products
from discreet.queries.workload import Workload
from discreet.queries.written import Dense, RandomCounting

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.privacy.event import Event
    from discreet.release.release import Release
    from discreet.structured.prefixes.prefix_tree import PrefixTree

STATED = 1 << 26  # answers whose variances are written down
ROUNDS = (10, 30, 100)
STEPS = 2000  # of a projection, which then states the gap it reached


def _independent(workload: Workload, budget: Guarantee, n: int | None) -> ReleaseMechanism:
    from discreet.release.independent import IndependentNoise

    return IndependentNoise(workload, budget=budget, n=n)


def _factorization(workload: Workload, budget: Guarantee, n: int | None) -> ReleaseMechanism:
    if isinstance(workload, Marginals) and not isinstance(budget, PureDP) and workload.domain.size > 64:
        raise UnsupportedError("MarginalRelease is the best factorization of marginal tables, without a search")
    from discreet.release.factorization import Factorization

    return Factorization(workload, budget=budget, n=n)


def _marginal_release(workload: Workload, budget: Guarantee, n: int | None) -> ReleaseMechanism:
    if not isinstance(workload, Marginals):
        raise UnsupportedError("it releases marginal tables only")
    from discreet.structured.marginals.marginal_release import MarginalRelease

    return MarginalRelease(workload, budget=budget, n=n, objective="max")


def _prefix_tree(workload: Workload, budget: Guarantee, n: int | None) -> ReleaseMechanism:
    if not isinstance(workload, Thresholds):
        raise UnsupportedError("it releases the thresholds of one column only")
    return Prefixes(workload, budget, n)


@dataclass(frozen=True, slots=True)
class Prefixes:
    """`PrefixTree` as a mechanism that returns a plain release."""

    workload: Thresholds
    budget: Guarantee
    n: int | None

    @property
    def tree(self) -> PrefixTree:
        """The mechanism."""
        from discreet.structured.prefixes.prefix_tree import PrefixTree

        return PrefixTree(self.workload, budget=self.budget, n=self.n)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """Noisy prefixes."""
        return self.tree(data, rng=rng).release

    def variances(self) -> npt.NDArray[np.float64]:
        """The variance of each prefix."""
        return self.tree.variances()

    def privacy(self) -> Guarantee:
        """The budget."""
        return self.tree.privacy()

    def event(self) -> Event:
        """What runs."""
        return self.tree.event()

    def accuracy(self, beta: float = 0.05) -> float:
        """No prefix is off by more, but with probability beta."""
        return self.tree.accuracy(beta)


def _parities(workload: Workload, budget: Guarantee, n: int | None) -> ReleaseMechanism:
    if not isinstance(workload, Products) or workload.kind != "parity" or workload.at_most or workload.k % 2:
        raise UnsupportedError("it releases the parities of an even number of bits only")
    from discreet.structured.parities.parity_projection_release import ProjectedParities

    return ProjectedParities(workload, budget=budget, n=n)


def _mwem(rounds: int) -> Build:
    def build(workload: Workload, budget: Guarantee, n: int | None) -> ReleaseMechanism:
        _listed(workload)
        from discreet.release.mwem import MWEM

        return MWEM(workload, budget=budget, n=n, rounds=rounds)

    return build


def _projection(workload: Workload, budget: Guarantee, n: int | None) -> ReleaseMechanism:
    _listed(workload)
    from discreet.release.projection import LeastSquaresProjection

    return LeastSquaresProjection(workload, budget=budget, n=n, steps=STEPS)


def _small_database(workload: Workload, budget: Guarantee, n: int | None) -> ReleaseMechanism:
    if n is None:
        raise UnsupportedError("it needs a public n")
    from discreet.release import net
    from discreet.release.small_database import SmallDatabase

    made, cells = SmallDatabase(workload, budget=budget, n=n), workload.domain.size
    many = (math.lgamma(cells + made.size) - math.lgamma(made.size + 1) - math.lgamma(cells)) / math.log(10)
    if many + math.log10(cells) > math.log10(net.LISTED):
        raise UnsupportedError(f"about 10^{many:.0f} candidates of {made.size} rows cannot be listed")
    return made


def _multiplicative_weights(workload: Workload, budget: Guarantee, n: int | None) -> ReleaseMechanism:
    if n is None:
        raise UnsupportedError("it needs a public n")
    _listed(workload)
    from discreet.release.online import PrivateMultiplicativeWeights

    pmw = PrivateMultiplicativeWeights(workload.domain, n=n, budget=budget, queries=len(workload))
    return pmw.release(workload)


def _listed(workload: Workload) -> None:
    if workload.domain.size > LISTED:
        raise UnsupportedError(f"it lists the universe, which has {workload.domain.size:.3g} cells, over {LISTED}")


def _per_query(workload: Workload) -> Cost:
    queries = len(workload)
    memory = 64 * queries + 16 * min(workload.domain.size, LISTED)
    return Cost(1e-3 + 1e-7 * queries, memory, work.sensitivities(workload))


def _search(workload: Workload) -> Cost:
    cells = min(workload.domain.size, 2048)
    return Cost(0.1 + 1.5e-5 * cells**2, 100.0 * cells**2, work.factored(workload) + _stated(workload))


def _tables(workload: Workload) -> Cost:
    queries = len(workload)
    planning = work.residuals(workload) if isinstance(workload, Marginals) else 0.0
    return Cost(0.05 + 1e-6 * queries, 200 * queries, planning)


def _prefixes(workload: Workload) -> Cost:
    return replace(_per_query(workload), planning=_stated(workload) if isinstance(workload, Thresholds) else 0.0)


def _rounds(rounds: int) -> Callable[[Workload], Cost]:
    def cost(workload: Workload) -> Cost:
        queries, cells = workload.shape
        bits = all(declared.size == 2 for declared in workload.domain.values())
        by_sums = (2e-8 if bits else 4e-7) * cells + 2e-6 * queries
        looked = 8e-8 * queries * cells if _written(workload) else by_sums
        planning = work.each_query(workload) if cells <= LISTED else 0.0
        return Cost(5e-3 + rounds * (1e-3 + looked), 40.0 * cells, planning)

    return cost


def _written(workload: Workload) -> bool:
    """Whether its queries are answered by a matrix product."""
    return isinstance(workload, Dense | RandomCounting)


def _stated(workload: Workload) -> float:
    """To write down the variance of every answer: never, where they would not fit in memory."""
    return 1e-3 + 1e-7 * len(workload) if len(workload) <= STATED else math.inf


def _lifted(workload: Workload) -> Cost:
    if not isinstance(workload, Products):
        return Cost(0.0, 0.0)
    side = math.comb(len(workload.domain), max(1, workload.k // 2))
    return Cost(work.projected_parities(workload), 100.0 * side**2 + 32 * len(workload), 0.02)


def _nearest(workload: Workload) -> Cost:
    queries, cells = workload.shape
    seconds = 2e-5 * queries * cells if _written(workload) else 0.05 + 3e-4 * queries + 2e-6 * cells
    planning = work.sensitivities(workload) + _stated(workload) if cells <= LISTED else 0.0
    return Cost(seconds, 40.0 * cells, planning)


def _online(workload: Workload) -> Cost:
    cells, queries = workload.shape[1], workload.shape[0]
    planning = 0.01 + work.EACH * queries / 10 if cells <= LISTED else 0.0
    return Cost(0.05 + queries * (1e-4 + 2e-8 * cells), 24.0 * cells, planning)


def _enumerated(workload: Workload) -> Cost:
    return Cost(1.0, 1e8, 0.05 + work.each_query(workload))


BUILTIN: tuple[Candidate, ...] = (
    Candidate(name="IndependentNoise", build=_independent, cost=_per_query),
    Candidate(name="Factorization", build=_factorization, cost=_search),
    Candidate(name="MarginalRelease", build=_marginal_release, cost=_tables, improved=True),
    Candidate(name="PrefixTree", build=_prefix_tree, cost=_prefixes),
    *(Candidate(name=f"MWEM, {rounds} rounds", build=_mwem(rounds), cost=_rounds(rounds)) for rounds in ROUNDS),
    Candidate(name="ProjectedParities", build=_parities, cost=_lifted),
    Candidate(name="LeastSquaresProjection", build=_projection, cost=_nearest),
    Candidate(name="PrivateMultiplicativeWeights", build=_multiplicative_weights, cost=_online),
    Candidate(name="SmallDatabase", build=_small_database, cost=_enumerated),
)
