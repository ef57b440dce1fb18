"""Noise scaled to the data at hand, safely: the smooth sensitivity framework.

Theorem (Nissim, Raskhodnikova, Smith 2007).  Let S map datasets to numbers with, for all
neighbours x ~ x',

    |q(x) - q(x')| <= S(x)   and   S(x) <= e^b S(x').

Releasing the integer nearest to q(x) + c S(x) Z, with Z and c from `admissible_noise` for the
smoothness b, is as private as that noise says.  The least such S is the smooth sensitivity

    S_b(x) = max over y of e^(-b d(x, y)) LS(y) = max over k of e^(-b k) LS_k(x),

where LS(y) is the farthest that one step from y moves q, LS_k(x) the largest LS(y) within k
steps of x.  With b = epsilon and Cauchy noise S / epsilon, as the notes have it, the loss is
1.1427 at epsilon = 1: smoothing spends epsilon too.  Proof: docs/theory/smooth_sensitivity.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.admissible_noise import AdmissibleNoise, best_noise, check_delta, check_epsilon, noises
from discreet.privacy.event import ApproxEvent, PureEvent
from discreet.privacy.guarantee import ApproxDP, PureDP, Relation
from discreet.privacy.neighbours import Neighbours, Replace, Row, datasets
from discreet.privacy.number import Number, chance, exact
from discreet.privacy.sensitivity import local

if TYPE_CHECKING:
    from discreet.hazmat.integers import Integers

NAMES = ("auto", "cauchy", "lomax", "power", "laplace", "gaussian")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SmoothSensitivity:
    """Release a number with noise scaled to a smooth bound on how far one row can move it.

    `query(x)` is a whole or rational number; `smooth(x, b)` is S(x), a b-smooth bound, exact or at
    most a 2^-32 part too large.  Both must hold for `neighbours`.  `noise="auto"` is the law with the
    least error, exceeded with probability beta, at this smoothness; delta=0 allows the pure ones only.
    Without a smoothness one is chosen from the budget (see `best_noise`).

    >>> from itertools import pairwise
    >>> from discreet.privacy.enclosure import exp_up
    >>> def smooth(x, b):  # for the largest age, at most 120: k rows removed leave the next one
    ...     ages = [*sorted(x, reverse=True), 0, 0]
    ...     return max(max(120 - a, a - c) * exp_up(-b * k) for k, (a, c) in enumerate(pairwise(ages)))
    >>> oldest = SmoothSensitivity(query=max, smooth=smooth, epsilon=1, delta=0, smoothness=0.5)
    >>> oldest.noise_law.name, oldest.privacy()
    ('lomax', PureDP(epsilon=1.0))
    >>> type(oldest([34, 71, 80]))
    <class 'int'>
    """

    query: Callable[[Any], Number]
    smooth: Callable[[Any, Fraction], Number]
    epsilon: Number
    delta: Number
    smoothness: Number | None = None
    noise: str = "auto"
    beta: float = 0.05
    neighbours: Relation = None

    def __post_init__(self) -> None:
        require(callable(self.query), "a function as query", query=self.query)
        require(callable(self.smooth), "a function as smooth", smooth=self.smooth)
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        chance(self.beta)
        require(self.noise in NAMES, f"a noise of {', '.join(NAMES)}", noise=self.noise)
        _ = self.noise_law  # raises where no theorem covers the combination

    @property
    def noise_law(self) -> AdmissibleNoise:
        """The noise, chosen from public numbers."""
        if self.noise == "auto":
            return best_noise(epsilon=self.epsilon, delta=self.delta, smoothness=self.smoothness, beta=self.beta)
        if self.smoothness is None:
            raise UnsupportedError("a named noise needs a smoothness; pass one, or noise='auto'")
        offered = noises(epsilon=self.epsilon, delta=self.delta, smoothness=self.smoothness, beta=self.beta)
        for law in offered:
            if law.name == self.noise:
                return law
        known = ", ".join(law.name for law in offered)
        raise UnsupportedError(f"no {self.noise} noise for this budget and smoothness; there is {known}")

    def __call__(self, value: Any, *, rng: RandomSource | None = None) -> int:  # noqa: ANN401 - the query says
        """The private answer about a dataset."""
        return int(self.releases(value, None, rng=rng))

    def releases(self, value: Any, count: int | None, *, rng: RandomSource | None = None) -> Integers:  # noqa: ANN401
        """`count` independent releases, for audits and pictures; as a release they would cost `count` times."""
        law = self.noise_law
        bound = self.smooth(value, exact(law.smoothness))
        return law.release(self.query(value), bound, shape=None if count is None else (count,), rng=rng)

    def privacy(self) -> PureDP | ApproxDP:
        """That of the noise, under the relation for which `smooth` is smooth."""
        return self.noise_law.privacy(self.neighbours)

    def accuracy(self, beta: float = 0.05, *, sensitivity: Number | None = None) -> float:
        """The error at a given S; without one nothing is known, since the noise depends on the data."""
        law = self.noise_law
        unit = law.error(beta)
        if sensitivity is None:
            raise UnsupportedError("the noise depends on the data; pass sensitivity= for the error at that S")
        require(exact(sensitivity) >= 0, "sensitivity >= 0", sensitivity=sensitivity)
        return unit * float(exact(sensitivity)) * (1 + 2.0**-30) + 0.5

    def event(self) -> PureEvent | ApproxEvent:
        """What ran, for the accountant."""
        match self.privacy():
            case PureDP(epsilon=epsilon):
                return PureEvent(epsilon=epsilon)
            case ApproxDP(epsilon=epsilon, delta=delta):
                return ApproxEvent(epsilon=epsilon, delta=delta)

    def __repr__(self) -> str:
        functions = f"query={name_of(self.query)}, smooth={name_of(self.smooth)}"
        budget = f"epsilon={self.epsilon!r}, delta={self.delta!r}, smoothness={self.smoothness!r}"
        return f"SmoothSensitivity({functions}, {budget}, noise={self.noise!r})"


def name_of(function: Callable[..., object]) -> str:
    """How a function is called, without the address that Python prints."""
    return getattr(function, "__name__", type(function).__name__)


def brute_force_smooth(
    query: Callable[..., Number],
    dataset: Sequence[Row],
    smoothness: Number,
    *,
    universe: Sequence[Row],
    n: int | None = None,
    relation: type[Neighbours] = Replace,
) -> Fraction:
    """S_b by its definition, over every dataset of a small universe: an oracle for closed forms.

    `n` bounds the rows under AddRemove; under Replace it is that of the dataset.  Rounded up.

    >>> median = lambda rows: sorted(rows)[(len(rows) - 1) // 2]
    >>> round(float(brute_force_smooth(median, (0, 1, 2), 1, universe=range(3))), 4)
    1.0
    """
    from discreet.privacy.enclosure import exp_up

    b, rows = exact(smoothness), tuple(dataset)
    size = len(rows) if n is None else n
    best = Fraction(0)
    for other in datasets(universe, n=size, relation=relation):
        steps = relation.distance(rows, other)  # type: ignore[attr-defined]
        moved = exact(local(query, other, universe=universe, relation=relation))
        best = max(best, exp_up(-b * steps) * moved)
    return best
