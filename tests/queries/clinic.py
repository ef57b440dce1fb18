"""Two private tables of the same patients, a public one, and generated questions about them all.

Questions nest, join, unite and group per patient as deep as they are told; each is SQL text made from the columns
that its sources show.
"""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass

import pyarrow as pa

from discreet.data import Boolean, Categorical, Date, Domain, Identifier, Integer, Real, Table, Text, Timestamp

WARDS = ["cardiology", "oncology", "surgery"]
VISITS = Domain({
    "patient": Identifier(),
    "ward": Categorical(WARDS),
    "age": Integer(-3, 119),
    "cost": Real(-50, 500, step="0.25", nullable=True),
    "smokes": Boolean(nullable=True),
    "urgent": Boolean(),
    "day": Date("2025-11-01", "2026-02-28"),
    "note": Text(12, nullable=True),
})  # fmt: skip
LABS = Domain({
    "patient": Identifier(),
    "ward": Categorical(WARDS, nullable=True),
    "result": Real(-10, 60, step="0.5", nullable=True),
    "level": Integer(0, 9),
    "seen": Timestamp("2026-01-01", "2026-12-31", step=3600, nullable=True),
    "kind": Text(12),
})  # fmt: skip
PLACES = Domain({
    "ward": Categorical(WARDS),
    "beds": Integer(0, 50),
    "fee": Real(0, 20, step="0.5", nullable=True),
    "name": Text(12),
})  # fmt: skip
KINDS = {
    Integer: "number", Real: "number", Boolean: "truth", Categorical: "word", Date: "day", Timestamp: "moment",
    Text: "text",
}  # fmt: skip
STRANGE = [float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 0.1, 5e-324, -0.0]
NOTES = ["", "a", "ab", "abc", "b%", "b_c", "it's", "e\u0301te", "x" * 13, None]


def visit(draw: random.Random, patient: int | None) -> dict[str, object]:
    """A row of visits; some values are missing or outside what is declared."""
    return {
        "patient": patient,
        "ward": draw.choice([*WARDS, *WARDS, "attic", None]),
        "age": draw.choice([draw.randint(-3, 119), draw.randint(0, 9), 2**40, -5, None]),
        "cost": draw.choice([*STRANGE, draw.randint(-300, 2100) / 4, draw.randint(0, 40) / 4, None]),
        "smokes": draw.choice([True, False, None]),
        "urgent": draw.choice([True, True, False, False, None]),
        "day": draw.choice([dt.date(2025, 10, 1) + dt.timedelta(draw.randint(0, 170)), None]),
        "note": draw.choice(NOTES),
    }


def lab(draw: random.Random, patient: int | None) -> dict[str, object]:
    """A row of labs."""
    moment = dt.datetime(2025, 12, 30) + dt.timedelta(minutes=draw.randint(0, 600_000))
    return {
        "patient": patient,
        "ward": draw.choice([*WARDS, "attic", None]),
        "result": draw.choice([*STRANGE[:5], draw.randint(-25, 125) / 2, draw.randint(0, 6) / 2, None]),
        "level": draw.choice([draw.randint(0, 9), draw.randint(0, 2), -7, None]),
        "seen": draw.choice([moment, moment, None]),
        "kind": draw.choice(NOTES),
    }


SCHEMAS = {
    "visits": pa.schema({
        "patient": pa.int64(), "ward": pa.string(), "age": pa.int64(), "cost": pa.float64(), "smokes": pa.bool_(),
        "urgent": pa.bool_(), "day": pa.date32(), "note": pa.string(),
    }),
    "labs": pa.schema({
        "patient": pa.int64(), "ward": pa.string(), "result": pa.float64(), "level": pa.int64(),
        "seen": pa.timestamp("us"), "kind": pa.string(),
    }),
    "places": pa.schema({"ward": pa.string(), "beds": pa.int64(), "fee": pa.float64(), "name": pa.string()}),
}  # fmt: skip
MAKERS = {"visits": visit, "labs": lab}
PUBLIC = [
    {"ward": "cardiology", "beds": 3, "fee": 2.5, "name": "a"},
    {"ward": "cardiology", "beds": 9, "fee": None, "name": "ab"},
    {"ward": "oncology", "beds": 99, "fee": 0.5, "name": "b"}, {"ward": None, "beds": 1, "fee": 1.0, "name": "c"},
]  # fmt: skip


def schema(visits: list[dict], labs: list[dict], *, rows: int = 4, groups: int = 2) -> dict[str, Table]:
    """The tables with these rows, under their declarations."""
    bounds = {"rows_per_unit": rows, "groups_per_unit": groups}
    found = {"visits": visits, "labs": labs, "places": PUBLIC}
    made = {name: pa.Table.from_pylist(found[name], schema=SCHEMAS[name]) for name in found}
    return {
        "visits": Table(made["visits"], domain=VISITS, unit="patient", **bounds),
        "labs": Table(made["labs"], domain=LABS, unit="patient", **bounds),
        "places": Table(made["places"], domain=PLACES, unit=None, public=True),
    }


def people(draw: random.Random, *, patients: int, most: int) -> tuple[list[dict], list[dict]]:
    """Some rows of each of so many patients, and a few of nobody."""
    found = {}
    for name, make in MAKERS.items():
        owners = [patient for patient in range(1, patients + 1) for _ in range(draw.randint(0, most))]
        found[name] = [make(draw, patient) for patient in [*owners, None]]
        draw.shuffle(found[name])
    return found["visits"], found["labs"]


@dataclass(frozen=True)
class Shown:
    """What stands after FROM: its text, its columns by kind, and its unit, if it shows it."""

    sql: str
    columns: dict[str, str]
    unit: str


class Author:
    """Writes questions; `wide` ones may group by every value of a number."""

    def __init__(self, draw: random.Random, *, wide: bool = False) -> None:
        self.draw, self.wide, self.made = draw, wide, 0

    def fresh(self) -> str:
        """A name for a table."""
        self.made += 1
        return f"t{self.made}"

    def source(self, depth: int) -> Shown:
        """A table, or something made of tables."""
        kinds = [self.table] if depth <= 0 else [self.table, self.selected, self.per_unit, self.united, self.joined]
        return self.draw.choice(kinds)(depth - 1)

    def table(self, _: int) -> Shown:
        """One of the two private tables."""
        name, alias = self.draw.choice(["visits", "labs"]), self.fresh()
        domain = {"visits": VISITS, "labs": LABS}[name]
        columns = {f"{alias}.{column}": KINDS[type(domain[column])] for column in domain if column != "patient"}
        return Shown(f"{name} AS {alias}", columns, f"{alias}.patient")

    def selected(self, depth: int) -> Shown:
        """A sub-query that computes columns."""
        inner, alias = self.source(depth), self.fresh()
        kinds = self.draw.sample(["number", "number", "truth", "word", "text"], self.draw.randint(1, 4))
        found = [(kind, text) for kind in kinds if (text := self.expression(inner, kind)) is not None]
        shown = [f"{inner.unit} AS patient", *(f"{text} AS c{i}" for i, (_, text) in enumerate(found))]
        sql = f"(SELECT {', '.join(shown)} FROM {inner.sql}{self.where(inner)}) AS {alias}"
        return Shown(sql, {f"{alias}.c{i}": kind for i, (kind, _) in enumerate(found)}, f"{alias}.patient")

    def per_unit(self, depth: int) -> Shown:
        """A sub-query with one row for each patient and key."""
        inner, alias = self.source(depth), self.fresh()
        key = self.key(inner) if self.draw.random() < 0.5 else None
        shown, columns = [f"{inner.unit} AS patient"], {}
        if key is not None:
            shown.append(f"{key[1]} AS k0")
            columns[f"{alias}.k0"] = key[0]
        for i in range(self.draw.randint(1, 3)):
            number = self.expression(inner, "number")
            function = self.draw.choice(["COUNT(*)", "COUNT({})", "SUM({})", "MIN({})", "MAX({})", "AVG({})"])
            if number is not None or "{}" not in function:
                name = self.draw.choice([f"v{i}", f"K{i + 1}", f"m{i}"])
                shown.append(f"{function.format(number)} AS {name}")
                columns[f"{alias}.{name}"] = "number"
        groups = ", ".join([inner.unit, *([key[1]] if key is not None else [])])
        sql = f"(SELECT {', '.join(shown)} FROM {inner.sql}{self.where(inner)} GROUP BY {groups}) AS {alias}"
        return Shown(sql, columns, f"{alias}.patient")

    def united(self, depth: int) -> Shown:
        """A union of two sub-queries with the same kinds of columns, or of one with itself."""
        first, second, alias = self.source(depth), self.source(depth - 1), self.fresh()
        second = first if self.draw.random() < 0.3 else second
        kinds = ["number", self.draw.choice(["number", "truth", "word", "text"])]
        parts, columns = [], {}
        for side in (first, second):
            found = [self.expression(side, kind) for kind in kinds]
            if None in found:
                kinds, found = ["number"], [self.expression(side, "number")]
            parts.append((side, found))
        width = min(len(found) for _, found in parts)
        for i, kind in enumerate(kinds[:width]):
            columns[f"{alias}.c{i}"] = kind
        shown = [
            f"SELECT {side.unit} AS patient, {', '.join(f'{text} AS c{i}' for i, text in enumerate(found[:width]))}"
            f" FROM {side.sql}{self.where(side)}"
            for side, found in parts
        ]
        return Shown(f"({' UNION ALL '.join(shown)}) AS {alias}", columns, f"{alias}.patient")

    def joined(self, depth: int) -> Shown:
        """A join on the patient, or with the public table."""
        left, word = self.source(depth), self.draw.choice(["JOIN", "LEFT JOIN"])
        words = [name for name, kind in left.columns.items() if kind == "word"]
        if words and self.draw.random() < 0.4:
            alias = self.fresh()
            columns = {f"{alias}.{name}": KINDS[type(column)] for name, column in PLACES.items()}
            sql = f"{left.sql} {word} places AS {alias} ON {self.draw.choice(words)} = {alias}.ward"
            return Shown(sql, left.columns | columns, left.unit)
        maker = self.draw.choice([self.table, self.table, self.selected, self.per_unit])
        right = maker(depth - 1)
        on = f"{left.unit} = {right.unit}"
        pairs = [(a, b) for a, kind in left.columns.items() for b, other in right.columns.items() if kind == other]
        pairs = [(a, b) for a, b in pairs if left.columns[a] in ("number", "word", "text")]
        if pairs and self.draw.random() < 0.4:
            first, second = self.draw.choice(pairs)
            on += f" AND {second} = {first}"
        return Shown(f"{left.sql} {word} {right.sql} ON {on}", left.columns | right.columns, left.unit)

    def of(self, shown: Shown, kind: str) -> str | None:
        """A column of a kind."""
        found = [name for name, other in shown.columns.items() if other == kind]
        return self.draw.choice(found) if found else None

    def expression(self, shown: Shown, kind: str) -> str | None:
        """An expression of a kind."""
        column = self.of(shown, kind)
        if kind in ("word", "text", "day", "moment") or (column is not None and self.draw.random() < 0.5):
            return column
        if kind == "truth":
            return self.test(shown)
        number, other = self.of(shown, "number"), self.of(shown, "number")
        choices = []
        if number is not None:
            choices += [
                f"{number} + {other}", f"{number} - {other} * 2", f"ABS({number})", f"FLOOR({number} / 7)",
                f"COALESCE({number}, {other}, 1)", f"LEAST({number}, {other}, 40)", f"GREATEST({number}, {other})",
                f"LEAST({number}, {other})", f"WIDTH_BUCKET({number}, 0, 40, 5)", f"{number} % 5", f"{number} / 4",
                f"{number} // -3",
                f"CASE WHEN {self.test(shown)} THEN {number} ELSE 3 END",
                f"CASE WHEN {self.test(shown)} THEN {number} END", f"-{number}",
            ]  # fmt: skip
        choices += [f"EXTRACT(month FROM {day})" for day in [self.of(shown, "day")] if day is not None]
        choices += [f"EXTRACT(hour FROM {moment})" for moment in [self.of(shown, "moment")] if moment is not None]
        return self.draw.choice(choices) if choices else None

    def test(self, shown: Shown) -> str:
        """A condition; three-valued wherever its columns are."""
        choices = ["1 < 2"]
        number, truth, word, text, day = (self.of(shown, kind) for kind in ("number", "truth", "word", "text", "day"))
        if number is not None:
            choices += [
                f"{number} >= 10",
                f"{number} BETWEEN 0 AND 30.5",
                f"{number} IS NULL",
                f"{number} IN (1, 2, 5)",
            ]
        if truth is not None:
            choices += [truth, f"NOT {truth}", f"{truth} IS NULL"]
        if word is not None:
            choices += [f"{word} = 'surgery'", f"{word} LIKE 'c%'", f"{word} NOT IN ('oncology')", f"{word} LIKE 'z%'"]
        if text is not None:
            choices += [
                f"{text} = 'ab'",
                f"{text} LIKE 'a%'",
                f"{text} LIKE 'b!%%' ESCAPE '!'",
                f"{text} IN ('', 'it''s')",
            ]
        if day is not None:
            choices += [f"{day} >= '2026-01-01'", f"EXTRACT(dow FROM {day}) = 0"]
        first = self.draw.choice(choices)
        if self.draw.random() < 0.4:
            return f"({first} {self.draw.choice(['AND', 'OR'])} {self.draw.choice(choices)})"
        return first

    def where(self, shown: Shown) -> str:
        """A filter, or none."""
        return f" WHERE {self.test(shown)}" if self.draw.random() < 0.4 else ""

    def key(self, shown: Shown) -> tuple[str, str] | None:
        """A group key with few declared values."""
        choices = [("word", word) for word in [self.of(shown, "word")] if word is not None]
        choices += [("truth", truth) for truth in [self.of(shown, "truth")] if truth is not None]
        choices += [("truth", self.test(shown))]
        number = self.of(shown, "number")
        if number is not None:
            choices += [("number", f"WIDTH_BUCKET({number}, 0, 40, 3)"), ("number", f"LEAST(GREATEST({number}, 0), 3)")]
        if number is not None and self.wide and self.draw.random() < 0.5:
            return "number", f"LEAST(GREATEST({number}, 0), 1000)"
        return self.draw.choice(choices)

    def question(self, depth: int) -> str:
        """A whole question."""
        inner = self.source(depth)
        keys = [key for key in [self.key(inner)] if self.draw.random() < 0.5 and key is not None]
        made = []
        for _ in range(self.draw.randint(1, 3)):
            number = self.expression(inner, "number")
            function = self.draw.choice(
                ["COUNT(*)", "COUNT({})", "SUM({})", "AVG({})", "VARIANCE({})", "MEDIAN({})", "QUANTILE({}, 0.9)",
                 "MAX({})", f"COUNT(DISTINCT {inner.unit})"]
            )  # fmt: skip
            if number is not None or "{}" not in function:
                made.append(function.format(number))
        made = list(dict.fromkeys(made or ["COUNT(*)"]))
        shown = [*(text for _, text in keys), *made]
        named = [f"{text} AS o{i}" for i, text in enumerate(shown)]
        group = f" GROUP BY {keys[0][1]}" if keys else ""
        return f"SELECT {', '.join(named)} FROM {inner.sql}{self.where(inner)}{group}"


def question(seed: int, *, depth: int = 3, wide: bool = False) -> str:
    """The question of a seed."""
    return Author(random.Random(seed), wide=wide).question(depth)
