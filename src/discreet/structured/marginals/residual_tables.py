"""From tables of counts to residuals, and from residuals back to tables, in blocks: the universe is never listed.

Only tables that no other needed table contains are counted; the coordinates of every residual are taken once, as exact
integers, from one table that contains its columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from discreet.data.engines.choose import engine_for
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.positions import positions
from discreet.data.engines.tables_of_counts import TablesOfCounts
from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.data.relation import Relation
from discreet.data.table import Table
from discreet.errors import DomainError, UnsupportedError
from discreet.queries.marginals import Marginals
from discreet.release.counted import counted, one_dataset
from discreet.structured.marginals.residual import Residuals, Tables

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.privacy.neighbours import Neighbours
    from discreet.queries.workload import Countable
    from discreet.structured.marginals.residual import Floats, Places

    Counts = npt.NDArray[np.int64]

CELLS = 1 << 21  # of the tables that are worked on at a time


def source(data: object, workload: Marginals, neighbours: type[Neighbours]) -> Countable:
    """What the tables are counted from: a histogram, rows, a frame or file that is encoded first, or a private table.

    A table with one row to a unit is read row by row by the embedded engine, and by few group-bys elsewhere: by one, if
    units may be replaced.
    """
    if not isinstance(data, Table):
        return one_dataset(counted(data, workload.domain, neighbours=neighbours), neighbours)
    if data.rows_per_unit != 1:
        raise UnsupportedError("a unit with several rows is paid for by Curator.release; here rows_per_unit must be 1")
    for name, declared in workload.domain.items():
        if name == data.unit or data.domain[name] != declared:
            raise DomainError(f"the table declares column {name!r} otherwise than the workload")
    engine = data.engine or engine_for(data.source)
    if isinstance(engine, DuckDB) and not isinstance(data.source, Relation):
        bound = {"unit": data.unit, "rows_per_unit": 1, "salt": data.salt, "engine": engine}
        return Records(workload.domain, positions(data.source, workload.domain, **bound))
    return one_dataset(TablesOfCounts(data, workload.sets, domain=workload.domain), neighbours)


def measured(
    residuals: Residuals, data: Countable, noisy: Callable[[Counts, Places, tuple[int, ...]], Floats]
) -> Floats:
    """All coordinates of all residuals, each passed once through `noisy(integers, residual numbers, shape)`."""
    import numpy as np

    from discreet.structured.marginals.residual_kernels import analyse, in_threads

    out = np.empty(residuals.coordinates)
    tables = _tables(residuals, data)
    for group, rows, tasks in _tasks(residuals):
        counts = np.stack([table.reshape(-1) for table in tables(_names(data, group, rows))])
        in_threads(analyse, counts, np.array(group.shape, dtype=np.int64))
        for pattern, here in tasks:
            part = counts.reshape(-1, *group.shape)[(slice(None), *corner(pattern, len(group.shape)))]
            numbers = group.parts[pattern][rows[here]]
            shape = tuple(k for i, k in enumerate(group.shape) if pattern >> i & 1)
            values = noisy(part[here].reshape(len(here), -1), numbers, shape)
            spread(out, residuals.starts[numbers], values)
    return out


def corner(pattern: int, columns: int) -> tuple[slice, ...]:
    """Where the coordinates of a residual lie in an analysed table: the totals of the columns it lacks are at 0."""
    return tuple(slice(1, None) if pattern >> i & 1 else slice(0, 1) for i in range(columns))


def _tasks(residuals: Residuals) -> Iterator[tuple[Tables, Places, list[tuple[int, Places]]]]:
    """Groups of tables to count, and for each pattern of columns those of them a residual is taken from."""
    import numpy as np

    taken = np.zeros(len(residuals), dtype=bool)
    for group in sorted(residuals.tables, key=lambda group: -len(group.shape)):
        source = np.zeros((len(group.parts), len(group.numbers)), dtype=bool)
        for pattern, part in enumerate(group.parts):
            numbers, first = np.unique(part, return_index=True)
            source[pattern, first[~taken[numbers]]] = True
            taken[numbers] = True
        needed = np.flatnonzero(source.any(axis=0))
        for rows in pieces(needed, math.prod(group.shape)):
            yield group, rows, [(p, np.flatnonzero(use)) for p, use in enumerate(source[:, rows]) if use.any()]
    assert taken.all()


def pieces(rows: Places, cells: int) -> Iterator[Places]:
    """The rows in parts that are worked on at a time."""
    step = max(1, CELLS // cells)
    return (rows[start : start + step] for start in range(0, len(rows), step))


def _names(data: Countable, group: Tables, rows: Places) -> list[tuple[str, ...]]:
    names = list(data.domain)
    return [tuple(names[place] for place in columns) for columns in group.columns[rows].tolist()]


def _tables(residuals: Residuals, data: Countable) -> Callable[[list[tuple[str, ...]]], list[Counts]]:
    """How sets of columns are counted; a histogram is summed up once for all of them, axis by axis."""
    import numpy as np

    from discreet.data.arrays import to_numpy
    from discreet.hazmat.integers import integers

    if isinstance(data, Records | TablesOfCounts):
        return data.marginals
    if isinstance(data, Histogram):
        sets = [names for group, rows, _ in _tasks(residuals) for names in _names(data, group, rows)]
        every = Marginals(data.domain, tuple(sets))
        found = every.tables(np.asarray(integers(to_numpy(every.apply(data.counts.reshape(-1))))))
        return lambda names: [found[one] for one in names]
    return lambda names: [np.asarray(integers(data.marginal(one))) for one in names]


def rebuilt(residuals: Residuals, values: Floats, group: Tables, rows: Places) -> Floats:
    """Some tables of a group, from the coordinates of their residuals: a row for each."""
    import numpy as np

    from discreet.structured.marginals.residual_kernels import in_threads, synthesise

    batch = np.empty((len(rows), math.prod(group.shape)))
    shaped = batch.reshape(-1, *group.shape)
    for pattern, numbers in enumerate(group.parts[:, rows]):
        place = shaped[(slice(None), *corner(pattern, len(group.shape)))]
        place[...] = _gathered(values, residuals.starts[numbers], math.prod(place.shape[1:])).reshape(place.shape)
    in_threads(synthesise, batch, np.array(group.shape, dtype=np.int64))
    return batch


def _gathered(values: Floats, starts: Places, width: int) -> Floats:
    """The runs of `width` values from each start on."""
    import numpy as np

    if in_a_row(starts, width):
        return values[starts[0] : starts[0] + width * len(starts)]
    return values[starts[:, None] + np.arange(width)]


def spread(out: Floats, starts: Places, runs: Floats) -> None:
    """Put runs of values from each start on."""
    import numpy as np

    if in_a_row(starts, runs.shape[1]):
        out[starts[0] : starts[0] + runs.size] = runs.ravel()
    else:
        out[starts[:, None] + np.arange(runs.shape[1])] = runs


def in_a_row(starts: Places, width: int) -> bool:
    """Whether the runs of `width` values follow one another."""
    return bool((starts[1:] - starts[:-1] == width).all())


def answers(residuals: Residuals, values: Floats, workload: Marginals) -> Floats:
    """All tables of the workload, in its order and multiplied by its weights."""
    import numpy as np

    out = np.empty(len(workload))
    for group in residuals.tables:
        for rows in pieces(np.arange(len(group.numbers)), math.prod(group.shape)):
            spread(out, group.starts[rows], rebuilt(residuals, values, group, rows) * group.weights[rows][:, None])
    return out
