"""What all estimators share: scikit-learn's face, the declaration of what they read, and their promise.

    model = Estimator(budget=..., domain=...).fit(X, y);  model.predict(X);  model.privacy()

Theorem.  `fit` is as private as `_learn`: X and y are read row by row by total functions of the declaration, and a row
that cannot be read (a NULL where none is declared, a label that is no class) is dropped.  A row added to X and y or
removed from them therefore adds or removes at most one encoded row.  `predict` and `score` read nothing but the model
and the rows they are given; a score on private rows is not private.  Proof: docs/theory/estimators.md.

An estimator without budget or domain is filled in by `curator.fit`, which also says whose presence is hidden: a unit of
k rows is a group of k, so that one row may cost epsilon / k or rho / k^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from discreet.data.columns import Boolean, Categorical, Column, Integer, Real
from discreet.data.domain import Domain
from discreet.data.records import Records, countable
from discreet.data.table import Table
from discreet.errors import DomainError, ParameterError, require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.foreign_tools import clone_is_known, refuse_tools
from discreet.learning.reading import (
    as_column,
    as_table,
    declared_classes,
    free_name,
    labels_in,
    labels_of,
    name_of,
    places,
    truth_values,
    without,
)
from discreet.privacy.event import Event
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Local
from discreet.privacy.number import exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

LEAST = Fraction(
    1, 1 << 30
)  # epsilon, and the root of rho: noise for less leaves the integers and floats that count it


class PrivateEstimator(BaseEstimator):
    """Base of all estimators: a subclass has `budget` and `domain` among its parameters and implements `_learn`.

    After `fit` (or `fit_rows`) these are set: `domain_` (the columns of X), `target_` (the declaration of y, or None),
    `guarantee_`, `event_` (by `_learn`), `n_features_in_` and `feature_names_in_`.
    """

    budget: Guarantee | None
    domain: Domain | None
    event_: Event
    supervised = True
    hides_rows = True  # one added or removed; if not, one label changed, and nothing that hides rows may use it
    keeps_rows = False  # whether the fitted model holds rows, so that it must stay with them
    by_itself = True  # whether what it says of a row does not depend, to the last bit, on the rows beside it
    by_rounds = False  # whether it learns from integer sums that an engine makes, round by round
    approximate = False  # whether an (epsilon, delta) budget is worth most to it as it is
    watching: tuple[str, ...] = ()  # parameters of how a fit is watched, which change nothing of what is learned
    _known_clone = False  # made inside `unaccounted`, for a tool that may fit it in another process

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        """Learn from encoded rows, at most `budget` for one row added or removed; set `event_` and the model.

        `rows` has the columns of `domain_` and, if there is one, the target; for a classifier the positions of the
        target are places in `classes_`.  Nothing else may be used: not the number of rows, not which classes occur.
        """
        raise NotImplementedError

    def fit(self, X: object, y: object = None, *, rng: RandomSource | None = None) -> Self:
        """Fit to rows in memory: a frame (pandas, Polars, Arrow), or an array with the columns of the domain in order.

        Or to a declared `Table`, with the name of its target for y: its engine reads it, at most `rows_per_unit` rows
        of a unit, and the promise is for one unit.  `rng` is for tests.
        A tool that fits clones, or steps beside this one, without accounting is refused: see `foreign_tools`.
        """
        refuse_tools(self)
        if isinstance(X, Table):
            return self._fit_table(X, y, rng)
        if self.budget is None or self.domain is None:
            absent = "budget" if self.budget is None else "domain"
            raise ParameterError(f"need {absent}=... at construction, or let a curator fit: curator.fit(model, ...)")
        if not isinstance(self.domain, Domain):
            raise ParameterError(f"need a Domain, got domain of type {type(self.domain).__name__}")
        if not self.supervised:
            features = countable(self.domain)
            return self.fit_rows(Records.from_frame(as_table(X, features), features), rng=rng)
        if y is None:
            raise ParameterError("need the labels: fit(X, y)")
        name = free_name(name_of(y), self.domain)
        declared, column, read = self._labels(y, name)
        features = countable(without(self.domain, name))
        table = as_table(X, features)
        if len(column) != table.num_rows:
            raise ParameterError("need as many labels as rows, got another number")
        rows = Records.from_frame(table.append_column(name, column), Domain({**features, name: read}))
        return self.fit_rows(rows, target=name, declared=declared, rng=rng)

    def _fit_table(self, table: Table, target: object, rng: RandomSource | None) -> Self:
        from discreet.learning.on_table import fit_table

        if not isinstance(self.budget, Guarantee):
            raise ParameterError("need budget=... at construction, or let a curator fit: curator.fit(model, ...)")
        named = isinstance(target, str) if self.supervised else target is None
        if not named:
            raise ParameterError("need the name of the target column, for supervised models only: fit(table, name)")
        return fit_table(self, table, target if isinstance(target, str) else None, self.budget, rng)

    def fit_rows(
        self,
        rows: Records,
        *,
        target: str | None = None,
        declared: Column | None = None,
        budget: Guarantee | None = None,
        rng: RandomSource | None = None,
    ) -> Self:
        """Fit to encoded rows under a budget for one row added or removed: what a curator calls."""
        paid = self.budget if budget is None else budget
        if not isinstance(paid, Guarantee):
            raise ParameterError(f"need a budget such as ApproxDP(1.0, 1e-6), got {type(paid).__name__}")
        if paid.neighbours not in (None, AddRemove if self.hides_rows else Local):
            kept = (
                "estimators hide one row added or removed" if self.hides_rows else "this model hides one label changed"
            )
            raise ParameterError(f"{kept}, got a budget under {paid.neighbours}")
        _noise_can_be_counted(paid)
        require((target is not None) == self.supervised, "a target, for supervised models only", target=target)
        self._forget()
        self.domain_ = without(rows.domain, target)
        self.target_ = None if target is None else (declared or rows.domain[target])
        if self.target_ is not None:
            if self.target_.nullable:
                raise DomainError("a target cannot be nullable: declare it otherwise, and rows with a NULL are dropped")
            self._prepare(self.target_)
        self.n_features_in_ = len(self.domain_)
        self.feature_names_in_ = _names(self.domain_)
        promise = paid.under(AddRemove if self.hides_rows else Local)
        self._learn(rows, target, promise, rng)
        self.guarantee_ = promise  # not before: a fit that failed keeps nothing
        return self

    def __sklearn_clone__(self) -> Self:
        known = clone_is_known(self)
        made: Any = super().__sklearn_clone__()
        made._known_clone = known
        return made

    def _forget(self) -> None:
        """Drop what an earlier fit left, by scikit-learn's convention on names."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _labels(self, y: object, name: str) -> tuple[Column, pyarrow.Array, Column]:
        """The declaration of the target, its values, and the declaration by which those are read."""
        raise NotImplementedError

    def _prepare(self, target: Column) -> None:
        """Set what follows from the declaration of the target."""

    def _read(self, X: object) -> Records:
        """Rows to predict: each of them, with a value that is not declared read as the first one of its column."""
        self.privacy()
        return Records.from_frame(as_table(X, self.domain_), self.domain_, every_row=True)

    def _rehearsal(self) -> Self:
        """A copy whose fit to no rows refuses what a fit of this one would, and takes no longer than it must."""
        return clone(self)  # type: ignore[return-value]

    def _waits(self, budget: Guarantee) -> str | None:
        """The charge that pays for a stopped run of this fit, "" if nobody does; None where none waits."""
        return None

    def _paid_by(self, charge: str | None, *, goes_on: bool = False) -> None:
        """Which charge pays for the fit that follows, and whether that goes on with a stopped one."""

    def _ended(self, charge: str) -> None:
        """What was learned is stored: nobody goes on with a run that this charge paid for."""

    def _learned(self) -> dict[str, Any]:
        """What was learned, as `discreet.learning.stored` writes it."""
        return {name: value for name, value in sorted(vars(self).items()) if name.endswith("_")}

    def _relearn(self, learned: dict[str, Any]) -> None:
        """Take on what `_learned` gave."""
        for name, value in learned.items():
            setattr(self, name, value)

    def privacy(self) -> Guarantee:
        """What the fitted model keeps for one row added or removed."""
        if not hasattr(self, "guarantee_"):
            raise ParameterError(f"need a fitted {type(self).__name__}: call fit first")
        return self.guarantee_

    def event(self) -> Event:
        """What ran, for the accountant."""
        self.privacy()
        return self.event_


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """Base of classifiers: `classes` declares the labels.

    Without it they are those of the domain's column of y's name, or (False, True) for a column whose type is that of
    truth values (not a list of them), or else (0, 1).  Rows with other labels are dropped.
    A subclass implements `_learn` and `_scores`.
    """

    classes: Sequence[object] | None
    classes_: npt.NDArray[Any]

    def _labels(self, y: object, name: str) -> tuple[Column, pyarrow.Array, Column]:
        assert self.domain is not None
        values = labels_in(y)
        if self.classes is not None:
            declared = declared_classes(self.classes)
        elif name in self.domain:
            declared = self.domain[name]
        else:
            declared = Boolean() if truth_values(y) else Categorical([0, 1])
        labels = labels_of(declared)
        return declared, places(values, labels), Integer(0, len(labels) - 1)

    def _prepare(self, target: Column) -> None:
        import numpy as np

        self.classes_ = np.array(labels_of(target))

    def _scores(self, rows: Records) -> npt.NDArray[np.float64]:
        """One column a class; the largest wins."""
        raise NotImplementedError

    def predict(self, X: object) -> npt.NDArray[Any]:
        """The most likely class of every row."""
        rows = self._read(X)
        return self.classes_[self._scores(rows).argmax(axis=1)]


class PrivateRegressor(RegressorMixin, PrivateEstimator):
    """Base of regressions: `bounds` declares the range of y, or the domain does under y's name; others are clamped.

    A subclass implements `_learn` and `_values`.
    """

    bounds: tuple[float, float] | None

    def _labels(self, y: object, name: str) -> tuple[Column, pyarrow.Array, Column]:
        assert self.domain is not None
        if self.bounds is not None:
            low, high = self.bounds
            declared: Column = Real(low, high)
        elif name in self.domain:
            declared = self.domain[name]
        else:
            raise ParameterError("need bounds=(low, high) of the target, or its column in the domain under y's name")
        return declared, as_column(labels_in(y), declared), declared

    def _values(self, rows: Records) -> npt.NDArray[np.float64]:
        """The predicted target of every row."""
        raise NotImplementedError

    def predict(self, X: object) -> npt.NDArray[np.float64]:
        """The predicted target of every row."""
        return self._values(self._read(X))


def _noise_can_be_counted(budget: Guarantee) -> None:
    """Refuse a budget so small that the variance of its noise is infinite, or its noise no 64-bit integer."""
    if isinstance(budget, PureDP | ApproxDP):
        require(exact(budget.epsilon) >= LEAST, "epsilon >= 1e-9", epsilon=budget.epsilon)
    if isinstance(budget, ZCDP):
        require(exact(budget.rho) >= LEAST**2, "rho >= 1e-18", rho=budget.rho)


def _names(domain: Domain) -> npt.NDArray[Any]:
    import numpy as np

    return np.array(list(domain), dtype=object)
