"""Rows of yes-and-no attributes, from any form of data.

The number of columns and the type of the array are public, and wrong ones are refused.  Values are private, and every
one is read: a number above 0 is True, any other False, NaN too.  So rows of -1 and 1, and of 0 and 1, are what they
look like, and no error tells of a row; nor does one bad value of a row change another row.
"""

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
    """The rows as a boolean array: of booleans, of numbers (True above 0), or encoded rows of two-valued columns.

    >>> boolean_rows([[1, -1], [1, 0]], d=2).tolist()
    [[True, False], [True, False]]
    """
    import numpy as np

    if isinstance(data, Records | Histogram):
        return _encoded(data, d)
    array = np.asarray(data)
    if array.ndim != 2 or array.shape[1] != d:
        raise DomainError(f"need rows of d={d} attributes, as an array with {d} columns")
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind not in "iuf":
        raise DomainError("need an array of booleans, or of numbers such as -1 and 1")
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
