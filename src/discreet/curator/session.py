"""A session: the whole price on opening, then counting questions one by one, each chosen after the answers before it.

Theorem (Vadhan, Wang 2021).  Interactive mechanisms that are pure, run side by side in any interleaving, compose
as if they ran one after another.  A session is therefore paid for in PureDP, and other questions may be asked
while it is open.  Proof: docs/theory/release.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.curator.boundary import boundary
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.ledger import Receipt
from discreet.privacy.guarantee import Guarantee
from discreet.queries.predicates import from_predicates
from discreet.queries.workload import Workload
from discreet.release.online_session import OnlineSession


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Session:
    """An open session.  `ask` costs nothing more; when the questions are used up it refuses."""

    _online: OnlineSession
    guarantee: Guarantee
    receipt: Receipt

    @property
    def domain(self) -> Domain:
        """The columns that may be asked about."""
        return self._online.domain

    @property
    def alpha(self) -> float:
        """How far any answer may be off, but with the probability the session was opened for."""
        return self._online.alpha

    @property
    def queries_left(self) -> int:
        """How many questions may still be asked."""
        return self._online.queries_left

    @property
    def histogram(self) -> Histogram:
        """The public estimate of all cells, which the answers have made."""
        return self._online.histogram

    @boundary
    def ask(self, query: Workload | str) -> float:
        """The answer to one counting question, in counts.

        It is a query such as `marginals(session.domain, 2)[7]`, or a predicate as in WHERE: "age >= 65 AND readmitted".
        """
        return self._online.ask(from_predicates(self.domain, [query])[0] if isinstance(query, str) else query)

    def privacy(self) -> Guarantee:
        """What was spent on opening."""
        return self.guarantee

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("an open session holds what it read and cannot be copied or stored")

    def __repr__(self) -> str:
        return f"Session({', '.join(self.domain)}; {self.queries_left} questions left)"
