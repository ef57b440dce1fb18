"""Sums, norms, products and casts of arrays of integers, exact whatever their size.

A 64-bit sum that wraps is a wrong sensitivity, and so a wrong promise.  Everything that decides a sensitivity, a price
or a key adds, multiplies and casts here and nowhere else.

Theorem.  Let |a| <= A for every entry.  A sum of at most (2^63 - 1) / A of them fits 64 bits, and so does each of its
partial sums.  So `total` and `norms` add blocks of that many entries in 64 bits, and the sums of the blocks as Python's
integers, which have no end.  `product` cuts its entries into parts of 13 bits with sign: a sum of up to 2^29 products
of two parts is at most 2^53, so that floating point holds it exactly, and the parts are put together in 64 bits where
a bound on the result fits, else as Python's integers.  Bounds are taken from the arrays that are given, which are
public; where one side is private, `within` states a public bound on it, which alone decides what is done.
Proof: docs/theory/sensitivity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Whole = npt.NDArray[Any]  # of 64-bit integers, or of Python's

END = 1 << 63  # the first integer that 64 bits with sign do not hold
LIMB = 13  # bits of a part of an integer, with its sign
LONGEST = 1 << 29  # products of two parts whose sum is exact in floating point
BLOCK = 1 << 10  # columns that are compared with all others at a time


def largest(table: npt.NDArray[Any]) -> int:
    """The largest absolute value of integers, which for -2^63 is no 64-bit number.

    >>> import numpy as np
    >>> largest(np.array([3, -(2**63)])) == 2**63
    True
    """
    return max(abs(int(table.max())), abs(int(table.min()))) if table.size else 0


def whole(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Whole numbers as 64-bit integers; what does not fit, or is not whole, is refused and never wrapped.

    >>> import numpy as np
    >>> whole(np.array([1.0, -2.0])).tolist()
    [1, -2]
    >>> whole(np.array([1e19]))
    Traceback (most recent call last):
    discreet.errors.ParameterError: need whole numbers that fit 64 bits, got an array of float64
    """
    import numpy as np

    if values.dtype == object:
        fits = all(isinstance(value, (int, np.integer)) and -END <= value < END for value in values.flat)
    elif values.dtype.kind == "f":  # 2^63 is a float, and the last one below it is 2^63 - 1024
        fits = bool((np.isfinite(values) & (values == np.rint(values)) & (values >= -END) & (values < END)).all())
    else:
        fits = values.dtype.kind in "bi" or (values.dtype.kind == "u" and largest(values) < END)
    if not fits:
        raise ParameterError(f"need whole numbers that fit 64 bits, got an array of {values.dtype}")
    return values.astype(np.int64)


def over_one_denominator(table: npt.NDArray[Any], *, read: Callable[[Any], Fraction]) -> tuple[Whole, int]:
    """The entries times their common denominator, and that; `read` says what number a float stands for.

    >>> import numpy as np
    >>> over_one_denominator(np.array([0.5, 3.0]), read=Fraction)
    (array([1, 6], dtype=object), 2)
    """
    import numpy as np

    if table.dtype.kind in "biu":
        return roomy(table), 1
    numbers = [read(value) for value in table.ravel().tolist()]
    unit = math.lcm(*{number.denominator for number in numbers})
    made = np.empty(table.size, dtype=object)
    made[:] = [number.numerator * (unit // number.denominator) for number in numbers]
    return made.reshape(table.shape), unit


def roomy(table: npt.NDArray[Any], *, times: int = 1, power: int = 1) -> Whole:
    """The same integers in 64 bits where a sum of `times` powers of them fits, else as Python's.

    >>> import numpy as np
    >>> roomy(np.array([2**31]), power=2).dtype, roomy(np.array([2**31]), times=2, power=2).dtype
    (dtype('int64'), dtype('O'))
    """
    import numpy as np

    if times * largest(table) ** power < END:
        return table.astype(np.int64)
    return _python(table)


def _python(table: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
    """Python's integers: `astype` alone would leave numpy's in an array of objects, and these wrap."""
    import numpy as np

    made = np.empty(table.size, dtype=object)
    made[:] = [int(value) for value in table.flat]
    return made.reshape(table.shape)


def total(table: npt.NDArray[Any]) -> int:
    """The sum of all entries.

    >>> import numpy as np
    >>> total(np.array([2**62, 2**62, 2**62])) == 3 * 2**62
    True
    """
    return int(norms(table.reshape(-1, 1), power=1, signed=True)[0]) if table.size else 0


def norms(table: npt.NDArray[Any], *, power: int, signed: bool = False) -> npt.NDArray[np.object_]:
    """The sum of |entry|^power over every column, as Python's integers; `signed` leaves the signs.

    >>> import numpy as np
    >>> norms(np.array([[2**62], [2**62]]), power=2).tolist() == [2**125]
    True
    """
    import numpy as np

    found = np.zeros(table.shape[1], dtype=object)
    each = max(1, largest(table) ** power)
    length = max(1, (END - 1) // each)
    for start in range(0, table.shape[0], length):
        part = roomy(table[start : start + length], power=power)
        terms = part if signed else abs(part)
        found = found + _python((terms**power).sum(axis=0))
    return found


def largest_norm(table: npt.NDArray[Any], *, power: int) -> int:
    """The largest of `norms`: how far a matrix moves, in l1 or in squared l2, when one cell counts one more."""
    return max(int(value) for value in norms(table, power=power))


def difference(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Whole:
    """left - right, each way of broadcasting."""
    import numpy as np

    if largest(left) + largest(right) < END:
        return left.astype(np.int64) - right.astype(np.int64)
    return _python(left) - _python(right)


def farthest(table: npt.NDArray[Any], *, power: int) -> int:
    """The largest norm of a difference of two columns: how far a matrix moves when a row leaves one cell for another.

    >>> import numpy as np
    >>> farthest(np.array([[2**62, -(2**62)]]), power=2) == 2**126
    True
    """
    columns = table.shape[1]
    if power == 2 or int(table.max()) - int(table.min()) <= 1:  # then every difference is its own square
        squares = norms(table, power=2)
        return max(_from_block(table, squares, first) for first in range(0, columns, BLOCK))
    table = roomy(table, times=2 * table.shape[0])  # in 64 bits if no sum of differences can wrap
    apart = (abs(table[:, i + 1 :] - table[:, [i]]).sum(axis=0).max() for i in range(columns - 1))
    return max((int(value) for value in apart), default=0)


def _from_block(table: npt.NDArray[Any], squares: Whole, first: int) -> int:
    """The largest |a|^2 + |b|^2 - 2 a.b over columns a of the block that starts at `first`, and b from there on."""
    block = slice(first, first + BLOCK)
    gram = product(table[:, block].T, table[:, first:])
    bound = max(squares)  # no inner product is larger
    if gram.dtype != object and 4 * bound < END:
        squares = whole(squares)
    else:
        gram = _python(gram)
    return int((squares[block, None] + squares[None, first:] - 2 * gram).max())


def product(
    left: npt.NDArray[Any], right: npt.NDArray[Any], *, within: int | None = None, reach: int | None = None
) -> Whole:
    """The product of two matrices of integers: in 64 bits where all entries fit, else as Python's.

    `within` is a public bound on the entries of `right`, where these are private, and `reach` one on those of the
    product and of the sums of any of its terms, where a better one is known than the product of all bounds.

    >>> import numpy as np
    >>> product(np.array([[2**40 + 1]]), np.array([[2**20 + 3]])).tolist() == [[(2**40 + 1) * (2**20 + 3)]]
    True
    >>> product(np.array([[2**40]]), np.array([[2**40]])).tolist() == [[2**80]]
    True
    """
    import numpy as np

    inner = left.shape[1]
    require(inner <= LONGEST, f"at most {LONGEST} terms a sum", terms=inner)
    mine, other = largest(left), largest(right) if within is None else within
    fits = (mine * other * max(1, inner) if reach is None else reach) < END
    found = np.zeros((left.shape[0], right.shape[1]), dtype=np.int64 if fits else object)
    others = _parts(right, other)
    for i, one in enumerate(_parts(left, mine)):
        for j, two in enumerate(others):
            made = (one @ two).astype(np.int64)
            if fits:
                found += made << (LIMB * (i + j))
            else:
                found = found + _python(made) * (1 << (LIMB * (i + j)))
    return found


def _parts(table: npt.NDArray[Any], bound: int) -> list[npt.NDArray[Any]]:
    """Integers from -2^12 to 2^12 - 1, as floats, whose multiples by powers of 2^13 add up to the given ones.

    As many parts as integers up to the bound need: how long it takes depends on the bound alone.
    """
    import numpy as np

    # A part less than half of 2^13 on either side: k of them reach sums of 2^12 - 1 in every place.
    count, reach = 1, (1 << (LIMB - 1)) - 1
    while reach < bound:
        count, reach = count + 1, (reach << LIMB) + (1 << (LIMB - 1)) - 1
    rest = table.astype(np.int64) if bound < END >> 1 else _python(table)  # half a part is added on the way
    parts = []
    for _ in range(count):
        low = ((rest + (1 << (LIMB - 1))) & ((1 << LIMB) - 1)) - (1 << (LIMB - 1))
        parts.append(low.astype(np.float64))
        rest = (rest - low) >> LIMB
    assert not rest.any()
    return parts
