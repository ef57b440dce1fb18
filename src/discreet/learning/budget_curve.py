"""Accuracy against the budget: what more privacy would cost, and what it costs to know.

Theorem.  On public rows nothing is spent.  On private rows every point is a cross-validation that keeps its budget,
fits and scores together, and all of them keep the sum of the budgets.
Proof: docs/theory/estimators.md, by composition.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.watched import watched
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact

if TYPE_CHECKING:
    import altair as alt

HELD = 0.3  # of public rows, to judge by


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """The score at one budget: on average, and from a tenth to nine tenths of fits, or two deviations of its noise."""

    budget: Guarantee
    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class AccuracyCurve:
    """One point a budget, in the order they were asked for.

    >>> import discreet as dc
    >>> import numpy as np
    >>> from discreet.learning import LogisticRegression
    >>> rows = np.random.default_rng(0).integers(0, 100, (400, 2))
    >>> model = LogisticRegression(domain=dc.Domain({"a": dc.Integer(0, 99), "b": dc.Integer(0, 99)}))
    >>> curve = accuracy_curve(model, rows, rows[:, 0] > 50, budgets=[dc.ZCDP(1)], public=True, fits=2)
    >>> len(curve.points), curve.points[0].mean > 0.7
    (1, True)
    """

    points: tuple[Point, ...]
    spent: Guarantee | None  # None: the rows were public

    def privacy(self) -> Guarantee | None:
        """What all points together cost private rows; None if the rows were said to be public."""
        return self.spent

    def plot(self) -> alt.LayerChart | alt.FacetChart:
        """The curve with its band, over epsilon or rho on a logarithmic axis."""
        try:
            import altair as alt
        except ImportError:
            raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None
        values = [
            {"budget": amount(point.budget), "score": point.mean, "low": point.low, "high": point.high}
            for point in self.points
        ]
        name = "rho" if isinstance(self.points[0].budget, ZCDP) else "epsilon"
        base = alt.Chart(alt.Data(values=values)).encode(
            x=alt.X("budget:Q", scale=alt.Scale(type="log"), title=name),
        )
        band = base.mark_area(opacity=0.3).encode(y=alt.Y("low:Q", title="score"), y2="high:Q")
        return (band + base.mark_line(point=True).encode(y="score:Q")).properties(width=480, height=300)


def amount(budget: Guarantee) -> float:
    """Epsilon or rho.

    >>> amount(PureDP(0.5)), amount(ZCDP(2))
    (0.5, 2.0)
    """
    if isinstance(budget, PureDP | ApproxDP):
        return float(exact(budget.epsilon))
    if isinstance(budget, ZCDP):
        return float(exact(budget.rho))
    raise UnsupportedError(f"a curve is over PureDP, ApproxDP or ZCDP budgets, got {type(budget).__name__}")


def accuracy_curve(
    model: PrivateEstimator,
    X: object,
    y: object,
    *,
    budgets: Sequence[Guarantee],
    public: bool,
    fits: int = 10,
    progress: bool = True,
    rng: RandomSource | None = None,
) -> AccuracyCurve:
    """Fit the model at each of several budgets, and score it.

    With `public=True` the rows are known to all (published, or made up): every fit is scored exactly, on three tenths
    of the rows that it has not seen, `fits` times for each budget.  With `public=False` each point is one
    cross-validation, which pays for its fits and for its noisy scores, and `privacy()` is the sum; `fits` is then the
    number of folds.  A bar on standard error shows how far it is, where somebody watches.

    >>> import numpy as np
    >>> from discreet.data import Domain, Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.linear.ridge import Ridge
    >>> x = np.random.default_rng(0).integers(0, 100, (500, 1))
    >>> model = Ridge(domain=Domain({"a": Integer(0, 100)}), bounds=(0, 100))
    >>> budgets = [ZCDP(0.0001), ZCDP(10)]
    >>> curve = accuracy_curve(model, x, x[:, 0], budgets=budgets, public=True, fits=3, rng=SeededRandom(1))
    >>> curve.points[0].mean < curve.points[1].mean, curve.privacy() is None
    (True, True)
    """
    require(isinstance(public, bool), "public=True or public=False", public=public)
    whole = isinstance(fits, int) and not isinstance(fits, bool)
    require(whole and fits >= 2, "an integer fits >= 2", fits=fits)
    if not budgets or len({type(budget) for budget in budgets}) != 1:
        raise ParameterError("need budgets of one kind, at least one")
    for budget in budgets:
        amount(budget)
    point = _public if public else _private
    over = watched(budgets, doing="fitting at each budget", shown=progress)
    points = [point(model, X, y, budget, fits, rng) for budget in over]
    spent = None if public else functools.reduce(operator.add, [budget.under(AddRemove) for budget in budgets])
    return AccuracyCurve(points=tuple(points), spent=spent)


def _public(
    model: PrivateEstimator, X: object, y: object, budget: Guarantee, fits: int, rng: RandomSource | None
) -> Point:
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    scores = []
    for seed in range(fits):
        here, held, known, truth = train_test_split(X, y, test_size=HELD, random_state=seed)
        fitted: Any = clone(model)
        scores.append(fitted.set_params(budget=budget).fit(here, known, rng=rng).score(held, truth))
    low, high = np.quantile(scores, [0.1, 0.9])
    return Point(budget=budget, mean=float(np.mean(scores)), low=float(low), high=float(high))


def _private(
    model: PrivateEstimator, X: object, y: object, budget: Guarantee, fits: int, rng: RandomSource | None
) -> Point:
    from discreet.learning.cross_validation import cross_validate

    found = cross_validate(model, X, y, budget=budget, folds=fits, progress=False, rng=rng)
    return Point(budget=budget, mean=found.mean, low=found.mean - 2 * found.sd, high=found.mean + 2 * found.sd)
