"""A model of the data from released marginal tables, to draw rows from: post-processing, which costs nothing.

All tables together rarely fit into a graphical model.  Every column enters by itself; then tables are taken in the
order of what they say beyond that, in the l1 distance from independence less what noise alone would show, as
long as the model stays small.  The model is the estimate that these suggest (docs/theory/models.md).
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError
from discreet.queries.marginals import Marginals
from discreet.release.errors import Adjusted, Errors
from discreet.release.models.estimate import Measurement, estimate
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.junction import junction_size

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.release.release import Release

CELLS = 1 << 18  # of all cliques of the model
ONE = 0.3173  # a normal error exceeds its standard deviation with this probability


def fitted(release: Release) -> GraphicalModel:
    """A graphical model of the tables of a release that say most.

    >>> from discreet.data.columns import Boolean, Integer
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.records import Records
    >>> from discreet.privacy.guarantee import ZCDP
    >>> from discreet.queries.marginals import marginals
    >>> from discreet.release.independent import IndependentNoise
    >>> domain = Domain({"age": Integer(0, 4), "icu": Boolean(), "smokes": Boolean()})
    >>> release = IndependentNoise(marginals(domain, 2), budget=ZCDP(1))(Records.random(domain, 5000, seed=1))
    >>> len(fitted(release).sample(10))
    10
    """
    workload = release.workload
    if not isinstance(workload, Marginals):
        raise UnsupportedError("this release has answers but no model to draw rows from")
    spread = _spread(release)
    found: list[Measurement] = []
    weights = {names: float(weight) for names, weight in zip(workload.sets, workload.weights, strict=True)}
    for names, table in workload.tables(release.unbiased).items():
        if names:
            found.append(Measurement(names, table / weights[names], sd=spread[names] / weights[names]))
    singles = {
        name: _single(name, min((m for m in found if name in m.columns), key=lambda m: m.sd * math.sqrt(_size(m))))
        for name in workload.domain
        if any(name in m.columns for m in found)
    }
    if len(singles) < len(workload.domain):
        raise UnsupportedError("a model needs a table with every column; release tables that name the others too")
    total = max(1.0, float(sum(_values(one).sum() for one in singles.values())) / len(singles))
    scored = [(_beyond(one, singles, total), place) for place, one in enumerate(found) if len(one.columns) > 1]
    chosen = list(singles.values())
    for score, place in sorted(scored, reverse=True):
        joined = [m.columns for m in [*chosen, found[place]]]
        if score > 0 and junction_size(workload.domain, joined) <= CELLS:
            chosen.append(found[place])
    return estimate(workload.domain, chosen, total=total).model


def _spread(release: Release) -> dict[tuple[str, ...], float]:
    """About the standard deviation of the cells of each table; 1 where nothing is known."""
    import numpy as np

    near: Errors = release.errors.noise if isinstance(release.errors, Adjusted) else release.errors
    workload = release.workload
    assert isinstance(workload, Marginals)
    try:
        bars = near.each(ONE)
    except UnsupportedError:
        bars = np.ones(len(workload))
    return {names: max(float(part.max()), 1e-3) for names, part in workload.tables(bars).items()}


def _values(measurement: Measurement) -> npt.NDArray[np.float64]:
    import numpy as np

    return np.asarray(measurement.values, dtype=np.float64)


def _size(measurement: Measurement) -> int:
    return _values(measurement).size


def _single(name: str, measurement: Measurement) -> Measurement:
    """One column of a measured table."""
    place, values = measurement.columns.index(name), _values(measurement)
    table = values.sum(axis=tuple(axis for axis in range(values.ndim) if axis != place))
    return Measurement((name,), table, sd=measurement.sd * math.sqrt(values.size / len(table)))


def _beyond(measurement: Measurement, singles: dict[str, Measurement], total: float) -> float:
    """How far a table is from independent columns, less what noise alone would hardly show: 4 deviations."""
    import numpy as np

    parts = [np.maximum(_values(singles[name]), 0.0) / total for name in measurement.columns]
    independent = total * reduce(np.multiply.outer, parts)
    cells = independent.size
    noise = measurement.sd * (math.sqrt(2 / math.pi) * cells + 4 * math.sqrt((1 - 2 / math.pi) * cells))
    return float(np.abs(_values(measurement) - independent).sum()) - noise
