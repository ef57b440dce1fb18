"""Columns made comparable: by the declaration, which is free, or by private bounds, which are paid for.

Theorem.  `DeclaredScaler` is a function of the declaration and of one row: it costs nothing.  `PrivateBounds` finds a
low and a high quantile of each of d columns by the exponential mechanism, at a d-th of the budget a column, and
declares the range between them; rows outside are clamped to it by whoever reads that declaration next.  With
probability 1 - beta at most `accuracy(beta)` rows more than the quantiles say are clamped at either end of any column,
as long as fewer than 2^24 of its values are equal.  Proof: docs/theory/estimators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, TransformerMixin

from discreet.data.columns import Column, Integer, Real
from discreet.data.columns import column as read_column
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.reading import as_table
from discreet.privacy.enclosure import root_bounds
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import Number, exact
from discreet.structured.quantiles.private_quantile import PrivateQuantile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

EXACT = 1 << 53  # integers up to here are doubles


class DeclaredScaler(TransformerMixin, BaseEstimator):
    """Rows as numbers between -1 and 1 by the declared ranges, with one entry for each value of a category.

    Free: no row is learnt from, so it has no budget and needs no `fit`.

    >>> from discreet.data.columns import Categorical
    >>> scaler = DeclaredScaler(domain=Domain({"age": Integer(0, 100), "ward": Categorical(["a", "b", "c"])}))
    >>> import pandas as pd
    >>> scaler.transform(pd.DataFrame({"age": [50, 100], "ward": ["a", "c"]})).tolist()
    [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]]
    >>> scaler.get_feature_names_out().tolist()
    ['age', 'ward=a', 'ward=b', 'ward=c']
    """

    supervised = False

    def __init__(self, *, domain: Domain | None = None, bins: int = 0) -> None:
        self.domain = domain
        self.bins = bins

    def _design(self) -> Design:
        if not isinstance(self.domain, Domain):
            raise ParameterError("need domain=... at construction")
        return Design(self.domain, self.bins)

    def fit(self, X: object = None, y: object = None, *, rng: RandomSource | None = None) -> Self:
        """Nothing is learnt."""
        self._design()
        return self

    def transform(self, X: object) -> npt.NDArray[np.float64]:
        """One vector a row; a value that is not declared is read as the first one of its column."""
        design = self._design()
        return design.floats(Records.from_frame(as_table(X, design.domain), design.domain, every_row=True))

    def fit_transform(self, X: object, y: object = None, **how: Any) -> npt.NDArray[np.float64]:  # noqa: ANN401
        """`transform`."""
        return self.transform(X)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """What each entry stands for."""
        import numpy as np

        return np.array(self._design().names, dtype=object)

    @property
    def domain_out_(self) -> Domain:
        """What `transform` gives, declared: a number between -1 and 1 an entry."""
        return Domain(
            {f"scaled{place}": Real(-1, 1, step=Fraction(1, 1 << 20)) for place in range(self._design().width)}
        )

    def privacy(self) -> Guarantee:
        """Nothing is spent."""
        return PureDP(0)

    def event(self) -> Event:
        """Nothing ran."""
        return ComposedEvent(events=())

    def __sklearn_is_fitted__(self) -> bool:
        """It is ready as it was made."""
        return True


class PrivateBounds(TransformerMixin, PrivateEstimator):
    """Narrower ranges for integer and real columns, between two private quantiles.

    After `fit`, `domain_out_` declares them, and `transform` clamps rows to them.  Other columns stay as they are.  The
    quantiles 0 and 1 aim as many rows inward as the noise is worth, so that they rarely end in an empty part of the
    range; (0.01, 0.99) and the like need so many rows that a hundredth of them is more than `accuracy()`.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> X = np.random.default_rng(0).normal(1000, 50, (10_000, 1)).round()
    >>> bounds = PrivateBounds(budget=PureDP(1), domain=Domain({"pay": Integer(0, 1_000_000)}))
    >>> bounds.fit(X, rng=SeededRandom(1)).domain_out_
    Domain({'pay': Integer(low=872, high=1118, nullable=False)})
    >>> bounds.privacy()
    PureDP(epsilon=1.0)
    """

    supervised = False

    def __init__(
        self,
        *,
        quantiles: Sequence[Number] = (0, 1),
        budget: Guarantee | None = None,
        domain: Domain | None = None,
    ) -> None:
        self.quantiles = quantiles
        self.budget = budget
        self.domain = domain

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        made: dict[str, Column] = dict(rows.domain)
        mechanisms = self._mechanisms(rows.domain, budget)
        for name, mechanism in mechanisms.items():
            column = rows.domain[name]
            assert isinstance(column, Integer | Real)
            positions = rows.column(name)
            held = positions[positions < column.size - column.nullable]  # NULL has no rank
            ends = sorted(round(float(end)) for end in mechanism(held, rng=rng))  # type: ignore[union-attr]
            made[name] = _between(column, *ends)
        self.domain_out_ = Domain(made)
        self.event_ = ComposedEvent(events=tuple(one.event() for one in mechanisms.values()))

    def _mechanisms(self, domain: Domain, budget: Guarantee) -> dict[str, PrivateQuantile]:
        """What runs on each column of numbers, by public facts."""
        low, high = self._ends()
        numbers = {name: column for name, column in domain.items() if isinstance(column, Integer | Real)}
        return {name: _mechanism(column, low, high, budget, len(numbers)) for name, column in numbers.items()}

    def _ends(self) -> tuple[Fraction, Fraction]:
        given = list(self.quantiles)
        require(len(given) == 2, "two quantiles", quantiles=len(given))
        low, high = (exact(one) for one in given)
        require(0 <= low < high <= 1, "0 <= low < high <= 1", quantiles=tuple(self.quantiles))
        return low, high

    def accuracy(self, beta: float = 0.05) -> float:
        """Rows by which any quantile may be off, with probability 1 - beta for all of them."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        found = self._mechanisms(self.domain_, self.privacy()).values()
        return max((one.accuracy(beta / len(found)) for one in found), default=0.0)

    def transform(self, X: object) -> Any:  # noqa: ANN401 - a frame
        """Rows clamped to the private ranges, as a pandas frame with the columns of the domain.

        A value that cannot be read is NULL.  The types are those of the declaration, whatever the rows.
        """
        import numpy as np
        import pandas as pd

        self.privacy()
        declared = {name: read_column({**column.to_dict(), "nullable": True}) for name, column in self.domain_.items()}
        rows = Records.from_frame(as_table(X, self.domain_), Domain(declared))
        made = {}
        for name, column in self.domain_out_.items():
            low, high = self.domain_[name].codes
            codes = rows.column(name).astype(np.int64) + low
            null = codes > high
            made[name] = pd.Series(_decoded(column, np.clip(codes, *column.codes), null))
        return pd.DataFrame(made)

    def fit_transform(self, X: object, y: object = None, **how: Any) -> Any:  # noqa: ANN401 - a frame
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, **how).transform(X)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """The columns keep their names."""
        return self.feature_names_in_


def _decoded(column: Column, codes: npt.NDArray[np.int64], null: npt.NDArray[np.bool_]) -> Any:  # noqa: ANN401
    """The values of codes: doubles for numbers, if they hold all of them, and objects for the rest."""
    import numpy as np

    if isinstance(column, Integer | Real) and max(map(abs, column.codes)) <= EXACT:
        return np.where(null, np.nan, codes * float(column.step.numerator) / float(column.step.denominator))
    found, place = np.unique(codes, return_inverse=True)
    values = np.array([*(column.decode(int(code)) for code in found), None], dtype=object)
    return values[np.where(null, len(found), place)]


def _mechanism(column: Column, low: Fraction, high: Fraction, budget: Guarantee, columns: int) -> PrivateQuantile:
    """Two quantiles of the positions of a column."""
    match budget:
        case PureDP() | ApproxDP():
            epsilon = exact(budget.epsilon) / columns
        case ZCDP():  # two choices of half the rho each: epsilon_1^2 / 8 = rho / 2, and both together are 2 epsilon_1
            epsilon = 2 * root_bounds(4 * exact(budget.rho) / columns)[0]
        case _:
            raise UnsupportedError(f"bounds are paid in PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")
    upper = max(column.size - column.nullable - 1, 1)
    method = "independent" if isinstance(budget, ZCDP) else "auto"
    return PrivateQuantile((low, high), epsilon=epsilon, lower=0, upper=upper, step=1, method=method)


def _between(column: Integer | Real, low: int, high: int) -> Column:
    """The column from one position to another, at least one step wide."""
    first, last = column.codes
    low = min(low, last - first - 1) if last > first else 0
    high = min(max(high, low + 1), last - first)
    if isinstance(column, Integer):
        return Integer(first + low, first + high, nullable=column.nullable)
    step = column.step
    return Real((first + low) * step, (first + high) * step, step=step, nullable=column.nullable)
