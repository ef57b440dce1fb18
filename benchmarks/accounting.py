"""Epsilon at delta 1e-6 and the CPU seconds it takes: ours against dp-accounting and prv-accountant.

Three workloads: 100,000 mechanisms of epsilon 0.001 (its exact value has a closed form), 1,000 Gaussian and
1,000 Laplace releases, and 100 mechanisms of epsilon 0.1.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks import Row, absent, publish, size
from discreet.composition import best, concentrated, optimal
from discreet.composition.price import Item
from discreet.privacy.event import Event, GaussianEvent, LaplaceEvent
from discreet.privacy.guarantee import PureDP

DELTA = 1e-6
MANY, FEW = size(100_000, quick=1000), size(1000, quick=20)  # releases
EXACT_MANY = 1.3675498  # the closed form of Kairouz, Oh, Viswanath 2015, from below


def _timed(call: Callable[[], float]) -> tuple[float, float]:
    start = time.process_time()
    value = call()
    return value, time.process_time() - start


def _zcdp(items: Sequence[Item]) -> float:
    return float(concentrated(items, delta=DELTA).to_approx(DELTA).epsilon)


def measure() -> list[Row]:
    many = [PureDP(0.001)] * MANY
    gaussian, laplace = GaussianEvent(sigma=50, sensitivity=1), LaplaceEvent(scale=100, sensitivity=1)
    mixed: list[Event] = [*[gaussian] * FEW, *[laplace] * FEW]
    rows: list[Row] = []
    optimal([PureDP(0.5)] * 3, delta=DELTA)  # imports
    epsilon, seconds = _timed(lambda: float(optimal(many, delta=DELTA).epsilon))
    rows += [
        Row(
            what="optimal, 100,000 x 0.001: epsilon / exact",
            value=epsilon / EXACT_MANY,
            unit="",
            promise="1 to 1.001",
            holds=1 <= epsilon / EXACT_MANY <= 1.001,
        ),
        Row(what="optimal, 100,000 x 0.001: CPU", value=seconds, unit="s", promise="<= 1", holds=seconds <= 1),
        Row(what="zCDP, 100,000 x 0.001: epsilon", value=_zcdp(many), unit=""),
    ]
    for name, call in (
        ("best, 1,000 Gaussian + 1,000 Laplace", lambda: float(best(mixed, DELTA).epsilon)),
        ("zCDP, 1,000 Gaussian + 1,000 Laplace", lambda: _zcdp(mixed)),
        ("optimal, 100 x 0.1", lambda: float(optimal([PureDP(0.1)] * 100, delta=DELTA).epsilon)),
    ):
        epsilon, seconds = _timed(call)
        rows += [
            Row(what=f"{name}: epsilon", value=epsilon, unit=""),
            Row(what=f"{name}: CPU", value=seconds, unit="s"),
        ]
    return rows + _dp_accounting() + _prv_accountant()


def _dp_accounting() -> list[Row]:
    """Google's PLD at two grids, on the first workload."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    rows = []
    for grid in (1e-4, 1e-5):

        def run(grid: float = grid) -> float:
            one = pld.from_privacy_parameters(
                pld.common.DifferentialPrivacyParameters(0.001, 0), value_discretization_interval=grid
            )
            return one.self_compose(MANY).get_epsilon_for_delta(DELTA)

        epsilon, seconds = _timed(run)
        name = f"dp-accounting, 100,000 x 0.001, grid {grid:g}"
        rows += [
            Row(what=f"{name}: epsilon", value=epsilon, unit=""),
            Row(what=f"{name}: CPU", value=seconds, unit="s"),
        ]
    return rows


def _prv_accountant() -> list[Row]:
    """Microsoft's, an upper bound to a hundredth, on the second workload."""
    if importlib.util.find_spec("prv_accountant") is None:
        return [absent("prv-accountant")]
    import prv_accountant as prv

    def run() -> float:
        releases = [prv.GaussianMechanism(noise_multiplier=50), prv.LaplaceMechanism(mu=1 / 100)]
        accountant = prv.PRVAccountant(
            prvs=releases, max_self_compositions=[FEW, FEW], eps_error=0.01, delta_error=DELTA / 1000
        )
        return float(accountant.compute_epsilon(DELTA, num_self_compositions=[FEW, FEW])[2])

    epsilon, seconds = _timed(run)
    name = "prv-accountant, 1,000 Gaussian + 1,000 Laplace"
    return [
        Row(what=f"{name}: epsilon", value=epsilon, unit=""),
        Row(what=f"{name}: CPU", value=seconds, unit="s"),
    ]


if __name__ == "__main__":
    sys.exit(0 if publish("accounting", measure()) else 1)
