"""discreet.mechanisms.partition_selection: each claim in the module docstring, in order."""

from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.attacks.confidence import clopper_pearson
from discreet.composition import best
from discreet.composition.price import Price, price
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.partition_selection import PartitionSelection
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import ApproxDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact, up
from tests.scale import counts

TUPLES = counts(quick=150, full=10_000)
CORNERS = [
    (1, 1e-6), (1, 1e-300), (0.01, 1e-9), (5, 1e-12), (1e-9, 0.01), (1e-308, 0.3), (1e308, 1e-308), (20, 0.9),
    (0.001, 1e-12), ("1/3", "1/7"), (700, 0.5), (1, 2.0**-64), (1, "1e-20"),
]  # fmt: skip
epsilons = st.fractions(min_value=Fraction(1, 20), max_value=4, max_denominator=20)
deltas = st.sampled_from([1e-9, 1e-6, 1e-3, 0.1, 0.4, 0.9])


def settings(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield round(10 ** rng.uniform(-1.5, 1), 4), float(f"{10 ** rng.uniform(-15, -0.3):.3g}")


def probabilities(selection):
    """p(0), p(1), ... up to and including the first that is 1, and one more."""
    return [selection.probability(n) for n in range(selection.threshold(1) + 2)]


def factor(epsilon):
    """e^epsilon from below, with 300 digits, or a number so large that a larger one makes no difference."""
    with mpmath.workdps(320):
        power = mpmath.exp(min(mpmath.mpf(exact(epsilon).numerator) / exact(epsilon).denominator, 10**4))
        return Fraction(int(mpmath.floor(power * mpmath.mpf(2) ** 1000)) - 1, 2**1000)


def violations(rule, epsilon, delta):
    """The counts at which one of the four inequalities of the definition fails, in rationals."""
    times, extra = factor(epsilon), exact(delta)

    def bad(p, q):
        return p > times * q + extra or q > times * p + extra

    return [n for n, (p, q) in enumerate(pairwise(rule)) if bad(p, q) or bad(1 - p, 1 - q)]


def closed_form(epsilon, delta, count):
    """The solution of the recursion as its authors give it."""
    with mpmath.workdps(80):
        e, d = (mpmath.mpf(exact(x).numerator) / exact(x).denominator for x in (epsilon, delta))
        grown = mpmath.expm1(e)
        first = 1 + int(mpmath.floor(mpmath.log((grown + 2 * d) / (d * (grown + 2))) / e))

        def rising(n):
            return mpmath.expm1(n * e) / grown * d

        def settling(m):
            return -mpmath.expm1(-m * e) * (1 + d / grown) + mpmath.exp(-m * e) * rising(first)

        return [rising(n) if n <= first else min(mpmath.mpf(1), settling(n - first)) for n in range(count)]


@pytest.mark.parametrize(("epsilon", "delta"), CORNERS)
def test_the_definition_holds_exactly_at_every_count(epsilon, delta):
    rule = probabilities(PartitionSelection(epsilon=epsilon, delta=delta))

    assert rule[0] == 0
    assert rule[-1] == 1
    assert violations(rule, epsilon, delta) == []


def test_the_definition_holds_exactly_whatever_the_parameters():
    for epsilon, delta in settings(1, TUPLES):
        rule = probabilities(PartitionSelection(epsilon=epsilon, delta=delta))

        assert rule[0] == 0
        assert violations(rule, epsilon, delta) == []


@pytest.mark.parametrize(("epsilon", "delta"), [*CORNERS[:4], *settings(2, 40)])
def test_no_count_can_be_released_with_more_probability(epsilon, delta):
    """A part in 2^50 more at any one count breaks the definition there: the twin of a rule rounded up."""
    rule = probabilities(PartitionSelection(epsilon=epsilon, delta=delta))
    for n in range(1, len(rule) - 2):
        more = min(Fraction(1), rule[n] * (1 + Fraction(1, 2**50)))

        assert violations([rule[n - 1], more], epsilon, delta) == [0]


@given(epsilons, deltas)
def test_the_rule_is_the_closed_form_to_a_part_in_2_to_the_60(epsilon, delta):
    rule = probabilities(PartitionSelection(epsilon=epsilon, delta=delta))
    for ours, theirs in zip(rule, closed_form(epsilon, delta, len(rule)), strict=True):
        with mpmath.workdps(80):
            value = mpmath.mpf(ours.numerator) / ours.denominator

            assert value <= theirs * (1 + mpmath.mpf(2) ** -200)
            assert value >= theirs * (1 - mpmath.mpf(2) ** -60)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-3), (0.3, 0.01), (2, 0.2)])
def test_a_linear_program_finds_nothing_better(epsilon, delta):
    """All rules with p(0) = 0 that keep the definition, and the largest sum of probabilities among them."""
    size, times = 40, float(np.exp(epsilon))
    steps = np.eye(size, k=1)[:-1], np.eye(size)[:-1]
    up_, down = steps[0] - times * steps[1], times * steps[0] - steps[1]
    rules = np.vstack([up_, -times * steps[0] + steps[1], down, -steps[0] + times * steps[1]])
    bounds = np.concatenate([np.full(2 * (size - 1), delta), np.full(2 * (size - 1), times - 1 + delta)])
    found = linprog(-np.ones(size), A_ub=rules, b_ub=bounds, bounds=[(0, 0)] + [(0, 1)] * (size - 1))
    selection = PartitionSelection(epsilon=epsilon, delta=delta)

    assert -found.fun == pytest.approx(sum(float(selection.probability(n)) for n in range(size)), rel=1e-6)


@pytest.mark.parametrize("groups", [2, 3])
def test_a_unit_in_several_groups_is_covered_and_ignoring_them_is_caught(groups):
    """The joint law of all keys, enumerated; the twin spends the whole budget on each key."""
    epsilon, delta = 1, Fraction(1, 10)

    def joint(selection):
        table = {
            units: {
                flags: float_free(selection, units, flags) for flags in product((False, True), repeat=groups)
            }
            for units in product(range(4), repeat=groups)
        }  # fmt: skip
        moves = [move for move in product((0, 1), repeat=groups) if any(move)]
        pairs = [
            (units, there)
            for units in table
            for move in moves
            if (there := tuple(n + m for n, m in zip(units, move, strict=True))) in table
        ]
        return FiniteMechanism(table, neighbours=pairs)

    def float_free(selection, units, flags):
        chances = (selection.probability(n) for n in units)
        return Fraction(np.prod([p if flag else 1 - p for p, flag in zip(chances, flags, strict=True)]))

    honest = joint(PartitionSelection(epsilon=epsilon, delta=delta, groups_per_unit=groups))
    twin = joint(PartitionSelection(epsilon=epsilon, delta=delta))

    assert delta * Fraction(9, 10) < exact(honest.delta(epsilon)) <= delta
    assert exact(twin.delta(epsilon)) > delta * Fraction(3, 2)


def test_an_exact_verification_finds_the_stated_delta():
    for epsilon, delta in [(1, 1e-3), (0.5, 1e-9), (3, 0.1)]:
        rule = probabilities(PartitionSelection(epsilon=epsilon, delta=delta))
        table = {n: {True: p, False: 1 - p} for n, p in enumerate(rule)}
        found = exact(FiniteMechanism(table, neighbours=[(n, n + 1) for n in range(len(rule) - 1)]).delta(epsilon))

        assert exact(delta) * (1 - Fraction(1, 10**9)) < found <= exact(delta) * (1 + Fraction(1, 10**25))


@pytest.mark.parametrize("name", ["twice the delta", "one unit too soon", "epsilon too large", "a sharp threshold"])
def test_broken_rules_are_caught(name):
    epsilon, delta = 1, Fraction(1, 1000)
    rule = probabilities(PartitionSelection(epsilon=epsilon, delta=delta))
    twin = {
        "twice the delta": [Fraction(0), 2 * delta, *rule[2:]],
        "one unit too soon": [Fraction(0), *rule[2:], Fraction(1)],  # p(n + 1) for p(n)
        "epsilon too large": probabilities(PartitionSelection(epsilon=Fraction(10, 9), delta=delta)),
        "a sharp threshold": [Fraction(n >= 8) for n in range(len(rule))],
    }[name]

    assert violations(rule, epsilon, delta) == []
    assert violations(twin, epsilon, delta) != []


@given(epsilons, deltas, st.integers(1, 30))
def test_a_key_of_too_few_units_is_never_released(epsilon, delta, least):
    plain = PartitionSelection(epsilon=epsilon, delta=delta)
    strict = PartitionSelection(epsilon=epsilon, delta=delta, least=least)

    assert [strict.probability(n) for n in range(-2, least)] == [0] * (least + 2)
    assert [strict.probability(least + m) for m in range(5)] == [plain.probability(1 + m) for m in range(5)]
    assert strict.threshold(0.7) == plain.threshold(0.7) + least - 1


@pytest.mark.statistical
def test_keys_that_nobody_holds_never_appear():
    selection = PartitionSelection(epsilon=10, delta=0.9)
    nobody = np.zeros(1_000_000, dtype=int)

    assert not selection(nobody, rng=SeededRandom(1)).any()
    assert not selection(nobody - 5, rng=SeededRandom(2)).any()
    assert not PartitionSelection(epsilon=10, delta=0.9, least=7)(nobody + 6, rng=SeededRandom(3)).any()


class Words:
    """A source that plays these words."""

    secure = False

    def __init__(self, *words):
        self.left = list(words)

    def bits(self, count):
        assert count == 64
        return self.left.pop(0)

    def words(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        return np.array(taken, dtype=np.uint64)


@pytest.mark.parametrize("count", [1, 5, 14, 20, 27])
@pytest.mark.parametrize("array", [False, True])
def test_a_draw_is_compared_with_every_bit_of_the_probability(count, array):
    """A key is released iff the first 128 bits drawn are below 2^128 p: `<=` for `<` would fail the last line."""
    selection, places = PartitionSelection(epsilon=1, delta=1e-6), 2**64
    level = selection.probability(count) * 2**128

    def released(bits):
        value = np.array([count]) if array else count
        return bool(np.all(selection(value, rng=Words(bits // places, bits % places))))

    assert level.denominator == 1
    assert released(0)
    assert released(int(level) - 1)
    assert not released(int(level))
    assert not released(2**128 - 1)


def test_certainty_and_impossibility_need_no_luck():
    selection, most = PartitionSelection(epsilon=1, delta=1e-6), 2**64 - 1
    sure = selection.threshold(1)

    assert selection(np.array([sure, sure + 1, 2**62]), rng=Words(most, most, most, 0)).all()
    assert not selection(np.zeros(3, dtype=int), rng=Words(0, 0, 0)).any()
    assert selection(sure, rng=Words(most)) is True
    assert selection(0, rng=Words(0)) is False


@pytest.mark.statistical
def test_keys_are_released_as_often_as_stated():
    """Failure probability 1e-6 a count; the twin of one unit more is seen."""
    selection, runs = PartitionSelection(epsilon=1, delta=1e-3), 200_000
    for n in range(1, selection.threshold(1)):
        hits = int(selection(np.full(runs, n), rng=SeededRandom(n)).sum())
        low, high = clopper_pearson(hits, runs, beta=1e-6)

        assert low <= selection.probability(n) <= high
        assert not low <= selection.probability(n + 1) <= high


@pytest.mark.statistical
def test_singletons_are_named_with_probability_delta():
    """A hundred thousand keys held by one unit each; a twin that named them twice as often would be seen."""
    runs, delta = 100_000, 1e-3

    def shown(selection):
        hits = int(selection(np.ones(runs, dtype=int), rng=SeededRandom(7)).sum())
        return clopper_pearson(hits, runs, beta=1e-6)

    low, high = shown(PartitionSelection(epsilon=1, delta=delta))
    twin, _ = shown(PartitionSelection(epsilon=1, delta=2 * delta))

    assert low <= delta <= high
    assert twin > delta


def test_the_order_of_the_keys_tells_nothing_but_the_keys():
    """A thousand orders of the input; the twin that keeps the order of a group-by shows them all."""
    selection, rng = PartitionSelection(epsilon=1, delta=1e-6), np.random.default_rng(3)
    keys = [*(f"city {i}" for i in range(30)), 9, 10, -1, None, True, 2.5, float("nan"), b"x", ("a", None), ("a", "b")]
    orders, twins = set(), set()
    for _ in range(1000):
        shuffled = [keys[i] for i in rng.permutation(len(keys))]
        orders.add(str(selection.select(dict.fromkeys(shuffled, 1000), rng=SeededRandom(1))))
        twins.add(str(shuffled))

    assert len(orders) == 1
    assert len(twins) == 1000
    assert selection.select(dict(zip("dacb", (90, 0, 70, 80), strict=True))) == ["b", "c", "d"]


@given(epsilons, deltas, st.integers(1, 4), st.floats(1e-6, 0.9))
def test_accuracy_is_the_least_count_that_is_hardly_missed(epsilon, delta, groups, beta):
    selection = PartitionSelection(epsilon=epsilon, delta=delta, groups_per_unit=groups)
    least = selection.accuracy(beta)

    assert selection.probability(least) >= 1 - exact(beta)
    assert selection.probability(least - 1) < 1 - exact(beta)


def test_its_price_in_zcdp_is_that_of_many_small_releases():
    selection = PartitionSelection(epsilon=0.6, delta=1e-6, groups_per_unit=30)

    assert selection.privacy() == ApproxDP(0.6, 1e-6, neighbours=AddRemove)
    assert price(selection.event()) == Price(Fraction(3, 5), Fraction(36, 100) / 60, Fraction(1, 10**6))
    assert best([selection.event()], delta=1e-5).epsilon < 0.5


def test_selecting_and_then_counting_costs_the_sum():
    """Both steps enumerated, the second on whatever keys came out; the twin counts as if a unit held one key."""
    chosen, half = PartitionSelection(epsilon=1, delta=0.1, groups_per_unit=2), Fraction(1, 2)
    sure = chosen.threshold(1)
    tables = list(product((0, 1, sure, sure + 1), repeat=2))
    near = {(n, n) for n in (0, 1, sure, sure + 1)} | {(0, 1), (sure, sure + 1)}
    pairs = [(a, b) for a in tables for b in tables if a != b and set(zip(a, b, strict=True)) <= near]

    def noisy(n, ratio):
        """n plus noise Pr[z] ~ ratio^|z|, of which only the place among 1, 2, sure and sure + 1 is shown."""
        below = [_geometric_below(place - n, ratio) for place in (1, 2, sure, sure + 1)]
        return dict(enumerate(b - a for a, b in pairwise([Fraction(0), *below, Fraction(1)])))

    def counted(ratio):
        def second(flags):
            def law(units):
                shown = [noisy(n, ratio) if flag else {None: 1} for n, flag in zip(units, flags, strict=True)]
                return {(a, b): p * q for a, p in shown[0].items() for b, q in shown[1].items()}

            return FiniteMechanism({units: law(units) for units in tables}, neighbours=pairs)

        return second

    def named(m, n):
        p, q = chosen.probability(m), chosen.probability(n)
        return {(a, b): (p if a else 1 - p) * (q if b else 1 - q) for a in (False, True) for b in (False, True)}

    first = FiniteMechanism({(m, n): named(m, n) for m, n in tables}, neighbours=pairs)
    total = up(1 + 2 * np.log(2))  # a unit is in two keys, and in each the counts cost ln 2

    assert first.compose(counted(half)).delta(total) <= 0.1
    assert first.compose(counted(half**2)).delta(total) > 0.1


def _geometric_below(k, ratio):
    """Pr[Z < k] for Pr[Z = z] ~ ratio^|z|."""
    return ratio ** (1 - k) / (1 + ratio) if k <= 0 else 1 - ratio**k / (1 + ratio)


def test_shapes_types_and_sizes():
    selection = PartitionSelection(epsilon=1, delta=1e-6)

    assert selection(np.zeros((2, 3), dtype=np.int8)).shape == (2, 3)
    assert selection([0, 2**80]).tolist() == [False, True]
    assert selection(np.array([-(2**63), 2**63 - 1])).tolist() == [False, True]
    assert selection(2**80) is True
    assert selection(-(2**80)) is False
    assert selection(np.empty(0, dtype=int)).size == 0
    assert selection.select({}) == []
    assert PartitionSelection(epsilon=1, delta=1e-6, least=2**63 - 1)(np.array([2**63 - 2])).tolist() == [False]


@pytest.mark.parametrize(
    "bad",
    [
        {"groups_per_unit": 0}, {"groups_per_unit": True}, {"groups_per_unit": 1.0}, {"least": 0}, {"least": 2.0},
        {"least": 2**63}, {"delta": 0}, {"epsilon": 1e-9, "delta": 1e-9}, {"groups_per_unit": 10**9},
    ],
    ids=str,
)  # fmt: skip
def test_rejects_bad_parameters(bad):
    with pytest.raises(ParameterError, match="need"):
        PartitionSelection(**({"epsilon": 1, "delta": 1e-6} | bad))


@pytest.mark.parametrize("probability", [0, -1, 2, float("nan"), True])
def test_rejects_what_is_no_probability(probability):
    with pytest.raises(ParameterError, match="need"):
        PartitionSelection(epsilon=1, delta=1e-6).threshold(probability)
