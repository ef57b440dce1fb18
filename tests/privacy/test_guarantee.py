"""discreet.privacy.guarantee: ordered, composed, grouped, in exact numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import combinations
from operator import add

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ZCDP, AddRemove, ApproxDP, GaussianDP, NullRow, PureDP, RenyiDP, Replace
from discreet.privacy.neighbours import (
    RELATIONS,
    EdgeNeighbours,
    Neighbours,
    NodeNeighbours,
    neighbouring_pairs,
)
from discreet.privacy.number import exact

amounts = st.one_of(
    st.fractions(min_value=0, max_value=5, max_denominator=1000),
    st.floats(min_value=0, max_value=5),
    st.sampled_from([0, 0.1, 1e-300, 5e-324, 800.0, 1e308, Fraction(1, 3)]),
)
positive = amounts.filter(lambda value: exact(value) > 0)
deltas = st.one_of(st.sampled_from([0, 1e-300, 1e-12, 1e-6, Fraction(1, 300)]), st.floats(0, 0.001))
orders = st.sampled_from([1.5, 2, 3, Fraction(17, 16), 64])
guarantees = st.one_of(
    st.builds(PureDP, amounts),
    st.builds(ApproxDP, amounts, deltas),
    st.builds(ZCDP, amounts),
    st.builds(GaussianDP, amounts),
    st.builds(RenyiDP, orders, amounts),
)


@given(guarantees, st.integers(1, 40))
def test_repeating_is_composing_one_by_one_exactly(one, times):
    assert one.repeat(times) == reduce(add, [one] * times)


@given(guarantees)
def test_a_guarantee_implies_itself(one):
    assert one <= one
    assert one >= one


def test_implication_is_transitive():
    """Over all triples of a list that spans the currencies: a direct proof is never weaker than a chain.

    RenyiDP to ApproxDP is left out: at one order the conversion is not tight, and lower orders may give more.
    """
    values = (0, 1e-3, 0.1, 0.5, 1, 2, 10)
    everything = [
        *map(PureDP, values), *map(ZCDP, values), *map(GaussianDP, values),
        *(ApproxDP(e, d) for e in values for d in (0, 1e-6, 0.01, 0.5)),
        *(RenyiDP(order, e) for e in values for order in (1.5, 2, 16)),
    ]  # fmt: skip
    above = {a: [b for b in everything if a <= b] for a in everything}

    assert sum(map(len, above.values())) > 1000
    assert all(
        a <= c
        for a in everything
        for b in above[a]
        for c in above[b]
        if not (isinstance(a, RenyiDP) and isinstance(c, ApproxDP))
    )


@given(st.one_of(st.builds(PureDP, amounts), st.builds(ZCDP, amounts), st.builds(GaussianDP, amounts)), st.data())
def test_composition_is_monotone_in_each_argument(a, data):
    b = data.draw(st.builds(type(a), amounts))
    more = a + b

    assert a <= more
    assert b <= more
    assert a + b == b + a
    assert a.repeat(2) <= more.repeat(2)
    assert a.group(3) <= more.group(3)


@given(amounts, deltas, st.integers(1, 5))
def test_approximate_composition_and_groups_are_monotone(epsilon, delta, size):
    assume(exact(epsilon) < Fraction(1, 2))  # so that some guarantee is left
    small, large = ApproxDP(epsilon, delta), ApproxDP(epsilon, exact(delta) + Fraction(1, 10**4))

    assert small <= large
    assert small <= small.repeat(size)
    assert small.group(size) <= small.group(size + 1)
    assert small.group(size) <= large.group(size)


@given(guarantees, st.integers(1, 5))
def test_a_group_of_one_is_the_guarantee_itself(one, size):
    if isinstance(one, RenyiDP):
        with pytest.raises(UnsupportedError, match="whole curve"):
            one.group(size)
    else:
        assert one.group(1) == one


def test_groups_pay_as_the_theorems_say():
    assert PureDP(0.1).group(5) == PureDP(0.5)
    assert ZCDP(0.1).group(3) == ZCDP(0.9)
    assert GaussianDP(2).group(3) == GaussianDP(6)
    assert ApproxDP(0, 1e-6).group(5) == ApproxDP(0, 5e-6)


@pytest.mark.parametrize(
    ("epsilon", "size", "factor", "printed"),
    [(0.1, 2, 2.105171, 1.221403), (0.1, 5, 6.168257, 1.648721), (0.5, 3, 5.367003, 4.481689)],
)
def test_a_group_pays_the_geometric_sum_and_not_less(epsilon, size, factor, printed):
    """The notes print the factor e^(k epsilon), which is too small; `printed` is that broken twin."""
    got = exact(ApproxDP(epsilon, 1e-6).group(size).delta) * 10**6

    assert float(got) == pytest.approx(factor, abs=1e-6)
    assert got > printed


def test_a_delta_that_reaches_one_leaves_no_guarantee():
    for vacuous in (
        lambda: ApproxDP(0.1, 0.5) + ApproxDP(0.1, 0.5),
        lambda: ApproxDP(0.1, 0.01).repeat(100),
        lambda: ApproxDP(1.0, 0.1).group(3),
        lambda: ApproxDP(800, 1e-6).group(2),
        lambda: ApproxDP(1e308, 1e-6).group(10**6),
        lambda: ApproxDP(1.0, 0.3, neighbours=AddRemove).to_replace(),
    ):
        with pytest.raises(UnsupportedError, match="no guarantee is left"):
            vacuous()
    assert not ApproxDP(1.0, 0.3, neighbours=AddRemove) <= ApproxDP(9.0, 0.9, neighbours=Replace)


@pytest.mark.parametrize("epsilon", [1e-300, 5e-324, 800, 1e308, Fraction(10) ** 400, Fraction(1, 10**400)])
def test_extreme_numbers_are_handled(epsilon):
    """Nothing overflows, and nothing is stronger than it was."""
    pure = PureDP(epsilon)

    assert exact(pure.repeat(3).epsilon) == 3 * exact(epsilon)
    assert exact(pure.to_zcdp().rho) == exact(epsilon) ** 2 / 2
    assert pure <= pure.to_approx(1e-6)
    assert exact(pure.to_approx(1e-6).epsilon) <= exact(epsilon)
    assert exact(pure.to_gaussian().mu) > 0
    assert exact(ZCDP(epsilon).to_approx(1e-6).epsilon) > 0
    assert exact(GaussianDP(epsilon).to_approx(1e-6).epsilon) >= 0
    assert exact(RenyiDP(2, epsilon).to_approx(1e-6).epsilon) > 0
    assert ApproxDP(epsilon, 0).group(7) == ApproxDP(7 * exact(epsilon), 0)
    if exact(epsilon) < 1:
        group = ApproxDP(epsilon, 1e-6).group(3)
        assert exact(3e-6) <= exact(group.delta) <= exact(3.000000000000001e-6)


def test_relations_are_kept_apart():
    here, there = PureDP(1, neighbours=AddRemove), PureDP(2, neighbours=NullRow)

    with pytest.raises(UnsupportedError, match="under AddRemove to one under NullRow"):
        here + there
    assert not here <= there
    assert (here + PureDP(1)).neighbours is AddRemove
    assert not PureDP(1, neighbours=Replace) <= PureDP(9, neighbours=AddRemove)


def test_without_a_relation_a_guarantee_takes_on_the_other_one():
    assert PureDP(1) <= PureDP(1, neighbours=AddRemove)
    assert PureDP(1, neighbours=AddRemove) <= PureDP(1)


@pytest.mark.parametrize("relation", [AddRemove, NullRow])
def test_a_replacement_is_a_group_of_two(relation):
    approx = ApproxDP(0.1, 1e-6, neighbours=relation).to_replace()

    assert approx == replace(ApproxDP(0.1, 1e-6).group(2), neighbours=Replace)
    assert PureDP(1, neighbours=relation).to_replace() == PureDP(2, neighbours=Replace)
    assert GaussianDP(1, neighbours=relation).to_replace() == GaussianDP(2, neighbours=Replace)
    assert PureDP(1, neighbours=relation) <= PureDP(2, neighbours=Replace)
    assert not PureDP(1, neighbours=relation) <= PureDP(1.9, neighbours=Replace)
    with pytest.raises(UnsupportedError, match="to_replace needs"):
        PureDP(1).to_replace()


CONVERTED = {(AddRemove, Replace): 2, (NullRow, Replace): 2, (NodeNeighbours, EdgeNeighbours): 1}  # steps


@pytest.mark.parametrize("asked", [None, *RELATIONS.values()], ids=lambda one: one and one.__name__)
@pytest.mark.parametrize("held", RELATIONS.values(), ids=lambda one: one.__name__)
def test_a_relation_changes_by_a_theorem_or_not_at_all(held, asked):
    """The old `under` wrote any relation over any other, with the numbers unchanged."""
    for made in (PureDP(1), ApproxDP(1, 1e-6), ZCDP("0.5"), GaussianDP(1)):
        promise = replace(made, neighbours=held)
        if held is asked:
            assert promise.under(asked) == promise
        elif (held, asked) in CONVERTED:
            assert promise.under(asked) == replace(made.group(CONVERTED[held, asked]), neighbours=asked)
        else:
            with pytest.raises(UnsupportedError, match="no theorem leads from"):
                promise.under(asked)
        assert made.under(held) == promise
        if asked is not None:
            implied = promise <= replace(made, neighbours=asked)
            assert implied == (held is asked or CONVERTED.get((held, asked)) == 1)


def test_the_steps_of_a_conversion_are_those_of_the_relations():
    """Every step of the wider relation is a path of so many steps of the narrower one, by enumeration."""
    replaced = list(neighbouring_pairs("abc", n=3, relation=Replace))
    assert {AddRemove.distance(left, right) for left, right in replaced} == {2}
    assert {NullRow.distance(left, right) for left, right in replaced} == {2}

    pairs = list(combinations(range(4), 2))
    graphs = [frozenset(some) for size in range(7) for some in combinations(pairs, size)]
    edges = [(one, other) for one in graphs for other in graphs if len(one ^ other) == 1]
    assert all(any(all(v in pair for pair in one ^ other) for v in range(4)) for one, other in edges)


def test_one_renyi_order_cannot_be_converted_and_no_relation_is_made_up():
    with pytest.raises(UnsupportedError, match="whole curve"):
        RenyiDP(2, 1, neighbours=AddRemove).under(Replace)
    for bad in ("Replace", int, Neighbours, 3, True):
        with pytest.raises(ParameterError, match="as neighbours"):
            PureDP(1).under(bad)
        with pytest.raises(ParameterError, match="as neighbours"):
            PureDP(1, neighbours=bad)


def test_squares_of_gaussians_add_exactly():
    assert GaussianDP(3) + GaussianDP(4) == GaussianDP(5)
    assert GaussianDP(1).repeat(2).square == 2
    assert GaussianDP(1).repeat(2).repeat(2) == GaussianDP(2)
    assert exact(GaussianDP(1).repeat(2).mu) ** 2 > 2


def test_a_gaussian_whose_square_disagrees_is_refused():
    """`dataclasses.replace` would otherwise print one mu and promise another."""
    with pytest.raises(ParameterError, match="root of square"):
        replace(GaussianDP(1), mu=5)
    with pytest.raises(ParameterError, match="root of square"):
        GaussianDP(5, square=Fraction(1))


def test_currencies_imply_one_another_where_proven():
    assert PureDP(1) <= ApproxDP(1, 0) <= PureDP(1)
    assert PureDP(1) <= ZCDP(0.5)
    assert PureDP(1) <= RenyiDP(100, 1)
    assert PureDP(0.1) <= RenyiDP(2, 0.01)
    assert GaussianDP(1) <= ZCDP(0.5) <= RenyiDP(3, 1.5)
    assert RenyiDP(3, 1.5) <= RenyiDP(2, 1.5)
    assert PureDP(1) <= GaussianDP(1.2321)
    assert ApproxDP(1, 0) <= ZCDP(0.5)
    assert ApproxDP(1.0, 1e-6) <= ApproxDP(0.853, 0.1)
    for a, b in [
        (ZCDP(0.5), PureDP(100)), (GaussianDP(1), PureDP(100)), (ApproxDP(1, 1e-9), PureDP(100)),
        (PureDP(1), ZCDP(0.4999)), (PureDP(1), GaussianDP(1.232)), (RenyiDP(2, 1), RenyiDP(3, 1)),
        (RenyiDP(2, 1), ZCDP(100)), (ZCDP(0.5), GaussianDP(100)), (ApproxDP(1.0, 1e-6), ApproxDP(0.85, 0.1)),
        (ApproxDP(1.0, 1e-6), ApproxDP(2.0, 1e-7)), (ApproxDP(1.0, 1e-6), ZCDP(100)),
    ]:  # fmt: skip
        assert not a <= b


def test_currencies_do_not_mix_in_a_sum():
    with pytest.raises(TypeError):
        PureDP(1) + ZCDP(1)
    with pytest.raises(TypeError):
        assert PureDP(1) <= 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.1, True, None, "much", [1]])
@pytest.mark.parametrize("kind", [PureDP, ZCDP, GaussianDP, lambda x: ApproxDP(x, 0), lambda x: RenyiDP(2, x)])
def test_amounts_that_are_not_nonnegative_numbers_are_refused(kind, bad):
    with pytest.raises(ParameterError):
        kind(bad)


@pytest.mark.parametrize("delta", [1, 1.5, -1e-9, float("nan"), True])
def test_deltas_outside_their_range_are_refused(delta):
    with pytest.raises(ParameterError):
        ApproxDP(1, delta)
    with pytest.raises(ParameterError):
        ZCDP(1).to_approx(delta)


@pytest.mark.parametrize("times", [0, -1, 1.0, True, None])
def test_counts_that_are_not_whole_are_refused(times):
    with pytest.raises(ParameterError, match="whole number"):
        PureDP(1).repeat(times)
    with pytest.raises(ParameterError, match="whole number"):
        PureDP(1).group(times)


def test_numpy_counts_are_whole_numbers():
    assert PureDP(0.1).repeat(np.int64(3)) == PureDP(0.3)


@given(guarantees)
def test_equal_guarantees_have_equal_hashes(one):
    same = replace(one)

    assert same == one
    assert hash(same) == hash(one)
