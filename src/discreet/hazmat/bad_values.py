"""What a value that is no number counts as: the one rule, for every call that takes private numbers.

If one row's value decided whether a call fails, the failure would tell of the row, and the claims beside the mechanisms
say nothing of failures.  So what is public may be refused (the type of an array, its shape, a parameter), and what one
row holds never is:

    None, NaN, masked, and what is no number    NULL: dropped where rows come and go, so that the row is not there;
                                                a public value where the number of rows is public, and in a place of
                                                its own (an answer, a user's report, a step of a stream)
    an infinity, or beyond what a float holds   the largest number of its sign, which bounds then cut
    a decimal of more digits than `exact` reads  the nearest float
    beyond public bounds, or a list of values   the nearest that is allowed

Lemma.  Each line maps one value to one value, or to none, whatever the other rows hold.  So neighbouring data stay
neighbours, or become equal, and what a mechanism promises for numbers it promises for everything.
Proof: docs/theory/lattice.md.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.privacy.number import exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.privacy.number import Number

Finite = int | float | Fraction | Decimal
LARGEST = sys.float_info.max
END = 1 << 63  # the first integer beyond 64 bits


def number_in(value: object) -> Finite | None:
    """A finite number that stands for the value, or None where it is NULL.

    >>> number_in(float("-inf")) == -LARGEST, number_in(float("nan")), number_in("three"), number_in(True)
    (True, None, None, 1)
    """
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):  # numpy's, of 64 bits, among them
        return value if math.isfinite(value) else _end(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:  # a scalar of numpy
        inside = item()
        if _masked(value):
            return None
        if getattr(getattr(inside, "dtype", None), "kind", "") == "f":  # extended precision prints in no agreed way
            return number_in(float(inside))  # type: ignore[arg-type]
        if isinstance(inside, float) and math.isfinite(inside):
            return exact(value)  # type: ignore[arg-type]  # as it prints, which is shorter in single precision
        return number_in(inside) if isinstance(inside, int | float) else None
    if isinstance(value, str):
        try:
            return exact(value)
        except ParameterError:
            return None
    return None


def _decimal(value: Decimal) -> Decimal | float | None:
    """As it is, or the nearest float where it has more digits than can be reckoned with; never an infinity."""
    if value.is_nan():
        return None
    try:
        exact(value)
    except ParameterError:
        near = float(value)
        return near if math.isfinite(near) else _end(near)
    return value


def _masked(value: object) -> bool:
    """Whether it is numpy's word for no value."""
    return type(value).__name__ == "MaskedConstant"


def _end(value: float) -> float | None:
    """NULL for NaN, and for an infinity the largest float of its sign."""
    return None if math.isnan(value) else math.copysign(LARGEST, value)


def nearest_float(value: Finite) -> float:
    """The nearest number in double precision; one that is too large for it becomes the largest.

    >>> nearest_float(-(10**400)) == -LARGEST
    True
    """
    try:
        return float(value)
    except OverflowError:
        return LARGEST if value > 0 else -LARGEST


def whole_in(value: object) -> int | None:
    """The integer that stands for an element of a list of integers: None where it is one of another type.

    NULL is 0, and an infinity the end of the 64-bit range; a fraction is no value that a count may have by accident.

    >>> whole_in(7), whole_in(None), whole_in(float("inf")) == 2**63 - 1, whole_in(0.5)
    (7, 0, True, None)
    """
    if value is None or _masked(value):
        return 0
    if isinstance(value, bool):
        return None
    if isinstance(value, int) or (hasattr(value, "__index__") and getattr(value, "ndim", 0) == 0):
        return None if _truth(value) else int(value)  # type: ignore[call-overload]
    if isinstance(value, float | Decimal) or getattr(value, "dtype", None) is not None:
        found = number_in(value)
        if found is None:
            return 0
        return None if abs(found) < LARGEST else (END - 1 if found > 0 else -END)
    return None


def _truth(value: object) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") == "b"


def settle(values: Any, *, null: Number | None) -> Any:  # noqa: ANN401 - a number for a number, an array for an array
    """Private numbers without NULLs and infinities; with `null` None the NULLs of a row of numbers are dropped.

    A number stays a number.  A list or tuple becomes an array of objects, each element as it is, since one would set
    the type of all; so an array of objects stays one, and an array of floats or integers keeps its type.

    >>> import numpy as np
    >>> settle(np.array([1.0, np.nan, -np.inf]), null=None).tolist() == [1.0, -LARGEST]
    True
    >>> settle([1, None, 2**70], null=5).tolist() == [1, 5, 2**70]
    True
    >>> settle(np.array([True]), null=0)
    Traceback (most recent call last):
    discreet.errors.ParameterError: need numbers, got an array of bool
    """
    import numpy as np

    if not isinstance(values, list | tuple) and getattr(values, "ndim", 0) == 0:
        return _one(values, null)
    array = listed(values) if isinstance(values, list | tuple) else np.asarray(values)
    if array.dtype == object:
        found = [number_in(value) for value in array.ravel()]
        if null is None:
            found = [value for value in found if value is not None]
        made = np.empty(len(found), dtype=object)
        made[:] = [null if value is None else value for value in found]
        return made if null is None else made.reshape(array.shape)
    if array.dtype.kind not in "iuf":
        raise ParameterError(f"need numbers, got an array of {array.dtype}")
    if array.dtype.kind != "f":
        return array
    if array.itemsize > 8:  # extended precision prints in no agreed way
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
    if null is None:
        array = array[~np.isnan(array)]
        return np.nan_to_num(array) if array.size and not np.isfinite(array).all() else array
    return np.nan_to_num(array, nan=float(null)) if not np.isfinite(array).all() else array


def _one(value: object, null: Number | None) -> Number:
    """A single number: its type is public, whether it is NULL is not."""
    found = number_in(value)
    numeric = value is None or isinstance(value, int | float | Fraction | Decimal | str) or hasattr(value, "dtype")
    if isinstance(value, bool) or not numeric or (found is None and isinstance(value, str)) or _truth(value):
        raise ParameterError(f"need a number, got {type(value).__name__}")
    if found is None:
        return 0 if null is None else null
    return found


def listed(values: list[Any] | tuple[Any, ...]) -> npt.NDArray[np.object_]:
    """An array of objects, one axis for each level of lists of equal length; a list among numbers is no number."""
    import numpy as np

    try:
        return np.array(values, dtype=object)
    except ValueError:  # lists of unlike lengths
        made = np.empty(len(values), dtype=object)
        for place, value in enumerate(values):
            made[place] = value
        return made


def nearest_of(values: Any, *, size: int) -> npt.NDArray[np.int64]:  # noqa: ANN401 - whatever holds integers
    """Each of a vector of integers as one of 0 .. size - 1: the nearest, and 0 for NULL.

    >>> nearest_of([0, 1, 7, -3, None], size=3).tolist()
    [0, 1, 2, 0, 0]
    """
    import numpy as np

    array = listed(values) if isinstance(values, list | tuple) else np.asarray(values)
    if array.dtype == object:
        found = [int(value) if isinstance(value, bool) else whole_in(value) for value in array.ravel()]
        inside = [min(max(value or 0, 0), size - 1) for value in found]
        return np.array(inside, dtype=np.int64).reshape(array.shape)
    if array.dtype.kind not in "iu":
        raise ParameterError(f"need integers, got an array of {array.dtype}")
    if array.dtype.kind == "u":
        return np.minimum(array, np.array(size - 1, dtype=np.uint64)).astype(np.int64)
    return np.clip(array.astype(np.int64), 0, size - 1)
