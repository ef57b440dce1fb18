"""The positions of all values of a frame or file, row by row, by the SQL that encodes them everywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.data.domain import Domain, missing
from discreet.data.engines import sources
from discreet.data.engines.codes import code
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.results import constant_faults, reached
from discreet.errors import DomainError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def positions(frame: object, domain: Domain) -> list[npt.NDArray[np.int64]]:
    """One array per column; rows with a NULL where none is declared are dropped.

    >>> import pandas as pd
    >>> from discreet.data.columns import Integer
    >>> [column.tolist() for column in positions(pd.DataFrame({"age": [3, 99, None]}), Domain({"age": Integer(1, 9)}))]
    [[2, 8]]
    """
    import numpy as np

    with DuckDB()._open() as connection:
        (place,) = reached(lambda: sources.attach(connection, [frame]), "the source cannot be opened")
        physical = sources.columns(connection, place)
        chosen, kept = [], []
        for number, (name, declared) in enumerate(domain.items()):
            if name not in physical:
                raise DomainError(missing(name, list(physical), what="column"))
            low, high = declared.codes
            value = f"{code(declared, name=name, physical=physical[name])} - {low}"
            if declared.nullable:
                value = f"COALESCE({value}, {high - low + 1})"
            else:
                kept.append(f"c{number} IS NOT NULL")
            chosen.append(f"{value} AS c{number}")
        where = f" WHERE {' AND '.join(kept)}" if kept else ""
        sql = f"SELECT * FROM (SELECT {', '.join(chosen)} FROM {place}){where}"
        found = constant_faults(lambda: connection.execute(sql).fetchnumpy())
    return [np.asarray(found[f"c{number}"]) for number in range(len(domain))]
