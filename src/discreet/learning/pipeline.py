"""Private steps one after another, under one budget.

Theorem.  Every step maps each row to one row by a function of what was released before, so that it reads data which
differ in at most one row if those given to the pipeline do.  The steps are chosen by nothing but their declarations
and earlier releases; so they keep together what their parts add up to: the budget.  Proof: docs/theory/estimators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, clone

from discreet.data.domain import Domain
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.foreign_tools import clone_is_known, refuse_tools
from discreet.learning.pipeline_budget import divided
from discreet.learning.reading import as_table, name_of, without
from discreet.learning.scaling import DeclaredScaler
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Pipeline(BaseEstimator):
    """Steps (name, estimator): each but the last transforms the rows for the next; the last one predicts.

    The steps get their budgets and domains from the pipeline, equal parts or in proportion to `shares` (one a step that
    has a budget).  A step that costs nothing, such as `DeclaredScaler`, gets no part.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.learning.vectors.maximum_likelihood import MaximumLikelihoodClassifier
    >>> from discreet.learning.scaling import PrivateBounds
    >>> from discreet.privacy.guarantee import PureDP
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 5000)
    >>> X = rng.normal(500 + 20 * y[:, None], 10, (5000, 2)).round()
    >>> domain = Domain({"a": Integer(0, 100_000), "b": Integer(0, 100_000)})
    >>> steps = [("bounds", PrivateBounds()), ("classes", MaximumLikelihoodClassifier(classes=(0, 1)))]
    >>> model = Pipeline(steps, shares=[1, 3], budget=PureDP(2), domain=domain).fit(X, y, rng=SeededRandom(1))
    >>> bool(model.score(X, y) > 0.9), model.privacy()
    (True, PureDP(epsilon=2.0))
    """

    _known_clone = False

    def __init__(
        self,
        steps: Sequence[tuple[str, Any]],
        *,
        shares: Sequence[Number] | None = None,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
    ) -> None:
        self.steps = steps
        self.shares = shares
        self.budget = budget
        self.domain = domain

    def fit(self, X: object, y: object = None, *, rng: RandomSource | None = None) -> Self:
        """Fit each step to what the steps before it made of the rows."""
        refuse_tools(self)
        parts = self._parts()
        assert self.domain is not None
        name = name_of(y)
        domain = without(self.domain, name) if y is not None else self.domain
        target = {name: self.domain[name]} if y is not None and name in self.domain else {}
        rows: Any = as_table(X, domain)
        fitted = []
        for place, (label, step) in enumerate(self.steps):
            last = place == len(self.steps) - 1
            declared = Domain({**domain, **target}) if last else domain
            given: Any = clone(step)
            given.set_params(domain=declared, **({"budget": parts[label]} if label in parts else {}))
            supervised = getattr(given, "supervised", False)
            given.fit(rows, *([y] if supervised else []), rng=rng)
            fitted.append((label, given))
            if not last:
                rows, domain = given.transform(rows), given.domain_out_
        self.steps_ = fitted
        assert self.budget is not None
        self.guarantee_ = self.budget.under(AddRemove)
        return self

    def __sklearn_clone__(self) -> Self:
        known = clone_is_known(self)
        made: Any = super().__sklearn_clone__()
        made._known_clone = known
        return made

    def _parts(self) -> dict[str, Guarantee]:
        """The budget of each step that has one, by its name; everything is checked before a row is read."""
        if self.budget is None or self.domain is None:
            absent = "budget" if self.budget is None else "domain"
            raise ParameterError(f"need {absent}=... at construction")
        if self.budget.neighbours not in (None, AddRemove):
            raise ParameterError(
                f"estimators hide one row added or removed, got a budget under {self.budget.neighbours}"
            )
        labels = [label for label, _ in self.steps]
        require(bool(labels) and len(set(labels)) == len(labels), "steps with different names", names=labels)
        if not all(isinstance(step, PrivateEstimator | DeclaredScaler) for _, step in self.steps):
            raise ParameterError("need private estimators as steps: others would read rows for nothing")
        if not all(getattr(step, "hides_rows", True) for _, step in self.steps):
            raise UnsupportedError("a pipeline hides rows: a step that hides labels only cannot be part of it")
        for label, step in self.steps[:-1]:
            if not hasattr(step, "transform") or step.supervised:
                raise ParameterError(f"need a step that transforms rows without labels before the last, got {label!r}")
        paid = [label for label, step in self.steps if "budget" in step.get_params(deep=False)]
        shares = [1] * len(paid) if self.shares is None else list(self.shares)
        require(len(shares) == len(paid) >= 1, "one share a step that has a budget", shares=len(shares), steps=paid)
        return dict(zip(paid, divided(self.budget, shares), strict=True))

    def _before_last(self, X: object) -> Any:  # noqa: ANN401 - rows as the last step takes them
        self.privacy()
        rows: Any = X
        for _, step in self.steps_[:-1]:
            rows = step.transform(rows)
        return rows

    @property
    def last_(self) -> PrivateEstimator:
        """The fitted last step."""
        self.privacy()
        return self.steps_[-1][1]

    def predict(self, X: object) -> npt.NDArray[Any]:
        """What the last step predicts."""
        return self.last_.predict(self._before_last(X))  # type: ignore[attr-defined]

    def transform(self, X: object) -> npt.NDArray[np.float64]:
        """What the last step makes of the rows."""
        return self.last_.transform(self._before_last(X))  # type: ignore[attr-defined]

    def score(self, X: object, y: object = None) -> float:
        """The score of the last step on these rows; on private rows it is not private."""
        return float(self.last_.score(self._before_last(X), y))  # type: ignore[attr-defined]

    def privacy(self) -> Guarantee:
        """What all steps together keep for one row added or removed."""
        if not hasattr(self, "guarantee_"):
            raise ParameterError("need a fitted Pipeline: call fit first")
        return self.guarantee_

    def event(self) -> Event:
        """What ran, step by step."""
        self.privacy()
        return ComposedEvent(events=tuple(step.event() for _, step in self.steps_))
