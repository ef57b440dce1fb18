"""discreet.data.engines.sources: what a source holds decides nothing but its own row."""

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.data.columns import Categorical, Date, Identifier, Integer, Real, Text, Timestamp
from discreet.data.domain import Domain
from discreet.data.engines import sources
from discreet.data.engines.dialect import DUCKDB
from discreet.data.engines.linked_positions import linked_positions
from discreet.data.records import Records
from discreet.errors import DiscreetError, SourceError
from tests.data.counting import rows_in, total
from tests.data.damage import damage

FIRST, LAST = -(1 << 63), (1 << 63) - 1  # of 64 bits


def invalid(*values):
    """A column of texts some of which are no UTF-8."""
    ends = np.cumsum([0, *map(len, values)]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))])


def test_text_in_memory_that_is_no_utf8_is_null_and_its_neighbours_stay():
    frame = pa.table({"word": pa.chunked_array([invalid(b"a", b"\xff\xfe"), invalid(b"b", b"c")])})
    kept = sources.arrow(frame).column("word").to_pylist()

    assert kept == ["a", None, "b", "c"]
    assert rows_in(frame, Domain({"word": Text(max_bytes=9)})) == 3


def test_a_dictionary_that_holds_no_utf8_is_read_too():
    frame = pa.table({"word": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), invalid(b"a", b"\xc3("))})

    assert sources.arrow(frame).column("word").to_pylist() == ["a", None, "a"]


@pytest.mark.parametrize("resolution", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_the_most_extreme_moments_of_a_frame_move_no_other_row(resolution, zone):
    moments = pa.array([FIRST, FIRST + 1, LAST, 0, None]).cast(pa.timestamp(resolution, zone))
    frame = pa.table({"when": moments, "day": moments, "who": moments})
    domain = Domain({"when": Timestamp("1970-01-01", "1970-12-31", step=60), "day": Date("1960-01-01", "1980-12-31")})
    records = Records.from_frame(frame, domain)

    assert len(records) == 4
    if resolution in ("us", "ns"):  # seconds and milliseconds name nobody
        assert rows_in(frame, Domain({"who": Identifier()}), unit="who") >= 1


def test_a_twin_that_writes_extreme_moments_as_text_dies(monkeypatch):
    """The engine itself fails on the least moment: the check above is able to fail."""
    frame = pa.table({"who": pa.array([FIRST, 0]).cast(pa.timestamp("us"))})
    plain = lambda self, name, *, physical: (f'CAST("{name}" AS VARCHAR)', "VARCHAR")  # noqa: E731
    monkeypatch.setattr(type(DUCKDB), "unit", plain)

    with pytest.raises(Exception, match="the run failed"):
        rows_in(frame, Domain({"who": Identifier()}), unit="who")


def test_half_floats_and_wide_decimals_are_read_by_their_numbers():
    frame = pa.table({
        "half": pa.array(np.array([1.5, np.nan, np.inf, 2], dtype=np.float16)),
        "wide": pa.array([Decimal("1.25"), None, Decimal("2"), Decimal("3")], pa.decimal256(20, 2)),
    })  # fmt: skip

    assert total(pd.DataFrame({"half": np.array([1.5, 2], np.float16)}), "half", Real(0, 9, step="0.5")) == 7
    assert total(frame, "half", Real(0, 9, step="0.5")) == 3 + 18 + 4
    assert total(frame, "wide", Real(0, 9, step="0.25")) == 5 + 8 + 12


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (pa.table({"age": pa.array([1], pa.decimal256(50, 0))}), r"'age' is of type decimal256\(50, 0\)"),
        (pd.DataFrame({"id": [1], "age": np.array([2], dtype=">i4")}), "'age' of type >i4"),
        (pl.DataFrame({"age": pl.Series([1], dtype=pl.Int128)}), "'age' of type Int128"),
    ],
    ids=["wide decimals", "the other order of bytes", "128 bits"],
)
def test_a_column_that_cannot_be_read_is_named_with_its_type(frame, kind):
    with pytest.raises(SourceError, match=kind):
        Records.from_frame(frame, Domain({"age": Integer(0, 9)}))


def test_long_durations_do_not_keep_other_columns_from_being_read():
    frame = pa.table({"waited": pa.array([FIRST, LAST]).cast(pa.duration("s")), "age": [1, 2]})

    assert total(frame, "age", Integer(0, 9)) == 3


def test_moments_with_a_zone_are_counted_from_the_frame_and_from_its_own_text():
    start = dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=9)))
    frame = pd.DataFrame({"when": [start + dt.timedelta(hours=hour) for hour in range(10)]})
    domain = Domain({"when": Timestamp("2023-12-31", "2024-01-31", step=3600)})
    texts = frame.astype(str)

    assert Records.from_frame(frame, domain).column("when").tolist() == list(range(15, 25))
    assert Records.from_frame(texts, domain).column("when").tolist() == list(range(15, 25))


def parquet(folder, **columns):
    file = folder / "odd.parquet"
    pq.write_table(pa.table(columns), file)
    return str(file)


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_file_with_milliseconds_beyond_the_clock_is_read_like_the_frame(tmp_path, zone):
    """DuckDB cannot read such a file at all: every question on it failed, paid for."""
    moments = pa.array([FIRST, LAST, 0, None]).cast(pa.timestamp("ms", zone))
    columns = {"when": moments, "who": pa.array([1, 2, 3, 4])}
    file = parquet(tmp_path, **columns)
    domain = Domain({"when": Timestamp("1970-01-01", "1970-12-31", step=60)})

    found = Records.from_frame(file, domain).column("when").tolist()
    assert found == Records.from_frame(pa.table(columns), domain).column("when").tolist()
    assert rows_in(file, Domain({"who": Identifier(), **domain}), unit="who") == 3
    with pytest.raises(duckdb.Error):
        duckdb.sql(f"SELECT count(\"when\") FROM '{file}'").fetchall()


def test_text_in_a_file_that_is_no_utf8_is_null_and_its_neighbours_stay(tmp_path):
    file = parquet(tmp_path, word=invalid(b"a", b"\xff", b"b"), who=pa.array([1, 2, 3]))
    words = Domain({"word": Categorical(["a", "b"])})

    assert rows_in(file, Domain({"who": Identifier(), **words}), unit="who") == 2
    assert Records.from_frame(file, words).column("word").tolist() == [0, 1]
    found = linked_positions({"p": file, "c": file}, {"p": words, "c": words}, unit="who", rows_per_unit={"c": 1})
    assert sorted(found["p"][0].tolist()) == [0, 1]


def test_an_encoding_that_the_engine_has_not_is_read_by_another_reader(tmp_path):
    file = str(tmp_path / "split.parquet")
    table = pa.table({"age": pa.array([Decimal("1.0"), Decimal("2.0")], pa.decimal128(30, 1))})
    pq.write_table(table, file, use_dictionary=False, column_encoding={"age": "BYTE_STREAM_SPLIT"})

    assert total(file, "age", Integer(0, 9)) == 3


def test_a_damaged_file_is_told_to_the_operator_by_row_group_and_column_and_to_nobody_else(tmp_path, caplog):
    table = pa.table({"who": range(1000), "age": [5] * 1000})
    file = damage(tmp_path / "damaged.parquet", table, "age", row_group_size=500)
    with caplog.at_level("ERROR", logger="discreet.operator"), pytest.raises(DiscreetError) as caught:
        total(file, "age", Integer(0, 9))

    assert str(caught.value).startswith("the run failed; see the operator log, reference ")
    assert str(caught.value)[-8:] in caplog.text
    assert f"file {file!r}, row group 1, column 'age': OSError" in caplog.text
    assert file not in str(caught.value)
