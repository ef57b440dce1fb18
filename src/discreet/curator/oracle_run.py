"""A statistical-query oracle over a table: the whole price is due when it is opened, each answer is one aggregation.

Theorem.  Let an oracle answer at most m queries with shares of its budget that are fixed when it is opened, and pay the
budget then.  However its answers are interleaved with other questions of the same ledger, together they keep the caps:
every answer is a mechanism of its own, run once on the data with a price known before, and such prices add up under
adaptive composition.  Proof: docs/theory/accounting.md.

Models that see data only through such answers (`discreet.learning.learn_linear`, `learn_tree`, ...) therefore run on
DuckDB, PostgreSQL and Spark alike, and no row leaves the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.curator.plan import lane_of, spending_of
from discreet.curator.release_run import guarded, private
from discreet.data.engines.choose import engine_for
from discreet.errors import UnsupportedError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import Number
from discreet.release.reading import columns_of

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.data.aggregation import Sealed
    from discreet.data.engines.base import Engine
    from discreet.learning.statistical.oracle import StatisticalQueryOracle
    from discreet.queries.expression import Expression


def open_oracle(
    curator: Curator,
    *,
    table: str,
    queries: int,
    columns: Sequence[str] | None,
    epsilon: Number | None,
    budget: Guarantee | None,
    analyst: str | None,
) -> StatisticalQueryOracle:
    """Settle, pay, and answer from then on."""
    from discreet.learning.statistical.oracle import StatisticalQueryOracle
    from discreet.learning.statistical.source import AggregateSource, engine_sums
    from discreet.queries.statistical_pieces import EVERY, lattice_expression

    held = private(curator, table)
    domain = columns_of(held, columns)
    promise, cost = lane_of(spending_of(epsilon, budget))

    def sums(
        expressions: list[Expression],
    ) -> Sealed:  # of the table as it was: another one of its name is another order
        if curator.tables.get(table) is None or curator.tables[table].declaration is not declared:
            raise UnsupportedError(f"the curator no longer holds the table {table!r} that was paid for; open another")
        return guarded(lambda: engine_sums(curator.tables[table], expressions, engine=_engine(curator, table)))

    declared = held.declaration
    source = AggregateSource(sums, declared, tuple(domain))
    oracle = StatisticalQueryOracle(source, queries=queries, budget=promise, rng=curator._rng)  # refuses bad settings
    lattice_expression(EVERY, declared, source.columns)  # and columns that cannot be counted
    curator._reading(domain, table, whole=True).ready()  # a missing file or column is free
    text = f"ORACLE OF {queries} STATISTICAL QUERIES ON {', '.join(domain)} FROM {table}"[:5000]
    curator._charge(cost, [table], text=text, key=None, analyst=analyst, fresh=True)
    return oracle


def _engine(curator: Curator, name: str) -> Engine:
    held = curator.tables[name]
    return held.engine or curator._engine or engine_for(held.source)
