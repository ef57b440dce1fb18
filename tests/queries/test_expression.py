"""discreet.queries.expression and predicate: compiled integers agree with exact arithmetic on every row."""

import datetime as dt
import math
import random
from fractions import Fraction

import duckdb
import pytest

from discreet.data.columns import Date
from discreet.queries.calendar import Part
from discreet.queries.choice import Case
from discreet.queries.division import Quotient, Remainder
from discreet.queries.expression import Absolute, Add, Floor, Multiply, Number, Ref
from discreet.queries.predicate import And, Compare, IsNull, Member, Not, Or
from discreet.queries.types import Coded, Numeric, Truth
from tests.queries.hospital import DOMAIN

COLUMNS = ("age", "cost", "readmitted", "bmi", "smokes", "day", "ward")


def evaluate(expression, row):
    """The meaning of an expression, in exact rationals and three-valued logic; None is NULL."""
    match expression:
        case Ref(name, column):
            code = row[name]
            if code is None:
                return None
            return code * column.step if hasattr(column, "step") and not isinstance(expression.type, Coded) else code
        case Number(value):
            return value
        case Add(a, b, minus):
            x, y = evaluate(a, row), evaluate(b, row)
            return None if x is None or y is None else x - y if minus else x + y
        case Multiply(a, b):
            x, y = evaluate(a, row), evaluate(b, row)
            return None if x is None or y is None else x * y
        case Floor(a):
            x = evaluate(a, row)
            return None if x is None else Fraction(x.__floor__())
        case Quotient(a, divisor):
            x = evaluate(a, row)
            return None if x is None else Fraction(math.trunc(x / divisor))
        case Remainder(a, divisor):
            x = evaluate(a, row)
            return None if x is None else x - divisor * math.trunc(x / divisor)
        case Absolute(a):
            x = evaluate(a, row)
            return None if x is None else abs(x)
        case Compare(op, a, b):
            x, y = evaluate(a, row), evaluate(b, row)
            if x is None or y is None:
                return None
            return Fraction(int({"=": x == y, "<>": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op]))
        case And(terms):
            values = [evaluate(t, row) for t in terms]
            return Fraction(0) if 0 in values else None if None in values else Fraction(1)
        case Or(terms):
            values = [evaluate(t, row) for t in terms]
            return Fraction(1) if 1 in values else None if None in values else Fraction(0)
        case Not(a):
            x = evaluate(a, row)
            return None if x is None else 1 - x
        case IsNull(a):
            return Fraction(int(evaluate(a, row) is None))
        case Member(a, options):
            return evaluate(Or(tuple(Compare("=", a, o) for o in options)), row)
        case Case(branches, otherwise):
            for condition, value in branches:
                if evaluate(condition, row) == 1:
                    return evaluate(value, row)
            return None if otherwise is None else evaluate(otherwise, row)
    raise AssertionError(expression)


def number(chance, depth):
    kind = chance.randrange(9 if depth else 3)
    if kind == 0:
        return Number(Fraction(chance.randint(-40, 40), chance.choice([1, 1, 2, 3, 10])))
    if kind <= 2:
        name = chance.choice(["age", "cost", "bmi", "readmitted", "smokes"])
        return Ref(name, DOMAIN[name])
    if kind <= 4:
        return Add(number(chance, depth - 1), number(chance, depth - 1), minus=chance.random() < 0.5)
    if kind == 5:
        return Multiply(number(chance, depth - 1), Number(Fraction(chance.randint(-9, 9), chance.choice([1, 7, 4]))))
    if kind == 6:
        return Floor(number(chance, depth - 1))
    if kind == 7:
        divided = chance.choice([Absolute, Quotient, Remainder])
        divisor = Fraction(chance.choice([-7, -2, 1, 3, 10]), chance.choice([1, 1, 4]))
        inner = number(chance, depth - 1)
        return Absolute(inner) if divided is Absolute else divided(inner, divisor)
    default = None if chance.random() < 0.3 else number(chance, depth - 1)
    return Case(((truth(chance, depth - 1), number(chance, depth - 1)),), default)


def truth(chance, depth):
    kind = chance.randrange(7 if depth > 0 else 2)
    if kind == 0:
        return Compare(chance.choice(["=", "<>", "<", "<=", ">", ">="]), number(chance, 0), number(chance, 0))
    if kind == 1:
        return Ref(*chance.choice([("readmitted", DOMAIN["readmitted"]), ("smokes", DOMAIN["smokes"])]))
    if kind == 2:
        return Compare(chance.choice(["<", "="]), number(chance, depth - 1), number(chance, depth - 1))
    if kind == 3:
        return And((truth(chance, depth - 1), truth(chance, depth - 1)))
    if kind == 4:
        return Or((truth(chance, depth - 1), truth(chance, depth - 1), truth(chance, 0)))
    if kind == 5:
        return Not(truth(chance, depth - 1))
    return (
        IsNull(number(chance, depth - 1))
        if chance.random() < 0.5
        else Member(number(chance, 0), (number(chance, 0), number(chance, 0)))
    )


def rows(chance, count):
    found = []
    for _ in range(count):
        row = {name: chance.randint(*DOMAIN[name].codes) for name in COLUMNS}
        for name in ("bmi", "smokes"):
            row[name] = None if chance.random() < 0.3 else row[name]
        for name in ("age", "cost", "bmi"):
            if row[name] is not None and chance.random() < 0.3:
                row[name] = chance.choice(DOMAIN[name].codes)
        found.append(row)
    return found


@pytest.fixture(scope="module")
def engine():
    connection = duckdb.connect()
    chance = random.Random(5)
    data = rows(chance, 60)
    columns = ", ".join(f'"{name}" BIGINT' for name in COLUMNS)
    connection.execute(f"CREATE TABLE codes (i INTEGER, {columns})")
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    connection.executemany(
        f"INSERT INTO codes VALUES ({marks})", [[i, *(r[n] for n in COLUMNS)] for i, r in enumerate(data)]
    )
    return connection, data


@pytest.mark.parametrize("seed", range(150))
def test_compiled_code_means_what_the_expression_means(engine, seed):
    connection, data = engine
    chance = random.Random(seed)
    expression = number(chance, 3) if seed % 2 else truth(chance, 3)
    known = expression.type
    got = [
        r[0] for r in connection.execute(f"SELECT {expression.tree().sql('duckdb')} FROM codes ORDER BY i").fetchall()
    ]

    for row, code in zip(data, got, strict=True):
        expected = evaluate(expression, row)
        if isinstance(known, Numeric):
            assert (None if code is None else code * known.step) == expected
            assert code is None or known.low <= code <= known.high
        else:
            assert isinstance(known, Truth)
            assert (None if code is None else int(code)) == expected
        assert code is not None or known.nullable


@pytest.mark.parametrize("part", ["year", "quarter", "month", "day", "dow"])
def test_parts_of_dates_agree_with_the_calendar(part):
    column = Date("1899-12-30", "2101-03-02")
    low, high = column.codes
    code = Part(part, Ref("day", column)).code()
    meaning = {
        "year": lambda d: d.year, "quarter": lambda d: (d.month + 2) // 3, "month": lambda d: d.month,
        "day": lambda d: d.day, "dow": lambda d: d.isoweekday() % 7,
    }[part]  # fmt: skip
    found = duckdb.execute(f'SELECT "day", {code} FROM (SELECT unnest(range({low}, {high} + 1)) AS "day")').fetchall()

    assert len(found) == high - low + 1
    assert all(meaning(dt.date(1970, 1, 1) + dt.timedelta(days=day)) == value for day, value in found)
