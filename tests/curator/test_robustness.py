"""Odd but allowed requests: tiny budgets, wide sums, keys of any type, engines that fail."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.curator.config import declaration
from discreet.curator.plan import _shares, plan
from discreet.curator.question import key_of
from discreet.data import Boolean, Categorical, Date, Domain, Identifier, Integer, Table
from discreet.data.aggregation import Sealed
from discreet.errors import DiscreetError, ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy import ApproxDP, PureDP
from discreet.queries.sql import parse

DOMAIN = Domain(
    {
        "patient": Identifier(),
        "day": Date("2026-01-01", "2026-01-05"),
        "smokes": Boolean(nullable=True),
        "far": Integer(-(2**61), 2**61),
        "ward": Categorical(["a", "b"], nullable=True),
    }
)


class Full:
    """An engine with the same number in every cell."""

    def __init__(self, number=5, error=None):
        self.number, self.error = number, error

    def ready(self, table, aggregation):
        """Whatever is asked."""

    def check(self):
        """Nothing."""

    def run(self, table, aggregation):
        if self.error is not None:
            raise self.error
        return Sealed(np.full((aggregation.cells, len(aggregation.measures)), self.number, dtype=object))


def curator(ledger, engine):
    table = Table("none.parquet", domain=DOMAIN, unit="patient", rows_per_unit=2)
    return Curator({"visits": table}, budget=ApproxDP(1, 1e-6), ledger=ledger, engine=engine, rng=SeededRandom(1))


@pytest.mark.parametrize("budget", [ApproxDP("1e-6", "1e-9"), ApproxDP("1e-12", "1e-15"), PureDP("1e-9")])
def test_a_tiny_budget_is_planned_and_explained(ledger, budget):
    asked = curator(ledger, Full())

    assert asked.explain("SELECT COUNT(*), AVG(far) FROM visits", budget=budget).plan.price.rho > 0


@pytest.mark.parametrize("rows", [True, 0, 10**30, 1.0])
def test_absurd_bounds_are_refused(ledger, rows):
    with pytest.raises(ParameterError, match="rows_per_unit"):
        curator(ledger, Full()).explain("SELECT COUNT(*) FROM visits", epsilon=1, rows_per_unit=rows)


def test_shares_are_positive_and_add_up_however_many_there_are():
    for weights in ([1.0], [1.0] * 3000, [1e-30, 1e30], [0.0] * 7, [float(i) for i in range(1, 50)]):
        for power in (1 / 2, 1 / 3):
            shares = _shares(weights, power)

            assert min(shares) > 0
            assert sum(shares) == Fraction(1)


def test_having_on_any_key_shows_an_answer(ledger):
    asked = curator(ledger, Full(1000))

    assert asked.ask("SELECT day, COUNT(*) FROM visits GROUP BY day HAVING day > 5", epsilon="0.1").table.num_rows == 0
    shown = asked.ask("SELECT smokes, COUNT(*) FROM visits GROUP BY smokes HAVING smokes = 1", epsilon="0.1").table
    assert shown["smokes"].to_pylist() == [True]


def test_missing_keys_come_last_in_both_directions(ledger):
    asked = curator(ledger, Full(1000))
    for direction, first in (("", "a"), (" DESC", "b")):
        shown = asked.ask(f"SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward{direction}", epsilon="0.1")

        assert shown.table["ward"].to_pylist()[0] == first
        assert shown.table["ward"].to_pylist()[-1] is None


def test_sums_beyond_64_bits_are_shown_too(ledger):
    answer = curator(ledger, Full(2**80)).ask("SELECT SUM(far) AS s FROM visits", epsilon="0.1")

    assert answer.table.schema.field("s").type == pa.float64()
    assert answer.table["s"][0].as_py() == pytest.approx(2.0**80, rel=0.01)
    assert str(answer)


def test_a_failing_engine_says_one_constant_sentence(ledger):
    asked = curator(ledger, Full(error=ValueError("could not convert 'Jane Doe'")))
    with pytest.raises(DiscreetError, match=r"^the run failed; see the operator log, reference [0-9a-f]{8}$") as caught:
        asked.ask("SELECT COUNT(*) FROM visits", epsilon="0.1")

    assert caught.value.__cause__ is None
    assert "Jane" not in str(caught.value.__context__)
    assert asked.budget.balance.spent.epsilon == Fraction(1, 10)  # it stays paid


def test_another_declaration_is_another_question():
    sql, keys = "SELECT ward, COUNT(*) FROM visits GROUP BY ward", set()
    for wards in (["a", "b"], ["b", "a"], ["a", "c"]):
        table = Table("none.parquet", domain=Domain({**DOMAIN, "ward": Categorical(wards)}), unit="patient")
        keys.add(key_of(plan(parse(sql, {"visits": table}), table, epsilon=1)))

    assert len(keys) == 3


def test_different_questions_have_different_keys():
    table = Table("none.parquet", domain=DOMAIN, unit="patient", rows_per_unit=2)
    step = plan(parse("SELECT COUNT(*) FROM visits", {"visits": table}), table, epsilon=1)
    others = [
        plan(parse("SELECT COUNT(*) AS n FROM visits", {"visits": table}), table, epsilon=1),
        plan(step.query, table, epsilon="0.5"),
        plan(step.query, table, budget=ApproxDP(1, 0)),
        plan(step.query, table, epsilon=1, rows_per_unit=1),
        *(plan(parse("SELECT COUNT(*) FROM visits", {"visits": one}), one, epsilon=1, rows_per_unit=2) for one in (
            Table("none.parquet", domain=DOMAIN, unit="patient", rows_per_unit=2, version=2),
            Table("none.parquet", domain=DOMAIN, unit="patient", rows_per_unit=3),
            Table("none.parquet", domain=DOMAIN.without("ward"), unit="patient", rows_per_unit=2),
        )),
    ]  # fmt: skip

    assert len({key_of(step), *map(key_of, others)}) == 8


def test_a_column_that_is_not_a_declaration_is_refused():
    with pytest.raises(ParameterError, match="age needs a type"):
        declaration("visits", {"age": "integer"})
