"""A statistical-query oracle with a trusted curator: m adaptive queries, one budget, on rows or on a table.

Theorem.  All answers of an oracle for `queries` = m, the number of rows that it releases where n is not given, and
everything computed from them, satisfy the budget: under Replace where n is given and public, under AddRemove of one
unit where it is not; whatever the queries are and however they depend on earlier answers.  `method="shared"` answers
all from all rows and splits the budget; `method="split"` spends all of it on a fresh block of rows for each query.

    n public, queries in [-1, 1]                 shared                     split
    scale of the noise of a mean                 2 m / (epsilon n)          2 m / (epsilon n)
    sampling error, all m                        sqrt(2 ln(2m/beta) / n)    sqrt(2 m ln(2m/beta) / n)

So with pure noise the two have the same noise, and splitting only buys answers that generalise when queries are
adaptive; with Gaussian noise the shared sample has sqrt(m) less.  Proof: docs/theory/statistical_queries.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from discreet.data.table import Table
from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError, require, shown
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.one_process import OneProcess
from discreet.learning.statistical.noise import Method, StatisticalNoise
from discreet.learning.statistical.source import AggregateSource, RowSource, StatisticalSource, TableSource
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.privacy.number import Number
from discreet.queries.statistical import RESOLUTION, RowFunction, Tolerance, as_rows, centre
from discreet.queries.statistical_pieces import EVERY, Piece, Written

if TYPE_CHECKING:
    from discreet.data.aggregation import IntArray, Sealed
    from discreet.queries.statistical import StatisticalQuery, Values


class StatisticalQueryOracle(OneProcess):
    """Answers `queries` statistical queries about private rows, then refuses.

    `data` is an array (rows, columns), a pair (rows, labels), a `Table` with the names of its `columns`, or a source of
    sealed sums.  Labels are the last column.  A session belongs to one process and cannot be copied.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.queries.statistical import RowFunction
    >>> ages = np.random.default_rng(0).integers(0, 100, (10_000, 1))
    >>> oracle = StatisticalQueryOracle(ages, queries=2, epsilon=1.0, n=10_000, rng=SeededRandom(1))
    >>> oracle.answer([RowFunction(lambda rows: rows[:, 0] >= 65, low=0, high=1)]).round(3)
    array([0.351])
    >>> oracle.remaining, oracle.privacy(), round(oracle.tolerance(0.05).noise, 4)
    (1, PureDP(epsilon=1.0), 0.0015)
    """

    WHAT = "an oracle"

    __slots__ = ("_blocks", "_random", "_sizes", "_source", "_used", "noise")

    def __init__(
        self,
        data: object,
        *,
        queries: int,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        method: Method = "shared",
        n: int | None = None,
        columns: Sequence[str] | None = None,
        rng: RandomSource | None = None,
    ) -> None:
        require((epsilon is None) != (budget is None), "epsilon or budget, one of them", epsilon=epsilon, budget=budget)
        paid = PureDP(epsilon) if epsilon is not None else budget
        assert paid is not None
        self._source, rows_per_unit = _source_of(data, columns)
        if n is None and isinstance(data, Table) and rows_per_unit == 1:  # else the rows a unit keeps are private
            n = data.n
        self.noise = StatisticalNoise(queries=queries, budget=paid, method=method, n=n, rows_per_unit=rows_per_unit)
        if isinstance(self._source, RowSource) and n is not None and n != len(self._source.rows):
            raise ParameterError(f"need exactly the n={shown(n)} rows that are declared public")
        if method == "split" and not isinstance(self._source, RowSource):
            raise UnsupportedError("blocks of rows are made in memory: pass an array, or use method='shared'")
        self._random = source(rng)
        self._used = 0
        self._blocks: list[RowSource] | None = None
        self._sizes: list[float] | None = None

    @property
    def remaining(self) -> int:
        """How many queries may still be asked."""
        return self.noise.queries - self._used

    def answer(self, queries: StatisticalQuery | Sequence[StatisticalQuery]) -> Values:
        """One number a query, in its range; all queries of a call are one pass over the data."""
        import numpy as np

        asked = list(queries) if isinstance(queries, Sequence) else [queries]
        for query in asked:
            known = isinstance(query, RowFunction | Piece | Written)
            require(known, "a RowFunction, a Piece or a Written query", query=type(query).__name__)
        middles = [(float(c), float(h)) for c, h in map(centre, asked)]
        with self._alone():
            if len(asked) > self.remaining:
                raise BudgetExhausted(requested=f"{len(asked)} queries", remaining=f"{self.remaining} queries")
            read = self._source.prepare(asked)  # public facts only: what is refused here is free
            self._open()
            first, self._used = self._used, self._used + len(asked)  # spent even if a query fails on the rows
            means = self._means(asked, first, read)
        return np.array([c + h * mean for (c, h), mean in zip(middles, means, strict=True)])

    def size(self) -> float:
        """The number of rows that a query reads: n or its least block if public, else the least released one."""
        if self.noise.n is not None:
            return float(self.noise.block(self.noise.n))
        with self._alone():
            self._open()
        assert self._sizes is not None
        return max(1.0, min(self._sizes))

    def tolerance(self, beta: float = 0.05) -> Tolerance:
        """What holds for all answers with probability 1 - beta; releases the number of rows where it is private."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return self.noise.tolerance(beta, n=self.size())

    def privacy(self) -> Guarantee:
        """The budget, whether or not all queries are asked."""
        return self.noise.privacy()

    def event(self) -> Event:
        """What runs, at most."""
        return self.noise.event()

    def _open(self) -> None:
        """Make the blocks and release the number of rows in each, once; the counts are within the budget."""
        if self._sizes is not None:
            return
        noise, where = self.noise, self._source
        if noise.method == "split":
            assert isinstance(where, RowSource)
            if noise.n is None:
                self._blocks = where.scattered(noise.queries, rng=self._random)
            else:
                self._blocks = where.positional(noise.queries)
        if noise.n is None:
            counts = [self._release(part.prepare([EVERY])) for part in self._blocks or [where]]
            self._sizes = [count[0] / RESOLUTION for count in counts]
        else:
            self._sizes = [float(len(part.rows)) for part in self._blocks] if self._blocks else [float(noise.n)]

    def _release(self, read: Callable[[], Sealed]) -> list[float]:
        """Noisy sums: the only way out."""

        def noisy(cells: IntArray) -> list[float]:
            return [float(value) for value in self.noise.mechanism(cells[0], rng=self._random)]  # type: ignore[union-attr]

        return read().through(noisy)

    def _means(self, asked: Sequence[StatisticalQuery], first: int, read: Callable[[], Sealed]) -> list[float]:
        """Noisy means in [-1, 1]."""
        assert self._sizes is not None
        if self._blocks is None:
            sums, sizes = self._release(read) if asked else [], self._sizes * len(asked)
        else:
            places = range(first, first + len(asked))
            reads = [self._blocks[j].prepare([query]) for j, query in zip(places, asked, strict=True)]
            sums = [self._release(one)[0] for one in reads]
            sizes = [self._sizes[j] for j in places]
        return [
            min(1.0, max(-1.0, total / (RESOLUTION * max(1.0, size)))) for total, size in zip(sums, sizes, strict=True)
        ]


def _source_of(data: object, columns: Sequence[str] | None) -> tuple[StatisticalSource, int]:
    """Where the sums come from, and how many rows a unit may have there."""
    if isinstance(data, Table):
        if columns is None:
            columns = [name for name in data.domain if name != data.unit]
        if data.unit in columns:
            raise ParameterError(f"need columns without the unit {data.unit!r}")
        return TableSource(data, tuple(columns)), data.rows_per_unit
    require(columns is None, "columns for a Table only", columns=columns)
    if isinstance(data, TableSource | AggregateSource):
        return data, data.table.rows_per_unit
    if isinstance(data, RowSource):
        return data, 1
    return RowSource(as_rows(data)), 1
