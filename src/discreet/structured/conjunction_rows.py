"""Rows of yes-and-no attributes, from any form of data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.errors import DomainError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bits = npt.NDArray[np.bool_]


def boolean_rows(data: object, *, d: int) -> Bits:
    """The rows as a boolean array: of booleans, of -1 and 1 (1 is True), or encoded rows of two-valued columns.

    >>> boolean_rows([[1, -1], [1, 1]], d=2).tolist()
    [[True, False], [True, True]]
    """
    import numpy as np

    if isinstance(data, Records | Histogram):
        return _encoded(data, d)
    array = np.asarray(data)
    if array.ndim != 2 or array.shape[1] != d:
        raise DomainError(f"need rows of d={d} attributes, as an array with {d} columns")
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind not in "iuf" or not bool((np.abs(array) == 1).all()):
        raise DomainError("need booleans, or the numbers -1 and 1")
    return array > 0


def _encoded(data: Records | Histogram, d: int) -> Bits:
    """Second values are True."""
    import numpy as np

    sizes = [declared.size for declared in data.domain.values()]
    if sizes != [2] * d:
        raise DomainError(f"need a domain of d={d} two-valued columns, got sizes {sizes[:8]}")
    if isinstance(data, Records):
        return np.stack([data.column(name) == 1 for name in data.domain], axis=1)
    counts = data.marginal(list(data.domain)).reshape(-1)
    cells = np.flatnonzero(counts)
    bits = (cells[:, None] >> np.arange(d)[::-1]) & 1 == 1
    return np.repeat(bits, counts[cells].astype(np.int64), axis=0)
