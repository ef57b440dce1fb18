"""discreet.local.shuffle: the pair of the theorem, against brute force, and the shuffler."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from discreet.composition import shuffled as closed_form
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import HadamardResponse, RandomizedResponse, Shuffler, central_delta, shuffle, shuffled
from discreet.local.shuffle import permutation
from discreet.privacy.enclosure import exp_down, exp_up
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Replace


def _shuffled_delta(protocol, users, epsilon) -> float:
    """The exact delta of the multiset of reports, over all data of the other users and all first values."""
    laws = {x: {y: float(p) for y, p in protocol.law(x).items()} for x in range(protocol.size)}
    worst = 0.0
    for others in {tuple(sorted(o)) for o in product(range(protocol.size), repeat=users - 1)}:
        base: dict[tuple, float] = {(): 1.0}
        for x in others:
            base = _with(base, laws[x])
        worlds = [_with(base, laws[x]) for x in range(protocol.size)]
        for one, two in product(worlds, repeat=2):
            worst = max(worst, sum(max(0.0, p - math.exp(epsilon) * two.get(z, 0.0)) for z, p in one.items()))
    return worst


def _with(states, law):
    found: dict[tuple, float] = {}
    for state, weight in states.items():
        for y, p in law.items():
            key = tuple(sorted((*state, y)))
            found[key] = found.get(key, 0.0) + weight * p
    return found


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.8])
@pytest.mark.parametrize(("size", "users"), [(2, 2), (2, 7), (3, 5), (4, 4)])
def test_the_delta_of_randomized_response_is_at_least_that_of_all_multisets_and_not_loose(size, users, epsilon):
    protocol = RandomizedResponse(epsilon=1, size=size)
    brute, ours = _shuffled_delta(protocol, users, epsilon), central_delta(1, users, epsilon, values=size)

    assert ours >= brute * (1 - 1e-9)
    assert ours <= 2.5 * brute + 1e-3


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_the_general_delta_is_no_less_than_that_of_any_randomizer_tried(epsilon):
    for protocol in [RandomizedResponse(epsilon=1, size=3), HadamardResponse(epsilon=1, size=2)]:
        assert central_delta(1, 4, epsilon) >= _shuffled_delta(protocol, 4, epsilon) * (1 - 1e-9)


def test_the_pair_is_the_one_of_the_theorem_by_enumeration():
    """Every (A, B) of 12 users, in rationals where e^epsilon0 = 3 stands for its logarithm."""
    odds, users = Fraction(3), 12
    a, clone = 1 / (odds + 1), 1 / odds
    first, second = {}, {}
    for c in range(users):
        weight = math.comb(users - 1, c) * clone**c * (1 - clone) ** (users - 1 - c)
        for x in range(c + 1):
            chance = weight * Fraction(math.comb(c, x), 2**c)
            for world, plus in ((first, odds * a), (second, a)):
                world[x + 1, c - x] = world.get((x + 1, c - x), 0) + chance * plus
                world[x, c - x + 1] = world.get((x, c - x + 1), 0) + chance * (1 - plus)
    for epsilon in (0.0, 0.2, 0.7):
        exactly = sum(max(0.0, float(p) - math.exp(epsilon) * float(second.get(z, 0))) for z, p in first.items())

        assert central_delta(math.log(3), users, epsilon) == pytest.approx(exactly, rel=1e-6, abs=1e-15)


def _bits_delta(epsilon0, users, epsilon) -> float:
    """At most the exact delta of the number of ones, in integers: all others hold zero, four counts are looked at."""
    odds, factor = int(exp_down(Fraction(epsilon0)) * 2**20), exp_up(Fraction(epsilon))
    lie = 2**20  # of odds + lie

    def ones(j: int) -> int:
        return math.comb(users - 1, j) * lie**j * odds ** (users - 1 - j) if 0 <= j < users else 0

    first = [lie * ones(j) + odds * ones(j - 1) for j in range(4)]
    second = [odds * ones(j) + lie * ones(j - 1) for j in range(4)]
    above = sum(max(x * factor.denominator - factor.numerator * y, 0) for x, y in zip(first, second, strict=True))
    return above / (factor.denominator * (odds + lie) ** users)


@pytest.mark.parametrize("users", [1, 2, 300])
@pytest.mark.parametrize("epsilon0", [5, 20, 25, 30, 36, 40, 100, 299, 400])
def test_a_large_local_epsilon_is_not_claimed_away(epsilon0, users):
    """Thresholds that round past the last event made delta zero from 25 on."""
    for less in ("0.000001", "0.001", "0.1", "2", "4.5"):
        epsilon = epsilon0 - Fraction(less)
        truth = _bits_delta(epsilon0, users, epsilon)

        for values in (None, 2):
            assert central_delta(epsilon0, users, epsilon, values=values) >= truth
        alone = -math.expm1(-float(less)) / (1 + 2 * math.exp(-epsilon0))
        assert central_delta(epsilon0, 1, epsilon, values=3) >= alone
    for bits in (None, RandomizedResponse(epsilon=epsilon0, size=2)):
        for delta in (1e-3, 1e-6, 1e-12):
            claim = shuffled(epsilon0, users, delta, randomizer=bits)

            assert _bits_delta(epsilon0, users, Fraction(claim.epsilon)) <= delta


def test_where_clones_are_rare_the_claim_is_tight():
    for epsilon0 in (25, 40, 200):
        least = epsilon0 + math.log1p(-1e-6)

        assert shuffled(epsilon0, 1000, 1e-6).epsilon == pytest.approx(least, abs=3e-7)
    assert central_delta(40, 1, 38) == pytest.approx(-math.expm1(-2), rel=1e-6)


@pytest.mark.parametrize("epsilon0", ["1e-300", 1e-15, 1e-13, 301, 1000, 100_000])
def test_outside_of_the_range_that_is_computed_the_claim_is_the_local_one(epsilon0):
    assert shuffled(epsilon0, 1000, 1e-6).epsilon == pytest.approx(float(epsilon0), rel=1e-15)
    assert central_delta(epsilon0, 1000, 0) <= 1
    assert shuffled(1, 1000, 1e-300).epsilon == 1


@pytest.mark.parametrize("bad", [{"epsilon0": -1}, {"n": 0}, {"epsilon": -1}, {"values": 1}, {"spare": 0.0}])
def test_bad_parameters_of_delta_are_refused(bad):
    with pytest.raises(ParameterError):
        central_delta(**{"epsilon0": 1.0, "n": 100, "epsilon": 0.5} | bad)


def test_more_users_amplify_and_the_closed_form_is_weaker():
    found = [shuffled(1.0, n, 1e-6).epsilon for n in (100, 1000, 10_000, 100_000)]

    assert found == sorted(found, reverse=True)
    for n, epsilon in zip((10_000, 100_000), found[2:], strict=True):
        assert epsilon < closed_form(PureDP(1.0), users=n, delta=1e-6).epsilon / 3
        assert shuffled(1.0, n, 1e-6, method="closed form") == closed_form(PureDP(1.0), users=n, delta=1e-6)


def test_the_claim_is_the_least_epsilon_and_is_rounded_up():
    for epsilon0, n in [(0.5, 500), (1, 3000), (3, 20_000)]:
        claim = shuffled(epsilon0, n, 1e-6)

        assert central_delta(epsilon0, n, claim.epsilon) <= 1e-6
        assert central_delta(epsilon0, n, claim.epsilon * (1 - 1e-6)) > 1e-6 * (1 - 1e-3)
        assert claim.neighbours is Replace


def test_too_few_users_leave_the_local_guarantee():
    assert shuffled(1.0, 1, 1e-6).epsilon == pytest.approx(1.0, rel=1e-5)
    assert shuffled(4.0, 20, 1e-9).epsilon == 4.0


def test_randomized_response_among_more_values_has_less_to_tell():
    found = [shuffled(1.0, 10_000, 1e-6, randomizer=RandomizedResponse(epsilon=1, size=k)).epsilon for k in (2, 4, 16)]

    assert found == sorted(found, reverse=True)
    assert found[0] < shuffled(1.0, 10_000, 1e-6).epsilon


def test_hiding_that_the_first_user_is_idle_would_claim_too_little():
    """A twin for three values: others' reports do not hide a first user who sends the third value."""
    a, users, epsilon = 1 / (math.e + 2), 5, 0.8
    worlds: list[dict[tuple[int, int], float]] = [{}, {}]
    for x, y in product(range(users), repeat=2):
        if x + y < users:
            ways = math.factorial(users - 1) / math.prod(map(math.factorial, (x, y, users - 1 - x - y)))
            chance = ways * a ** (x + y) * (1 - 2 * a) ** (users - 1 - x - y)
            for world, (one, two) in zip(worlds, [(math.e * a, a), (a, math.e * a)], strict=True):
                for key, part in [((x + 1, y), one), ((x, y + 1), two), ((x, y), 1 - one - two)]:
                    world[key] = world.get(key, 0.0) + chance * part
    twin = sum(max(0.0, p - math.exp(epsilon) * worlds[1].get(z, 0.0)) for z, p in worlds[0].items())
    brute = _shuffled_delta(RandomizedResponse(epsilon=1, size=3), users, epsilon)

    assert twin < 0.6 * brute <= central_delta(1, users, epsilon, values=3)


@pytest.mark.parametrize(
    "bad",
    [{"epsilon0": 0}, {"epsilon0": math.nan}, {"n": 0}, {"n": 1.5}, {"delta": 0}, {"delta": 1}, {"method": "magic"}],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ParameterError):
        shuffled(**{"epsilon0": 1.0, "n": 100, "delta": 1e-6} | bad)


def test_a_randomizer_of_a_larger_epsilon_is_refused():
    with pytest.raises(ParameterError, match="epsilon0 of the randomizer"):
        shuffled(1.0, 100, 1e-6, randomizer=RandomizedResponse(epsilon=2, size=2))


def test_a_shuffler_waits_for_all_and_forgets_the_order():
    protocol = RandomizedResponse(epsilon=1, size=4)
    shuffler = Shuffler(protocol, n=1000)
    reports = protocol.client().report(np.arange(1000) % 4, rng=SeededRandom(1))
    shuffler.add(reports[:600])
    with pytest.raises(UnsupportedError, match="wait"):
        shuffler.release()
    shuffler.add(reports[600:])
    with pytest.raises(UnsupportedError, match="start another"):
        shuffler.add([1])
    released = shuffler.release()

    assert Counter(released.tolist()) == Counter(reports.tolist())
    assert not np.array_equal(released, reports)
    assert shuffler.waiting == 0
    assert shuffler.privacy(1e-6) == shuffled(1, 1000, 1e-6, randomizer=protocol)


@pytest.mark.statistical
def test_every_order_is_equally_likely():
    random, runs = SeededRandom(5), 12_000
    seen = Counter(tuple(permutation(4, rng=random).tolist()) for _ in range(runs))

    assert len(seen) == 24
    assert chisquare([seen[order] for order in seen]).pvalue > 1e-6


@pytest.mark.parametrize("values", [None, 2, 5])
@pytest.mark.parametrize("epsilon", [0.0005, 0.002])
def test_groups_of_counts_are_above_and_hardly_more_than_all_of_them(monkeypatch, values, epsilon):
    n, local = 300_000, 0.5
    every = central_delta(local, n, epsilon, values=values)
    shuffle._grouped.cache_clear()
    monkeypatch.setattr(shuffle, "COUNTS", 100)
    grouped = central_delta(local, n, epsilon, values=values)
    shuffle._grouped.cache_clear()

    assert every <= grouped <= every * (1 + (0.05 if values == 5 else 0.001))


@pytest.mark.parametrize("chance", [0.001, 0.3, 0.9])
def test_the_groups_hold_all_of_the_window_and_their_probabilities_are_not_too_small(monkeypatch, chance):
    monkeypatch.setattr(shuffle, "COUNTS", 100)
    monkeypatch.setattr(shuffle, "GROUPS", 37)
    first, last, shares, outside = shuffle._grouped.__wrapped__(20_000, chance, 1e-9)
    exact = np.add.reduceat(binom.pmf(np.arange(first[0], last[-1] + 1), 20_000, chance), first - first[0])

    assert (first[1:] == last[:-1] + 1).all()
    assert (shares >= exact * (1 - 1e-9)).all()
    assert 1 - outside <= shares.sum() <= 1 + 1e-6


def test_a_claim_looks_at_as_many_counts_for_many_users_as_for_few(monkeypatch):
    """2, 10 and 56 CPU seconds for 10^7, 10^8 and 10^9 users."""
    looked, tail = [], shuffle._tail
    monkeypatch.setattr(shuffle, "_tail", lambda coins, least: looked.append(len(coins)) or tail(coins, least))
    central_delta(0.5, 10**6, 0.002)
    few = sum(looked)
    looked.clear()
    central_delta(0.5, 10**10, 0.00002)

    assert 0 < sum(looked) <= few


def test_more_users_than_can_be_counted_are_no_worse_than_as_many_as_can():
    crowd = central_delta(0.5, shuffle.CROWD, 1e-6)

    assert central_delta(0.5, 10**18, 1e-6) == crowd < central_delta(0.5, 10**9, 1e-6)
