"""Which groups are shown, and in which order, is a function of the declaration."""

import random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.data import Categorical, Domain, Identifier, Integer, Table, Text
from discreet.data.engines.duckdb import DuckDB
from discreet.errors import DiscreetError
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.privacy import PureDP
from tests.scale import counts

PERMUTATIONS = counts(quick=8, full=1_000)
WARDS = [f"ward {i}" for i in range(20)]
DOMAIN = Domain(
    {"patient": Identifier(), "ward": Categorical(WARDS, nullable=True), "age": Integer(0, 9), "note": Text(20)}
)
SQL = "SELECT ward, FLOOR(age / 5) AS half, COUNT(*) FROM visits GROUP BY ward, FLOOR(age / 5)"


def source(wards, seed=1):
    count, chance = len(wards), np.random.default_rng(seed)
    return pa.table(
        {
            "patient": pa.array(range(count), pa.int64()),
            "ward": pa.array(wards, pa.string()),
            "age": pa.array(chance.integers(0, 10, count)),
            "note": pa.array([""] * count, pa.string()),
        }
    )


def shown(table, *, threads=None, sql=SQL):
    """The keys of an answer, in order."""
    with Ledger.open(":memory:", testing=True) as ledger:
        visits = Table(table, domain=DOMAIN, unit="patient")
        curator = Curator(
            {"visits": visits}, budget=PureDP(1), ledger=ledger, engine=DuckDB(threads=threads), rng=SeededRandom(1)
        )
        answer = curator.ask(sql, epsilon=1)
        names = [name for name in ("ward", "half") if name in answer.table.column_names]
        return list(zip(*(answer.table[name].to_pylist() for name in names), strict=True))


def test_declared_keys_are_all_there_and_others_never():
    every = [(ward, half) for ward in [*WARDS, None] for half in (0, 1)]

    assert shown(source([])) == every
    assert shown(source(["ward 3"])) == every
    assert shown(source([f"stranger {i}" for i in range(500)] + ["ward 3"] * 5)) == every


def test_order_does_not_depend_on_the_order_of_rows_or_on_threads():
    draw, wards = random.Random(3), [WARDS[i % 7] for i in range(300)]
    expected = shown(source(wards))
    for i in range(PERMUTATIONS):
        draw.shuffle(wards)

        assert shown(source(wards), threads=1 + i % 2) == expected


def test_columns_without_declared_values_make_no_groups():
    for key in ("note", "patient"):
        with pytest.raises(DiscreetError):
            shown(source(["ward 1"]), sql=f"SELECT {key}, COUNT(*) FROM visits GROUP BY {key}")


def test_the_engines_own_groups_tell_who_is_there():
    """The twin: keys and order of a plain GROUP BY."""

    def plain(table):
        connection = duckdb.connect()
        connection.register("visits", table)
        return [row[0] for row in connection.execute("SELECT ward FROM visits GROUP BY ward").fetchall()]

    assert plain(source(["ward 1", "ward 2"])) != plain(source(["ward 1", "ward 2", "ward 9"]))
    assert len(plain(source([f"stranger {i}" for i in range(50)]))) == 50
