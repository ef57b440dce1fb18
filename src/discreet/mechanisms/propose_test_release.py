"""Propose a bound on the local sensitivity, test it privately, release with noise for that bound.

Theorem (Dwork, Lei 2009; here on the integers).  Let q map datasets to Z, and let the distance
of x to the datasets at which one row can move q by more than `bound` be known: an integer that
moves by at most 1 between neighbours and is 0 at those datasets.  With Z and Z' discrete
Laplace, Pr[z] ~ a^|z| with a = e^(-epsilon / 2) for Z and its root of order `bound` for Z',

    if distance(x) + Z >= threshold, release q(x) + Z';   else release Refused()

is (epsilon, delta)-DP for delta = a^threshold / (1 + a), and `threshold` >= 1 is the least for
the delta asked for.  A bound of 0 needs no Z', and then a = e^-epsilon.  Refusing is an output like
any other and costs the same.  A pair with |q(x) - q(x')| <= bound is even epsilon-DP.
Proof: docs/theory/propose_test_release.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import discrete_laplace
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.smooth_sensitivity import name_of
from discreet.privacy.enclosure import exp_down, exp_up, log_down
from discreet.privacy.event import ApproxEvent
from discreet.privacy.guarantee import ApproxDP, Relation
from discreet.privacy.number import Number, exact, moderate, up

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer when the test fails: an output of the mechanism, paid for like any other.

    >>> Refused()
    Refused()
    """


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ProposeTestRelease:
    """Release an integer with noise for `bound`, unless the data come too near to breaking it.

    `distance(x)` is how many steps x is from a dataset at which one more step moves the query by
    more than `bound`: an integer of at least 0, or math.inf where there is none.  A smaller function
    that moves by at most 1 will do, if it is 0 wherever the query can move by more than `bound`.

    >>> def most_common(votes):  # who leads, 0 or 1
    ...     return int(sum(votes) * 2 > len(votes))
    >>> def lead(votes):  # ballots that may change before one more changes the leader
    ...     return max(0, (abs(2 * sum(votes) - len(votes)) - 1) // 2)
    >>> leader = ProposeTestRelease(query=most_common, distance=lead, bound=0, epsilon=1, delta=1e-6)
    >>> leader.threshold, leader.privacy()
    (14, ApproxDP(epsilon=1.0, delta=6.078...e-07))
    >>> leader([1] * 80 + [0] * 20), leader([1] * 51 + [0] * 49)
    (1, Refused())
    """

    query: Callable[[Any], int]
    distance: Callable[[Any], int | float]
    bound: int
    epsilon: Number
    delta: Number
    neighbours: Relation = None

    def __post_init__(self) -> None:
        require(callable(self.query), "a function as query", query=self.query)
        require(callable(self.distance), "a function as distance", distance=self.distance)
        whole = isinstance(self.bound, int) and not isinstance(self.bound, bool)
        require(whole and self.bound >= 0, "an integer bound >= 0", bound=self.bound)
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        require(0 < exact(self.delta) < 1, "0 < delta < 1", delta=self.delta)
        moderate(self.epsilon, name="epsilon")
        moderate(self.delta, name="delta")

    @property
    def threshold(self) -> int:
        """The least whole number >= 1 that noise alone reaches with probability at most delta."""
        return _threshold(self.test_epsilon, exact(self.delta))

    def __call__(self, value: Any, *, rng: RandomSource | None = None) -> int | Refused:  # noqa: ANN401 - the query says
        """The private answer about a dataset, or `Refused()`."""
        return self.releases(value, 1, rng=rng)[0]

    def releases(self, value: Any, count: int, *, rng: RandomSource | None = None) -> npt.NDArray[np.object_]:  # noqa: ANN401
        """`count` independent releases, for audits and pictures; as a release they would cost `count` times."""
        import numpy as np

        answer, steps = _whole(self.query(value), "query"), self.distance(value)
        far = isinstance(steps, float) and steps == math.inf
        near = 0 if far else _whole(steps, "distance")
        require(near >= 0, "a distance >= 0", distance="a negative number")
        tests = np.asarray(discrete_laplace(1 / self.test_epsilon, shape=(count,), rng=rng))
        out = np.full(count, answer, dtype=object)
        if self.noise is not None:  # drawn even for what is then refused: time tells nothing
            out = np.asarray(self.noise(out, rng=rng))
        out[(tests < self.threshold - near) & (not far)] = Refused()
        return out

    @property
    def test_epsilon(self) -> Fraction:
        """What the test costs: half, or all of epsilon if an answer within the bound needs no noise."""
        return exact(self.epsilon) / (2 if self.bound else 1)

    @property
    def noise(self) -> Laplace | None:
        """What is added to an answer that passed."""
        return Laplace(epsilon=exact(self.epsilon) / 2, sensitivity=self.bound) if self.bound else None

    def refusal(self, distance: int) -> float:
        """The probability of `Refused()` at this distance.

        >>> leader = ProposeTestRelease(query=sum, distance=len, bound=1, epsilon=1, delta=1e-6)
        >>> round(leader.refusal(0), 6), f"{leader.refusal(54):.1e}"
        (0.999999, '5.2e-07')
        """
        rate = float(self.test_epsilon)
        gap = self.threshold - distance  # refused iff Z < gap, Pr[Z >= k] = a^k / (1 + a) for k >= 1
        if gap >= 1:
            return 1 - math.exp(-rate * gap) / (1 + math.exp(-rate))
        return math.exp(-rate * (1 - gap)) / (1 + math.exp(-rate))

    def privacy(self) -> ApproxDP:
        """delta of the discrete test, rounded up: at most the delta asked for."""
        delta = exact(up(_pass(self.test_epsilon, self.threshold)))  # a float, which may be above a delta that is none
        return ApproxDP(self.epsilon, min(exact(self.delta), delta), neighbours=self.neighbours)

    def accuracy(self, beta: float = 0.05) -> int:
        """The least alpha with Pr[|answer - truth| > alpha] <= beta for an answer that is released."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return 0 if self.noise is None else self.noise.accuracy(beta)

    def event(self) -> ApproxEvent:
        """What ran, for the accountant."""
        cost = self.privacy()
        return ApproxEvent(epsilon=cost.epsilon, delta=cost.delta)

    def __repr__(self) -> str:
        functions = f"query={name_of(self.query)}, distance={name_of(self.distance)}"
        budget = f"epsilon={self.epsilon!r}, delta={self.delta!r}"
        return f"ProposeTestRelease({functions}, bound={self.bound!r}, {budget})"


def _pass(epsilon: Fraction, threshold: int) -> Fraction:
    """a^threshold / (1 + a), from above: the probability of passing at distance 0."""
    return exp_up(-epsilon * threshold) / (1 + exp_down(-epsilon))


@lru_cache(maxsize=1024)
def _threshold(epsilon: Fraction, delta: Fraction) -> int:
    guess = math.floor(-log_down(delta * (1 + exp_down(-epsilon))) / epsilon) - 1
    low, high, step = max(1, guess) - 1, max(1, guess), 1
    while _pass(epsilon, high) > delta:  # in steps that double: at a tiny epsilon the guess is off by many
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _pass(epsilon, middle) > delta else (low, middle)
    return high


def _whole(number: object, name: str) -> int:
    """A whole number from the caller's function; it is private, and no message carries it."""
    item = number.item() if hasattr(number, "item") and getattr(number, "ndim", None) == 0 else number  # type: ignore[union-attr]
    if not isinstance(item, Integral) or isinstance(item, bool):
        raise ParameterError(f"need a whole number from {name}, got another {type(item).__name__}")
    return int(item)
