"""Boosting for queries: from answers that are good for most queries to answers that are good for all.

Theorem (Dwork, Rothblum, Vadhan 2010).  Let a base mechanism, given queries sampled from any distribution on k queries,
answer a share of 1/2 + eta of that distribution within `error`.  Run it T times; after each, every query q has
a_q = 1 - 2 (err_q - error) / slack, cut to [-1, 1], and the next sample is drawn with weights exp(-rate sum a_q).  The
median of the T answers is within error + slack on every query as soon as

    k c^T < 1,    c = (1/2 + eta) e^-rate + (1/2 - eta) e^rate,    least at rate = ln((1 + 2 eta) / (1 - 2 eta)) / 2.

If an answer moves by at most `span` between neighbours, one draw after t rounds is an exponential mechanism with
epsilon = 4 rate t span / slack.  With `sample` draws in each round the whole costs, besides T runs of the base,

    2 rate span sample T (T - 1) / slack    pure,    2 (rate span / slack)^2 sample (1 + 4 + ... + (T - 1)^2)   in rho.

Proof: docs/theory/boosting.md.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import discreet.release.errors as error_forms
from discreet.composition.filter import largest_rho
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import integers
from discreet.hazmat.samplers import uniform_below
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.event import ComposedEvent, Event, PureEvent, RepeatedEvent, ZCDPEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import Number, chance, exact
from discreet.queries.workload import Rows, Workload, a_workload, swaps
from discreet.release.counted import counted
from discreet.release.net import widest
from discreet.release.noise import relation_for
from discreet.release.release import Release

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    class Mechanism(Protocol):
        """A release mechanism."""

        def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release: ...
        def privacy(self) -> Guarantee: ...

    class Base(Protocol):
        """Makes a mechanism for some queries of the workload, whose release answers all of it."""

        def __call__(self, sample: Workload, budget: Guarantee, /) -> Mechanism: ...


FARTHEST = 1 << 52  # answers are cut to this, so that no sum wraps


@dataclass(frozen=True, slots=True, repr=False)
class BoostedQueries:
    """Boost `base`, a function of sampled queries and a budget that returns a release mechanism.

    `error` is what the base keeps within on a share of 1/2 + `advantage` of the weight: a promise of the base,
    on which the accuracy rests and the privacy does not.  `share` of the budget pays for the samples, and sets
    the slack.  Serves the relation of the budget; without one, Replace with a public `n` and AddRemove without.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.histogram import Histogram
    >>> from discreet.queries.marginals import marginals
    >>> from discreet.release.projection import LeastSquaresProjection
    >>> domain = Domain({f"b{i}": Boolean() for i in range(5)})
    >>> boosted = BoostedQueries(
    ...     lambda sample, budget: LeastSquaresProjection(sample, budget=budget, n=100_000),
    ...     marginals(domain, 2), budget=ZCDP(0.5), n=100_000, sample=20, error=500)
    >>> boosted.rounds, boosted.slack, boosted.accuracy()
    (26, 517, 1016.0)
    >>> len(boosted(Histogram.random(domain, n=100_000, seed=1)))
    40
    """

    base: Base
    workload: Workload
    budget: Guarantee = field(kw_only=True)
    sample: int = field(kw_only=True)
    error: int = field(kw_only=True)
    n: int | None = field(default=None, kw_only=True)
    advantage: Number = field(default=Fraction(1, 4), kw_only=True)
    share: Number = field(default=Fraction(1, 2), kw_only=True)
    beta: float = field(default=0.05, kw_only=True)

    def __post_init__(self) -> None:
        if not a_workload(self.workload).integral:
            raise UnsupportedError("boosting needs queries with integer values; scale them and their answers")
        for name in ("sample", "error"):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            require(
                whole and value >= (name == "sample"), f"an integer {name} >= {int(name == 'sample')}", **{name: value}
            )
        least = Fraction(1, 1 << 18)  # below, more than 2^36 rounds would be needed
        inside = least <= exact(self.advantage) < Fraction(1, 2)
        require(inside, "2^-18 <= advantage < 1/2", advantage=self.advantage)
        require(0 < exact(self.share) < 1, "0 < share < 1", share=self.share)
        chance(self.beta)
        allowed = self._parts()[2]  # refuse a bad budget now
        swaps(self.neighbours)  # and graphs
        if callable(self.base):  # forecasts need none
            require(_takes_two(self.base), "a base that takes a workload and a budget", base=self.base)
            first = tuple(range(min(self.sample, len(self.workload))))
            self.base(Rows(self.workload, first), allowed)  # refuses a sample of this size that it could not run on

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def rate(self) -> Fraction:
        """ln((1 + 2 eta) / (1 - 2 eta)) / 2, to six digits: any rate is private, and `rounds` is for this one."""
        return Fraction(round(10**6 * math.atanh(2 * float(exact(self.advantage)))), 10**6)

    @property
    def rounds(self) -> int:
        """The least T with k c^T < 1."""
        eta, rate = float(exact(self.advantage)), float(self.rate)
        shrink = (0.5 + eta) * math.exp(-rate) + (0.5 - eta) * math.exp(rate)
        return math.floor(math.log(len(self.workload)) / -math.log(shrink) * (1 + 1e-12)) + 1

    @property
    def span(self) -> int:
        """How far one answer moves between neighbours."""
        return max(1, widest(self.workload, self.neighbours))

    @property
    def slack(self) -> int:
        """The least integer for which the samples keep within their share of the budget."""
        pure, concentrated = self._parts()[0], self._parts()[1]
        steps, times = self.rate * self.span, self.rounds
        if pure is not None:
            return max(1, math.ceil(2 * steps * self.sample * times * (times - 1) / pure))
        squares = Fraction((times - 1) * times * (2 * times - 1), 6)
        square = 2 * steps**2 * self.sample * squares / concentrated
        return max(1, math.isqrt(math.ceil(square) - 1) + 1 if square > 1 else 1)

    def _parts(self) -> tuple[Fraction | None, Fraction, Guarantee]:
        """epsilon, or else rho, of all samples, and the budget of one run of the base."""
        sampled, based = exact(self.share), (1 - exact(self.share)) / self.rounds
        budget, relation = self.budget, self.neighbours
        if isinstance(budget, ApproxDP) and exact(budget.delta) > 0:
            require(exact(budget.epsilon) > 0, "epsilon > 0", epsilon=budget.epsilon)
            budget = ZCDP(largest_rho(exact(budget.epsilon), exact(budget.delta)))
        match budget:
            case PureDP() | ApproxDP():
                epsilon = exact(budget.epsilon)
                require(epsilon > 0, "epsilon > 0", epsilon=budget.epsilon)
                return sampled * epsilon, Fraction(0), PureDP(based * epsilon, neighbours=relation)
            case ZCDP():
                rho = exact(budget.rho)
                require(rho > 0, "rho > 0", rho=budget.rho)
                return None, sampled * rho, ZCDP(based * rho, neighbours=relation)
        raise UnsupportedError(f"a release is paid in PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")

    def draws(self, after: int) -> Exponential:
        """The draw of one query after so many rounds, at least one."""
        epsilon = 4 * self.rate * after * self.span / self.slack
        return Exponential(epsilon=epsilon, sensitivity=2 * after * self.span)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """Run the rounds and take medians."""
        import numpy as np

        held = counted(data, self.workload.domain, neighbours=self.neighbours)
        true = np.clip(integers(self.workload.answer(held)), -FARTHEST, FARTHEST).astype(np.int64)
        answers = np.empty((self.rounds, len(true)), dtype=np.int64)  # (rounds, queries)
        gained = np.zeros(len(true), dtype=np.int64)  # slack times the sum of all a_q
        slack = self.slack
        for after in range(self.rounds):
            if after == 0:
                places = np.asarray(uniform_below(len(true), shape=(self.sample,), rng=rng))
            else:
                places = self.draws(after).releases(-gained, self.sample, rng=rng)
            answers[after] = self._run(Rows(self.workload, tuple(np.unique(places).tolist())), held, rng=rng)
            gained += np.clip(slack - 2 * (abs(true - answers[after]) - self.error), -slack, slack)
        middle = np.sort(answers, axis=0)[self.rounds // 2].astype(np.float64)
        return Release(workload=self.workload, answers=middle, guarantee=self.privacy(), errors=self.errors())

    def _run(self, queries: Workload, held: object, *, rng: RandomSource | None) -> npt.NDArray[np.int64]:
        """One run of the base, once it is known to keep within its budget, as integers."""
        import numpy as np

        allowed = self._parts()[2]
        mechanism = self.base(queries, allowed)
        promised = mechanism.privacy()
        if promised.neighbours is not self.neighbours or not promised <= allowed:
            raise UnsupportedError(f"the base promises {promised!r}, which is not within its share, {allowed!r}")
        answers = np.asarray(mechanism(held, rng=rng).answer(self.workload), dtype=np.float64)
        return np.rint(np.clip(np.nan_to_num(answers), -FARTHEST, FARTHEST)).astype(np.int64)

    def errors(self) -> error_forms.Bounded:
        """error + slack - 1 for integers, if no run of the base fails: those add up to `beta`."""
        return error_forms.Bounded(float(self.error + self.slack - 1), self.beta, len(self.workload))

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha: no answer is off by more, if each run of the base fails with probability beta / rounds at most."""
        return self.errors().accuracy(beta)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def event(self) -> Event:
        """What runs: the base in each round, and the samples between them."""
        base = self._parts()[2]
        one: Event = PureEvent(epsilon=base.epsilon) if isinstance(base, PureDP) else ZCDPEvent(rho=base.rho)  # type: ignore[attr-defined]
        samples = (RepeatedEvent(event=self.draws(after).event(), count=self.sample) for after in range(1, self.rounds))
        return ComposedEvent(events=(RepeatedEvent(event=one, count=self.rounds), *samples))

    def __repr__(self) -> str:
        return f"BoostedQueries({len(self.workload)} queries, {self.rounds} rounds, {self.budget!r})"


def _takes_two(base: object) -> bool:
    """Whether a function can be called with a workload and a budget; what does not tell is believed."""
    try:
        inspect.signature(base).bind(None, None)  # type: ignore[arg-type]
    except TypeError:
        return False
    except ValueError:  # some functions of C have no signature
        return True
    return True


def sample_for(bits: float, *, margin: float, beta: float) -> int:
    """How many sampled queries make accuracy on the sample hold for the distribution, up to a share `margin`.

    For a base whose answers are one of 2^bits tables: (bits ln 2 + ln(1 / beta)) / (2 margin^2), rounded up.

    >>> sample_for(100, margin=0.1, beta=0.001)
    3812
    """
    require(bits >= 0, "bits >= 0", bits=bits)
    require(0 < margin < 0.5, "0 < margin < 1/2", margin=margin)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    return math.ceil((bits * math.log(2) + math.log(1 / beta)) / (2 * margin**2))


def error_from_mean(mean: float, *, advantage: Number = Fraction(1, 4)) -> int:
    """What a base with this mean error keeps within on a share of 1/2 + advantage (Markov): mean / (1/2 - advantage).

    >>> error_from_mean(10)
    40
    """
    require(mean >= 0, "mean >= 0", mean=mean)
    return math.ceil(mean / float(Fraction(1, 2) - exact(advantage)))
