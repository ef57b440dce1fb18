"""Extreme values of every type, as Parquet of several writers and as a frame: the same codes, and none lost."""

from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.data.columns import Boolean, Categorical, Date, Integer, Real, Timestamp
from discreet.data.domain import Domain
from discreet.data.records import Records

FIRST, LAST = -(1 << 63), (1 << 63) - 1
DECLARED = {
    "whole": Integer(0, 10, nullable=True),
    "huge": Integer(-(1 << 62) + 1, (1 << 62) - 1, nullable=True),
    "real": Real(0, 100, step="0.01", nullable=True),
    "truth": Boolean(nullable=True),
    "word": Categorical(["a", "b", ""], nullable=True),
    "number": Categorical([0, 1, 2], nullable=True),
    "day": Date("1970-01-01", "2030-12-31", nullable=True),
    "ever": Timestamp("0001-01-01", "9999-12-31 23:59:59", step=1, nullable=True),
}
WRITERS = [
    {},
    {"version": "1.0", "use_deprecated_int96_timestamps": True},
    {"data_page_version": "2.0", "compression": "zstd", "use_dictionary": False, "row_group_size": 2},
]


def odd():
    """Columns by name, each with the extremes of its type."""
    made = {f"int{n}": pa.array([-(1 << n - 1), (1 << n - 1) - 1, 0, 1, None], f"int{n}") for n in (8, 16, 32, 64)}
    made |= {f"uint{n}": pa.array([0, (1 << n) - 1, 1, 2, None], f"uint{n}") for n in (8, 16, 32, 64)}
    ticks = pa.array([FIRST, FIRST + 1, LAST, 0, 1, None])
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Berlin"):
            made[f"moment in {unit}, {zone}"] = ticks.cast(pa.timestamp(unit, zone))
    made["day"] = pa.array([-(1 << 31), (1 << 31) - 1, 0, 1, None], pa.int32()).cast(pa.date32())
    floats = [float("nan"), float("inf"), -float("inf"), -0.0, 1e-320, 1e300, 1.5, None]
    made |= {"float32": pa.array([*floats[:4], 1.5, None], "float32"), "float64": pa.array(floats)}
    made["float16"] = pa.array(np.array([1, 2.5, np.nan, np.inf], np.float16))
    for width, scale in ((1, 0), (9, 2), (18, 9), (38, 0), (38, 38), (38, 10)):
        most, least = (Decimal((sign, (9,) * width, -scale)) for sign in (0, 1))
        made[f"decimal({width}, {scale})"] = pa.array([most, least, Decimal(0), None], pa.decimal128(width, scale))
    made["text"] = pa.array(["", "a", "\x00", "\u00e9", "x" * 100_000, "2024-01-01 00:00:00+05:30", None])
    ends = pa.py_buffer(np.array([0, 2, 4, 5], np.int32))
    made["no text"] = pa.Array.from_buffers(pa.string(), 3, [None, ends, pa.py_buffer(b"\xff\xfe\xc3\x28a")])
    made["listed"] = pa.array(["a", "b", None]).dictionary_encode()
    made["truth"] = pa.array([True, False, None])
    made["nothing"] = pa.nulls(3)
    made["bytes"] = pa.array([b"", b"\xff", b"a", None])
    return made


ODD = odd()


@pytest.mark.parametrize("name", ODD)
def test_a_file_gives_the_codes_that_the_frame_gives_whoever_wrote_it(name, tmp_path):
    column = ODD[name]
    table = pa.table(dict.fromkeys(DECLARED, column))
    frame = Records.from_frame(table, Domain(DECLARED))
    written = 0
    for number, settings in enumerate(WRITERS):
        file = tmp_path / f"{number}.parquet"
        try:
            pq.write_table(table, file, **settings)
        except pa.ArrowException:  # such a file cannot be
            continue
        found = Records.from_frame(str(file), Domain(DECLARED))
        written += 1
        seconds = "moment in" in name and any(settings)  # some writers round or wrap the moments themselves
        for other in DECLARED:
            if not (seconds and other in ("day", "ever")):
                assert found.column(other).tolist() == frame.column(other).tolist(), (settings, other)
    assert len(frame) == len(column)
    assert written or " s," in name


def test_the_engine_alone_fails_on_some_of_them(tmp_path):
    """The twin without a second reading: the check above is able to fail."""
    failed = []
    for name, column in ODD.items():
        if name in ("moment in ms, None", "no text"):
            pq.write_table(pa.table({"v": column}), tmp_path / "odd.parquet")
            with pytest.raises(duckdb.Error):
                duckdb.sql(f"SELECT v FROM '{tmp_path}/odd.parquet'").fetchall()
            failed.append(name)

    assert len(failed) == 2
