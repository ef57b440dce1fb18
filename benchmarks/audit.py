"""Audits of training: how much of mu two worlds show, how much of epsilon one run shows, and who catches a twin."""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks import Row, publish, size
from discreet.attacks import audit_one_run, audit_scores
from discreet.privacy.guarantee import GaussianDP

SIDE, CANARIES, TRIES = size((100_000, 5000, 20), quick=(2000, 200, 2))
SHARES = {0.5: 0.95, 1: 0.97, 2: 0.98}


def worlds(mu: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, SIDE), rng.normal(mu, 1, SIDE)


def one_run(mu: float, seed: int) -> float:
    rng = np.random.default_rng(seed)
    coins = rng.random(CANARIES) < 0.5
    return audit_one_run(coins + rng.normal(0, 1 / mu, CANARIES), coins, delta=1e-5).epsilon


def measure() -> list[Row]:
    rows: list[Row] = []
    for mu, least in SHARES.items():
        start = time.perf_counter()
        found = np.mean([audit_scores(*worlds(mu, seed), beta=0.01).mu for seed in range(TRIES)]) / mu
        seconds = (time.perf_counter() - start) / TRIES
        caught = np.mean([audit_scores(*worlds(1.1 * mu, seed), beta=0.01).mu > mu for seed in range(TRIES)])
        title = f"two worlds, mu {mu}, 10^5 a side"
        rows += [
            Row(what=f"{title}: found / claimed", value=float(found), unit="", promise=f"{least} to 1",
                holds=bool(least <= found <= 1)),
            Row(what=f"{title}: noise / 1.1 caught", value=float(caught), unit="", promise=">= 0.99",
                holds=bool(caught >= 0.99)),
            Row(what=f"{title}: wall", value=seconds, unit="s"),
        ]  # fmt: skip
    for mu in (0.5, 1, 2):
        claimed = float(GaussianDP(mu).to_approx(1e-5).epsilon)
        found = float(np.mean([one_run(mu, seed) for seed in range(5)]))
        third = float(np.mean([one_run(3 * mu, seed) > claimed for seed in range(5)]))
        rows += [
            Row(what=f"one run, 5,000 canaries, ({claimed:.2f}, 1e-5): found", value=found, unit="epsilon"),
            Row(what=f"one run, 5,000 canaries, ({claimed:.2f}, 1e-5): noise / 3 caught", value=third, unit=""),
        ]
    return rows


if __name__ == "__main__":
    sys.exit(0 if publish("audit", measure()) else 1)
