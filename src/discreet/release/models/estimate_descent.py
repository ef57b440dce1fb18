"""Descent on a smooth, strongly convex function: limited-memory BFGS with a diagonal that follows the point.

The step is the two-loop product of Nocedal (1980), whose innermost matrix is the inverse diagonal of the Hessian at the
present point, scaled so that it fits the last step.  Steps are shortened until the function falls by the rule of
Armijo, so that the values never rise beyond rounding.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float64]

PAIRS = 12  # past steps remembered
ARMIJO = 1e-4
ROUNDING = 1e-13  # relative: a rise this small is not a rise
SHORTER = 30  # times at most


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Where the descent is: the function, its gradient and the diagonal of its Hessian."""

    at: Vector
    value: float
    gradient: Vector
    diagonal: Vector


def descend(
    evaluate: Callable[[Vector], Point], start: Vector, *, done: Callable[[Point], bool], iterations: int
) -> tuple[Point, list[float]]:
    """The last point and the values on the way; stops when `done`, at `iterations`, or where rounding hides descent.

    >>> import numpy as np
    >>> scales = np.array([1.0, 100.0])
    >>> def bowl(x):
    ...     return Point(x, float(scales @ (x - 1) ** 2 / 2), scales * (x - 1), scales)
    >>> last, values = descend(bowl, np.zeros(2), done=lambda point: point.value < 1e-12, iterations=10)
    >>> last.at.round(6).tolist()
    [1.0, 1.0]
    """
    from discreet.release.models.factor_kernels import inner_product

    point = evaluate(start)
    values = [point.value]
    pairs: deque[tuple[Vector, Vector, float]] = deque(maxlen=PAIRS)
    for _ in range(iterations):
        if done(point):
            break
        direction = _direction(point, pairs)
        slope = inner_product(point.gradient, direction)
        if slope >= 0:  # rounding: start the memory again
            pairs.clear()
            direction = -point.gradient / point.diagonal
            slope = inner_product(point.gradient, direction)
        step = 1.0
        for _ in range(SHORTER):
            trial = evaluate(point.at + step * direction)
            if trial.value <= point.value + ARMIJO * step * slope + ROUNDING * abs(point.value):
                break
            above = trial.value - point.value - step * slope
            step *= min(0.5, max(0.1, -slope * step / (2 * above)))  # the least of the parabola through both
        else:
            break
        moved, turned = trial.at - point.at, trial.gradient - point.gradient
        curvature = inner_product(moved, turned)
        if curvature > 0:
            pairs.append((moved, turned, curvature))
        point = trial
        values.append(point.value)
    return point, values


def _direction(point: Point, pairs: deque[tuple[Vector, Vector, float]]) -> Vector:
    """Minus the approximate inverse of the Hessian times the gradient."""
    from discreet.release.models.factor_kernels import add_multiple, inner_product, weighted_product

    left, weights = -point.gradient, []
    for moved, turned, curvature in reversed(pairs):
        weights.append(inner_product(moved, left) / curvature)
        add_multiple(left, -weights[-1], turned)
    left /= point.diagonal
    if pairs:
        _, turned, curvature = pairs[-1]
        left *= curvature / weighted_product(turned, turned, point.diagonal)
    for (moved, turned, curvature), weight in zip(pairs, reversed(weights), strict=True):
        add_multiple(left, weight - inner_product(turned, left) / curvature, moved)
    return left
