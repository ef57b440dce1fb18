"""Synthetic data: rows that look like the table, answer its workload, and belong to nobody.

    adaptive      measures the tables that its model gets most wrong (discreet.synthesis.adaptive)
    tree          the same with a spanning tree of pairs: fast, and enough for weakly related columns
    independent   every column by itself

Nothing but the declaration and what was paid for reaches the output: number of rows, categories, bins, correlations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Neighbours
from discreet.queries.marginals import Marginals, marginals
from discreet.queries.workload import Workload, same_domain, swaps
from discreet.release.counted import counted
from discreet.release.noise import relation_for
from discreet.synthesis import singles
from discreet.synthesis.adaptive import CELLS, SMALLEST, Adaptive, Progress, candidates
from discreet.synthesis.encoding import MOST, Encoding
from discreet.synthesis.schedule import Schedule, schedule
from discreet.synthesis.synthetic import Synthetic

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.release.independent import IndependentNoise
    from discreet.structured.marginal_release import MarginalRelease

Method = Literal["adaptive", "tree", "independent"]


@dataclass(frozen=True, slots=True, repr=False)
class Synthesizer:
    """Fit a model of a table under a budget; sample rows from it for nothing.

    Without `n` one unit may be added or removed; with a public `n` one may be replaced.  A unit has at most
    `rows_per_unit` rows, which the caller must enforce (a curator does).  `cells` bounds the model and with it time
    and memory, `time_limit` (seconds) ends the rounds early, `bins` sets the intervals of ordered columns with many
    values, and `zeros` marks combinations that cannot occur.

    >>> from discreet.data.columns import Boolean, Integer
    >>> from discreet.privacy.guarantee import ZCDP
    >>> domain = Domain({"age": Integer(0, 9), "icu": Boolean(), "smokes": Boolean()})
    >>> made = Synthesizer(domain, budget=ZCDP(0.5)).fit(Records.random(domain, 500, seed=1))
    >>> made.sample(100).num_rows, made.privacy().rho
    (100, 0.5)
    """

    domain: Domain
    budget: Guarantee = field(kw_only=True)
    workload: Workload | None = field(default=None, kw_only=True)
    method: Method = field(default="adaptive", kw_only=True)
    n: int | None = field(default=None, kw_only=True)
    rows_per_unit: int = field(default=1, kw_only=True)
    rounds: int | None = field(default=None, kw_only=True)
    cells: int = field(default=CELLS, kw_only=True)
    time_limit: float = field(default=math.inf, kw_only=True)
    bins: Mapping[str, int] | None = field(default=None, kw_only=True)
    most: int = field(default=MOST, kw_only=True)
    zeros: Mapping[Sequence[str], npt.ArrayLike] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require(self.method in ("adaptive", "tree", "independent"), "a method", method=self.method)
        for name in ("rows_per_unit", "cells"):
            given = getattr(self, name)
            whole = isinstance(given, int) and not isinstance(given, bool)
            require(whole and given >= 1, f"an integer {name} >= 1", **{name: given})
        require(self.time_limit > 0, "time_limit > 0", time_limit=self.time_limit)
        if self.workload is not None:
            if not isinstance(self.workload, Marginals):
                raise UnsupportedError("the workload of a synthesizer is a set of marginals: marginals(domain, 2)")
            same_domain(self.encoding.domain, self.workload.domain)
        self.schedule  # noqa: B018 - refuse a bad budget now

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def encoding(self) -> Encoding:
        """The intervals of all columns."""
        return Encoding(self.domain, bins=self.bins, most=self.most)

    @property
    def weights(self) -> dict[tuple[str, ...], int]:
        """The sets of columns that may be measured, with their weights."""
        coarse = self.encoding.coarse
        if self.method == "independent" or len(coarse) < 2:
            return {}
        if self.workload is None:
            return candidates(coarse, marginals(coarse, 2).sets)
        assert isinstance(self.workload, Marginals)
        found = candidates(coarse, self.workload.sets)
        return {names: weight for names, weight in found.items() if self.method != "tree" or len(names) == 2}

    @property
    def schedule(self) -> Schedule:
        """How the budget is spread: fixed before any row is read."""
        weights = self.weights
        columns = len(self.encoding.coarse)
        usual = columns - 1 if self.method == "tree" else 4 * columns
        rounds = (usual if self.rounds is None else self.rounds) if weights else 0
        moved = self.rows_per_unit * (2 if swaps(self.neighbours) else 1)
        reach = self.rows_per_unit**2 * (2 if swaps(self.neighbours) else 1)
        singles = sum(declared.size for declared in self.encoding.coarse.values())
        most = max(self.cells, SMALLEST) * rounds + singles
        return schedule(
            self.budget, rounds=rounds, reach=reach, moved=moved, weight=max(weights.values(), default=1), cells=most
        )

    @property
    def singles(self) -> IndependentNoise | MarginalRelease:
        """The mechanism that measures every column by itself; a unit of k rows is a group of k."""
        share = self.schedule.singles
        group = self.rows_per_unit
        paid = replace(share, **_divided(share, group), neighbours=self.neighbours)  # type: ignore[type-var]
        return singles.mechanism(self.encoding.coarse, paid, n=self.n)

    def fit(
        self,
        data: object,
        *,
        rng: RandomSource | None = None,
        progress: bool = False,
        checkpoint: str | Path | None = None,
    ) -> Synthetic:
        """Measure and fit: frames, files, encoded rows.  With `checkpoint` a stopped run goes on where it was."""
        from discreet.synthesis.stored import load_progress, save_progress

        encoding, plan = self.encoding, self.schedule
        rows = counted(data, encoding.domain, neighbours=self.neighbours)
        if not isinstance(rows, Records):
            raise UnsupportedError("a synthesizer is fitted to rows: pass a frame, a file or Records")
        rows = encoding.encode(rows)
        saved = load_progress(checkpoint, self) if checkpoint is not None else None
        state = Progress(singles.measured(self.singles, rows, rng=rng)) if saved is None else saved
        shown = _bar(plan.rounds) if progress else None

        def after(now: Progress) -> None:
            if checkpoint is not None:
                save_progress(checkpoint, self, now)
            if shown is not None:
                shown(now)

        rounds = Adaptive(
            domain=encoding.coarse,
            weights=self.weights,
            schedule=plan,
            cells=self.cells,
            seconds=self.time_limit,
            zeros=encoding.within(self.zeros) if self.zeros else None,
            tree=self.method == "tree",
        )
        after(state)
        fitted = rounds.run(rows, state, rng=rng, after=after)
        return Synthetic(encoding=encoding, model=fitted.model, guarantee=self.privacy(), progress=state, schedule=plan)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def event(self) -> Event:
        """What runs, for the accountant."""
        return self.schedule.event(self.singles.event())

    def __repr__(self) -> str:
        return f"Synthesizer({len(self.domain)} columns, {self.budget!r}, method={self.method!r})"


def _divided(share: Guarantee, group: int) -> dict[str, object]:
    """The share for one row, so that a group of rows costs the share: epsilon / k, rho / k^2."""
    from discreet.privacy.guarantee import ZCDP, PureDP
    from discreet.privacy.number import exact

    if isinstance(share, PureDP):
        return {"epsilon": exact(share.epsilon) / group}
    assert isinstance(share, ZCDP)
    return {"rho": exact(share.rho) / group**2}


def _bar(rounds: int):  # noqa: ANN202 - a function of the progress
    from rich.progress import Progress as Bar

    bar = Bar(transient=True)
    task = bar.add_task("measuring", total=rounds)
    bar.start()

    def show(now: Progress) -> None:
        bar.update(task, completed=now.rounds)
        if now.rounds == rounds:
            bar.stop()

    return show
