"""discreet.data.columns: codes, sizes, steps, and declarations that read back."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.columns import Boolean, Categorical, Date, Identifier, Integer, Real, Text, Timestamp, column
from discreet.errors import ParameterError, UnsupportedError

COLUMNS = [
    Integer(-3, 9),
    Integer(0, 0, nullable=True),
    Real(0, 5000),
    Real("-0.3", "0.9", step="0.1", nullable=True),
    Real(0, 1, step=Fraction(1, 3)),
    Boolean(),
    Categorical(["a", "b"]),
    Categorical([3, 1], nullable=True),
    Date("2026-01-01", "2026-12-31"),
    Timestamp("2026-01-01", "2026-01-02 12:00:00", step=dt.timedelta(hours=1)),
    Text(20),
    Identifier(),
]
CODED = [c for c in COLUMNS if not isinstance(c, (Text, Identifier))]


@pytest.mark.parametrize("declared", COLUMNS, ids=repr)
def test_a_declaration_reads_back(declared):
    assert column(declared.to_dict()) == declared


@pytest.mark.parametrize("declared", CODED, ids=repr)
def test_the_size_counts_codes_and_null(declared):
    low, high = declared.codes

    assert declared.size == high - low + 1 + declared.nullable
    assert len({declared.decode(code) for code in range(low, min(high, low + 1000) + 1)}) == min(high - low + 1, 1001)


@given(
    st.fractions(min_value=-1000, max_value=1000),
    st.fractions(min_value=Fraction(1, 1000), max_value=1000),
    st.integers(1, 99),
)
def test_the_bounds_of_a_real_are_whole_steps(low, step, steps):
    low = round(low / step) * step
    declared = Real(low, low + steps * step, step=step)

    assert declared.codes == (low / step, low / step + steps)


def test_a_real_without_a_step_gets_at_least_a_hundred_thousand():
    for high in (1, 7, 99, 5000, 10**12):
        assert Real(0, high).codes[1] >= 100_000
        assert Real(0, high).codes[1] < 1_000_001


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Integer(5, 4), "need low <= high"),
        (lambda: Integer(0, 1 << 62), "62 bits"),
        (lambda: Integer(0.5, 3), "need an integer low"),
        (lambda: Integer(True, 3), "need an integer low"),
        (lambda: Real(1, 1), "need low < high"),
        (lambda: Real(0, 1, step=0), "need step > 0"),
        (lambda: Real(0, 1, step="-0.1"), "need step > 0"),
        (lambda: Real(0, 1, step="0.3"), "multiples of the step"),
        (lambda: Real(0, float("inf")), "finite"),
        (lambda: Real(float("nan"), 1), "finite"),
        (lambda: Real(0, 1, step=Fraction(1, 1 << 62)), "62 bits"),
        (lambda: Real(0, 10**40, step=1), "62 bits"),
        (lambda: Categorical([]), "at least one category"),
        (lambda: Categorical("abc"), "a list of categories"),
        (lambda: Categorical(["a", "a"]), "distinct"),
        (lambda: Categorical(["a", 1]), "all text or all integers"),
        (lambda: Date("2026-02-30", "2026-03-01"), "need a date"),
        (lambda: Date("2026-03-02", "2026-03-01"), "need low <= high"),
        (lambda: Timestamp("2026-01-01 10:00:02", "2026-01-01 10:00:01", step=60), "need low <= high"),
        (lambda: Timestamp("2026-01-01T00:00:00+02:00", "2026-01-02"), "without time zone"),
        (lambda: Timestamp("2026-01-01", "2026-01-02", step=0), "whole seconds"),
        (lambda: Text(0), "max_bytes >= 1"),
        (lambda: column({"type": "number"}), "need a column type among"),
        (lambda: column({"type": "integer", "low": 0}), "cannot be made from"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_a_blank_bound_is_refused():
    """What `init` leaves blank must be filled in."""
    with pytest.raises(ParameterError):
        column({"type": "integer", "low": "", "high": ""})
    with pytest.raises(ParameterError):
        column({"type": "real", "low": "", "high": ""})


def test_a_name_has_no_codes():
    for declared in (Text(5), Identifier()):
        with pytest.raises(UnsupportedError, match="can only name a unit"):
            _ = declared.codes


def test_categories_come_from_a_file(tmp_path):
    path = tmp_path / "codes.txt"
    path.write_text("I10\nE11\n")

    assert Categorical.from_file(path) == Categorical(["I10", "E11"])


@pytest.mark.parametrize("step", [float("inf"), float("nan"), "1", 10**400, 0.5, None, dt.timedelta(milliseconds=1)])
def test_a_step_of_moments_is_whole_seconds_or_refused(step):
    with pytest.raises(ParameterError, match="a step of whole seconds"):
        Timestamp("2026-01-01", "2026-01-02", step=step)


@pytest.mark.parametrize("values", [None, 5, {"a", "b"}, frozenset("ab"), "ab", b"ab"])
def test_categories_are_listed_in_an_order(values):
    """A set has another order in every process, and so would its codes."""
    with pytest.raises(ParameterError, match="a list of categories"):
        Categorical(values)


def test_a_code_list_is_read_line_by_line_and_without_a_mark_of_its_encoding(tmp_path):
    path = tmp_path / "codes.txt"
    path.write_bytes("\ufeffa\r\nb\u2028c\n\nd\x0ce\n".encode())

    assert Categorical.from_file(path).values == ("a", "b\u2028c", "d\x0ce")
