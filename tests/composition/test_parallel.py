"""discreet.composition.parallel: each cell of the table, and the two traps."""

from __future__ import annotations

import math
from itertools import product

import pytest

from discreet.composition import parallel
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ZCDP, AddRemove, ApproxDP, GaussianDP, Local, NullRow, PureDP, RenyiDP, Replace

TWO = [PureDP("0.5"), PureDP(1), PureDP("0.25")]


@pytest.mark.parametrize(
    ("blocks", "relation", "epsilon"),
    [
        ("position", Replace, 1.0),
        ("position", NullRow, 1.0),
        ("value", AddRemove, 1.0),
        ("hash", AddRemove, 1.0),
        ("value", Replace, 2.0),
        ("hash", Replace, 2.0),
    ],
)
def test_each_cell_of_the_table(blocks, relation, epsilon):
    assert parallel(TWO, blocks=blocks, neighbours=relation) == PureDP(epsilon, neighbours=relation)


def laplace_loss(counts: tuple[int, ...], others: tuple[int, ...], scale: float) -> float:
    """The exact loss of discrete Laplace noise on every cell: the l1 distance over the scale."""
    return sum(abs(a - b) for a, b in zip(counts, others, strict=True)) / scale


def test_a_histogram_as_parallel_counts_costs_once_under_add_remove_and_twice_under_replace():
    universe = (0, 1, 2)

    def histogram(rows: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(rows.count(cell) for cell in universe)

    datasets = list(product(universe, repeat=2))
    replace = max(
        laplace_loss(histogram(x), histogram(y), 1.0) for x in datasets for y in datasets if Replace.distance(x, y) == 1
    )
    add_remove = max(laplace_loss(histogram(x), histogram(y), 1.0) for x in datasets for y in AddRemove.of(x, universe))

    assert parallel([PureDP(1)] * 3, blocks="value", neighbours=AddRemove).epsilon == add_remove == 1
    assert parallel([PureDP(1)] * 3, blocks="value", neighbours=Replace).epsilon == replace == 2


def test_a_row_replaced_within_its_block_costs_that_block_twice():
    """Blocks {a, b} and {c}: noise on #a - #b and on #c, sensitivity 1 under AddRemove."""

    def values(rows: tuple[str, ...]) -> tuple[int, int]:
        return rows.count("a") - rows.count("b"), rows.count("c")

    pairs = [(values(x), values(y)) for x in product("abc", repeat=2) for y in Replace.of(x, "abc")]
    loss = max(abs(x[0] - y[0]) / 1 + abs(x[1] - y[1]) / 2 for x, y in pairs)

    assert loss == 2
    assert parallel([PureDP(1), PureDP("0.5")], blocks="value", neighbours=Replace).epsilon == loss


def test_blocks_by_position_lose_everything_under_add_remove():
    """Randomized response on each of six one-row blocks: a removed row shifts all later ones."""
    p = 1 / (1 + math.exp(-1))

    def law(rows: tuple[int, ...], output: tuple[int, ...]) -> float:
        padded = (*rows, *(0,) * (6 - len(rows)))
        return math.prod(p if a == b else 1 - p for a, b in zip(padded, output, strict=True))

    x = (0, 1, 0, 1, 0, 1)
    y = x[1:]
    loss = max(abs(math.log(law(x, o) / law(y, o))) for o in product((0, 1), repeat=6))

    assert loss == pytest.approx(6.0)
    with pytest.raises(UnsupportedError, match="shifts every later row"):
        parallel([PureDP(1)] * 6, blocks="position", neighbours=AddRemove)


def test_the_block_guarantees_must_be_in_the_relation_the_theorem_needs():
    good = [PureDP(1, neighbours=AddRemove)] * 2

    assert parallel(good, blocks="value", neighbours=Replace) == PureDP(2, neighbours=Replace)
    with pytest.raises(UnsupportedError, match="need block guarantees under AddRemove"):
        parallel([PureDP(1, neighbours=Replace)] * 2, blocks="value", neighbours=Replace)
    with pytest.raises(UnsupportedError, match="need block guarantees under Replace"):
        parallel(good, blocks="position", neighbours=Replace)


def test_every_currency_takes_its_largest_amounts():
    largest = ApproxDP(2, "1e-6", neighbours=AddRemove)
    assert parallel([ApproxDP(1, "1e-6"), PureDP(2)], blocks="value", neighbours=AddRemove) == largest
    assert parallel([ApproxDP(1, "1e-6"), PureDP(2)], blocks="value", neighbours=Replace) == largest.to_replace()
    assert parallel([ZCDP(1), ZCDP(2)], blocks="value", neighbours=AddRemove) == ZCDP(2, neighbours=AddRemove)
    assert parallel([ZCDP(1), ZCDP(2)], blocks="value", neighbours=Replace) == ZCDP(8, neighbours=Replace)
    assert parallel([GaussianDP(3), GaussianDP(4)], blocks="value", neighbours=Replace) == GaussianDP(
        8, neighbours=Replace
    )


def test_refuses_what_no_theorem_covers():
    for blocks, relation in (("value", NullRow), ("position", Local)):
        with pytest.raises(UnsupportedError, match="no theorem here"):
            parallel([PureDP(1)], blocks=blocks, neighbours=relation)
    with pytest.raises(UnsupportedError, match="one currency"):
        parallel([PureDP(1), ZCDP(1)], blocks="value", neighbours=AddRemove)
    with pytest.raises(UnsupportedError, match="one currency"):
        parallel([RenyiDP(2, 1)], blocks="value", neighbours=AddRemove)
    with pytest.raises(ParameterError, match="at least one block"):
        parallel([], blocks="value", neighbours=AddRemove)
    with pytest.raises(ParameterError, match="blocks by"):
        parallel([PureDP(1)], blocks="colour", neighbours=AddRemove)  # type: ignore[arg-type]
