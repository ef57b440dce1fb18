"""An answer: noisy values with error bars, what they cost, and what may be published with them.

Everything here is computed from the released integers and public facts, so it can be done again and
again for free: other error bars, sorting, differences, plots.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from discreet.curator.delta import doubts, people
from discreet.curator.estimate import Estimate, estimate
from discreet.curator.plan import Plan
from discreet.data.columns import Value
from discreet.errors import require
from discreet.queries.query import Aggregate, Output
from discreet.queries.types import Free

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from discreet.curator.release import Groups
    from discreet.ledger import Receipt

OPERATORS = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Answer:
    """The released integers of a plan, and every view of them.

    >>> import discreet as dc
    >>> import pyarrow as pa
    >>> visits = dc.Table(pa.table({"age": [40, 70]}), domain=dc.Domain({"age": dc.Integer(0, 119)}), unit=None)
    >>> curator = dc.Curator({"visits": visits}, budget=dc.PureDP(1), ledger=":memory:")
    >>> answer = curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
    >>> answer.errors(beta=0.05).column_names, answer.receipt.replayed
    (['n', 'n_low', 'n_high'], False)
    >>> curator.close()
    """

    plan: Plan
    noisy: list[npt.NDArray[np.int64] | npt.NDArray[np.object_]]
    receipt: Receipt
    beta: float = 0.05
    whole_counts: bool = False  # counts as non-negative integers
    groups: Groups | None = None  # the groups that are named, where their keys were not declared
    sealed: str = ""  # what is said of tables that were read from text

    @property
    def cost(self) -> object:
        """What was charged, as a guarantee."""
        return self.plan.budget

    @cached_property
    def _rows(self) -> npt.NDArray[np.int64]:
        """Which cells are shown, in which order: HAVING, ORDER BY and LIMIT on the noisy values."""
        import numpy as np

        query = self.plan.query
        keep = np.arange(self.cells)
        for condition in query.having:
            values = self._values(condition.output)
            shown = [i for i in keep if _holds(values[i], condition.operator, condition.value)]
            keep = np.array(shown, dtype=np.int64)
        for order in reversed(query.order):
            values = self._values(order.output)
            down = order.descending
            ranked = sorted(keep, key=lambda i: _sortable(values[i], descending=down), reverse=down)
            keep = np.array(ranked, dtype=np.int64)
        return keep if query.limit is None else keep[: query.limit]

    @property
    def cells(self) -> int:
        """How many groups there are, before HAVING and LIMIT."""
        return self.plan.cells if self.groups is None else len(self.groups)

    @cached_property
    def _keys(self) -> list[tuple[Value, ...]]:
        """The keys of every group, in the order of GROUP BY."""
        declared = list(product(*(grouping.values() for grouping in self.plan.groupings)))
        if self.groups is None:
            return declared
        undeclared = [isinstance(key.type, Free) for key in self.plan.query.keys]
        found = []
        for *texts, number in self.groups:
            private, public = iter(texts), iter(declared[int(number)])  # type: ignore[arg-type]
            found.append(tuple(next(private) if missing else next(public) for missing in undeclared))
        return found

    def _values(self, name: str) -> list[object]:
        """All cells of one output."""
        output = next(output for output in self.plan.query.outputs if output.name == name)
        if isinstance(output.value, int):
            return [key[output.value] for key in self._keys]
        return [_plain(value) for value in self.estimate(output.name).value]

    def estimate(self, name: str, *, beta: float | None = None, simultaneous: bool = False) -> Estimate:
        """Values and intervals of one output, for all cells before HAVING, ORDER BY and LIMIT."""
        import numpy as np

        chosen = self.beta if beta is None else beta
        require(1e-300 <= chosen < 1, "0 < beta < 1, not below 1e-300", beta=chosen)
        aggregate = self._aggregate(name)
        cells = max(1, self.cells) if simultaneous else 1
        found = estimate(self.plan, aggregate, self.noisy, beta=chosen, cells=cells)
        if self.whole_counts and aggregate.function in ("count", "units"):
            return Estimate(*(np.maximum(end, 0) for end in (found.value, found.low, found.high)))
        return found

    def _aggregate(self, name: str) -> Aggregate:
        for output in self.plan.query.outputs:
            if output.name == name and isinstance(output.value, Aggregate):
                return output.value
        from discreet.data.domain import missing
        from discreet.errors import DomainError

        raise DomainError(missing(name, [output.name for output in self.measured], what="aggregate"))

    @property
    def measured(self) -> tuple[Output, ...]:
        """The outputs that carry noise."""
        return tuple(output for output in self.plan.query.outputs if isinstance(output.value, Aggregate))

    @property
    def table(self) -> pa.Table:
        """The answer as an Arrow table, in the columns of SELECT."""
        import pyarrow as pa

        columns = {}
        for output in self.plan.query.outputs:
            values = self._values(output.name)
            columns[output.name] = _column([values[i] for i in self._rows])
        return pa.table(columns)

    def errors(self, beta: float | None = None, *, simultaneous: bool = False) -> pa.Table:
        """The same rows with `<name>_low` and `<name>_high` for every aggregate.

        Each interval holds with probability 1 - beta; all of a column together if `simultaneous`.
        """
        table = self.table
        for output in self.measured:
            found = self.estimate(output.name, beta=beta, simultaneous=simultaneous)
            table = table.append_column(f"{output.name}_low", [found.low[self._rows]])
            table = table.append_column(f"{output.name}_high", [found.high[self._rows]])
        return table

    def to_pandas(self) -> pd.DataFrame:
        """The answer as a pandas frame."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The answer as a Polars frame."""
        import polars as pl

        return pl.DataFrame(self.table)

    @property
    def statement(self) -> str:
        """What may be published with the numbers."""
        from discreet._version import __version__

        query = self.plan.query
        owner = query.source.owner
        unit = "row" if owner is None else f"{owner} (at most {self.plan.rows} rows each)"
        chosen = {type(release.mechanism).__name__ for release in self.plan.releases}
        noise = [f"discrete {kind} noise" for kind in sorted(chosen & {"Laplace", "Gaussian"})]
        noise += ["private selection of ranks"] if chosen - {"Laplace", "Gaussian"} else []
        noise += ["private selection of groups"] if self.plan.selection is not None else []
        tables = " and ".join(map(repr, query.tables))
        return (
            f"Differentially private for one {unit} of {tables} added or removed: {self.plan.budget}."
            f" By {', '.join(noise)}; discreet {__version__}.{self.sealed} Question: {query}"
            + "".join(f" Careful: {doubt}." for doubt in doubts(self.plan.budget, people(query)))
        )

    def plot(self, *, beta: float | None = None) -> alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart:
        """A picture: bars with error bars, a line or a heat map, as the shape suggests."""
        from discreet.curator.picture import plot

        return plot(self, beta=beta)

    def difference(self, name: str, left: int, right: int, *, beta: float | None = None) -> tuple[float, float, float]:
        """left - right of two rows of the answer, with an interval that holds with probability 1 - beta."""
        (a, low_a, high_a), (b, low_b, high_b) = (self._cell(name, row, beta) for row in (left, right))
        return a - b, low_a - high_b, high_a - low_b

    def ratio(self, name: str, left: int, right: int, *, beta: float | None = None) -> tuple[float, float, float]:
        """left / right of two rows of the answer, with an interval; unbounded where the divisor may be zero."""
        (a, low_a, high_a), (b, low_b, high_b) = (self._cell(name, row, beta) for row in (left, right))
        if low_b <= 0 <= high_b:
            return (a / b if b else math.nan), -math.inf, math.inf
        corners = [x / y for x in (low_a, high_a) for y in (low_b, high_b)]
        return a / b, min(corners), max(corners)

    def _cell(self, name: str, row: int, beta: float | None) -> tuple[float, float, float]:
        """One value with its interval at beta / 2: two of them hold together with probability 1 - beta."""
        require(-len(self._rows) <= row < len(self._rows), "a row of the answer", row=row)
        found = self.estimate(name, beta=(self.beta if beta is None else beta) / 2)
        i = self._rows[row]
        return float(found.value[i]), float(found.low[i]), float(found.high[i])

    def to_dict(self) -> dict[str, object]:
        """Rows with intervals, price, receipt and statement, JSON-ready."""
        return {
            "rows": self.errors().to_pylist(),
            "beta": self.beta,
            "cost": str(self.cost),
            "receipt": {"id": self.receipt.id, "hash": self.receipt.hash, "replayed": self.receipt.replayed},
            "statement": self.statement,
        }

    def __str__(self) -> str:
        from discreet.curator.show import caption, cells

        names, body = cells(self)
        widths = [max(map(len, column)) for column in zip(names, *body, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [names, *body]
        ]
        return "\n".join([*(line.rstrip() for line in lines), caption(self)])

    def __rich__(self) -> object:
        from discreet.curator.show import rich_table

        return rich_table(self)

    def _repr_html_(self) -> str:
        from discreet.curator.show import html

        return html(self)

    def to_bytes(self) -> bytes:
        """The released integers, for the ledger: the same question gets the same bytes again."""
        noisy = [[int(v) for v in part] for part in self.noisy]
        return json.dumps({"version": 1, "noisy": noisy, "groups": self.groups}).encode()


def from_bytes(plan: Plan, stored: bytes, receipt: Receipt, *, beta: float, whole_counts: bool) -> Answer:
    """Read back what `to_bytes` wrote."""
    import numpy as np

    noisy, kept = [], json.loads(stored)
    groups = kept.get("groups")
    for part in kept["noisy"]:
        small = all(-(2**63) <= value < 2**63 for value in part)
        noisy.append(np.array(part, dtype=np.int64 if small else object))
    return Answer(plan, noisy, receipt, beta, whole_counts, None if groups is None else [tuple(g) for g in groups])


def _plain(value: object) -> int | float | None:
    """A Python number, or None for a missing one."""
    if value != value:
        return None
    return float(value) if hasattr(value, "dtype") and value.dtype.kind == "f" else int(value)  # type: ignore[arg-type,union-attr]


def _holds(value: object, operator: str, bound: Fraction) -> bool:
    """A missing value, and a key that is not a number, satisfies nothing."""
    if not isinstance(value, (int, float)):
        return False
    return OPERATORS[operator](Fraction(value), bound)


def _sortable(value: object, *, descending: bool) -> tuple[bool, object]:
    """Missing values come last in both directions."""
    return ((value is not None) == descending, value if value is not None else 0)


def _column(values: list[object]) -> pa.Array:
    """An Arrow column; integers beyond 64 bits, which only noise of that size makes, become floats."""
    import pyarrow as pa

    wide = any(type(value) is int and not -(2**63) <= value < 2**63 for value in values)
    return pa.array([float(value) for value in values] if wide else values)  # type: ignore[arg-type]
