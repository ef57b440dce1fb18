"""Synthetic data: rows that look like the table, answer its workload, and belong to nobody.

    adaptive      measures the tables that its model gets most wrong (discreet.synthesis.adaptive)
    tree          the same with a spanning tree of pairs: fast, and enough for weakly related columns
    independent   every column by itself
    mwem          one weight for every combination of values, where there are few (discreet.synthesis.small_universe)

Nothing but the declaration and what was paid for reaches the output: number of rows, categories, bins, correlations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet.data.domain import Domain
from discreet.data.engines.tables_of_counts import TablesOfCounts
from discreet.data.records import Records
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.event import Event
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.queries.marginals import Marginals, marginals
from discreet.queries.workload import Workload, same_domain, swaps
from discreet.release.counted import counted, one_dataset
from discreet.release.group import for_a_unit, for_one_row
from discreet.release.noise import noise_for, relation_for, variance
from discreet.synthesis import singles, small_universe
from discreet.synthesis.adaptive import CELLS, KEPT, SMALLEST, Adaptive, Progress, candidates
from discreet.synthesis.encoding import MOST, Encoding
from discreet.synthesis.progress_bar import bar
from discreet.synthesis.schedule import Schedule, schedule
from discreet.synthesis.synthetic import Synthetic

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.queries.workload import Countable
    from discreet.release.independent import IndependentNoise
    from discreet.release.mwem import MWEM
    from discreet.structured.marginals.marginal_release import MarginalRelease
    from discreet.synthesis.explain import Explanation

Method = Literal["adaptive", "tree", "independent", "mwem"]
METHODS = ("adaptive", "tree", "independent", "mwem")
LEAST = 1 << 26  # bytes that a fit may need whatever its model: half of them for parts of cliques that are kept
CELL = 64  # bytes that a cell of the model takes in a fit: factors, beliefs, messages and descent together

NOISIEST = 10**12  # the standard deviation of a count; above it scores would leave 64 bits, and nothing is learned


@dataclass(frozen=True, slots=True, repr=False)
class Synthesizer:
    """Fit a model of a table under a budget; sample rows from it for nothing.

    Without `n` one unit may be added or removed; with a public `n` one may be replaced.  A unit has at most
    `rows_per_unit` rows, which the caller must enforce (a curator does).  `cells` bounds the model and with it time,
    `memory` (bytes) bounds it and the tables of counts besides the rows themselves, `time_limit` (seconds) ends the
    rounds early, `bins` sets the intervals of ordered columns with many values, and `zeros` marks combinations that
    cannot occur.

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
    memory: int | None = field(default=None, kw_only=True)
    time_limit: float = field(default=math.inf, kw_only=True)
    bins: Mapping[str, int] | None = field(default=None, kw_only=True)
    most: int = field(default=MOST, kw_only=True)
    zeros: Mapping[Sequence[str], npt.ArrayLike] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require(self.method in METHODS, f"a method among {', '.join(METHODS)}", method=self.method)
        for name, least in (("rows_per_unit", 1), ("cells", 1), ("rounds", 0)):
            given = getattr(self, name)
            whole = isinstance(given, int) and not isinstance(given, bool)
            right = (name == "rounds" and given is None) or (whole and given >= least)
            require(right, f"an integer {name} >= {least}", **{name: given})
        if self.memory is not None:
            whole = isinstance(self.memory, int) and not isinstance(self.memory, bool)
            require(whole and self.memory >= LEAST, f"an integer memory >= {LEAST} bytes", memory=self.memory)
        timed = isinstance(self.time_limit, int | float) and not isinstance(self.time_limit, bool)
        require(timed and self.time_limit > 0, "time_limit > 0", time_limit=self.time_limit)
        for name in ("bins", "zeros"):
            given = getattr(self, name)
            require(given is None or isinstance(given, Mapping), f"{name} by column", **{name: type(given).__name__})
        if self.workload is not None:
            if not isinstance(self.workload, Marginals):
                raise UnsupportedError("the workload of a synthesizer is a set of marginals: marginals(domain, 2)")
            same_domain(self.encoding.domain, self.workload.domain)
        self._measurable()  # refuse a bad budget now, and not when it is paid

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def encoding(self) -> Encoding:
        """The intervals of all columns."""
        return Encoding(self.domain, bins=self.bins, most=self.most)

    @property
    def capacity(self) -> int:
        """The most cells that the model may have: `cells`, or what half of the memory above the least holds."""
        return self.cells if self.memory is None else max(SMALLEST, min(self.cells, self._spare // CELL))

    @property
    def _spare(self) -> int:
        """Bytes for the model, and as many for tables of counts that are kept between rounds."""
        return KEPT * 8 if self.memory is None else (self.memory - LEAST // 2) // 2

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
        most = max(self.capacity, SMALLEST) * rounds + singles
        return schedule(
            self.budget, rounds=rounds, reach=reach, moved=moved, weight=max(weights.values(), default=1), cells=most
        )

    @property
    def singles(self) -> IndependentNoise | MarginalRelease:
        """The mechanism that measures every column by itself; a unit of k rows is a group of k."""
        share = self.schedule.singles
        assert isinstance(share, PureDP | ZCDP)
        paid = for_one_row(share, self.rows_per_unit).under(self.neighbours)
        return singles.mechanism(self.encoding.coarse, paid, n=self.n)

    @property
    def mwem(self) -> MWEM:
        """The mechanism of the method of that name."""
        return small_universe.mechanism(self)

    def _measurable(self) -> None:
        """Refuse a budget for which there is no noise, or only noise that drowns everything that can be counted."""
        if self.method == "mwem":
            steps = [self.mwem.noise, self.mwem.count]
        else:
            plan = self.schedule
            assert isinstance(plan.singles, PureDP | ZCDP)
            least = for_one_row(plan.singles, self.rows_per_unit)  # all columns have no less noise than one count
            steps = [plan.noise, noise_for(least, absolute=1, square=1, size=1)]
        spread = [math.sqrt(variance(noise)) for noise in steps if noise is not None]
        if max(spread) <= NOISIEST and self.method != "mwem":
            spread.append(math.sqrt(self.singles.variances().max()))
        if not max(spread) <= NOISIEST:
            raise UnsupportedError(
                f"the budget {self.budget!r} is too small: its noise is above {NOISIEST:,}, which drowns every count"
            )

    def fit(
        self,
        data: object,
        *,
        rng: RandomSource | None = None,
        progress: bool | Callable[[int, int], None] = False,
        checkpoint: str | Path | None = None,
        mark: str | None = None,
    ) -> Synthetic:
        """Measure and fit: frames, files, encoded rows, tables of counts.

        With `checkpoint` a stopped run goes on where it was.  `mark` says who paid for the checkpoint: it is written
        into it, and must be in one that is there.
        """
        from discreet.synthesis.stored import load_progress, save_progress

        encoding, small = self.encoding, self.method == "mwem"
        require(checkpoint is None or not small, "no checkpoint for mwem, whose runs are short", checkpoint=checkpoint)
        saved = load_progress(checkpoint, self, mark=mark) if checkpoint is not None else None
        rows = self._encoded(data)
        if small:
            made = self.mwem(rows, rng=rng)
            assert made.model is not None
            return Synthetic(encoding=encoding, model=made.model, guarantee=self.privacy(), progress=Progress([]))
        plan = self.schedule
        state = Progress(singles.measured(self.singles, rows, rng=rng)) if saved is None else saved
        rounds = Adaptive(
            domain=encoding.coarse,
            weights=self.weights,
            schedule=plan,
            cells=self.capacity,
            kept=min(KEPT, self._spare // 8),
            seconds=self.time_limit,
            zeros=encoding.within(self.zeros) if self.zeros else None,
            tree=self.method == "tree",
        )
        with bar(plan.rounds, shown=progress) as show:

            def after(now: Progress) -> None:
                if checkpoint is not None:
                    save_progress(checkpoint, self, now, mark=mark)
                show(now.rounds)

            after(state)
            fitted = rounds.run(rows, state, rng=rng, after=after)
        return Synthetic(encoding=encoding, model=fitted.model, guarantee=self.privacy(), progress=state, schedule=plan)

    def _encoded(self, data: object) -> Countable:
        """The data in intervals: rows, or tables that an engine counts, interval by interval already."""
        if isinstance(data, TablesOfCounts):
            same_domain(self.encoding.coarse, data.domain)
            if self.method == "mwem":
                raise UnsupportedError("mwem counts all combinations of values: pass rows")
            return one_dataset(data, self.neighbours)
        rows = counted(data, self.encoding.domain, neighbours=self.neighbours)
        if not isinstance(rows, Records):
            raise UnsupportedError("a synthesizer is fitted to rows: pass a frame, a file or Records")
        return self.encoding.encode(rows)

    def explain(self, n: int | None = None) -> Explanation:
        """What would be spent on what, and how far the noise alone would be off; nothing is read or spent.

        `n` is a public guess of the number of rows.
        """
        from discreet.synthesis.explain import explain

        return explain(self, n=n)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def event(self) -> Event:
        """What runs, for the accountant, with the influence of a whole unit."""
        if self.method == "mwem":
            return for_a_unit(self.mwem.event(), self.rows_per_unit)
        return self.schedule.event(for_a_unit(self.singles.event(), self.rows_per_unit))

    def __repr__(self) -> str:
        return f"Synthesizer({len(self.domain)} columns, {self.budget!r}, method={self.method!r})"
