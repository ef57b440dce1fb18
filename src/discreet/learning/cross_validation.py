"""Cross-validation in which every look at the rows is paid for.

Theorem.  Each row goes to one of k folds by a coin of its own.  Given the coins, a row added to the data is in one
fold: it is in k - 1 of the k training sets, and in one of the k test sets.  If training costs t and a score s, all of
it together costs (k - 1) t + s for it, in epsilon or in rho, and this is the budget.  A score is the sum of losses
between 0 and 1, in units of 1 / UNIT, and the sum of what is left to 1: a row moves the two by UNIT in l1 and by at
most UNIT in l2.  Folds by position would not do: a row removed from the front would move every other row.
Proof: docs/theory/estimators.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from discreet.data.columns import column as read_column
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import uniform_below
from discreet.learning.estimator import PrivateClassifier, PrivateEstimator, PrivateRegressor
from discreet.learning.foreign_tools import refuse_tools
from discreet.learning.pipeline import Pipeline
from discreet.learning.pipeline_budget import part
from discreet.learning.reading import (
    TARGET,
    as_column,
    as_table,
    labels_in,
    labels_of,
    name_of,
    places,
    truth_values,
    without,
)
from discreet.learning.watched import watched
from discreet.privacy.event import ComposedEvent, Event, PureEvent, RepeatedEvent, ZCDPEvent
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact
from discreet.release.allowance import Allowance
from discreet.release.noise import Noise, variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

UNIT = 1 << 20
MOST = 1000  # folds


@dataclass(frozen=True, kw_only=True, slots=True)
class CrossValidated:
    """Noisy scores: accuracy of a classifier, minus the mean absolute error of a regression.

    >>> import discreet as dc
    >>> import numpy as np
    >>> from discreet.learning import LogisticRegression
    >>> rows = np.random.default_rng(0).integers(0, 100, (2000, 2))
    >>> model = LogisticRegression(domain=dc.Domain({"a": dc.Integer(0, 99), "b": dc.Integer(0, 99)}))
    >>> found = cross_validate(model, rows, rows[:, 0] > 50, budget=dc.ZCDP(1), folds=2)
    >>> found.mean > 0.7, found.privacy()
    (True, ZCDP(rho=1.0))
    """

    scores: tuple[float, ...]  # one a fold
    mean: float  # over all rows
    sd: float  # what the noise contributes to `mean`, about
    guarantee: Guarantee
    what_ran: Event

    def privacy(self) -> Guarantee:
        """What all models and scores together keep for one row added or removed."""
        return self.guarantee

    def event(self) -> Event:
        """What one row takes part in."""
        return self.what_ran


def cross_validate(
    model: PrivateEstimator | Pipeline,
    X: object,
    y: object,
    *,
    budget: Guarantee,
    folds: int = 5,
    share: Number = "0.1",
    progress: bool = True,
    rng: RandomSource | None = None,
) -> CrossValidated:
    """Train on all folds but one and score on that one, for each of them; `share` of the budget is for the scores.

    `budget` is for all of it; the model's own is not used.  The models are thrown away: each of them had a part of the
    budget only.  Fit the one you choose with a budget of its own.  A bar on standard error shows how far it is, where
    somebody watches.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.vectors.maximum_likelihood import MaximumLikelihoodClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 5000)
    >>> X = rng.normal(40 + 20 * y[:, None], 10, (5000, 2)).round()
    >>> domain = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
    >>> model = MaximumLikelihoodClassifier(domain=domain, classes=(0, 1))
    >>> found = cross_validate(model, X, y, budget=PureDP(4), folds=4, rng=SeededRandom(1))
    >>> 0.9 < found.mean < 0.95, len(found.scores), found.privacy()
    (True, 4, PureDP(epsilon=4.0))
    """
    import numpy as np

    refuse_tools(model)
    domain = _checked(model, budget, folds)
    require(0 < exact(share) < 1, "0 < share < 1", share=share)
    train = part(budget, (1 - exact(share)) / (folds - 1))
    noise = _noise(budget, exact(share))
    table = as_table(X, without(domain, name_of(y)))
    labels = _series(y)
    if len(labels) != table.num_rows:
        raise ParameterError("need as many labels as rows, got another number")
    fold = np.asarray(uniform_below(folds, shape=(table.num_rows,), rng=rng))
    totals = np.zeros((folds, 2))
    span = 1.0
    for place in watched(range(folds), doing="fitting and scoring each fold", shown=progress):
        here = fold == place
        fitted: Any = clone(model)
        fitted.set_params(budget=train).fit(table.filter(~here), labels[~here], rng=rng)
        lost, span = _losses(fitted, table.filter(here), labels[here])
        totals[place] = noise(np.array([lost.sum(), (UNIT - lost).sum()], dtype=np.int64), rng=rng)
    counts = np.maximum(totals.sum(axis=1), UNIT)
    rates = np.clip(totals[:, 0] / counts, 0.0, 1.0)
    whole = float(np.clip(totals[:, 0].sum() / max(totals.sum(), UNIT), 0.0, 1.0))
    classifies = isinstance(_last(model), PrivateClassifier)
    return CrossValidated(
        scores=tuple(float(1 - rate if classifies else -span * rate) for rate in rates),
        mean=1 - whole if classifies else -span * whole,
        sd=span * math.sqrt(folds * variance(noise) * (whole**2 + (1 - whole) ** 2)) / float(max(totals.sum(), UNIT)),
        guarantee=budget.under(AddRemove),
        what_ran=ComposedEvent(events=(RepeatedEvent(event=_some(train), count=folds - 1), noise.event())),
    )


def cross_val_score(
    model: PrivateEstimator | Pipeline,
    X: object,
    y: object,
    *,
    budget: Guarantee,
    folds: int = 5,
    share: Number = "0.1",
    progress: bool = True,
    rng: RandomSource | None = None,
) -> npt.NDArray[np.float64]:
    """The scores of `cross_validate` alone.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.learning.vectors.maximum_likelihood import MaximumLikelihoodClassifier
    >>> X, y = np.arange(100).reshape(100, 1), np.arange(100) > 49
    >>> model = MaximumLikelihoodClassifier(domain=Domain({"a": Integer(0, 99)}))
    >>> cross_val_score(model, X, y, budget=PureDP(100), folds=3).shape
    (3,)
    """
    import numpy as np

    how: dict[str, Any] = {"budget": budget, "folds": folds, "share": share, "progress": progress, "rng": rng}
    return np.array(cross_validate(model, X, y, **how).scores)


def _last(model: Any) -> Any:  # noqa: ANN401 - an estimator or a pipeline
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _all(model: Any) -> list[Any]:  # noqa: ANN401 - an estimator or a pipeline
    return [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]


def _checked(model: Any, budget: object, folds: object) -> Domain:  # noqa: ANN401 - an estimator or a pipeline
    whole = isinstance(folds, int) and not isinstance(folds, bool)
    require(whole and 2 <= folds <= MOST, f"an integer number of folds from 2 to {MOST}", folds=folds)  # type: ignore[operator]
    if not isinstance(budget, Guarantee):
        raise ParameterError(f"need a budget such as ZCDP(1), got {type(budget).__name__}")
    if budget.neighbours not in (None, AddRemove):
        raise ParameterError(f"estimators hide one row added or removed, got a budget under {budget.neighbours}")
    if not isinstance(_last(model), PrivateClassifier | PrivateRegressor):
        raise UnsupportedError(
            "cross-validation needs a private classifier or regression, or a pipeline that ends in one"
        )
    if not all(getattr(step, "by_itself", True) for step in _all(model)):
        raise UnsupportedError(
            "the hits of a network on private rows cannot be counted: what it says of a row depends, in its last bits,"
            " on the others; score it on public rows"
        )
    if not all(getattr(step, "hides_rows", True) for step in _all(model)):
        raise UnsupportedError("cross-validation hides rows: a model that hides labels only cannot be validated by it")
    if any(getattr(step, "keeps_rows", False) for step in _all(model)):
        raise UnsupportedError("a model with queries= answers a number of rows that is declared: leave out queries=")
    if not isinstance(model.domain, Domain):
        raise ParameterError("need domain=... at construction")
    return model.domain


def _noise(budget: Guarantee, share: Fraction) -> Noise:
    """For the two sums of a fold: Laplace for a pure budget, Gaussian for what is divided as rho."""
    given = part(budget, share)
    allowance = Allowance(given, entries=2)
    return allowance.noise(allowance.total, absolute=UNIT, square=UNIT**2)


def _some(train: Guarantee) -> Event:
    """Some mechanism that costs what one training does."""
    return PureEvent(epsilon=train.epsilon) if isinstance(train, PureDP) else ZCDPEvent(rho=train.rho)  # type: ignore[attr-defined]


def _series(y: Any) -> Any:  # noqa: ANN401 - labels of any kind, as a series that keeps what their schema says
    import pandas as pd

    if isinstance(y, pd.Series):
        return y.reset_index(drop=True)
    values = labels_in(y)
    kind = "boolean" if truth_values(y) else values.dtype
    return pd.Series(values, name=name_of(y), dtype=kind)


def _losses(fitted: Any, rows: Any, labels: Any) -> tuple[npt.NDArray[np.int64], float]:  # noqa: ANN401
    """A loss from 0 to UNIT a row, and what UNIT stands for: a mistake, or an error as large as the declared range.

    The second is a function of the declaration: of a fold without rows it is the same.
    """
    import numpy as np
    import pyarrow

    last = fitted.last_ if isinstance(fitted, Pipeline) else fitted
    column = last.target_
    assert column is not None
    classifies = isinstance(last, PrivateClassifier)
    low, high = column.codes
    span = 1.0 if classifies else float((high - low) * column.step) or 1.0
    if rows.num_rows == 0:
        return np.zeros(0, dtype=np.int64), span
    predicted = fitted.predict(rows)
    if classifies:
        known = labels_of(column)
        given = places(labels_in(labels), known).to_numpy(zero_copy_only=False)  # NULL is NaN, which equals nothing
        found = places(labels_in(predicted), known).to_numpy(zero_copy_only=False)
        return np.where(given == found, 0, UNIT).astype(np.int64), span
    read = Domain({TARGET: read_column({**column.to_dict(), "nullable": True})})
    table = pyarrow.table({TARGET: as_column(labels_in(labels), column)})
    positions = Records.from_frame(table, read).column(TARGET).astype(np.int64)
    truth = np.where(positions > high - low, np.nan, (low + positions) * float(column.step))
    errors = np.abs(predicted.astype(np.float64) - truth) / span
    return (np.clip(np.nan_to_num(errors, nan=1.0), 0.0, 1.0) * UNIT).astype(np.int64), span
