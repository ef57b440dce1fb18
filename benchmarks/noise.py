"""Draws of noise per CPU second, a million at a time: ours, numpy's unsafe ones, OpenDP's exact ones."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import Row, publish
from discreet.hazmat.rounded import rounded_cauchy, rounded_laplace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace

SIZE = 1_000_000
PEER_SIZE = 50_000  # OpenDP draws a vector in time proportional to its length
ROUNDS = 9
SCALES = (1, 1000)


def measure() -> list[Row]:
    rows: list[Row] = []
    for scale in SCALES:
        rows += _compare("Laplace", scale, Laplace.with_scale(scale, sensitivity=1), "laplace")
        rows += _compare("Gaussian", scale, Gaussian.with_sigma(scale, sensitivity=1), "normal")
    for function in (rounded_laplace, rounded_cauchy):
        rate = _rates({"ours": lambda draw=function: draw(1000, shape=(SIZE,))}, SIZE)["ours"]
        rows.append(Row(what=f"{function.__name__}, scale 1000", value=rate / 1e6, unit="M/s"))
    return rows


def _compare(law: str, scale: int, mechanism: Laplace | Gaussian, unsafe: str) -> list[Row]:
    value, generator = np.zeros(SIZE, dtype=np.int64), np.random.default_rng()
    numpy_draw = getattr(generator, unsafe)
    rates = _rates({"ours": lambda: mechanism(value), "numpy": lambda: numpy_draw(0.0, scale, SIZE)}, SIZE)
    name = f"{law}, scale {scale}"
    ratio = rates["ours"] / rates["numpy"]
    rows = [
        Row(what=f"{name}: discreet", value=rates["ours"] / 1e6, unit="M/s"),
        Row(what=f"{name}: numpy {unsafe} (unsafe)", value=rates["numpy"] / 1e6, unit="M/s"),
        # The promise names one yardstick for both laws: numpy's Laplace generator.
        Row(what=f"{name}: discreet / numpy {unsafe}", value=ratio, unit="x")
        if unsafe != "laplace"
        else Row(what=f"{name}: discreet / numpy laplace", value=ratio, unit="x", promise=">= 1", holds=ratio >= 1),
    ]
    if unsafe != "laplace":
        yardstick = _rates(
            {"ours": lambda: mechanism(value), "numpy": lambda: generator.laplace(0.0, scale, SIZE)}, SIZE
        )
        ratio = yardstick["ours"] / yardstick["numpy"]
        rows.append(
            Row(what=f"{name}: discreet / numpy laplace", value=ratio, unit="x", promise=">= 1", holds=ratio >= 1)
        )
    peer = _opendp(law, scale)
    if peer is not None:
        rate = _rates({"peer": peer}, PEER_SIZE, rounds=3)["peer"]
        ratio = rates["ours"] / rate
        rows += [
            Row(what=f"{name}: OpenDP (exact)", value=rate / 1e6, unit="M/s"),
            Row(what=f"{name}: discreet / OpenDP", value=ratio, unit="x", promise=">= 100", holds=ratio >= 100),
        ]
    return rows


def _rates(draws: dict[str, Callable[[], object]], size: int, *, rounds: int = ROUNDS) -> dict[str, float]:
    """Draws per CPU second, the median over rounds in which all take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in draws}
    for draw in draws.values():
        draw()  # tables are built and kernels compiled outside the measurement
    gc.disable()
    try:
        for _ in range(rounds):
            for name, draw in draws.items():
                start = time.process_time()
                draw()
                seconds[name].append(time.process_time() - start)
    finally:
        gc.enable()
    return {name: size / statistics.median(times) for name, times in seconds.items()}


def _opendp(law: str, scale: int) -> Callable[[], object] | None:
    """OpenDP's exact sampler on a vector of integers, if OpenDP is installed."""
    try:
        import opendp.prelude as dp  # pyright: ignore[reportMissingImports] - a peer, in `make bench` only
    except ImportError:
        return None
    dp.enable_features("contrib")
    vector = dp.vector_domain(dp.atom_domain(T=int))
    if law == "Laplace":
        peer = dp.m.make_laplace(vector, dp.l1_distance(T=int), scale=float(scale))
    else:
        peer = dp.m.make_gaussian(vector, dp.l2_distance(T=float), scale=float(scale))
    value = [0] * PEER_SIZE
    return lambda: peer(value)


if __name__ == "__main__":
    sys.exit(0 if publish("noise", measure()) else 1)
