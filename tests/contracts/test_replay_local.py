"""Record and replay of the local model: reports are all that a server hears, and each user pays for their own."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.attacks import replay
from discreet.hazmat.entropy import SeededRandom
from discreet.local import (
    HeavyHitters,
    HierarchicalRanges,
    LocalFactorization,
    LocalStatisticalOracle,
    Memoised,
    OneBitMean,
    Question,
    RandomizedResponse,
    Rounds,
    SampledThresholds,
    Shuffler,
    run,
)
from discreet.privacy.number import exact
from discreet.queries import thresholds
from discreet.queries.statistical import RowFunction
from tests.local.protocols import SIMPLE, some_values

N = 400


PROTOCOLS = [
    *SIMPLE,
    HierarchicalRanges(epsilon=1, size=16),
    LocalFactorization(thresholds(8), epsilon=1.0),
    SampledThresholds(epsilon=1, size=16),
    Memoised(RandomizedResponse(epsilon=2, size=4), instant=1.5, periods=3),
]


def codes(protocol):
    """Values of all users, and the same with another value of the last."""
    known = some_values(protocol, N) if hasattr(protocol, "size") or protocol in SIMPLE else np.arange(N) % 4
    other = known.copy()
    other[-1] = known[-1] / 2 if known.dtype.kind == "f" else (known[-1] + 1) % 2
    return known, other


def audit(program, pair):
    return replay(program, pair)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: type(one).__name__)
def test_an_estimate_is_a_function_of_the_reports(protocol):
    def program(values):
        server = run(protocol, values, rng=SeededRandom(3))
        return np.asarray(server.estimate()), np.asarray(server.error(0.05)), server.n

    for pair in (codes(protocol), codes(protocol)[::-1]):
        found = audit(program, pair)

        assert found.violations == ()
        assert found.price().epsilon == exact(protocol.epsilon)


def hitters(values):
    return repr(HeavyHitters(bits=8, epsilon=2.0)(values, rng=SeededRandom(3)))


def sequential(values):
    """Half of the users say roughly where the mean is, and the others are asked accordingly."""
    rounds = Rounds(values / 256, cap=1, interaction="sequential")
    first = rounds.ask([Question(OneBitMean(epsilon=1), range(N // 2))], rng=SeededRandom(3))[0].estimate()
    later = OneBitMean(epsilon=1 if first > 0.5 else "1/2")
    return first, rounds.ask([Question(later, range(N // 2, N))], rng=SeededRandom(4))[0].estimate()


def every_day(values):
    rounds = Rounds(values / 256, cap=1, interaction="full")
    asked = [Question(OneBitMean(epsilon="1/4"), range(N))]
    return [rounds.ask(asked, rng=SeededRandom(day))[0].estimate() for day in range(4)]


def queried(values):
    oracle = LocalStatisticalOracle(values.reshape(-1, 1), queries=2, epsilon=1.0, rng=SeededRandom(3))
    first = oracle.answer([RowFunction(lambda rows: rows[:, 0] >= 100, low=0, high=1)])[0]
    cut = 50 if first < 0.5 else 150
    return first, oracle.answer([RowFunction(lambda rows: rows[:, 0] >= cut, low=0, high=1)])[0]


def shuffled(values):
    shuffler = Shuffler(RandomizedResponse(epsilon=1, size=2), n=N)
    shuffler.add(shuffler.protocol.client().report(values % 2, rng=SeededRandom(3)))
    return shuffler.release(rng=SeededRandom(4)).tolist()


VALUES = np.random.default_rng(1).integers(0, 256, N).astype(np.uint64)
VALUES[17] = 250
OTHER = np.where(np.arange(N) == 17, 5, VALUES).astype(np.uint64)


@pytest.mark.parametrize(
    ("program", "epsilon"), [(hitters, 2), (sequential, 1), (every_day, 1), (queried, 1), (shuffled, 1)]
)
def test_rounds_follow_the_reports_and_no_user_pays_twice(program, epsilon):
    for pair in ((VALUES, OTHER), (OTHER, VALUES)):
        found = audit(program, pair)

        assert found.violations == ()
        assert found.price().epsilon <= epsilon


def asked_again(values):
    """Twin: the users of the first round report in the second too, against one charge."""
    first = run(OneBitMean(epsilon=1), values / 256, rng=SeededRandom(3)).estimate()
    return first, run(OneBitMean(epsilon="1/2"), values / 256, rng=SeededRandom(4)).estimate()


def grouped_by_value(values):
    """Twin: who is asked depends on what they hold."""
    return run(OneBitMean(epsilon=1), values[values < 100] / 256, rng=SeededRandom(3)).estimate()


def question_from_values(values):
    """Twin: the next question is chosen by the truth."""
    return run(OneBitMean(epsilon=1 if values[17] > 100 else 2), values / 256, rng=SeededRandom(3)).estimate()


def in_order_of_value(values):
    """Twin: reports are sent in the order of what people hold."""
    return run(OneBitMean(epsilon=1), np.sort(values) / 256, rng=SeededRandom(3)).estimate()


def truth_beside_reports(values):
    """Twin: the server corrects its estimate by what it should not know."""
    return run(OneBitMean(epsilon=1), values / 256, rng=SeededRandom(3)).estimate(), float(values.max() > 300)


def test_asking_again_is_dearer_than_was_said():
    assert audit(asked_again, (VALUES, OTHER)).price().epsilon == exact("3/2")


@pytest.mark.parametrize("twin", [grouped_by_value, question_from_values, in_order_of_value, truth_beside_reports])
def test_what_follows_the_values_is_seen(twin):
    high = np.where(np.arange(N) == 17, 500, VALUES) % 512
    pairs = [(VALUES, OTHER), (OTHER, VALUES), (VALUES, high)]
    pairs = pairs if twin is truth_beside_reports else pairs[:2]

    assert any(audit(twin, pair).violations for pair in pairs)
