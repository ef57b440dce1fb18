"""Fake rows from the declaration alone: no row of the table is read, so they are free.

Values are drawn uniformly from the declared ranges by a fixed, public generator; they say nothing
about anybody, and nothing about the table beyond what its steward declared.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from discreet.data.columns import Column, Identifier, Text
from discreet.data.table import Table
from discreet.errors import require

if TYPE_CHECKING:
    import pyarrow as pa

NULLS = 0.05  # the share of NULLs in a nullable column


def mock(table: Table, rows: int, *, seed: int = 0) -> pa.Table:
    """An Arrow table with the declared columns and `rows` made-up rows."""
    import pyarrow as pa

    whole = isinstance(rows, int) and not isinstance(rows, bool)
    require(whole and 0 <= rows <= 10_000_000, "0 <= rows <= 10,000,000", rows=rows)
    chance = random.Random(seed)
    units = max(1, rows // table.rows_per_unit)
    return pa.table({
        name: pa.array([_value(column, chance, units) for _ in range(rows)], type=_arrow(column))
        for name, column in table.domain.items()
    })  # fmt: skip


def _value(column: Column, chance: random.Random, units: int) -> object:
    if column.nullable and chance.random() < NULLS:
        return None
    if isinstance(column, (Identifier, Text)):
        return f"mock-{chance.randrange(units):06d}"
    return column.decode(chance.randint(*column.codes))


def _arrow(column: Column) -> object:
    import pyarrow as pa

    if isinstance(column, (Identifier, Text)):
        return pa.string()
    simple = {
        "integer": pa.int64(),
        "real": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("s"),
    }
    if column.name in simple:
        return simple[column.name]
    return pa.string() if isinstance(column.decode(0), str) else pa.int64()
