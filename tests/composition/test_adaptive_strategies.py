"""Filters against analysts who choose every mechanism after the answers so far.

A strategy maps the transcript to the next binary mechanism.  The filter accepts or
refuses; the tree of all transcripts is enumerated, and the exact delta of the whole run
at the cap's epsilon must not exceed the cap's delta, in both directions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.composition import PrivacyFilter, optimal
from discreet.errors import BudgetExhausted
from discreet.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.event import ApproxEvent, PureEvent
from tests.composition.oracle import product_delta, response
from tests.scale import counts

STRATEGIES = counts(quick=600, full=10_000)
STEPS = 7  # accepted mechanisms on one path
CAPS = [
    ApproxDP(1, "0.05"),
    ApproxDP(1, "0.4"),
    ApproxDP("0.5", "0.2"),
    ApproxDP(2, "0.01"),
    ApproxDP("0.3", "0.7"),
    PureDP(1),
    ZCDP("0.2"),
]

Transcript = tuple[int, ...]
Event = PureEvent | ApproxEvent
Strategy = Callable[[Transcript, PrivacyFilter], Event | None]
Outcome = tuple[int, float, float]  # answer, probability under P, under Q


def outcomes(event: Event) -> list[Outcome]:
    """Randomized response; with a delta, it tells which dataset it saw with that probability."""
    e, d = float(event.epsilon), float(getattr(event, "delta", 0))
    p = 1 / (1 + math.exp(-e))
    found = [(1, (1 - d) * p, (1 - d) * (1 - p)), (0, (1 - d) * (1 - p), (1 - d) * p)]
    return [*found, (2, d, 0.0), (3, 0.0, d)] if d else found


def fork(f: PrivacyFilter) -> PrivacyFilter:
    """The same filter with the same amounts spent, so that each branch of the tree has its own."""
    twin = type(f)(f.cap)
    for name in ("_total", "_square", "_relation") if isinstance(f, PrivacyFilter) else ("events",):
        value = getattr(f, name)
        setattr(twin, name, list(value) if isinstance(value, list) else value)
    return twin


def leaves(strategy: Strategy, opened: PrivacyFilter) -> list[tuple[float, float]]:
    """(P, Q) of every complete transcript."""
    found = []

    def walk(transcript: Transcript, f: PrivacyFilter, p: float, q: float) -> None:
        event = strategy(transcript, f) if len(transcript) < STEPS else None
        if event is None:
            found.append((p, q))
            return
        try:
            f.spend(event)
        except BudgetExhausted:
            found.append((p, q))  # refused; the refusal is a function of the transcript
            return
        for answer, a, b in outcomes(event):
            walk((*transcript, answer), fork(f), p * a, q * b)

    walk((), opened, 1.0, 1.0)
    return found


def exact_delta(transcripts: list[tuple[float, float]], epsilon: float) -> float:
    factor = math.exp(epsilon)
    forward = math.fsum(max(0.0, p - factor * q) for p, q in transcripts)
    return max(forward, math.fsum(max(0.0, q - factor * p) for p, q in transcripts))


def promised(cap: Guarantee) -> tuple[float, float]:
    """(epsilon, delta) points of the promise that are checked."""
    match cap:
        case ApproxDP():
            return float(cap.epsilon), float(cap.delta)
        case PureDP():
            return float(cap.epsilon), 0.0
        case _:
            return float(cap.to_approx("0.1").epsilon), 0.1


def the_rest(f: PrivacyFilter) -> list[PureEvent]:
    """The largest randomized response each lane still has room for."""
    left = f.remaining
    match left:
        case PureDP():
            amounts = [Fraction(str(left.epsilon)) if isinstance(left.epsilon, float) else left.epsilon]
        case ZCDP():
            amounts = [_root(left.rho)]
        case _:
            amounts = [x for x in (left.epsilon, None if left.rho is None else _root(left.rho)) if x is not None]
    return [PureEvent(epsilon=x) for x in amounts if x > Fraction(1, 1000)]


def _root(rho: object) -> Fraction:
    return Fraction(math.floor(math.sqrt(2 * float(rho)) * 10**6), 10**6)  # type: ignore[arg-type]


def random_strategy(seed: int) -> Strategy:
    """A random decision at every transcript, with a taste for spending the rest."""
    taste = random.Random(seed)
    menu = [Fraction(taste.randint(1, 40), 40) for _ in range(3)]
    greedy, leaky = taste.random(), taste.random() < 0.5

    def choose(transcript: Transcript, f: PrivacyFilter) -> Event | None:
        rng = random.Random(f"{seed}{transcript}")
        rest = the_rest(f)
        if rest and rng.random() < greedy * 0.5:
            return rng.choice(rest)
        affordable: list[Event] = [PureEvent(epsilon=e) for e in menu]
        if leaky and isinstance(f.cap, ApproxDP):
            affordable.append(
                ApproxEvent(epsilon=rng.choice(menu), delta=Fraction(str(f.cap.delta)) / rng.choice([2, 4, 8]))
            )
        affordable = [event for event in affordable if f.affords(event)] or list(rest)
        return rng.choice(affordable) if affordable else None

    return choose


def after(answer: int, small: Fraction) -> Strategy:
    """Small questions until the last answer was `answer`; then spend the rest."""

    def choose(transcript: Transcript, f: PrivacyFilter) -> Event | None:
        if transcript and transcript[-1] == answer:
            rest = the_rest(f)
            return max(rest, key=lambda event: event.epsilon) if rest else None
        return PureEvent(epsilon=small)

    return choose


@pytest.mark.acceptance
def test_no_adaptive_strategy_exceeds_the_cap(record_property):
    worst = 0.0
    for seed in range(STRATEGIES):
        cap = CAPS[seed % len(CAPS)]
        epsilon, delta = promised(cap)
        found = exact_delta(leaves(random_strategy(seed), PrivacyFilter(cap)), epsilon)

        assert found <= delta + 1e-12, (seed, cap)
        worst = max(worst, found / delta if delta else 0.0)
    record_property("strategies", STRATEGIES)
    record_property("largest share of delta reached", worst)
    assert worst > 0.2  # the strategies do press against the cap


@pytest.mark.parametrize("cap", CAPS, ids=repr)
@pytest.mark.parametrize("answer", [0, 1])
@pytest.mark.parametrize("small", [Fraction(1, 20), Fraction(1, 4)])
def test_spending_the_rest_after_a_high_or_a_low_answer_stays_within_the_cap(cap, answer, small):
    epsilon, delta = promised(cap)

    assert exact_delta(leaves(after(answer, small), PrivacyFilter(cap)), epsilon) <= delta + 1e-12


class LossFilter:
    """The broken twin: accept while the composed privacy-loss distribution of what was spent is within the cap."""

    def __init__(self, cap: ApproxDP) -> None:
        self.cap = cap
        self.events: list[Event] = []

    def spend(self, event: Event) -> None:
        if float(optimal([*self.events, event], self.cap.delta).epsilon) > float(self.cap.epsilon):
            raise BudgetExhausted(requested=event, remaining=None)
        self.events.append(event)


def test_a_privacy_loss_distribution_is_no_filter():
    """After a high answer two large questions, after a low one four small ones: each path alone is within the cap."""
    cap = ApproxDP(1, "0.05")
    high, low = ["0.55"] * 2, ["0.35"] * 4

    def choose(transcript: Transcript, _: object) -> Event | None:
        if not transcript:
            return PureEvent(epsilon="0.15")
        path = high if transcript[0] else low
        return PureEvent(epsilon=path[len(transcript) - 1]) if len(transcript) <= len(path) else None

    twin = leaves(choose, LossFilter(cap))  # type: ignore[arg-type, return-value]
    honest = leaves(choose, PrivacyFilter(cap))

    assert len(twin) == 4 + 16  # nothing was refused
    for path in (high, low):
        assert product_delta([response(float(e)) for e in ["0.15", *path]], 1.0) <= 0.05
    assert exact_delta(twin, 1.0) == pytest.approx(0.0599212, abs=1e-6)
    assert exact_delta(honest, 1.0) <= 0.05


def test_a_filter_that_recycles_a_closed_lane_is_caught():
    """Another twin: each spend goes to whichever lane has room, so both lanes are spent in full."""
    cap = ApproxDP(1, "0.05")

    class BothLanes(LossFilter):
        def spend(self, event: Event) -> None:
            pure, rho = Fraction(0), Fraction(0)
            for each in [*self.events, event]:
                if pure + each.epsilon <= 1:
                    pure += each.epsilon
                else:
                    rho += each.epsilon**2 / 2
            if rho > PrivacyFilter(cap).rho_cap:
                raise BudgetExhausted(requested=event, remaining=None)
            self.events.append(event)

    def choose(transcript: Transcript, _: object) -> Event | None:
        return PureEvent(epsilon=["1", "0.3", "0.3"][len(transcript)]) if len(transcript) < 3 else None

    assert exact_delta(leaves(choose, BothLanes(cap)), 1.0) > 0.05  # type: ignore[arg-type, return-value]
    assert exact_delta(leaves(choose, PrivacyFilter(cap)), 1.0) <= 0.05
