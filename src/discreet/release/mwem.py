"""MWEM: ask the question that the estimate answers worst, measure it, mend the estimate, repeat.

Theorem (Hardt, Ligett, McSherry 2012; with tables, zCDP and most entropy: McKenna, Sheldon, Miklau 2019 and others).
Let every score move by at most D between neighbours.  T rounds, each a choice by the exponential mechanism and a
measurement with noise calibrated to the budget of that part, keep the sum of the parts:

    PureDP(epsilon)   T times epsilon / (2 T) for the choice and as much for the noise
    ZCDP(rho)         T times epsilon_t^2 / 8 = rho / (2 T) for the choice and rho / (2 T) for the noise,

less a share of 1/20 for the number of rows where it is not public.  A marginal table is measured whole, at the
price of one of its cells when rows come and go, and of two when they are replaced.

Theorem (`estimate="average"`).  On n rows, n public, let queries have values in an interval of length w.  With the
update h <- h exp(4 q (m - q(h)) / (n w^2)), the average of the T estimates is off by more than

    n w sqrt(ln|X| / (2 T)) + (largest of T noises, at beta / 2) + (loss of a choice, at beta / (2 T)) + 1

on some query with probability at most beta: 2 sqrt(2) times less than printed in 2012, for the first term.
Proof: docs/theory/mwem.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

import discreet.release.errors as error_forms
from discreet.composition.filter import largest_rho
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.enclosure import root_bounds
from discreet.privacy.event import ComposedEvent, Event, RepeatedEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours, Replace
from discreet.privacy.number import down, exact
from discreet.queries.combined import Kronecker, Stacked, Weighted
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Ordered
from discreet.queries.products import Products
from discreet.queries.workload import Workload, a_workload, same_domain, swaps
from discreet.queries.written import RandomCounting
from discreet.release.counted import counted
from discreet.release.feasible import listed
from discreet.release.models.estimate import SHARPEST
from discreet.release.mwem_average import average
from discreet.release.mwem_fit import CLOSE, Fit
from discreet.release.mwem_universe import distances, universe_for
from discreet.release.net import widest
from discreet.release.noise import Noise, noise_for, relation_for, variance
from discreet.release.release import Release

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Countable

    Vector = npt.NDArray[np.float64]

TOTAL_SHARE = Fraction(1, 20)  # of the budget, for the number of rows where it is private
ROUNDS = 30  # where nothing says otherwise, and no more than two for each table or query
PLENTY = 1000  # rounds, at most, where a budget pays for more of them
QUIET = 2.0  # the standard deviation of a measurement up to which more rounds are worth more than less noise
POLISH = 60  # evaluations after the last round, at most; where the noise is small, FINE times as many
CLEAR, FINE = 100, 20  # of n rows, one in so many is a small noise: then rounds, too, have up to FINE evaluations


@dataclass(frozen=True, repr=False)
class MWEM:
    """Multiplicative weights with the exponential mechanism, over a universe whose cells can be listed.

    Without `n` one row may be added or removed, and a twentieth of the budget buys the number of rows; with a public
    `n` one row may be replaced.  With both a budget under AddRemove and an `n`, that is a public guess of the number of
    rows, and nothing is proven of the error.  Workloads of marginals are chosen and measured table by table, others
    query by query.

    Without `rounds` the number follows from the budget and the workload (`usual_rounds`): no more tables than rounds
    are ever measured, and the error of those that are not is a floor that no budget lowers.

    `estimate="entropy"` keeps the distribution of most entropy among those that agree with all measurements so far
    (`steps` evaluations a round); nothing is proven of its error, which is the smaller one in practice.
    "average" is the mechanism of the theorem: one update a round, and the average of all estimates.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.histogram import Histogram
    >>> from discreet.queries.marginals import marginals
    >>> domain = Domain({f"b{i}": Boolean() for i in range(6)})
    >>> mwem = MWEM(marginals(domain, 2), n=5000, budget=ZCDP(0.1), rounds=8)
    >>> release = mwem(Histogram.random(domain, n=5000, seed=1))
    >>> release.answers.shape, round(release.model.total), release.privacy().neighbours.__name__
    ((60,), 5000, 'Replace')
    """

    workload: Workload
    budget: Guarantee = field(kw_only=True)
    rounds: int = field(default=cast("int", None), kw_only=True)  # a number from the first check on
    n: int | None = field(default=None, kw_only=True)
    estimate: Literal["entropy", "average"] = field(default="entropy", kw_only=True)
    steps: int = field(default=2, kw_only=True)
    device: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        a_workload(self.workload)
        for name in ("rounds", "steps"):
            given = getattr(self, name)
            whole = isinstance(given, int) and not isinstance(given, bool)
            right = (name == "rounds" and given is None) or (whole and given >= 1)
            require(right, f"an integer {name} >= 1", **{name: given})
        require(self.estimate in ("entropy", "average"), "estimate entropy or average", estimate=self.estimate)
        if not self.tables and not self.workload.integral:
            raise UnsupportedError("MWEM needs queries with integer entries; scale the answers afterwards")
        listed(self.workload.domain.size, each=24, what="MWEM", device=self.device)
        if self.rounds is None:
            object.__setattr__(self, "rounds", self.usual_rounds())
        self.choice  # noqa: B018 - refuse a bad budget now
        self.noise  # noqa: B018

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def tables(self) -> bool:
        """Whether whole marginal tables are chosen and measured, not single queries."""
        return isinstance(self.workload, Marginals) and self.estimate == "entropy"

    @cached_property
    def queries(self) -> Workload:
        """What is asked of the data: the workload, its tables without their weights."""
        if isinstance(self.workload, Marginals) and self.workload.weighted:
            return Marginals(self.workload.domain, self.workload.sets)
        return self.workload

    @cached_property
    def _spent(self) -> PureDP | ZCDP:
        """The whole budget as what rounds are paid in."""
        match self.budget:
            case PureDP():
                return PureDP(self.budget.epsilon)
            case ZCDP():
                return ZCDP(self.budget.rho)
            case ApproxDP():
                epsilon, delta = exact(self.budget.epsilon), exact(self.budget.delta)
                return PureDP(epsilon) if delta == 0 else ZCDP(largest_rho(epsilon, delta))
        raise UnsupportedError(f"a release is paid in PureDP, ApproxDP or ZCDP, got {type(self.budget).__name__}")

    def _part(self, share: Fraction) -> PureDP | ZCDP:
        spent = self._spent
        if isinstance(spent, PureDP):
            require(exact(spent.epsilon) > 0, "epsilon > 0", epsilon=spent.epsilon)
            return PureDP(exact(spent.epsilon) * share)
        require(exact(spent.rho) > 0, "rho > 0", rho=spent.rho)
        return ZCDP(exact(spent.rho) * share)

    def usual_rounds(self) -> int:
        """How many rounds: a rule of the budget, the workload and a public n; see docs/theory/mwem.md.

        "entropy" takes 30, or as many as leave the noise of a measurement at 2 rows if those are more, and no more than
        two for each table or query.  "average" takes what makes the bound of the theorem least.
        """
        if self.estimate == "average":
            if self.n is None or not swaps(self.neighbours):
                return ROUNDS
            tried = sorted({round(10 ** (k / 16)) for k in range(16 * 3 + 1)})  # 1 .. 1000
            return min(tried, key=lambda rounds: replace(self, rounds=rounds).accuracy())
        most = min(
            2 * (len(self.workload.sets) if isinstance(self.workload, Marginals) else len(self.workload)), PLENTY
        )
        low, high = min(ROUNDS, most), most
        while low < high:  # the noise grows with the rounds
            middle = (low + high + 1) // 2
            quiet = variance(self._noise(self._round_share(middle))) <= QUIET**2
            low, high = (middle, high) if quiet else (low, middle - 1)
        return low

    def _round_share(self, rounds: int) -> Fraction:
        """Of the budget, for the choice of one round, and as much for its measurement."""
        return (1 - (TOTAL_SHARE if self.n is None else Fraction(0))) / (2 * rounds)

    @property
    def _share(self) -> Fraction:
        return self._round_share(self.rounds)

    @property
    def floor(self) -> str:
        """What no budget lowers, in words: the tables or queries that rounds leave out."""
        if self.estimate == "average":
            return f"{self.rounds} updates from the uniform distribution leave an error that no budget lowers"
        asked = len(self.workload.sets) if isinstance(self.workload, Marginals) else len(self.workload)
        of = f"of {asked:,} {'tables' if self.tables else 'queries'}"
        if self.rounds < asked:
            return f"{self.rounds:,} rounds measure as many {of}; the others keep an error that no budget lowers"
        return f"none: {self.rounds:,} rounds can measure each {of}"

    @cached_property
    def sensitivity(self) -> int:
        """How far one score moves: an l1 distance of tables, or a query."""
        if self.tables:
            return 2 if swaps(self.neighbours) else 1
        return _largest_move(self.queries, self.neighbours)

    @cached_property
    def choice(self) -> Exponential:
        """The selection of every round."""
        part = self._part(self._share)
        epsilon = part.epsilon if isinstance(part, PureDP) else down(root_bounds(8 * exact(part.rho))[0])
        return Exponential(epsilon=epsilon, sensitivity=self.sensitivity)

    @cached_property
    def noise(self) -> Noise:
        """The noise of every measurement."""
        return self._noise(self._share)

    def _noise(self, share: Fraction) -> Noise:
        moved = self.sensitivity
        square = moved if self.tables else moved * moved  # two cells by one each, or one query by all
        return noise_for(self._part(share), absolute=moved, square=square, size=1)

    @cached_property
    def count(self) -> Noise | None:
        """The noise of the number of rows, where it is not public."""
        return noise_for(self._part(TOTAL_SHARE), absolute=1, square=1, size=1) if self.n is None else None

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """An estimate of the data, a histogram, encoded rows or a frame, and the answers on it."""
        private = counted(data, self.workload.domain, neighbours=self.neighbours)
        same_domain(self.workload.domain, private.domain)
        n = self.n if self.count is None else self._rows(private, rng)
        assert n is not None
        answers, model = average(self, private, n, rng) if self.estimate == "average" else self._fitted(private, n, rng)
        if self.queries is not self.workload:
            answers = answers * self._weights
        return Release(
            workload=self.workload, answers=answers, guarantee=self.privacy(), errors=self.errors(), model=model
        )

    def _rows(self, private: Countable, rng: RandomSource | None) -> int:
        from discreet.data.histogram import Histogram

        assert self.count is not None
        true = round(private.n) if isinstance(private, Histogram) else int(private.marginal([]).sum())
        return max(1, int(self.count(true, rng=rng)))

    def _fitted(self, private, n: int, rng: RandomSource | None):  # noqa: ANN001, ANN202
        import numpy as np

        universe = universe_for(self.queries, device=self.device)
        true = universe.truth(private)
        fit = Fit(universe, n, np.zeros(universe.count))
        summed = int(self._sizes[0].max()) if self.tables else 1
        small = CLEAR * math.sqrt(self._variance) <= n  # of public and released numbers
        for _ in range(self.rounds):
            off = distances(true, n * universe.answers(fit.means), summed=summed)
            chosen = self.choice(self._scores(off), rng=rng)
            where = self._places(chosen)
            noisy = np.asarray(self.noise(true[where], rng=rng))
            places, values, larger = universe.measurement(chosen, noisy)
            fit.measured(places, values, variance=self._variance * larger)
            fit.improve(max(self.steps, FINE) if small else self.steps)
        fit.improve(POLISH * FINE if small else POLISH, close=CLOSE)
        return universe.finish(fit.theta, n)

    def _scores(self, off: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How wrong the estimate is on each table beyond what noise would be, weighted; or on each query."""
        import numpy as np

        if not self.tables:
            return off
        assert isinstance(self.workload, Marginals)
        sizes, starts = self._sizes
        wrong = np.add.reduceat(off, starts) - np.rint(sizes * self._mean_noise).astype(np.int64)
        if self.queries is self.workload:
            return wrong
        most = max(self.workload.weights)
        parts = [weight / most for weight in self.workload.weights]  # at most 1, so that scores move no more
        return np.array([int(w) * p.numerator // p.denominator for w, p in zip(wrong, parts, strict=True)])

    @cached_property
    def _variance(self) -> float:
        """Of the noise of every measured number; counts are whole, so that less than SHARPEST makes them exact."""
        return max(variance(self.noise), SHARPEST**2)

    @property
    def _mean_noise(self) -> float:
        """E|noise|, to compare tables of unlike sizes."""
        return math.sqrt(self._variance * (0.5 if isinstance(self._spent, PureDP) else 2 / math.pi))

    def _places(self, chosen: int) -> slice:
        if not self.tables:
            return slice(chosen, chosen + 1)
        sizes, starts = self._sizes
        return slice(int(starts[chosen]), int(starts[chosen] + sizes[chosen]))

    @cached_property
    def _sizes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """How many cells the tables have, and where each begins."""
        import numpy as np

        assert isinstance(self.workload, Marginals)
        sizes = np.array(self.workload.sizes)
        return sizes, np.cumsum(sizes) - sizes

    @property
    def _weights(self) -> Vector:
        import numpy as np

        assert isinstance(self.workload, Marginals)
        return np.repeat([float(weight) for weight in self.workload.weights], self.workload.sizes)

    @cached_property
    def width(self) -> int:
        """The longest interval that the values of one query need."""
        return _largest_move(self.queries, Replace)

    def errors(self) -> error_forms.Errors:
        """The bound of the theorem at 5 %, for averages; nothing is proven of the other estimate."""
        try:
            return error_forms.Bounded(self.accuracy(0.05), 0.05, len(self.workload))
        except UnsupportedError as refused:
            return error_forms.Unproven(str(refused))

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha such that no answer is off by more, on any n rows, but with probability beta."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        if self.estimate == "entropy":
            raise UnsupportedError(
                "the error of MWEM depends on the data, so that nothing is proven of it; a plan forecasts it on made-up"
                ' rows.  mechanism=IndependentNoise states its error; so does estimate="average" for a public n'
            )
        if self.n is None or not swaps(self.neighbours):  # where rows come and go, n is a guess
            raise UnsupportedError("the bound on the error of MWEM needs a public n")
        drift = self.n * self.width * math.sqrt(math.log(self.workload.domain.size) / (2 * self.rounds))
        noise = self.noise.accuracy(beta / 2, size=self.rounds)
        choice = self.choice.accuracy(beta / (2 * self.rounds), size=len(self.workload))
        weight = float(max(self.workload.weights)) if isinstance(self.workload, Marginals) else 1.0
        return weight * (drift + noise + choice + 1)

    def event(self) -> Event:
        """What ran: the choices, the measurements, and the number of rows where it was bought."""
        rounds = [RepeatedEvent(event=part.event(), count=self.rounds) for part in (self.choice, self.noise)]
        return ComposedEvent(events=(*([self.count.event()] if self.count else []), *rounds))

    def __repr__(self) -> str:
        return f"MWEM({len(self.workload)} queries, {self.budget!r}, rounds={self.rounds})"


def _largest_move(workload: Workload, neighbours: type[Neighbours]) -> int:
    """The most that one query moves, rounded up to a whole number of at least 1."""
    swaps(neighbours)  # graphs have other relations
    if isinstance(workload, Ordered | RandomCounting) or (isinstance(workload, Marginals) and not workload.weighted):
        return 1  # entries are 0 and 1
    if isinstance(workload, Stacked):
        return max(_largest_move(part, neighbours) for part in workload.parts)
    if isinstance(workload, Products | Weighted | Kronecker) and workload.integral:
        return max(1, widest(workload, neighbours))
    return max(1, *(math.ceil(query.absolute(neighbours)) for query in workload))
