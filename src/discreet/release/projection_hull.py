"""The hull of the columns of a workload, as its linear oracle and its columns one by one.

The oracle is one `transpose` and a search for the largest entry.  Marginal tables of bits are turned into parities
first: a table f of w bits is the sum over the sets A of them of 2^-w (sum over b of f(b) chi_A(b)) chi_A, and the sum
of all tables over 2^d cells is a product of small matrices (`binary.values`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from discreet.data.records import Records
from discreet.errors import UnsupportedError
from discreet.queries.marginals import Marginals
from discreet.queries.workload import Workload
from discreet.release.binary import signs, subsets, values

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float64]

ORIGIN = -1  # the place of the point 0, where the hull includes it
DEGREE = 4  # columns of a table up to which parities pay


def hull(workload: Workload, rows: float, *, origin: bool) -> tuple[Callable[[Vector], int], Callable[[int], Vector]]:
    """The oracle and the columns of `rows` times the hull of the workload's columns, and of 0 if `origin`."""
    import numpy as np

    scores = _parity_scores(workload) if _of_bits(workload) else workload.transpose

    def oracle(direction: Vector) -> int:
        found = scores(direction)
        best = int(np.argmax(found))
        return ORIGIN if origin and found[best] <= 0 else best

    given = _table_column(workload) if isinstance(workload, Marginals) else _column(workload)

    def column(place: int) -> Vector:
        return np.zeros(len(workload)) if place == ORIGIN else rows * given(place)

    return oracle, column


def _column(workload: Workload) -> Callable[[int], Vector]:
    """A column of any workload: the answers on one row, or on a histogram of one cell."""
    import numpy as np

    sizes = [declared.size for declared in workload.domain.values()]

    def column(place: int) -> Vector:
        positions = [np.array([at]) for at in np.unravel_index(place, sizes)]
        try:
            answers = workload.from_marginals(Records(workload.domain, positions))
        except UnsupportedError:
            cell = np.zeros(workload.domain.size)
            cell[place] = 1.0
            answers = workload.apply(cell)
        return np.asarray(answers, dtype=np.float64)

    return column


def _table_column(workload: Marginals) -> Callable[[int], Vector]:
    """A column of marginal tables: one cell of each."""
    import numpy as np

    names = list(workload.domain)
    sizes = [declared.size for declared in workload.domain.values()]
    strides = np.zeros((len(workload.sets), len(names)), dtype=np.int64)  # (tables, columns)
    for table, chosen in enumerate(workload.sets):
        step = 1
        for name in reversed(chosen):
            strides[table, names.index(name)] = step
            step *= workload.domain[name].size
    first = np.cumsum([0, *workload.sizes[:-1]])
    weights = np.array([float(weight) for weight in workload.weights])

    def column(place: int) -> Vector:
        made = np.zeros(len(workload))
        made[first + strides @ np.array(np.unravel_index(place, sizes))] = weights
        return made

    return column


def _of_bits(workload: Workload) -> bool:
    """Whether it is small tables of columns of two values, which are scored by their parities."""
    if not isinstance(workload, Marginals) or any(declared.size != 2 for declared in workload.domain.values()):
        return False
    return len(workload.domain) > DEGREE >= max(map(len, workload.sets)) >= 1


def _parity_scores(workload: Workload) -> Callable[[Vector], Vector]:
    """`transpose` of marginal tables of bits."""
    import numpy as np

    assert isinstance(workload, Marginals)
    names, degree = list(workload.domain), max(map(len, workload.sets))
    number = {members: place for place, members in enumerate(subsets(len(names), degree))}
    ends = np.cumsum(workload.sizes)
    parities = np.zeros((len(number), len(workload)))  # (parities, answers)
    for chosen, end, size, weight in zip(workload.sets, ends, workload.sizes, workload.weights, strict=True):
        columns = [names.index(name) for name in chosen]
        inside = [number[tuple(columns[bit] for bit in part)] for part in subsets(len(columns), len(columns))]
        parities[inside, end - size : end] += signs(len(columns), len(columns)) * (float(weight) / size)

    def scores(direction: Vector) -> Vector:
        return values((parities @ direction)[:, None], len(names), degree)[:, 0]

    return scores
