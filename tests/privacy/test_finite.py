"""discreet.privacy.finite: the verifier against the definition, and the worked examples of the notes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations, product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import AddRemove, ApproxDP, FiniteMechanism, Local, Replace
from discreet.privacy.number import exact, up
from discreet.privacy.sensitivity import local
from tests.privacy.election import CANDIDATES, election, plurality
from tests.scale import counts
from tests.work import calls

COUNT = counts(quick=60, full=1000)
COIN = {0: {0: Fraction(3, 4), 1: Fraction(1, 4)}, 1: {0: Fraction(1, 4), 1: Fraction(3, 4)}}


@st.composite
def tables(draw, *, inputs=3, outputs=4, least=0):
    """Small tables of rationals, zeros included unless `least` is 1; all inputs are neighbours."""
    weights = st.lists(st.integers(least, 6), min_size=outputs, max_size=outputs).filter(any)
    rows = [draw(weights) for _ in range(inputs)]
    table = {x: {y: Fraction(w, sum(row)) for y, w in enumerate(row)} for x, row in enumerate(rows)}
    return FiniteMechanism(table, neighbours=combinations(range(inputs), 2))


def events(outputs):
    return chain.from_iterable(combinations(outputs, k) for k in range(len(outputs) + 1))


def largest_excess(mechanism, factor):
    """The definition: the largest Pr[M(x) in T] - factor Pr[M(x') in T] over all pairs and all 2^outputs events."""
    laws = {x: mechanism.law(x) for x in mechanism.inputs}
    return max(
        sum(laws[a][y] for y in event) - factor * sum(laws[b][y] for y in event)
        for a, b in mechanism.neighbours
        for event in events(mechanism.outputs)
    )


def response(epsilon):
    """Randomized response whose probabilities are decimals with 50 digits."""
    with mpmath.workdps(60):
        p = Fraction(mpmath.nstr(1 / (1 + mpmath.exp(-mpmath.mpf(str(epsilon)))), 50))
    return FiniteMechanism({0: {0: p, 1: 1 - p}, 1: {0: 1 - p, 1: p}}, neighbours=[(0, 1)])


@settings(max_examples=COUNT)
@given(tables())
def test_delta_is_the_largest_excess_over_all_events(mechanism):
    assert exact(mechanism.delta(0)) == largest_excess(mechanism, 1)
    for epsilon in (0.1, 1, 3):
        with mpmath.workdps(50):
            factor = Fraction(mpmath.nstr(mpmath.exp(mpmath.mpf(str(epsilon))), 45))
        truth = largest_excess(mechanism, factor)
        assert 0 <= exact(mechanism.delta(epsilon)) - truth <= Fraction(1, 10**15) + truth / 10**15


@settings(max_examples=COUNT)
@given(tables())
def test_epsilon_is_the_logarithm_of_the_largest_ratio(mechanism):
    ratios = []
    for a, b in mechanism.neighbours:
        for y, p in mechanism.law(a).items():
            q = mechanism.law(b)[y]
            if p:
                ratios.append(p / q if q else math.inf)

    assert mechanism.ratio() == max(ratios)
    if mechanism.ratio() < math.inf:
        assert mechanism.delta(mechanism.epsilon()) == 0
        assert mechanism.epsilon() == pytest.approx(math.log(max(ratios)), rel=1e-14)
    else:
        assert mechanism.epsilon() == math.inf


@settings(max_examples=COUNT)
@given(tables(), st.fractions(min_value=0, max_value=1, max_denominator=60))
def test_epsilon_at_delta_is_the_least_that_holds(mechanism, delta):
    epsilon = mechanism.epsilon_at(delta)

    if epsilon == math.inf:
        assert exact(mechanism.delta(math.inf)) > delta
    else:
        assert exact(mechanism.delta(epsilon)) <= exact(up(delta))  # delta() itself is rounded up
        if epsilon > 0:
            assert exact(mechanism.delta(epsilon * (1 - 1e-12))) > delta
    assert mechanism.epsilon_at(0) == mechanism.epsilon()


@settings(max_examples=COUNT)
@given(tables(), st.sampled_from([None, 0, 0.5, 2, math.inf]))
def test_the_witness_attains_what_is_claimed(mechanism, epsilon):
    witness = mechanism.witness(epsilon)
    a, b = witness.inputs
    masses = tuple(sum((mechanism.law(x)[y] for y in witness.event), Fraction(0)) for x in (a, b))

    assert (a, b) in mechanism.neighbours
    assert masses == witness.probabilities
    if epsilon is None:
        assert masses[0] / masses[1] == mechanism.ratio() if masses[1] else mechanism.ratio() == math.inf
    elif epsilon == math.inf:
        assert masses == (exact(mechanism.delta(math.inf)), 0)
    else:
        excess = float(masses[0]) - math.exp(epsilon) * float(masses[1])
        assert excess == pytest.approx(float(mechanism.delta(epsilon)), abs=1e-12)


def test_randomized_response_with_three_quarters_has_epsilon_ln_3():
    coin = FiniteMechanism(COIN, neighbours=[(0, 1)])

    assert coin.ratio() == 3
    assert coin.epsilon() == pytest.approx(math.log(3), abs=1e-15)
    assert exact(coin.epsilon()) >= Fraction("1.0986122886681096913952452369225")
    assert coin.delta(0) == 0.5
    assert coin.delta(math.inf) == 0


def test_a_constant_mechanism_is_perfectly_private():
    """(0, 0)-DP says that the outputs have the same law, not that the datasets are the same."""
    constant = FiniteMechanism({x: {"yes": 1} for x in range(4)}, neighbours=combinations(range(4), 2))

    assert constant.epsilon() == 0.0
    assert constant.delta(0) == 0.0
    assert constant.epsilon_at(0) == 0.0


def test_the_identity_is_not_private_at_all():
    identity = FiniteMechanism.from_function(lambda rows: {rows: 1}, universe=(0, 1), n=1, relation=Local)

    assert identity.epsilon() == math.inf
    assert all(identity.delta(epsilon) == 1 for epsilon in (0, 1, 50, 800, 1e308, math.inf))
    assert identity.epsilon_at(0.999) == math.inf
    assert identity.epsilon_at(1) == 0.0


def test_one_plus_epsilon_means_its_logarithm():
    """The first definition in the notes bounds ratios by 1 + epsilon: that is ln(1 + epsilon)-DP."""
    table = {0: {0: Fraction(101, 201), 1: Fraction(100, 201)}, 1: {0: Fraction(100, 201), 1: Fraction(101, 201)}}

    assert FiniteMechanism(table, neighbours=[(0, 1)]).epsilon() == pytest.approx(math.log(1.01), abs=1e-15)
    assert math.exp(0.01) == pytest.approx(1.01005017, abs=1e-8)


def test_the_laws_of_the_election():
    two = election(2)
    split, united = two.law(("Trump", "Legault")), two.law(("Trump", "Trump"))

    assert list(split.values()) == [Fraction(26, 75)] * 2 + [Fraction(23, 225)] * 3
    assert list(united.values()) == [Fraction(17, 25)] + [Fraction(2, 25)] * 4
    assert split["Trudeau"] != Fraction(19, 225)  # as printed in the notes


def test_the_election_without_a_second_vote():
    law = dict.fromkeys(CANDIDATES, Fraction(0))
    for extra in CANDIDATES:
        for name, p in plurality(("Trump", "Legault", extra)).items():
            law[name] += p / 5

    assert law["Trudeau"] == Fraction(1, 15)
    assert law["Trump"] == Fraction(2, 5)


@pytest.mark.parametrize(
    ("n", "ratio", "epsilon"),
    [(1, Fraction(8, 3), 0.980829), (2, Fraction(13, 3), 1.466337), (3, Fraction(44, 3), 2.685577)],
)
def test_an_election_of_at_most_three_is_pure(n, ratio, epsilon):
    assert election(n).ratio() == ratio
    assert election(n).epsilon() == pytest.approx(epsilon, abs=1e-6)
    assert election(n).epsilon() > 0.01  # the answer to the exercise: never (0.01, 0)-DP


def test_the_election_of_two_along_its_curve():
    two = election(2)

    assert two.delta(0) == Fraction(1, 3)
    assert [two.delta(e) for e in (0.01, 0.5, 1)] == pytest.approx([0.330117, 0.214769, 0.129204], abs=1e-6)


@pytest.mark.parametrize(("n", "delta"), [(4, Fraction(33, 250)), (5, Fraction(29, 300)), (6, Fraction(16, 175))])
def test_a_larger_election_rules_rivals_out(n, delta):
    """A unanimous electorate cannot elect a rival."""
    large = election(n)

    assert large.epsilon() == math.inf
    assert exact(large.delta(math.inf)) == delta
    assert large.epsilon_at(delta - Fraction(1, 10**9)) == math.inf
    assert large.epsilon_at(delta) < math.inf


def random_row(rows):
    """A random row with probability a half, and nothing otherwise."""
    law = {None: Fraction(1, 2), 0: Fraction(0), 1: Fraction(0)}
    for row in rows:
        law[row] += Fraction(1, 2 * len(rows))
    return law


def test_statistical_distance_alone_is_no_privacy():
    """delta = 1 / (2n) at every epsilon, and yet a row is published in the clear half of the time."""
    leak = FiniteMechanism.from_function(random_row, universe=(0, 1), n=3, relation=Replace)

    assert leak.delta(0) == leak.delta(math.inf) == Fraction(1, 6)
    assert leak.delta(100.0) == pytest.approx(1 / 6, abs=1e-15)
    assert leak.epsilon() == math.inf


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_group_pays_the_sum_of_deltas(size):
    """Datasets k apart have delta exactly k / (2n); the printed e^(k epsilon) delta would be 1 / (2n)."""
    leak = FiniteMechanism.from_function(random_row, universe=(0, 1), n=4, relation=Replace)

    assert exact(leak.group(size).delta(0)) == Fraction(size, 8)
    assert exact(ApproxDP(0, Fraction(1, 8)).group(size).delta) == Fraction(size, 8)


@settings(max_examples=COUNT)
@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.lists(st.integers(1, 9), min_size=3, max_size=3),
       st.lists(st.integers(1, 9), min_size=3, max_size=3), st.sampled_from([0, 0.25, 1]))  # fmt: skip
def test_group_privacy_holds_on_every_chain(first, second, third, epsilon):
    rows = [{y: Fraction(w, sum(row)) for y, w in enumerate(row)} for row in (first, second, third)]
    chain_of_three = FiniteMechanism(dict(enumerate(rows)), neighbours=[(0, 1), (1, 2)])
    delta = chain_of_three.delta(epsilon)
    factor = 1 + math.exp(epsilon)

    assert float(chain_of_three.group(2).delta(2 * epsilon)) <= float(delta) * factor * (1 + 1e-12)


def test_composition_adds_up_and_is_attained():
    first, second = response(0.3), response(0.7)
    both = first.compose(second)

    assert both.epsilon() == pytest.approx(1.0, abs=1e-15)
    assert both.ratio() == first.ratio() * second.ratio()
    assert both.outputs == tuple(product((0, 1), repeat=2))


@given(tables(inputs=2, outputs=3), tables(inputs=2, outputs=2), tables(inputs=2, outputs=2))
def test_adaptive_composition_never_costs_more_than_the_sum(first, second, third):
    """The second mechanism is chosen by the first output; all events are covered, not only rectangles."""
    both = first.compose(lambda y: second if y else third)
    worst = max(second.epsilon(), third.epsilon())

    assert both.epsilon() <= (first.epsilon() + worst) * (1 + 1e-12)
    assert float(both.delta(0)) <= float(first.delta(0)) + max(float(second.delta(0)), float(third.delta(0))) + 1e-12


@given(tables(), st.lists(st.sampled_from("abc"), min_size=4, max_size=4), st.sampled_from([0, 0.3, 1, math.inf]))
def test_post_processing_is_free(mechanism, names, epsilon):
    after = mechanism.postprocess(lambda y: names[y])
    blurred = mechanism.postprocess(lambda y: {y: Fraction(2, 3), "noise": Fraction(1, 3)})

    for processed in (after, blurred):
        assert processed.ratio() <= mechanism.ratio()
        assert exact(processed.delta(epsilon)) <= exact(mechanism.delta(epsilon))


def geometric(value, *, a, low, high, shift=0):
    """Geometric noise with ratio a, clamped to [low, high]; `shift` names outputs differently."""
    law = {y + shift: (1 - a) / (1 + a) * a ** abs(y - value) for y in range(low + 1, high)}
    law[low + shift] = a ** (value - low) / (1 + a)
    law[high + shift] = a ** (high - value) / (1 + a)
    return law


def test_rounding_that_keeps_outputs_apart_leaves_the_curve_unchanged():
    half = Fraction(1, 2)
    noise = FiniteMechanism({x: geometric(x, a=half, low=-8, high=9) for x in (0, 1)}, neighbours=[(0, 1)])
    renamed = noise.postprocess(lambda y: round(y + 0.25))
    clamped = noise.postprocess(lambda y: max(0, min(1, y)))

    assert noise.ratio() == 2
    for epsilon in (0, 0.1, 0.5, 1):
        assert renamed.delta(epsilon) == noise.delta(epsilon)
        assert clamped.delta(epsilon) == noise.delta(epsilon)  # the optimal event is a half line at 0


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_resampling_until_valid_is_not_post_processing(epsilon):
    """Laplace noise drawn again until the answer is >= 0 loses epsilon + ln(2 - e^-epsilon), below 2 epsilon.

    Discretised on a grid, whose answers are the true values 0 and 1 (sensitivity 1).
    """
    expected = {0.1: 0.190903, 0.5: 0.831797, 1.0: 1.489880}[epsilon]

    def density(y, value):  # Laplace of scale 1 / epsilon, conditioned on y >= 0
        kept = 1 - math.exp(-epsilon * value) / 2
        return epsilon / 2 * math.exp(-epsilon * abs(y - value)) / kept

    grid = np.linspace(0, 30, 3001)
    losses = [abs(math.log(density(y, 0) / density(y, 1))) for y in grid]
    truth = epsilon + math.log(2 - math.exp(-epsilon))

    assert max(losses) == pytest.approx(truth, abs=1e-12)
    assert truth == pytest.approx(expected, abs=1e-6)
    assert epsilon < truth < 2 * epsilon


def test_the_verifier_catches_resampling_on_the_integers():
    """Geometric noise, a = 1/2: clamping at 0 keeps the ratio 2; drawing again until >= 0 raises it to 5/2."""
    a = Fraction(1, 2)
    laws = {x: geometric(x, a=a, low=-60, high=60) for x in (0, 1)}
    clamped = FiniteMechanism(laws, neighbours=[(0, 1)]).postprocess(lambda y: max(0, y))
    resampled = {}
    for x, law in laws.items():
        kept = {y: p for y, p in law.items() if y >= 0}
        resampled[x] = {y: p / sum(kept.values()) for y, p in kept.items()}

    assert clamped.ratio() == 2
    assert float(FiniteMechanism(resampled, neighbours=[(0, 1)]).ratio()) == pytest.approx(2.5, abs=1e-12)


def test_noise_scaled_to_local_sensitivity_leaks():
    """x ~ x1 ~ x2 with q = 0, 0, 10^9: the local sensitivity is 0 at x, so there the answer has no noise."""
    epsilon, far = 1, 10**9
    values = {"x": 0, "x1": 0, "x2": far}
    steps = {"x": ["x1"], "x1": ["x", "x2"], "x2": ["x1"]}
    local_sensitivity = {x: max(abs(values[x] - values[y]) for y in near) for x, near in steps.items()}
    a = exact(math.exp(-epsilon / far))  # geometric noise of scale 10^9 / epsilon at x1, none at x
    zero = (1 - a) / (1 + a)
    leak = FiniteMechanism({"x": {0: 1, "other": 0}, "x1": {0: zero, "other": 1 - zero}}, neighbours=[("x", "x1")])

    assert local_sensitivity == {"x": 0, "x1": far, "x2": far}
    assert leak.epsilon() == math.inf
    assert float(leak.delta(epsilon)) == pytest.approx(1, abs=1e-8)
    assert float(leak.delta(math.inf)) == pytest.approx(1, abs=1e-8)  # seen from x1, every other answer
    point = {"x": {0: 1}, "x1": {k: Fraction(1, 1000) for k in range(1, 1001)}}  # continuous noise misses 0 surely
    assert all(FiniteMechanism(point, neighbours=[("x", "x1")]).delta(e) == 1 for e in (0, 1, 100, 800))


def test_local_sensitivity_reads_the_data():
    def median(rows):
        return sorted(rows)[len(rows) // 2]

    universe = (0, 1, 100)

    assert local(median, (0, 0, 0), universe=universe, relation=Replace) == 0
    assert local(median, (0, 0, 100), universe=universe, relation=Replace) == 100


def test_tables_of_datasets_follow_their_relation():
    """Counting rows exactly, under AddRemove and n at most 2: n is what leaks."""
    count = FiniteMechanism.from_function(lambda rows: {len(rows): 1}, universe="ab", n=2, relation=AddRemove)
    public = FiniteMechanism.from_function(lambda rows: {len(rows): 1}, universe="ab", n=2, relation=Replace)

    assert len(count.inputs) == 6
    assert count.epsilon() == math.inf
    assert public.epsilon() == 0


def test_floats_are_the_decimals_they_print_and_rows_are_scaled():
    third = FiniteMechanism({0: dict.fromkeys("abc", 1 / 3), 1: {"a": 0.5, "b": 0.25, "c": 0.25}}, neighbours=[(0, 1)])

    assert third.law(0) == dict.fromkeys("abc", Fraction(1, 3))
    assert third.ratio() == Fraction(3, 2)
    assert third.delta(0) == Fraction(1, 6)


def test_numbers_too_small_for_floats_are_compared_exactly():
    tiny = Fraction(1, 10**400)
    table = {0: {0: tiny, 1: 1 - tiny}, 1: {0: 3 * tiny, 1: 1 - 3 * tiny}}
    mechanism = FiniteMechanism(table, neighbours=[(0, 1)])

    assert mechanism.ratio() == 3
    assert exact(mechanism.delta(0)) == 2 * tiny
    assert 0 < mechanism.delta(0.5) <= 5e-324
    assert mechanism.delta(800) == 0
    huge = FiniteMechanism({0: {0: tiny, 1: 1 - tiny}, 1: {0: 1 - tiny, 1: tiny}}, neighbours=[(0, 1)])
    assert huge.epsilon() == pytest.approx(400 * math.log(10), rel=1e-14)
    assert huge.delta(800) == pytest.approx(1, abs=1e-15)
    assert huge.delta(922.0) == 0


def test_ties_and_near_ties_are_settled_exactly():
    """Ratios that agree to 25 digits: floating point cannot tell them apart."""
    third, step = Fraction(1, 3), Fraction(1, 10**25)
    table = {k: {0: third + k * step, 1: 1 - third - k * step} for k in range(3)}
    mechanism = FiniteMechanism(table, neighbours=combinations(range(3), 2))

    assert mechanism.ratio() == (third + 2 * step) / third
    assert exact(mechanism.delta(0)) == 2 * step


def test_a_ratio_hidden_by_rounding_is_found():
    """Fifty outputs whose ratios 2 (1 + y 10^-18) all look like 2 give or take a rounding: the last is the largest."""
    rng = np.random.default_rng(5)
    weights = [int(w) for w in rng.integers(10**14, 10**15, size=50)]
    q = {y: Fraction(w, 4 * sum(weights)) for y, w in enumerate(weights)}
    p = {y: 2 * mass * (1 + Fraction(y, 10**18)) for y, mass in q.items()}
    table = {name: law | {"rest": 1 - sum(law.values())} for name, law in (("x", p), ("x'", q))}
    mechanism = FiniteMechanism(table, neighbours=[("x", "x'")])

    assert mechanism.ratio() == 2 + Fraction(2 * 49, 10**18)
    assert mechanism.witness().event == {49}


@pytest.mark.parametrize("largest", range(20))
def test_an_excess_hidden_by_rounding_is_found(largest):
    """Twenty pairs whose excesses agree to 17 digits: floating point puts one of them first at random."""
    rng = np.random.default_rng(6)
    table = {}
    for k in range(20):
        base = Fraction(int(rng.integers(10**14, 10**15)), 10**16)
        moved = base + Fraction(1, 3) + Fraction(k == largest, 10**18)
        table |= {(k, side): {0: mass, 1: 1 - mass} for side, mass in enumerate((base, moved))}
    mechanism = FiniteMechanism(table, neighbours=[((k, 0), (k, 1)) for k in range(20)])

    assert exact(mechanism.delta(0)) == Fraction(1, 3) + Fraction(1, 10**18)
    assert {k for k, _ in mechanism.witness(0).inputs} == {largest}


@settings(max_examples=COUNT)
@given(st.integers(0, 10**6))
def test_the_fast_search_agrees_with_plain_fractions(seed):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(7, 0.3), size=5)
    table = {x: dict(enumerate(row)) for x, row in enumerate(rows.tolist())}
    mechanism = FiniteMechanism(table, neighbours=combinations(range(5), 2))
    laws = [mechanism.law(x) for x in range(5)]
    excess = max(sum(max(Fraction(0), laws[a][y] - laws[b][y]) for y in range(7)) for a, b in mechanism.neighbours)

    assert exact(mechanism.delta(0)) == excess
    if all(min(law.values()) > 0 for law in laws):
        assert mechanism.ratio() == max(laws[a][y] / laws[b][y] for a, b in mechanism.neighbours for y in range(7))


def test_a_million_cells_take_a_few_calls_each():
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.ones(1000), size=1000).tolist()
    laws, pairs = {x: dict(enumerate(row)) for x, row in enumerate(rows)}, [(x, x + 1) for x in range(999)]

    def ask():
        mechanism = FiniteMechanism(laws, neighbours=pairs)
        mechanism.epsilon(), mechanism.delta(0.5), mechanism.epsilon_at(0.1)

    assert calls(ask) < 20_000_000


def test_without_neighbours_nothing_is_told_apart():
    alone = FiniteMechanism({0: {0: 1}}, neighbours=[])

    assert (alone.epsilon(), alone.delta(0), alone.epsilon_at(0)) == (0, 0, 0)
    with pytest.raises(ParameterError, match="at least one pair"):
        alone.witness()


@pytest.mark.parametrize(
    "law",
    [{0: 0.5, 1: 0.4}, {0: 0.5, 1: 0.50001}, {0: Fraction(1, 2), 1: Fraction(1, 2) + Fraction(1, 10**12)},
     {0: -0.5, 1: 1.5}, {0: Fraction(-1, 2), 1: Fraction(3, 2)}, {0: math.nan, 1: 1.0}, {0: math.inf, 1: 0.0},
     {0: True}, {0: "a half", 1: 0.5}, {}],
)  # fmt: skip
def test_rows_that_are_not_laws_are_refused(law):
    with pytest.raises(ParameterError):
        FiniteMechanism({"x": law}, neighbours=[])


def test_bad_questions_are_refused():
    coin = FiniteMechanism(COIN, neighbours=[(0, 1)])

    for bad in (-0.1, math.nan, -math.inf, True, None):
        with pytest.raises(ParameterError):
            coin.delta(bad)
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ParameterError):
            coin.epsilon_at(bad)
    with pytest.raises(ParameterError, match="inputs of the table"):
        FiniteMechanism(COIN, neighbours=[(0, 2)])
    with pytest.raises(ParameterError, match="at least one input"):
        FiniteMechanism({}, neighbours=[])
    with pytest.raises(ParameterError, match="same inputs"):
        coin.compose(FiniteMechanism({0: {0: 1}}, neighbours=[]))


def test_one_direction_only_would_be_caught():
    """The broken twin: pairs taken as given, in one direction, miss half of all violations."""
    table = {"x": {0: Fraction(1)}, "x'": {0: Fraction(1, 2), 1: Fraction(1, 2)}}
    one_way = max(p / table["x'"][y] for y, p in table["x"].items())

    assert one_way == 2
    assert FiniteMechanism(table, neighbours=[("x", "x'")]).epsilon() == math.inf
