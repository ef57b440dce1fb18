"""A first guess at centres: noisy counts on a grid over the declared ranges, then k-means on the cells.

Theorem.  A row is in one cell, and no other row decides in which, so all counts together move by 1, in l1 and in l2,
whatever the number of cells is: one release of the whole budget's share.  The side of a cell is a function of a public
or paid-for number of rows: as many cells as the rows are worth noise.  Counts below what noise alone reaches in some
cell are dropped, and every cell gets the same small weight besides, so that a release which is all noise ends in
centres spread over the declared box.  Proof: docs/theory/clustering.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.release.noise import Noise, variance
from discreet.threads import one_thread

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

CELLS = 1 << 18  # of a grid, at most
HEAVIEST = 1 << 12  # cells that are clustered
COARSE = 3  # cells for as many rows as the noise is worth, of few rows
MANY = 700  # times the noise of a cell
STARTS = 10  # of k-means on the cells
SEED = 0  # of k-means on the cells, which are public


def many(rows: float, sd: float) -> bool:
    """Whether the rows are so many that cells with rows stand far above cells with noise."""
    return rows > MANY * max(sd, 1.0)


def side(rows: float, sd: float, *, axes: int, clusters: int, most: int = CELLS) -> int:
    """How many cells an axis is cut into, at least 4 cells a cluster.

    Few rows: COARSE cells for `sd` of them.  Many rows: so many cells that rows spread over a third of every axis reach
    what noise alone hardly does, sd ln(cells) / sqrt(2).

    >>> side(100_000, 20, axes=4, clusters=5), side(150, 100, axes=4, clusters=3)
    (16, 2)
    """
    worth = max(rows / max(sd, 1.0), 1.0)  # less noise than a row tells no more than rows do
    factor = 3**axes * math.sqrt(2) / math.log(worth) if many(rows, sd) else COARSE
    wanted = math.floor((factor * worth) ** (1 / axes) + 1e-9)
    least = math.ceil((4 * clusters) ** (1 / axes) - 1e-9)
    return max(2, least, min(wanted, math.floor(most ** (1 / axes) + 1e-9)))


def cells(points: Floats, parts: int) -> npt.NDArray[np.int64]:
    """The cell of each point of the box from -1 to 1 on every axis; points outside are moved to its edge."""
    import numpy as np

    places = np.clip(((points + 1) / 2 * parts).astype(np.int64), 0, parts - 1)
    return np.asarray(np.ravel_multi_index(tuple(places.T), (parts,) * points.shape[1]), dtype=np.int64)


def first_centres(
    points: Floats, clusters: int, rows: float, *, parts: int, noise: Noise, rng: RandomSource | None
) -> tuple[Floats, float]:
    """Centres in the box from -1 to 1, and the root mean square distance of the cells' rows to them.

    `rows` is public or was paid for.  Of many rows a cell counts if noise alone would hardly reach it anywhere; of few,
    half as much must do.
    """
    import numpy as np
    from sklearn.cluster import KMeans as Weighted
    from threadpoolctl import threadpool_limits

    axes = points.shape[1]
    number = parts**axes
    counts = np.asarray(noise(np.bincount(cells(points, parts), minlength=number), rng=rng), dtype=np.float64)
    sd = math.sqrt(variance(noise))
    chance = sd * (math.log(number) / math.sqrt(2) if many(rows, sd) else math.sqrt(2 * math.log(number)) / 2)
    weights = np.where(counts > chance, counts, 0.0) + max(sd, 1e-6) / math.sqrt(number)
    heavy = np.argsort(-weights, kind="stable")[:HEAVIEST]
    middles = (np.stack(np.unravel_index(heavy, (parts,) * axes), axis=1) + 0.5) / parts * 2 - 1
    with (
        one_thread(),
        threadpool_limits(1, user_api="openmp"),
    ):  # the cells are few, and threads that wait for one another cost more
        found = Weighted(clusters, n_init=STARTS, random_state=SEED)  # type: ignore[arg-type]
        found.fit(middles, sample_weight=weights[heavy])
    return found.cluster_centers_, math.sqrt(found.inertia_ / weights[heavy].sum())
