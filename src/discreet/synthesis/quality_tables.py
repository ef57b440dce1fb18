"""Total variation of synthetic tables from private ones, beside a bootstrap and beside the noise.  Private."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.records import Records
from discreet.release.models.estimate import Measurement
from discreet.synthesis.adaptive import NOISE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CELLS = 10_000  # of a table of three columns that is compared
TABLES = 600  # of each size that are compared, at most


@dataclass(frozen=True, kw_only=True, slots=True)
class Distances:
    """Total variation over the tables of so many columns; `noise` is NaN where none of them was measured."""

    columns: int
    tables: int
    mean: float
    worst: float
    worst_table: tuple[str, ...]
    bootstrap: float
    noise: float


def distances(drawn: Records, rows: Records, measurements: Sequence[Measurement], *, seed: int = 0) -> list[Distances]:
    """Tables of one, two and three columns; of many, a sample."""
    import numpy as np

    rng = np.random.default_rng(seed)
    places = rng.integers(0, len(rows), len(rows))
    again = Records(rows.domain, [rows.column(name)[places] for name in rows.domain])
    found = []
    for count in range(1, min(3, len(rows.domain)) + 1):
        sets = compared(rows, count, rng)
        if not sets:
            continue
        truth = _shares(rows, sets)
        off = [total_variation(x, y) for x, y in zip(_shares(drawn, sets), truth, strict=True)]
        boot = [total_variation(x, y) for x, y in zip(_shares(again, sets), truth, strict=True)]
        place = int(np.argmax(off))
        found.append(
            Distances(
                columns=count,
                tables=len(sets),
                mean=float(np.mean(off)),
                worst=off[place],
                worst_table=sets[place],
                bootstrap=float(np.mean(boot)),
                noise=_noise(measurements, count, len(rows)),
            )
        )
    return found


def compared(rows: Records, count: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """The sets of so many columns, without the large ones of three; a sample where there are too many."""
    sets = list(itertools.combinations(rows.domain, count))
    if count > 2:
        sets = [names for names in sets if math.prod(rows.domain[name].size for name in names) <= CELLS]
    if len(sets) <= TABLES:
        return sets
    return [sets[place] for place in sorted(rng.choice(len(sets), TABLES, replace=False).tolist())]


def total_variation(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Half the sum of absolute differences.

    >>> import numpy as np
    >>> total_variation(np.array([0.5, 0.5]), np.array([0.75, 0.25]))
    0.25
    """
    import numpy as np

    return 0.5 * float(np.abs(one - other).sum())


def _shares(rows: Records, sets: list[tuple[str, ...]]) -> list[npt.NDArray[np.float64]]:
    return [table / max(1, len(rows)) for table in rows.marginals(sets)]


def _noise(measurements: Sequence[Measurement], count: int, rows: int) -> float:
    """The mean share of rows that the noise of measured tables of so many columns misplaces by itself."""
    import numpy as np

    made = [one.sd * NOISE * np.size(one.values) / (2 * rows) for one in measurements if len(one.columns) == count]
    return float(np.mean(made)) if made else math.nan
