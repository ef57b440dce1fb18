"""The positions of tables that are linked by their unit: one row of it in the parent, at most so many in each child.

Of each unit one row of the parent and the first `rows_per_unit` of each child are kept, by the keyed hashes of
`discreet.data.engines.positions`; rows of units that are not in the parent are dropped.  So what is kept of a unit, and
how many rows of each child, is a function of its own rows alone, and no row of another unit depends on it.  Rows come
in the order in which their tables have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.engines import row_numbers, sources
from discreet.data.engines.dialect import UnitKind
from discreet.data.engines.mending import fetched, read_again
from discreet.data.engines.positions import bounded, opened, statement
from discreet.data.engines.relations import naming_of
from discreet.data.engines.results import reached
from discreet.data.text_file import declared
from discreet.errors import SourceError

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import numpy.typing as npt

    from discreet.data.engines.duckdb import DuckDB

    Columns = list[npt.NDArray[np.int64]]


def linked_positions(
    frames: Mapping[str, object],
    domains: Mapping[str, Domain],
    *,
    unit: str,
    rows_per_unit: Mapping[str, int],
    salts: Mapping[str, int] | None = None,
    engine: DuckDB | None = None,
) -> dict[str, Columns]:
    """One list of columns for each table; the first table is the parent, `rows_per_unit` names the children.

    The parent has its own columns, then for each child how many rows of it the unit has.  A child has its own
    columns, then all those of the parent.

    >>> import pandas as pd
    >>> from discreet.data.columns import Boolean, Integer
    >>> people = pd.DataFrame({"who": [7, 8], "age": [3, 5]})
    >>> visits = pd.DataFrame({"who": [8, 8, 8, 9], "icu": [True, True, True, False]})
    >>> domains = {"people": Domain({"age": Integer(0, 9)}), "visits": Domain({"icu": Boolean()})}
    >>> found = linked_positions({"people": people, "visits": visits}, domains, unit="who", rows_per_unit={"visits": 2})
    >>> sorted(zip(*(column.tolist() for column in found["people"]))), [c.tolist() for c in found["visits"]]
    ([(3, 0), (5, 2)], [[1, 1], [5, 5], [2, 2]])
    """
    import numpy as np

    frames = {name: declared(frames[name], (*domain, unit)) for name, domain in domains.items()}
    sources.seal(list(frames.values()))

    def read(wanted: Sequence[object]) -> dict[str, Columns]:
        made: dict[str, Columns] = {}
        held = dict(zip(frames, wanted, strict=True))
        with opened(engine) as connection:
            selects = reached(lambda: _selects(connection, held, domains, unit), "the source cannot be opened")
            for name, (sql, wide) in _joined(selects, domains, rows_per_unit, salts or {}).items():
                found = fetched(connection, sql)
                columns = [np.asarray(found[f"c{place}"]).astype(np.int64) for place in range(wide)]
                made[name] = row_numbers.in_order(np.asarray(found["r"]), columns)
        return made

    return read_again(read, list(frames.values()))


def ready(
    frames: Mapping[str, object], domains: Mapping[str, Domain], *, unit: str, engine: DuckDB | None = None
) -> None:
    """Refuse an engine that fails its test, and sources, columns or units that are not there or differ in kind.

    Only the schemas are read.
    """
    frames = {name: declared(frames[name], (*domain, unit)) for name, domain in domains.items()}
    with opened(engine) as connection:
        reached(lambda: _selects(connection, frames, domains, unit, rows=False), "the source cannot be opened")
    for name, domain in domains.items():
        sources.check([frames[name]], [*domain, unit])


def _selects(
    connection: duckdb.DuckDBPyConnection,
    frames: Mapping[str, object],
    domains: Mapping[str, Domain],
    unit: str,
    *,
    rows: bool = True,
) -> dict[str, tuple[str, UnitKind]]:
    """For each table its rows with their units, and of which kind these are.

    All write them alike: where 7 is one integer without a sign and another with one, it would be two people.
    """
    held = [row_numbers.numbered(frames[name]) for name in domains]
    places = sources.attach(connection, held, rows=rows, ordered=True)
    made, namings = {}, set()
    for place, (name, domain) in zip(places, domains.items(), strict=True):
        sql, kind = statement(connection, frames[name], place, domain, unit)
        assert kind is not None
        made[name] = (sql, kind)
        namings.add(naming_of(kind, sources.columns(connection, place)[unit]))
    if len(namings) > 1:
        raise SourceError(
            f"the unit {unit!r} must be all integers, all texts or of one type in the tables {', '.join(made)},"
            f" got {sorted(namings)}"
        )
    return made


def _joined(
    selects: Mapping[str, tuple[str, UnitKind]],
    domains: Mapping[str, Domain],
    rows_per_unit: Mapping[str, int],
    salts: Mapping[str, int],
) -> dict[str, tuple[str, int]]:
    """The statement of each table and how many columns it has."""

    def kept(name: str, rows: int) -> str:
        sql, kind = selects[name]
        return bounded(sql, kind, len(domains[name]), rows, salts.get(name, 0), with_unit=True)

    parent = next(iter(domains))
    columns = len(domains[parent])
    people = ", ".join(f"p.c{place}" for place in range(columns))
    joins, numbers = [], []
    for place, (name, rows) in enumerate(rows_per_unit.items()):
        joins.append(f"LEFT JOIN (SELECT u, COUNT(*) AS n FROM ({kept(name, rows)}) GROUP BY u) AS t{place} USING (u)")
        numbers.append(f"COALESCE(t{place}.n, 0) AS c{columns + place}")
    whole = f"SELECT u, p.r AS r, {', '.join([people, *numbers])} FROM ({kept(parent, 1)}) AS p {' '.join(joins)}"
    wide = columns + len(numbers)
    made = {parent: (whole, wide)}
    for name, rows in rows_per_unit.items():
        own = len(domains[name])
        shown = ["k.r AS r", *(f"k.c{place} AS c{place}" for place in range(own))]
        shown += [f"w.c{place} AS c{own + place}" for place in range(wide)]
        sql = f"SELECT {', '.join(shown)} FROM ({kept(name, rows)}) AS k JOIN ({whole}) AS w USING (u)"
        made[name] = (sql, own + wide)
    return made
