"""Random questions in the whole language, over four small tables full of special values."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa

from discreet.data.columns import Boolean, Categorical, Date, Identifier, Integer, Real, Text, Timestamp
from discreet.data.domain import Domain
from discreet.data.table import Table

WARDS = ["cardiology", "Oncology", "it's"]
CITIES = ["Rome", "rome", "", "R\u00f6m", "Oslo", "O'Higgins", "back\\slash", "x" * 30, None]
DOMAINS = {
    "visits": Domain({
        "patient": Identifier(), "ward": Categorical(WARDS), "age": Integer(0, 119, nullable=True),
        "cost": Real(-50, 500, step="0.25"), "icu": Boolean(nullable=True), "day": Date("2025-01-01", "2026-12-31"),
        "at": Timestamp("2026-01-01", "2026-12-31", step=900, nullable=True), "city": Text(20, nullable=True),
    }),
    "labs": Domain({
        "patient": Identifier(), "value": Integer(-20, 20), "kind": Categorical(["a", "b"], nullable=True),
    }),
    "wards": Domain({"ward": Categorical(WARDS), "beds": Integer(0, 50), "floor": Integer(0, 3, nullable=True)}),
}  # fmt: skip
PUBLIC = {"wards"}
PREFIXES = ("'R%'", "'r%'", "'%'", "'back\\%'", "'O''%'", "'R\u00f6%'")


def rows(rng: np.random.Generator, n: int) -> dict[str, pa.Table]:
    """The rows of all tables: missing and odd values, values out of bounds, units of many rows and of none."""
    cost = np.round(rng.normal(100, 200, n) * 8) / 8
    odd = rng.random(n) < 0.1
    cost[odd] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1e308, 0.125, -0.125], odd.sum())

    def some(values, size=n):
        return [values[i] for i in rng.integers(0, len(values), size)]

    def people(size):
        return pa.array([None if v == 0 else int(v) ** 2 - 3 for v in np.minimum(rng.geometric(0.08, size) - 1, 40)])

    start = dt.datetime(2025, 12, 30)
    moments = [None, *(start + dt.timedelta(minutes=int(v)) for v in rng.integers(0, 600_000, 30))]
    return {
        "visits": pa.table({
            "patient": people(n), "ward": pa.array(some([*WARDS, "cardiology ", None])),
            "age": pa.array(some([None, -4, 0, 17, 18, 64, 65, 119, 120, 2**31 - 1]), pa.int32()),
            "cost": pa.array(cost), "icu": pa.array(some([True, False, None])),
            "day": pa.array(some([dt.date(2024, 12, 31), *(dt.date(2025, 1, 1) + dt.timedelta(days=int(v))
                                                         for v in rng.integers(0, 800, 20))])),
            "at": pa.array(some(moments), pa.timestamp("us")), "city": pa.array(some(CITIES)),
        }),
        "labs": pa.table({"patient": people(n // 2), "value": pa.array(rng.integers(-25, 25, n // 2)),
                          "kind": pa.array(some(["a", "b", "c", None], n // 2), pa.string())}),
        "wards": pa.table({"ward": pa.array([*WARDS, WARDS[0], None]), "beds": pa.array([10, 20, 60, 5, 7]),
                           "floor": pa.array([0, None, 2, 3, 1], pa.int64())}),
    }  # fmt: skip


def schema(sources: dict[str, object], *, engine: object = None) -> dict[str, Table]:
    """The declared tables at their sources."""
    made = {}
    for name, domain in DOMAINS.items():
        private = {"unit": None, "public": True} if name in PUBLIC else {
            "unit": "patient", "rows_per_unit": 4, "groups_per_unit": 2}  # fmt: skip
        made[name] = Table(sources[name], domain=domain, engine=engine, **private)
    return made


class Writer:
    """Writes one random question after another."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def number(self, names: dict[str, list[str]], depth: int = 2) -> str:
        """A number over the columns at hand."""
        leaves = [*names["number"], str(self.rng.integers(-9, 99)), self.pick("0.5", "-2", "7.25")]
        if depth == 0 or self.rng.random() < 0.3:
            return self.pick(*leaves)
        again = lambda: self.number(names, depth - 1)  # noqa: E731
        made = [
            f"({again()} {self.pick('+', '-')} {again()})", f"({again()} * {self.pick('2', '-3', '0.5')})",
            f"({again()} / {self.pick('2', '3', '-7')})", f"FLOOR({again()} / {self.pick('10', '3', '0.5')})",
            f"ABS({again()})", f"LEAST({again()}, {again()})", f"GREATEST({again()}, 3, {again()})",
            f"CASE WHEN {self.truth(names, depth - 1)} THEN {again()} ELSE {again()} END",
            f"CASE WHEN {self.truth(names, depth - 1)} THEN {again()} END", f"COALESCE({again()}, {again()})",
            f"WIDTH_BUCKET({again()}, 0, {self.pick('10', '99.5')}, {self.pick('3', '7')})",
            f"({again()} % {self.pick('7', '-2', '0.75')})", f"({again()} // {self.pick('3', '-7', '2.5')})",
        ]  # fmt: skip
        made += [f"EXTRACT({self.pick('year', 'quarter', 'month', 'day', 'dow')} FROM {name})" for name in names["day"]]
        made += [f"EXTRACT({self.pick('hour', 'dow', 'month')} FROM {name})" for name in names["moment"]]
        return self.pick(*made)

    def truth(self, names: dict[str, list[str]], depth: int = 2) -> str:
        """A predicate over the columns at hand."""
        leaves = [f"{self.number(names, 0)} {self.pick('=', '<>', '<', '<=', '>', '>=')} {self.number(names, 0)}"]
        leaves += [f"{name} {self.pick('=', '<>')} '{self.pick('cardiology', 'Oncology')}'" for name in names["ward"]]
        leaves += [f"{name} IN ('cardiology', 'it''s')" for name in names["ward"]]
        leaves += [f"{name} {self.pick('<', '>=')} '2025-{self.rng.integers(1, 13):02}-15'" for name in names["day"]]
        leaves += [f"{name} {self.pick('=', '<>')} {self.phrase()}" for name in names["text"]]
        leaves += [f"{name} LIKE {self.pick(*PREFIXES)}" for name in names["text"]]
        leaves += [f"{name} IN ({self.phrase()}, {self.phrase()})" for name in names["text"]]
        leaves += names["truth"] + [f"{self.pick(*names['all'])} IS {self.pick('', 'NOT ')}NULL"]
        if depth == 0 or self.rng.random() < 0.4:
            return self.pick(*leaves)
        again = lambda: self.truth(names, depth - 1)  # noqa: E731
        return self.pick(
            f"({again()} AND {again()})", f"({again()} OR {again()})", f"NOT ({again()})",
            f"{self.number(names, depth - 1)} BETWEEN {self.number(names, 0)} AND {self.number(names, 0)}",
        )  # fmt: skip

    def phrase(self) -> str:
        value = self.pick("Rome", "rome", "", "R\u00f6m", "O'Higgins", "back\\slash", "nowhere")
        return "'" + value.replace("'", "''") + "'"

    def source(self) -> tuple[str, dict[str, list[str]]]:
        """FROM, with the columns it has by type."""
        visits = {"number": ["age", "cost"], "ward": ["ward"], "day": ["day"], "moment": ["at"], "truth": ["icu"],
                  "text": ["city"]}  # fmt: skip
        choice = self.rng.integers(7)
        if choice == 0:
            return "visits", _named(visits)
        if choice == 1:
            on = {kind: [f"v.{name}" for name in found] for kind, found in visits.items()}
            on["number"] += ["w.beds", "w.floor"]
            return f"visits v {self.pick('', 'LEFT ')}JOIN wards w ON v.ward = w.ward", _named(on)
        if choice == 2:
            on = {kind: [f"v.{name}" for name in found] for kind, found in visits.items()}
            on["number"] += ["l.value"]
            more = self.pick("", " AND v.age = l.value")
            return f"visits v {self.pick('', 'LEFT ')}JOIN labs l ON v.patient = l.patient{more}", _named(on)
        inner = _named(visits)
        if choice == 3:
            totals = (
                f"SUM({self.number(inner)}) AS s, COUNT(*) AS n, {self.pick('MIN', 'MAX')}(age) AS m, AVG(cost) AS a"
            )
            where = self.pick("", f" WHERE {self.truth(inner)}")
            return f"(SELECT patient, {totals} FROM visits{where} GROUP BY patient) t", _named({"number": list("snma")})
        if choice == 4:
            totals = f"COUNT({self.number(inner, 1)}) AS n, MAX(day) AS d, SUM(icu) AS s"
            sql = f"(SELECT ward, {totals} FROM visits GROUP BY patient, ward) t"
            return sql, _named({"number": ["n", "s"], "ward": ["ward"], "day": ["d"]})
        if choice == 5:
            where = self.pick("", f" WHERE {self.truth(inner, 1)}")
            first = f"SELECT patient, {self.number(inner, 1)} AS x, city AS c FROM visits{where}"
            second = f"SELECT patient, {self.number(inner, 1)}, city FROM visits"
            return f"({first} UNION ALL {second}) t", _named({"number": ["x"], "text": ["c"]})
        return (
            "(SELECT patient, SUM(value) AS total FROM labs GROUP BY patient) l JOIN visits v USING (patient)",
            _named({"number": ["l.total", "v.age"], "ward": ["v.ward"], "text": ["v.city"]}),
        )

    def question(self) -> str:
        """One question."""
        clause, names = self.source()
        keys = [self.pick(*names["ward"])] if names["ward"] and self.rng.random() < 0.5 else []
        keys += [f"FLOOR({self.pick(*names['number'])} / 40)"] if self.rng.random() < 0.3 else []
        undeclared = bool(names["text"]) and self.rng.random() < 0.15
        keys += [self.pick(*names["text"])] if undeclared else []
        aggregates = [
            "COUNT(*)",
            f"COUNT({self.number(names)})",
            f"SUM({self.number(names)})",
            f"AVG({self.number(names)})",
        ]
        if not undeclared:
            aggregates += [f"MEDIAN({self.number(names, 1)})", f"MAX({self.pick(*names['number'])})"]
        chosen = [aggregates[i] for i in sorted({int(i) for i in self.rng.integers(0, len(aggregates), 3)})]
        where = f" WHERE {self.truth(names)}" if self.rng.random() < 0.6 else ""
        group = f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}" if keys else ""
        outputs = ", ".join([*keys, *(f"{item} AS o{i}" for i, item in enumerate(chosen))])
        return f"SELECT {outputs} FROM {clause}{where}{group}"


def _named(found: dict[str, list[str]]) -> dict[str, list[str]]:
    made = {kind: list(found.get(kind, [])) for kind in ("number", "ward", "day", "moment", "truth", "text")}
    return made | {"all": [name for names in made.values() for name in names]}
