"""Private triangle counts at epsilon 1: error on real graphs against noise for the worst case, and speed.

Real graphs are edge lists (two numbers a line, # for comments) in the folder that DISCREET_GRAPHS names; a
graph with fewer triangles than edges counts as sparse.  Without the folder only a made-up graph is measured.  No
peer counts triangles privately; the comparison is with Laplace noise for the global sensitivity n - 2.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import Row, absent, publish, size
from discreet.data import Graph
from discreet.structured import TriangleCount
from discreet.structured.graphs.triangle_sensitivity import Ranked

RUNS = size(400, quick=5)
LARGE = size(  # vertices, edges, and CPU seconds
    ((100_000, 1_000_000, 10), (1_000_000, 10_000_000, 120), (22_000, 10_000_000, 120)), quick=((1000, 10_000, 10),)
)
METHODS = ("auto", "ladder", "noisy-local")


def measure() -> list[Row]:
    folder = os.environ.get("DISCREET_GRAPHS")
    files = sorted(Path(folder).glob("*.txt")) if folder else []
    graphs = {path.stem: _read(path) for path in files} or {"made up": _circles()}
    missing = [] if files else [absent("real graphs: DISCREET_GRAPHS names no folder of edge lists")]
    return [*missing, *_errors(graphs), *_speed()]


def _errors(graphs: dict[str, Graph]) -> list[Row]:
    rows, gains = list[Row](), list[float]()
    for name, graph in graphs.items():
        truth = Ranked.of(graph).triangles()
        made = {m: TriangleCount(epsilon=1, delta=1e-6, method=m) for m in (*METHODS, "laplace")}
        error = {m: float(np.abs(count.releases(graph, RUNS) - truth).mean()) for m, count in made.items()}
        limit = 0.1 if truth < len(graph.edges) else 0.01
        gains.append(error["laplace"] / error["auto"])
        for m in METHODS:
            share = error[m] / truth
            promise = {"promise": f"< {limit:g}", "holds": share < limit} if m == "auto" else {}
            rows.append(Row(what=f"{name}: mean error / triangles, {m}", value=share, unit="", **promise))
        what = f"{name}: error of Laplace / error of auto"
        rows.append(Row(what=what, value=gains[-1], unit="x", promise=">= 2", holds=gains[-1] >= 2))
    share = sum(gain >= 5 for gain in gains) / len(gains)
    what = "share of graphs with five times less error than Laplace"
    return [*rows, Row(what=what, value=share, unit="", promise="> 0.5", holds=share > 0.5)]


def _speed() -> list[Row]:
    """Random graphs: many vertices, and few of degree about a thousand.  CPU seconds of two threads together."""
    rows = list[Row]()
    TriangleCount(epsilon=1, delta=0)(_circles())  # compiles
    for vertices, edges, most in LARGE:
        graph = Graph.from_edges(np.random.default_rng(1).integers(0, vertices, (edges, 2)), vertices=vertices)
        start = time.process_time()
        TriangleCount(epsilon=1, delta=0)(graph)
        seconds = time.process_time() - start
        what = f"{edges:,} edges, largest degree {graph.degrees.max()}"
        rows.append(Row(what=what, value=seconds, unit="CPU s", promise=f"< {most}", holds=seconds < most))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return [*rows, Row(what="peak memory of all that", value=peak, unit="GB", promise="< 4", holds=peak < 4)]


def _read(path: Path) -> Graph:
    lines = [line.split() for line in path.read_text().splitlines() if line[:1].isdigit()]
    width = len(lines[-1])  # a third column is a weight, and a shorter first line the size
    pairs = np.array([line[:2] for line in lines if len(line) == width], dtype=np.int64)
    return Graph.from_edges(pairs, vertices=np.unique(pairs))


def _circles() -> Graph:
    rng = np.random.default_rng(1)
    circles = [rng.choice(4000, most, replace=False) for most in rng.integers(5, 40, 300)]
    edges = [(a, b) for circle in circles for a in circle for b in circle if a < b and rng.random() < 0.4]
    return Graph.from_edges(edges, vertices=4000)


if __name__ == "__main__":
    sys.exit(0 if publish("graphs", measure()) else 1)
