"""The counts of one column of a table, by one GROUP BY on whatever engine holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation, Key, Measure, Sealed
from discreet.data.columns import Column
from discreet.data.engines.choose import engine_for
from discreet.data.table import Table
from discreet.errors import DomainError
from discreet.queries.expression import quoted, tree

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def column_counts(table: Table, name: str, declared: Column) -> npt.NDArray[np.int64]:
    """How many kept rows have each value; of a unit at most `rows_per_unit` rows are kept.

    >>> import pandas as pd
    >>> from discreet.data.columns import Integer
    >>> from discreet.data.domain import Domain
    >>> ages = Domain({"age": Integer(0, 3)})
    >>> table = Table(pd.DataFrame({"age": [1, 1, 3]}), domain=ages, unit=None)
    >>> column_counts(table, "age", ages["age"]).tolist()
    [0, 2, 0, 1]
    """
    if table.domain[name] != declared:
        raise DomainError(f"the column {name!r} is declared differently in the table")
    low, high = declared.codes
    code = f"({quoted(name)}) - ({low})"
    if declared.nullable:
        code = f"CASE WHEN {quoted(name)} IS NULL THEN {high - low + 1} ELSE {code} END"
    made = Aggregation(
        columns=tuple(column for column in table.domain if column == name),
        where=None,
        keys=(Key(code=tree(code), size=declared.size),),
        measures=(Measure(kind="rows"),),
        unit=table.unit,
        rows_per_unit=table.rows_per_unit,
        groups_per_unit=table.rows_per_unit,
        salt=table.salt,
    )
    engine = table.engine or engine_for(table.source)
    engine.ready(table, made)
    found = engine.run(table, made)
    assert isinstance(found, Sealed)
    return found.through(lambda cells: cells[:, 0].astype("int64"))
