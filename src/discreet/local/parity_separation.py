"""Parities: learned easily with a trusted curator, and by no small local protocol.

Theorem (Kearns 1993; Blum and others 1994; Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2008; the constants
ours).  Let x be uniform on {0, 1}^d and y = S . x modulo 2.  A query phi(x, y) in [-1, 1] is
g(x) + h(x) (-1)^y with |g| + |h| <= 1, and has the mean E g + H(S), where H(S) is a Fourier coefficient of h.  By
Parseval the squares of all H(S) add up to at most 1, so the answer E g is within tau for all S but 1 / tau^2 of them.
So an oracle that answers E g tells nothing, and m queries of tolerance tau exclude at most m / tau^2 of the 2^d
parities: with S uniform, a learner names it with probability at most (m / tau^2 + 1) / 2^d.

With the simulation of `rejection` a sequential epsilon-DP local protocol of n users names S with probability at most

    beta + (n e^epsilon / (1 - beta / n) (n e^epsilon / beta)^2 + 1) / 2^d    for every beta in (0, 1),

so n grows like 2^(d/3), where d + ln(1/beta) rows are enough in the central model.  The notes' 2^(d/3) queries of
tolerance 2^(-d/3) are the boundary, where nothing is left to exclude.  Proof: docs/theory/local_protocols.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import BudgetExhausted, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.local.coins import positive, whole
from discreet.local.hadamard import transform
from discreet.privacy.number import Number
from discreet.queries.statistical import Tolerance, centre, normalised

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.statistical import StatisticalQuery, Values

    Bools = npt.NDArray[np.bool_]

EXACT = 16  # bits up to which all rows are listed
BETAS = 400  # values of beta that are tried


class ParityAdversary:
    """A statistical-query oracle for labelled rows (x, y) that answers as if there were no parity at all.

    Every answer is within tau of the truth for every parity that is still `possible`; up to 16 bits these are listed,
    and beyond, answers come from a public sample of uniform rows and are within tau for all but 4 / tau^2 parities a
    query, except with probability `beta`.

    >>> from discreet.queries.statistical import RowFunction
    >>> adversary = ParityAdversary(d=6, tau=0.1, queries=3)
    >>> agrees = RowFunction(lambda rows: (-1) ** (rows[:, 0] + rows[:, 2] + rows[:, 6]))  # is it x0 + x2?
    >>> adversary.answer([agrees]), adversary.left
    (array([0.]), 63)
    >>> adversary.remaining, adversary.excluded_at_most
    (2, 100)
    """

    __slots__ = ("_random", "_used", "beta", "d", "possible", "queries", "tau")

    def __init__(
        self, *, d: int, tau: float, queries: int, beta: float = 1e-6, rng: RandomSource | None = None
    ) -> None:
        import numpy as np

        whole("d", d, least=1)
        require(d <= 62, "d <= 62", d=d)
        whole("queries", queries, least=1)
        require(0 < tau < 1, "0 < tau < 1", tau=tau)
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        self.d, self.tau, self.queries, self.beta = d, tau, queries, beta
        self._random, self._used = source(rng), 0
        self.possible: Bools | None = np.ones(1 << d, dtype=bool) if d <= EXACT else None

    @property
    def remaining(self) -> int:
        """How many queries may still be asked."""
        return self.queries - self._used

    @property
    def excluded_at_most(self) -> int:
        """How many parities the answers so far may contradict, by Parseval."""
        each = 1 / self.tau**2 if self.d <= EXACT else 4 / self.tau**2
        return math.floor(self._used * each + 1e-6)

    @property
    def left(self) -> int:
        """How many parities all answers so far are right for: counted, or at least."""
        if self.possible is not None:
            return int(self.possible.sum())
        return max(0, (1 << self.d) - self.excluded_at_most)

    def answer(self, queries: StatisticalQuery | Sequence[StatisticalQuery]) -> Values:
        """E g for each query: the same numbers whatever the parity is."""
        import numpy as np

        asked = list(queries) if isinstance(queries, Sequence) else [queries]
        if len(asked) > self.remaining:
            raise BudgetExhausted(requested=f"{len(asked)} queries", remaining=f"{self.remaining} queries")
        bits = self._bits()
        zero, one = (np.asfortranarray(np.column_stack([bits, np.full(len(bits), y)])) for y in (0.0, 1.0))
        found = []
        for query in asked:
            self._used += 1
            even, odd = normalised(query, zero), normalised(query, one)
            middle, half = (float(number) for number in centre(query))
            found.append(middle + half * float((even + odd).mean() / 2))
            if self.possible is not None:
                self.possible &= np.abs(spectrum((even - odd) / 2)) <= self.tau
        return np.array(found)

    def tolerance(self, beta: float = 0.05) -> Tolerance:
        """tau, for every parity that is left."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return Tolerance(noise=self.tau, population=self.tau, adaptive=self.tau)

    def _bits(self) -> Values:
        """All rows, or enough uniform ones for half the tolerance."""
        import numpy as np

        if self.d <= EXACT:
            words = np.arange(1 << self.d, dtype=np.uint64)
        else:
            size = math.ceil(8 / self.tau**2 * math.log(2 * self.queries / self.beta))
            if size * self.d > 1 << 28:
                raise UnsupportedError("a tolerance this small needs more rows than fit in memory")
            words = self._random.words(size)
        return (words[:, None] >> np.arange(self.d, dtype=np.uint64) & np.uint64(1)).astype(np.float64)


def spectrum(values: Values) -> Values:
    """The Fourier coefficients of a function on {0, 1}^d, E h(x) (-1)^(S . x), for all S.

    >>> import numpy as np
    >>> spectrum(np.array([1.0, -1.0, -1.0, 1.0]))  # (-1)^(x0 + x1)
    array([0., 0., 0., 1.])
    """
    import numpy as np

    table = np.asarray(values, dtype=np.float64)[None, :]
    return transform(cast("Any", table))[0] / len(values)


def success_at_most(d: int, *, n: int, epsilon: Number) -> float:
    """No sequential epsilon-DP local protocol of n users names a uniform parity of d bits more often than this.

    >>> round(success_at_most(30, n=20, epsilon=1.0), 4), success_at_most(30, n=100_000, epsilon=1.0)
    (0.1005, 1.0)
    """
    import numpy as np

    whole("d", d, least=1)
    whole("n", n, least=1)
    odds = math.exp(min(float(positive(epsilon)), 200.0))
    beta = np.linspace(0, 1, BETAS + 1)[1:-1]
    beta = np.concatenate([beta, beta**4])
    queries = n * odds / (1 - beta / n)
    return float(min(1.0, (beta + (queries * (n * odds / beta) ** 2 + 1) / 2.0**d).min()))


def parity_users(d: int, *, epsilon: Number, success: float = 0.5) -> int:
    """How many users any sequential local protocol needs to name a uniform parity with this probability.

    >>> [parity_users(d, epsilon=1.0) for d in (30, 60)]
    [100, 102057]
    """
    require(0 < success < 1, "0 < success < 1", success=success)
    low, high = 0, 1
    while success_at_most(d, n=high, epsilon=epsilon) < success:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if success_at_most(d, n=middle, epsilon=epsilon) < success else (low, middle)
    return high
