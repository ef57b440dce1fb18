"""discreet.local.rounds: each claim in the module docstring, in order."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import LocalLedger, OneBitMean, Question, RandomizedResponse, Rounds
from discreet.privacy.enclosure import exp_down, exp_up

VALUES = np.zeros(10, dtype=np.int64)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (0.5, 2), (0.25, 0.75)])
def test_a_transcript_of_two_adaptive_rounds_loses_exactly_the_sum(first, second):
    """The second question depends on the first answer: the ratio of the worst transcript is the product of the two."""
    opening = RandomizedResponse(epsilon=first, size=2)

    def law(value: int) -> dict[tuple[int, int], Fraction]:
        found = {}
        for a, b in product(range(2), repeat=2):
            asked = RandomizedResponse(epsilon=second if a == 0 else Fraction(second) / 3, size=2)
            held = value if a == 0 else 1 - value  # a question about something else
            found[a, b] = opening.law(value)[a] * asked.law(held)[b]
        return found

    zero, one = law(0), law(1)
    worst = max(max(zero[t] / one[t], one[t] / zero[t]) for t in zero)
    closing = RandomizedResponse(epsilon=second, size=2)

    assert sum(zero.values()) == 1
    assert worst == opening.truth / opening.noise * (closing.truth / closing.noise)
    assert worst <= exp_up(Fraction(first)) * exp_up(Fraction(second))
    assert worst >= exp_down(Fraction(first) + Fraction(second)) * (1 - Fraction(1, 10**12))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["0.1", "0.3", "1/3", "0.7"])), max_size=30))
def test_nobody_is_ever_charged_above_the_cap_and_sums_are_exact(spends):
    ledger, book = LocalLedger(cap=1), dict.fromkeys(range(4), Fraction(0))
    for user, cost in spends:
        fits = book[user] + Fraction(cost) <= 1
        if fits:
            ledger.spend([user], cost)
            book[user] += Fraction(cost)
        else:
            with pytest.raises(BudgetExhausted):
                ledger.spend([user], cost)

    assert all(ledger.remaining(user) == 1 - spent for user, spent in book.items())


def test_ten_tenths_are_exactly_one_and_the_twin_in_floats_refuses_or_overspends():
    ledger = LocalLedger(cap=1)
    for _ in range(10):
        ledger.spend(["ann"], 0.1)
    with pytest.raises(BudgetExhausted):
        ledger.spend(["ann"], "1e-30")

    assert ledger.remaining("ann") == 0
    assert ledger.privacy().epsilon == 1
    assert sum([0.1] * 10) != 1


def test_a_refusal_charges_nobody_and_draws_nothing():
    rounds = Rounds(VALUES, cap=1, interaction="full")
    rounds.ask([Question(RandomizedResponse(epsilon=1, size=2), [3])], rng=SeededRandom(1))

    class Untouched(SeededRandom):
        def words(self, count):
            raise AssertionError

    half = RandomizedResponse(epsilon=0.5, size=2)
    with pytest.raises(BudgetExhausted):
        rounds.ask([Question(half, [1, 2]), Question(half, [3])], rng=Untouched(1))

    assert [rounds.ledger.remaining(user) for user in (1, 2, 3)] == [1, 1, 0]


def test_a_user_named_twice_pays_twice():
    ledger = LocalLedger(cap=1)

    with pytest.raises(BudgetExhausted):
        ledger.spend(["ann", "ann"], "0.6")
    ledger.spend(["ann", "ann"], "0.5")
    assert ledger.remaining("ann") == 0


def test_interaction_is_what_it_is_called():
    bit = RandomizedResponse(epsilon="0.5", size=2)
    alone = Rounds(VALUES, cap=1, interaction="non-interactive")
    alone.ask([Question(bit, [0, 1]), Question(bit, [2])], rng=SeededRandom(1))
    with pytest.raises(UnsupportedError, match="one round"):
        alone.ask([Question(bit, [3])])

    turns = Rounds(VALUES, cap=1, interaction="sequential")
    turns.ask([Question(bit, [0, 1])], rng=SeededRandom(1))
    turns.ask([Question(bit, [2, 3])], rng=SeededRandom(1))
    for again in ([Question(bit, [1])], [Question(bit, [4]), Question(bit, [4])]):
        with pytest.raises(UnsupportedError, match="one report"):
            turns.ask(again)

    full = Rounds(VALUES, cap=1, interaction="full")
    full.ask([Question(bit, range(10))], rng=SeededRandom(1))
    full.ask([Question(bit, [1])], rng=SeededRandom(1))
    with pytest.raises(BudgetExhausted):
        full.ask([Question(bit, [1])])
    assert full.privacy().epsilon == 1


def test_a_second_round_may_follow_from_the_first():
    """The interval is halved where the mean was found: a sequential protocol that asks each user once."""
    values = np.full(40_000, 0.6)
    rounds = Rounds(values, cap=1, interaction="sequential")
    coarse = rounds.ask([Question(OneBitMean(epsilon=1), range(20_000))], rng=SeededRandom(1))[0].estimate()
    fine = OneBitMean(epsilon=1, lower=round(coarse, 1) - 0.25, upper=round(coarse, 1) + 0.25)
    found = rounds.ask([Question(fine, range(20_000, 40_000))], rng=SeededRandom(2))[0]

    assert abs(found.estimate() - 0.6) <= found.error(1e-6)
    assert found.error(0.05) < OneBitMean(epsilon=1).variance(20_000) ** 0.5


def test_bad_parameters_are_refused():
    for cap in (0, -1, float("nan"), True):
        with pytest.raises(ParameterError):
            LocalLedger(cap=cap)
    with pytest.raises(ParameterError):
        LocalLedger(cap=1).spend(["ann"], 0)
    with pytest.raises(ParameterError, match="interaction"):
        Rounds(VALUES, cap=1, interaction="chatty")
    with pytest.raises(ParameterError, match="users by their numbers"):
        Rounds(VALUES, cap=1, interaction="full").ask([Question(RandomizedResponse(epsilon=1, size=2), [10])])
