"""The sparse vector variants that are not private (Lyu, Su, Li 2017, Algorithms 3 to 6).

All compare queries of sensitivity 1 with a noisy threshold of 0 and claim epsilon-DP for at
most `count` positive answers.  Outputs are rows of 1 (above), 0 (below), -1 (not reached).
`answers_law` is the exact law of such rows: the sum over the noisy threshold R = r of
Pr[R = r] times the chance of each answer given r, answers being independent then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.attacks.broken.twin import INFINITE, Twin, Vector, laplace, rows
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.attacks.broken.twin import Array

BELOW = -(10**6)  # in rows that also hold answers
TAIL = 36  # scales of the threshold's noise that are summed over: beyond is less than e^-36

Law = dict[tuple[int, ...], float]


def noise_law(scale: Fraction | float, *, tail: int = TAIL) -> dict[int, float]:
    """Discrete Laplace probabilities, all but e^-tail of them."""
    a, reach = math.exp(-1 / float(scale)), math.ceil(tail * float(scale))
    return {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-reach, reach + 1)}


def reaches(least: int, scale: Fraction | float | None) -> float:
    """Pr[N >= least] for discrete Laplace noise, or for none."""
    if scale is None:
        return float(least <= 0)
    a = math.exp(-1 / float(scale))
    return a**least / (1 + a) if least >= 1 else 1 - a ** (1 - least) / (1 + a)


def answers_law(
    queries: Sequence[int], *, threshold: Fraction | float, noise: Fraction | float | None, count: int | None
) -> Law:
    """The law of the answers, for these scales; `count` positives end it.

    >>> law = answers_law([0, 1], threshold=2, noise=4, count=1)
    >>> sorted(law), round(sum(law.values()), 12)
    ([(0, 0), (0, 1), (1, -1)], 1.0)
    """
    law: Law = {}
    for shift, chance in noise_law(threshold).items():
        runs: Law = {(): chance}
        for query in queries:
            above = reaches(shift - query, noise)
            grown: Law = {}
            for past, mass in runs.items():
                if count is not None and past.count(1) >= count:
                    grown[(*past, -1)] = mass
                else:
                    grown[(*past, 1)], grown[(*past, 0)] = mass * above, mass * (1 - above)
            runs = grown
        for past, mass in runs.items():
            law[past] = law.get(past, 0.0) + mass
    return {answers: mass for answers, mass in law.items() if mass > 0}


def renewed_law(queries: Sequence[int], *, threshold: Fraction | float, noise: Fraction | float, count: int) -> Law:
    """The same where every positive answer is followed by a fresh threshold, as in the textbook of Dwork and Roth.

    >>> law = renewed_law([0, 1], threshold=2, noise=4, count=2)
    >>> sorted(law), round(sum(law.values()), 12)
    ([(0, 0), (0, 1), (1, 0), (1, 1)], 1.0)
    """
    if count == 0 or not queries:
        return {(-1,) * len(queries): 1.0}
    law: Law = {}
    for until, mass in answers_law(queries, threshold=threshold, noise=noise, count=1).items():
        end = until.index(1) + 1 if 1 in until else len(queries)
        rest = renewed_law(queries[end:], threshold=threshold, noise=noise, count=count - 1)
        for tail, share in rest.items():
            law[until[:end] + tail] = mass * share
    return law


def value_law(queries: Sequence[int], *, threshold: Fraction | float, noise: Fraction | float) -> Law:
    """The law of the first positive answer and its place, where the noisy value is the answer."""
    law: Law = {}
    values = noise_law(noise)
    for shift, chance in noise_law(threshold).items():
        before = chance  # that all before were negative
        for place, query in enumerate(queries):
            for z, mass in values.items():
                if query + z >= shift:
                    law[place, query + z] = law.get((place, query + z), 0.0) + before * mass
            before *= 1 - reaches(shift - query, noise)
        law[()] = law.get((), 0.0) + before
    return law


def _stopped(above: npt.NDArray[np.bool_], count: int) -> npt.NDArray[np.bool_]:
    """Where `count` positives have already been answered."""
    import numpy as np

    return np.cumsum(above, axis=1) - above >= count


@dataclass(frozen=True, kw_only=True, slots=True)
class SparseVectorWithAnswers(Twin[Vector]):
    """Algorithm 3 (Roth 2011, lecture notes): a positive answer is the noisy value, with the noise of the comparison.

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

    def law(self, value: Vector) -> Law:
        """Of one positive answer: (its place, its noisy value), or () if there was none; only for `count` = 1."""
        if self.count != 1:
            raise UnsupportedError("the law of several positive answers is not written down; pass count=1")
        half = exact(self.epsilon) / 2
        return value_law(value, threshold=1 / half, noise=self.count / half)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (0, 0, 0, 0, 1), (1, 1, 1, 1, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class SparseVectorUnscaled(Twin[Vector]):
    """Algorithm 4 (Lee, Clifton 2014): the noise of the queries does not grow with the number of positives.

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

    def law(self, value: Vector) -> Law:
        """Output probabilities."""
        first = exact(self.epsilon) / 4
        return answers_law(value, threshold=1 / first, noise=1 / (3 * first), count=self.count)

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
    """Algorithm 5 (Stoddard, Chen, Machanavajjhala 2014): only the threshold is noisy, and positives are not limited.

    One side's outputs are impossible on the other.
    """

    flaw: ClassVar[str] = "the queries carry no noise"
    epsilon: Number

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        threshold = laplace(2 / exact(self.epsilon), (count, 1), rng)
        return (rows(value, count) >= threshold).astype(np.int64)

    def law(self, value: Vector) -> Law:
        """Output probabilities."""
        return answers_law(value, threshold=2 / exact(self.epsilon), noise=None, count=None)

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
    """Algorithm 6 (Chen, Xiao, Zhang, Xu 2015): positives are not limited.

    The loss grows with the number of queries, without bound.
    """

    flaw: ClassVar[str] = "it never stops"
    epsilon: Number

    def releases(self, value: Vector, count: int, *, rng: RandomSource | None = None) -> Array:
        import numpy as np

        half, queries = exact(self.epsilon) / 2, rows(value, count)
        threshold = laplace(1 / half, (count, 1), rng)
        return (queries + laplace(1 / half, queries.shape, rng) >= threshold).astype(np.int64)

    def law(self, value: Vector) -> Law:
        """Output probabilities."""
        half = exact(self.epsilon) / 2
        return answers_law(value, threshold=1 / half, noise=1 / half, count=None)

    def privacy(self) -> PureDP:
        return PureDP(self.epsilon)

    @property
    def worst(self) -> tuple[Vector, Vector]:
        return (0,) * 10, (1,) * 5 + (-1,) * 5
