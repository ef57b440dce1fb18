"""Private multiplicative weights: adaptive counting questions, far more of them than independent noise could answer.

Theorem (Hardt, Rothblum 2010; constants and one-sided noise are our own).  A public distribution h, at first uniform,
answers every question it answers well; a sparse vector test with a secret threshold finds the others, each of which is
answered from the data and corrects h.  With U updates, gap s and noise bounds A, B of `online_settings`:

    privacy    U epochs that are (e1 + e2)-DP each, composed, or one (e1 + e2)-DP mechanism, whatever is asked
    accuracy   with probability 1 - beta every one of k answers is within alpha = s + A + B of the truth, in counts

The error of answers grows with log k and with sqrt(log |X|) only.  n is public (Replace); otherwise a twentieth of the
budget measures it, and the rest is set for the number measured.  Proof: docs/theory/multiplicative_weights.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING

import discreet.release.errors as error_forms
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.data.records import Records, countable
from discreet.errors import DomainError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.enclosure import root_bounds
from discreet.privacy.event import ApproxEvent, ComposedEvent, Event, PureEvent, ZCDPEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import chance, down, exact
from discreet.queries.workload import swaps
from discreet.release.feasible import listed
from discreet.release.noise import relation_for
from discreet.release.online_session import OnlineSession
from discreet.release.online_settings import Settings, Task, settle, settle_passes, share
from discreet.release.online_suspended import Suspended

if TYPE_CHECKING:
    from discreet.queries.workload import Workload
    from discreet.release.online_passes import OfflineWeights

SHARE = Fraction(1, 20)  # of the budget, for the number of rows
MOST_SUSPENSIONS = 10_000
PRIVATE = "the error depends on the number of rows, which is private; ask an open session"


@dataclass(frozen=True, slots=True, repr=False)
class PrivateMultiplicativeWeights:
    """Answer up to `queries` adaptive counting questions over a domain, each within `accuracy()`.

    With a public `n` one row may be replaced.  Without it, or with a budget under AddRemove, a row may be added or
    removed and the number of rows is measured; a given `n` then makes `settings()` a forecast and proves nothing.

    A session may be suspended, which gives up an update; the error stated is kept by one that is suspended at most
    `suspensions` times, and `session.alpha` says what holds of one that is suspended more often.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> from discreet.queries.marginals import marginals
    >>> domain = Domain({f"b{i}": Boolean() for i in range(8)})
    >>> pmw = PrivateMultiplicativeWeights(domain, n=100_000, budget=ApproxDP(1.0, 1e-6), queries=10_000)
    >>> session = pmw.open(Histogram.random(domain, n=100_000, seed=1))
    >>> round(pmw.accuracy(), -2), 0 <= session.ask(marginals(domain, 2)[7]) <= 100_000, session.queries_left
    (14000, True, 9999)
    """

    domain: Domain
    budget: Guarantee = field(kw_only=True)
    queries: int = field(kw_only=True)
    n: int | None = field(default=None, kw_only=True)
    beta: float = field(default=0.05, kw_only=True)
    suspensions: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        whole = isinstance(self.queries, int) and not isinstance(self.queries, bool)
        require(whole and self.queries >= 1, "an integer queries >= 1", queries=self.queries)
        chance(self.beta)
        for name, number in (("queries", self.queries), ("n", self.n or 1)):
            require(isinstance(number, int) and number < 1 << 62, f"{name} < 2^62", **{name: number})
        whole = isinstance(self.suspensions, int) and not isinstance(self.suspensions, bool)
        allowed = whole and 0 <= self.suspensions <= MOST_SUSPENSIONS
        require(allowed, f"an integer 0 <= suspensions <= {MOST_SUSPENSIONS}", suspensions=self.suspensions)
        share(self.budget, 1, fresh=False)  # refuse a bad budget now
        object.__setattr__(self, "domain", countable(self.domain))
        listed(self.domain.size, each=24, what="private multiplicative weights")
        if swaps(self.neighbours):
            require(self.n is not None, "n, which is public when rows are replaced", n=self.n)

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def measures(self) -> Laplace | None:
        """What measures the number of rows, where it is private."""
        return None if swaps(self.neighbours) else Laplace(epsilon=parts(self.budget)[0], sensitivity=1)

    def settings(self, n: int | None = None, *, passes: bool = False) -> Settings:
        """The parameters for this number of rows, by default the declared one."""
        rows = self.n if n is None else n
        if rows is None:
            raise UnsupportedError(PRIVATE)
        off, rest, betas = 0, self.budget, (self.beta / 2, self.beta / 2)
        if self.measures is not None:
            off, rest = self.measures.accuracy(self.beta / 4), parts(self.budget)[1]
            betas = (self.beta / 2, self.beta / 4)
        task = Task(
            cells=self.domain.size, n=rows, off=off, queries=self.queries, betas=betas, spared=self.suspensions
        )  # fmt: skip
        return (settle_passes if passes else settle)(rest, task)

    def open(self, data: object, *, rng: RandomSource | None = None) -> OnlineSession:
        """A session on a histogram, on encoded rows or on a frame.  The whole price is due now."""
        histogram = self.histogram(data)
        return self._session(histogram, self.settings(self.rows(histogram, rng=rng)), rng=rng)

    def resume(self, data: object, after: Suspended, *, rng: RandomSource | None = None) -> OnlineSession:
        """Go on with a session of this mechanism on the same data, for the price already paid.

        Refused unless `after` was suspended under the same declaration and settings; it is used up.
        """
        histogram = self.histogram(data)
        if self.measures is None:
            self.rows(histogram)  # refuses another number of rows
        session = self._session(histogram, self.settings(after.settings.n), rng=rng)
        session.go_on(after)
        return session

    def _session(self, histogram: Histogram, settings: Settings, *, rng: RandomSource | None) -> OnlineSession:
        terms, relation = self.terms(), self.neighbours
        return OnlineSession(histogram, settings, queries=self.queries, relation=relation, terms=terms, rng=rng)

    def terms(self) -> str:
        """The declaration as one line of JSON: what a suspended session was paid under."""
        numbers = {one.name: getattr(self.budget, one.name) for one in fields(self.budget) if one.name != "neighbours"}  # type: ignore[arg-type]
        record = {
            "budget": {name: str(exact(number)) for name, number in numbers.items()},
            "paid in": type(self.budget).__name__,
            "neighbours": self.neighbours.__name__,
            "domain": list(self.domain.to_dict().items()),
            "queries": self.queries,
            "n": self.n,
            "beta": self.beta,
            "suspensions": self.suspensions,
        }
        return json.dumps(record, sort_keys=True, default=str)

    def histogram(self, data: object) -> Histogram:
        """The data, counted."""
        if not isinstance(data, Histogram):
            every_row = swaps(self.neighbours)  # n is public
            rows = data if isinstance(data, Records) else Records.from_frame(data, self.domain, every_row=every_row)
            data = rows.histogram()
        if list(data.domain) != list(self.domain) or data.domain != self.domain:
            raise DomainError("the data and the questions have different domains")
        return data

    def rows(self, histogram: Histogram, *, rng: RandomSource | None = None) -> int:
        """The number of rows to work with: the public one, or a noisy one that is at least 1."""
        if self.measures is None:
            assert self.n is not None
            if histogram.n != self.n:
                raise DomainError(f"the data does not have the declared number of rows, n={self.n}")
            return self.n
        return max(1, int(self.measures(int(histogram.n), rng=rng)))

    def release(self, workload: Workload) -> OfflineWeights:
        """The same budget spent on one workload, pass after pass, until the histogram answers all of it."""
        from discreet.release.online_passes import OfflineWeights

        return OfflineWeights(workload, budget=self.budget, n=self.n, beta=self.beta)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def errors(self) -> error_forms.Errors:
        """One bound for all questions, at the beta it was built for, unless suspended more often than declared."""
        if self.measures is not None:
            return error_forms.Unproven(PRIVATE)
        return error_forms.Bounded(self.settings().alpha, self.beta, self.queries)

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha: no answer to a counting question is off by more, but with probability beta."""
        return self.errors().accuracy(beta)

    def event(self) -> Event:
        """What runs: the epochs; or, where they depend on the measured number of rows, the share they keep within."""
        if self.measures is None:
            return self.settings().event()
        match parts(self.budget)[1]:
            case PureDP(epsilon=epsilon):
                rest: Event = PureEvent(epsilon=epsilon)
            case ZCDP(rho=rho):
                rest = ZCDPEvent(rho=rho)
            case ApproxDP(epsilon=epsilon, delta=delta):
                rest = ApproxEvent(epsilon=epsilon, delta=delta)
            case other:
                raise UnsupportedError(f"no event for {type(other).__name__}")
        return ComposedEvent(events=(self.measures.event(), rest))

    def __repr__(self) -> str:
        return f"PrivateMultiplicativeWeights({self.queries} queries, {self.domain.size} cells, {self.budget!r})"


def parts(budget: Guarantee) -> tuple[Fraction, Guarantee]:
    """epsilon for the number of rows, and what is left."""
    match budget:
        case PureDP():
            epsilon = exact(budget.epsilon)
            return SHARE * epsilon, PureDP((1 - SHARE) * epsilon)
        case ApproxDP():
            epsilon = exact(budget.epsilon)
            return SHARE * epsilon, ApproxDP((1 - SHARE) * epsilon, budget.delta)
        case ZCDP():
            rho = exact(budget.rho)
            return exact(down(root_bounds(2 * SHARE * rho)[0])), ZCDP((1 - SHARE) * rho)
    raise UnsupportedError(f"multiplicative weights are paid in PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")
