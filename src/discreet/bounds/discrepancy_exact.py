"""Discrepancy exactly: all colourings of up to 14 columns at once, of 18 where queries are few, or an integer program.

Theorem.  For a set S of columns let disc(S) be the least |W z| in the largest norm over z in {-1, 0, 1}^N that are not
zero on S and zero elsewhere.  The partial discrepancy of S with at least k colours is the least disc(T) over T inside S
of at least k elements.  Hence one pass over the 3^N vectors z gives disc of all 2^N sets, and N 2^N comparisons
more give every partial discrepancy of every set: the hereditary ones are maxima over S.

The vectors are sums of one for the first half of the columns and one for the second, up to sign: work of
3^N m / 2 small integers for m queries.  Queries that agree on the second half are one pair: for each vector of the
first half only the largest and the least of their products count, so that m is at most twice the number of
different second halves (of 7 columns of zeros and ones: 256).  Proof: docs/theory/discrepancy.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.bounds.discrepancy_matrix import Integers

MOST = 18  # columns, and
WORK = 10**10  # entries of all products, that are enumerated; and
FEW = 14  # columns up to which more are:
MORE = 3 * 10**11  # minutes
CHUNK = 1 << 22  # entries of products that are held at once
NONE = 1 << 62  # the discrepancy of a set for which there is no colouring


def enumerable(rows: Integers) -> bool:
    """Whether all colourings are few enough."""
    columns = rows.shape[1]
    return columns <= MOST and 3**columns * _effective(rows) <= (MORE if columns <= FEW else WORK)


def _effective(rows: Integers) -> int:
    """The queries, or twice the different second halves of them where that is less."""
    import numpy as np

    queries, columns = rows.shape
    if 3**columns * queries <= WORK:
        return queries
    return min(queries, 2 * len(np.unique(rows[:, columns // 2 :], axis=0)))


def every_set(rows: Integers) -> Integers:
    """disc of every set of columns, by the bits of the set.

    >>> import numpy as np
    >>> every_set(np.array([[1, 1, 1], [1, 1, 0]])).tolist()
    [0, 1, 1, 0, 1, 1, 1, 1]
    """
    import numpy as np

    columns = rows.shape[1]
    narrow = np.int16 if columns * int(abs(rows).max()) < 1 << 14 else np.int64
    half = columns // 2
    first, firsts = np.unique(rows[:, :half], axis=0, return_inverse=True)
    second, seconds = np.unique(rows[:, half:], axis=0, return_inverse=True)
    kinds = np.argsort(seconds.reshape(-1), kind="stable")
    paired = 2 * len(second) < len(rows)  # else every query for itself
    left, left_sets = _vectors(first.astype(narrow), signed=False)  # (first halves, 3^half / 2)
    right, right_sets = _vectors((second if paired else rows[:, half:]).astype(narrow), signed=True)
    firsts = firsts.reshape(-1)[kinds] if paired else firsts.reshape(-1)
    groups = np.flatnonzero(np.diff(seconds.reshape(-1)[kinds], prepend=-1))
    order = np.argsort(right_sets, kind="stable")
    right = np.ascontiguousarray(right[:, order])
    starts = np.flatnonzero(np.diff(right_sets[order], prepend=-1))
    found = np.full((1 << half, 1 << (columns - half)), NONE, dtype=np.int64)  # sets of the left and of the right
    room = np.empty_like(right)
    for vector, inside in zip(left.T, left_sets.tolist(), strict=True):
        products = vector[firsts]
        if paired:
            np.add(right, np.maximum.reduceat(products, groups)[:, None], out=room)
            largest = room.max(axis=0)
            np.add(right, np.minimum.reduceat(products, groups)[:, None], out=room)
            np.maximum(largest, -room.min(axis=0), out=largest)
        else:
            np.add(right, products[:, None], out=room)
            largest = np.abs(room, out=room).max(axis=0)
        least = np.minimum.reduceat(largest, starts)
        np.minimum(found[inside], least, out=found[inside])
    return found.T.reshape(-1)  # the left half has the low bits


def _vectors(rows: Integers, *, signed: bool) -> tuple[Integers, Integers]:
    """The products with all z (up to sign where not `signed`), and the supports of z."""
    import numpy as np

    values, sets = np.zeros((rows.shape[0], 1), dtype=rows.dtype), np.zeros(1, dtype=np.int64)
    for place, column in enumerate(rows.T):
        added = values + column[:, None]
        taken = values - column[:, None]
        inside = sets | (1 << place)
        if signed:
            values, sets = np.concatenate([values, added, taken], axis=1), np.concatenate([sets, inside, inside])
        else:  # the vectors that are zero so far have one sign only
            rest = sets != 0
            values = np.concatenate([values, added, taken[:, rest]], axis=1)
            sets = np.concatenate([sets, inside, inside[rest]])
    return values, sets


def partial(every: Integers, least: int) -> Integers:
    """For every set the least disc of a subset of at least `least` elements; `NONE` where there is none.

    >>> import numpy as np
    >>> partial(every_set(np.array([[1, 1, 1], [1, 1, 0]])), 2).tolist()[3:]
    [0, 4611686018427387904, 1, 1, 0]
    """
    import numpy as np

    found = np.where(sizes(every) >= least, every, NONE)
    for place in range(len(every).bit_length() - 1):
        pairs = found.reshape(-1, 2, 1 << place)
        np.minimum(pairs[:, 1], pairs[:, 0], out=pairs[:, 1])
    return found


def sizes(every: Integers) -> Integers:
    """How many elements each set has."""
    import numpy as np

    found = np.zeros(1, dtype=np.int64)
    for _ in range(len(every).bit_length() - 1):
        found = np.concatenate([found, found + 1])
    return found


def members(subset: int) -> list[int]:
    """The elements of a set given by its bits.

    >>> members(0b1011)
    [0, 1, 3]
    """
    return [place for place in range(subset.bit_length()) if subset >> place & 1]


def attaining(rows: Integers, every: Integers, subset: int, least: int) -> Integers:
    """A colouring of at least `least` columns of the set whose value is its partial discrepancy."""
    import numpy as np

    places = np.arange(len(every))
    inside = ((places & ~subset) == 0) & (sizes(every) >= least)
    best = int(places[inside][np.argmin(every[inside])])
    chosen = members(best)
    signs = np.array([1])[:, None]
    for _ in chosen[1:]:
        signs = np.concatenate([np.pad(signs, ((0, 0), (0, 1)), constant_values=sign) for sign in (1, -1)])
    some = max(1, CHUNK // len(rows))
    parts = [signs[start : start + some] for start in range(0, len(signs), some)]
    values = np.concatenate([abs(rows[:, chosen] @ part.T).max(axis=0) for part in parts])
    colouring = np.zeros(rows.shape[1], dtype=np.int64)
    colouring[chosen] = signs[np.argmin(values)]
    return colouring


def integer_program(rows: Integers, least: int, *, nodes: int) -> tuple[float, Integers | None]:
    """A lower bound of the partial discrepancy and a colouring, by branch and bound of at most `nodes` nodes.

    Minimise t with -t <= W (u - v) <= t, u + v <= 1, sum(u + v) >= least over bits u, v and a whole number t.  The
    bound is the solver's, whose arithmetic is floating: it is rounded up to an integer from 1e-4 below.
    """
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    queries, columns = rows.shape
    ones = np.ones((queries, 1))
    limits = [
        LinearConstraint(np.hstack([rows, -rows, -ones]), ub=0.0),
        LinearConstraint(np.hstack([rows, -rows, ones]), lb=0.0),
        LinearConstraint(np.hstack([np.eye(columns), np.eye(columns), np.zeros((columns, 1))]), ub=1.0),
        LinearConstraint(np.append(np.ones(2 * columns), 0.0), lb=float(least)),
    ]
    objective = np.append(np.zeros(2 * columns), 1.0)
    if least == columns:
        limits.append(LinearConstraint(np.eye(2 * columns + 1)[columns], ub=0.0))  # z and -z are alike
    found = milp(
        objective,
        constraints=limits,
        bounds=Bounds(0.0, np.inf),
        integrality=np.ones(2 * columns + 1),
        options={"node_limit": nodes, "mip_rel_gap": 0.0},
    )
    if found.status in (2, 3):  # every colouring is feasible, and no value is below 0
        raise AssertionError(found.message)
    bound = float(found.mip_dual_bound) if found.mip_dual_bound is not None else 0.0  # where it is out of nodes, too
    lower = float(max(0, np.ceil(bound - 1e-4)))
    if found.x is None:
        return lower, None
    return lower, _read(found.x, columns)


def _read(solution: npt.NDArray[np.float64], columns: int) -> Integers:
    import numpy as np

    bits = np.rint(solution).astype(np.int64)
    return bits[:columns] - bits[columns : 2 * columns]
