"""The worst pair of rows in a table of probabilities: a fast search, settled exactly.

Row x is a list of nonnegative integers over their sum: Pr[M(x) = y] = weights[y] / total.
The search runs over all pairs at once in floating point, with an error bound, and keeps
every pair (and output) that could still be the worst; those are compared in integers.
So the answer is exact, and the integers are built only for rows that are in the running.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.intp]

TOLERANCE = 1e-9  # how far a row of floats may sum from 1
_BLOCK = 1 << 20  # cells handled at once
_ULPS = 2.0**-46  # relative error allowed to the floating-point search, generously
_TINY = 1e-290  # below this a float is no guide, and the exact value decides


@dataclass(frozen=True, kw_only=True, slots=True)
class Excess:
    """The largest Pr[M(x) in T] - factor Pr[M(x') in T]: rows, outputs of T, and both probabilities."""

    left: int
    right: int
    event: tuple[int, ...]
    mass: Fraction  # Pr[M(x) in T]
    other: Fraction  # Pr[M(x') in T]

    def value(self, factor: Fraction) -> Fraction:
        """The excess itself."""
        return self.mass - factor * self.other


class Rows:
    """Probability rows over a common list of outputs, exact on demand."""

    def __init__(self, rows: Sequence[Sequence[Number]]) -> None:
        import numpy as np

        self._raw = rows
        self._exact: dict[int, tuple[list[int], int]] = {}
        width = len(rows[0]) if rows else 0
        self.floats = np.zeros((len(rows), width))  # (inputs, outputs)
        self.support = np.zeros((len(rows), width), dtype=bool)
        for i, row in enumerate(rows):
            self._read(i, row)

    def _read(self, i: int, row: Sequence[Number]) -> None:
        import numpy as np

        if all(type(value) is float for value in row):
            numbers = np.array(row, dtype=np.float64)
            good = bool(np.all(numbers >= 0) and np.all(numbers <= 1 + TOLERANCE))  # False on NaN
            total = math.fsum(numbers) if good else math.nan
            require(good, "probabilities in [0, 1]", row=i)
            require(abs(total - 1) <= TOLERANCE, "a row of probabilities that sums to 1", row=i, sum=total)
            self.floats[i] = numbers / total
        else:
            weights, total = self.exact(i)
            self.floats[i] = [weight / total for weight in weights]  # integers divide correctly rounded
            numbers = np.array([weight > 0 for weight in weights])
        self.support[i] = numbers > 0

    def exact(self, i: int) -> tuple[list[int], int]:
        """The weights of row i and their sum, as integers."""
        if i not in self._exact:
            self._exact[i] = _weights(i, self._raw[i])
        return self._exact[i]

    def probability(self, i: int, outputs: Sequence[int]) -> Fraction:
        """Pr[M(x) in T], exactly."""
        weights, total = self.exact(i)
        return Fraction(sum(weights[y] for y in outputs), total)


def _weights(i: int, row: Sequence[Number]) -> tuple[list[int], int]:
    """Numbers over one denominator; a row with floats in it is scaled to sum to 1, others must sum to it."""
    numbers = [_integer_ratio(value) for value in row]
    require(all(p >= 0 for p, _ in numbers), "probabilities in [0, 1]", row=i)
    denominator = math.lcm(*{q for _, q in numbers})
    weights = [p * (denominator // q) for p, q in numbers]
    total = sum(weights)
    slack = Fraction(TOLERANCE) if any(isinstance(value, float) for value in row) else Fraction(0)
    if abs(total - denominator) > slack * denominator:
        sums = total / denominator if total < denominator * 10**300 else math.inf
        raise ParameterError(f"need a row of probabilities that sums to 1, got row={i}, sum={sums}")
    return weights, total


def _integer_ratio(value: Number) -> tuple[int, int]:
    """The rational a number prints; the short way for the finite floats that fill large tables."""
    if type(value) is float and math.isfinite(value):
        return Decimal(repr(value)).as_integer_ratio()
    return exact(value).as_integer_ratio()


def _blocks(lefts: Indices, rights: Indices, width: int) -> Iterator[tuple[Indices, Indices]]:
    step = max(1, _BLOCK // max(1, width))
    for at in range(0, len(lefts), step):
        yield lefts[at : at + step], rights[at : at + step]


def worst_ratio(rows: Rows, lefts: Indices, rights: Indices) -> tuple[Fraction | None, Excess] | None:
    """The largest Pr[M(x) = y] / Pr[M(x') = y] over pairs and outputs, None for infinity; None without pairs."""
    import numpy as np

    width = rows.floats.shape[1]
    best = 0.0
    for left, right in _blocks(lefts, rights, width):
        only = rows.support[left] & ~rows.support[right]
        if only.any():
            pair, y = (int(k) for k in np.argwhere(only)[0])
            return None, _single(rows, int(left[pair]), int(right[pair]), y)
        best = max(best, float(np.max(_ratios(rows, left, right), initial=0.0)))
    found: tuple[int, int, Excess] | None = None  # numerator, denominator of the ratio, and where
    for left, right in _blocks(lefts, rights, width):
        floor = best * (1 - _ULPS)
        for pair, y in np.argwhere(_ratios(rows, left, right, unsure=math.inf) >= floor):
            i, j, y = int(left[pair]), int(right[pair]), int(y)
            (a, total_a), (b, total_b) = rows.exact(i), rows.exact(j)
            numerator, denominator = a[y] * total_b, b[y] * total_a
            if found is None or numerator * found[1] > found[0] * denominator:
                found = numerator, denominator, _single(rows, i, j, y)
    return None if found is None else (Fraction(found[0], found[1]), found[2])


def _single(rows: Rows, i: int, j: int, y: int) -> Excess:
    return Excess(left=i, right=j, event=(y,), mass=rows.probability(i, (y,)), other=rows.probability(j, (y,)))


def _ratios(rows: Rows, left: Indices, right: Indices, *, unsure: float = 0.0) -> Floats:
    """P / P' in floating point: -1 off the support, `unsure` where a value is too small to divide by."""
    import numpy as np

    p, q = rows.floats[left], rows.floats[right]  # (pairs, outputs)
    sure = (p > _TINY) & (q > _TINY)
    ratios = np.full_like(p, -1.0)
    np.divide(p, q, out=ratios, where=sure)
    ratios[~sure & rows.support[left] & rows.support[right]] = unsure
    return ratios


def worst_excess(rows: Rows, lefts: Indices, rights: Indices, factor: Fraction | None) -> Excess | None:
    """The pair and event with the largest excess; `factor` None is infinity; None without pairs.

    The optimal event of a pair is T = {y : Pr[M(x) = y] > factor Pr[M(x') = y]}.
    """
    import numpy as np

    width = rows.floats.shape[1]
    guide = math.inf if factor is None or factor > 10**250 else float(factor)
    excesses, errors = [], []
    for left, right in _blocks(lefts, rights, width):
        p, q = rows.floats[left], rows.floats[right]
        with np.errstate(invalid="ignore", over="ignore"):
            line = np.where(rows.support[right], guide * q, 0.0)
        if math.isinf(guide):  # q may be a float 0 on the support; only P off the other support is certain
            line = np.where(rows.support[right], p, 0.0)
        excesses.append(np.maximum(p - line, 0.0).sum(axis=1))
        near = p > line * (1 - 8 * _ULPS)
        errors.append(_ULPS * np.where(near, p, 0.0).sum(axis=1) + width * _TINY)
        if math.isinf(guide) and factor is not None:  # the finite factor takes away less than all of P
            errors[-1] += np.where(rows.support[right], np.maximum(p - 1e250 * q, 0.0), 0.0).sum(axis=1) + _ULPS
    if not excesses:
        return None
    value, error = np.concatenate(excesses), np.concatenate(errors)
    worst: Excess | None = None
    largest = Fraction(-1)
    for pair in np.flatnonzero(value + error >= np.max(value - error)):
        one = _settled(rows, int(lefts[pair]), int(rights[pair]), factor)
        excess = one.mass if factor is None else one.value(factor)
        if excess > largest:
            worst, largest = one, excess
    return worst


def _settled(rows: Rows, i: int, j: int, factor: Fraction | None) -> Excess:
    """The optimal event of one ordered pair, exactly."""
    (a, total_a), (b, total_b) = rows.exact(i), rows.exact(j)
    if factor is None:
        event = tuple(y for y, (p, q) in enumerate(zip(a, b, strict=True)) if p and not q)
    else:
        left, right = factor.denominator * total_b, factor.numerator * total_a
        event = tuple(y for y, (p, q) in enumerate(zip(a, b, strict=True)) if p * left > q * right)
    return Excess(left=i, right=j, event=event, mass=rows.probability(i, event), other=rows.probability(j, event))
