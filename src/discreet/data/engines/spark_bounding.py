"""The aggregation of `reference.py` arranged for a cluster: the same integers, one shuffle of narrow rows.

    candidates    unit, group and contributions; nothing else leaves the machine that read a row
    shuffle       DISTRIBUTE BY the unit, before the hashes are computed, so that they do not travel
    kept          ranks within a unit (`reference.kept_rows`), on the machine that has all of its rows
    per unit      GROUP BY unit and group: rows of a unit are together, so no shuffle, and units need no DISTINCT
    per group     GROUP BY group: one row for each group leaves each machine

Sums.  A contribution c is the 31-bit halves c >> 31 and c mod 2^31 where it is wide, and itself where it is
not; all have magnitude at most 2^31, so that 64 bits hold the sum of 2^32 rows of one unit.  Where a unit may have
more, and over units, or over rows that are units, sums are decimals of 38 digits, which no table fills.  Python joins
the halves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from discreet.data.aggregation import Aggregation
from discreet.data.engines.reference import Candidates, clamped, kept_rows, width
from discreet.data.engines.spark_sql import SPARK

HALF = (1 << 31) - 1
MOST = (1 << 32) - 1  # rows of a unit whose sums 64 bits hold


def _sums(aggregation: Aggregation, rows: Candidates) -> dict[str, str]:
    """What is added up, by name."""
    made = {"n": "1L"}
    for i in rows.summed:
        if width(aggregation.measures[i]) == "INTEGER":
            made[f"s{i}"] = f"CAST(c{i} AS BIGINT)"
        else:
            made[f"h{i}"] = f"shiftright(CAST(c{i} AS BIGINT), 31)"
            made[f"s{i}"] = f"(CAST(c{i} AS BIGINT) & {HALF})"
    return made


def _total(value: str) -> str:
    """The exact sum, however many rows there are: without a word, 64 bits would wrap."""
    return f"SUM(CAST({value} AS DECIMAL(28, 0)))"


def distributed(aggregation: Aggregation, rows: Candidates) -> str:
    """The whole aggregation: (g, texts ..., units, n, sums ...) for the groups that have a row."""
    groups = ["g", *(f"t{i}" for i in range(rows.texts))]
    columns = ([] if rows.unit is None else ["u"]) + groups
    columns += [f"{clamped(aggregation.measures[i], f'c{i}')} AS c{i}" for i in rows.summed]
    present = f"SELECT {', '.join(columns)} FROM {SPARK.layer(rows.sql)} WHERE g >= 0"
    sums, by = _sums(aggregation, rows), ", ".join(groups)
    if rows.unit is None:
        added = ", ".join(f"{_total(value)} AS {name}" for name, value in sums.items())
        return f"SELECT {by}, 0L AS units, {added} FROM {SPARK.layer(present)} GROUP BY {by}"
    kept = kept_rows(aggregation, rows, f"{present} DISTRIBUTE BY u", SPARK)
    few = aggregation.rows_per_unit <= MOST
    added = ", ".join(f"{f'SUM({value})' if few else _total(value)} AS {name}" for name, value in sums.items())
    each = f"SELECT u, {by}, {added} FROM {SPARK.layer(kept)} GROUP BY u, {by}"
    again = ", ".join(f"{_total(name)} AS {name}" for name in sums)
    return f"SELECT {by}, COUNT(*) AS units, {again} FROM {SPARK.layer(each)} GROUP BY {by}"


def measured(aggregation: Aggregation, rows: Candidates, found: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """From the rows of `distributed` to (g, texts ..., measures ...)."""
    names, all_made = list(_sums(aggregation, rows)), []
    for row in found:
        keys, units, sums = row[: 1 + rows.texts], row[1 + rows.texts], row[2 + rows.texts :]
        known, made = dict(zip(names, map(int, sums), strict=True)), [*keys]
        for i, measure in enumerate(aggregation.measures):
            if i in rows.summed:
                made.append((known.get(f"h{i}", 0) << 31) + known[f"s{i}"])
            else:
                made.append(units if measure.kind == "units" and rows.unit is not None else known["n"])
        all_made.append(tuple(made))
    return all_made
