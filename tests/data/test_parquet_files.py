"""discreet.data.engines.parquet_files: damage that a file's own metadata shows costs nothing."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.engines import parquet_files
from discreet.data.engines.parquet_files import check
from discreet.errors import SourceError

SETTINGS = [
    {},
    {"compression": "none", "use_dictionary": False},
    {"data_page_version": "2.0", "compression": "zstd"},
    {"write_page_checksum": True},
    {"write_page_checksum": True, "data_page_version": "2.0", "data_page_size": 200},
    {"write_page_index": True, "row_group_size": 10},
    {"version": "1.0", "use_deprecated_int96_timestamps": True},
]


def written(path, **settings):
    rng = np.random.default_rng(2)
    columns = {
        "who": pa.array(range(1000)),
        "age": pa.array(rng.integers(0, 90, 1000)),
        "word": pa.array(["a", None] * 500),
    }
    columns |= {"when": pa.array(range(1000)).cast(pa.timestamp("us")), "list": pa.array([[1, 2], []] * 500)}
    pq.write_table(pa.table(columns), path, **settings)
    return path


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_whole_file_is_found_whole_however_it_was_written(tmp_path, settings):
    check([str(written(tmp_path / "a.parquet", **settings))], ["who", "age", "word", "when", "list"])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_row_groups_without_rows_are_whole(tmp_path, settings):
    rows = pq.read_table(written(tmp_path / "rows.parquet"))
    settings = {key: value for key, value in settings.items() if key != "row_group_size"}
    for name, parts in {"none": [], "empty": [0], "between": [0, 1000, 0]}.items():
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", rows.schema, **settings) as writer:
            for part in parts:
                writer.write_table(rows.slice(0, part))

        check([str(tmp_path / f"{name}.parquet")], rows.column_names)


def test_an_empty_file_among_others_changes_no_answer(tmp_path):
    whole = pq.read_table(written(tmp_path / "a.parquet"), columns=["who", "age"])
    pq.write_table(whole.slice(0, 0), tmp_path / "b.parquet", use_dictionary=False)
    domain = dc.Domain({"who": dc.Identifier(), "age": dc.Integer(0, 90)})
    table = dc.Table(str(tmp_path / "*.parquet"), domain=domain, unit="who")
    with dc.Curator({"visits": table}, budget=dc.PureDP(10**6), ledger=":memory:") as held:
        found = held.ask("SELECT SUM(age) AS s FROM visits", epsilon=10**5)

    assert found.table["s"].to_pylist() == [sum(whole["age"].to_pylist())]


def test_a_header_that_quotes_long_values_is_read(tmp_path):
    long = [7 << 4 | 8, *varint(200_000), *b"x" * 200_000]  # field 7: bytes
    page = bytes([1 << 4 | 5, 8, 0])  # one more field, an integer, and the end
    file = tmp_path / "header"
    for header, ends in ((bytes(long) + page, True), (bytes(long), False)):
        file.write_bytes(header)
        with file.open("rb") as opened:
            found = parquet_files._header(opened, 0, len(header))

        assert (found is not None and found[0] == len(header)) == ends


def varint(number):
    while number >= 128:
        yield number & 127 | 128
        number >>= 7
    yield number


def test_a_whole_file_of_another_writer_is_found_whole(tmp_path):
    import duckdb

    with duckdb.connect() as connection:  # one of its own: another test may have left a result in the common one
        copied = f"COPY (SELECT i, i::VARCHAR AS s FROM range(300000) r(i)) TO '{tmp_path}/d.parquet'"
        connection.execute(copied).fetchall()
    check([str(tmp_path / "d.parquet")], ["i", "s"])


def bent(path, place, value=b"\x55"):
    data = bytearray(path.read_bytes())
    data[place : place + len(value)] = value
    path.write_bytes(data)
    return str(path)


def test_a_page_whose_checksum_is_another_is_told_by_row_group_and_column(tmp_path):
    file = written(tmp_path / "a.parquet", write_page_checksum=True, row_group_size=500)
    part = pq.read_metadata(file).row_group(1).column(1)
    damaged = bent(file, part.data_page_offset + part.total_compressed_size // 2)

    with pytest.raises(SourceError, match="row group 1, column 'age' has a page whose checksum is another"):
        check([damaged], ["age"])
    check([damaged], ["who"])  # nobody asks for the other


@pytest.mark.parametrize("value", [b"\x00", b"\xff" * 40], ids=["nothing", "no header"])
def test_a_page_without_a_header_is_found(tmp_path, value):
    file = written(tmp_path / "a.parquet", use_dictionary=False)
    part = pq.read_metadata(file).row_group(0).column(0)

    with pytest.raises(SourceError, match="row group 0, column 'who' has a page"):
        check([bent(file, part.data_page_offset, value)], ["who"])


def test_a_file_that_lost_its_middle_is_found(tmp_path):
    file = written(tmp_path / "a.parquet")
    data = file.read_bytes()
    file.write_bytes(data[:4] + data[len(data) // 2 :])

    with pytest.raises(SourceError, match="lies beyond its end"):
        check([str(file)], [])


def test_a_damaged_file_costs_nothing_where_its_metadata_shows_it(tmp_path):
    file = written(tmp_path / "a.parquet", write_page_checksum=True)
    part = pq.read_metadata(file).row_group(0).column(1)
    bent(file, part.data_page_offset + part.total_compressed_size // 2)
    table = dc.Table(file, domain=dc.Domain({"who": dc.Identifier(), "age": dc.Integer(0, 90)}), unit="who")
    with dc.Curator({"visits": table}, budget=dc.PureDP(1), ledger=":memory:") as held:
        with pytest.raises(SourceError, match="is damaged"):
            held.ask("SELECT SUM(age) AS s FROM visits", epsilon=0.5)

        assert held.budget.balance.spent.epsilon == 0
        held.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
