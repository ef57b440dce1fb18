"""An odometer: a valid running guarantee while costs are chosen adaptively.

Theorem (time-uniform bound; after Rogers, Roth, Ullman, Vadhan 2016 and Whitehouse, Ramdas,
Rogers, Wu 2023).  Let L_t be the privacy loss of the first t answers, E_t and R_t the sums
of their epsilons and rhos, and fix orders a_1, ..., a_J > 1 in advance.  If no mechanism has a
delta of its own, then for every pair of neighbours and every adaptive choice

    Pr[for all t:  L_t <= min(E_t, min_j  a_j R_t + ln(J / delta) / (a_j - 1))] >= 1 - delta.

So the run stopped at any time before the reading exceeds a fixed epsilon is
(epsilon, delta)-DP; with mechanisms that have deltas, stopped before their sum exceeds a
fixed d, it is (epsilon, delta + d)-DP.  A reading is not itself a guarantee chosen in advance:
to promise one, fix the number first, which is what `PrivacyFilter` does.
Proof: docs/theory/filters.md.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.composition.price import FREE, Item, gather, price
from discreet.errors import UnsupportedError, require
from discreet.hazmat.one_process import OneProcess
from discreet.privacy.enclosure import log_up
from discreet.privacy.guarantee import ApproxDP, PureDP, Relation
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import Number, exact, up

ORDERS = tuple(1 + Fraction(3, 2) ** power for power in range(-2, 23))  # 1.44 to 7483


class Odometer(OneProcess):
    """Record what ran; read a bound on the privacy loss so far that holds at all times at once.

    >>> odometer = Odometer(delta=1e-6)
    >>> for _ in range(100):
    ...     odometer.record(PureDP(0.1))
    >>> odometer.reading
    ApproxDP(epsilon=6.396067063275551, delta=1e-06)
    """

    WHAT, INSTEAD = "an odometer", "a Ledger counts for several processes"

    __slots__ = ("_relation", "_total", "delta")

    def __init__(self, *, delta: Number, neighbours: type[Neighbours] | None = None) -> None:
        self.delta = exact(delta)
        require(0 < self.delta < 1, "0 < delta < 1", delta=delta)
        self._total = FREE
        self._relation: Relation = neighbours

    def record(self, item: Item) -> None:
        """Add an event or a guarantee to what has run."""
        relation, cost = gather([item]).relation, price(item)
        with self._alone():  # two records at once must both count
            if None not in (relation, self._relation) and relation is not self._relation:
                raise UnsupportedError("relations are never mixed; convert the guarantee first (to_replace)")
            self._total += cost
            self._relation = self._relation or relation

    @property
    def reading(self) -> ApproxDP:
        """The bound on the loss so far, with the probability that it fails."""
        delta = self.delta + self._total.delta
        if delta >= 1:
            raise UnsupportedError("no guarantee is left: the mechanisms' own deltas add up to 1 or more")
        cost = log_up(len(ORDERS) / self.delta)
        bounds = [order * self._total.rho + cost / (order - 1) for order in ORDERS]
        if self._total.epsilon is not None:
            bounds.append(self._total.epsilon)
        return ApproxDP(up(min(bounds)), delta, neighbours=self._relation)

    @property
    def pure(self) -> PureDP:
        """The sum of epsilons: it bounds the loss surely, at all times."""
        if self._total.epsilon is None or self._total.delta > 0:
            raise UnsupportedError("some mechanism has no pure epsilon; read `reading` instead")
        return PureDP(self._total.epsilon, neighbours=self._relation)
