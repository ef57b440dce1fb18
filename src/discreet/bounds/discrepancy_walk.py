"""A colouring with a small discrepancy: the edge walk, then single moves.

Theorem (Lovett, Meka 2015, in outline).  A random walk that starts at 0, stays inside the cube and moves only
orthogonally to queries that have grown large ends with half of its coordinates at +-1, and the others follow.

Whatever the walk does, its value is computed afterwards in integers: it is an upper bound of the discrepancy, which
is all that is claimed here.  The starts are seeded: the same matrix has the same colouring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.threads import threads_by

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    from discreet.bounds.discrepancy_matrix import Integers

    Reals = npt.NDArray[Any]

STARTS = 12
MOVES = 200  # of one local search
FROZEN = 1 - 1e-9


@threads_by(lambda rows, *_, **_named: max(rows.size, rows.shape[1] ** 2))
def edge_walk(rows: Integers, least: int, *, starts: int = STARTS, enough: int = 0) -> Integers:
    """The best colouring found with at least `least` entries that are not 0; the search ends at a value of `enough`.

    >>> import numpy as np
    >>> triangle = np.tril(np.ones((30, 30), dtype=int))
    >>> int(abs(triangle @ edge_walk(triangle, 30)).max())  # alternating signs
    1
    """
    import numpy as np

    columns = rows.shape[1]
    alternating = np.resize(np.array([1, -1]), columns)
    best = _improved(rows, alternating, least)
    value = int(abs(rows @ best).max())
    for seed in range(starts):
        if value <= enough:
            break
        found = _improved(rows, _walk(rows.astype(np.float64), np.random.default_rng(seed)), least)
        if int(abs(rows @ found).max()) < value:
            best, value = found, int(abs(rows @ found).max())
    return best


def _walk(matrix: Reals, rng: np.random.Generator) -> Integers:
    """Every coordinate at +-1, by steps that each freeze at least one."""
    import numpy as np

    queries, columns = matrix.shape
    lengths = np.maximum(np.linalg.norm(matrix, axis=1), 1e-300)
    place = np.zeros(columns)
    while True:
        free = np.flatnonzero(abs(place) < FROZEN)
        if not len(free):
            return np.sign(place).astype(np.int64)
        tight = np.argsort(-abs(matrix @ place) / lengths, kind="stable")[: min(queries, len(free) // 2)]
        step = rng.normal(size=len(free))
        if len(tight):
            basis, _ = np.linalg.qr(matrix[np.ix_(tight, free)].T)
            step -= basis @ (basis.T @ step)
        room = (np.sign(step) - place[free]) / np.where(step == 0, np.inf, step)
        room[step == 0] = np.inf
        place[free] += room.min() * step
        place[free[np.argmin(room)]] = np.sign(step[np.argmin(room)])
        place = np.clip(place, -1, 1)


def _improved(rows: Integers, colouring: Integers, least: int) -> Integers:
    """Change one entry at a time while the largest value, and then the number of queries that have it, falls."""
    import numpy as np

    current = colouring.copy()
    values = rows @ current
    for _ in range(MOVES):
        score = _score(abs(values)[:, None])[0]
        options = [(place, new) for place in range(len(current)) for new in (-1, 0, 1) if new != current[place]]
        coloured = int(np.count_nonzero(current))
        options = [(p, new) for p, new in options if coloured - (current[p] != 0) + (new != 0) >= least]
        if not options:
            return current
        changes = np.array([new - current[place] for place, new in options])
        after = abs(values[:, None] + rows[:, [place for place, _ in options]] * changes)  # (queries, options)
        scores = _score(after)
        best = int(np.argmin(scores))
        if scores[best] >= score:
            return current
        place, new = options[best]
        values = values + rows[:, place] * changes[best]
        current[place] = new
    return current


def _score(values: Reals) -> Reals:
    """Largest first, then how many are that large, in one number."""
    largest = values.max(axis=0)
    return largest * (values.shape[0] + 1.0) + (values == largest).sum(axis=0)
