"""Tables of what is known: entries that are exact, and shapes whose constants nobody knows.

An entry says which it is.  A shape has the constant 1, and no entry of a shape is a promise or a limit.  Every table
can be printed as Markdown, written as CSV, read as a data frame and drawn.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

Kind = Literal["exact", "shape only", "no number", "suppressed"]
Cell = str | float | int | bool | None
LEAST, MOST = Fraction(1, 10**30), 10**30


class Tabular:
    """Base of all tables: a table has `records()`, and the rest follows."""

    __slots__ = ()
    title: str

    def records(self) -> list[dict[str, Cell]]:
        """One dictionary a row, all with the same keys; None where there is no number."""
        raise NotImplementedError

    def to_csv(self) -> str:
        """The rows, one a line, under a header; nothing where there is no number."""
        out = io.StringIO()
        rows = self.records()
        writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def to_pandas(self) -> pd.DataFrame:
        """A data frame of the rows."""
        try:
            import pandas as pd
        except ImportError:
            raise UnsupportedError("data frames need pandas: pip install pandas") from None
        return pd.DataFrame(self.records())


def representable(**numbers: Number | None) -> None:
    """Refuse numbers, other than 0, for which the floats of a formula could overflow.

    >>> representable(epsilon=0.1, delta=0, n=None)
    >>> representable(epsilon=1e-320)
    Traceback (most recent call last):
    discreet.errors.ParameterError: need epsilon from 1e-30 to 1e30, got epsilon=1e-320
    """
    for name, value in numbers.items():
        if value is not None and exact(value) != 0:
            require(LEAST <= abs(exact(value)) <= MOST, f"{name} from 1e-30 to 1e30", **{name: value})


def altair() -> ModuleType:
    """The library of pictures, where it is installed."""
    try:
        import altair
    except ImportError:
        raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None
    return altair


def markdown(rows: list[dict[str, Cell]], *, digits: int = 4) -> str:
    """Rows as a table in Markdown; numbers with so many digits, and a dash where there is none.

    >>> print(markdown([{"law": "Laplace", "variance": 2.0}, {"law": "none", "variance": None}]))
    | law | variance |
    |---|---|
    | Laplace | 2 |
    | none | - |
    """
    head = list(rows[0]) if rows else []
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        lines.append(f"| {' | '.join(_shown(row[name], digits) for name in head)} |")
    return "\n".join(lines)


def _shown(cell: Cell, digits: int) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.{digits}g}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One line: what is bounded, by whom, and the number, if it is one.

    >>> Entry(name="tree", claim="reached", value=49.19, kind="exact").shown
    '49.19'
    """

    name: str
    claim: str
    value: float | None
    kind: Kind
    note: str = ""

    @property
    def shown(self) -> str:
        """The number as it is printed; a suppressed one is not."""
        return "-" if self.value is None or self.kind == "suppressed" else f"{self.value:.4g}"


@dataclass(frozen=True, slots=True)
class BoundsTable(Tabular):
    """Entries under a title; `str` is a table in Markdown, and `table[name]` one entry.

    >>> print(BoundsTable("Errors", (Entry(name="tree", claim="h(h+1)", value=2.0, kind="exact"),)))
    Errors
    <BLANKLINE>
    | method | bound | value | kind | note |
    |---|---|---|---|---|
    | tree | h(h+1) | 2 | exact |  |
    """

    title: str
    entries: tuple[Entry, ...]

    def __getitem__(self, name: str) -> Entry:
        found = {entry.name: entry for entry in self.entries}
        if name not in found:
            raise ParameterError(f"no entry {name!r}; there are {', '.join(map(repr, found))}")
        return found[name]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __str__(self) -> str:
        head = [self.title, "", "| method | bound | value | kind | note |", "|---|---|---|---|---|"]
        lines = [f"| {e.name} | {e.claim} | {e.shown} | {e.kind} | {e.note} |" for e in self.entries]
        return "\n".join(head + lines)

    def records(self) -> list[dict[str, Cell]]:
        """The entries; a suppressed value is left out, as it is in print."""
        return [
            {
                "method": entry.name,
                "bound": entry.claim,
                "value": None if entry.kind == "suppressed" else entry.value,
                "kind": entry.kind,
                "note": entry.note,
            }
            for entry in self.entries
        ]

    def plot(self) -> alt.Chart:
        """The values on a logarithmic axis; exact ones filled, shapes hollow."""
        pictures = altair()
        rows = [row for row in self.records() if isinstance(row["value"], float) and row["value"] > 0]
        return (
            pictures.Chart(pictures.Data(values=rows))
            .mark_point(size=90)
            .encode(
                x=pictures.X("value:Q", scale=pictures.Scale(type="log"), title="error"),
                y=pictures.Y("method:N", sort=[entry.name for entry in self.entries], title=None),
                color=pictures.Color("kind:N", title=None),
                shape=pictures.Shape("kind:N", title=None),
                tooltip=["method:N", "bound:N", "value:Q", "note:N"],
            )
            .properties(width=480, title=self.title)
        )
