"""Marginal tables: seconds, memory and error, against the figures of ResidualPlanner's reference code.

The 210 three-way tables of Adult with at most 10,000 cells at (1, 1e-9); and all 161,700 three-way tables of 100
columns of 10 values, 48,842 made-up rows (`--large`).  ResidualPlanner is not installed (its licence is the GPL):
its figures were measured once on a like machine and are constants here.  Adult is read from the file in
`DISCREET_ADULT` (the columns as integers from 0, with the sizes in a JSON file beside it, adult-domain.json).
"""

from __future__ import annotations

import itertools
import json
import math
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import Row, absent, is_quick, publish, size
from discreet.data import Domain, Integer, Records
from discreet.privacy import ApproxDP
from discreet.queries import Marginals, marginals
from discreet.release import IndependentNoise
from discreet.structured import MarginalRelease

BUDGET = ApproxDP(1.0, 1e-9)
PEER_SECONDS = 5.8 + 95.0  # measure and reconstruct the 210 tables
PEER_ERROR = 0.443  # its mean total variation after negative cells are cut off
PEER_PLAN = 172.0  # seconds for the plan of 100 columns
ROUNDS = size(5, quick=1)


def measure() -> list[Row]:
    rows = [*_closed_form(), *_adult()]
    return rows + _large() if "--large" in sys.argv or is_quick() else rows


def _closed_form() -> list[Row]:
    """The predicted variance against the formula, for all pairs of 100 columns of 10 values."""
    d, k = size((100, 10), quick=(6, 4))
    release = MarginalRelease(marginals(Domain({f"c{i}": Integer(0, k - 1) for i in range(d)}), 2), budget=BUDGET)
    shares = [(1 - 1 / k) ** j for j in range(3)]
    demand = [shares[j] * math.comb(d - j, 2 - j) * k ** (2 * j - 2) for j in range(3)]
    best = sum(math.comb(d, j) * math.sqrt(shares[j] * demand[j]) for j in range(3)) ** 2
    off = abs(float(release.variances().sum()) / (best * 5.495266157238**2) - 1)
    return [Row(what="variance / closed form - 1", value=off, unit="", promise="<= 1e-9", holds=off <= 1e-9)]


def _adult() -> list[Row]:
    file = os.environ.get("DISCREET_ADULT")
    if file is None:
        return [absent("Adult: DISCREET_ADULT is not set")]
    import pandas as pd

    frame = pd.read_csv(file)
    sizes = json.loads((Path(file).parent / "adult-domain.json").read_text())
    domain = Domain({name: Integer(0, size - 1) for name, size in sizes.items()})
    data = Records(domain, [frame[name].to_numpy() for name in sizes])
    sets = [s for s in itertools.combinations(sizes, 3) if math.prod(sizes[c] for c in s) <= 10_000]
    workload = marginals(domain, sets)
    release = MarginalRelease(workload, budget=BUDGET)
    release(data)  # compiles
    seconds, raw, clean = [], [], []
    truth = workload.answer(data)
    for _ in range(ROUNDS):
        start = time.perf_counter()
        made = MarginalRelease(workload, budget=BUDGET)(data)
        seconds.append(time.perf_counter() - start)
        raw.append(_variation(workload, made.unbiased, truth))
        clean.append(_variation(workload, made.answers, truth))
    faster, error = PEER_SECONDS / float(np.median(seconds)), float(np.mean(clean))
    plain = IndependentNoise(workload, budget=BUDGET)
    better = math.sqrt(plain.variances().mean() / release.variances().mean())
    return [
        Row(
            what=f"Adult, {len(sets)} tables: plan, measure, rebuild, clean", value=float(np.median(seconds)), unit="s"
        ),
        Row(what="ResidualPlanner / ours", value=faster, unit="x", promise=">= 20", holds=faster >= 20),
        Row(what="standard deviation of a count", value=math.sqrt(release.variances().mean()), unit=""),
        Row(what="noise on each table / ours", value=better, unit="x"),
        Row(what="mean total variation, unbiased", value=float(np.mean(raw)), unit=""),
        Row(what="mean total variation", value=error, unit="", promise=f"< {PEER_ERROR}", holds=error < PEER_ERROR),
    ]


def _large() -> list[Row]:
    domain = Domain({f"c{i}": Integer(0, 9) for i in range(size(100, quick=6))})
    data = Records.random(domain, size(48_842, quick=500), seed=1)
    start = time.perf_counter()
    release = MarginalRelease(marginals(domain, 3), budget=BUDGET)
    release.table_variances()
    planned = time.perf_counter() - start
    release(data)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return [
        Row(what="100 columns, 161,700 tables: plan", value=planned, unit="s", promise="<= 10", holds=planned <= 10),
        Row(what="ResidualPlanner's plan / ours", value=PEER_PLAN / planned, unit="x"),
        Row(what="the whole release", value=seconds, unit="s", promise="<= 300", holds=seconds <= 300),
        Row(what="memory", value=memory, unit="GB", promise="<= 8", holds=memory <= 8),
    ]


def _variation(workload: Marginals, answers: np.ndarray, truth: np.ndarray) -> float:
    """Half the mean distance of the tables, as fractions of their true totals."""
    pairs = zip(workload.tables(answers).values(), workload.tables(truth).values(), strict=True)
    return float(np.mean([np.abs(a - b).sum() / (2 * b.sum()) for a, b in pairs]))


if __name__ == "__main__":
    sys.exit(0 if publish("marginals", measure()) else 1)
