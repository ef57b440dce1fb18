"""discreet.service.wire: prices are exact, models are closed, and a reply's length says nothing of its numbers."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from discreet.errors import ParameterError
from discreet.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.number import exact
from discreet.service.wire import (
    ARROW,
    BLOCK,
    CSV,
    JSON,
    PARQUET,
    Ask,
    BudgetBody,
    Explain,
    accepted,
    answer_bytes,
    dumped,
    padded,
    read_budget,
    table_bytes,
)

Q = {"question": "SELECT COUNT(*) AS n FROM visits"}
HOSTILE = [
    float("nan"),
    float("inf"),
    -1,
    -0.1,
    "-1",
    "NaN",
    "",
    "0x1",
    "\u0661",
    True,
    None,
    [],
    {},
    "1" * 101,
]


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6))
def test_a_price_in_text_is_exact_and_a_number_means_the_decimal_it_prints(amount):
    text, number = Ask(**Q, epsilon=str(amount)), Ask(**Q, epsilon=float(amount))

    assert exact(text.price()["epsilon"]) == amount
    assert exact(number.price()["epsilon"]) == Fraction(repr(float(amount)))
    assert exact(json.loads(json.dumps(number.document()))["epsilon"]) == Fraction(repr(float(amount)))


def test_a_budget_is_one_of_four_currencies():
    cases = {"epsilon": ("0.5", PureDP("0.5")), "rho": (0.005, ZCDP(0.005)), "mu": (1, GaussianDP(1))}
    for name, (given_, meant) in cases.items():
        assert BudgetBody(**{name: given_}).guarantee() == meant
    assert read_budget({"epsilon": 1, "delta": 1e-6}) == ApproxDP(1, 1e-6)


@pytest.mark.parametrize(
    "budget",
    [{}, {"delta": 0.1}, {"epsilon": 1, "rho": 1}, {"rho": 1, "mu": 1}, {"x": 1}, [], 1, {"epsilon": 1, "delta": 1}],
)
def test_another_budget_is_refused(budget):
    with pytest.raises(ParameterError):
        read_budget(budget)


@pytest.mark.parametrize("amount", HOSTILE, ids=repr)
@pytest.mark.parametrize("model", [Ask, Explain])
def test_hostile_amounts_are_refused(model, amount):
    with pytest.raises((ParameterError, ValidationError)):
        model(**Q, epsilon=amount).price()


@pytest.mark.parametrize(
    "more",
    [
        {"analyst": "bob"},
        {"principal": "bob"},
        {"sensitivity": 0},
        {"price": 0},
        {"fresh": 1},
        {"beta": 0.0},
        {"beta": 1},
        {"rows_per_unit": 0},
        {"rows_per_unit": True},
        {"rows_per_unit": 1.5},
        {"question": ""},
        {"question": 7},
    ],
)
def test_what_the_model_does_not_know_is_refused(more):
    with pytest.raises(ValidationError):
        Ask(**Q | {"epsilon": 1} | more)


WIDE = [
    "1e20",
    "1e999",
    "1e-400",
    "1e-3900",
    "9" * 100,
    "-1e30",
    10**4000,
    2**64 + 1,
    1e300,
    -(10**30),
    "1/" + "9" * 98,
]


@pytest.mark.parametrize("name", ["epsilon", "delta", "rho", "mu"])
@pytest.mark.parametrize("amount", WIDE[:-1], ids=range(len(WIDE) - 1))
def test_an_amount_that_no_ledger_keeps_is_refused_on_the_wire(name, amount):
    with pytest.raises(ValidationError, match=r"2\^64"):
        BudgetBody(**{name: amount})
    with pytest.raises((ValidationError, ParameterError)):
        Ask(**Q, epsilon=amount)


@pytest.mark.parametrize("amount", [WIDE[-1], 2**64, "1e-300", "0.1", 0.1, 5e-300, "1/3"])
def test_an_amount_that_a_ledger_keeps_is_taken_as_it_is(amount):
    assert BudgetBody(epsilon=amount).epsilon == amount


@pytest.mark.parametrize("error", [10**4000, 10**301, 1.5e300, float("inf"), float("nan"), 0, -1, True, "3"])
def test_an_error_is_a_number_that_floats_can_reckon_with(error):
    with pytest.raises(ValidationError):
        Explain(**Q, error=error)


def test_a_question_has_one_price_and_an_explanation_one_price_or_error():
    for wrong in ({}, {"epsilon": 1, "budget": {"rho": 1}}):
        with pytest.raises(ParameterError, match="need one of"):
            Ask(**Q, **wrong).price()
    with pytest.raises(ParameterError, match="need one of"):
        Explain(**Q, epsilon=1, error=3).wanted()
    assert Explain(**Q, error=3.5).wanted() == {"error": 3.5}


numbers = st.one_of(st.integers(-(2**63), 2**63), st.floats(allow_nan=True, allow_infinity=True), st.none())


def _document(values):
    rows = [{"ward": "surgery", "n": value, "n_low": value, "n_high": value} for value in values]
    return {"rows": rows, "beta": 0.05, "released": {"version": 1, "noisy": [values], "groups": None}}


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20))
def test_two_answers_of_one_shape_have_one_length(pairs):
    one, other = (answer_bytes(_document(list(side))) for side in zip(*pairs, strict=True))

    assert len(one) == len(other)
    assert len(one) % BLOCK == 0
    json.loads(one)


def test_padding_to_a_block_alone_would_show_some_digits():
    small, large = (_document([value] * 8) for value in (1, -(2**62)))

    assert len(padded(dumped(small))) != len(padded(dumped(large)))
    assert len(answer_bytes(small)) == len(answer_bytes(large))


@given(st.lists(numbers, min_size=1, max_size=20))
def test_each_number_has_as_much_room_as_the_widest(values):
    known = _document(values)
    plain = dumped(known)
    widths = [len(dumped(value)) for value in values] * 4  # value, low and high in a row, and once as released
    public = [len("1"), len("null")]  # the version, and groups that are none

    room = sum(26 - width for width in widths + public)
    assert len(answer_bytes(known)) == len(padded(plain + b" " * room))
    assert answer_bytes(known).startswith(plain)


def test_a_wide_answer_is_written_by_one_call(monkeypatch):
    calls, dumps = [], json.dumps
    monkeypatch.setattr(json, "dumps", lambda *given, **more: calls.append(1) or dumps(*given, **more))
    answer_bytes(_document(list(range(1000))))

    assert len(calls) == 1


def test_json_knows_no_infinity_and_dates_are_text():
    assert json.loads(dumped({"a": [float("inf"), float("nan"), date(2026, 1, 2)], "b": {1: (2,)}})) == {
        "a": [None, None, "2026-01-02"],
        "b": {"1": [2]},
    }


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        (None, JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (ARROW, ARROW),
        (f"{JSON};q=0.1, {PARQUET}", PARQUET),
        (f"{PARQUET};q=0, */*;q=0.2", JSON),
        ("text/html", None),
        ("application/json;q=rubbish", None),
        ("", JSON),
    ],
)
def test_the_form_is_the_clients_first_choice(header, chosen):
    assert accepted(header, (JSON, ARROW, PARQUET)) == chosen


def test_a_table_comes_in_three_forms():
    table = pa.table({"ward": ["a", "b"], "n": [1, None]})

    assert pa.ipc.open_stream(table_bytes(table, ARROW)).read_all() == table
    assert pq.read_table(pa.BufferReader(table_bytes(table, PARQUET))).equals(table)
    assert pc.read_csv(pa.BufferReader(table_bytes(table, CSV))).to_pylist() == table.to_pylist()
