"""Rows in memory as the integer positions of their values: what is counted when the universe is too large to list.

The position of a value is its code less the least code, and NULL of a nullable column is the last
position.  A row with a NULL in a column that is not nullable is dropped, as everywhere.  Identifiers are left out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from discreet.data.columns import Identifier
from discreet.data.domain import Domain
from discreet.errors import DomainError, ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.data.histogram import Histogram

MANY = 16  # marginals that are worth compiled code
LARGEST = 1 << 27  # cells of a table that is counted in memory


class Records:
    """Encoded rows of a domain.  Private: shown as their number of columns only.

    >>> import numpy as np
    >>> from discreet.data.columns import Boolean, Integer
    >>> domain = Domain({"age": Integer(20, 23), "icu": Boolean()})
    >>> records = Records(domain, [np.array([0, 3, 3]), np.array([0, 1, 1])])
    >>> records.marginal(["icu"]).tolist(), records
    ([1, 2], Records(columns=2))
    """

    __slots__ = ("_columns", "domain")

    def __init__(self, domain: Domain, columns: Sequence[npt.NDArray[np.integer]]) -> None:
        import numpy as np

        self.domain = countable(domain)
        require(len(columns) == len(self.domain), "one array of positions per column", columns=len(columns))
        arrays = []
        for (name, declared), column in zip(self.domain.items(), columns, strict=True):
            array = np.asarray(column)
            if array.ndim != 1 or array.dtype.kind not in "iub" or len(array) != len(columns[0]):
                raise ParameterError(f"need equally long arrays of integer positions, got another kind for {name!r}")
            if len(array) and (int(array.min()) < 0 or int(array.max()) >= declared.size):
                raise DomainError(f"need positions from 0 to {declared.size - 1} in column {name!r}")
            arrays.append(np.ascontiguousarray(array, dtype=np.min_scalar_type(declared.size - 1)))
        self._columns = tuple(arrays)

    @classmethod
    def from_frame(cls, frame: object, domain: Domain, *, every_row: bool = False) -> Records:
        """The rows of a frame (pandas, Polars, Arrow) or of a file, read by the declaration.

        Where the number of rows is public none may vanish: with `every_row` a value that is not declared counts as
        the first one of its column instead of dropping its row.

        >>> import pandas as pd
        >>> from discreet.data.columns import Categorical
        >>> rows = pd.DataFrame({"ward": ["b", "a", "nowhere", "b"]})
        >>> Records.from_frame(rows, Domain({"ward": Categorical(["a", "b"])})).marginal(["ward"]).tolist()
        [1, 2]
        """
        from discreet.data.engines.positions import positions

        return cls(domain, positions(frame, countable(domain), every_row=every_row))

    @classmethod
    def random(cls, domain: Domain, n: int, *, seed: int, evenness: float = 0.7, falling: bool = False) -> Records:
        """Made-up rows for tests and forecasts: three overlapping populations with skewed values.  Not noise.

        The values of each column are the more skewed the smaller `evenness` is; `falling` makes the first ones the most
        frequent.

        >>> from discreet.data.columns import Boolean
        >>> len(Records.random(Domain({"a": Boolean(), "b": Boolean()}), 100, seed=1))
        100
        """
        import numpy as np

        rng = np.random.default_rng(seed)
        group = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
        columns = []
        for declared in countable(domain).values():
            weights = rng.dirichlet(np.full(min(declared.size, 1 << 16), evenness), size=3)
            if falling:
                weights = -np.sort(-weights, axis=1)
            steps = np.cumsum(weights, axis=1)
            draw = rng.random(n)
            found = np.empty(n, dtype=np.int64)
            for which in range(3):
                here = group == which
                found[here] = np.searchsorted(steps[which], draw[here], side="right")
            columns.append(np.minimum(found, declared.size - 1))
        return cls(domain, columns)

    def __len__(self) -> int:
        return len(self._columns[0])

    def __repr__(self) -> str:
        return f"Records(columns={len(self._columns)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("private rows cannot be copied or stored")

    def column(self, name: str) -> npt.NDArray[np.integer]:
        """The positions of one column."""
        return self._columns[list(self.domain).index(name)]

    def marginal(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        """How many rows have each combination of values of the named columns, shaped by their sizes."""
        import numpy as np

        shape = tuple(self.domain[name].size for name in names)
        cells = math.prod(shape)
        require(cells <= LARGEST, f"at most {LARGEST} cells", names=list(names), cells=cells)
        if not names:
            return np.array(len(self), dtype=np.int64)
        index = self.column(names[0]).astype(np.int64)
        for name, size in zip(names[1:], shape[1:], strict=True):
            index *= size
            index += self.column(name)
        return np.bincount(index, minlength=cells).reshape(shape)

    def marginals(self, sets: Sequence[Sequence[str]]) -> list[npt.NDArray[np.int64]]:
        """Many marginals together, in compiled code and on all cores.

        Sets with the same columns but the last share the positions of those columns.
        """
        import numpy as np

        for names in sets:
            require(len(set(names)) == len(names), "distinct columns in a marginal", names=list(names))
        if len(sets) < MANY:
            return [self.marginal(names) for names in sets]
        shapes = [tuple(self.domain[name].size for name in names) for names in sets]
        sizes = [math.prod(shape) for shape in shapes]
        require(max(sizes) <= LARGEST, f"at most {LARGEST} cells", cells=max(sizes))
        ends = np.cumsum(sizes)
        counts = np.zeros(int(ends[-1]), dtype=np.int64)
        flat = [counts[end - size : end] for end, size in zip(ends.tolist(), sizes, strict=True)]
        groups: dict[tuple[str, ...], list[int]] = {}
        for place, names in enumerate(sets):
            groups.setdefault(tuple(names[:-1]), []).append(place)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            counting = [
                pool.submit(self._count, shared, [(tuple(sets[place]), flat[place]) for place in places])
                for shared, places in groups.items()
            ]
        for part in counting:
            part.result()
        return [table.reshape(shape) for table, shape in zip(flat, shapes, strict=True)]

    def _count(self, shared: tuple[str, ...], tables: list[tuple[tuple[str, ...], npt.NDArray[np.int64]]]) -> None:
        """Count the tables of the shared columns and one more each."""
        import numpy as np

        from discreet.data.record_kernels import count, refine

        base = np.zeros(len(self), dtype=np.int32)
        for name in shared:
            finer = np.empty_like(base)
            refine(base, self.column(name), self.domain[name].size, finer)
            base = finer
        for names, table in tables:
            if names:
                count(base, self.column(names[-1]), self.domain[names[-1]].size, table)
            else:
                table[0] = len(self)

    def histogram(self) -> Histogram:
        """Counts of every possible row, where the universe is small enough to list."""
        from discreet.data.histogram import Histogram

        return Histogram(self.domain, self.marginal(list(self.domain)))


def countable(domain: Domain) -> Domain:
    """The columns with declared values: identifiers are left out, free text is refused."""
    require(isinstance(domain, Domain), "a Domain", domain=type(domain).__name__)
    names = [name for name, declared in domain.items() if not isinstance(declared, Identifier)]
    if not names:
        raise DomainError("need at least one column with declared values, got identifiers only")
    kept = domain if len(names) == len(domain) else domain.project(names)
    for declared in kept.values():
        declared.codes  # noqa: B018 - free text has none and says so
    return kept
