"""Statistical queries in the local model: a fresh group of users for each query, one bit from each of them.

Theorem (Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2008; exact constants ours).  Split the users into m groups
at random.  Group j answers query j, which may depend on earlier answers: each user sends one bit by `OneBitMean`, so
the protocol is sequentially interactive and epsilon-DP for each user.  With c = tanh(epsilon / 2), all m answers are
within tau of the means over the population that the users were drawn from, and for queries chosen in advance of the
means over all users, with probability at least 1 - beta, if

    every group has at least  (2 / (c^2 tau^2)) ln(2 m / beta)  users:

7,768 each, 776,800 in all, for m = 100, tau = 0.1, epsilon = 1, beta = 0.05.  For the population adaptivity costs
nothing, as every group is fresh.  So every learner from statistical queries runs on this oracle unchanged.
Proof: docs/theory/local_protocols.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.errors import BudgetExhausted, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.one_process import OneProcess
from discreet.local.coins import whole
from discreet.local.one_bit import OneBitMean
from discreet.local.protocol import run
from discreet.privacy.event import Event
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import Number
from discreet.queries.statistical import Tolerance, as_rows, centre, normalised

if TYPE_CHECKING:
    from discreet.queries.statistical import StatisticalQuery, Values

ROUNDING = 2.0**-30  # of a value to its place, in [-1, 1]


class LocalStatisticalOracle(OneProcess):
    """Answers `queries` statistical queries about users who trust nobody, then refuses.

    `data` has a row for each user, or is a pair (rows, labels): the users' own values, read by the clients' half only.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.queries.statistical import RowFunction
    >>> ages = np.random.default_rng(0).integers(0, 100, (40_000, 1))
    >>> oracle = LocalStatisticalOracle(ages, queries=2, epsilon=1.0, rng=SeededRandom(1))
    >>> oracle.answer([RowFunction(lambda rows: rows[:, 0] >= 65, low=0, high=1)]).round(1)
    array([0.4])
    >>> oracle.remaining, oracle.privacy(), round(oracle.tolerance(0.05).noise, 3)
    (1, PureDP(epsilon=1.0), 0.045)
    """

    WHAT, INSTEAD = "an oracle", "its users have answered"

    __slots__ = ("_order", "_random", "_rows", "_used", "protocol", "queries")

    def __init__(self, data: object, *, queries: int, epsilon: Number, rng: RandomSource | None = None) -> None:
        import numpy as np

        whole("queries", queries, least=1)
        self.protocol = OneBitMean(epsilon=epsilon)
        self._rows, self.queries, self._used = as_rows(data), queries, 0
        n = len(self._rows)
        require(n >= queries, "a user for each query", users=n, queries=queries)
        self._random = source(rng)
        self._order = np.argsort(self._random.words(n), kind="stable")  # who is asked when: no value is looked at

    @property
    def remaining(self) -> int:
        """How many queries may still be asked: how many groups have not been."""
        return self.queries - self._used

    def answer(self, queries: StatisticalQuery | Sequence[StatisticalQuery]) -> Values:
        """One number a query, in its range; each asks the next group."""
        import numpy as np

        asked = list(queries) if isinstance(queries, Sequence) else [queries]
        middles = [(float(c), float(h)) for c, h in map(centre, asked)]
        means = []
        with self._alone():
            if len(asked) > self.remaining:
                raise BudgetExhausted(requested=f"{len(asked)} queries", remaining=f"{self.remaining} queries")
            for query in asked:
                n, j = len(self._rows), self._used
                group = self._order[n * j // self.queries : n * (j + 1) // self.queries]
                self._used += 1
                values = normalised(query, np.asfortranarray(self._rows[group]))  # on the devices of this group
                means.append(run(self.protocol, values, rng=self._random).estimate())
        return np.array([c + h * min(1.0, max(-1.0, mean)) for (c, h), mean in zip(middles, means, strict=True)])

    def tolerance(self, beta: float = 0.05) -> Tolerance:
        """What holds for all answers together with probability 1 - beta; the same three times, as groups are fresh."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        group = len(self._rows) // self.queries
        slope = float(self.protocol.slope)
        tau = math.sqrt(2 * math.log(2 * self.queries / beta) / group) / slope + ROUNDING
        return Tolerance(noise=tau, population=tau, adaptive=tau)

    def privacy(self) -> PureDP:
        """epsilon: each user sends one bit."""
        return self.protocol.privacy()

    def event(self) -> Event:
        """What ran, for the accountant."""
        return self.protocol.event()


def users_needed(queries: int, *, tau: float, epsilon: Number, beta: float = 0.05) -> int:
    """How many users m queries need, with a whole number in each group.

    >>> users_needed(100, tau=0.1, epsilon=1.0, beta=0.05)
    776800
    """
    whole("queries", queries, least=1)
    require(0 < tau < 2, "0 < tau < 2", tau=tau)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    slope = float(OneBitMean(epsilon=epsilon).slope)
    return queries * math.ceil(2 / (slope * (tau - ROUNDING)) ** 2 * math.log(2 * queries / beta))
