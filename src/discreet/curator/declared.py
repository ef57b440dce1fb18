"""What can be said of tables from their declarations alone: questions as values, explanations, mock rows.

Nothing here reads a row or spends.  A curator adds the rows and the ledger; a client of a service adds the service.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.curator.boundary import boundary
from discreet.curator.question import passes_of, read
from discreet.data.domain import missing
from discreet.data.engines.choose import engine_for
from discreet.errors import DomainError, ParameterError, require
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import Number
from discreet.queries.builder import Builder
from discreet.queries.query import Query
from discreet.queries.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.curator.answer import Answer
    from discreet.curator.batch import Batch
    from discreet.curator.clipping import ClippingBounds
    from discreet.curator.explain import Explanation
    from discreet.curator.sweep import Sweep
    from discreet.data.domain import Domain
    from discreet.data.engines.base import Engine
    from discreet.data.table import Table
    from discreet.queries.marginals import Marginals
    from discreet.release.reading import Reading
    from discreet.synthesis.explain import Explanation as SynthesisExplanation
    from discreet.synthesis.synthesizer import Method


class Declared(ABC):
    """Declared tables, and whoever answers questions about them."""

    tables: dict[str, Table]
    _engine: Engine | None

    @abstractmethod
    def ask(
        self,
        question: str | Query | Builder,
        *,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        beta: float = 0.05,
        analyst: str | None = None,
        fresh: bool = False,
        whole_counts: bool = False,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
    ) -> Answer:
        """Spend, read, answer."""

    def _informed(self, found: Explanation) -> Explanation:
        """With what the tables and the cap have to say, which the declarations do not know."""
        query = found.plan.query
        lines = tuple(f"bad lines of {name!r}, which is {said}" for name, said in self._standings(query))
        return replace(found, removed=(*found.removed, *lines), doubts=(*found.doubts, *self._doubts_of_cap(query)))

    def _standings(self, query: Query) -> list[tuple[str, str]]:
        """What is said of the tables of a question that were read from text."""
        from discreet.data.engines.sealing import standings

        return standings((name, self.tables[name]) for name in query.tables)

    def _doubts_of_cap(self, query: Query) -> tuple[str, ...]:
        """What to know of the promise for the lifetime of the ledger, where it is known."""
        return ()

    @boundary
    def query(self, question: str | Query | Builder) -> Query:
        """The question as a value.

        SQL text is read.  A `Query` is read again from its own SQL, so that types and bounds are those of
        the declaration whoever made it: nothing that the question claims is believed.
        """
        return read(question, self.tables)

    @boundary
    def explain(
        self,
        question: str | Query | Builder | Workload,
        *,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        error: float | None = None,
        beta: float = 0.05,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
        table: str | None = None,
    ) -> Explanation | Batch:
        """What an answer would look like and cost.  Nothing is read and nothing is spent.

        With `error=` instead of a budget: the epsilon that brings every count and sum within that error.
        A workload, with the name of its `table`, is explained by the planner.
        """
        from discreet.curator.explain import explain

        if isinstance(question, Workload):
            if table is None or error is not None or (rows_per_unit, groups_per_unit) != (None, None):
                raise ParameterError("need table=... for a workload, with epsilon= or budget= and nothing else")
            from discreet.curator.batch import batch
            from discreet.release.reading import sets_of

            reading = self._reading(question.domain, table, sets=sets_of(question))
            return batch(question, table, reading, epsilon=epsilon, budget=budget)
        require(table is None, "table= for workloads only: a question names its own", table=table)
        query = self.query(question)
        found = explain(
            query,
            query.source.table(),
            epsilon=epsilon,
            budget=budget,
            error=error,
            beta=beta,
            rows_per_unit=rows_per_unit,
            groups_per_unit=groups_per_unit,
        )
        passes_of(found.plan)  # what could not be asked is not explained either
        return self._informed(found)

    @boundary
    def table(self, name: str) -> Builder:
        """A question about one table, to be built in Python: `curator.table("visits").select(n=count())`."""
        if name not in self.tables:
            raise DomainError(missing(name, list(self.tables), what="table"))
        return Builder(name, self.tables[name].declaration)

    @boundary
    def clipping_bounds(
        self,
        table: str,
        column: str,
        *,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        quantiles: tuple[Number, Number] = (0.01, 0.99),
        bins: int | None = None,
        beta: float = 0.05,
        analyst: str | None = None,
    ) -> ClippingBounds:
        """Narrower bounds for a column whose declared range is wide: one COUNT question, at its price."""
        from discreet.curator.clipping import clipping_bounds

        return clipping_bounds(
            self,
            table,
            column,
            epsilon=epsilon,
            budget=budget,
            quantiles=quantiles,
            bins=bins,
            beta=beta,
            analyst=analyst,
        )

    @boundary
    def sweep(
        self,
        name: str,
        *,
        table: str,
        column: str | None = None,
        rows: int = 2000,
        budgets: Sequence[float] | None = None,
        runs: int = 5,
    ) -> Sweep:
        """Error against budget of an estimator, a release or a synthesizer, on mock rows: nothing is read or spent.

        `column` is the target of a model, or the column of a median.  `.plot()` draws it.
        """
        from discreet.curator.sweep import BUDGETS, sweep

        if table not in self.tables:
            raise DomainError(missing(table, list(self.tables), what="table"))
        chosen = BUDGETS if budgets is None else budgets
        return sweep(self.tables[table], name, column=column, rows=rows, budgets=chosen, runs=runs)

    @boundary
    def mock(self, table: str, rows: int, *, seed: int = 0) -> pa.Table:
        """Fake rows from the declaration alone, free: for developing questions before asking them."""
        from discreet.curator.mock import mock

        if table not in self.tables:
            raise DomainError(missing(table, list(self.tables), what="table"))
        return mock(self.tables[table].declaration, rows, seed=seed)

    @boundary
    def explain_synthesis(
        self,
        *,
        table: str,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        columns: Sequence[str] | None = None,
        workload: Workload | None = None,
        method: Method = "adaptive",
        n: int | None = None,
        **settings: object,
    ) -> SynthesisExplanation:
        """What `synthesize` would spend on what, for a public guess `n` of the rows; nothing is read or spent."""
        from discreet.curator.synthesis_run import ordered

        asked = {"columns": columns, "workload": workload, "epsilon": epsilon, "budget": budget, "method": method}
        return ordered(self, table=table, settings=settings, **asked).synthesizer.explain(n)

    @boundary
    def marginals(self, table: str, k: int, *, columns: Sequence[str] | None = None) -> Marginals:
        """All k-way marginal tables of a table's columns with declared values, or of the named ones."""
        from discreet.queries.marginals import marginals
        from discreet.release.reading import columns_of

        if table not in self.tables:
            raise DomainError(missing(table, list(self.tables), what="table"))
        return marginals(columns_of(self.tables[table], columns), k)

    def _reading(
        self,
        domain: Domain,
        name: str,
        *,
        whole: bool = False,
        sets: tuple[tuple[str, ...], ...] = (),
        rounds: bool = False,
    ) -> Reading:
        """Some columns of a table, on its engine."""
        from discreet.release.reading import Reading

        if name not in self.tables:
            raise DomainError(missing(name, list(self.tables), what="table"))
        table = self.tables[name]
        engine = table.engine or self._engine or engine_for(table.source)
        return Reading(table, domain, engine, whole, sets, rounds=rounds)
