"""Counting queries from predicates: functions of a row, conditions, or text as in WHERE.

A predicate is tried on every combination of values of the columns it reads, and on no data: text by the same engine and
the same reading of values as questions are, so that `"age >= 65 AND ward = 'surgery'"` means what it means there.
The query is a table over these columns; others do not enter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.data.columns import Column
from discreet.data.domain import Domain
from discreet.data.records import countable
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.queries.combined import Stacked
from discreet.queries.counting import Conjunction
from discreet.queries.local import Junta
from discreet.queries.workload import DENSEST, Workload
from discreet.queries.written import Dense

if TYPE_CHECKING:
    import numpy.typing as npt

Predicate = str | Conjunction | Callable[[Mapping[str, Any]], object]


def from_predicates(
    domain: Domain, predicates: Sequence[Predicate], *, columns: Sequence[str] | None = None
) -> Workload:
    """One counting query per predicate: text as in WHERE, a `Conjunction`, or a function of a row.

    A function is given a mapping from column names to values, where NULL is None; `columns` names those it reads,
    all of them if not given.

    >>> from discreet.data.columns import Boolean, Integer
    >>> domain = Domain({"age": Integer(60, 62), "icu": Boolean()})
    >>> from_predicates(domain, ["age > 60 AND icu", lambda row: row["icu"]]).matrix().tolist()
    [[0, 0, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1]]
    """
    kept = countable(domain)
    require(not isinstance(predicates, str) and len(predicates) >= 1, "a list of predicates", predicates=predicates)
    found = [_query(kept, predicate, columns) for predicate in predicates]
    if all(len(query.names) == len(kept) for query in found):
        import numpy as np

        return Dense(np.stack([query.table.reshape(-1) for query in found]), kept)
    return Stacked(found)


def _query(domain: Domain, predicate: Predicate, columns: Sequence[str] | None) -> Junta:
    if isinstance(predicate, str):
        return _from_text(domain, predicate)
    if isinstance(predicate, Conjunction):
        columns = list(dict.fromkeys(name for name, _, _ in predicate.conditions))
        test = _holds(predicate)
    elif callable(predicate):
        test = predicate
    else:
        raise ParameterError(f"need text, a Conjunction or a function of a row, got {type(predicate).__name__}")
    names = tuple(name for name in domain if columns is None or name in columns)
    require(columns is None or set(columns) == set(names), "columns of the domain", columns=columns)
    _listed(domain, names)
    rows = itertools.product(*(values(domain[name]) for name in names))
    return _table(domain, names, [_truth(test(dict(zip(names, row, strict=True)))) for row in rows])


def _table(domain: Domain, names: Sequence[str], truths: Sequence[bool] | npt.NDArray[Any]) -> Junta:
    import numpy as np

    return Junta(domain, names, np.asarray(truths, dtype=np.int64))


def _holds(conjunction: Conjunction) -> Callable[[Mapping[str, Any]], bool]:
    return lambda row: conjunction(tuple(row.get(name) for name in conjunction.columns))


def _from_text(domain: Domain, text: str) -> Junta:
    """Count the predicate on a table that holds every combination of values once."""
    import pyarrow as pa

    from discreet.data.aggregation import Aggregation, Measure, Sealed
    from discreet.data.engines.duckdb import DuckDB
    from discreet.data.table import Table
    from discreet.queries.compile import Grouping
    from discreet.queries.expression import Ref, predicate_code, tree
    from discreet.queries.sql import parse

    question = parse(f"SELECT COUNT(*) FROM cells WHERE {text}", {"cells": Table("", domain=domain, unit=None)})
    if question.where is None or question.keys or not question.columns() or question.tables != ("cells",):
        raise ParameterError(f"need a predicate as in WHERE, got {text!r}")
    names = [name for name in domain if name in question.columns()]
    _listed(domain, names)
    rows = list(itertools.product(*(values(domain[name]) for name in names)))
    universe = pa.table({name: pa.array([row[place] for row in rows]) for place, name in enumerate(names)})
    keys = [Grouping(Ref(name, domain[name]), domain[name].size).key() for name in names]
    counted = Aggregation(
        columns=tuple(names),
        where=tree(predicate_code(question.where)),
        keys=tuple(keys),
        measures=(Measure(kind="rows"),),
        unit=None,
        rows_per_unit=1,
        groups_per_unit=1,
        salt=0,
    )
    sealed = DuckDB().run(Table(universe, domain=domain.project(names), unit=None), counted)
    assert isinstance(sealed, Sealed)
    return sealed.through(lambda cells: _table(domain, names, cells[:, 0]))  # nobody's rows: the universe itself


def _listed(domain: Domain, names: Sequence[str]) -> None:
    cells = math.prod(domain[name].size for name in names)
    if cells > DENSEST:
        raise UnsupportedError(f"a predicate is tried on at most {DENSEST:,} combinations of values, got {cells:,}")


def values(declared: Column) -> list[Any]:
    """The value of every position; None for NULL.

    >>> from discreet.data.columns import Integer
    >>> values(Integer(3, 5, nullable=True))
    [3, 4, 5, None]
    """
    low, high = declared.codes
    return [declared.decode(code) for code in range(low, high + 1)] + [None] * declared.nullable


def _truth(value: object) -> bool:
    """NULL counts as false."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if type(value).__name__ == "bool" or value in (0, 1):  # numpy's truth values
        return bool(value)
    raise ParameterError(f"need a predicate that is true or false, got {type(value).__name__}")
