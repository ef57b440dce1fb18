"""discreet.data.engines.hashing: which rows of a unit are kept: by its canonical form and the key, on every path."""

import dataclasses
import decimal
import re

import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pytest

from discreet.data.aggregation import Aggregation, Key, Measure
from discreet.data.columns import Identifier, Integer
from discreet.data.domain import Domain
from discreet.data.engines import hashing, texts
from discreet.data.engines.dialect import DUCKDB
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.linked_positions import linked_positions
from discreet.data.engines.positions import positions
from discreet.data.engines.postgres import Postgres
from discreet.data.engines.postgres_sql import POSTGRES
from discreet.data.relation import Bound, Scan
from discreet.data.table import Table
from tests.data.postgres_tables import stored
from tests.data.tables import sql

FAST, PLAIN = DuckDB(threads=2), DuckDB(threads=2, plain=True)
PEOPLE, ROWS = 40, 600
DOMAIN = Domain({"a": Integer(0, 99)})
WIDE = Domain({"u": Identifier(), **DOMAIN})
IDS = np.random.default_rng(1).integers(0, PEOPLE, ROWS) * 104_729 - 104_729
VALUES = np.random.default_rng(2).integers(0, 100, ROWS)
PLAN = Aggregation(
    columns=("a",), where=None, keys=(Key(code=sql('"a"'), size=100),), measures=(Measure(kind="rows"),), unit="u",
    rows_per_unit=4, groups_per_unit=3, salt=5,
)  # fmt: skip
NUMBERS = pa.array(IDS)
SAME = {
    "integers": NUMBERS,
    "narrow integers": NUMBERS.cast(pa.int32()),
    "floats": NUMBERS.cast(pa.float64()),
    "narrow floats": NUMBERS.cast(pa.float32()),
    "decimals": pa.array([decimal.Decimal(int(i)) for i in IDS], pa.decimal128(12, 3)),
    "wide decimals": pa.array([decimal.Decimal(int(i)) for i in IDS], pa.decimal128(38, 0)),
    "texts": NUMBERS.cast(pa.string()),
    "categories": NUMBERS.cast(pa.string()).dictionary_encode(),
    "bytes": NUMBERS.cast(pa.string()).cast(pa.binary()),
}
OBJECTS = {
    "integers": [int(i) for i in IDS],
    "floats": [float(i) for i in IDS],
    "numpy": [np.float32(i) for i in IDS],
    "decimals": [decimal.Decimal(int(i)).quantize(decimal.Decimal("0.01")) for i in IDS],
    "bytes": [str(i).encode() for i in IDS],
    "all of them": [(int, float, str, np.int64)[i % 4](i) for i in IDS.tolist()],
}


FIRST = dataclasses.replace(
    PLAN, keys=(), rows_first=True, groups_per_unit=1,
    measures=tuple(Measure(kind="sum", value=sql(f'("a" * {k}) % 101'), low=0, high=100) for k in (1, 5, 17)),
)  # fmt: skip


def _counts(source, plan=PLAN, engine=FAST):
    table = Table(source, domain=WIDE, unit="u", rows_per_unit=4, groups_per_unit=3)
    return engine.run(table, plan).through(lambda cells: cells.ravel().tolist())


def _all_ways(source, salt):
    """The rows that every path keeps."""
    plan = dataclasses.replace(PLAN, salt=salt)
    return {
        "compiled": _counts(source, plan),
        "SQL": _counts(source, plan, PLAIN),
        "rows first": _counts(source, dataclasses.replace(FIRST, salt=salt)),
        "rows in memory": np.bincount(positions(source, DOMAIN, unit="u", rows_per_unit=4, salt=salt)[0]).tolist(),
        "a child": np.bincount(_linked(source, {"visits": salt})["visits"][0]).tolist(),
        "a parent": np.bincount(_linked(source, {"people": salt})["people"][0]).tolist(),
        "a join": _bound(source, salt),
    }


def _linked(source, salts):
    domains = {"people": DOMAIN, "visits": DOMAIN}
    tables = {"people": source, "visits": source}
    return linked_positions(tables, domains, unit="u", rows_per_unit={"visits": 4}, salts=salts)


def _bound(source, salt):
    scan = Scan(Table(source, domain=WIDE, unit="u", rows_per_unit=4), ("a",))
    table = Table(Bound(scan, 4, salt), domain=WIDE, unit="u", rows_per_unit=ROWS, groups_per_unit=ROWS)
    plan = dataclasses.replace(PLAN, rows_per_unit=ROWS, groups_per_unit=ROWS)
    return FAST.run(table, plan).through(lambda cells: cells.ravel().tolist())


@pytest.mark.parametrize("kind", SAME)
def test_the_same_rows_are_kept_whatever_type_holds_the_units(kind):
    source = pa.table({"u": SAME[kind], "a": VALUES})

    assert _all_ways(source, 5) == _all_ways(pa.table({"u": NUMBERS, "a": VALUES}), 5)


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_name_units_as_their_types_do(kind):
    source = pd.DataFrame({"u": pd.Series(OBJECTS[kind], dtype=object), "a": VALUES})

    assert _counts(source) == _counts(pa.table({"u": NUMBERS, "a": VALUES}))


@pytest.mark.parametrize("kind", ["bigint", "text", "numeric", "numeric(14,2)", "double precision"])
def test_postgres_keeps_the_same_rows_whatever_type_holds_the_units(kind, postgres_url):
    source = stored(postgres_url, pa.table({"u": NUMBERS, "a": VALUES}), kinds={"u": kind})

    assert _counts(source, engine=Postgres()) == _counts(pa.table({"u": NUMBERS, "a": VALUES}))


def test_unsigned_units_beyond_the_signed_ones_are_those_of_their_texts():
    large = pa.array([(1 << 64) - 1 - int(abs(i)) for i in IDS], pa.uint64())
    wide = pa.array([decimal.Decimal(int(i)) for i in large.to_pylist()], pa.decimal128(22, 1))
    expected = _all_ways(pa.table({"u": large, "a": VALUES}), 5)

    assert _all_ways(pa.table({"u": large.cast(pa.string()), "a": VALUES}), 5) == expected
    assert _all_ways(pa.table({"u": wide, "a": VALUES}), 5) == expected


WRITTEN = [
    "0", "-0", "5", "-5", "01", "+5", " 5", "5 ", "5.0", "1e3", "", "-", "0x1", "\u0665", "5:", "1234567", "12345678",
    "123456789012345", "1234567890123456", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616", "18446744073709551620",
    "20000000000000000000", "-18446744073709551615", "99999999999999999999", "100000000000000000000", "9" * 40,
]  # fmt: skip


def _number(text):
    """The whole number that a text writes canonically."""
    whole = re.fullmatch("0|-?[1-9][0-9]*", text, re.ASCII) and -(1 << 63) <= int(text) < 1 << 64
    return int(text) % (1 << 64) if whole else None


def test_canonical_texts_are_whole_numbers_and_no_others_are(postgres_url):
    import duckdb

    with psycopg.connect(postgres_url) as connection:
        for text in WRITTEN:
            found = [
                duckdb.execute(f"SELECT {DUCKDB.whole('u')} FROM (SELECT ? AS u)", [text]).fetchall()[0],
                connection.execute(f"SELECT {POSTGRES.whole('u')} FROM (SELECT %s::text AS u) AS t", [text]).fetchone(),
            ]
            name = text.encode()
            words = np.frombuffer((name + b"\1").ljust(8 * (len(name) // 8 + 1), b"\0"), np.uint64)
            whole, number = texts.whole_number(words, 0, words.size)
            found.append((int(number) if whole else None,))

            assert [one and (one[0] if one[0] is None else one[0] % (1 << 64)) for one in found] == [_number(text)] * 3


def test_texts_that_are_not_canonical_name_others():
    rows = pa.table({"u": ["7", "07", "+7", "7.0", " 7"], "a": [1, 2, 3, 4, 5]})
    plan = dataclasses.replace(PLAN, measures=(Measure(kind="units"),), keys=())

    for engine in (FAST, PLAIN):
        assert _counts(rows, plan, engine) == [5]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_a_float_that_stands_for_several_numbers_names_nobody(kind):
    far = [2.0**53, -(2.0**53), 2.0**54, -1e300 if kind == pa.float64() else -1e30, np.inf, -np.inf, np.nan, None]
    rows = pa.table({"u": pa.array(far, kind), "a": range(8)})

    for engine in (FAST, PLAIN):
        assert sum(_counts(rows, engine=engine)) == 2
    assert len(positions(rows, DOMAIN, unit="u", rows_per_unit=9)[0]) == 2


def test_rows_without_a_unit_are_dropped_on_every_path():
    rows = pa.table({"u": pa.array([None] * 3 + [7], pa.int64()), "a": [1, 2, 3, 4]})
    named = pa.table({"u": pa.array([7], pa.int64()), "a": [4]})

    assert _all_ways(rows, 5) == _all_ways(named, 5)


@pytest.mark.parametrize("kind", ["integers", "texts"])
def test_another_salt_keeps_other_rows_on_every_path(kind):
    """A hash without its key keeps the same rows for everybody."""
    source = pa.table({"u": SAME[kind], "a": VALUES})
    found = [_all_ways(source, salt) for salt in (1, 2, 1 + (1 << 32), 1 + (1 << 63))]

    for way in found[0]:
        assert len({tuple(one[way]) for one in found}) == len(found), way


def test_what_is_chosen_is_part_of_the_key():
    """The rows of a join are not those of an answer: each choice has a hash of its own."""
    states = {hashing.start(salt, what) for salt in (0, 1) for what in (hashing.GROUPS, hashing.ROWS, hashing.JOINED)}

    assert len(states) == 6


@pytest.mark.parametrize("engine", [FAST, PLAIN], ids=["compiled", "SQL"])
def test_another_unit_keeps_other_rows(engine):
    """The hash takes in both words of a unit: shifted by 2^32 or by one, a unit chooses anew."""
    rows = {"a": np.tile(np.arange(100), 3)}
    found = set()
    for units in ([0, 1, 2], [3, 4, 5], [i << 32 for i in (1, 2, 3)], ["x", "y", "z"], ["p", "q", "r"]):
        found.add(tuple(_counts(pa.table({"u": np.repeat(units, 100), **rows}), engine=engine)))

    assert len(found) == 5


def test_a_twin_without_the_key_is_caught(monkeypatch):
    source = pa.table({"u": NUMBERS, "a": VALUES})
    monkeypatch.setattr(hashing, "start", lambda salt, purpose: purpose)

    with pytest.raises(AssertionError):
        test_another_salt_keeps_other_rows_on_every_path("integers")
    assert _counts(source) == _counts(source, dataclasses.replace(PLAN, salt=6))


def test_a_twin_that_hashes_the_text_of_a_number_is_caught(monkeypatch):
    monkeypatch.setattr(DUCKDB.__class__, "whole", lambda *_: "CAST(NULL AS BIGINT)")

    with pytest.raises(AssertionError):
        test_the_same_rows_are_kept_whatever_type_holds_the_units("texts")
