"""Privacy filters: a cap that holds although each cost is chosen after seeing the answers so far.

Theorem (lanes).  Let the cap be (epsilon, delta) and rho* such that rho*-zCDP implies
(epsilon, delta / 2).  Charge every mechanism its price (epsilon_i, rho_i, delta_i), and accept it iff afterwards

    (sum epsilon_i <= epsilon  or  sum rho_i <= rho*)   and   sum delta_i <= delta / 2.

Then everything accepted is together (epsilon, delta)-DP, for every adaptive choice of
mechanisms and costs.  Under the caps PureDP, ZCDP and GaussianDP the sum of epsilon_i,
rho_i or mu_i^2 is capped (Rogers, Roth, Ullman, Vadhan 2016; Feldman, Zrnic 2021;
Whitehouse, Ramdas, Rogers, Wu 2023; Smith, Thakurta 2022); a mechanism with a delta is refused there.
Full proof, with its conditions: docs/theory/filters.md.

A privacy-loss distribution is never a filter: an analyst who chooses the later mechanisms
after the earlier answers can exceed it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.composition.price import FREE, Item, Price, gather, price
from discreet.composition.refusal import number, refusal
from discreet.errors import BudgetExhausted, UnsupportedError, require
from discreet.hazmat.one_process import OneProcess
from discreet.privacy.convert import zcdp_to_approx
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, Relation
from discreet.privacy.number import exact


@dataclass(frozen=True, slots=True)
class Lanes:
    """Exact amounts in each lane of an ApproxDP cap; None where a lane is closed for good.

    >>> from discreet.privacy import ApproxDP, PureDP
    >>> cap = PrivacyFilter(ApproxDP(1, 1e-6))
    >>> cap.spend(PureDP(0.25))
    >>> cap.spent
    Lanes(epsilon=Fraction(1, 4), rho=Fraction(1, 32), delta=Fraction(0, 1))
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction

    def __str__(self) -> str:
        """For people."""
        pure = "closed" if self.epsilon is None else f"epsilon {number(self.epsilon)}"
        zcdp = "closed" if self.rho is None else f"rho {number(self.rho)}"
        return f"pure lane: {pure}; zCDP lane: {zcdp}; delta {number(self.delta)}"


PLACES = 1 << 44  # of rho below epsilon


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, to 12 digits and from below, such that rho-zCDP implies (epsilon, delta)-DP.

    >>> round(float(largest_rho(Fraction(1), Fraction(1, 2_000_000))), 6)
    0.022937
    """
    if delta == 0 or epsilon == 0:
        return Fraction(0)
    low, high = 0, PLACES  # rho = epsilon low / 2^44 implies it, as far as is known, and high does not
    place, step = _near(epsilon, delta), 1
    while high - low > 1:
        place = min(max(place, low + 1), high - 1)
        if exact(zcdp_to_approx(epsilon * place / PLACES, delta)) <= epsilon:
            low, place = place, place + step
        else:
            high, place = place, place - step
        step *= 2
        if low > 0 and high < PLACES:
            place = (low + high) // 2
    return epsilon * low / PLACES


def _near(epsilon: Fraction, delta: Fraction) -> int:
    """A place to begin at, by the secant method on sqrt(rho); how near it is affects the time only."""
    if not Fraction(1, 10**100) < epsilon < 10**100:
        return 1
    wanted, log = float(epsilon), -math.log(max(float(delta), 1e-300))
    last = wanted / (math.sqrt(log + wanted) + math.sqrt(log))  # for the order 1 + sqrt(log / rho)
    excess, root = float(zcdp_to_approx(exact(last * last), delta)) - wanted, 1.1 * last
    for _ in range(8):
        found = float(zcdp_to_approx(exact(root * root), delta)) - wanted
        if found == excess or abs(root - last) <= 1e-13 * root:
            break
        last, root, excess = root, root - found * (root - last) / (found - excess), found
        if not 0 < root < 1e100:
            return 1
    return math.floor(root * root / wanted * PLACES)


class PrivacyFilter(OneProcess):
    """Spend from a cap, or be refused before anything runs.

    >>> from discreet.privacy.event import LaplaceEvent
    >>> f = PrivacyFilter(PureDP(1.0))
    >>> f.spend(LaplaceEvent(scale=2, sensitivity=1))
    >>> f.remaining
    PureDP(epsilon=0.5)
    >>> f.spend(LaplaceEvent(scale=1, sensitivity=1))
    Traceback (most recent call last):
    discreet.errors.BudgetExhausted: budget exhausted: requested PureDP(epsilon=1.0), remaining PureDP(epsilon=0.5)
    """

    WHAT, INSTEAD = "a filter", "a Ledger counts for several processes"

    __slots__ = ("_relation", "_square", "_total", "cap", "rho_cap")

    def __init__(self, cap: Guarantee) -> None:
        if not isinstance(cap, (PureDP, ApproxDP, ZCDP, GaussianDP)):
            raise UnsupportedError(f"a cap is PureDP, ApproxDP, ZCDP or GaussianDP, got {type(cap).__name__}")
        self.cap = cap
        self.rho_cap = largest_rho(exact(cap.epsilon), exact(cap.delta) / 2) if isinstance(cap, ApproxDP) else None
        self._total = FREE
        self._square = Fraction(0)
        self._relation: Relation = cap.neighbours

    def spend(self, item: Item) -> None:
        """Charge one event or guarantee; `BudgetExhausted` and nothing charged if it does not fit."""
        cost, square = self._cost(item)
        with self._alone():
            relation = self._common(item)  # inside, so that no other spend settles another relation meanwhile
            total, squares = self._total + cost, self._square + square
            if not self._fits(total, squares):
                raise self._refusal(self._show(cost, square), self.remaining)
            self._total, self._square, self._relation = total, squares, relation

    def affords(self, item: Item) -> bool:
        """Whether `spend` would accept it now; nothing is charged."""
        self._common(item)
        cost, square = self._cost(item)
        return self._fits(self._total + cost, self._square + square)

    @property
    def spent(self) -> Guarantee | Lanes:
        """What has been charged, exactly, in the currency of the cap."""
        return self._show(self._total, self._square)

    @property
    def remaining(self) -> Guarantee | Lanes:
        """What a next spend may cost: the cap less what is spent, lane by lane."""
        total, square = self._total, self._square
        match self.cap:
            case PureDP() if total.epsilon is not None:
                return PureDP(exact(self.cap.epsilon) - total.epsilon, neighbours=self.cap.neighbours)
            case ZCDP():
                return ZCDP(exact(self.cap.rho) - total.rho, neighbours=self.cap.neighbours)
            case GaussianDP():
                return GaussianDP.from_square(self.cap.square - square, neighbours=self.cap.neighbours)
            case ApproxDP() if self.rho_cap is not None:
                epsilon = None if total.epsilon is None else exact(self.cap.epsilon) - total.epsilon
                rho = self.rho_cap - total.rho
                open_epsilon = epsilon if epsilon is not None and epsilon >= 0 else None
                return Lanes(open_epsilon, rho if rho >= 0 else None, exact(self.cap.delta) / 2 - total.delta)
            case _:
                raise AssertionError("a cap is one of four currencies")

    def _common(self, item: Item) -> Relation:
        """The relation of everything spent; relations are never mixed."""
        relation = gather([item]).relation
        if relation is not None and self._relation is not None and relation is not self._relation:
            raise UnsupportedError(
                f"this filter holds under {self._relation.__name__}, and the mechanism under {relation.__name__};"
                " convert its guarantee first (to_replace)"
            )
        return relation or self._relation

    def _cost(self, item: Item) -> tuple[Price, Fraction]:
        """The price, and mu^2 under a GaussianDP cap; refused where the cap's currency cannot express it."""
        cost = price(item)
        chargeable(cost, self.cap)
        return cost, _mu_square(item) if isinstance(self.cap, GaussianDP) else Fraction(0)

    def _fits(self, total: Price, square: Fraction) -> bool:
        if isinstance(self.cap, GaussianDP):
            return square <= self.cap.square
        return accepts(total, self.cap, self.rho_cap)

    def _refusal(self, asked: Guarantee | Lanes, left: Guarantee | Lanes) -> BudgetExhausted:
        if isinstance(asked, Lanes) and isinstance(left, Lanes):
            said = refusal(asked, left, cap=self.cap, whose="the cap")
            return BudgetExhausted(requested=asked, remaining=left, said=said)
        return BudgetExhausted(requested=asked, remaining=left)

    def _show(self, cost: Price, square: Fraction) -> Guarantee | Lanes:
        match self.cap:
            case PureDP() if cost.epsilon is not None:
                return PureDP(cost.epsilon, neighbours=self.cap.neighbours)
            case ZCDP():
                return ZCDP(cost.rho, neighbours=self.cap.neighbours)
            case GaussianDP():
                return GaussianDP.from_square(square, neighbours=self.cap.neighbours)
            case _:
                return Lanes(cost.epsilon, cost.rho, cost.delta)


def chargeable(cost: Price, cap: Guarantee) -> None:
    """Refuse a price that the cap's currency cannot express; what the filters and the ledger have in common."""
    if cost.delta > 0 and not isinstance(cap, ApproxDP):
        raise UnsupportedError(
            f"a mechanism with a delta cannot be charged to a {type(cap).__name__} cap;"
            " declare the keys (no partition selection), use a pure mechanism, or cap with ApproxDP"
        )
    if isinstance(cap, PureDP) and cost.epsilon is None:
        raise UnsupportedError("this mechanism has no finite epsilon; use Laplace noise, or cap with ZCDP or ApproxDP")


def accepts(total: Price, cap: Guarantee, rho_cap: Fraction | None) -> bool:
    """The decision on totals that include the new mechanism; the filters and the ledger share it."""
    match cap:
        case PureDP():
            return total.epsilon is not None and total.epsilon <= exact(cap.epsilon)
        case ZCDP():
            return total.rho <= exact(cap.rho)
        case ApproxDP():
            return lanes_accept(total, cap, rho_cap or Fraction(0))
        case _:
            return False


def lanes_accept(total: Price, cap: ApproxDP, rho_cap: Fraction) -> bool:
    """The rule of the theorem, on totals that include the new mechanism."""
    pure = total.epsilon is not None and total.epsilon <= exact(cap.epsilon)
    return (pure or total.rho <= rho_cap) and total.delta <= exact(cap.delta) / 2


def _mu_square(item: Item) -> Fraction:
    """mu^2 of everything in the item, from above."""
    return sum((_mu_square_of_one(leaf) * count for leaf, count in gather([item]).counts.items()), Fraction(0))


def _mu_square_of_one(leaf: Item) -> Fraction:
    if isinstance(leaf, GaussianDP):
        return leaf.square
    epsilon = price(leaf).epsilon
    if epsilon is None:
        raise UnsupportedError(
            "discrete Gaussian noise and rho-zCDP are not mu-GDP; cap with ZCDP or ApproxDP to charge them"
        )
    require(epsilon <= 500, "epsilon <= 500 under a GaussianDP cap", epsilon=float(epsilon))
    return PureDP(epsilon).to_gaussian().square
