"""discreet.data.engines.row_numbers: results come in the order of the rows, from every kind of source."""

from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.data.columns import Boolean, Categorical, Integer
from discreet.data.domain import Domain
from discreet.data.engines import linked_positions as linked
from discreet.data.engines import positions as one_table
from discreet.data.engines import row_numbers
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.linked_positions import linked_positions
from discreet.data.engines.positions import positions
from tests.sources import KINDS

ROWS, RUNS = 100, 5  # one run of such sources is in order by chance in about one of ten
MANY = 300_000
WARDS = ["a", "b", "c"]
DOMAIN = Domain({"i": Integer(0, MANY), "ward": Categorical(WARDS), "icu": Boolean()})
ENGINE = DuckDB(threads=4)


def _rows(rows: int = ROWS) -> pa.Table:
    numbers = np.arange(rows)
    wards = pa.array(np.array(WARDS)[numbers % 3].astype(object), pa.string())
    return pa.table({"i": numbers, "ward": wards, "icu": numbers % 2 == 0, "who": numbers // 3})


def _is_in_order(found: Sequence[np.ndarray], rows: int = ROWS) -> bool:
    numbers = np.arange(rows)
    wanted = [numbers, numbers % 3, numbers % 2 == 0]
    return all(np.array_equal(column, other) for column, other in zip(found, wanted, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_come_in_the_order_of_their_source(kind, tmp_path):
    source = KINDS[kind](_rows(), tmp_path)

    for every_row in (True, False):
        for _ in range(RUNS):
            assert _is_in_order(positions(source, DOMAIN, every_row=every_row, engine=ENGINE))


@pytest.mark.parametrize("kind", ["Arrow", "Arrow in chunks", "Parquet in row groups", "Parquet in files",
                                  "DuckDB, a table", "DuckDB, a view"])  # fmt: skip
def test_many_rows_come_in_the_order_of_their_source(kind, tmp_path):
    source = KINDS[kind](_rows(MANY), tmp_path)

    assert all(_is_in_order(positions(source, DOMAIN, engine=ENGINE), MANY) for _ in range(3))


@pytest.mark.parametrize("kind", ["Arrow in chunks", "Parquet in files", "DuckDB, a table", "CSV in files"])
def test_the_kept_rows_of_units_come_in_order_too(kind, tmp_path):
    source = KINDS[kind](_rows(), tmp_path)
    numbers = np.arange(ROWS)
    all_of_them = positions(source, DOMAIN, unit="who", rows_per_unit=3, engine=ENGINE)
    some = positions(source, DOMAIN, unit="who", rows_per_unit=2, engine=ENGINE)

    assert _is_in_order(all_of_them)
    assert (np.diff(some[0]) > 0).all()
    assert len(some[0]) == 2 * (ROWS // 3) + 1
    assert np.array_equal(some[1], numbers[some[0]] % 3)


def test_rows_of_linked_tables_come_in_order(tmp_path):
    rows = _rows()
    people = pa.table({"who": rows["who"].unique(), "group": np.arange(-(-ROWS // 3))})
    domains = {"people": Domain({"group": Integer(0, ROWS)}), "visits": DOMAIN}
    sources = {
        "people": KINDS["Parquet in files"](people, tmp_path),
        "visits": KINDS["Arrow in chunks"](rows, tmp_path),
    }
    found = linked_positions(sources, domains, unit="who", rows_per_unit={"visits": 3}, engine=ENGINE)

    assert np.array_equal(found["people"][0], np.arange(-(-ROWS // 3)))
    assert _is_in_order(found["visits"][:3])
    assert np.array_equal(found["visits"][3], np.arange(ROWS) // 3)


def test_dropped_rows_leave_the_others_in_order(tmp_path):
    rows = pa.table({"i": pa.array([None if i % 7 == 0 else i for i in range(ROWS)], pa.int64())})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=10)
    (found,) = positions(str(tmp_path / "rows.parquet"), Domain({"i": Integer(0, ROWS)}), engine=ENGINE)

    assert found.tolist() == [i for i in range(ROWS) if i % 7]


def test_columns_may_have_the_names_by_which_rows_are_numbered(tmp_path):
    """A source whose own column shadows the number of a row is numbered as it is read."""
    numbers = np.arange(ROWS)
    for name in ("file_row_number", "File_Index", "filename", "rowid", "r", "_row", "c0", "u"):
        rows = pa.table({name: numbers[::-1], "i": numbers})
        pq.write_table(rows, tmp_path / "odd.parquet", row_group_size=10)
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as connection:
            connection.register("given", rows)
            connection.execute("CREATE TABLE rows AS SELECT * FROM given ORDER BY i")
        domain = Domain({"i": Integer(0, ROWS), name: Integer(0, ROWS)})
        for source in (rows, str(tmp_path / "odd.parquet"), f"{tmp_path / name}.duckdb::rows"):
            found = positions(source, domain, engine=ENGINE)

            assert [column.tolist() for column in found] == [numbers.tolist(), numbers[::-1].tolist()]


def test_a_table_from_which_rows_were_deleted_keeps_its_order(tmp_path):
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute("CREATE TABLE rows AS SELECT range AS i FROM range(100)")
        connection.execute("DELETE FROM rows WHERE i % 3 = 0")
        connection.execute("INSERT INTO rows VALUES (0)")
    (found,) = positions(f"{tmp_path / 'rows.duckdb'}::rows", Domain({"i": Integer(0, ROWS)}), engine=ENGINE)

    assert found.tolist() == [*(i for i in range(ROWS) if i % 3), 0]


def _in_any_order(monkeypatch):
    """From here on engines give the rows of every result in another order."""
    rng = np.random.default_rng(0)

    def shuffled(connection, sql):
        found = connection.execute(sql).fetchnumpy()
        order = rng.permutation(len(found["r"]))
        return {name: column[order] for name, column in found.items()}

    for module in (one_table, linked):
        monkeypatch.setattr(module, "fetched", shuffled)


@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_may_give_rows_in_any_order(kind, tmp_path, monkeypatch):
    source = KINDS[kind](_rows(), tmp_path)
    _in_any_order(monkeypatch)
    tables, domains = {"people": source, "visits": source}, {"people": DOMAIN, "visits": DOMAIN}
    found = linked_positions(tables, domains, unit="i", rows_per_unit={"visits": 1})

    assert _is_in_order(positions(source, DOMAIN))
    assert _is_in_order(positions(source, DOMAIN, unit="who", rows_per_unit=3))
    assert _is_in_order(found["people"][:3])
    assert _is_in_order(found["visits"][:3])


def test_rows_paired_by_place_are_caught(tmp_path, monkeypatch):
    """The twin takes results as they come."""
    source = KINDS["Parquet in files"](_rows(), tmp_path)
    _in_any_order(monkeypatch)
    monkeypatch.setattr(row_numbers, "in_order", lambda _, columns: list(columns))

    assert not _is_in_order(positions(source, DOMAIN))


@pytest.mark.parametrize("number", ["file_row_number", "file_index", "0"])
def test_half_a_number_is_caught(number, tmp_path, monkeypatch):
    """The twin forgets the file, or the place in it."""
    source = KINDS["Parquet in files"](_rows(), tmp_path)
    _in_any_order(monkeypatch)
    monkeypatch.setattr(row_numbers, "number", lambda *_: number)

    assert not _is_in_order(positions(source, DOMAIN))
