"""True counts and sums of a source, before any noise: what tests of reading compare."""

from __future__ import annotations

from discreet.data.aggregation import Aggregation, Measure
from discreet.data.domain import Domain
from discreet.data.engines.duckdb import DuckDB
from discreet.data.table import Table
from discreet.queries.expression import tree

ENGINE = DuckDB(threads=1)


def added(source, domain, measure, *, columns, unit=None, engine=ENGINE):
    """The integer of one measure over all rows, at most a thousand of each unit."""
    bounds = {"rows_per_unit": 1000, "groups_per_unit": 1000} if unit else {"rows_per_unit": 1, "groups_per_unit": 1}
    table = Table(source, domain=domain, unit=unit, **bounds)
    asked = Aggregation(columns=columns, where=None, keys=(), measures=(measure,), unit=unit, salt=table.salt, **bounds)
    engine.ready(table, asked)
    return engine.run(table, asked).through(lambda cells: int(cells[0, 0]))


def rows_in(source, domain, *, unit=None, engine=ENGINE):
    """How many rows have a unit and a value in each column that needs one."""
    columns = tuple(name for name in domain if name != unit)
    kind = "units" if unit else "rows"
    return added(source, domain, Measure(kind=kind), columns=columns, unit=unit, engine=engine)


def total(source, name, declared, *, unit=None, engine=ENGINE):
    """The sum of the codes of one column."""
    low, high = declared.codes
    domain = {name: declared}
    measure = Measure(kind="sum", value=tree(f'"{name}"'), low=low, high=high)
    return added(source, Domain(domain), measure, columns=(name,), unit=unit, engine=engine)
