"""A lower bound on epsilon from one run: many canaries, each in or out by a fair coin, and guesses which.

Theorem (after Steinke, Nasr, Jagielski 2023).  Let S be m fair coins, let canary i be among the rows
iff S_i = 1, and let r of the coins be guessed from what an (epsilon, delta)-DP mechanism released.  With
q = e^epsilon / (1 + e^epsilon) and h(x) = e^-x I_0(x), the probability of v right guesses or more is at most

    Pr[Bin(r, q) >= v]  +  (1 - q) delta (m / r) (sum over k < r of h(k q (1 - q))).

At delta = 0 this is their bound; the second term is our own.  It is smaller than theirs near the count that refutes
epsilon, and larger far above that count.  The bound falls as v grows, so that with probability 1 - beta no
epsilon' above the true epsilon has a bound of at most beta: the largest epsilon' that has one is a lower
bound.  Proof: docs/theory/audit.md.

One run has no teeth at large epsilon: r coins, all guessed rightly, show no more than
ln(r / ln(1 / beta)), which is 7.4 for 5,000 canaries at beta = 0.05, so that a claim of 10 is never
refuted, whatever the noise; and an honest (4.4, 1e-5) shows about 2 of its 4.4.  Use
`audit_gaussian` where two worlds can be run.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Local, Replace
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

FEWEST = 16  # guesses
FINE = 1000  # steps of the grid of epsilons in one
LARGEST = 24 * FINE  # epsilon tried, in these steps
COARSE = 50  # of these steps, while nothing is refuted


@dataclass(frozen=True, kw_only=True, slots=True)
class OneRunAudit:
    """What one run showed: with probability 1 - beta the true epsilon is at least `epsilon`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> included = rng.random(2000) < 0.5
    >>> found = audit_one_run(included + rng.normal(0, 1, 2000), included, delta=1e-5)
    >>> found.canaries, 1 < found.epsilon < 5
    (2000, True)
    """

    epsilon: float
    delta: float
    beta: float
    guesses: int
    right: int
    canaries: int

    def violates(self, guarantee: Guarantee) -> bool:
        """Whether the finding refutes the guarantee, one for units that are in or out, as the canaries were.

        >>> from discreet.privacy import AddRemove, PureDP
        >>> found = OneRunAudit(epsilon=3.0, delta=0.0, beta=0.05, guesses=100, right=100, canaries=100)
        >>> found.violates(PureDP(2, neighbours=AddRemove)), found.violates(PureDP(4))
        (True, False)
        """
        if guarantee.neighbours in (Replace, Local):
            raise UnsupportedError(
                f"canaries are in or out; a promise under {guarantee.neighbours.__name__} says nothing about that"
            )
        return self.epsilon > float(exact(guarantee.to_approx(self.delta).epsilon))


def audit_one_run(
    scores: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    delta: Number,
    beta: float = 0.05,
    guesses: int | None = None,
) -> OneRunAudit:
    """Bound epsilon from below by one run in which each canary was `included` by a fair coin of its own.

    `scores` say how much each canary looks included, from what was released alone: the largest half of
    the guesses are "in", the smallest "out".  Without `guesses`, all canaries, half of them, a quarter and so on are
    guessed, and the risk is shared among these.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> coins = rng.random(2000) < 0.5
    >>> seen = coins + rng.laplace(0, 0.5, 2000)  # each canary alone behind Laplace noise: epsilon is 2
    >>> 1.2 < audit_one_run(seen, coins, delta=0).epsilon < 2
    True
    """
    import numpy as np

    looks, coins = np.asarray(scores, dtype=np.float64), np.asarray(included)
    require(coins.dtype.kind == "b", "one Boolean for each canary", included=str(coins.dtype))
    alike = looks.ndim == 1 and looks.shape == coins.shape and len(looks) >= FEWEST
    require(alike, f"one score for each canary, {FEWEST} or more", scores=looks.shape, included=coins.shape)
    require(not bool(np.isnan(looks).any()), "scores that can be compared")
    require(0 <= exact(delta) < 1 and 0 < beta < 1, "0 <= delta < 1 and 0 < beta < 1", delta=delta, beta=beta)
    m = len(looks)
    tried = _halvings(m) if guesses is None else [_guesses(guesses, m)]
    order = np.argsort(-looks, kind="stable")
    best: OneRunAudit | None = None
    for r in tried:
        top = (r + 1) // 2
        right = int(coins[order[:top]].sum() + (~coins[order[m - (r - top) :]]).sum())
        found = one_run_bound(right, r, m, delta=float(exact(delta)), beta=beta / len(tried))
        if best is None or found > best.epsilon:
            best = OneRunAudit(
                epsilon=found, delta=float(exact(delta)), beta=beta, guesses=r, right=right, canaries=m
            )  # fmt: skip
    assert best is not None
    return best


def one_run_bound(right: int, guesses: int, canaries: int, *, delta: float, beta: float) -> float:
    """The largest epsilon of a grid that is refuted at risk beta by so many right guesses; 0 where none is.

    Who refutes an epsilon refutes all smaller ones, whose promises are stronger, even where the theorem at the smaller
    one is too weak to say so by itself: its term for delta is larger there.

    >>> round(one_run_bound(750, 1000, 1000, delta=0, beta=0.05), 2)  # ln 3 = 1.10
    0.98
    >>> round(one_run_bound(5000, 5000, 5000, delta=1e-3, beta=0.05), 1)
    7.4
    """
    inside = 0 <= right <= guesses <= canaries and guesses >= 1
    require(
        inside, "0 <= right <= guesses <= canaries and guesses >= 1", right=right, guesses=guesses, canaries=canaries
    )

    def holds(step: int, delta: float = delta) -> bool:
        return chance(right, guesses, canaries, epsilon=step / FINE, delta=delta) > beta

    above = bisect.bisect_left(range(LARGEST), x=True, key=lambda step: holds(step, delta=0))  # this term alone grows
    refuted = next((step for step in range(above - 1, -1, -COARSE) if not holds(step)), None)
    if refuted is None:
        return 0.0
    nearer = range(min(above, refuted + COARSE) - 1, refuted, -1)
    return next((step for step in nearer if not holds(step)), refuted) / FINE


def chance(right: int, guesses: int, canaries: int, *, epsilon: float, delta: float) -> float:
    """The probability of so many right guesses or more is at most this, under (epsilon, delta).

    >>> round(chance(60, 100, 100, epsilon=0, delta=0), 4)
    0.0284
    """
    import numpy as np
    from scipy.special import ive
    from scipy.stats import binom

    q = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, q))
    if delta == 0:
        return tail
    leaps = float(ive(0, np.arange(guesses) * (q * (1 - q))).sum()) * (1 + 1e-9)
    return tail + (1 - q) * delta * canaries / guesses * leaps


def _halvings(m: int) -> list[int]:
    tried = [m]
    while tried[-1] // 2 >= FEWEST:
        tried.append(tried[-1] // 2)
    return tried


def _guesses(guesses: int, m: int) -> int:
    whole = isinstance(guesses, int) and not isinstance(guesses, bool)
    if not whole or not 1 <= guesses <= m:
        raise ParameterError(f"need from 1 to {m} guesses, got {guesses!r}")
    return guesses
