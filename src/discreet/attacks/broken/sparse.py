"""The sparse vector variants that are not private (Lyu, Su, Li 2017, Algorithms 3 to 6).

All compare queries of sensitivity 1 with a noisy threshold of 0 and claim epsilon-DP for at
most `count` positive answers.  Outputs are rows of 1 (above), 0 (below), -1 (not reached).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.attacks.broken.twin import INFINITE, Twin, Vector, laplace, rows
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.attacks.broken.twin import Array

BELOW = -(10**6)  # in rows that also hold answers


def _stopped(above: npt.NDArray[np.bool_], count: int) -> npt.NDArray[np.bool_]:
    """Where `count` positives have already been answered."""
    import numpy as np

    return np.cumsum(above, axis=1) - above >= count


@dataclass(frozen=True, kw_only=True, slots=True)
class SparseVectorWithAnswers(Twin[Vector]):
    """Algorithm 3: a positive answer is the noisy value itself, with the noise of the comparison.

    The value bounds the noisy threshold, so the negatives before it are paid one by one:
    not epsilon'-DP for any epsilon'.
    """

    flaw: ClassVar[str] = "the noise of the comparison is released"
    epsilon: Number
    count: int = 1

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        half, queries = exact(self.epsilon) / 2, rows(value, count)
        threshold = laplace(1 / half, (count, 1), rng)
        noisy = queries + laplace(self.count / half, queries.shape, rng)
        above = noisy >= threshold
        return np.where(_stopped(above, self.count), -1, np.where(above, noisy, BELOW))

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (0, 0, 0, 0, 1), (1, 1, 1, 1, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class SparseVectorUnscaled(Twin[Vector]):
    """Algorithm 4: the noise of the queries does not grow with the number of positives.

    epsilon'-DP only for epsilon' = (1 + 6 count) epsilon / 4.
    """

    flaw: ClassVar[str] = "the noise of the queries ignores the number of positive answers"
    epsilon: Number
    count: int

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        first, queries = exact(self.epsilon) / 4, rows(value, count)
        threshold = laplace(1 / first, (count, 1), rng)
        above = queries + laplace(1 / (3 * first), queries.shape, rng) >= threshold
        return np.where(_stopped(above, self.count), -1, above.astype(np.int64))

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def bound(self) -> Fraction:
        """The epsilon it does satisfy."""
        return exact(self.epsilon) * (1 + 6 * self.count) / 4

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (-2,) * 4 + (-1,) * self.count, (-1,) * 4 + (-2,) * self.count


@dataclass(frozen=True, kw_only=True, slots=True)
class SparseVectorWithoutNoise(Twin[Vector]):
    """Algorithm 5: only the threshold is noisy, and positives are not limited.  One side's outputs are impossible."""

    flaw: ClassVar[str] = "the queries carry no noise"
    epsilon: Number

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        threshold = laplace(2 / exact(self.epsilon), (count, 1), rng)
        return (rows(value, count) >= threshold).astype(np.int64)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (0, 1), (1, 0)

    @property
    def true_epsilon(self) -> float:
        return INFINITE


@dataclass(frozen=True, kw_only=True, slots=True)
class SparseVectorWithoutEnd(Twin[Vector]):
    """Algorithm 6: positives are not limited.  The loss grows with the number of queries, without bound."""

    flaw: ClassVar[str] = "it never stops"
    epsilon: Number

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        half, queries = exact(self.epsilon) / 2, rows(value, count)
        threshold = laplace(1 / half, (count, 1), rng)
        return (queries + laplace(1 / half, queries.shape, rng) >= threshold).astype(np.int64)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (0,) * 10, (1,) * 5 + (-1,) * 5
