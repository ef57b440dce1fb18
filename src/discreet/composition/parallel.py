"""Parallel composition: mechanisms on disjoint blocks of the data.

Theorem.  Let block mechanisms with guarantees g_i read disjoint blocks.  Together they have

    blocks by            AddRemove        Replace                     NullRow
    position of the row  refused          max g_i                     max g_i
    value of the row     max g_i          max g_i, for a group of 2   refused
    hash of the unit     max g_i          max g_i, for a group of 2   refused

where a guarantee in the table is under AddRemove wherever rows can leave one block for
another, and under the relation at the head of the column otherwise.  Under AddRemove a removed
row shifts every later row, so blocks by position all change: randomized response on six one-row
blocks loses 6 epsilon.  Under Replace a row leaves and another enters, two steps of AddRemove;
both may fall into the same block, so the two largest g_i together are not enough.
Proof: docs/theory/composition.md.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    PureDP(epsilon=2.0)
    """
    require(len(guarantees) > 0, "at least one block", blocks=len(guarantees))
    require(blocks in ("position", "value", "hash"), "blocks by 'position', 'value' or 'hash'", blocks=blocks)
    inner = _inner(blocks, neighbours)
    for guarantee in guarantees:
        if guarantee.neighbours not in (None, inner):
            raise UnsupportedError(
                f"blocks by {blocks} under {neighbours.__name__} need block guarantees under {inner.__name__},"
                f" got {guarantee.neighbours.__name__}"
            )
    largest = _largest(guarantees, inner)
    return largest if inner is neighbours else largest.to_replace()


def _inner(blocks: Blocks, neighbours: type[Neighbours]) -> type[Neighbours]:
    """The relation in which a step changes one block only, by one step; two such steps make one of Replace."""
    if neighbours is AddRemove:
        if blocks == "position":
            raise UnsupportedError(
                "under AddRemove a removed row shifts every later row, so blocks by position all change;"
                " assign units to blocks by a keyed hash of the unit"
            )
        return AddRemove
    if blocks == "position" and neighbours in (Replace, NullRow):
        return neighbours
    if neighbours is Replace:
        return AddRemove
    raise UnsupportedError(f"no theorem here covers blocks by {blocks} under {neighbours.__name__}")


def _largest(guarantees: Sequence[Guarantee], relation: type[Neighbours]) -> Guarantee:
    """The weakest, amount by amount."""
    kinds = {type(guarantee) for guarantee in guarantees}
    if kinds <= {PureDP, ApproxDP}:
        epsilon = max(exact(g.epsilon) for g in guarantees)  # type: ignore[attr-defined]
        if kinds == {PureDP}:
            return PureDP(epsilon, neighbours=relation)
        return ApproxDP(epsilon, max(exact(getattr(g, "delta", 0)) for g in guarantees), neighbours=relation)
    if kinds == {ZCDP}:
        return ZCDP(max(exact(g.rho) for g in guarantees), neighbours=relation)  # type: ignore[attr-defined]
    if kinds == {GaussianDP}:
        return GaussianDP.from_square(max(g.square for g in guarantees), neighbours=relation)  # type: ignore[attr-defined]
    raise UnsupportedError("parallel composition needs guarantees of one currency; convert them first")
