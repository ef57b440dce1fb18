"""discreet.learning.pac.amplified and sampled_learner: each claim in the module docstrings, in order."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import Amplified, ParityLearner, Sampled, ThresholdLearner
from discreet.privacy.event import ApproxEvent, PureEvent
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Neighbours, NullRow, Replace

ROWS = [(0, 0), (0, 1)]  # one point, two labels; hypotheses "always" and "never"
HALF = Fraction(1, 2)


def learned(rows):
    """The exponential learner over "always" (0) and "never" (1) at e^-rate = 1/2."""
    weights = [HALF ** sum(y == h for _, y in rows) for h in (0, 1)]
    return {h: w / sum(weights) for h, w in enumerate(weights)}


def amplified(places_of):
    """Two blocks and a holdout: the joint law of both hypotheses and of the choice."""

    def law(rows):
        made = {}
        places = list(places_of(len(rows)))
        for place in places:
            blocks = [[row for row, at in zip(rows, place, strict=True) if at == part] for part in range(3)]
            for (a, p), (b, q) in product(learned(blocks[0]).items(), learned(blocks[1]).items()):
                weights = [HALF ** sum(y == h for _, y in blocks[2]) for h in (a, b)]
                for chosen in (0, 1):
                    key = (a, b, chosen)
                    made[key] = made.get(key, 0) + p * q * weights[chosen] / sum(weights) / len(places)
        return made

    return law


def test_blocks_and_choice_together_cost_no_more_than_either():
    """Every row falls into block 0, block 1 or (twice as likely) the holdout; all datasets of up to 3 rows."""

    def dice(rows):
        return [tuple(min(face, 2) for face in faces) for faces in product(range(4), repeat=rows)]

    table = FiniteMechanism.from_function(amplified(dice), universe=ROWS, n=3, relation=AddRemove)

    assert 1 < table.ratio() <= 2


def test_blocks_by_position_with_n_private_are_caught():
    """The twin: remove the first row, and all later ones move to another block."""

    def position(rows):
        return [tuple(range(rows))]

    table = FiniteMechanism(
        {rows: amplified(position)(rows) for rows in [((0, 0), (0, 1), (0, 0)), ((0, 1), (0, 0))]},
        neighbours=[(((0, 0), (0, 1), (0, 0)), ((0, 1), (0, 0)))],
    )

    assert table.ratio() > 2


def test_rows_fall_where_the_relation_demands():
    x = np.arange(4000)
    learner = Amplified(ThresholdLearner(4000, epsilon=1), blocks=4, epsilon=1)
    *blocks, held = learner._places(4000, SeededRandom(1))
    assert sorted(np.concatenate([*blocks, held]).tolist()) == x.tolist()
    assert chisquare([len(part) for part in (*blocks, held)], [500, 500, 500, 500, 2000]).pvalue > 1e-6

    public = Amplified(ThresholdLearner(4000, epsilon=1), blocks=3, epsilon=1, n=20)
    assert [part.tolist() for part in public._places(20, SeededRandom(1))] == [
        [0, 1, 2], [3, 4, 5], [6, 7, 8], list(range(9, 20)),
    ]  # fmt: skip


def test_the_promise_is_the_weaker_of_the_two():
    base = ThresholdLearner(8, epsilon=1)

    assert Amplified(base, blocks=2, epsilon=0.5).privacy() == PureDP(1, neighbours=AddRemove)
    assert Amplified(base, blocks=2, epsilon=2, n=50).privacy() == PureDP(2, neighbours=Replace)
    approx = Amplified(ThresholdLearner(8, epsilon=1, delta=1e-6), blocks=2, epsilon=2)
    assert approx.privacy() == ApproxDP(2, 1e-6, neighbours=AddRemove)
    assert approx.event() == ApproxEvent(epsilon=2, delta=1e-6)
    assert Amplified(base, blocks=2, epsilon=2).event() == PureEvent(epsilon=2)


@pytest.mark.statistical
@pytest.mark.parametrize("public", [False, True])
def test_a_learner_that_fails_often_fails_seldom_when_amplified(public):
    """Forty rows at epsilon .15 are few for one block; the best of five is within six points far more often."""
    data, rng, n, runs = np.random.default_rng(0), SeededRandom(0), 400, 120
    base = ThresholdLearner(64, epsilon=0.15)
    amplify = Amplified(base, blocks=5, epsilon=2.0, n=n if public else None)
    alone = once = 0
    for _ in range(runs):
        x = data.integers(0, 64, n)
        y = x >= 20
        fitted = amplify.fit(x, y, rng=rng)
        alone += abs(fitted.learners_[0].threshold_ - 20) <= 6
        once += abs(fitted.best_.threshold_ - 20) <= 6

    assert once > alone + 20
    assert binom.sf(once - 1, runs, alone / runs) < 1e-6


def test_the_choice_errs_on_few_rows_of_the_holdout():
    assert Amplified(ThresholdLearner(8, epsilon=1), blocks=5, epsilon=1).accuracy(0.05) == 4
    assert Amplified(ThresholdLearner(8, epsilon=1), blocks=5, epsilon=1, n=40).accuracy(0.05) >= 8


def test_under_replace_the_learner_learns_its_block_size():
    learner = Amplified(ParityLearner(epsilon=1), blocks=2, epsilon=1, n=400)
    bits = np.random.default_rng(0).integers(0, 2, (400, 5))
    learner.fit(bits, bits[:, 0], rng=SeededRandom(3))

    assert [one.n for one in learner.learners_] == [100, 100]
    assert learner.privacy() == PureDP(1, neighbours=Replace)


def sampled_law(rows, q):
    """Each row is kept with probability q."""
    made = {0: Fraction(0), 1: Fraction(0)}
    for kept in product((False, True), repeat=len(rows)):
        chance = Fraction(1)
        for one in kept:
            chance *= q if one else 1 - q
        for h, p in learned([row for row, one in zip(rows, kept, strict=True) if one]).items():
            made[h] += chance * p
    return made


def drawn_law(rows, m):
    """m rows without replacement."""
    made = {0: Fraction(0), 1: Fraction(0)}
    for kept in combinations(rows, m):
        for h, p in learned(kept).items():
            made[h] += p / comb(len(rows), m)
    return made


@pytest.mark.parametrize("q", [Fraction(1, 10), Fraction(1, 3)])
def test_a_sample_costs_what_the_theorem_says(q):
    """The base has e^epsilon0 = 2 under AddRemove and 4 under Replace."""
    poisson = FiniteMechanism.from_function(lambda rows: sampled_law(rows, q), universe=ROWS, n=4, relation=AddRemove)
    drawn = FiniteMechanism.from_function(lambda rows: drawn_law(rows, 1), universe=ROWS, n=4, relation=Replace)

    assert 1 < poisson.ratio() <= 1 + q * (2 - 1)
    assert 1 < drawn.ratio() <= 1 + Fraction(1, 4) * (4 - 1)


def test_the_notes_rate_is_too_large():
    """Randomized response revealed with probability q: at q = epsilon / epsilon0 the loss is .158565, not .1."""
    learner = Sampled(ThresholdLearner(8, epsilon=1.0), epsilon=0.1)

    assert float(learner.rate) == pytest.approx(0.0612070, abs=1e-7)
    assert np.log1p(float(learner.rate) * np.expm1(1)) <= 0.1 + 1e-12
    assert np.log1p(0.1 * np.expm1(1)) == pytest.approx(0.158565, abs=1e-6)
    assert float(Sampled(ThresholdLearner(8, epsilon=1.0), epsilon=0.5).rate) == pytest.approx(0.377541, abs=1e-6)
    assert learner.privacy() == PureDP(0.1, neighbours=AddRemove)
    assert learner.event() == PureEvent(epsilon=Fraction(1, 10))


@pytest.mark.statistical
def test_samples_have_the_law_they_are_paid_for():
    poisson = Sampled(ThresholdLearner(8, epsilon=1.0), epsilon=0.5)
    rng, rate = SeededRandom(1), float(poisson.rate)
    kept = [poisson._sample(20, rng) for _ in range(300)]
    sizes = np.bincount(np.clip([len(sample) for sample in kept], 4, 11), minlength=12)[4:]
    law = binom(20, rate)
    expected = 300 * np.array([law.cdf(4), *law.pmf(np.arange(5, 11)), law.sf(10)])
    inside = np.bincount(np.concatenate(kept), minlength=20)
    assert chisquare(sizes, expected).pvalue > 1e-6
    assert all(binom.ppf(1e-8, 300, rate) <= often <= binom.isf(1e-8, 300, rate) for often in inside)

    drawn = Sampled(ThresholdLearner(8, epsilon=1.0), epsilon=0.5, n=6)
    sets = [tuple(drawn._sample(6, rng).tolist()) for _ in range(3000)]
    assert drawn.rows == 2
    assert chisquare([sets.count(pair) for pair in combinations(range(6), 2)]).pvalue > 1e-6


def test_a_sample_is_learned_from():
    x = np.random.default_rng(0).integers(0, 1000, 8000)
    for n in (None, 8000):
        learner = Sampled(ThresholdLearner(1000, epsilon=1.0), epsilon=0.2, n=n).fit(x, x >= 300, rng=SeededRandom(1))

        assert abs(learner.learner_.threshold_ - 300) < 50
        assert learner.predict([100, 500]).tolist() == [False, True]


class Opaque:
    """A learner that takes no n."""

    def fit(self, x, y, *, rng=None):
        return self

    def predict(self, x):
        return np.asarray(x) >= 0

    def privacy(self):
        return PureDP(1)


def test_a_learner_without_n_serves_where_n_is_private_only():
    x = np.arange(40)

    assert Amplified(Opaque(), blocks=2, epsilon=1).fit(x, x >= 0, rng=SeededRandom(1)).predict([1]).tolist() == [True]
    with pytest.raises(UnsupportedError, match="takes no public n"):
        Amplified(Opaque(), blocks=2, epsilon=1, n=40)


@dataclass(frozen=True)
class Blanking(Opaque):
    """A learner whose promise is for a row that becomes NULL, or for whatever it is told."""

    n: int | None = None
    relation: type[Neighbours] = NullRow
    weaker_below: int = 0

    def privacy(self):
        return PureDP(2 if self.n is not None and self.n < self.weaker_below else 1, neighbours=self.relation)


@pytest.mark.parametrize("n", [None, 100])
@pytest.mark.parametrize("relation", [NullRow, AddRemove, Replace])
@pytest.mark.parametrize("epsilon", [0.5, 3])
def test_a_sample_amplifies_promises_of_its_own_relation_only(n, relation, epsilon):
    """A promise for a blanked row is half of one for a replaced row, and was sold as the whole."""
    covered = AddRemove if n is None else Replace
    if relation is covered:
        assert Sampled(Blanking(relation=relation), epsilon=epsilon, n=n).privacy().neighbours is covered
        return
    with pytest.raises(UnsupportedError, match=f"under {covered.__name__}, and this one is under {relation.__name__}"):
        Sampled(Blanking(relation=relation), epsilon=epsilon, n=n)


def test_a_promise_that_depends_on_the_number_of_rows_is_not_amplified():
    """A sample of 37 of 100 rows would be learned from at epsilon 2, and the rate was computed for 1."""
    with pytest.raises(UnsupportedError, match="every number of rows"):
        Sampled(Blanking(relation=Replace, weaker_below=50), epsilon=0.5, n=100)


def test_an_amplified_learner_runs_on_a_sample():
    x = np.random.default_rng(0).integers(0, 64, 1000)
    base = Amplified(ThresholdLearner(64, epsilon=1), blocks=2, epsilon=1)
    for n in (None, 1000):
        learner = Sampled(base, epsilon=0.5, n=n).fit(x, x >= 20, rng=SeededRandom(1))

        assert learner.privacy() == PureDP(0.5, neighbours=AddRemove if n is None else Replace)
        assert learner.predict([2, 60]).tolist() == [False, True]
    assert [one.n for one in learner.learner_.learners_] == [94, 94]  # a quarter of the 377 drawn
    with pytest.raises(ParameterError, match="n >= 2 blocks"):
        Sampled(base, epsilon=0.5, n=10)  # a sample of three rows


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: Amplified(ThresholdLearner(8, epsilon=1), blocks=1, epsilon=1), ParameterError),
        (lambda: Amplified(ThresholdLearner(8, epsilon=1), blocks=True, epsilon=1), ParameterError),
        (lambda: Amplified(ThresholdLearner(8, epsilon=1), blocks=2, epsilon=0), ParameterError),
        (lambda: Amplified(ThresholdLearner(8, epsilon=1), blocks=2, epsilon=1, n=3), ParameterError),
        (lambda: Amplified(ThresholdLearner(8, epsilon=1), blocks=2, epsilon=1).predict([1]), ParameterError),
        (lambda: Sampled(ThresholdLearner(8, epsilon=1), epsilon=0), ParameterError),
        (lambda: Sampled(ThresholdLearner(8, epsilon=1), epsilon=0.1, n=5), ParameterError),
        (lambda: Sampled(ThresholdLearner(8, epsilon=1), epsilon=0.1).predict([1]), ParameterError),
        (lambda: Sampled(ThresholdLearner(8, epsilon=1, delta=1e-6), epsilon=0.1), UnsupportedError),
    ],
)
def test_bad_parameters_are_refused(wrong, error):
    with pytest.raises(error):
        wrong()
