"""Adaptive questions: the proven error against the textbook's, the measured one, and seconds per answer.

The only other implementation known, RelM, is not on the package index and no longer builds; its algorithm is the
textbook's, whose fixed point is computed here.  Independent noise is the other rival: it wins while questions are few.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from benchmarks import Row, publish, size
from discreet.data import Boolean, Domain, Histogram
from discreet.privacy import ZCDP, ApproxDP
from discreet.queries import marginals
from discreet.release import IndependentNoise, LeastSquaresProjection, PrivateMultiplicativeWeights

BUDGET = ApproxDP(1.0, 1e-6)
CASES = ((10**5, 10, 10**4, 0.297), (10**6, 16, 10**6, 0.1235), (10**6, 20, 10**6, 0.1306), (10**7, 20, 10**9, 0.0490))
BITS, N, LESS = size((20, 100_000, 10), quick=(6, 2000, 5))


def measure() -> list[Row]:
    rows = []
    for n, bits, questions, textbook in size(CASES, quick=CASES[:1]):
        proven = PrivateMultiplicativeWeights(_bits(bits), n=n, budget=BUDGET, queries=questions).accuracy() / n
        name = f"n = {n:.0e}, 2^{bits} cells, {questions:.0e} questions"
        promise = {"promise": "<= 0.52", "holds": proven <= 0.52 * textbook}
        rows += [
            Row(what=f"{name}: proven error", value=proven, unit="of n"),
            Row(what=f"{name}: / textbook", value=proven / textbook, unit="x", **promise),
        ]
    return rows + _session() + _projection()


def _bits(count: int) -> Domain:
    return Domain({f"b{i}": Boolean() for i in range(count)})


def _session() -> list[Row]:
    domain, n = _bits(BITS), N
    data, workload = Histogram.random(domain, n=n, seed=1), marginals(domain, 2)
    truth, questions = workload.answer(data), list(workload)
    session = PrivateMultiplicativeWeights(domain, n=n, budget=BUDGET, queries=10_000).open(data)
    start = time.process_time()
    answers = np.array([session.ask(question) for question in questions])
    each = (time.process_time() - start) / len(questions)
    return [
        Row(what="760 answers over 2^20 cells: largest error", value=abs(answers - truth).max() / n, unit="of n"),
        Row(what="760 answers over 2^20 cells: proven", value=session.alpha / n, unit="of n"),
        Row(what="one answer over 2^20 cells", value=1000 * each, unit="CPU ms", promise="<= 5", holds=each <= 0.005),
    ]


def _projection() -> list[Row]:
    domain, n = _bits(LESS), 500
    data, workload = Histogram.random(domain, n=n, seed=1), marginals(domain, 3)
    truth = workload.answer(data)
    plain, nearest = (kind(workload, budget=ZCDP(0.05), n=n) for kind in (IndependentNoise, LeastSquaresProjection))
    start = time.process_time()
    close = nearest(data).answers
    seconds = time.process_time() - start
    raw, moved = (math.sqrt(float(np.mean((answers - truth) ** 2))) for answers in (plain(data).answers, close))
    return [
        Row(what="3-way marginals of 10 bits, 500 rows: noise", value=raw, unit="rms"),
        Row(what="projected", value=moved, unit="rms"),
        Row(what="projected / noise", value=moved / raw, unit="x", promise="<= 0.5", holds=moved <= raw / 2),
        Row(what="projection", value=seconds, unit="CPU s"),
    ]


if __name__ == "__main__":
    sys.exit(0 if publish("online", measure()) else 1)
