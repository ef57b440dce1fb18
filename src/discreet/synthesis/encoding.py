"""Between rows as people write them and the few positions per column that a model can hold.

A column with at most `most` values keeps them.  An ordered column with more (ages to the day, amounts to the cent) is
cut into `most` intervals of equal width over its declared range; a synthetic value is drawn evenly inside its interval,
on the declared step.  NULL keeps a position of its own.  The intervals come from the declaration: no row is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.data.columns import Boolean, Categorical, Column, Date, Integer, Timestamp
from discreet.data.domain import Domain
from discreet.data.records import Records, countable
from discreet.errors import DomainError, ParameterError, require
from discreet.hazmat.entropy import RandomSource, system

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

MOST = 64


class Encoding:
    """The intervals of every column, and both directions.

    >>> from discreet.data.columns import Real
    >>> encoding = Encoding(Domain({"cost": Real(0, 5000, step="0.01"), "icu": Boolean()}))
    >>> encoding.coarse["cost"].size, encoding.coarse["icu"].size
    (64, 2)
    """

    __slots__ = ("coarse", "domain", "edges")

    def __init__(self, domain: Domain, *, bins: Mapping[str, int] | None = None, most: int = MOST) -> None:
        import numpy as np

        require(isinstance(most, int) and not isinstance(most, bool) and most >= 2, "most >= 2", most=most)
        self.domain = countable(domain)
        for name in bins or {}:
            self.domain[name]  # refuse unknown columns
        self.edges: dict[str, npt.NDArray[np.int64]] = {}
        made: dict[str, Column] = {}
        for name, declared in self.domain.items():
            values = declared.size - declared.nullable
            wanted = (bins or {}).get(name, most)
            whole = isinstance(wanted, int) and not isinstance(wanted, bool)
            require(whole and wanted >= 1, "at least one bin", **{name: wanted})
            if isinstance(declared, Boolean | Categorical) or values <= wanted:
                if name in (bins or {}) and isinstance(declared, Boolean | Categorical):
                    raise DomainError(f"column {name!r} has no order to cut into intervals")
                made[name] = declared
                continue
            self.edges[name] = np.array([place * values // wanted for place in range(wanted + 1)], dtype=np.int64)
            made[name] = Integer(0, wanted - 1, nullable=declared.nullable)
        self.coarse = Domain(made)

    @property
    def cuts(self) -> dict[str, int]:
        """The columns that are cut, each into how many intervals."""
        return {name: len(edges) - 1 for name, edges in self.edges.items()}

    def encode(self, rows: Records) -> Records:
        """Positions among the intervals."""
        import numpy as np

        columns = []
        for name in self.domain:
            positions = rows.column(name)
            edges = self.edges.get(name)
            columns.append(positions if edges is None else np.searchsorted(edges, positions, side="right") - 1)
        return Records(self.coarse, columns)

    def decode(self, rows: Records, *, rng: RandomSource | None = None) -> pyarrow.Table:
        """Rows with the declared types and valid values, drawn evenly inside the intervals."""
        import numpy as np
        import pyarrow

        random = system() if rng is None else rng
        columns = {}
        for name, declared in self.domain.items():
            positions = rows.column(name).astype(np.int64)
            values = declared.size - declared.nullable
            edges = self.edges.get(name)
            missing = positions >= (values if edges is None else len(edges) - 1)
            if edges is not None:
                safe = np.where(missing, 0, positions)
                widths = edges[safe + 1] - edges[safe]
                inside = (random.words(len(safe)) >> np.uint64(11)) * 2.0**-53
                positions = edges[safe] + np.minimum((inside * widths).astype(np.int64), widths - 1)
            columns[name] = _written(declared, np.where(missing, 0, positions), missing)
        return pyarrow.table(columns)

    def within(self, zeros: Mapping[Sequence[str], npt.ArrayLike]) -> dict[tuple[str, ...], npt.NDArray[np.bool_]]:
        """Combinations that cannot occur, for the intervals: those all of whose values cannot."""
        import numpy as np

        order = list(self.domain)
        made = {}
        for names, marked in zeros.items():
            key = tuple(names)
            table = _array(marked)
            shape = tuple(self.domain[name].size for name in key)
            require(table.dtype.kind == "b" and table.shape == shape, f"booleans of shape {shape}", zeros=key)
            for axis, name in enumerate(key):
                edges = self.edges.get(name)
                if edges is not None:
                    starts = [*edges[:-1].tolist(), *([shape[axis] - 1] if self.domain[name].nullable else [])]
                    table = np.logical_and.reduceat(table, starts, axis=axis)
            places = sorted(range(len(key)), key=lambda place: order.index(key[place]))
            made[tuple(key[place] for place in places)] = np.transpose(table, places)
        return made


def _array(marked: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Marks as an array, if they are one."""
    import numpy as np

    try:
        return np.asarray(marked)
    except (ValueError, TypeError):  # rows of different lengths
        raise ParameterError("need zeros as a table of booleans, got rows of different lengths") from None


def _written(column: Column, positions: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_]) -> pyarrow.Array:
    """Positions as values of the declared type."""
    import numpy as np
    import pyarrow

    mask = missing if column.nullable else None
    codes = positions + column.codes[0]
    match column:
        case Integer():
            return pyarrow.array(codes, mask=mask)
        case Boolean():
            return pyarrow.array(codes.astype(bool), mask=mask)
        case Categorical():
            return pyarrow.array(np.array(column.values)[positions], mask=mask)
        case Date():
            return pyarrow.array(codes.astype(np.int32), type=pyarrow.int32(), mask=mask).cast(pyarrow.date32())
        case Timestamp():
            return pyarrow.array(codes * column.period, type=pyarrow.int64(), mask=mask).cast(pyarrow.timestamp("s"))
    step = column.step
    return pyarrow.array(codes * step.numerator / step.denominator, mask=mask)
