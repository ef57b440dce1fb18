"""Generated questions about generated neighbours: a table with one unit, and the same table without it.

Values are as nasty as each physical type allows; half of them lie outside what is declared.
"""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pyarrow as pa

from discreet.data import Boolean, Categorical, Date, Domain, Identifier, Integer, Real, Table, Timestamp
from discreet.privacy import ZCDP, ApproxDP, PureDP

DOMAIN = Domain(
    {
        "patient": Identifier(),
        "ward": Categorical(["cardiology", "oncology", "surgery"]),
        "age": Integer(-3, 119),
        "cost": Real(-50, 5000, step="0.01"),
        "readmitted": Boolean(),
        "day": Date("2025-11-01", "2026-02-28"),
        "bmi": Real(-10, 60, step="0.5", nullable=True),
        "seen": Timestamp("2026-01-01", "2026-12-31", step=3600, nullable=True),
        "smokes": Boolean(nullable=True),
        "stage": Categorical([1, 2, 3, 4], nullable=True),
        "far": Integer(-(2**40), 2**41, nullable=True),
    }
)

JUNK = [
    "",
    " ",
    "NaN",
    "inf",
    "-inf",
    "1e400",
    "-1e400",
    "1e-400",
    "abc",
    " 42 ",
    "0x1F",
    "9" * 40,
    "1,5",
    "--1",
    "1e",
    "\x00",
    "é" * 50,
    "'",
    '";--',
    "NULL",
    "true",
    "T",
    "2026-02-30",
    "2026-01-15",
    "0001-01-01",
    "99999-12-31",
    "2026-01-15 25:00",
]
FLOATS = [
    float("nan"),
    float("inf"),
    float("-inf"),
    -0.0,
    0.0,
    5e-324,
    -5e-324,
    1e308,
    -1e308,
    0.005,
    1e15 + 0.3,
    119.5,
    -3.5,
    2.0**62,
    -(2.0**63),
]
WHOLES = [0, 1, -1, -(2**63), 2**63 - 1, 2**31, -(2**31) - 1, 119, 120, -4, 2**40]
DAYS = [
    dt.date(1, 1, 1),
    dt.date(9999, 12, 31),
    dt.date(1970, 1, 1),
    dt.date(2026, 1, 31),
    dt.date(2025, 11, 1),
    dt.date(2026, 2, 28),
]
MOMENTS = [
    dt.datetime(1, 1, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59),
    dt.datetime(2026, 6, 1, 12, 59, 59, 999999),
    dt.datetime(2026, 12, 31),
]

Draw = random.Random


def _double(draw: Draw) -> float:
    return draw.choice(FLOATS) if draw.random() < 0.4 else draw.uniform(-60, 5100)


def _whole(draw: Draw) -> int:
    return draw.choice(WHOLES) if draw.random() < 0.4 else draw.randint(-5, 125)


def _text(draw: Draw) -> str:
    return draw.choice(JUNK) if draw.random() < 0.5 else str(draw.randint(-5, 5))


PHYSICAL = {
    "ward": [(pa.string(), lambda draw: draw.choice(["cardiology", "oncology", "surgery", "Surgery", "", "?"]))],
    "age": [
        (pa.int64(), _whole),
        (pa.float64(), _double),
        (pa.string(), _text),
        (pa.int8(), lambda draw: draw.randint(-128, 127)),
    ],
    "cost": [
        (pa.float64(), _double),
        (pa.float32(), _double),
        (pa.string(), _text),
        (pa.decimal128(18, 3), lambda draw: Decimal(draw.randint(-(10**14), 10**14)) / 1000),
    ],
    "readmitted": [
        (pa.bool_(), lambda draw: draw.random() < 0.5),
        (pa.string(), _text),
        (pa.int64(), _whole),
        (pa.float64(), _double),
    ],
    "day": [
        (pa.date32(), lambda draw: draw.choice(DAYS)),
        (pa.string(), _text),
        (pa.timestamp("us"), lambda draw: draw.choice(MOMENTS)),
    ],
    "bmi": [(pa.float64(), _double), (pa.string(), _text)],
    "seen": [
        (pa.timestamp("us"), lambda draw: draw.choice(MOMENTS)),
        (pa.string(), _text),
        (pa.date32(), lambda draw: draw.choice(DAYS)),
    ],
    "smokes": [(pa.bool_(), lambda draw: draw.random() < 0.5), (pa.string(), _text)],
    "stage": [(pa.int64(), lambda draw: draw.randint(0, 5)), (pa.float64(), _double), (pa.string(), _text)],
    "far": [
        (pa.int64(), _whole),
        (pa.float64(), _double),
        (pa.uint64(), lambda draw: draw.choice([0, 2**64 - 1, 2**40, 7])),
    ],
}

NUMBERS = [
    "age",
    "cost",
    "bmi",
    "readmitted",
    "smokes",
    "age + cost",
    "cost - bmi * 2",
    "age * age",
    "cost / 3",
    "ABS(bmi - age)",
    "FLOOR(cost / 7)",
    "age % 10",
    "CASE WHEN smokes THEN cost ELSE age END",
    "CASE WHEN day < '2026-01-01' THEN bmi END",
    "COALESCE(bmi, age)",
    "LEAST(age, bmi, 50)",
    "GREATEST(cost, 0)",
    "EXTRACT(month FROM day)",
    "-cost",
    "age // 7",
    "far",
    "far * 3 - age",
]
TESTS = [
    "age >= 65",
    "cost BETWEEN 10 AND 900.5",
    "ward IN ('surgery', 'oncology')",
    "bmi IS NULL",
    "NOT smokes",
    "readmitted OR smokes",
    "day >= '2026-01-01'",
    "seen < '2026-06-01 12:00:00'",
    "stage = 2",
    "age > bmi",
    "cost * 2 < age * age AND ward <> 'surgery'",
    "EXTRACT(dow FROM day) = 0",
    "far <> 7",
    "stage IN (1, 4) OR bmi IS NOT NULL",
]
KEYS = [
    "ward",
    "readmitted",
    "smokes",
    "stage",
    "FLOOR(age / 20)",
    "EXTRACT(month FROM day)",
    "FLOOR(bmi / 10)",
    "CASE WHEN age > 65 THEN 1 ELSE 0 END",
]
FUNCTIONS = ["COUNT(*)", "COUNT(DISTINCT patient)", "COUNT({})", "SUM({})", "AVG({})", "VARIANCE({})", "STDDEV({})"]


@dataclass(frozen=True)
class World:
    """A question, a table, its neighbour, and how it is asked."""

    sql: str
    table: Table
    neighbour: Table
    asked: dict[str, object]
    beside: dict[str, Table] = field(default_factory=dict)  # the other tables of the question
    beside_neighbour: dict[str, Table] = field(default_factory=dict)

    def swapped(self) -> World:
        """The other way round: a unit removed instead of added."""
        return replace(
            self,
            table=self.neighbour,
            neighbour=self.table,
            beside=self.beside_neighbour,
            beside_neighbour=self.beside,
        )


def question(draw: Draw) -> str:
    """A valid question."""
    keys = draw.sample(KEYS, draw.choice([0, 0, 1, 1, 2]))
    made = [
        draw.choice(FUNCTIONS).format(draw.choice([n for n in NUMBERS if "far" not in n]))
        for _ in range(draw.randint(1, 3))
    ]
    if draw.random() < 0.1:
        made.append(f"SUM({draw.choice(['far', 'far * 3 - age'])})")
    sql = f"SELECT {', '.join([*keys, *dict.fromkeys(made)])} FROM visits"
    if draw.random() < 0.6:
        sql += f" WHERE {draw.choice([' AND ', ' OR ']).join(draw.sample(TESTS, draw.randint(1, 2)))}"
    return sql + (f" GROUP BY {', '.join(keys)}" if keys else "")


def rows(draw: Draw, columns: dict[str, tuple[pa.DataType, object]], units: list[object]) -> list[dict[str, object]]:
    """One row for each entry of `units`."""
    made = []
    for unit in units:
        values = {name: None if draw.random() < 0.1 else value(draw) for name, (_, value) in columns.items()}  # type: ignore[operator]
        made.append({"patient": unit} | values)
    return made


def physical(draw: Draw) -> dict[str, tuple[pa.DataType, object]]:
    """A physical type for every column."""
    return {name: draw.choice(kinds) for name, kinds in PHYSICAL.items()}


def arrow(
    found: list[dict[str, object]], columns: dict[str, tuple[pa.DataType, object]], unit: pa.DataType
) -> pa.Table:
    """The rows as an Arrow table of fixed schema."""
    schema = pa.schema([("patient", unit), *((name, kind) for name, (kind, _) in columns.items())])
    return pa.Table.from_pylist(found, schema=schema)


def world(seed: int, *, sql: str | None = None) -> World:
    """A question and two neighbours that differ in all rows of one unit, at any place in the table."""
    draw = random.Random(seed)
    columns, text_ids = physical(draw), draw.random() < 0.3
    name = str if text_ids else int
    others = [name(draw.randint(1, 8)) for _ in range(draw.choice([0, 1, 5, 20]))]
    without = rows(draw, columns, [None if draw.random() < 0.05 else other for other in others])
    added = rows(draw, columns, [name(0)] * draw.choice([1, 2, 5, 30]))
    place = draw.randint(0, len(without))
    kind = pa.string() if text_ids else pa.int64()
    bounds = {"rows_per_unit": draw.choice([1, 2, 5]), "groups_per_unit": draw.choice([1, 2, 3])}
    tables = [
        Table(arrow(found, columns, kind), domain=DOMAIN, unit="patient", **bounds)
        for found in (without[:place] + added + without[place:], without)
    ]
    spending = draw.choice(
        [{"epsilon": 1}, {"budget": PureDP("0.3")}, {"budget": ZCDP("0.05")}, {"budget": ApproxDP(1, "1e-6")}]
    )
    asked = spending | ({"rows_per_unit": 3} if draw.random() < 0.2 else {})
    return World(question(draw) if sql is None else sql, tables[0], tables[1], asked)
