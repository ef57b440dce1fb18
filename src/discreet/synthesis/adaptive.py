"""Synthetic data by measuring, again and again, the table that the model gets most wrong.

In each round every candidate table t (a set of columns at one resolution) has the integer score

    w_t ||T_t x - round(T_t model)||_1 - round(w_t sd cells_t sqrt(2 / pi)),

the improvement to hope for less the noise to be added, weighted by how much of the workload it touches (McKenna,
Mullins, Sheldon, Miklau 2022, who call it AIM; the resolutions are ours).  One is chosen by the exponential mechanism
and measured, and the model is fitted to everything measured so far.  Of more than COMPARED sets of columns
a round compares as many, drawn from its number alone.

Theorem.  A unit moves each score by at most its reach in l1 times the largest w_t: models, bins and noise levels are
functions of what was released before.  So the rounds cost what `schedule` says, and fitting and sampling cost nothing.
Proof: docs/theory/synthesis.md.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.hazmat.entropy import RandomSource
from discreet.release.models.estimate import WARMTH, Estimate, Measurement, estimate
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.junction import junction_sizes
from discreet.synthesis.resolution import Table, tables
from discreet.synthesis.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Countable

CELLS = 500_000  # of the largest model
SMALLEST = 1000  # cells that any model may have
COMPARED = 400  # sets of columns in a round, at most
KEPT = 1 << 25  # counts that are kept between rounds, at most
QUICK = 60  # iterations of a fit between two rounds
NOISE = math.sqrt(2 / math.pi)  # the mean absolute value of normal noise of standard deviation 1


@dataclass(slots=True)
class Progress:
    """What has been released so far: all of it may be published, and a run can go on from it."""

    measurements: list[Measurement]
    rounds: int = 0  # already run
    fitted: Estimate | None = None
    fitting: float = 0.0  # seconds spent on models, which are made from releases alone
    chosen: list[tuple[str, ...]] = field(default_factory=list)


def candidates(domain: Domain, sets: Iterable[Sequence[str]]) -> dict[tuple[str, ...], int]:
    """Every set of at least two columns inside a set of the workload, with the number of columns it shares with all.

    >>> from discreet.data.columns import Boolean
    >>> candidates(Domain({name: Boolean() for name in "abc"}), [("a", "b"), ("b", "c")])
    {('a', 'b'): 3, ('b', 'c'): 3}
    """
    order = list(domain)
    wanted = [tuple(sorted(names, key=order.index)) for names in sets]
    inside = {
        part for names in wanted for size in range(2, len(names) + 1) for part in itertools.combinations(names, size)
    }
    holding = Counter(name for names in wanted for name in names)
    return {part: sum(holding[name] for name in part) for part in sorted(inside, key=_place(order))}


def _place(order: list[str]) -> Callable[[tuple[str, ...]], tuple[int, ...]]:
    return lambda names: (len(names), *(order.index(name) for name in names))


@dataclass(frozen=True, kw_only=True, slots=True)
class Adaptive:
    """The rounds of a synthesizer over encoded data."""

    domain: Domain
    weights: Mapping[tuple[str, ...], int]  # of the candidates
    schedule: Schedule
    cells: int = CELLS
    kept: int = KEPT
    seconds: float = math.inf
    zeros: Mapping[tuple[str, ...], npt.NDArray[np.bool_]] | None = None
    tree: bool = False  # only tables that join two columns not yet connected

    def run(
        self,
        data: Countable,
        progress: Progress,
        *,
        rng: RandomSource | None = None,
        after: Callable[[Progress], None] = lambda progress: None,
    ) -> Estimate:
        """All rounds that are left, then the last fit; `after` is called when a round is done."""
        total = _total(progress.measurements)
        data = _Remembered.of(data, self.weights, room=self.kept)
        if progress.fitted is None:
            progress.fitted = self._fit(progress, total, iterations=500)
        model = progress.fitted.model
        shares = {m.columns[0]: model.marginal(m.columns) for m in progress.measurements if len(m.columns) == 1}
        pool = tables(self.domain, self.weights, shares)
        while progress.rounds < self.schedule.rounds and progress.fitting < self.seconds:
            fitting = self._fitting(pool, progress)
            if not fitting:
                break
            assert self.schedule.choice is not None
            table = fitting[self.schedule.choice(self.scores(fitting, data, progress.fitted.model), rng=rng)]
            progress.measurements.append(self._measure(table, data, rng))
            progress.chosen.append(table.columns)
            progress.rounds += 1
            progress.fitted = self._fit(progress, total, iterations=QUICK, hot=self.zeros is not None)
            after(progress)
        return self._fit(progress, total, iterations=1000, steps=2)

    def _fitting(self, pool: list[Table], progress: Progress) -> list[Table]:
        """The tables that keep the model within its share of the cells, which grows with the rounds."""
        assert self.schedule.rounds > 0
        share = max(self.cells * (progress.rounds + 1) / self.schedule.rounds, SMALLEST)
        held = [measurement.columns for measurement in progress.measurements]
        drawn = [columns for columns in self._drawn(progress.rounds) if not self.tree or not _connected(columns, held)]
        sizes = junction_sizes(self.domain, held, drawn)
        small = [columns for columns, size in zip(drawn, sizes.tolist(), strict=True) if size <= share]
        fits = set(small[:COMPARED])
        return [table for table in pool if table.columns in fits]

    def _drawn(self, number: int) -> list[tuple[str, ...]]:
        """The sets of columns in the order in which a round looks at them: a public one."""
        import numpy as np

        sets = list(self.weights)
        if len(sets) <= COMPARED:
            return sets
        return [sets[place] for place in np.random.default_rng(number).permutation(len(sets))]

    def scores(self, pool: list[Table], data: Countable, model: GraphicalModel) -> list[int]:
        """How much each table is off, weighted, less the noise that measuring it would add."""
        import numpy as np

        sd = self.schedule.sd
        made = []
        for columns, group in itertools.groupby(pool, key=lambda table: table.columns):
            guess = np.clip(np.rint(model.marginal(columns)), 0, 2.0**53).astype(np.int64)
            off = np.asarray(data.marginal(columns), dtype=np.int64) - guess
            weight = self.weights[columns]
            for table in group:
                wrong = int(np.abs(table.of(off)).sum())
                made.append(weight * wrong - round(weight * sd * NOISE * table.cells))
        return made

    def _measure(self, table: Table, data: Countable, rng: RandomSource | None) -> Measurement:
        import numpy as np

        assert self.schedule.noise is not None
        counts = table.of(np.asarray(data.marginal(table.columns), dtype=np.int64))
        noisy = np.asarray(self.schedule.noise(np.ascontiguousarray(counts), rng=rng), dtype=np.float64)
        return Measurement(table.columns, noisy, sd=self.schedule.sd, bins=table.bins)

    def _fit(self, progress: Progress, total: float, *, iterations: int, steps: int = 1, hot: bool = True) -> Estimate:
        """A fit that goes on from the last; where it need not be `hot`, it may end early instead of being softened."""
        median = statistics.median(one.spread for one in progress.measurements)
        began = time.monotonic()
        made = estimate(
            self.domain,
            progress.measurements,
            total=total,
            zeros=self.zeros,
            start=progress.fitted,
            iterations=iterations,
            steps=steps,
            temperature=None if hot else WARMTH * total / median,
        )
        progress.fitting += time.monotonic() - began  # no row is looked at in this time
        return made


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Remembered:
    """Data whose tables are counted once, as far as there is room for them."""

    data: Countable
    tables: Mapping[tuple[str, ...], npt.NDArray[np.int64]]

    @classmethod
    def of(cls, data: Countable, sets: Iterable[tuple[str, ...]], *, room: int) -> _Remembered:
        """Count the first tables that fit, together where the data can."""
        kept = []
        for columns in sets:
            room -= math.prod(data.domain[name].size for name in columns)
            if room < 0:
                break
            kept.append(columns)
        counted = data.marginals(kept) if isinstance(data, Records) else [data.marginal(columns) for columns in kept]
        return cls(data, dict(zip(kept, counted, strict=True)))

    @property
    def domain(self) -> Domain:
        return self.data.domain

    def marginal(self, names: Sequence[str], /) -> npt.NDArray[np.int64]:
        found = self.tables.get(tuple(names))
        return self.data.marginal(names) if found is None else found


def _connected(columns: tuple[str, ...], held: list[tuple[str, ...]]) -> bool:
    """Whether two of the columns are joined already by tables of two columns or more."""
    group = {name: name for name in columns}

    def root(name: str) -> str:
        while group.setdefault(name, name) != name:
            name = group[name]
        return name

    for names in held:
        for name in names[1:]:
            group[root(name)] = root(names[0])
    return len({root(name) for name in columns}) < len(columns)


def _total(measurements: Sequence[Measurement]) -> float:
    """The number of rows that the noisy columns suggest, each weighted by its precision; at least one."""
    import numpy as np

    sums = [float(np.sum(m.values)) for m in measurements if len(m.columns) == 1]
    precision = [1 / (m.spread**2 * np.size(m.values)) for m in measurements if len(m.columns) == 1]
    return max(1.0, float(np.average(sums, weights=precision)))
