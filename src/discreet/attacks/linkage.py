"""Linkage: a table without names, joined with a few facts that somebody else knows.

    unique      how many rows are alone with their values in some columns: each is a key to its person
    linkage     whose sparse record (films rated, shops visited) fits a few facts that are only roughly right

Scoreboard (Narayanan, Shmatikov 2008): a record gets, for each known item that it has,

    1 / ln(how many records have the item)  *  (e^(-|value - known| / 1.5) + e^(-|day - known| / 30)),

and the best record is claimed if it stands out: best minus second best at least 1.5 standard deviations of all scores.
Rare items weigh most, which is why eight films and rough dates name a person among many thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import DomainError, ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

STANDS_OUT = 1.5
VALUES, DAYS = 1.5, 30.0  # scales of what counts as near


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """A sparse table: who rated which item how, and when.  Four arrays of equal length; persons and items from 0 on.

    >>> Ratings([0, 0, 1], [5, 7, 5], [3, 4, 1], [10, 20, 30]).value.tolist()
    [3.0, 4.0, 1.0]
    """

    person: npt.NDArray[np.int64]
    item: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    day: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        import numpy as np

        for name, kind in (("person", np.int64), ("item", np.int64), ("value", np.float64), ("day", np.float64)):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=kind))
        sizes = {len(getattr(self, name)) for name in ("person", "item", "value", "day")}
        if len(sizes) != 1 or not len(self.person) or self.person.min() < 0 or self.item.min() < 0:
            raise ParameterError("need four arrays of equal length, with persons and items numbered from 0")


@dataclass(frozen=True, slots=True)
class Match:
    """The record that fits best, by how much it stands out, and whether the attacker would claim it.

    >>> Match(person=42, stands_out=3.1, claimed=True).claimed
    True
    """

    person: int
    stands_out: float
    claimed: bool


def linkage(released: Ratings, known: Sequence[tuple[int, float, float]]) -> Match:
    """Find the record of somebody of whom a few (item, value, day) are roughly known.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> person, item = np.repeat(np.arange(500), 20), rng.integers(0, 1000, 10_000)
    >>> table = Ratings(person, item, rng.integers(1, 6, 10_000), rng.integers(0, 700, 10_000))
    >>> mine = table.person == 42
    >>> facts = list(zip(table.item[mine][:6], table.value[mine][:6], table.day[mine][:6] + 7))
    >>> linkage(table, facts)
    Match(person=42, stands_out=..., claimed=True)
    """
    import numpy as np

    require(len(known) >= 1, "at least one known fact", known=len(known))
    scores = np.zeros(int(released.person.max()) + 1)
    require(len(scores) >= 2, "at least two records", records=len(scores))
    support = np.bincount(released.item, minlength=max(int(item) for item, _, _ in known) + 1)
    for item, value, day in known:
        require(int(item) >= 0, "items numbered from 0", item=int(item))
        has = released.item == item
        if not has.any():
            continue
        near = np.exp(-np.abs(released.value[has] - value) / VALUES) + np.exp(-np.abs(released.day[has] - day) / DAYS)
        np.add.at(scores, released.person[has], near / np.log(max(2, int(support[int(item)]))))
    second, best = np.sort(scores)[-2:]
    spread = float(scores.std())
    stands_out = float(best - second) / spread if spread > 0 else 0.0
    return Match(int(scores.argmax()), stands_out, stands_out >= STANDS_OUT)


def unique(frame: object, columns: Sequence[str]) -> float:
    """The fraction of rows that are alone with their values in these columns, of a pandas, Polars or Arrow frame.

    >>> import pandas as pd
    >>> unique(pd.DataFrame({"zip": [1, 1, 2], "born": [1970, 1970, 1970]}), ["zip", "born"])
    0.3333333333333333
    """
    import duckdb

    from discreet.data.engines.codes import quoted
    from discreet.data.engines.sources import arrow

    require(not isinstance(columns, str) and len(columns) >= 1, "a list of columns", columns=columns)
    table = arrow(frame)
    for name in columns:
        if name not in table.column_names:
            raise DomainError(f"no column {name!r}")
    with duckdb.connect() as connection:
        connection.register("released", table)
        named = ", ".join(quoted(name) for name in columns)
        sql = f"SELECT COUNT(*) FILTER (n = 1), SUM(n) FROM (SELECT COUNT(*) AS n FROM released GROUP BY {named})"
        alone, rows = connection.execute(sql).fetchall()[0]
    return alone / rows if rows else 0.0
