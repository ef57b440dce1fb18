"""A histogram: for every possible row of a domain, how many rows are like it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.data.arrays import Array, namespace, to_numpy, total, wide
from discreet.data.domain import Domain
from discreet.data.records import Records, countable
from discreet.errors import ParameterError, require
from discreet.hazmat.bad_values import listed, nearest_float, settle, whole_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


class Histogram:
    """Counts over the cells of a domain, one axis per column in order; the array may live on a GPU.

    The true one is private and is shown as its size only; the estimates that mechanisms release are histograms too.

    >>> from discreet.data.columns import Boolean
    >>> domain = Domain({"icu": Boolean(), "smokes": Boolean()})
    >>> histogram = Histogram(domain, [[3, 1], [0, 2]])
    >>> histogram.marginal(["icu"]).tolist(), histogram.n, histogram
    ([4, 2], 6, Histogram(cells=4))
    """

    __slots__ = ("counts", "domain")

    def __init__(self, domain: Domain, counts: Array) -> None:
        import numpy as np

        self.domain = countable(domain)
        array = _counts(counts) if isinstance(counts, list | tuple) else counts
        namespace(array)
        size = math.prod(array.shape)
        require(size == self.domain.size, "one count per cell of the domain", counts=size, cells=self.domain.size)
        if isinstance(array, np.ndarray):
            array = _settled(array)
        self.counts = wide(array).reshape(self.shape)  # sums of narrow integers would wrap

    @classmethod
    def from_frame(cls, frame: object, domain: Domain) -> Histogram:
        """Count the rows of a frame or file."""
        return Records.from_frame(frame, domain).histogram()

    @classmethod
    def random(cls, domain: Domain, n: int, *, seed: int) -> Histogram:
        """Made-up data for tests and forecasts: `Records.random`, counted.  Not noise.

        >>> from discreet.data.columns import Integer
        >>> Histogram.random(Domain({"age": Integer(0, 9)}), n=50, seed=1).n
        50
        """
        return Records.random(domain, n, seed=seed).histogram()

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the columns."""
        return tuple(declared.size for declared in self.domain.values())

    @property
    def n(self) -> int | float:
        """The number of rows: private, unless it was declared public."""
        return total(self.counts).item()

    def marginal(self, names: Sequence[str]) -> npt.NDArray[Any]:
        """The counts of the combinations of values of the named columns."""
        order = list(self.domain)
        places = [order.index(name) for name in names]
        if sorted(places) != places:
            raise ParameterError(f"need columns in the order of the domain, got {list(names)}")
        dropped = tuple(place for place in range(len(order)) if place not in places)
        return to_numpy(total(self.counts, dropped) if dropped else self.counts)

    def __repr__(self) -> str:
        return f"Histogram(cells={self.domain.size})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a histogram may be private: it cannot be copied or stored; save a Release instead")


def _counts(counts: list[Any] | tuple[Any, ...]) -> npt.NDArray[Any]:
    """A list as integers, unless one of its elements is a fraction: a NULL is 0 and makes no floats of the others."""
    import numpy as np

    array = listed(counts)
    found = [int(value) if isinstance(value, bool | np.bool_) else whole_in(value) for value in array.ravel()]
    if any(value is None for value in found):
        return np.array([nearest_float(value) for value in settle(array.ravel(), null=0)]).reshape(array.shape)
    return np.array(found, dtype=object).reshape(array.shape)


def _settled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Counts that add up in 64 bits, cut at a public number that is the same for all cells; NULLs count nothing."""
    import numpy as np

    if array.dtype.kind == "f":
        return array if np.isfinite(array).all() else np.nan_to_num(array)
    most = ((1 << 63) - 1) // max(1, array.size)
    if array.dtype == object:
        inside = [max(-most, min(most, whole_in(value) or 0)) for value in array.ravel()]
        return np.array(inside, dtype=np.int64).reshape(array.shape)
    if array.dtype.itemsize < 8 or not array.size or (int(array.min()) >= -most and int(array.max()) <= most):
        return array
    return np.array(np.clip(array, max(-most, int(np.iinfo(array.dtype).min)), most), dtype=np.int64)
