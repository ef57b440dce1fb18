"""discreet.data.engines.file_types: each file of a pattern is read by its own names and types."""

import datetime as dt
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.data.columns import Boolean, Categorical, Date, Identifier, Integer, Real, Text, Timestamp
from discreet.data.domain import Domain
from discreet.data.engines import sources
from discreet.data.records import Records
from discreet.errors import SourceError
from tests.data.counting import rows_in, total

MOMENT = dt.datetime(2024, 3, 1, 12)
COLUMNS = {  # a value's physical types, and what declares it
    "small": (pa.array([3, 4], pa.int8()), Integer(0, 9)),
    "wide": (pa.array([3, 4], pa.int64()), Integer(0, 9)),
    "no sign": (pa.array([3, 4], pa.uint64()), Integer(0, 9)),
    "float": (pa.array([3, 4], pa.float32()), Integer(0, 9)),
    "double": (pa.array([3, 4], pa.float64()), Integer(0, 9)),
    "decimal": (pa.array([Decimal("3.00"), Decimal("4.00")], pa.decimal128(9, 2)), Integer(0, 9)),
    "finer": (pa.array([Decimal(3), Decimal(4)], pa.decimal128(20, 6)), Integer(0, 9)),
    "seconds": (pa.array([MOMENT, MOMENT], pa.timestamp("ms")), Timestamp("2024-01-01", "2024-12-31", step=60)),
    "micro": (pa.array([MOMENT, MOMENT], pa.timestamp("us")), Timestamp("2024-01-01", "2024-12-31", step=60)),
    "nano": (pa.array([MOMENT, MOMENT], pa.timestamp("ns")), Timestamp("2024-01-01", "2024-12-31", step=60)),
    "zone": (pa.array([MOMENT, MOMENT], pa.timestamp("us", "UTC")), Timestamp("2024-01-01", "2024-12-31", step=60)),
    "nano zone": (
        pa.array([MOMENT, MOMENT], pa.timestamp("ns", "UTC")),
        Timestamp("2024-01-01", "2024-12-31", step=60),
    ),
    "text": (pa.array(["a", "b"]), Categorical(["a", "b"])),
    "listed": (pa.array(["a", "b"]).dictionary_encode(), Categorical(["a", "b"])),
}
FAMILIES = [
    ["small", "wide", "no sign", "float", "double", "decimal", "finer"],
    ["seconds", "micro", "nano", "zone", "nano zone"],
    ["text", "listed"],
]  # fmt: skip


def files(folder, *tables):
    for place, table in enumerate(tables):
        pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), folder / f"v-{place}.parquet")
    return str(folder / "v-*.parquet")


@pytest.mark.parametrize("pair", [(a, b) for family in FAMILIES for a in family for b in family], ids=" and ".join)
def test_values_have_the_codes_that_they_have_in_their_own_file(tmp_path, pair):
    (first, declared), (second, _) = (COLUMNS[name] for name in pair)
    both = files(tmp_path, {"x": first}, {"x": second})
    one = Records.from_frame(str(tmp_path / "v-0.parquet"), Domain({"x": declared})).column("x").tolist()
    other = Records.from_frame(str(tmp_path / "v-1.parquet"), Domain({"x": declared})).column("x").tolist()

    assert Records.from_frame(both, Domain({"x": declared})).column("x").tolist() == one + other


def test_columns_are_found_by_the_names_of_their_own_file(tmp_path):
    people = [{"u": [7] * 100, "x": list(range(100))}, {"x": list(range(100)), "u": [7] * 100, "more": [1] * 100}]
    source = files(tmp_path, *people)

    assert total(source, "x", Integer(0, 99)) == 2 * sum(range(100))
    assert rows_in(source, Domain({"u": Identifier()}), unit="u") == 1


def test_whole_numbers_and_fractions_of_two_files_add_up(tmp_path):
    """3,000 for 2,600 where the second file is cast to the first one's type."""
    source = files(tmp_path, {"x": [1, 2] * 500}, {"x": [1.1] * 1000})

    assert total(source, "x", Real(0, 9, step="0.1")) == 15000 + 11000


def test_a_value_beyond_the_type_of_the_first_file_is_clamped_and_not_fatal(tmp_path):
    source = files(tmp_path, {"x": pa.array([1, 2], pa.int8())}, {"x": pa.array([3, 10**18], pa.int64())})

    assert total(source, "x", Integer(0, 1000)) == 1006


def test_far_whole_numbers_beside_floats_are_no_two_people_in_one(tmp_path):
    big = 2**53
    source = files(tmp_path, {"u": pa.array([big, big + 1], pa.int64())}, {"u": [1.0]})
    with duckdb.connect() as connection:
        (place,) = sources.attach(connection, [source])
        kept = connection.execute(f"SELECT u FROM {place} WHERE abs(u) <= {big}").fetchall()

    assert sorted(kept) == [(1.0,), (float(big),)]


@pytest.mark.parametrize("missing", [0, 1])
def test_a_column_that_one_file_lacks_is_refused_before_any_row_is_read(tmp_path, missing):
    tables = [{"u": [1], "x": [1]}, {"u": [1], "x": [1]}]
    del tables[missing]["x"]
    source = files(tmp_path, *tables)

    with pytest.raises(SourceError, match="no column 'x'"):
        total(source, "x", Integer(0, 9))
    assert rows_in(source, Domain({"u": Integer(0, 9)})) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [(["a"], [1]), ([True], [1]), ([MOMENT], [1]), ([b"a"], ["a"]), ([[1]], [1])],
    ids=["text and numbers", "truth and numbers", "moments and numbers", "bytes and text", "lists and numbers"],
)
def test_types_that_hold_different_things_are_refused_before_any_row_is_read(tmp_path, first, second):
    source = files(tmp_path, {"x": first}, {"x": second})

    with pytest.raises(SourceError, match=r"column 'x' is of type .* in the files of one source"):
        rows_in(source, Domain({"x": Identifier()}), unit="x")


def test_a_file_with_nothing_but_nulls_has_the_type_of_the_others(tmp_path):
    source = files(tmp_path, {"x": pa.nulls(2), "w": pa.nulls(2)}, {"x": [1, 2], "w": ["a", "b"]})

    assert rows_in(source, Domain({"x": Integer(0, 9)})) == 2
    assert rows_in(source, Domain({"w": Text(max_bytes=3)})) == 2


def test_days_and_moments_of_two_files_meet_and_far_ones_are_clamped(tmp_path):
    days = pa.array([19783, (1 << 31) - 1, -(1 << 31)], pa.int32()).cast(pa.date32())
    moments = pa.array([dt.datetime(2024, 3, 1, 5), dt.datetime(1, 1, 1)], pa.timestamp("us"))
    source = files(tmp_path, {"d": days}, {"d": moments})
    found = Records.from_frame(source, Domain({"d": Date("2024-03-01", "2024-03-31")})).column("d").tolist()

    assert found == [0, 30, 0, 0, 0]


def test_truth_values_are_read_by_their_own_type(tmp_path):
    source = files(tmp_path, {"t": pa.array([2, 0], pa.int8())}, {"t": [0.5, 0.0]})

    assert total(source, "t", Boolean()) == 2
