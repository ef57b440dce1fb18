"""Losses of linear scores whose slopes are read from tables: integers in, integers out, the same for a row always.

Theorem.  `residuals` is a function of one row's scores, in places of 1 / STEPS, and of its class.  Its entries are
integers, minus RESIDUAL times the slope of the loss by each score up to the width of a place, and their squares sum to
at most `square` RESIDUAL^2 on each row.  Only sums of integers below 2^53 and single divisions are used, so that no
result depends on how many rows there are or in which order they come.  Proof: docs/theory/private_erm.md.

    Margin    l((2 [y = k] - 1) s_k), for each class k against the rest, or for the second of two
    Softmax   -ln of the probability e^(s_y) / sum_k e^(s_k)
    Squared   (y - s)^2 / 2, straight beyond an error of 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

RESIDUAL = 1 << 10  # what a slope of 1 becomes
STEPS = 1 << 10  # places for a score of 1
REACH = 32  # margins and gaps are cut at this
ODDS = 1 << 40  # what odds of 1 become


@dataclass(frozen=True, slots=True)
class Margin:
    """A convex loss of the margin: minus its slope, from 0 to 1, and its largest curvature.

    >>> import numpy as np
    >>> hinge = Margin(slope=lambda margins: (margins < 1).astype(float), curvature=1.0)
    >>> hinge.residuals(np.array([[0], [0], [2 * STEPS]]), np.array([0, 1, 1])).tolist()
    [[-1024], [1024], [0]]
    """

    slope: Callable[[Floats], Floats]
    curvature: float

    def square(self, columns: int) -> int:
        """The sum of squared slopes of a row, at most."""
        return columns

    def residuals(self, places: Whole, classes: Whole) -> Whole:
        """One entry a score; with a single score, that of the second of two classes."""
        import numpy as np

        columns = places.shape[1]
        signs = np.where(classes[:, None] == (np.arange(columns) if columns > 1 else 1), 1, -1)
        margins = (np.arange(2 * REACH * STEPS) + 0.5) / STEPS - REACH
        table = np.rint(np.clip(self.slope(margins), 0.0, 1.0) * RESIDUAL).astype(np.int64)
        return signs * table[np.clip(signs * places + REACH * STEPS, 0, len(table) - 1)]


@dataclass(frozen=True, slots=True)
class Softmax:
    """The loss of multinomial regression.

    >>> import numpy as np
    >>> Softmax().residuals(np.array([[0, 0], [0, 40 * STEPS]]), np.array([0, 0])).tolist()
    [[512, -512], [1024, -1024]]
    """

    curvature: float = 0.5

    def square(self, columns: int) -> int:
        """Slopes are 1 - p for the class and -p for the others: their squares sum to less than 2."""
        return 2

    def residuals(self, places: Whole, classes: Whole) -> Whole:
        """One entry a class."""
        import numpy as np

        table = np.rint(np.exp(-np.arange(REACH * STEPS) / STEPS) * ODDS).astype(np.int64)
        gaps = places.max(axis=1, keepdims=True) - places
        odds = table[np.clip(gaps, 0, len(table) - 1)]
        made = -(odds * RESIDUAL // odds.sum(axis=1, keepdims=True))
        made[np.arange(len(made)), classes] += RESIDUAL
        return made


@dataclass(frozen=True, slots=True)
class Squared:
    """Half the squared error, straight beyond an error of 1 (Huber 1964); targets are in places, as scores are.

    >>> import numpy as np
    >>> Squared().residuals(np.array([[0], [0]]), np.array([STEPS // 2, -9 * STEPS])).tolist()
    [[512], [-1024]]
    """

    curvature: float = 1.0

    def square(self, columns: int) -> int:
        """One score, and an error that is cut at 1."""
        return columns

    def residuals(self, places: Whole, classes: Whole) -> Whole:
        """Target less score, for the only score."""
        import numpy as np

        return np.clip((classes[:, None] - places) * RESIDUAL // STEPS, -RESIDUAL, RESIDUAL)


Loss = Margin | Softmax | Squared
