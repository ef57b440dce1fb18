"""Synthetic data beside a peer, in one run: AIM and MST of dpmm at epsilon 1, on NLTCS and PUMS.

DISCREET_DATA names the folder of the data, as in benchmarks/synthesis.py, and DISCREET_DPMM an interpreter that has
dpmm.  `PROGRAM` runs there; the rows it makes are compared here, by the same figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import Row, absent, publish, size
from benchmarks.synthesis import DELTA, figures, table_of
from discreet.data import Records
from discreet.synthesis.quality_tables import distances

LIMIT = size(1800, quick=60)  # seconds for each run of the peer
PROGRAM = """
import json, sys, time
import numpy, pandas
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
given = json.load(open(sys.argv[1]))
frame = pandas.read_csv(given["rows"])
more = {"degree": given["ways"], "max_model_size": 4} if given["kind"] == "AIM" else {}
model = {"AIM": AIMGM, "MST": MSTGM}[given["kind"]](epsilon=1.0, delta=given["delta"], n_jobs=1, **more)
model.set_domain(given["domain"])
model.set_random_state(numpy.random.RandomState(0))
start = time.process_time()
model.fit(frame)
seconds = time.process_time() - start
model.generate(n_records=len(frame))[list(frame.columns)].to_csv(given["made"], index=False)
print(seconds)
"""


def measure() -> list[Row]:
    if "DISCREET_DATA" not in os.environ:
        return [absent("NLTCS and PUMS: DISCREET_DATA names no folder of them")]
    rows = []
    for name in ("PUMS", "nltcs"):
        table, ways = table_of(name), 3 if name == "nltcs" else 2
        rows += figures(f"{name}, adaptive", table, ways=ways)
        rows += figures(f"{name}, tree", table, method="tree")
        rows += _peers(name, table, ways=ways)
    return rows


def _peers(name: str, table: Records, *, ways: int) -> list[Row]:
    """The figures of both methods at epsilon 1, where the interpreter is there and they end in time."""
    interpreter = os.environ.get("DISCREET_DPMM")
    if interpreter is None:
        return [absent(f"dpmm on {name}: DISCREET_DPMM names no interpreter that has it")]
    rows = []
    for kind in ("MST", "AIM"):
        found = _run(interpreter, table, kind=kind, ways=ways)
        if found is None:
            rows.append(absent(f"dpmm's {kind} on {name}: it did not end within {LIMIT} seconds"))
            continue
        made, seconds = found
        two, three = distances(made, table, [])[1:]
        rows += [
            Row(what=f"{name}, dpmm {kind}: 2 columns", value=two.mean, unit="mean TV"),
            Row(what=f"{name}, dpmm {kind}: 3 columns", value=three.mean, unit="mean TV"),
            Row(what=f"{name}, dpmm {kind}: time", value=seconds, unit="CPU s"),
        ]
    return rows


def _run(interpreter: str, table: Records, *, kind: str, ways: int) -> tuple[Records, float] | None:
    names = list(table.domain)
    with tempfile.TemporaryDirectory() as folder:
        given, rows, made = (Path(folder) / name for name in ("given.json", "rows.csv", "made.csv"))
        codes = np.column_stack([table.column(name) for name in names])
        np.savetxt(rows, codes, fmt="%d", delimiter=",", header=",".join(names), comments="")
        domain = {name: table.domain[name].size for name in names}
        about = {"rows": str(rows), "made": str(made), "domain": domain, "kind": kind, "delta": DELTA, "ways": ways}
        given.write_text(json.dumps(about))
        try:
            ran = subprocess.run(
                [interpreter, "-c", PROGRAM, str(given)], capture_output=True, text=True, timeout=LIMIT, check=True
            )
        except subprocess.TimeoutExpired:
            return None
        found = np.genfromtxt(made, delimiter=",", skip_header=1, dtype=np.int64)
        return Records(table.domain, list(found.T)), float(ran.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(0 if publish("synthesis_peers", measure()) else 1)
