"""Learners of the theory: seconds at the sizes promised, and rows needed against the bounds.

No other library learns parities or finite classes privately.  The peers are what one would write: Gumbel noise on every
score in numpy (floating point, not private to the last digit), elimination with numpy over truth values, and, for
learning a threshold from the same rows at the same epsilon, diffprivlib's decision tree where it is installed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import Row, absent, publish, size
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import (
    BitRows,
    Conjunctions,
    ExponentialLearner,
    Parities,
    ParityLearner,
    ThresholdLearner,
    Thresholds,
)
from discreet.learning.pac.bit_rows import words_for
from discreet.learning.pac.hypotheses import HypothesisClass
from discreet.learning.pac.parity_elimination import uniform_solution

ALPHA, BETA = 0.1, 0.05
POINTS, N, BITS, FEWER = size((10**8, 100_000, 20, 14), quick=(10**5, 500, 6, 4))
FITS = size(20, quick=2)


class _Streamed:
    """Thresholds that hide their runs, so that every one is counted."""

    def __init__(self, points: int) -> None:
        self.inner = Thresholds(points)
        self.size, self.hypothesis, self.errors = self.inner.size, self.inner.hypothesis, self.inner.errors


def measure() -> list[Row]:
    return _large_classes() + _gumbel() + _parities() + _elimination() + _rows_needed() + _tree()


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _fit(made: HypothesisClass, x: np.ndarray, y: np.ndarray) -> float:
    return _seconds(lambda: ExponentialLearner(made, epsilon=1.0).fit(x, y))


def _large_classes() -> list[Row]:
    rng, n = np.random.default_rng(0), N
    x = rng.integers(0, POINTS, n)
    y, bits = x >= 3 * POINTS // 10, rng.integers(0, 2, (n, BITS))
    labels = bits[:, 3]
    streamed = _fit(_Streamed(POINTS), x, y)
    return [
        Row(what="10^8 thresholds, in runs", value=_fit(Thresholds(POINTS), x, y), unit="s"),
        Row(what="10^8 thresholds, each counted", value=streamed, unit="s", promise="<= 60", holds=streamed <= 60),
        Row(what="10^6 parities of 20 bits", value=_fit(Parities(BITS), bits, labels), unit="s"),
        Row(
            what="4.8 10^6 conjunctions of 14 bits", value=_fit(Conjunctions(FEWER), bits[:, :FEWER], labels), unit="s"
        ),
    ]


def _gumbel() -> list[Row]:
    """The usual draw: one double of noise a score."""
    points = size(10**7, quick=10**5)
    x = np.random.default_rng(0).integers(0, points, 10_000)
    y, made, rng = x >= points // 3, _Streamed(points), np.random.default_rng(1)

    def usual() -> int:
        best, found = -math.inf, 0
        for start in range(0, points + 1, 1 << 20):
            stop = min(start + (1 << 20), points + 1)
            noisy = rng.gumbel(size=stop - start) - made.errors(x, y, start, stop)
            if noisy.max() > best:
                best, found = float(noisy.max()), start + int(noisy.argmax())
        return found

    ours, theirs = _fit(made, x, y), _seconds(usual)
    return [
        Row(what="10^7 scores: exact, two draws", value=ours, unit="s"),
        Row(what="10^7 scores: numpy, Gumbel noise on each", value=theirs, unit="s"),
        Row(what="numpy / ours", value=theirs / ours, unit="x", promise=">= 1", holds=theirs >= ours),
    ]


def _random_rows(n: int, d: int) -> tuple[BitRows, np.ndarray, np.ndarray]:
    """Packed random rows, a random parity, and its labels."""
    rng = np.random.default_rng(d)
    words = rng.integers(0, 2**64, (n, words_for(d)), dtype=np.uint64)
    if d % 64:
        words[:, -1] &= np.uint64((1 << d % 64) - 1)
    secret = rng.integers(0, 2, d)
    folded = np.bitwise_xor.reduce(words & BitRows.pack(secret[None, :]).words[0], axis=1)
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> np.uint64(shift)
    return BitRows(words, d), secret, (folded & np.uint64(1)).astype(bool)


def parity_rows(d: int, learner: ParityLearner, *, alpha: float = ALPHA, beta: float = BETA) -> int:
    """The calculator's number of rows: `learner.accuracy(beta, d=d, n=rows)` is alpha."""
    return math.ceil(learner.accuracy(beta, d=d, n=10**9) * 10**9 / alpha)


def _parities() -> list[Row]:
    made: list[Row] = []
    ParityLearner(epsilon=1).fit(np.eye(3, dtype=int), [0, 1, 0])  # compiled
    for d, limit in size(((2_000, 30), (10_000, 300)), quick=((50, 30),)):
        learner = ParityLearner(epsilon=1.0, beta=BETA)
        n = parity_rows(d, learner)
        rows, secret, labels = _random_rows(n, d)
        seconds = 0.0
        for seed in (1, 2):  # the slower of two, as blocks that abort take no time
            start = time.perf_counter()
            learner.fit(rows, labels, rng=SeededRandom(seed))
            seconds = max(seconds, time.perf_counter() - start)
        right = learner.parity_ is not None and bool((learner.parity_ == secret).all())
        what = f"parity of {d:,} bits from {n:,} rows"
        made.append(
            Row(what=what, value=seconds, unit="s", promise=f"<= {limit}, found", holds=seconds <= limit and right)
        )
    return made


def _elimination() -> list[Row]:
    """One system of 1,000 unknowns: packed and by strips, against one truth value a byte and a pivot at a time."""
    d = size(1000, quick=80)
    rows, _, labels = _random_rows(d + 64, d)
    system = rows.system(np.arange(d + 64), labels)
    bits = np.unpackbits(system.view(np.uint8), axis=1, bitorder="little")[:, : d + 1].astype(bool)

    def plain() -> None:
        a, rank = bits.copy(), 0
        for column in range(d):
            below = np.flatnonzero(a[rank:, column])
            if below.size:
                a[[rank, rank + below[0]]] = a[[rank + below[0], rank]]
                others = a[:, column].copy()
                others[rank] = False
                a[others] ^= a[rank]
                rank += 1

    ours = min(_seconds(lambda: uniform_solution(system, d, SeededRandom(1))) for _ in range(3))
    theirs = _seconds(plain)
    return [
        Row(what="elimination, 1,000 unknowns", value=ours, unit="s"),
        Row(what="numpy / ours", value=theirs / ours, unit="x", promise=">= 10", holds=theirs >= 10 * ours),
    ]


def _rows_needed() -> list[Row]:
    """Rows for a threshold on 2^10 points, and for a parity of 20 bits, against the bounds."""
    enough = max(8 / ALPHA, 4 / ALPHA) * (math.log(1025) + math.log(2 / BETA))
    least = (math.log(1023) - math.log(1 / (0.5 - BETA))) / (8 * ALPHA)
    ours, notes = (ParityLearner(epsilon=1.0, n=1, beta=BETA), 0.5)
    blocks = math.ceil(math.log(BETA / 2) / math.log(notes))
    theirs = blocks * (20 * math.log(2) + math.log(2 / BETA)) / (float(ours.keep) * ALPHA)
    fewer = theirs / parity_rows(20, ours)
    return [
        Row(what="rows for a threshold, enough / least of any pure learner", value=enough / least, unit="x"),
        Row(what="rows for a parity, the notes' abort / ours", value=fewer, unit="x", promise="> 1", holds=fewer > 1),
    ]


def _tree() -> list[Row]:
    """Errors on 2,000 rows whose label is a threshold, epsilon .1, mean of the fits."""
    x = np.random.default_rng(0).integers(0, 1024, 2000)
    y = x >= 300

    def error(predict: Callable[[int], np.ndarray]) -> float:
        return float(np.mean([(predict(seed) != y).mean() for seed in range(FITS)]))

    ours = error(lambda seed: ThresholdLearner(1024, epsilon=0.1).fit(x, y, rng=SeededRandom(seed)).predict(x))
    rows = [Row(what="errors of a threshold at epsilon .1", value=100 * ours, unit="%")]
    try:
        from diffprivlib.models import DecisionTreeClassifier
    except ImportError:
        return [*rows, absent("diffprivlib's tree")]
    column = x[:, None].astype(float)

    def tree(seed: int) -> np.ndarray:
        model = DecisionTreeClassifier(epsilon=0.1, bounds=(0, 1023), classes=[False, True], random_state=seed)
        return model.fit(column, y).predict(column)

    theirs = error(tree)
    return [*rows, Row(what="diffprivlib's tree", value=100 * theirs, unit="%", promise="more", holds=theirs > ours)]


if __name__ == "__main__":
    sys.exit(0 if publish("learners", measure()) else 1)
