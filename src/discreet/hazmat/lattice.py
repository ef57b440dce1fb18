"""From real numbers to integers and back: the lattice {step * k : k an integer}.

Lemma.  index(x) = floor(x / step + 1/2) is monotone and index(x + step) = index(x) + 1.
Hence if |x - x'| <= D step then |index(x) - index(x')| <= ceil(D), and no less will do.
For vectors of `size` entries that move by at most D > 0 steps in a norm, the indices move by

    linf   at most ceil(D)
    l1     at most ceil(D) - 1 + size
    l2     at most sqrt(Q + 2 min(Q, floor(sqrt(size Q))) + size),  Q = ceil(D^2) - 1.

Rounding half to even would break the lemma: 0.5 and 1.5 would become 0 and 2.
Proof: docs/theory/lattice.md.  Nothing here draws noise; everything is exact.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.errors import ParameterError, require
from discreet.privacy.enclosure import root_up
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import IntArray, Integers

    Reals = Number | npt.NDArray[np.float64] | npt.NDArray[np.object_] | list[Number]

EXACT = 1 << 53  # floats hold every integer up to here
TINY = Fraction(1, 1 << 1000)  # between this and its inverse a step has a float with 53 good bits


@dataclass(frozen=True, slots=True)
class Lattice:
    """The multiples of `step`, a positive number.

    >>> cents = Lattice("0.01")
    >>> cents.index(12.345), cents.value(1235)
    (1235, 12.35)
    >>> cents.sensitivity(5)  # five units are 500 steps
    500
    """

    step: Number

    def __post_init__(self) -> None:
        require(exact(self.step) > 0, "step > 0", step=self.step)

    def index(self, values: Reals) -> Integers:
        """The nearest lattice point, halves upward: an int for a number, an array for an array.

        A float means the decimal it prints.  NaN and infinities are refused.  A list, or an array
        of objects, gives Python integers; any other array gives 64-bit ones, cut at their ends.

        >>> Lattice("0.01").index([1e30, 0.5])
        array([100000000000000000000000000000000, 50], dtype=object)
        """
        if isinstance(values, list) or (getattr(values, "ndim", 0) and hasattr(values, "dtype")):
            return self._indices(values)
        return self._nearest(values)  # type: ignore[arg-type]

    def _nearest(self, value: Number) -> int:
        try:
            number = exact(value)
        except ParameterError:  # the value may be private, and no message may carry it
            raise ParameterError(f"need finite numbers, got {type(value).__name__}") from None
        return math.floor(number / exact(self.step) + Fraction(1, 2))

    def _indices(self, values: object) -> IntArray:
        """Divide in floating point; whatever comes near a half, or is large, is done again exactly."""
        import numpy as np

        array = np.asarray(values, dtype=object if isinstance(values, list) else None)
        if array.dtype.kind not in "iufO":
            raise ParameterError(f"need numbers, got an array of {array.dtype}")
        flat = array.ravel()
        if array.dtype == object:  # what is returned depends on the type, never on a value
            whole = np.empty(flat.size, dtype=object)
            whole[:] = [self._nearest(value) for value in flat]
            return whole.reshape(array.shape)
        if array.dtype.kind != "f":
            return np.array(self._cut(flat), dtype=np.int64).reshape(array.shape)
        flat = flat.astype(np.float64) if flat.itemsize > 8 else flat  # extended precision prints in no agreed way
        require(bool(np.isfinite(flat).all()), "finite numbers", dtype=str(array.dtype))
        step = exact(self.step)
        if not TINY < step < 1 / TINY:  # the float of the step may be far from it
            return np.array(self._cut(flat), dtype=np.int64).reshape(array.shape)
        with np.errstate(all="ignore"):  # whatever overflows is large, and unclear
            quotient = np.asarray(flat, dtype=np.float64) / float(step) + 0.5
            nearest = np.floor(quotient)
            margin = np.abs(quotient) * 2.0**-48 + 2.0**-48  # four roundings of 2^-53, and single precision is exact
            unclear = (quotient - nearest < margin) | (nearest + 1 - quotient < margin) | (np.abs(quotient) >= 2.0**47)
        out = np.where(unclear, 0, nearest).astype(np.int64)
        out[unclear] = self._cut(flat[unclear])
        return out.reshape(array.shape)

    def _cut(self, values: npt.NDArray[np.generic]) -> list[int]:
        """The nearest lattice points, cut at the ends of the 64-bit range, which moves no two further apart."""
        return [max(-(1 << 63), min((1 << 63) - 1, self._nearest(value))) for value in values.tolist()]

    def value(self, indices: Integers) -> float | npt.NDArray[np.float64]:
        """The floats nearest to step * index, which print the lattice point as short as can be."""
        step = exact(self.step)
        if isinstance(indices, int):
            return _float(indices * step)
        import numpy as np

        top, bottom = step.numerator, step.denominator
        ends = (indices.min(initial=0), indices.max(initial=0)) if indices.dtype != object else (EXACT,)
        largest = max(abs(int(end)) for end in ends)  # numpy's own size of -2^63 is negative
        if top * largest < EXACT and bottom < EXACT:
            return indices.astype(np.float64) * top / bottom  # the product is exact: one rounding
        values = [_float(int(k) * step) for k in indices.flat]
        return np.array(values, dtype=np.float64).reshape(indices.shape)

    def sensitivity(self, real: Number, *, size: int = 1, norm: Literal["l1", "l2", "linf"] = "l1") -> int | Number:
        """How far the indices move when `size` real numbers move by at most `real` in the norm.

        >>> Lattice(1).sensitivity(1, size=4), Lattice(1).sensitivity(1, size=4, norm="l2")
        (4, 2)
        """
        require(exact(real) > 0, "real > 0", real=real)
        require(isinstance(size, int) and size >= 1, "an integer size >= 1", size=size)
        require(norm in ("l1", "l2", "linf"), "norm l1, l2 or linf", norm=norm)
        steps = exact(real) / exact(self.step)
        if size == 1 or norm == "linf":
            return math.ceil(steps)
        if norm == "l1":
            return math.ceil(steps) - 1 + size
        whole = math.ceil(steps * steps) - 1
        root = root_up(Fraction(whole + 2 * min(whole, math.isqrt(size * whole)) + size))
        return root.numerator if isinstance(root, Fraction) and root.denominator == 1 else root


def _float(value: Fraction) -> float:
    """The nearest float, and the largest of its sign for what is beyond."""
    try:
        return float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max
