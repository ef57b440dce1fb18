"""Where the sums of statistical queries come from: rows in memory, a table in an engine, or whoever can aggregate.

    RowSource        rows in memory, all of them or one block after another
    TableSource      a declared table: the queries of a round are one aggregation, a unit's rows bounded as declared
    AggregateSource  a function from expressions to sealed sums, for a curator that charges before it reads

Sums leave sealed: a mechanism is the only way out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from discreet.data.aggregation import Sealed
from discreet.data.engines.choose import engine_for
from discreet.data.table import Table
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.samplers import uniform_below
from discreet.queries.builder import Builder, count
from discreet.queries.compile import Part, aggregation
from discreet.queries.expression import Expression
from discreet.queries.statistical import whole
from discreet.queries.statistical_pieces import Written, lattice_expression

if TYPE_CHECKING:
    from discreet.data.engines.base import Engine
    from discreet.queries.statistical import Rows, StatisticalQuery


STRETCH = 1 << 14  # rows whose working arrays stay in cache


class StatisticalSource(Protocol):
    """Adds up queries on the lattice: one pass over the data, sealed integers of shape (1, queries)."""

    def prepare(self, queries: Sequence[StatisticalQuery]) -> Callable[[], Sealed]:
        """Refuse what public facts refuse, and return what reads the rows: the sum of each query."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RowSource:
    """Rows in memory.

    >>> import numpy as np
    >>> from discreet.queries.statistical_pieces import EVERY
    >>> RowSource(np.zeros((3, 2))).sums([EVERY])
    Sealed(shape=(1, 1))
    """

    rows: Rows

    def prepare(self, queries: Sequence[StatisticalQuery]) -> Callable[[], Sealed]:
        """Exact integers; queries written in SQL are refused."""
        for query in queries:
            if isinstance(query, Written):
                raise UnsupportedError("a query written in SQL is asked of a table; give a RowFunction or a Piece")
        return lambda: self.sums(queries)

    def sums(self, queries: Sequence[StatisticalQuery]) -> Sealed:
        """The sums, a stretch of rows at a time."""
        import numpy as np

        found = np.zeros((1, len(queries)), dtype=np.int64)
        for start in range(0, len(self.rows), STRETCH):
            rows = self.rows[start : start + STRETCH]
            found[0] += [whole(query, rows).sum() for query in queries]
        return Sealed(found)

    def positional(self, blocks: int) -> list[RowSource]:
        """Blocks of consecutive rows, of sizes that depend on n alone: for Replace."""
        ends = [len(self.rows) * j // blocks for j in range(blocks + 1)]
        return [RowSource(self.rows[start:end]) for start, end in pairwise(ends)]

    def scattered(self, blocks: int, *, rng: RandomSource | None) -> list[RowSource]:
        """Each row in a block of its own uniform choice, which no other row changes: for AddRemove."""
        import numpy as np

        chosen = np.asarray(uniform_below(blocks, shape=(len(self.rows),), rng=rng))
        return [RowSource(self.rows[chosen == j]) for j in range(blocks)]


@dataclass(frozen=True, slots=True, eq=False)
class TableSource:
    """A declared table; `columns` are the columns that a Piece counts by position.

    >>> from discreet.data import Boolean, Domain
    >>> TableSource(Table("v.csv", domain=Domain({"icu": Boolean()}), unit=None), ("icu",)).columns
    ('icu',)
    """

    table: Table
    columns: tuple[str, ...]

    def prepare(self, queries: Sequence[StatisticalQuery]) -> Callable[[], Sealed]:
        """One aggregation of all queries; those that are not in the closed language are refused."""
        found = [lattice_expression(query, self.table, self.columns) for query in queries]
        return lambda: engine_sums(self.table, found)


@dataclass(frozen=True, slots=True, eq=False)
class AggregateSource:
    """Sums by a function of someone else: a curator gives one that runs what it has charged for.

    >>> from discreet.data import Domain, Integer
    >>> from discreet.data.table import Table
    >>> table = Table("visits.parquet", domain=Domain({"age": Integer(0, 119)}), unit=None)
    >>> AggregateSource(lambda expressions: None, table, ("age",)).columns
    ('age',)
    """

    aggregate: Callable[[list[Expression]], Sealed]
    table: Table
    columns: tuple[str, ...]

    def prepare(self, queries: Sequence[StatisticalQuery]) -> Callable[[], Sealed]:
        """What the function makes of the compiled queries."""
        found = [lattice_expression(query, self.table, self.columns) for query in queries]
        return lambda: self.aggregate(found)


def engine_sums(table: Table, expressions: list[Expression], *, engine: Engine | None = None) -> Sealed:
    """The sums of integer expressions over the kept rows of a table, in one pass: of this engine, or of the table's."""
    if table.public:
        raise UnsupportedError("a public table needs no oracle")
    question = Builder("rows", table).select(n=count()).query()
    parts = tuple(Part("sum", expression) for expression in expressions)
    once = aggregation(question, table, parts, rows=table.rows_per_unit, groups=1)
    sealed = (engine or table.engine or engine_for(table.source)).run(table, once)
    assert isinstance(sealed, Sealed)
    return sealed
