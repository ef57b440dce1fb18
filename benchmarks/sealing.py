"""How fast text becomes its sealed copy, beside plain readers of the same file in the same run.

Seconds are of the processor on one thread.  The readers of DuckDB and Arrow infer no types here either; they let quotes
span lines, and write nothing: a copy is what is paid once, so that no question parses text.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from benchmarks import Row, publish, size
from discreet.data import TextFile
from discreet.data.engines import sealing

ROWS = size(1_000_000, quick=5000)
NAMES = tuple("abcde")


def measure(rows: int = ROWS) -> list[Row]:
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("numbers", "quoted", "JSON lines"):
            json = kind == "JSON lines"
            path = Path(folder) / f"{kind[:6]}.{'jsonl' if json else 'csv'}"
            path.write_text(_lines(kind, rows // 4 if json else rows), encoding="utf-8")
            length = path.stat().st_size
            file = TextFile(str(path), columns=NAMES if json else None, place=f"{folder}/copies")
            ours = _seconds(lambda file=file: sealing.seal(file))
            made.append(Row(what=f"{kind}: sealed", value=length / 1e6 / ours, unit="MB/s"))
            made.append(Row(what=f"{kind}: copy / text", value=sealing.report(file).bytes / length, unit="x"))
            for name, read in () if json else (("pyarrow.csv", _arrow), ("DuckDB read_csv", _duckdb)):
                ratio = ours / _seconds(lambda read=read, path=path: read(path))
                made.append(
                    Row(what=f"{kind}: sealed / {name}", value=ratio, unit="x", promise="<= 6", holds=ratio <= 6)
                )
    return made


def _lines(kind: str, rows: int) -> str:
    """Rows of five columns."""
    rng = np.random.default_rng(1)
    columns = zip(rng.integers(0, rows, rows), rng.integers(0, 120, rows), rng.random(rows) * 5000, strict=True)
    if kind == "numbers":
        made = [f"{w},{a},{c:.2f},2024-01-{a % 28 + 1:02d} 10:00:00,ward-{w % 30}" for w, a, c in columns]
    elif kind == "quoted":
        made = [f'"{w}",{a},"{c:.2f}","he said ""no"", twice","ward é {w % 30}"' for w, a, c in columns]
    else:
        return "\n".join(f'{{"a": {w}, "b": {a}, "c": {c:.2f}, "d": "x", "e": "ward-{w % 30}"}}' for w, a, c in columns)
    return "\n".join([",".join(NAMES), *made])


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _arrow(path: Path) -> object:
    text = pc.ConvertOptions(column_types=dict.fromkeys(NAMES, pa.string()))
    return pc.read_csv(path, read_options=pc.ReadOptions(use_threads=False), convert_options=text)


def _duckdb(path: Path) -> object:
    with duckdb.connect(config={"threads": 1}) as held:
        largest = ", ".join(f"max({name})" for name in NAMES)
        return held.execute(f"SELECT {largest} FROM read_csv('{path}', all_varchar = true)").fetchall()


if __name__ == "__main__":
    sys.exit(0 if publish("sealing", measure()) else 1)
