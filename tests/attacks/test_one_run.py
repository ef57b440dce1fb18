"""discreet.attacks.one_run: valid at every epsilon and delta, and toothless where it says so."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.attacks import audit_one_run
from discreet.attacks.one_run import chance, one_run_bound
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Local, Replace
from tests.scale import counts


def gaussian_canaries(mu, m, seed):
    """Each canary alone behind Gaussian noise: the whole is mu-GDP for every one of them."""
    rng = np.random.default_rng(seed)
    coins = rng.random(m) < 0.5
    return coins + rng.normal(0, 1 / mu, m), coins


def theirs(right, guesses, canaries, epsilon, delta):
    """The bound as it was published, with its factor 2 m delta."""
    q = 1 / (1 + math.exp(-epsilon))
    sums = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, q))
    alpha = (sums / np.arange(1, right + 1)).max()
    return binom.sf(right - 1, guesses, q) + 2 * canaries * delta * alpha


def transcript(m, epsilon, delta):
    """An (epsilon, delta)-DP mechanism on m coins that guesses all: each by randomized response, or, with
    probability delta, all of them at once as they are; its law over guesses, for every setting of the coins."""
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    cube = list(itertools.product((0, 1), repeat=m))
    law = {}
    for coins in cube:
        law[coins] = {
            guess: (1 - delta) * math.prod(q if a == b else 1 - q for a, b in zip(coins, guess, strict=True))
            + delta * (guess == coins)
            for guess in cube
        }
    return cube, law


@pytest.mark.parametrize("m", [2, 4, 6])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.1])
def test_the_theorem_holds_on_every_setting_of_a_few_coins(m, epsilon, delta):
    """By enumeration, for a mechanism that fails for all canaries at once."""
    cube, law = transcript(m, epsilon, delta)
    for v in range(1, m + 1):
        happens = sum(
            law[coins][guess] / len(cube)
            for coins in cube
            for guess in cube
            if sum(a == b for a, b in zip(coins, guess, strict=True)) >= v
        )

        assert happens <= chance(v, m, m, epsilon=epsilon, delta=delta) + 1e-12


def test_the_mechanism_of_that_enumeration_keeps_what_it_claims_and_needs_it():
    cube, law = transcript(4, 0.5, 0.1)
    pairs = [(a, b) for a in cube for b in cube if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
    found = FiniteMechanism(law, neighbours=pairs)

    assert 0.09 < float(found.delta(0.5)) <= 0.1 + 1e-9


def test_without_the_term_of_delta_the_enumeration_refutes_it():
    """The broken twin: the pure bound sold for delta = 0.1."""
    cube, law = transcript(6, 0.0, 0.1)
    all_right = sum(law[coins][coins] for coins in cube) / len(cube)

    assert all_right > chance(6, 6, 6, epsilon=0.0, delta=0.0)
    assert all_right <= chance(6, 6, 6, epsilon=0.0, delta=0.1)


def published(right, guesses, canaries, *, delta, beta):
    """The largest epsilon of a grid whose published bound is at most beta."""
    refuted = [epsilon for epsilon in np.arange(0, 9, 0.05) if theirs(right, guesses, canaries, epsilon, delta) <= beta]
    return max(refuted, default=0.0)


@pytest.mark.parametrize("m", [200, 1000, 5000])
@pytest.mark.parametrize("part", [1, 4])
@pytest.mark.parametrize("delta", [0, 1e-5, 1e-4])
def test_shows_no_less_than_the_published_bound_at_small_deltas(m, part, delta):
    guesses = m // part
    for right in range(guesses // 2, guesses + 1, guesses // 10):
        shown = one_run_bound(right, guesses, m, delta=delta, beta=0.05)

        assert shown >= published(right, guesses, m, delta=delta, beta=0.05) - 1e-9


def test_may_show_less_than_the_published_bound_at_a_delta_of_a_thousandth():
    """5,000 canaries: where the term for delta alone is above beta at every epsilon that the counts refute."""
    shown = {right: one_run_bound(right, 1250, 5000, delta=1e-3, beta=0.05) for right in (1075, 1250)}

    assert shown[1075] == 0 < 0.9 < published(1075, 1250, 5000, delta=1e-3, beta=0.05)
    assert shown[1250] > published(1250, 1250, 5000, delta=1e-3, beta=0.05)


@pytest.mark.parametrize(
    ("m", "delta", "beta", "alone"),
    [(5000, 1e-5, 0.05, True), (5000, 1e-4, 0.05, True), (5000, 1e-3, 0.05, False), (20_000, 1e-4, 0.005, False)],
)
def test_perfect_guesses_show_what_they_can_even_if_a_promise_of_0_is_not_refuted_alone(m, delta, beta, alone):
    """Scanned upwards from 0, until the first epsilon that is not refuted, the last two would show nothing."""
    shown = one_run_bound(m, m, m, delta=delta, beta=beta)

    assert (chance(m, m, m, epsilon=0, delta=delta) <= beta) == alone
    assert 0 <= math.log(m / math.log(1 / beta)) - shown < 0.02


@pytest.mark.parametrize("delta", [0, 1e-5, 1e-4, 1e-3])
def test_more_right_guesses_never_show_less(delta):
    """What makes it valid to look for the largest epsilon that is refuted: the events are nested."""
    shown = [one_run_bound(right, 1000, 1000, delta=delta, beta=0.05) for right in range(500, 1001, 25)]

    assert shown == sorted(shown)
    assert shown[0] == 0 < shown[-1]


def test_the_bound_is_where_the_probability_crosses_beta():
    for right, guesses, canaries, delta in (
        (75, 100, 100, 0), (290, 312, 5000, 1e-5), (4000, 5000, 5000, 1e-6), (5000, 5000, 5000, 1e-3)
    ):  # fmt: skip
        found = one_run_bound(right, guesses, canaries, delta=delta, beta=0.05)

        assert chance(right, guesses, canaries, epsilon=found, delta=delta) <= 0.05
        assert all(
            chance(right, guesses, canaries, epsilon=found + more, delta=delta) > 0.05 for more in (0.001, 0.01, 0.5, 2)
        )


@pytest.mark.statistical
def test_exceeds_the_truth_no_more_often_than_beta_says():
    """Randomized response with epsilon = 1, at beta = 0.1: more than 10 % + 5 sigma above 1 would be a bug."""
    runs = counts(quick=100, full=1000)

    def found(seed):
        rng = np.random.default_rng(seed)
        coins = rng.random(400) < 0.5
        told = coins ^ (rng.random(400) < 1 / (1 + math.e))
        return audit_one_run(told + rng.random(400) / 2, coins, delta=0, beta=0.1).epsilon

    above = sum(found(seed) > 1 for seed in range(runs))

    assert above <= 0.1 * runs + 5 * math.sqrt(runs * 0.1 * 0.9)


@pytest.mark.statistical
def test_choosing_the_number_of_guesses_after_seeing_them_right_would_invent_a_leak():
    """The broken twin of the shared risk: pure noise, and the best of all numbers of guesses."""

    def fooled(seed):
        rng = np.random.default_rng(seed)
        scores, coins = rng.random(64), rng.random(64) < 0.5
        return max(audit_one_run(scores, coins, delta=0, beta=0.3, guesses=r).epsilon for r in range(4, 65, 2)) > 0

    runs = 100

    assert sum(fooled(seed) for seed in range(runs)) > 45

    def honest(seed):
        rng = np.random.default_rng(seed)
        return audit_one_run(rng.random(64), rng.random(64) < 0.5, delta=0, beta=0.3).epsilon > 0

    assert sum(honest(seed) for seed in range(runs)) <= 30


@pytest.mark.statistical
@pytest.mark.parametrize(("mu", "low", "high"), [(0.5, 0.5, 1.3), (1, 1.6, 2.4), (2, 3.2, 4.6)])
def test_shows_less_than_half_of_what_is_claimed(mu, low, high):
    """5,000 canaries at delta = 1e-5: of 1.99 about 0.9, of 4.38 about 2, of 10.0 about 3.9."""
    found = np.mean([audit_one_run(*gaussian_canaries(mu, 5000, seed), delta=1e-5).epsilon for seed in range(3)])
    claimed = float(GaussianDP(mu).to_approx(1e-5).epsilon)

    assert low < found < high
    assert found < claimed / 2


@pytest.mark.statistical
def test_has_no_teeth_at_large_epsilon():
    """A third of the noise, sold as (10, 1e-5), passes even where every guess is right; at 1.99 it is caught."""
    claims = {mu: GaussianDP(mu).to_approx(1e-5) for mu in (0.5, 2)}
    small, large = (audit_one_run(*gaussian_canaries(3 * mu, 5000, 1), delta=1e-5) for mu in (0.5, 2))
    perfect = audit_one_run(np.arange(5000.0), np.arange(5000) >= 2500, delta=1e-5)

    assert small.violates(claims[0.5])
    assert not large.violates(claims[2])
    assert 6 < perfect.epsilon < math.log(5000 / math.log(1 / 0.05)) < 7.5
    assert not perfect.violates(claims[2])


def test_names_what_was_guessed():
    found = audit_one_run(np.arange(100.0), np.arange(100) >= 50, delta=0, guesses=20)

    assert (found.guesses, found.right, found.canaries) == (20, 20, 100)
    assert found.violates(PureDP(0.5))


@pytest.mark.parametrize("relation", [Replace, Local])
def test_a_promise_about_rows_that_are_replaced_is_not_judged_by_canaries_in_or_out(relation):
    found = audit_one_run(np.arange(100.0), np.arange(100) >= 50, delta=0)

    with pytest.raises(UnsupportedError, match=relation.__name__):
        found.violates(PureDP(0.5, neighbours=relation))
    assert found.violates(PureDP(0.5, neighbours=AddRemove))


COINS = np.arange(40) % 2 == 0


@pytest.mark.parametrize(
    "bad",
    [{"included": COINS.astype(int)}, {"included": COINS[:20]}, {"scores": np.full(40, math.nan)}, {"delta": 1},
     {"delta": -0.1}, {"beta": 0}, {"beta": math.nan}, {"guesses": 0}, {"guesses": 41}, {"guesses": 2.0},
     {"guesses": True}, {"scores": np.ones((40, 1))}],
    ids=lambda bad: str(list(bad)),
)  # fmt: skip
def test_bad_input_is_refused(bad):
    with pytest.raises(ParameterError):
        audit_one_run(**({"scores": np.arange(40.0), "included": COINS, "delta": 0} | bad))
