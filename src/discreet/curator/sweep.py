"""Error against budget for an estimator on a declared table: on mock rows, so that nothing is read or spent.

Rows are made up from the declaration (`mock`), and the estimator is run on them at each budget, several times.  What is
seen is its error against the answer without privacy on the same rows; beside it stands the error that it states, where
it states one.  Made-up columns know nothing of each other, so that for a model the target is made up too: it follows
the first other column that has an order, but for a tenth of the rows.  Where errors end: docs/theory/consistency.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.curator.mock import mock
from discreet.data.columns import Boolean, Categorical, Column, Integer, Real
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.data.table import Table
from discreet.errors import DiscreetError, DomainError, ParameterError, UnsupportedError, require
from discreet.learning.stored import estimators, named
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.queries.marginals import marginals
from discreet.release.counted import counted
from discreet.release.factorization import Factorization
from discreet.release.independent import IndependentNoise
from discreet.release.mwem import MWEM
from discreet.release.projection import LeastSquaresProjection
from discreet.release.reading import columns_of
from discreet.structured.marginals.marginal_release import MarginalRelease
from discreet.structured.medians.smooth_median import SmoothMedian
from discreet.structured.quantiles.private_quantile import PrivateQuantile
from discreet.synthesis.synthesizer import METHODS, Synthesizer

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import numpy.typing as npt

BUDGETS = tuple(10.0**power for power in range(-3, 5))
RELEASES = (Factorization, IndependentNoise, LeastSquaresProjection, MWEM, MarginalRelease)
QUANTILES = (PrivateQuantile, SmoothMedian)
TENTH = 10  # of the made-up targets, one in so many follows nothing
SETTINGS: dict[str, dict[str, Any]] = {"KMeans": {"n_clusters": 3}, "PCA": {"n_components": 1}}

Run = Callable[[Guarantee], tuple[float, float | None]]


@dataclass(frozen=True, slots=True)
class Point:
    """One budget: the mean error of the runs, the one that 95 % of them keep, what was stated, or why it is refused."""

    budget: float
    mean: float | None = None
    observed: float | None = None
    stated: float | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """The errors of one estimator over budgets; `without` is what it is off by when privacy costs nothing."""

    name: str
    error: str  # what is counted
    rows: int
    points: tuple[Point, ...]

    @property
    def without(self) -> float:
        """The error at the largest budget that is served: 0, or a floor that no budget lowers."""
        return next((point.mean for point in reversed(self.points) if point.mean is not None), math.nan)

    def to_dicts(self) -> list[dict[str, object]]:
        """One for each budget."""
        return [asdict(point) for point in self.points]

    def __str__(self) -> str:
        lines = [
            f"{self.name} on {self.rows:,} mock rows: {self.error}",
            f"{'budget':>10}{'mean':>12}{'95 %':>12}{'stated':>12}",
        ]
        for point in self.points:
            if point.refused is not None:
                lines.append(f"{point.budget:>10g}  refused: {point.refused}")
                continue
            stated = "" if point.stated is None else f"{point.stated:.4g}"
            lines.append(f"{point.budget:>10g}{point.mean:>12.4g}{point.observed:>12.4g}{stated:>12}")
        lines.append(f"without privacy {self.without:.4g}; nothing was read, nothing was spent")
        return "\n".join(lines)

    def plot(self) -> alt.LayerChart | alt.FacetChart:
        """Observed and stated errors on logarithmic axes, and the answer without privacy as a line."""
        try:
            import altair as alt
        except ImportError:
            raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None

        values = [
            {"budget": point.budget, "error": error, "kind": kind}
            for point in self.points
            for kind, error in (("observed, 95 %", point.observed), ("stated, 95 %", point.stated))
            if error is not None and error > 0
        ]
        lines = alt.Chart(alt.Data(values=values)).mark_line(point=True).encode(
            x=alt.X("budget:Q", scale=alt.Scale(type="log"), title="budget"),
            y=alt.Y("error:Q", scale=alt.Scale(type="log"), title=self.error),
            color=alt.Color("kind:N", title=None),
        )  # fmt: skip
        floor = [{"error": self.without}] if self.without > 0 else []
        rule = alt.Chart(alt.Data(values=floor)).mark_rule(strokeDash=[4, 4]).encode(y="error:Q")
        return (lines + rule).properties(width=480, height=280, title=f"{self.name}: error against budget")

    def save(self, path: str | Path) -> None:
        """Write the picture as .svg, .png, .html or .json, by its ending."""
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        self.plot().save(str(file))


def sweepable() -> list[str]:
    """What can be swept, by name."""
    models = [name for name in estimators() if hasattr(named(name), "predict") and "Neural" not in name]
    models = [name for name in models if name not in ("Pipeline", "KMeans", "LabelPrivateNeighbors")]
    return sorted([*METHODS, *(kind.__name__ for kind in (*RELEASES, *QUANTILES)), *models])


def sweep(
    table: Table,
    name: str,
    *,
    column: str | None = None,
    rows: int = 2000,
    budgets: Sequence[float] = BUDGETS,
    kind: Callable[[float], Guarantee] | None = None,
    runs: int = 5,
) -> Sweep:
    """Run an estimator on made-up rows at every budget; `kind` makes a guarantee of an amount, else a pure one.

    `column` is the target of a model, or the column of a quantile.

    >>> from discreet.data import Categorical, Integer
    >>> domain = Domain({"age": Integer(0, 99), "ward": Categorical(["a", "b"])})
    >>> visits = Table("nowhere.csv", domain=domain, unit=None)
    >>> found = sweep(visits, "IndependentNoise", budgets=(0.1, 10), rows=500)
    >>> found.points[0].mean > found.points[1].mean, found.points[0].stated > found.points[1].stated
    (True, True)
    """
    require(name in sweepable(), f"a name among {', '.join(sweepable())}", name=name)
    whole = isinstance(runs, int) and not isinstance(runs, bool)
    require(whole and runs >= 1, "an integer runs >= 1", runs=runs)
    require(len(budgets) > 0, "at least one budget", budgets=len(budgets))
    domain = columns_of(table, None)
    data = counted(mock(table, rows).select(list(domain)), domain, neighbours=AddRemove)
    assert isinstance(data, Records)
    run, error = _run_of(name, domain, data, column)
    made = kind or (ZCDP if name == MarginalRelease.__name__ else PureDP)  # which has Gaussian noise only
    return Sweep(name, error, rows, tuple(_point(run, float(budget), made, runs) for budget in sorted(budgets)))


def _point(run: Run, budget: float, kind: Callable[[float], Guarantee], runs: int) -> Point:
    import numpy as np

    try:
        found = [run(kind(budget)) for _ in range(runs)]
    except DiscreetError as refusal:
        return Point(budget, refused=str(refusal))
    errors, stated = [error for error, _ in found], [said for _, said in found if said is not None]
    mean = float(np.mean(stated)) if stated else None
    return Point(budget, float(np.mean(errors)), float(np.quantile(errors, 0.95)), mean)


def _run_of(name: str, domain: Domain, data: Records, column: str | None) -> tuple[Run, str]:
    """What is run at a budget, and what its error is."""
    if name in METHODS:
        return _synthetic(name, domain, data), "largest total variation of two columns"
    for kind in RELEASES:
        if kind.__name__ == name:
            return _released(kind, domain, data), "largest error of a count by two columns"
    if name in ("PrivateQuantile", "SmoothMedian"):
        return _median(name, domain, data, column), f"error of the median, in units of {column}"
    return _learned(name, domain, data, column)


def _synthetic(method: str, domain: Domain, data: Records) -> Run:
    import numpy as np

    sets = marginals(domain, min(2, len(domain))).sets

    def run(budget: Guarantee) -> tuple[float, float | None]:
        made = Synthesizer(domain, budget=budget, method=method).fit(data)  # type: ignore[arg-type]
        encoded = made.encoding.encode(data)
        share = [made.model.marginal(one) / made.model.total - encoded.marginal(one) / len(data) for one in sets]
        return max(float(np.abs(one).sum()) / 2 for one in share), None

    return run


def _released(kind: Callable[..., Any], domain: Domain, data: Records) -> Run:
    import numpy as np

    workload = marginals(domain, min(2, len(domain)))
    true = workload.answer(data)

    def run(budget: Guarantee) -> tuple[float, float | None]:
        release = kind(workload, budget=budget)(data)
        try:
            stated = float(release.accuracy(0.05))
        except UnsupportedError:
            stated = None
        return float(np.abs(release.answers - true).max()), stated

    return run


def _median(name: str, domain: Domain, data: Records, column: str | None) -> Run:
    import numpy as np

    declared = domain[_given(column, domain)]
    if not isinstance(declared, Integer | Real):
        raise DomainError(f"column {column!r} is no number: a median needs one")
    values = _numbers(data, domain, str(column))
    low, high = float(values.min()), float(values.max())
    step = getattr(declared, "step", 1)
    true = float(np.sort(values)[(len(values) + 1) // 2 - 1])

    def run(budget: Guarantee) -> tuple[float, float | None]:
        if not isinstance(budget, PureDP):
            raise UnsupportedError("medians are paid in PureDP")
        ends = {"epsilon": budget.epsilon, "lower": low, "upper": high, "step": step}
        made = PrivateQuantile(0.5, **ends) if name == "PrivateQuantile" else SmoothMedian(**ends)
        return abs(float(made(values)) - true), None

    return run


def _learned(name: str, domain: Domain, data: Records, column: str | None) -> tuple[Run, str]:
    import numpy as np
    import pandas as pd

    target = _given(column, domain)
    inputs = domain.project([one for one in domain if one != target])
    require(len(inputs) > 0, "a column beside the target", columns=len(domain))
    declared = domain[target]
    kind: Any = named(name)
    regression = "bounds" in getattr(kind, "_get_param_names", list)()
    if regression and not isinstance(declared, Integer | Real):
        raise DomainError(f"column {target!r} is no number: {name} predicts one")
    places = _planted(inputs, declared, data)
    frame = pd.DataFrame(
        {one: [inputs[one].decode(int(code)) for code in _codes(inputs[one], data.column(one))] for one in inputs}
    )
    truth = np.array([declared.decode(int(code)) for code in _codes(declared, places)])
    half = len(frame) // 2
    more: dict[str, Any] = {"classes": [declared.decode(code) for code in _codes(declared, range(declared.size))]}
    if regression:
        more = {"bounds": (declared.decode(declared.codes[0]), declared.decode(declared.codes[1]))}

    def run(budget: Guarantee) -> tuple[float, float | None]:
        made: Any = kind(budget=budget, domain=inputs, **more, **SETTINGS.get(name, {}))
        made.fit(frame[:half], truth[:half])
        found = np.asarray(made.predict(frame[half:]))
        if regression:
            return float(np.abs(found - truth[half:].astype(float)).mean()), None
        return float(np.mean(found != truth[half:])), None

    return run, f"mean error of {target}" if regression else f"share of rows put into the wrong {target}"


def _planted(inputs: Domain, declared: Column, data: Records) -> npt.NDArray[np.int64]:
    """Positions of a made-up target: those of the first column in proportion, one in TENTH at random."""
    import numpy as np

    order = [one for one, column in inputs.items() if not isinstance(column, Boolean | Categorical)] or list(inputs)
    first, size = inputs[order[0]], declared.size - declared.nullable
    places = data.column(order[0]).astype(np.int64) * size // first.size
    draw = np.random.default_rng(0)
    return np.where(draw.integers(0, TENTH, len(places)) == 0, draw.integers(0, size, len(places)), places)


def _codes(column: Column, places: Any) -> list[int]:  # noqa: ANN401 - an array or a range
    """Positions as codes; NULL of a nullable column is taken as its first value."""
    values = column.size - column.nullable
    return [column.codes[0] + (int(place) if place < values else 0) for place in places]


def _numbers(data: Records, domain: Domain, column: str) -> npt.NDArray[np.float64]:
    import numpy as np

    return np.array([float(domain[column].decode(code)) for code in _codes(domain[column], data.column(column))])  # type: ignore[arg-type]


def _given(column: str | None, domain: Domain) -> str:
    if column is None:
        raise ParameterError(f"name a column: column= one of {', '.join(domain)}")
    if column not in domain:
        raise DomainError(f"no column {column!r}; there are {', '.join(domain)}")
    return column
