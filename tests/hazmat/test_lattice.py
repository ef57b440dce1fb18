"""discreet.hazmat.lattice: rounding is exact, and moves sensitivities by as much as it says."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.hazmat.lattice import Lattice
from discreet.privacy.number import exact

reals = st.fractions(min_value=-50, max_value=50, max_denominator=24)
steps = st.fractions(min_value=Fraction(1, 20), max_value=5, max_denominator=20)


@given(reals, steps)
def test_index_is_the_nearest_lattice_point_with_halves_upward(x, step):
    index = Lattice(step).index(x)

    assert -Fraction(1, 2) < index - x / step <= Fraction(1, 2)


@given(reals, st.integers(-9, 9), steps)
def test_index_commutes_with_whole_steps(x, k, step):
    assert Lattice(step).index(x + k * step) == Lattice(step).index(x) + k


def test_rounding_half_to_even_would_break_the_lemma():
    """The twin: two numbers one step apart must not be sent two steps apart."""
    assert round(Fraction(3, 2)) - round(Fraction(1, 2)) == 2
    assert Lattice(1).index(1.5) - Lattice(1).index(0.5) == 1


@given(reals, reals, steps)
def test_a_scalar_moves_by_at_most_the_ceiling(x, y, step):
    lattice = Lattice(step)
    if x != y:
        assert abs(lattice.index(x) - lattice.index(y)) <= lattice.sensitivity(abs(x - y))


@pytest.mark.parametrize(("real", "ceiling"), [(1, 1), (Fraction(3, 2), 2), (Fraction(1, 100), 1), (2, 2)])
def test_the_ceiling_is_attained(real, ceiling):
    lattice = Lattice(1)
    moves = [lattice.index(Fraction(k, 200) + real) - lattice.index(Fraction(k, 200)) for k in range(200)]

    assert max(moves) == ceiling == lattice.sensitivity(real)


@given(st.lists(st.tuples(reals, reals), min_size=2, max_size=5), steps)
def test_vectors_move_by_at_most_what_is_claimed(pairs, step):
    lattice, size = Lattice(step), len(pairs)
    moved = [abs(lattice.index(x) - lattice.index(y)) for x, y in pairs]
    l1, square = sum(abs(x - y) for x, y in pairs), sum((x - y) ** 2 for x, y in pairs)
    if l1:
        l2 = Fraction(math.isqrt(math.ceil(square * 10**20)) + 1, 10**10)

        assert sum(moved) <= lattice.sensitivity(l1, size=size)
        assert sum(m * m for m in moved) <= exact(lattice.sensitivity(l2, size=size, norm="l2")) ** 2
        assert max(moved) <= lattice.sensitivity(max(abs(x - y) for x, y in pairs), size=size, norm="linf")


@pytest.mark.parametrize("real", [1, Fraction(3, 2), Fraction(5, 2)])
def test_the_vector_bounds_are_attained_in_l1(real):
    """Every entry moves by a hair across a half, and one of them takes the whole steps too."""
    size, hair = 4, Fraction(1, 1000)
    whole = math.ceil(real) - 1
    x = [Fraction(1, 2) - hair] * size
    y = [Fraction(1, 2)] * (size - 1) + [Fraction(1, 2) + whole]

    assert sum(b - a for a, b in zip(x, y, strict=True)) <= real
    assert sum(Lattice(1).index(y)) - sum(Lattice(1).index(x)) == Lattice(1).sensitivity(real, size=size)


def test_the_l2_bound_holds_against_every_small_move():
    """All vectors of quarter steps in three dimensions."""
    lattice = Lattice(1)
    grid = [Fraction(k, 4) for k in range(8)]
    for move in itertools.product(grid, repeat=3):
        square = sum(m * m for m in move)
        if square and math.isqrt(16 * square.numerator // square.denominator) ** 2 == 16 * square:
            l2 = Fraction(math.isqrt(int(16 * square)), 4)
            worst = sum(math.ceil(m) ** 2 for m in move)

            assert worst <= exact(lattice.sensitivity(l2, size=3, norm="l2")) ** 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.sampled_from(["0.01", "1/3", 1, "1e-7"]))
def test_arrays_are_rounded_like_numbers(values, step):
    lattice = Lattice(step)

    assert lattice.index(np.array(values)).tolist() == [lattice.index(value) for value in values]


def test_halves_in_arrays_are_settled_exactly():
    cents = Lattice("0.01")
    halves = [k / 1000 for k in range(5, 2000, 10)]  # 0.005, 0.015, ... as they print

    assert cents.index(np.array(halves)).tolist() == [k // 10 + 1 for k in range(5, 2000, 10)]
    assert np.floor(np.array(halves) / 0.01 + 0.5).astype(int).tolist() != cents.index(np.array(halves)).tolist()


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20), st.sampled_from(["0.01", "0.1", "1/3", 3]))
def test_value_and_index_are_inverse(indices, step):
    lattice = Lattice(step)
    values = lattice.value(np.array(indices))

    assert lattice.index(values).tolist() == indices
    assert [lattice.value(k) for k in indices] == values.tolist()


def test_values_print_as_lattice_points():
    tenths = Lattice("0.1").value(np.arange(-1000, 1000))

    assert all((exact(float(value)) * 10).denominator == 1 for value in tenths)
    assert not all((exact(float(value)) * 10).denominator == 1 for value in np.arange(-1000, 1000) * 0.1)  # the twin


def test_decimals_and_large_numbers_are_exact():
    lattice = Lattice(Decimal("0.01"))

    assert lattice.index(Decimal("1e30")) == 10**32
    assert lattice.index([1e30, 0.5]).tolist() == [10**32, 50]
    assert lattice.value(10**32) == 1e30


@pytest.mark.parametrize("large", [2.0**63, 1e30])
def test_the_type_of_the_indices_depends_on_no_value(large):
    """Else sums of small values would saturate and those of large ones would not."""
    floats, objects, listed = np.array([-large, 1.5, large]), np.array([1, int(large)], dtype=object), [0.5, large]

    assert Lattice(1).index(floats).dtype == Lattice(1).index(np.array([1.5])).dtype == np.int64
    assert Lattice(1).index(floats).tolist() == [-(2**63), 2, 2**63 - 1]
    assert Lattice(1).index(objects).dtype == Lattice(1).index(objects[:1]).dtype == object
    assert Lattice(1).index(listed).dtype == Lattice(1).index(listed[:1]).dtype == object
    assert Lattice(1).index(listed).tolist() == [1, exact(large)]


@pytest.mark.parametrize("step", ["1e-400", "7e-324", "1e-310", "1e400"])
def test_steps_that_no_float_is_near_are_divided_exactly(step):
    values = np.array([0.0, 1e-310, 5e-324, -1e-320, 1e300])

    assert Lattice(step).index(values).tolist() == [
        min(max(Lattice(step).index(float(value)), -(2**63)), 2**63 - 1) for value in values
    ]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, "x", True])
def test_refuses_what_is_not_a_finite_number(bad):
    with pytest.raises(ParameterError, match="need"):
        Lattice(1).index(bad)


@pytest.mark.parametrize("bad", [[1.0, math.nan], [math.inf], ["a"], [True]])
def test_refuses_arrays_of_what_is_not_finite(bad):
    with pytest.raises(ParameterError, match="need"):
        Lattice(1).index(np.array(bad))


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, None])
def test_refuses_a_bad_step(bad):
    with pytest.raises(ParameterError, match="need"):
        Lattice(bad)


@pytest.mark.parametrize("more", [{"real": 0}, {"real": 1, "size": 0}, {"real": 1, "norm": "l3"}, {"real": math.nan}])
def test_refuses_bad_sensitivities(more):
    with pytest.raises(ParameterError, match="need"):
        Lattice(1).sensitivity(**more)


@pytest.mark.parametrize("secret", ["s3cret", float("nan"), float("inf"), None])
def test_a_refused_value_is_not_quoted(secret):
    for refused in (secret, [secret]):
        with pytest.raises(ParameterError) as caught:
            Lattice("0.5").index(refused)
        assert "s3cret" not in str(caught.value)
        assert "nan" not in str(caught.value)
