"""Several quantiles of rows on a lattice: how they are found, what that costs and how wrong it may be.

Three ways, all by the exponential mechanism with exact integer losses; `predicted` chooses.

    independent  m draws at epsilon / m each, from all rows
    recursive    Kaplan, Schnapp, Stemmer 2022: `quantile_tree`, height draws deep, at epsilon / height each
    joint        Gillenwater, Joseph, Kulesza 2021: one draw of all quantiles, `quantile_joint`

Theorem.  Each is epsilon-DP when adding or removing a unit adds or removes at most `rows_per_unit` rows.  With
probability 1 - beta every released point is within `accuracy(beta)` rows of its quantile, as long as
fewer than 2^24 rows are equal.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.event import Event, ExponentialEvent, RepeatedEvent
from discreet.privacy.number import Number, exact, up
from discreet.structured.quantiles.quantile_joint import draw_all
from discreet.structured.quantiles.quantile_predict import joint_sensitivity, predicted
from discreet.structured.quantiles.quantile_tree import Node, inherited, tree
from discreet.structured.quantiles.rank_draw import Part, draw
from discreet.structured.quantiles.rank_index import CountIndex, RankIndex
from discreet.structured.quantiles.rank_loss import quantile_fraction, row_sensitivity

Method = Literal["auto", "independent", "recursive", "joint"]
DEPTH = 24  # bits: ties of fewer than 2^24 rows can be cut between any two of them
LARGEST = 1 << 36  # lattice points
MISSED = 0.05  # how likely a released minimum may lie below every row


_CLOSED = {
    "joint": "the joint method finds at most 12 quantiles, none of them 0 or 1, and not at a very small or"
    " large epsilon; pass method='recursive'",
    "recursive": "the recursive method needs a quantile other than 0 and 1; pass method='independent'",
}


def listed(quantiles: object) -> list[Any]:
    """One quantile or many, as a list.

    >>> listed(0.5), listed((0.1, 0.9))
    ([0.5], [0.1, 0.9])
    """
    plain = quantiles.tolist() if hasattr(quantiles, "tolist") else quantiles  # type: ignore[union-attr]
    return list(plain) if isinstance(plain, (list, tuple)) else [plain]


@dataclass(frozen=True, kw_only=True, slots=True)
class ManyQuantiles:
    """Strictly increasing quantiles of rows on a lattice of `size` points."""

    quantiles: tuple[Fraction, ...]
    epsilon: Fraction
    size: int
    rows_per_unit: int
    method: Method

    def __post_init__(self) -> None:
        require(len(self.quantiles) >= 1, "at least one quantile", quantiles=len(self.quantiles))
        require(self.epsilon > 0, "epsilon > 0", epsilon=self.epsilon)
        for name in ("size", "rows_per_unit"):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            require(whole and value >= 1, f"an integer {name} >= 1", **{name: value})
        require(self.size <= LARGEST, f"at most {LARGEST} lattice points", points=self.size)
        require(self.method in get_args(Method), f"method one of {', '.join(get_args(Method))}", method=self.method)
        if self.method not in ("auto", "independent", *self.alternatives()) and len(self.quantiles) > 1:
            raise UnsupportedError(_CLOSED[self.method])

    @classmethod
    def of(
        cls, quantiles: object, *, epsilon: Number, size: int, rows_per_unit: int, method: Method
    ) -> tuple[ManyQuantiles, list[int]]:
        """The quantiles in increasing order, once each, and where each of those given is among them."""
        given = [quantile_fraction(q) for q in listed(quantiles)]
        once = tuple(sorted(set(given)))
        made = cls(quantiles=once, epsilon=exact(epsilon), size=size, rows_per_unit=rows_per_unit, method=method)
        return made, [once.index(q) for q in given]

    def alternatives(self) -> dict[str, float]:
        """Each applicable method with the mean rank error expected of it, the best first."""
        return predicted(self.quantiles, self.epsilon, self.rows_per_unit, self.size << DEPTH)

    @property
    def chosen(self) -> str:
        """The method in use."""
        alone = len(self.quantiles) == 1  # then all methods are the same
        return next(iter(self.alternatives())) if self.method == "auto" or alone else self.method

    @property
    def depth(self) -> int:
        """Ties matter where rows are cut."""
        return 0 if self.chosen == "independent" else DEPTH

    def find(self, index: RankIndex | CountIndex, *, rng: RandomSource) -> list[int]:
        """One lattice point a quantile."""
        whole = Part(0, (self.size << self.depth) - 1, 0, index.rows)
        match self.chosen:
            case "independent":
                return [self._draw(index, whole, q, len(self.quantiles), 0, rng)[0] for q in self.quantiles]
            case "joint":
                places = draw_all(index, whole, self.quantiles, self._joint.rate, depth=self.depth, rng=rng)
                return [place >> self.depth for place in places]
        found = [0] * len(self.quantiles)
        top = tree(self.quantiles)
        waiting: list[tuple[Node | None, Part]] = [(top, whole)]
        while waiting:
            node, part = waiting.pop()
            if node is not None:
                if node.relative in (0, 1):  # an end is never cut, and so its ties need no places
                    part = part.coarser(self.depth)
                    found[node.place] = self._draw(index, part, node.relative, top.height, 0, rng)[0]
                    continue
                place, rank = self._draw(index, part, node.relative, top.height, self.depth, rng)
                found[node.place] = place >> self.depth
                left, right = part.split(place, rank)
                waiting += [(node.left, left), (node.right, right)]
        return found

    def _draw(
        self, index: RankIndex | CountIndex, part: Part, quantile: Fraction, share: int, depth: int, rng: RandomSource
    ) -> tuple[int, int]:
        select, margin = self._select(quantile, share), self._margin(quantile, share)
        return draw(index, part, quantile, select.rate, depth=depth, margin=margin, rng=rng)

    def _select(self, quantile: Fraction, share: int) -> Exponential:
        """One of `share` choices on the same rows."""
        return Exponential(epsilon=self.epsilon / share, sensitivity=self.rows_per_unit * row_sensitivity(quantile))

    def _margin(self, quantile: Fraction, share: int) -> int:
        """How many rows inward the minimum and the maximum aim; 0 for other quantiles."""
        return self._select(quantile, share).accuracy(MISSED, size=self.size) if quantile in (0, 1) else 0

    @property
    def _joint(self) -> Exponential:
        return Exponential(epsilon=self.epsilon, sensitivity=joint_sensitivity(self.quantiles, self.rows_per_unit))

    def accuracy(self, beta: float) -> float:
        """Rows between each quantile and the nearest rank at its released point: for all of them at once."""
        m, places = len(self.quantiles), self.size << self.depth
        if self.chosen == "joint":
            b = math.lcm(*(q.denominator for q in self.quantiles))
            tuples = m * math.log(places + m) - math.lgamma(m + 1)  # the logarithm of how many there are, at most
            return up(Fraction(math.ceil(Fraction(tuples - math.log(beta)) / self._joint.rate / 2) + m * b, b))
        if self.chosen == "independent":
            return up(max(self._rows(q, m, beta / m, places) for q in self.quantiles))
        top = tree(self.quantiles)
        own = {node.place: self._rows(node.relative, top.height, beta / m, places) for node in top}
        sums = [
            sum((share * (own[at] + (at != place)) for at, share in row.items()), start=Fraction(0))
            for place, row in enumerate(inherited(self.quantiles))
        ]
        return up(max(sums))

    def _rows(self, quantile: Fraction, share: int, beta: float, places: int) -> Fraction:
        loss = self._select(quantile, share).accuracy(beta, size=places)
        return Fraction(loss, quantile.denominator) + self._margin(quantile, share)

    def statement(self, beta: float) -> str:
        """The bound, and beside it the estimate for numbers that are spread, whose errors fall off exponentially."""
        expected = self.alternatives()[self.chosen] * math.log(len(self.quantiles) / beta)
        return (
            f"at most {self.accuracy(beta):,.4g} rows off with probability {1 - beta:g}, whatever the numbers are;"
            f" about {expected:,.4g} where they are spread"
        )

    def event(self) -> Event:
        """What ran: exponential mechanisms one after another."""
        if self.chosen == "joint":
            return ExponentialEvent(epsilon=self.epsilon)
        share = len(self.quantiles) if self.chosen == "independent" else tree(self.quantiles).height
        one = ExponentialEvent(epsilon=self.epsilon / share)
        return one if share == 1 else RepeatedEvent(event=one, count=share)
