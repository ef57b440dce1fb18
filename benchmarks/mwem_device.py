"""MWEM on a graphics card: all 3-way marginals of 30 bits, and 2^33 cells.

Where there is no card the figures of the last run with one are kept.  "The vector" is 2^30 numbers of 32
bits, and the limit is the time to read and write it once, measured in the same run.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import Row, absent, kept, publish, size
from discreet.data.columns import Boolean
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.privacy.guarantee import ZCDP
from discreet.queries.marginals import marginals
from discreet.release.binary import Exponentials
from discreet.release.mwem import MWEM

ROWS, ROUNDS = size((1_000_000, 30), quick=(10_000, 12))
BITS, MORE = size((30, 33), quick=(12, 14))


def measure() -> list[Row]:
    if not _card():
        return kept("mwem_device") or [absent("MWEM on a card")]
    import torch

    once = _copy()
    domain = Domain({f"b{i}": Boolean() for i in range(BITS)})
    workload, data = marginals(domain, 3), Records.random(domain, ROWS, seed=1)
    coefficients = np.random.default_rng(1).normal(size=sum(math.comb(BITS, ways) for ways in range(4))) * 0.02
    universe = Exponentials(BITS, 3, "cuda")
    evaluation = _median(lambda: universe(coefficients, shift=BITS * np.log(2)))
    run = _median(lambda: MWEM(workload, n=ROWS, budget=ZCDP(0.1), rounds=ROUNDS, device="cuda")(data), times=3)
    fewer = _median(lambda: MWEM(workload, n=ROWS, budget=ZCDP(0.1), rounds=10, device="cuda")(data), times=3)
    one = _median(
        lambda: MWEM(workload, n=ROWS, budget=ZCDP(0.1), rounds=ROUNDS, steps=1, device="cuda")(data), times=3
    )
    least = _median(lambda: MWEM(workload, n=ROWS, budget=ZCDP(0.1), rounds=10, steps=1, device="cuda")(data), times=3)
    release = MWEM(workload, n=ROWS, budget=ZCDP(0.1), rounds=ROUNDS, device="cuda")(data)
    true = workload.answer(data)
    off = np.abs(release.answers - true).reshape(-1, 8).sum(axis=1).mean() / 2 / ROWS
    flat = np.abs(ROWS / 8 - true).reshape(-1, 8).sum(axis=1).mean() / 2 / ROWS
    del release
    torch.cuda.empty_cache()
    largest = Domain({f"b{i}": Boolean() for i in range(MORE)})
    rows = Records.random(largest, ROWS, seed=1)
    most = _median(
        lambda: MWEM(marginals(largest, 3), n=ROWS, budget=ZCDP(0.1), rounds=3, device="cuda")(rows), times=1
    )
    step = (one - least) / (ROUNDS - 10)
    return [
        Row(what="read and write the vector of 2^30 once", value=once * 1e3, unit="ms"),
        Row(what="evaluate all 3-way parities of 2^30 cells", value=evaluation * 1e3, unit="ms"),
        Row(what="evaluation / read and write", value=evaluation / once, unit="x"),
        Row(what="2^30 cells, 4060 tables, 30 rounds", value=run, unit="s", promise="< 2", holds=run < 2),
        Row(what="a round of two evaluations", value=(run - fewer) / (ROUNDS - 10) * 1e3, unit="ms"),
        Row(what="a round of one evaluation", value=step * 1e3, unit="ms"),
        Row(what="that round / read and write", value=step / once, unit="x", promise="<= 5", holds=step <= 5 * once),
        Row(what="mean total variation of a table", value=float(off), unit=""),
        Row(what="that of the uniform distribution", value=float(flat), unit=""),
        Row(what="2^33 cells, 5456 tables, 3 rounds, with the model kept", value=most, unit="s"),
    ]


def _copy() -> float:
    import torch

    vector = torch.ones(1 << BITS, device="cuda")
    return _median(lambda: vector.mul_(1.0001))


def _card() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def _median(work: Callable[[], object], *, times: int = 7) -> float:
    """Seconds on the wall, the card waited for, after one run that warms up (where there are several)."""
    import torch

    seconds: list[float] = []
    for _ in range(times + (times > 1)):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[times > 1 :])


if __name__ == "__main__":
    sys.exit(0 if publish("mwem_device", measure()) else 1)
