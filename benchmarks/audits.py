"""The audit: seconds for a million samples a side, and the share of the claim it finds."""

from __future__ import annotations

import sys
import time

from benchmarks import Row, publish
from discreet.attacks import audit
from discreet.mechanisms import Laplace

SAMPLES = 1_000_000


def measure() -> list[Row]:
    audit(Laplace(epsilon=1, sensitivity=1), inputs=(0, 1), samples=10_000)  # imports and tables
    rows: list[Row] = []
    for epsilon in (0.1, 0.5, 1, 4):
        mechanism = Laplace(epsilon=epsilon, sensitivity=1)
        start = time.perf_counter()
        found = audit(mechanism, inputs=(0, 1), samples=SAMPLES).epsilon
        seconds = time.perf_counter() - start
        share = found / epsilon
        least = 0.95 if epsilon >= 0.5 else 0.88
        rows += [
            Row(
                what=f"Laplace, epsilon {epsilon}: found / claimed",
                value=share,
                unit="",
                promise=f"{least} to 1",
                holds=least <= share <= 1,
            ),
            Row(
                what=f"Laplace, epsilon {epsilon}: wall", value=seconds, unit="s", promise="<= 10", holds=seconds <= 10
            ),
        ]
    return rows


if __name__ == "__main__":
    sys.exit(0 if publish("audits", measure()) else 1)
