"""The memory that a million rows take, in a process of its own, within bounds that public sizes give."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

from tests.at_size.rows import DOMAIN, N

MB = 1 << 20
COLUMNS = len(DOMAIN)
# a row is encoded as 8 bytes a column and 8 for its number, in DuckDB's chunks, in numpy and once more in order
ENCODED = 3 * 8 * (COLUMNS + 1) * N
STEPS = {
    "Records.from_frame": ENCODED + 100 * MB,
    "Records.from_frame of files": ENCODED + 150 * MB,
    "predict": ENCODED + 8 * 4 * N + 150 * MB,
    "ask": ENCODED + 200 * MB,
    "ask by unit": 2 * ENCODED + 250 * MB,
}
PROGRAM = """
import json, os, sys, tempfile
import pyarrow.parquet as pq
import discreet as dc
from discreet.data import Records, Table
from discreet.data.columns import Identifier
from discreet.data.domain import Domain
from discreet.data.engines.duckdb import DuckDB
from discreet.learning import NaiveBayes
from tests.at_size.rows import DOMAIN, in_chunks, table

rows = in_chunks(table())
few = table(2000)
folder = tempfile.mkdtemp()
for part in range(4):
    pq.write_table(rows.slice(part * 250_000, 250_000), f"{folder}/{part}.parquet", row_group_size=50_000)
model = NaiveBayes(budget=dc.PureDP(1), domain=DOMAIN).fit(few, few["label"].to_numpy())

def ask(source, unit):
    made = Table(source, domain=Domain({"who": Identifier(), **DOMAIN}), unit=unit, engine=DuckDB(threads=2))
    curator = dc.Curator({"visits": made}, budget=dc.PureDP(100), ledger=":memory:")
    return curator.ask("SELECT ward, COUNT(*), SUM(age) FROM visits GROUP BY ward", epsilon=1)

STEPS = {
    "Records.from_frame": lambda data: Records.from_frame(data, DOMAIN, every_row=True),
    "Records.from_frame of files": lambda data: Records.from_frame(
        f"{folder}/*.parquet" if data is rows else f"{folder}/few.parquet", DOMAIN),
    "predict": lambda data: model.predict(data),
    "ask": lambda data: ask(data, None),
    "ask by unit": lambda data: ask(data, "who"),
}
pq.write_table(few, f"{folder}/few.parquet")

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))

found = {}
for name, step in STEPS.items():
    step(few)  # what is imported and compiled once
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = peak()
    step(rows)
    found[name] = peak() - before
print(json.dumps(found))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="only Linux tells the largest memory anew")
def test_a_million_rows_take_no_more_than_their_encoding_says(record_property):
    made = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-2000:]
    found = json.loads(made.stdout)

    assert set(found) == set(STEPS)
    for name, most in STEPS.items():
        record_property(name, f"{found[name] / MB:.0f} MB")
        assert found[name] <= most, (name, found[name] // MB, most // MB)
