"""Tables at several resolutions: neighbouring or rare values are put together, so that fewer cells need noise.

A table of two columns with a hundred values each has ten thousand cells, and the noise of a small budget drowns it;
the same table with each column in six bins has thirty-six.  The bins of a column have about equal weight under its
noisy counts, which are published: no row is looked at.  Ordered columns are cut into intervals; of the others the most
frequent values stay alone and the rest share a bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.data.columns import Boolean, Categorical, Column
from discreet.data.domain import Domain

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bins = npt.NDArray[np.int64] | None

COARSE = (24, 12, 6, 3)  # bins of a column, besides all its values


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Some columns, each at one resolution: `bins[i]` has the bin of every value of column i; None keeps them apart."""

    columns: tuple[str, ...]
    bins: tuple[Bins, ...]
    shape: tuple[int, ...]
    key: tuple[object, ...] = field(default=())

    @property
    def cells(self) -> int:
        """The number of cells."""
        import math

        return math.prod(self.shape)

    def of(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The table from the counts at full resolution."""
        import numpy as np

        for axis, bins in enumerate(self.bins):
            if bins is not None:
                order = np.argsort(bins, kind="stable")
                starts = np.searchsorted(bins[order], np.arange(self.shape[axis]))
                counts = np.add.reduceat(np.take(counts, order, axis=axis), starts, axis=axis)
        return counts


def ordered(column: Column) -> bool:
    """Whether neighbouring values are alike."""
    return not isinstance(column, Boolean | Categorical)


def bins_of(weights: npt.NDArray[np.float64], count: int, *, in_order: bool) -> Bins:
    """At most `count` bins of about equal weight, or the most frequent values alone and one bin for the rest.

    >>> import numpy as np
    >>> bins_of(np.array([1.0, 1, 6, 1, 1, 0, 0, 2]), 3, in_order=True).tolist()
    [0, 0, 1, 2, 2, 2, 2, 2]
    >>> bins_of(np.array([1.0, 1, 6, 1, 3]), 3, in_order=False).tolist()
    [2, 2, 0, 2, 1]
    """
    import numpy as np

    if len(weights) <= count:
        return None
    positive = np.maximum(weights, 0) + 1e-9
    if not in_order:
        rank = np.empty(len(weights), dtype=np.int64)
        rank[np.argsort(-positive, kind="stable")] = np.arange(len(weights))
        return np.minimum(rank, count - 1)
    share = positive / positive.sum()
    middle = np.cumsum(share) - share / 2
    places = np.minimum((middle * count).astype(np.int64), count - 1)
    return np.unique(places, return_inverse=True)[1].astype(np.int64)


def tables(
    domain: Domain, sets: Iterable[tuple[str, ...]], weights: Mapping[str, npt.NDArray[np.float64]]
) -> list[Table]:
    """Every set of columns at every resolution that differs from the others."""
    import numpy as np

    made: list[Table] = []
    cut = {
        (name, count): bins_of(weights[name], count, in_order=ordered(domain[name]))
        for name in domain
        for count in COARSE
    }
    for columns in sets:
        seen = set()
        for count in (None, *COARSE):
            bins = tuple(None if count is None else cut[name, count] for name in columns)
            shape = tuple(
                domain[name].size if one is None else int(one.max()) + 1
                for name, one in zip(columns, bins, strict=True)
            )
            key = (columns, *(None if one is None else np.asarray(one).tobytes() for one in bins))
            if key not in seen:
                seen.add(key)
                made.append(Table(columns, bins, shape, key))
    return made
