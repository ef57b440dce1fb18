"""Draws of noise per CPU second, a million at a time: ours, numpy's unsafe ones, OpenDP's exact ones."""

from __future__ import annotations

import gc
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import Row, absent, publish, size
from discreet.hazmat.rounded import rounded_cauchy, rounded_laplace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace

SIZE = size(1_000_000, quick=5000)
PEER_SIZE = size(50_000, quick=500)  # OpenDP draws a vector in time proportional to its length
ROUNDS = size(15, quick=3)
SCALES = (1, 1000)


def measure() -> list[Row]:
    rows: list[Row] = []
    if importlib.util.find_spec("opendp") is None:
        rows.append(absent("OpenDP"))
    for scale in SCALES:
        rows += _compare("Laplace", scale, Laplace.with_scale(scale, sensitivity=1), "laplace")
        rows += _compare("Gaussian", scale, Gaussian.with_sigma(scale, sensitivity=1), "normal")
    for function in (rounded_laplace, rounded_cauchy):
        seconds = _seconds({"ours": lambda draw=function: draw(1000, shape=(SIZE,))})
        rows.append(_rate(f"{function.__name__}, scale 1000", seconds["ours"], SIZE))
    return rows


def _compare(law: str, scale: int, mechanism: Laplace | Gaussian, unsafe: str) -> list[Row]:
    value, generator = np.zeros(SIZE, dtype=np.int64), np.random.default_rng()
    seconds = _seconds(
        {
            "ours": lambda: mechanism(value),
            "laplace": lambda: generator.laplace(0.0, scale, SIZE),
            "normal": lambda: generator.normal(0.0, scale, SIZE),
        }
    )
    name = f"{law}, scale {scale}"
    rows = [
        _rate(f"{name}: discreet", seconds["ours"], SIZE),
        _rate(f"{name}: numpy {unsafe} (unsafe)", seconds[unsafe], SIZE),
        _ratio(f"{name}: discreet / numpy laplace", seconds["ours"], seconds["laplace"], least=1),
    ]
    if unsafe != "laplace":
        rows.append(_ratio(f"{name}: discreet / numpy {unsafe}", seconds["ours"], seconds[unsafe]))
    peer = _opendp(law, scale)
    if peer is not None:
        # OpenDP's time is proportional to the length of the vector, and it gets a shorter one.
        theirs = [t * SIZE / PEER_SIZE for t in _seconds({"peer": peer}, rounds=3)["peer"]]
        rows += [
            _rate(f"{name}: OpenDP (exact)", theirs, SIZE),
            _ratio(f"{name}: discreet / OpenDP", seconds["ours"][:3], theirs, least=100),
        ]
    return rows


def _rate(what: str, seconds: list[float], draws: int) -> Row:
    return Row(what=what, value=draws / statistics.median(seconds) / 1e6, unit="M/s")


def _ratio(what: str, ours: list[float], theirs: list[float], *, least: float | None = None) -> Row:
    """The median over rounds of their time over ours: neighbours in time share the load of the machine."""
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    if least is None:
        return Row(what=what, value=ratio, unit="x")
    return Row(what=what, value=ratio, unit="x", promise=f">= {least:g}", holds=ratio >= least)


def _seconds(draws: dict[str, Callable[[], object]], *, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """CPU seconds of each draw, in rounds in which all take turns."""
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
    return seconds


def _opendp(law: str, scale: int) -> Callable[[], object] | None:
    """OpenDP's exact sampler on a vector of integers, if OpenDP is installed."""
    try:
        import opendp.prelude as dp  # a peer, in `make bench` only
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
