"""discreet.learning.pac.parity: each claim in the module docstring, in order; the laws are exact, in rationals."""

from fractions import Fraction
from itertools import product
from math import ceil, exp, log, tanh

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from discreet.attacks import audit
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import BitRows, ParityLearner
from discreet.learning.pac import parity as parity_learner
from discreet.privacy.event import PureEvent
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, NullRow, Replace
from tests.scale import counts

RUNS = counts(quick=150, full=2_000)
BOTTOM = None


def universe(d):
    return [(x, y) for x in product((0, 1), repeat=d) for y in (0, 1)]


def parity_law(d, p, r):
    """Rows to the law of one block: every set of kept rows, every solution."""
    vectors = list(product((0, 1), repeat=d))

    def solutions(rows):
        return [h for h in vectors if all(sum(a * b for a, b in zip(h, x, strict=True)) % 2 == y for x, y in rows)]

    def law(rows):
        made = dict.fromkeys([*vectors, BOTTOM], Fraction(0))
        present = [row for row in rows if row is not None]  # the null row is no equation
        for kept in product((False, True), repeat=len(present)):
            chance = (1 - r) * Fraction(1)
            for one in kept:
                chance *= p if one else 1 - p
            found = solutions([row for row, one in zip(present, kept, strict=True) if one])
            for h in found or [BOTTOM]:
                made[h] += chance / max(1, len(found))
        made[BOTTOM] += r
        return made

    return law


def least_abort(p, ratio):
    return p / (ratio - 1 + p)


def ratio(law, d, n, relation):
    return FiniteMechanism.from_function(law, universe=universe(d), n=n, relation=relation).ratio()


@pytest.mark.parametrize(("d", "n"), [(1, 2), (1, 3), (2, 2)])
@pytest.mark.parametrize(("p", "wanted"), [(Fraction(1, 10), Fraction(11, 9)), (Fraction(1, 2), Fraction(3))])
def test_replacing_a_row_costs_exactly_its_epsilon(d, n, p, wanted):
    """The largest ratio over all neighbours is (1 + p) / (1 - p): 11/9 and 3, with the notes' abort and with ours."""
    assert ratio(parity_law(d, p, Fraction(1, 2)), d, n, Replace) == wanted
    assert ratio(parity_law(d, p, least_abort(p, wanted)), d, n, Replace) == wanted


@pytest.mark.parametrize(("d", "n"), [(1, 3), (2, 2)])
@pytest.mark.parametrize("relation", [AddRemove, NullRow])
@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(1, 2), Fraction(2, 3)])
def test_adding_or_nulling_a_row_costs_exactly_its_epsilon(d, n, relation, p):
    assert ratio(parity_law(d, p, least_abort(p, 1 / (1 - p))), d, n, relation) == 1 / (1 - p)


@pytest.mark.parametrize(("relation", "wanted"), [(AddRemove, Fraction(2)), (Replace, Fraction(3))])
def test_the_twin_that_aborts_too_seldom_is_caught(relation, wanted):
    p = Fraction(1, 2)

    assert ratio(parity_law(1, p, least_abort(p, wanted) * Fraction(99, 100)), 1, 2, relation) > wanted


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_the_twin_without_the_abort_step_is_caught(relation):
    """A contradiction is then possible with one dataset only: no epsilon at all."""
    assert ratio(parity_law(1, Fraction(1, 2), Fraction(0)), 1, 2, relation) == float("inf")


def test_the_twin_that_sells_two_epsilon_as_epsilon_is_caught():
    """keep = 1 - e^-epsilon sold under Replace: (1 + p) / (1 - p) = 3 is not e^epsilon = 2."""
    p = Fraction(1, 2)

    assert ratio(parity_law(1, p, Fraction(1, 2)), 1, 2, Replace) == 3 > 1 / (1 - p)


def test_the_notes_rate_costs_more_than_they_say():
    """p = epsilon is not 2 epsilon-DP: ln(11/9) > .2 and ln 3 > 1."""
    assert log(11 / 9) == pytest.approx(0.200671, abs=1e-6)
    assert log(3) > 1


def blocks_law(law, relation, t):
    """The joint law of t blocks of one block's law: by position, or every row by a fair die."""

    def joint(rows):
        made = {}
        places = [tuple(i * t // max(1, len(rows)) for i in range(len(rows)))]
        if relation is AddRemove:
            places = list(product(range(t), repeat=len(rows)))
        for place in places:
            parts = [law(tuple(row for row, i in zip(rows, place, strict=True) if i == j)) for j in range(t)]
            for answers in product(*(part.items() for part in parts)):
                key = tuple(answer for answer, _ in answers)
                chance = Fraction(1, len(places))
                for _, each in answers:
                    chance *= each
                made[key] = made.get(key, Fraction(0)) + chance
        return made

    return joint


@pytest.mark.parametrize(
    ("relation", "wanted"), [(Replace, Fraction(3)), (AddRemove, Fraction(2)), (NullRow, Fraction(2))]
)
def test_two_blocks_cost_what_one_costs(relation, wanted):
    """All answers of all blocks together, d = 1, one row a block."""
    p = Fraction(1, 2)
    law = blocks_law(parity_law(1, p, least_abort(p, wanted)), relation, 2)

    assert ratio(law, 1, 2, relation) == wanted


def test_the_twin_with_blocks_by_position_and_n_private_is_caught():
    """A removed row shifts all later ones: several blocks change at once."""
    p = Fraction(1, 2)
    law = parity_law(1, p, least_abort(p, Fraction(2)))

    def by_position(rows):
        made = {}
        for answers in product(*(law((row,)).items() for row in (*rows, None)[:3] + (None,) * (2 - len(rows)))):
            key, chance = tuple(answer for answer, _ in answers), Fraction(1)
            for _, each in answers:
                chance *= each
            made[key] = made.get(key, Fraction(0)) + chance
        return made

    rows = [((1,), 0), ((1,), 1)]
    table = FiniteMechanism({"all": by_position(rows), "without the first": by_position(rows[1:])},
                            neighbours=[("all", "without the first")])  # fmt: skip

    assert table.ratio() > 2


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 3, 20, 1000])
@pytest.mark.parametrize(("n", "neighbours"), [(None, None), (10, None), (10, NullRow)])
def test_keep_and_abort_are_rounded_toward_privacy(epsilon, n, neighbours):
    learner = ParityLearner(epsilon=epsilon, n=n, neighbours=neighbours)
    keep, abort = learner.keep, learner.abort
    wanted = tanh(epsilon / 2) if learner.relation is Replace else 1 - exp(-epsilon)

    assert 0 < keep < 1
    assert float(keep) == pytest.approx(wanted, rel=1e-12)
    if epsilon <= 20:
        loss = log((1 + keep) / (1 - keep)) if learner.relation is Replace else -log(1 - keep)
        assert loss <= epsilon * (1 + 1e-6)
        assert log(1 - keep + keep / abort) <= epsilon * (1 + 1e-12)


def test_the_probabilities_at_one():
    private, public = ParityLearner(epsilon=1), ParityLearner(epsilon=1, n=10)

    assert float(private.abort) == pytest.approx(1 / (1 + exp(1)))
    assert float(public.keep) == pytest.approx(0.462117, abs=1e-6)
    assert float(public.abort) == pytest.approx(0.211942, abs=1e-6)
    assert public.privacy() == PureDP(1, neighbours=Replace)
    assert private.privacy() == PureDP(1, neighbours=AddRemove)
    assert ParityLearner(epsilon=1, n=10, neighbours=NullRow).privacy() == PureDP(1, neighbours=NullRow)
    assert private.event() == PureEvent(epsilon=1)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "rows",
    [[((1, 0), 1), ((0, 1), 0)], [((1, 1), 1), ((1, 1), 0)], [((0, 0), 1), ((1, 0), 1)], [((1, 1), 1), ((0, 0), 0)]],
    ids=["determined", "contradiction", "impossible row", "null row"],
)
@pytest.mark.parametrize("public", [False, True])
def test_the_learner_follows_the_law_that_was_enumerated(rows, public):
    """2,500 fits of one block; a coin for `keep` a fifth too large would be noticed."""
    learner = ParityLearner(epsilon=Fraction(11, 10), blocks=1, n=2 if public else None)
    bits, labels = np.array([x for x, _ in rows]), np.array([y for _, y in rows])
    rng, drawn = SeededRandom(5), {}
    for _ in range(2500):
        found = learner.fit(bits, labels, rng=rng).parity_
        key = None if found is None else tuple(found.tolist())
        drawn[key] = drawn.get(key, 0) + 1

    def pvalue(p, r):
        expected = {key: float(chance) for key, chance in parity_law(2, p, r)(rows).items() if chance}
        assert set(drawn) <= set(expected)
        return chisquare(
            [drawn.get(key, 0) for key in expected], [2500 * chance for chance in expected.values()]
        ).pvalue

    assert pvalue(learner.keep, learner.abort) > 1e-6
    assert pvalue(learner.keep, learner.abort + Fraction(1, 8)) < 1e-6


def _released(learner):
    """One fit as a number, for the auditor: the vector's only bit, or -1."""

    def release(row, *, rng=None):
        found = learner.fit(np.array([[row[0]]]), np.array([row[1]]), rng=rng).parity_
        return -1 if found is None else int(found[0])

    return release


def _audited(learner, inputs):
    return audit(_released(learner), inputs, samples=counts(quick=4_000, full=100_000), rng=SeededRandom(1))


@pytest.mark.statistical
def test_an_audit_finds_the_epsilon_and_no_more():
    """The rows (1, 1) and (1, 0) show all of it."""
    found = _audited(ParityLearner(epsilon=1, n=1, blocks=1), [(1, 1), (1, 0)])

    assert 0.7 < found.epsilon <= 1


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("coins", "inputs"),
    [
        ((lambda keep, abort: (1 - exp(-1), abort)), [(1, 1), (1, 0)]),
        ((lambda keep, abort: (keep, 0)), [(0, 1), (0, 0)]),
    ],
    ids=["two epsilon sold as epsilon", "no abort step"],
)
def test_an_audit_catches_the_twins(coins, inputs, monkeypatch):
    honest = parity_learner._coins
    monkeypatch.setattr(parity_learner, "_coins", lambda *given: tuple(Fraction(c) for c in coins(*honest(*given))))

    assert _audited(ParityLearner(epsilon=1, n=1, blocks=1), inputs).epsilon > 1


@pytest.mark.statistical
@pytest.mark.parametrize("public", [False, True])
def test_rows_join_blocks_as_the_relation_demands(public):
    """Each row tells one column: which answers know column j tells where row j was."""
    learner = ParityLearner(epsilon=50, blocks=4, n=400 if public else None)
    joined = learner._blocks(400, SeededRandom(1))

    assert sorted(np.concatenate(joined).tolist()) == list(range(400))
    if public:
        assert [block.tolist() for block in joined] == [list(range(100 * j, 100 * j + 100)) for j in range(4)]
    else:
        assert chisquare([len(block) for block in joined]).pvalue > 1e-6
        assert any((np.diff(block) > 1).any() for block in joined)


@pytest.mark.statistical
@pytest.mark.parametrize("public", [False, True])
def test_the_calculators_rows_are_enough(public):
    """d = 20, alpha = .1, beta = .05, epsilon = 1; uniform rows, on which any other parity errs on half."""
    d, beta, alpha = 20, 0.05, 0.1
    first = ParityLearner(epsilon=1, beta=beta, n=1 if public else None)
    left = beta - float(first.abort) ** first.blocks
    each = ceil((d * log(2) + log(1.01 / left)) / (float(first.keep) * alpha))
    n = first.blocks * each
    learner = ParityLearner(epsilon=1, beta=beta, n=n if public else None)
    data, rng, good = np.random.default_rng(0), SeededRandom(0), 0
    for _ in range(RUNS):
        secret, bits = data.integers(0, 2, d), data.integers(0, 2, (n, d))
        found = learner.fit(bits, bits @ secret % 2, rng=rng).parity_
        good += found is not None and bool((found == secret).all())

    assert learner.accuracy(beta, d=d, n=n) <= alpha + 1e-12
    assert binom.cdf(good, RUNS, 1 - beta) > 1e-6
    assert binom.cdf(int(0.8 * RUNS), RUNS, 1 - beta) < 1e-6  # the check has power


def test_the_notes_number_of_rows():
    assert ceil((20 * log(2) + log(1 / 0.05)) / (tanh(0.5) * 0.1)) == 365


@pytest.mark.statistical
def test_no_answer_comes_as_seldom_as_the_blocks_promise():
    """abort^3 on rows that agree: two-sided at 10^-6."""
    learner, rng, runs = ParityLearner(epsilon=1, blocks=3), SeededRandom(2), 3000
    bits = np.eye(3, dtype=int)
    nothing = sum(learner.fit(bits, [1, 0, 1], rng=rng).parity_ is None for _ in range(runs))
    chance = float(learner.abort) ** 3

    assert binom.ppf(5e-7, runs, chance) <= nothing <= binom.isf(5e-7, runs, chance)


def test_four_thousand_rows_of_forty_bits_are_learned():
    data = np.random.default_rng(0)
    secret, bits = data.integers(0, 2, 40), data.integers(0, 2, (4000, 40))
    learner = ParityLearner(epsilon=1.0).fit(bits, bits @ secret % 2)

    assert (learner.parity_ == secret).all()
    assert (learner.predict(bits) == bits @ secret % 2).all()
    assert len(learner.answers_) == learner.blocks
    again = ParityLearner(epsilon=1.0).fit(BitRows.pack(bits), bits @ secret % 2)
    assert (again.parity_ == secret).all()


def test_no_rows_at_all_are_rows_enough_to_draw():
    """Where n is private an empty dataset must answer as any other: a uniform parity, or nothing."""
    drawn = [
        ParityLearner(epsilon=1, blocks=1).fit(np.zeros((0, 2), dtype=int), [], rng=SeededRandom(s)) for s in range(60)
    ]

    assert {None if one.parity_ is None else tuple(one.parity_.tolist()) for one in drawn} == {
        None, (0, 0), (0, 1), (1, 0), (1, 1),
    }  # fmt: skip


def test_the_default_has_blocks_enough():
    for epsilon in (0.01, 1, 5):
        learner = ParityLearner(epsilon=epsilon)
        assert float(learner.abort) ** learner.blocks <= 0.5e-6


def test_wrong_labels_make_blocks_silent_and_nothing_is_predicted():
    bits, labels = np.random.default_rng(0).integers(0, 2, (400, 8)), np.random.default_rng(1).integers(0, 2, 400)
    learner = ParityLearner(epsilon=2.0, blocks=2).fit(bits, labels, rng=SeededRandom(1))

    assert learner.parity_ is None
    with pytest.raises(UnsupportedError, match="every block answered nothing"):
        learner.predict(bits)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ParityLearner(epsilon=0),
        lambda: ParityLearner(epsilon=float("nan")),
        lambda: ParityLearner(epsilon=True),
        lambda: ParityLearner(epsilon=10**6),
        lambda: ParityLearner(epsilon=1, beta=0),
        lambda: ParityLearner(epsilon=1, beta=1),
        lambda: ParityLearner(epsilon=1, blocks=0),
        lambda: ParityLearner(epsilon=1, blocks=True),
        lambda: ParityLearner(epsilon=1, blocks=1.5),
        lambda: ParityLearner(epsilon=1, n=0),
        lambda: ParityLearner(epsilon=1, neighbours=Replace),
        lambda: ParityLearner(epsilon=1, n=5, neighbours=AddRemove),
        lambda: ParityLearner(epsilon=1).fit(np.zeros((3, 2)), [0, 1, 0]),
        lambda: ParityLearner(epsilon=1).fit(np.zeros((3, 2), dtype=int), [0, 1]),
        lambda: ParityLearner(epsilon=1).fit(np.zeros((3, 2), dtype=int), [0.0, 1.0, 0.0]),
        lambda: ParityLearner(epsilon=1, n=4).fit(np.zeros((3, 2), dtype=int), [0, 1, 0]),
        lambda: ParityLearner(epsilon=1).predict([[0, 1]]),
        lambda: ParityLearner(epsilon=1, blocks=1).accuracy(0.05, d=3, n=100),
        lambda: ParityLearner(epsilon=1).accuracy(0.05, d=3),
    ],
)
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
