"""In which order several quantiles are found: the middle one first, then those on each side of it.

Theorem (Kaplan, Schnapp, Stemmer 2022).  Find the quantile in the middle of the list from all rows, cut
the rows there, and find the quantiles on either side from the rows on that side, each as a quantile
of its part.  If every choice is made at epsilon / height, where height = floor(log2 m) + 1 for m
quantiles, all of them together are epsilon-DP: at each depth a row lies in one part only, and so
the parts that a unit of several rows touches cost in proportion to the rows it has there.

An error made high in the tree is handed down: if f is the relative rank of a quantile in its part,
its own error is joined by 1 - f times that of the left end and f times that of the right end.
Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Node:
    """The quantile at `place` of the list, as the quantile `relative` of its part, and what is found after it."""

    place: int
    relative: Fraction
    left: Node | None
    right: Node | None

    @property
    def height(self) -> int:
        """The longest chain of choices."""
        return 1 + max((child.height for child in (self.left, self.right) if child), default=0)

    def __iter__(self) -> Iterator[Node]:
        """This node, then those on its left, then those on its right."""
        yield self
        for child in (self.left, self.right):
            yield from child or ()


@lru_cache(maxsize=256)
def tree(quantiles: tuple[Fraction, ...]) -> Node:
    """The order for strictly increasing quantiles.

    >>> [(node.place, str(node.relative)) for node in tree((Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)))]
    [(1, '1/2'), (0, '1/5'), (2, '4/5')]
    """
    made = _between(quantiles, 0, len(quantiles), Fraction(0), Fraction(1))
    assert made is not None
    return made


def _between(quantiles: tuple[Fraction, ...], first: int, after: int, low: Fraction, high: Fraction) -> Node | None:
    if first == after:
        return None
    place = (first + after - 1) // 2
    if quantiles[place] == 0 and place + 1 < after:
        place += 1  # the minimum aims inward, and would displace what is found after it
    middle = quantiles[place]
    left = _between(quantiles, first, place, low, middle)
    right = _between(quantiles, place + 1, after, middle, high)
    return Node(place, (middle - low) / (high - low), left, right)


def inherited(quantiles: tuple[Fraction, ...]) -> list[dict[int, Fraction]]:
    """For each quantile, how much of the error made at each place of the list it inherits, itself included.

    >>> inherited((Fraction(1, 4), Fraction(1, 2)))
    [{0: Fraction(1, 1)}, {1: Fraction(1, 1), 0: Fraction(2, 3)}]
    """
    shares: list[dict[int, Fraction]] = [{} for _ in quantiles]

    def walk(node: Node | None, low: dict[int, Fraction], high: dict[int, Fraction]) -> None:
        if node is None:
            return
        mine = {node.place: Fraction(1)}
        for share, end in ((1 - node.relative, low), (node.relative, high)):
            for place, part in end.items():
                mine[place] = mine.get(place, Fraction(0)) + share * part
        shares[node.place] = mine
        walk(node.left, low, mine)
        walk(node.right, mine, high)

    walk(tree(quantiles), {}, {})
    return shares
