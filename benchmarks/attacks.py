"""Attacks at the sizes that matter: how fast, and how often right.

The peer of the linear programme is scipy's HiGHS, run on a smaller instance in the same run.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from benchmarks import Row, publish, size
from discreet.attacks import (
    TraitorTracing,
    fingerprint_audit,
    mixed,
    pirate,
    random_subsets,
    reconstruct,
    tardos_length,
)
from discreet.attacks.codes.pirates import PIRATES
from discreet.attacks.confidence import upper
from discreet.structured.marginals.fourier import walsh_hadamard

STRATEGIES = ("interleaving", "majority", "minority", "ones", "coin")
TRIALS = size(2000, quick=4)  # of each strategy
USERS, COALITION = size((100, 20), quick=(20, 4))


def measure(trials: int = TRIALS) -> list[Row]:
    return [*_linear(), *_highs(), *_hadamard(), *_traitors(), *_tardos(trials), *_audit()]


def _linear() -> list[Row]:
    people, rng = size(2000, quick=60), np.random.default_rng(0)
    secret, asked = rng.integers(0, 2, people), random_subsets(people, 4 * people, seed=1)
    noisy = asked.astype(float) @ secret + rng.uniform(-0.1, 0.1, len(asked)) * math.sqrt(people)
    start = time.perf_counter()
    found = reconstruct(asked, noisy)
    seconds = time.perf_counter() - start
    right = 1 - found.wrong(secret)
    gross = noisy.copy()
    broken = rng.random(len(gross)) < 0.2
    gross[broken] = rng.uniform(0, people, broken.sum())
    robust = 1 - reconstruct(asked, gross).wrong(secret)
    return [
        Row(
            what="2,000 bits from 8,000 counts, noise 0.1 sqrt(n)",
            value=seconds,
            unit="s",
            promise="< 60",
            holds=seconds < 60,
        ),
        Row(what="  right", value=100 * right, unit="%", promise="> 99", holds=right > 0.99),
        Row(what="  right, 20 % gross errors", value=100 * robust, unit="%", promise="> 99", holds=robust > 0.99),
    ]


def _highs() -> list[Row]:
    from scipy.optimize import linprog

    people, rng = size(200, quick=40), np.random.default_rng(0)
    asked, secret = random_subsets(people, 4 * people, seed=1).astype(float), rng.integers(0, 2, people)
    answers = asked @ secret + rng.uniform(-0.2, 0.2, len(asked)) * math.sqrt(people)
    start = time.perf_counter()
    reconstruct(asked, answers)
    ours = time.perf_counter() - start
    eye = np.eye(len(asked))
    start = time.perf_counter()
    linprog(
        np.r_[np.zeros(people), np.ones(len(asked))],
        A_ub=np.block([[asked, -eye], [-asked, -eye]]),
        b_ub=np.r_[answers, -answers],
        bounds=[(0, 1)] * people + [(0, None)] * len(asked),
    )
    theirs = time.perf_counter() - start
    return [Row(what="200 bits from 800 counts: HiGHS over ours", value=theirs / ours, unit="x")]


def _hadamard() -> list[Row]:
    people, rng = 1 << size(20, quick=10), np.random.default_rng(0)
    secret = rng.integers(0, 2, people)
    signed = walsh_hadamard(secret[None].astype(float))[0]
    answers = (signed + signed[0]) / 2
    answers += rng.uniform(-0.25, 0.25, people) * math.sqrt(people)
    start = time.perf_counter()
    found = reconstruct(None, answers, method="hadamard")
    seconds = time.perf_counter() - start
    return [
        Row(what="2^20 bits from Hadamard counts", value=seconds, unit="s", promise="< 10", holds=seconds < 10),
        Row(what="  right, noise 0.25 sqrt(n)", value=100 * (1 - found.wrong(secret)), unit="%"),
    ]


def _traitors() -> list[Row]:
    start = time.perf_counter()
    scheme = TraitorTracing.generate(size(50, quick=12), seed=1)
    sent = scheme.broadcast()
    decoders = [pirate(scheme.records[:10], lambda copies, one=one: mixed(copies, one, seed=2)) for one in STRATEGIES]
    accused = [scheme.trace(decoder(sent)) for decoder in decoders]
    seconds = time.perf_counter() - start
    good = all(len(found) and (found < 10).all() for found in accused)
    return [
        Row(
            what="traitor tracing, 50 users, 5 decoders", value=seconds, unit="s", promise="< 120", holds=seconds < 120
        ),
        Row(what="  decoders traced to their makers alone", value=float(good), unit="", promise="1", holds=good),
    ]


def _tardos(trials: int) -> list[Row]:
    """Scores of pirates and innocents, simulated column by column: no whole code is kept."""
    settings = tardos_length(COALITION, innocent=1e-4, miss=0.01)
    start, rows = math.asin(math.sqrt(settings.cutoff)), []
    for number, strategy in enumerate(STRATEGIES):
        rng = np.random.default_rng(number)
        falsely = missed = 0
        for _ in range(trials):
            biases = np.sin(rng.uniform(start, math.pi / 2 - start, settings.length)) ** 2
            words = rng.random((USERS, settings.length), dtype=np.float32) < biases.astype(np.float32)
            held = words[:COALITION].astype(np.uint8)
            word = PIRATES[strategy](held, rng)
            weight = ((2.0 * word - 1) / np.sqrt(biases * (1 - biases))).astype(np.float32)
            scores = words.astype(np.float32) @ weight - float(biases @ weight)
            falsely += int((scores[COALITION:] > settings.threshold).sum())
            missed += not (scores[:COALITION] > settings.threshold).any()
        bound = float(upper(falsely, trials * (USERS - COALITION), 0.025))
        share = missed / trials
        name = f"Tardos, {COALITION} of {USERS} {strategy}"
        rows += [
            Row(
                what=f"{name}: one innocent accused, at most",
                value=bound,
                unit="",
                promise="<= 1e-4",
                holds=bound <= 1e-4,
            ),
            Row(what=f"{name}: missed", value=share, unit="", promise="<= 0.01", holds=share <= 0.01),
        ]
    return [Row(what=f"Tardos, {COALITION} pirates: positions", value=settings.length, unit=""), *rows]


def _audit() -> list[Row]:
    found = fingerprint_audit(lambda counts: counts, users=5, trials=size(200, quick=40), delta=0.01, seed=1)
    return [Row(what="exact means by fingerprints: epsilon at least", value=found.epsilon, unit="")]


if __name__ == "__main__":
    publish("attacks", measure(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS))
