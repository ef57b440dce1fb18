"""The packing bound: what every private mechanism must pay, whatever it does.

Theorem (Hardt, Talwar 2010, here for finite n and with constants).  Let a centre x_0 and T datasets x_1, ..., x_T be
given, each at most m steps from the centre, and let any two of the T have answers that differ by at least R in some
query; if `centred`, the centre's answers differ from theirs by as much.  If a mechanism has all errors below R / 2 with
probability 1 - beta on all of them, then, with r = beta / T if centred and 1 / T otherwise,

    m epsilon >= ln((1 - beta) / r)                            epsilon-DP
    m epsilon >= ln((1 - beta + d) / (r + d))                   (epsilon, delta)-DP, d = delta / (e^epsilon - 1)
    m^2 rho   >= (-ln r - (t / (t - 1)) ln(1 / (1 - beta))) / t   rho-zCDP, for every t > 1.

Every dataset may be repeated c times: m and R are then c times as large, so that for the largest c that violates
this, some error is at least c R / 2 with probability above beta on some dataset.  Under (epsilon, delta) the steps are
capped at ln(1 + (1 - beta) / d) / epsilon however many datasets there are.  Proof: docs/theory/lower_bounds.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import UnsupportedError, require
from discreet.privacy.enclosure import expm1_bounds, log_down, log_up, root_bounds
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import Number, down, exact
from discreet.queries.workload import swaps

ORDERS = 64  # Renyi orders that are tried: each proves a bound
LARGEST = Fraction(1000)  # epsilon of the leak, which only falls beyond


@dataclass(frozen=True, kw_only=True, slots=True)
class Packing:
    """`others` datasets, each `steps` from a centre, two by two `gap` apart; `centred`: so is the centre from them."""

    name: str
    others: int
    steps: int = 1
    gap: Number = 1
    centred: bool = True

    def __post_init__(self) -> None:
        whole = all(isinstance(value, int) and not isinstance(value, bool) for value in (self.others, self.steps))
        require(whole and self.others >= 1, "an integer number of datasets >= 1", others=self.others)
        require(self.steps >= 1, "an integer number of steps >= 1", steps=self.steps)
        require(exact(self.gap) > 0, "gap > 0", gap=self.gap)

    @classmethod
    def points(cls, cells: int, neighbours: type[Neighbours], *, zero: bool = False) -> Packing:
        """One dataset of equal rows for each of so many different columns of integers, of which one may be `zero`.

        Where rows are replaced the centre is one of them.  Where rows are added it is the rest of the data, from which
        a column of zeros cannot be told.

        >>> from discreet.privacy.neighbours import AddRemove, Replace
        >>> Packing.points(1024, Replace).others, Packing.points(1024, AddRemove).others
        (1023, 1024)
        """
        require(isinstance(cells, int) and cells >= 2, "at least two cells", cells=cells)
        return cls(name="equal rows", others=cells - 1 if swaps(neighbours) or zero else cells)

    @classmethod
    def one_way(cls, d: int, neighbours: type[Neighbours]) -> Packing:
        """All one-way marginals of d bits: one dataset for each of the 2^d rows."""
        require(isinstance(d, int) and not isinstance(d, bool) and d >= 1, "an integer d >= 1", d=d)
        return cls.points(1 << d, neighbours)

    @classmethod
    def of_the_notes(cls, datasets: int) -> Packing:
        """The argument of the notes where rows are added: from one dataset of s rows to another in 2 s steps.

        >>> found = packing_bound(Packing.of_the_notes(2**100), budget=PureDP(1), n=1000, beta=0.5)
        >>> found.copies, found.value
        (34, 17.0)
        """
        return cls(name="pairs of datasets", others=datasets, steps=2, centred=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class PackingBound:
    """Some error is at least `value` with probability above beta; each dataset is repeated `copies` times.

    >>> from discreet.privacy import AddRemove, PureDP
    >>> packing_bound(Packing.one_way(100, AddRemove), budget=PureDP(1), n=10_000).value > 10
    True
    """

    value: float
    copies: int
    packing: Packing


def packing_bound(packing: Packing, *, budget: Guarantee, n: int, beta: Number = 0.05) -> PackingBound:
    """The largest number of copies that the theorem forbids, within n rows that change, and the error that follows.

    >>> from discreet.privacy.neighbours import Replace
    >>> packing_bound(Packing.points(1024, Replace), budget=PureDP(1.0), n=10_000).copies
    9
    """
    require(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer n >= 1", n=n)
    require(0 < exact(beta) < 1, "0 < beta < 1", beta=beta)
    limit = steps(budget, others=packing.others, centred=packing.centred, beta=beta)
    forbidden = max(0, math.ceil(limit / packing.steps) - 1)  # strictly fewer steps
    found = min(n // packing.steps if packing.centred else n, forbidden)
    return PackingBound(value=down(found * exact(packing.gap) / 2), copies=found, packing=packing)


def steps(budget: Guarantee, *, others: int, centred: bool, beta: Number) -> Fraction:
    """Fewer steps than this between the centre and each dataset contradict the budget; rounded down.

    >>> round(float(steps(ApproxDP(1, 1e-6), others=2**1000, centred=False, beta="1/2")) / 2, 2)  # the cap of the notes
    6.83
    """
    miss = exact(beta)
    least = (miss if centred else Fraction(1)) / others
    match budget:
        case PureDP() | ApproxDP():
            epsilon = exact(budget.epsilon)
            require(epsilon > 0, "epsilon > 0", epsilon=budget.epsilon)
            delta = exact(budget.delta) if isinstance(budget, ApproxDP) else Fraction(0)
            leak = delta / expm1_bounds(min(epsilon, LARGEST))[0] if delta else Fraction(0)
            ratio = (1 - miss + leak) / (least + leak)
            return log_down(ratio) / epsilon if ratio > 1 else Fraction(0)
        case ZCDP():
            rho = exact(budget.rho)
            require(rho > 0, "rho > 0", rho=budget.rho)
            return root_bounds(_concentrated(least, miss) / rho)[0]
        case GaussianDP():
            return steps(budget.to_zcdp(), others=others, centred=centred, beta=beta)
    raise UnsupportedError(f"packings bind PureDP, ApproxDP, ZCDP and GaussianDP, got {type(budget).__name__}")


def _concentrated(least: Fraction, miss: Fraction) -> Fraction:
    """The best of the orders; any is a proof."""
    needed, lost = log_down(1 / least) if least < 1 else Fraction(0), log_up(1 / (1 - miss))
    best = Fraction(0)
    for place in range(1, ORDERS + 1):
        order = 1 + Fraction(place * place, 256)
        best = max(best, (needed - lost * order / (order - 1)) / order)
    return best
