"""The time of a single draw carries nothing: rank correlation of run time with |noise|.

Whoever can time the answer must not learn the size of the noise.  A sampler that counts
up to its value, as the textbook one does, is the twin that this measurement must catch.
Each draw is timed on its own, so the correlation is with what a caller could see.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from benchmarks import Row, publish, size
from discreet.hazmat.rounded import rounded_cauchy, rounded_laplace, rounded_lomax
from discreet.hazmat.samplers import bernoulli_exp, discrete_gaussian, discrete_laplace

CALLS = size(20_000, quick=500)
LIMIT = 0.03  # by chance alone, a correlation this large has probability 2e-5
SCALES = (1, 10, 1000, 10**6)


def measure() -> list[Row]:
    rows = []
    for scale in SCALES:
        for sampler, parameter in ((discrete_laplace, scale), (discrete_gaussian, scale**2)):
            found = correlation(lambda draw=sampler, at=parameter: draw(at))
            rows.append(_row(f"{sampler.__name__}, scale {scale}", found))
    for name, draw in (
        ("rounded_laplace", lambda: rounded_laplace(1000)),
        ("rounded_cauchy", lambda: rounded_cauchy(1000)),
        ("rounded_lomax", lambda: rounded_lomax(1000, 11)),
    ):
        rows.append(Row(what=f"{name}, scale 1000", value=correlation(draw), unit="Spearman"))
    twin = correlation(lambda: counting_up(Fraction(10)), calls=CALLS // 10)
    rows.append(
        Row(what="twin that counts up", value=twin, unit="Spearman", promise="> 0.5 (caught)", holds=twin > 0.5)
    )
    return rows


def _row(what: str, found: float) -> Row:
    return Row(what=what, value=found, unit="Spearman", promise=f"at most {LIMIT} in size", holds=abs(found) <= LIMIT)


def correlation(draw: Callable[[], object], *, calls: int = CALLS) -> float:
    """Spearman's rank correlation of the time of a call with the size of what it returns."""
    from scipy.stats import rankdata

    noise: list[object] = [None] * calls
    times = np.empty(calls)
    for _ in range(calls // 10):
        draw()
    gc.disable()
    try:
        for i in range(calls):
            start = time.perf_counter_ns()
            noise[i] = draw()
            times[i] = time.perf_counter_ns() - start
    finally:
        gc.enable()
    sizes = np.abs(np.array(noise, dtype=np.float64))
    return float(np.corrcoef(rankdata(times), rankdata(sizes))[0, 1])


def counting_up(scale: Fraction) -> int:
    """The textbook geometric draw: one coin for each unit, so its time tells its value."""
    count = 0
    while bernoulli_exp(1 / scale):
        count += 1
    return count


if __name__ == "__main__":
    sys.exit(0 if publish("sampler_timing", measure()) else 1)
