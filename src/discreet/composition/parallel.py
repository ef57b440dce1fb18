"""Parallel composition: mechanisms on disjoint blocks of the data.

Theorem.  Let block mechanisms with guarantees g_i read disjoint blocks.  Together they have

    blocks by            AddRemove        Replace                     NullRow
    position of the row  refused          max g_i                     max g_i
    value of the row     max g_i          sum of the two largest g_i  refused
    hash of the unit     max g_i          sum of the two largest g_i  refused

where a guarantee in the table is under AddRemove wherever rows can leave one block for
another, and under the relation at the head of the column otherwise.  Under AddRemove a removed
row shifts every later row, so blocks by position all change: randomized response on six one-row
blocks loses 6 epsilon.  Under Replace the changed row leaves one block and enters another.
Proof: docs/theory/composition.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Neighbours, NullRow, Replace
from discreet.privacy.number import exact

Blocks = Literal["position", "value", "hash"]


def parallel(guarantees: Sequence[Guarantee], *, blocks: Blocks, neighbours: type[Neighbours]) -> Guarantee:
    """The guarantee of running one mechanism on each of several disjoint blocks.

    >>> parallel([PureDP(0.5), PureDP(1.0)], blocks="value", neighbours=AddRemove)
    PureDP(epsilon=1.0)
    >>> parallel([PureDP(0.5), PureDP(1.0)], blocks="value", neighbours=Replace)
    PureDP(epsilon=1.5)
    """
    require(len(guarantees) > 0, "at least one block", blocks=len(guarantees))
    require(blocks in ("position", "value", "hash"), "blocks by 'position', 'value' or 'hash'", blocks=blocks)
    touched, inner = _touched(blocks, neighbours)
    for guarantee in guarantees:
        if guarantee.neighbours not in (None, inner):
            raise UnsupportedError(
                f"blocks by {blocks} under {neighbours.__name__} need block guarantees under {inner.__name__},"
                f" got {guarantee.neighbours.__name__}"
            )
    return _largest(guarantees, touched, neighbours)


def _touched(blocks: Blocks, neighbours: type[Neighbours]) -> tuple[int, type[Neighbours]]:
    """How many blocks one step can change, and the relation between the two versions of such a block."""
    if neighbours is AddRemove:
        if blocks == "position":
            raise UnsupportedError(
                "under AddRemove a removed row shifts every later row, so blocks by position all change;"
                " assign units to blocks by a keyed hash of the unit"
            )
        return 1, AddRemove
    if blocks == "position" and neighbours in (Replace, NullRow):
        return 1, neighbours
    if neighbours is Replace:
        return 2, AddRemove
    raise UnsupportedError(f"no theorem here covers blocks by {blocks} under {neighbours.__name__}")


def _largest(guarantees: Sequence[Guarantee], count: int, relation: type[Neighbours]) -> Guarantee:
    """The composition of the `count` largest, amount by amount."""

    def top(amounts: Sequence[Fraction]) -> Fraction:
        return sum(sorted(amounts, reverse=True)[:count], Fraction(0))

    kinds = {type(guarantee) for guarantee in guarantees}
    if kinds <= {PureDP, ApproxDP}:
        epsilon = top([exact(g.epsilon) for g in guarantees])  # type: ignore[attr-defined]
        if kinds == {PureDP}:
            return PureDP(epsilon, neighbours=relation)
        return ApproxDP(epsilon, top([exact(getattr(g, "delta", 0)) for g in guarantees]), neighbours=relation)
    if kinds == {ZCDP}:
        return ZCDP(top([exact(g.rho) for g in guarantees]), neighbours=relation)  # type: ignore[attr-defined]
    if kinds == {GaussianDP}:
        return GaussianDP.from_square(top([g.square for g in guarantees]), neighbours=relation)  # type: ignore[attr-defined]
    raise UnsupportedError("parallel composition needs guarantees of one currency; convert them first")
