"""Private keys: how many are decided a second, and how few units it takes to be named.

A million keys of one draw of sizes, decided by the optimal rule, by thresholded exact noise, by numpy's unsafe
noise and a threshold, and by OpenDP's thresholded counts where it is installed (its time includes handing
it a Python dictionary).
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from benchmarks import Row, absent, publish, size
from benchmarks.noise import _rate, _ratio, _seconds
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.partition_selection import PartitionSelection
from discreet.mechanisms.thresholded import Thresholded

SIZE = size(1_000_000, quick=5000)
PEER_SIZE = size(20_000, quick=500)  # OpenDP decides keys in time proportional to their number
BUDGETS = ((1.0, 1e-6, 1), (0.1, 1e-9, 1), (1.0, 1e-6, 10))
UNDER = 0.95  # how surely a key is to be named


def measure() -> list[Row]:
    return [*_speed(), *_reach()]


def _speed() -> list[Row]:
    generator = np.random.default_rng(1)
    units = generator.geometric(0.05, SIZE)
    rule = PartitionSelection(epsilon=1, delta=1e-6)
    counted = Thresholded(noise=Laplace(epsilon=1, sensitivity=1), delta=1e-6)
    cut = counted.cut
    seconds = _seconds(
        {
            "rule": lambda: rule(units),
            "counted": lambda: counted(units),
            "numpy": lambda: np.flatnonzero(units + generator.laplace(0.0, 1.0, SIZE) >= cut),
        }
    )
    rows = [
        _rate("keys decided: optimal rule", seconds["rule"], SIZE),
        _rate("keys decided: thresholded Laplace", seconds["counted"], SIZE),
        _rate("keys decided: numpy Laplace and a threshold (unsafe)", seconds["numpy"], SIZE),
        _ratio("optimal rule / numpy", seconds["rule"], seconds["numpy"], least=1),
        _ratio("thresholded / numpy", seconds["counted"], seconds["numpy"]),
    ]
    peer = _opendp(units[:PEER_SIZE], float(cut))
    if peer is None:
        return [*rows, absent("OpenDP")]
    theirs = [t * SIZE / PEER_SIZE for t in _seconds({"peer": peer}, rounds=3)["peer"]]
    return [
        *rows,
        _rate("keys decided: OpenDP Laplace threshold (exact)", theirs, SIZE),
        _ratio("thresholded / OpenDP", seconds["counted"][:3], theirs, least=10),
    ]


def _reach() -> list[Row]:
    """Units with which a key is named nineteen times in twenty: fewer are better."""
    rows: list[Row] = []
    for epsilon, delta, groups in BUDGETS:
        name = f"epsilon {epsilon:g}, delta {delta:g}, {groups} a unit"
        rule = PartitionSelection(epsilon=epsilon, delta=delta, groups_per_unit=groups).threshold(UNDER)
        noise = Laplace(epsilon=epsilon, sensitivity=groups)
        counted = Thresholded(noise=noise, delta=delta, groups_per_unit=groups).threshold(UNDER)
        rows += [
            Row(what=f"{name}: optimal rule", value=rule, unit="units"),
            Row(what=f"{name}: thresholded Laplace", value=counted, unit="units"),
            Row(
                what=f"{name}: rule / threshold", value=rule / counted, unit="x", promise="<= 1", holds=rule <= counted
            ),
        ]
    return rows


def _opendp(units: np.ndarray, threshold: float) -> Callable[[], object] | None:
    """OpenDP's thresholded integer counts over unknown keys, if OpenDP is installed."""
    try:
        import opendp.prelude as dp  # a peer, in `make bench` only
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    peer = dp.m.make_laplace_threshold(domain, metric, scale=1.0, threshold=int(threshold))
    table = {str(i): int(n) for i, n in enumerate(units)}
    return lambda: peer(table)


if __name__ == "__main__":
    sys.exit(0 if publish("partitions", measure()) else 1)
