"""Integer values in, integer values out: checked on the way in, saturated on the way out.

Noise is added to a Python integer exactly, and to an array of 64-bit integers with
saturation: a sum beyond the 64-bit range is clamped to its end, which is
post-processing of the exact sum, and never wraps.  Types are checked, values are not: in a
list of integers a NULL counts as 0 and an infinity as the end of the 64-bit range (`bad_values`),
so that whether a call raises depends on public facts only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.hazmat.bad_values import listed, whole_in

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64] | npt.NDArray[np.object_]
    Integers = int | IntArray
    Shape = tuple[int, ...] | None  # None: a single Python integer

CHUNK = 1 << 15  # entries at a time: the working arrays stay in cache


def integers(value: object) -> Integers:
    """The value as a Python int, an int64 array, or an object array of Python ints (from a list of them).

    >>> integers(2.0)
    Traceback (most recent call last):
    discreet.errors.ParameterError: need integers (counts, or values moved to a lattice first), got float
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    import numpy as np

    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (list, tuple)):  # exact whatever their size, so that the type depends on no value
        value = listed(value)
    if not isinstance(value, np.ndarray):
        raise _not_integers(type(value).__name__)
    array = value
    if array.dtype == object:
        found = [whole_in(item) for item in array.flat]  # Python's integers: numpy's own would wrap
        if any(item is None for item in found):
            raise _not_integers("an object array holding something else")
        made = np.empty(len(found), dtype=object)
        made[:] = found
        return made.reshape(array.shape)
    if array.dtype.kind not in "iu":
        raise _not_integers(f"an array of {array.dtype}")
    if array.dtype == np.uint64:
        raise ParameterError("need integers that fit 64 bits with sign, got uint64; pass astype(object) for exact ones")
    return array.astype(np.int64, copy=False)


def _not_integers(received: str) -> ParameterError:
    return ParameterError(f"need integers (counts, or values moved to a lattice first), got {received}")


def shape_of(value: Integers) -> Shape:
    """The shape of the noise to draw: None for a single integer."""
    return None if isinstance(value, int) else value.shape


def add(value: Integers, noise: Integers) -> Integers:
    """value + noise: exact on Python integers, saturating on 64-bit arrays, where it takes the place of the noise."""
    if isinstance(value, int) or isinstance(noise, int) or value.dtype == object or noise.dtype == object:
        return value + noise
    total = noise.reshape(-1)  # the noise is nobody else's; a third long array would cost more than the sum
    flat = value.ravel()
    for start in range(0, total.size, CHUNK):
        _add_saturating(flat[start : start + CHUNK], total[start : start + CHUNK])
    return total.reshape(value.shape)


def _add_saturating(value: IntArray, total: IntArray) -> None:
    """Adds value to total, in place, or writes the end of the range beyond which the sum lies."""
    import numpy as np

    np.add(total, value, out=total)  # wraps silently where both have the sign that the sum has not
    sign = total - value  # the noise again, since wrapping back undoes wrapping
    sign ^= total
    sign &= value ^ total
    if sign.min() < 0:
        ends = np.iinfo(np.int64)
        wrapped = sign < 0
        total[wrapped] = np.where(value[wrapped] < 0, ends.min, ends.max)
