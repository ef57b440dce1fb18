"""What a curator does besides answering questions: workloads, sessions, synthetic data, models.

Each is one walk, in a module of its own: settle on public facts, spend, read, draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from discreet.curator.boundary import boundary
from discreet.curator.declared import Declared
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import Number
from discreet.queries.workload import Workload

if TYPE_CHECKING:
    from discreet.curator.batch import Choice
    from discreet.curator.curator import Curator
    from discreet.curator.session import Session
    from discreet.learning.estimator import PrivateEstimator
    from discreet.learning.statistical.oracle import StatisticalQueryOracle
    from discreet.release.release import Release
    from discreet.synthesis.linked_synthetic import LinkedSynthetic
    from discreet.synthesis.synthesizer import Method
    from discreet.synthesis.synthetic import Synthetic

Model = TypeVar("Model", bound="PrivateEstimator")


class Batches(Declared):
    """The part of `Curator` that releases more than answers."""

    @property
    def _whole(self) -> Curator:
        """Itself, as the walks know it."""
        from discreet.curator.curator import Curator

        assert isinstance(self, Curator)
        return self

    @boundary
    def release(
        self,
        workload: Workload,
        *,
        table: str,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        mechanism: Choice = "auto",
        n: int | None = None,
        analyst: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """Answer a whole workload at once: plan, spend, read, draw, in that order, as `ask` does.

        `mechanism` is "auto" (the planner's choice), the name of a registered mechanism, a class such as `MWEM`, or a
        function of `(workload, budget=, n=)` that builds one.  It is called on private data: pass only code you
        trust.  The same release again is the same one, free; one by a mechanism of a class that a script or a notebook
        defines has no key, and is paid for each time.  `n` is a public guess of the number of rows, used by forecasts
        alone.
        """
        from discreet.curator.release_run import run

        return run(
            self._whole,
            workload,
            table=table,
            price={"epsilon": epsilon, "budget": budget},
            mechanism=mechanism,
            n=n,
            analyst=analyst,
            fresh=fresh,
        )

    @boundary
    def session(
        self,
        *,
        table: str,
        columns: Sequence[str] | None = None,
        budget: Guarantee,
        queries: int,
        beta: float = 0.05,
        analyst: str | None = None,
    ) -> Session:
        """Open a session of private multiplicative weights; its whole price is due now, and never refunded."""
        from discreet.curator.release_run import open_session

        return open_session(
            self._whole, table=table, columns=columns, budget=budget, queries=queries, beta=beta, analyst=analyst
        )

    @boundary
    def synthesize(
        self,
        *,
        table: str,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        columns: Sequence[str] | None = None,
        workload: Workload | None = None,
        method: Method = "adaptive",
        rows: int | None = None,
        analyst: str | None = None,
        fresh: bool = False,
        **settings: object,
    ) -> Synthetic:
        """Fit a model of a table to draw rows from: settle, spend, read, fit, in that order, as `release` does.

        The promise is for one unit added or removed, with all its rows.  `rows` is how many `sample()` draws where it
        is not told; drawing is free.  `settings` are those of a `Synthesizer`: rounds, cells, memory, time_limit, bins,
        most and zeros; and of its fit: `progress=True` shows the rounds, and a run with a `checkpoint` file that was
        stopped goes on from it when it is ordered again, under the same charge.
        """
        from discreet.curator.synthesis_run import synthesize

        asked = {"columns": columns, "workload": workload, "epsilon": epsilon, "budget": budget, "method": method}
        return synthesize(self._whole, table=table, rows=rows, analyst=analyst, fresh=fresh, settings=settings, **asked)

    @boundary
    def synthesize_linked(
        self,
        *,
        tables: Sequence[str],
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        **asked: object,
    ) -> LinkedSynthetic:
        """Fit models of tables with one unit, the first with one row of it: `discreet.curator.linked_run`."""
        from discreet.curator.linked_run import synthesize_linked

        return synthesize_linked(self._whole, tables, epsilon=epsilon, budget=budget, **asked)  # type: ignore[arg-type]

    @boundary
    def fit(
        self,
        model: Model,
        *,
        table: str,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        analyst: str | None = None,
        fresh: bool = False,
    ) -> Model:
        """Fit a model of `discreet.learning` to a table: settle, spend, read, fit, in that order, as `release` does.

        Returns a fitted copy; the promise is for one unit added or removed, with all its rows.  The model is called on
        private data: pass only code you trust.  The same fit again is the same model, free, unless a parameter is a
        function: such an order has no key, and is paid for each time.
        """
        from discreet.curator.fit_run import fit

        asked = {"columns": columns, "epsilon": epsilon, "budget": budget, "analyst": analyst, "fresh": fresh}
        return fit(self._whole, model, table=table, target=target, **asked)

    @boundary
    def oracle(
        self,
        *,
        table: str,
        queries: int,
        columns: Sequence[str] | None = None,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        analyst: str | None = None,
    ) -> StatisticalQueryOracle:
        """Open an oracle for so many statistical queries; its whole price is due now, and never refunded.

        Each call of `answer` is one aggregation in the engine; the learners `discreet.learning.learn_...` run on it.
        """
        from discreet.curator.oracle_run import open_oracle

        asked = {"columns": columns, "epsilon": epsilon, "budget": budget, "analyst": analyst}
        return open_oracle(self._whole, table=table, queries=queries, **asked)
