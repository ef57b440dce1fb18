"""What each way of finding several quantiles is expected to be wrong by, in rows; from public facts only.

Where rows are many and spread evenly near a quantile, a choice at a rate of r a row has the law of
discrete Laplace noise of scale 1 / r on the rank.  From that:

    independent  each of m quantiles from all rows at epsilon / m: mean error 1 / r
    recursive    the tree of `quantile_tree`: own errors and inherited ones, added as if independent
    joint        `quantile_joint`: the steps between neighbouring quantiles are Laplace, given that they sum to 0

The method with the least mean error is the one used.  This is a forecast for choosing and
explaining, not a promise; the promise is `accuracy`.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from discreet.structured.quantiles.quantile_joint import joint_reach
from discreet.structured.quantiles.quantile_tree import inherited, tree
from discreet.structured.quantiles.rank_loss import FINEST, row_sensitivity

JOINT_MOST = 12  # quantiles; beyond, the recursive way is better, and the joint sampler's weights might overflow
JOINT_ROWS = 4000  # about a quantile: the joint sampler takes time quadratic in them
JOINT_LEAST = 4  # rows; with fewer in reach it would depend on the data whether any run is


def row_rate(quantile: Fraction, epsilon: Fraction, rows_per_unit: int) -> float:
    """What a row of rank error is worth: epsilon b / (2 rows_per_unit max(a, b - a))."""
    return _float(epsilon * quantile.denominator / (2 * rows_per_unit * row_sensitivity(quantile)))


def _float(value: Fraction) -> float:
    """For predictions, which promise nothing: as near as floats come that can be squared and inverted."""
    return float(min(max(value, Fraction(1, 1 << 300)), Fraction(1 << 300)))


def joint_sensitivity(quantiles: tuple[Fraction, ...], rows_per_unit: int) -> int:
    """2 rows_per_unit (b - the least step between numerators), over the common denominator b.

    >>> joint_sensitivity((Fraction(1, 4), Fraction(3, 4)), 1)
    6
    """
    b = math.lcm(*(q.denominator for q in quantiles))
    ends = [0, *(int(q * b) for q in quantiles), b]
    return 2 * rows_per_unit * (b - min(after - before for before, after in pairwise(ends)))


def predicted(quantiles: tuple[Fraction, ...], epsilon: Fraction, rows_per_unit: int, places: int) -> dict[str, float]:
    """Each applicable method with its mean error in rows, the best first; quantiles strictly increase.

    >>> deciles = tuple(Fraction(i, 10) for i in range(1, 10))
    >>> {method: round(rows, 1) for method, rows in predicted(deciles, Fraction(1), 1, 1 << 40).items()}
    {'joint': 4.9, 'recursive': 5.4, 'independent': 13.0}
    """
    return dict(_predicted(quantiles, epsilon, rows_per_unit, places))


@lru_cache(maxsize=256)
def _predicted(
    quantiles: tuple[Fraction, ...], epsilon: Fraction, rows_per_unit: int, places: int
) -> tuple[tuple[str, float], ...]:
    m, height = len(quantiles), tree(quantiles).height
    alone = [1 / row_rate(q, epsilon / m, rows_per_unit) for q in quantiles]
    found = {"independent": sum(alone) / m}
    if m > 1 and any(0 < q < 1 for q in quantiles):
        own = {node.place: 1 / row_rate(node.relative, epsilon / height, rows_per_unit) for node in tree(quantiles)}
        sums = [
            math.sqrt(sum((float(s) * own[place]) ** 2 for place, s in row.items())) for row in inherited(quantiles)
        ]
        found["recursive"] = sum(sums) / m
        if joint_applies(quantiles, epsilon, rows_per_unit, places):
            found["joint"] = _joint(quantiles, epsilon, rows_per_unit)
    return tuple(sorted(found.items(), key=lambda item: item[1]))


def joint_applies(quantiles: tuple[Fraction, ...], epsilon: Fraction, rows_per_unit: int, places: int) -> bool:
    """Whether the joint way is open: few quantiles, none of them an end, and few rows in reach of each, but some."""
    m = len(quantiles)
    if not 1 <= m <= JOINT_MOST or quantiles[0] == 0 or quantiles[-1] == 1:
        return False
    b = math.lcm(*(q.denominator for q in quantiles))
    rate = epsilon / (2 * joint_sensitivity(quantiles, rows_per_unit))
    return b <= FINEST and JOINT_LEAST * b <= 2 * joint_reach(m, places, rate) <= JOINT_ROWS * b


def _joint(quantiles: tuple[Fraction, ...], epsilon: Fraction, rows_per_unit: int) -> float:
    """Mean |error|: the i-th of m + 1 steps leads to x with density f_i(x) f_(m + 1 - i)(-x), up to a constant."""
    import numpy as np

    b = math.lcm(*(q.denominator for q in quantiles))
    scale = _float(2 * joint_sensitivity(quantiles, rows_per_unit) / (epsilon * b))  # of one step, in rows
    x = (np.arange(1 << 13) - (1 << 12)) / 32.0  # in scales
    transform = np.fft.fft(np.fft.ifftshift(np.exp(-np.abs(x))))
    m, total = len(quantiles), 0.0
    for i in range(1, m + 1):
        there, back = (np.fft.fftshift(np.fft.ifft(transform**steps).real).clip(0) for steps in (i, m + 1 - i))
        total += float((there * back) @ np.abs(x) / (there @ back))
    return scale * total / m
