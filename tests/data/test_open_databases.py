"""discreet.data.engines.open_databases: a database that stays open is as good as a new one."""

import os
import subprocess
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.data.engines import open_databases
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.open_databases import MOST, lent

ALONE = DuckDB(threads=1)


@pytest.fixture(autouse=True)
def _none_is_open(monkeypatch):
    monkeypatch.setattr(open_databases, "_WAITING", [])


@pytest.fixture
def opened(monkeypatch):
    """How many databases were opened."""
    made = []
    real = DuckDB._open
    monkeypatch.setattr(DuckDB, "_open", lambda engine: made.append(engine) or real(engine))
    return made


def written(path, *values):
    pq.write_table(pa.table({"age": list(values)}), path)
    return str(path)


def total(engine, source):
    with lent(engine, [source]) as (connection, (relation,)):
        return connection.execute(f"SELECT CAST(SUM(CAST(age AS BIGINT)) AS BIGINT) FROM {relation}").fetchall()[0][0]


def test_the_same_files_are_asked_in_the_same_database(tmp_path, opened):
    source = written(tmp_path / "a.parquet", 1, 2)

    assert [total(ALONE, source) for _ in range(3)] == [3, 3, 3]
    assert len(opened) == 1


def test_rows_are_read_anew_by_every_question(tmp_path):
    """Nothing is remembered of a file, also where its size and its times are those of before."""
    source = written(tmp_path / "a.parquet", 1, 2)
    before = os.stat(source)
    first = total(ALONE, source)
    written(tmp_path / "a.parquet", 3, 4)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert (first, total(ALONE, source)) == (3, 7)


def test_the_header_of_a_file_of_text_is_read_anew_too(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("age,ward\n1,2\n")
    first = total(ALONE, str(source))
    source.write_text("ward,age\n1,2\n")

    assert (first, total(ALONE, str(source))) == (1, 2)


def test_a_new_file_of_a_pattern_is_seen(tmp_path, opened):
    written(tmp_path / "a.parquet", 1)
    first = total(ALONE, str(tmp_path / "*.parquet"))
    written(tmp_path / "b.parquet", 2)

    assert (first, total(ALONE, str(tmp_path / "*.parquet"))) == (1, 3)
    assert len(opened) == 2  # the first database may not reach the second file


def test_a_database_reaches_its_own_files_alone_the_second_time_too(tmp_path):
    mine, other = written(tmp_path / "a.parquet", 1), written(tmp_path / "b.parquet", 2)
    total(ALONE, other)
    total(ALONE, mine)

    for forbidden in (
        f"SELECT * FROM read_parquet('{other}')", f"SELECT * FROM glob('{tmp_path}/*')", "SET memory_limit = '9GB'",
        "SET enable_external_access = true", f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/c.duckdb'",
    ):  # fmt: skip
        with pytest.raises(duckdb.Error), lent(ALONE, [mine]) as (connection, _):
            connection.execute(forbidden).fetchall()


def test_who_asks_at_the_same_time_has_another_database(tmp_path, opened):
    source = written(tmp_path / "a.parquet", 1)
    with lent(ALONE, [source]) as (first, _), lent(ALONE, [source]) as (second, _):
        first.execute("CREATE TABLE mine AS SELECT 1")

        with pytest.raises(duckdb.Error):
            second.execute("SELECT * FROM mine")
    assert len(opened) == 2


def test_a_database_that_failed_is_not_lent_again(tmp_path, opened):
    source = written(tmp_path / "a.parquet", 1)
    with pytest.raises(RuntimeError, match="in the middle"), lent(ALONE, [source]):
        raise RuntimeError("in the middle")
    total(ALONE, source)

    assert len(opened) == 2


def test_databases_with_threads_and_those_of_tables_in_memory_are_closed(tmp_path, opened):
    source = written(tmp_path / "a.parquet", 1)
    for _ in range(2):
        total(DuckDB(), source)
        total(ALONE, pa.table({"age": [1]}))

    assert len(opened) == 4
    assert open_databases._WAITING == []


THREADS = """
import os, sys
import duckdb
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.open_databases import _WAITING, lent

threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
with lent(DuckDB(threads=1), [sys.argv[1]]) as (connection, (relation,)):
    connection.execute(f"SELECT SUM(age) FROM {relation}").fetchall()
waiting = threads()
usual = duckdb.connect(":memory:", config={"threads": 1})
print(len(_WAITING), waiting - before, threads() > waiting)
"""


def test_a_database_that_waits_has_no_thread_that_a_fork_would_lose(tmp_path):
    """The twin is one with DuckDB's own settings.  In a process of its own: threads of others come and go."""
    source = written(tmp_path / "a.parquet", *range(1000))

    done = subprocess.run([sys.executable, "-c", THREADS, source], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["1", "0", "True"]


def test_another_process_opens_its_own(tmp_path, opened, monkeypatch):
    source = written(tmp_path / "a.parquet", 1)
    total(ALONE, source)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    total(ALONE, source)

    assert len(opened) == 2


def test_few_databases_wait(tmp_path):
    for number in range(MOST + 3):
        total(ALONE, written(tmp_path / f"{number}.parquet", number))

    assert len(open_databases._WAITING) == MOST
