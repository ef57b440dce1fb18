"""Broken front ends: bugs that privacy libraries have had, re-created one by one.

Each twin is a question, two neighbours and a way to break the curator; record and replay must see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.curator import answer as answers
from discreet.curator import curator as curators
from discreet.curator import question as questions
from discreet.curator.curator import Curator
from discreet.curator.estimate import Estimate
from discreet.curator.plan import plan
from discreet.data import Boolean, Categorical, Domain, Identifier, Integer, Real, Table
from discreet.data.aggregation import Aggregation, Sealed
from discreet.data.engines.duckdb import DuckDB
from discreet.ledger import Receipt
from discreet.privacy import PureDP
from discreet.privacy.number import exact
from discreet.queries.compile import Part
from discreet.queries.expression import Ref, number
from discreet.queries.source import bound
from tests.curator.checks.worlds import World

DOMAIN = Domain(
    {
        "patient": Identifier(),
        "ward": Categorical(["cardiology", "oncology", "surgery"], nullable=True),
        "age": Integer(10, 119),
        "cost": Real(-20, 5000, step=1),
        "smokes": Boolean(),
    }
)
HEAVY = 0  # the unit that comes and goes


def rows(**heavy: list[object]) -> tuple[pa.Table, pa.Table]:
    """Nine people with a row each, and one with many; with and without the last.  Keywords replace its values."""
    count = len(next(iter(heavy.values()))) if heavy else 6
    wards = ["cardiology", "oncology"]
    base = {
        "patient": list(range(1, 10)),
        "ward": [wards[i % 2] for i in range(9)],
        "age": [20 + i for i in range(9)],
        "cost": [100.0 * i for i in range(9)],
        "smokes": [i % 3 == 0 for i in range(9)],
    }
    extra = {
        "patient": [HEAVY] * count,
        "ward": (["surgery", *wards] * count)[:count],
        "age": [119] * count,
        "cost": [5000.0] * count,
        "smokes": [True] * count,
    } | heavy
    kinds = {"patient": pa.int64(), "ward": pa.string(), "age": pa.int64(), "cost": pa.float64(), "smokes": pa.bool_()}
    both = [{n: pa.array(extra[n] + base[n], kinds[n]) for n in kinds}, {n: pa.array(base[n], kinds[n]) for n in kinds}]
    return pa.table(both[0]), pa.table(both[1])


class Altered:
    """DuckDB, with a mistake before, around or after it."""

    def __init__(self, *, before: Callable = lambda t, a: (t, a), after: Callable = lambda cells, t, a: cells) -> None:
        self.inner, self.before, self.after = DuckDB(plain=True, threads=1), before, after

    def ready(self, table: object, aggregation: object) -> None:
        """Whatever is asked."""

    def check(self) -> None:
        """Nothing."""

    def run(self, table: Table, aggregation: Aggregation) -> Sealed:
        table, aggregation = self.before(table, aggregation)
        cells = self.inner.run(table, aggregation).through(lambda found: found)
        return Sealed(self.after(cells, table, aggregation))


def at(table: Table, source: pa.Table) -> Table:
    """The same declaration over other rows."""
    return Table(
        source,
        domain=table.domain,
        unit=table.unit,
        rows_per_unit=table.rows_per_unit,
        groups_per_unit=table.groups_per_unit,
    )


def declared(table: Table, domain: Domain) -> Table:
    """The same rows under another declaration."""
    return Table(
        table.source,
        domain=domain,
        unit=table.unit,
        rows_per_unit=table.rows_per_unit,
        groups_per_unit=table.groups_per_unit,
    )


@dataclass(frozen=True)
class Twin:
    """A broken front end and where it shows."""

    name: str
    sql: str = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    heavy: dict[str, list[object]] = field(default_factory=dict)
    engine: Altered | None = None
    curator: type[Curator] = Curator
    patches: tuple[tuple[object, str, object], ...] = ()
    asked: dict[str, object] = field(default_factory=lambda: {"epsilon": 1})
    bounds: dict[str, int] = field(default_factory=lambda: {"rows_per_unit": 2, "groups_per_unit": 2})

    def world(self) -> World:
        """The question on two neighbours."""
        made = [Table(found, domain=DOMAIN, unit="patient", **self.bounds) for found in rows(**self.heavy)]
        return World(self.sql, made[0], made[1], self.asked)

    @contextmanager
    def broken(self) -> Iterator[dict[str, object]]:
        """The front end with its mistake; yields how to run it."""
        with ExitStack() as stack:
            for target, name, instead in self.patches:
                stack.enter_context(patch.object(target, name, instead))
            yield {"engine": self.engine, "curator": self.curator}


def _loose(table, aggregation):
    return table, replace(aggregation, rows_per_unit=10**6, groups_per_unit=10**6)


def _in_batches(cells, table, aggregation):
    source, inner = table.source, DuckDB(plain=True, threads=1)
    pieces = [source.slice(i, 3) for i in range(0, source.num_rows, 3)]
    return sum(inner.run(at(table, piece), aggregation).through(lambda found: found) for piece in pieces)


def _unclamped(table, aggregation):
    wide = Domain({**table.domain, "cost": Real(-(10**9), 10**9, step=1)})
    measures = tuple(replace(m, low=-(10**12), high=10**12) if m.kind == "sum" else m for m in aggregation.measures)
    return declared(table, wide), replace(aggregation, measures=measures)


def _clip_only(cells, table, aggregation):
    total = np.clip(table.source["cost"].to_numpy(), -20, 5000).sum()  # NaN passes
    return np.full_like(cells, int(np.nan_to_num(total, nan=-(2**62))))


def _resized(table, aggregation):
    return at(table, table.source.slice(0, 9)), aggregation


def _even(table, aggregation):
    return at(table, table.source.slice(0, table.source.num_rows // 2 * 2)), aggregation


def _ranked(table, aggregation):
    source = table.source
    place = pa.array([["cardiology", "oncology", "surgery"][i % 3] for i in range(source.num_rows)])
    return at(table, source.set_column(source.schema.get_field_index("ward"), "ward", place)), aggregation


def _raises(cells, table, aggregation):
    for value in table.source["cost"].to_pylist():
        int(value)  # NaN and infinity cannot be converted
    return cells


def _present(table):
    return sorted(ward for ward in set(table.source["ward"].to_pylist()) if ward is not None)


def _codes_from_data(table, aggregation):
    listed = _present(table)
    missing = [w for w in DOMAIN["ward"].values if w not in listed]
    return declared(
        table, Domain({**table.domain, "ward": Categorical([*listed, *missing], nullable=True)})
    ), aggregation


class KeysFromData(Curator):
    """The groups are those that occur."""

    def query(self, question):
        for name, table in self.tables.items():
            self.tables[name] = declared(
                table, Domain({**table.domain, "ward": Categorical(_present(table), nullable=True)})
            )
        return super().query(question)


class BoundsFromData(Curator):
    """Bounds are the least and the greatest value."""

    def query(self, question):
        for name, table in self.tables.items():
            ends = pc.min_max(table.source["age"]).as_py()
            self.tables[name] = declared(table, Domain({**table.domain, "age": Integer(ends["min"], ends["max"])}))
        return super().query(question)


class NullsFromData(Curator):
    """A column is nullable if it holds a NULL."""

    def query(self, question):
        for name, table in self.tables.items():
            listed, some = table.domain["ward"].values, table.source["ward"].null_count > 0
            self.tables[name] = declared(table, Domain({**table.domain, "ward": Categorical(listed, nullable=some)}))
        return super().query(question)


class Disclosing(Curator):
    """Questions and plans hold the rows, so that whatever is made from them may look.  By itself it changes nothing."""

    def query(self, question):
        found = super().query(question)
        return replace(found, source=bound(found.source, lambda named: self.tables[named.name]))


class ChargedAfter(Curator):
    """The price is taken once the answer is there."""

    def _pay(self, step, *, analyst, fresh):
        self._later = (step, analyst, fresh)
        return Receipt(id=0, time="", price=step.price, hash=""), None

    def _release(self, step, passes, engine, held):
        released = super()._release(step, passes, engine, held)
        step, analyst, fresh = self._later
        Curator._pay(self, step, analyst=analyst, fresh=fresh)
        return released

    def ask(self, *args, **keywords):
        with patch.object(self.ledger, "store", lambda *_, **__: None):
            return super().ask(*args, **keywords)


class FreeWhenEmpty(ChargedAfter):
    """Nothing is charged where nobody was found."""

    def _release(self, step, passes, engine, held):
        cells = engine.inner.run(held, passes[0]).through(lambda found: found)
        return super()._release(step, passes, engine, held) if cells.any() else ([c * 0 for c in cells.T], None)


class Unnoised(Curator):
    """No bound is known for the number of people, so it gets no noise."""

    def _release(self, step, passes, engine, held):
        exact_cells = engine.run(held, passes[0])
        return [
            exact_cells.through(
                lambda cells, i=i, r=release: cells[:, i] if r.part.kind == "units" else r.mechanism(cells[:, i])
            )
            for i, release in enumerate(step.releases)
        ], None


class OneDraw(Curator):
    """One draw serves all columns."""

    def _release(self, step, passes, engine, held):
        cells = engine.run(held, passes[0]).through(lambda found: found)
        first = step.releases[0].mechanism(cells[:, 0])
        return [first - cells[:, 0] + cells[:, i] for i in range(len(step.releases))], None


class DrawnAgain(Curator):
    """Every look at the answer draws again; one charge."""

    def _release(self, step, passes, engine, held):
        super()._release(step, passes, engine, held)
        return [
            Sealed(engine.inner.run(held, passes[0]).through(lambda c: c)).through(
                lambda cells, i=i, r=release: r.mechanism(cells[:, i])
            )
            for i, release in enumerate(step.releases)
        ], None


class TrueMedian(Curator):
    """The middle row itself, and noise only around it."""

    def _release(self, step, passes, engine, held):
        noisy, groups = super()._release(step, passes, engine, held)
        ages = sorted(held.source["age"].to_pylist())
        return [np.full_like(noisy[0], ages[len(ages) // 2] - 10), *noisy[1:]], groups


real_grid = questions.grid


def _grid_for_one_row(query, table, rank, *, rows):
    """Every row is kept, and one is paid for."""
    return replace(real_grid(query, table, rank, rows=rows), rows_per_unit=10**6, groups_per_unit=10**6)


def _population(step):
    return int(step.table.source.num_rows)


def _shared_by_rows(query, table, **rest):
    """Epsilon grows with the table."""
    return plan(
        query,
        table,
        budget=PureDP(exact(rest.pop("epsilon")) * table.source.num_rows / 100),
        **{k: v for k, v in rest.items() if k != "budget"},
    )


def _local(query, table, **rest):
    """Noise for the values that are there, not for those that could be."""
    most = max(1, int(max(table.source["age"].to_pylist(), default=1)))
    with patch.object(Part, "reach", property(lambda part: most)):
        return plan(query, table, **rest)


def _exact_n(chosen, aggregate, noisy, *, beta, cells=1):
    """The average over the true number of rows."""
    value = noisy[-1].astype(float) / _population(chosen)
    return Estimate(value, value, value)


def _exact_having(self):
    """Groups are shown if they truly have a row."""
    there = _present(self.plan.table)
    return np.array([i for i, key in enumerate(self._keys) if key[0] in there], dtype=np.int64)


def _by_size(self):
    """Groups come in the order of their true size."""
    found = self.plan.table.source["ward"].to_pylist()
    return np.array(sorted(range(self.plan.cells), key=lambda i: -found.count(self._keys[i][0])), dtype=np.int64)


def _swallowed(cells, table, aggregation):
    """Text that cannot be read makes the whole answer zero."""
    bad = any(v is not None and not math.isfinite(v) for v in table.source["cost"].to_pylist())
    return np.zeros_like(cells) if bad else cells + (10**6 if table.source.num_rows > 9 else 0)


def _in_32_bits(cells, table, aggregation):
    """Sums near the largest that 32 bits hold, whatever type they come in."""
    return (cells + (2**31 - 4000) + 2**31) % 2**32 - 2**31


def _column_only(part):
    """The bounds of the column, where the expression is what is added up."""
    names = sorted(part.argument.columns()) if part.argument is not None and part.kind == "sum" else []
    bounds = number(Ref(names[0], DOMAIN[names[0]])) if names else None
    return 1 if bounds is None else max(abs(bounds.low), abs(bounds.high))


half = Part.sensitivity


def _halved(part, rows, groups):
    l1, square = half(part, rows, groups)
    return max(1, l1 // 2), max(1, square // 4)


def _l2_for_l1(part, rows, groups):
    square = half(part, rows, groups)[1]
    return math.isqrt(square), square


def _row_level(part, rows, groups):
    return half(part, 1, 1)


def _low_twice(part):
    return max(1, abs(part.bounds[0]))


SUM = "SELECT SUM(cost) FROM visits"
ONE = {"rows_per_unit": 1, "groups_per_unit": 1}
TWINS = [
    Twin("NaN passes the clamp", SUM, {"cost": [math.nan]}, engine=Altered(after=_clip_only)),
    Twin("the clamp is forgotten", SUM, {"cost": [1e8]}, engine=Altered(before=_unclamped)),
    Twin(
        "the clamp is on the column, not on the expression",
        "SELECT SUM(cost * 10) FROM visits",
        patches=((Part, "reach", property(_column_only)),),
    ),
    Twin(
        "the lower bound is used twice",
        "SELECT SUM(cost) FROM visits",
        patches=((Part, "reach", property(_low_twice)),),
    ),
    Twin("the sensitivity is halved", patches=((Part, "sensitivity", _halved),)),
    Twin("the sensitivity is that of a row, not of a person", patches=((Part, "sensitivity", _row_level),)),
    Twin(
        "the l2 sensitivity for l1 noise",
        "SELECT ward, COUNT(DISTINCT patient) FROM visits GROUP BY ward",
        {"ward": ["surgery", "oncology", "cardiology"]},
        patches=((Part, "sensitivity", _l2_for_l1),),
    ),
    Twin("truncation is forgotten", engine=Altered(before=_loose)),
    Twin(
        "truncation of groups is forgotten",
        "SELECT ward, COUNT(DISTINCT patient) FROM visits GROUP BY ward",
        engine=Altered(before=lambda t, a: (t, replace(a, groups_per_unit=10**6, rows_per_unit=3))),
        bounds={"rows_per_unit": 3, "groups_per_unit": 1},
    ),
    Twin("truncation is done batch by batch", engine=Altered(after=_in_batches)),
    Twin("each row is taken for a person", engine=Altered(before=lambda t, a: (t, replace(a, unit=None)))),
    Twin("a join repeats rows after truncation", engine=Altered(after=lambda cells, t, a: cells * 3)),
    Twin("keys are those in the data", curator=KeysFromData),
    Twin(
        "category codes are made from the data",
        engine=Altered(before=_codes_from_data),
        heavy={"ward": ["arrhythmia", "surgery"]},
    ),
    Twin("bounds are those of the data", "SELECT SUM(age) FROM visits", curator=BoundsFromData),
    Twin("whether NULL is a key depends on the data", heavy={"ward": [None]}, curator=NullsFromData),
    Twin(
        "the average divides by the true n",
        "SELECT AVG(cost) FROM visits",
        curator=Disclosing,
        patches=((answers, "estimate", _exact_n),),
    ),
    Twin(
        "noise is for the values that are there",
        "SELECT SUM(age) FROM visits",
        curator=Disclosing,
        patches=((curators, "plan", _local),),
    ),
    Twin(
        "no noise where the sensitivity is unknown",
        "SELECT COUNT(*), COUNT(DISTINCT patient) FROM visits",
        curator=Unnoised,
    ),
    Twin("one draw for two columns", "SELECT COUNT(*), COUNT(DISTINCT patient) FROM visits", curator=OneDraw),
    Twin("a second draw for one charge", curator=DrawnAgain),
    Twin("charged after the run", curator=ChargedAfter),
    Twin("free when nobody is found", "SELECT COUNT(*) FROM visits WHERE age > 100", curator=FreeWhenEmpty),
    Twin(
        "the price depends on the size of the table", curator=Disclosing, patches=((curators, "plan", _shared_by_rows),)
    ),
    Twin(
        "32-bit sums wrap around",
        "SELECT SUM(cost) FROM visits",
        {"cost": [5000.0]},
        engine=Altered(after=_in_32_bits),
    ),
    Twin("a cast error escapes", heavy={"cost": [math.inf]}, engine=Altered(after=_raises)),
    Twin(
        "a value that cannot be read empties the answer", heavy={"cost": [math.nan]}, engine=Altered(after=_swallowed)
    ),
    Twin(
        "groups come in the order of their size",
        heavy={"ward": ["surgery"] * 6},
        curator=Disclosing,
        patches=((answers.Answer, "_rows", property(_by_size)),),
    ),
    Twin("the table is resized to its usual number of rows", engine=Altered(before=_resized), bounds=ONE),
    Twin("the odd row is dropped", heavy={"ward": ["surgery"]}, engine=Altered(before=_even), bounds=ONE),
    Twin(
        "an operator depends on the order of rows",
        "SELECT ward, SUM(cost) FROM visits GROUP BY ward",
        {"ward": ["surgery"]},
        engine=Altered(before=_ranked),
        bounds=ONE,
    ),
    Twin(
        "groups are shown if they truly exist",
        curator=Disclosing,
        patches=((answers.Answer, "_rows", property(_exact_having)),),
    ),
    Twin("rows of a rank are not truncated", "SELECT MEDIAN(age) FROM visits", engine=Altered(before=_loose)),
    Twin(
        "the rank of a row, not of a person",
        "SELECT ward, MEDIAN(age) FROM visits GROUP BY ward",
        patches=((questions, "grid", _grid_for_one_row),),
    ),
    Twin("the median is that of the rows", "SELECT MEDIAN(age) FROM visits", curator=TrueMedian),
    Twin("the grid ends where the data does", "SELECT MAX(age) FROM visits", {"age": [119]}, curator=BoundsFromData),
    Twin(
        "a join multiplies what was truncated",
        "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient = b.patient",
        engine=Altered(before=_loose),
        asked={"epsilon": 1, "rows_per_unit": 1},
    ),
]
