"""discreet.release.boosted: every query is right once enough are, and what the samples cost."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.composition.choose import best
from discreet.composition.concentrated import concentrated
from discreet.composition.price import price
from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Local, NodeNeighbours, Replace
from discreet.queries.local import Junta
from discreet.queries.marginals import marginals
from discreet.queries.ordered import thresholds
from discreet.release.boosted import BoostedQueries, error_from_mean, sample_for
from discreet.release.errors import Unproven
from discreet.release.mwem import MWEM
from discreet.release.projection import LeastSquaresProjection
from discreet.release.release import Release

LINE = Domain({"row": Integer(0, 199)})
CELLS = marginals(LINE, 1)


@dataclass
class Adversary:
    """Exact answers, but for the heaviest queries that together weigh at most 1/2 - eta, which are off by `wrong`."""

    true: np.ndarray
    wrong: int
    heaviest: bool = True
    rate: float = 0.0
    slack: int = 1
    error: int = 0
    gained: np.ndarray | None = None
    share: float = 0.25

    def __call__(self, _sample, budget):
        self.budget = budget
        return self

    def along(self, data, *, rng=None):
        weights = np.exp(-self.rate / self.slack * (self.gained - self.gained.min()))
        weights /= weights.sum()
        order = np.argsort(-weights if self.heaviest else weights, kind="stable")
        off = np.zeros(len(weights), dtype=bool)
        off[order[np.cumsum(weights[order]) <= self.share + 1e-12]] = True
        answers = self.true + np.where(off, self.wrong, 0)
        self.gained += np.clip(self.slack - 2 * (abs(answers - self.true) - self.error), -self.slack, self.slack)
        return Release(workload=CELLS, answers=answers.astype(float), guarantee=self.budget, errors=Unproven("none"))

    def privacy(self):
        return self.budget


class Run:
    """A base whose mechanism is the adversary itself."""

    def __init__(self, adversary):
        self.adversary = adversary

    def __call__(self, sample, budget):
        adversary = self.adversary(sample, budget)

        class Mechanism:
            def __call__(self, data, *, rng=None):
                return adversary.along(data, rng=rng)

            def privacy(self):
                return budget

        return Mechanism()


def boosted_by(adversary, data, **changes):
    made = BoostedQueries(Run(adversary), CELLS, **{"budget": ZCDP(1), "n": 1000, "sample": 1, "error": 0} | changes)
    adversary.rate, adversary.slack, adversary.error = float(made.rate), made.slack, made.error
    adversary.gained = np.zeros(len(CELLS), dtype=np.int64)
    return made


@pytest.mark.parametrize("heaviest", [True, False])
@pytest.mark.parametrize("beyond", [0, 10**6])
def test_no_query_is_wrong_after_enough_rounds(heaviest, beyond):
    data = Histogram.random(LINE, n=1000, seed=1)
    adversary = Adversary(CELLS.answer(data), 0, heaviest)
    boosted = boosted_by(adversary, data)
    adversary.wrong = boosted.slack + beyond  # at least error + slack off: as wrong as can be
    release = boosted(data, rng=SeededRandom(1))

    assert abs(release.answers - adversary.true).max() <= boosted.accuracy()


def test_one_round_is_not_enough(monkeypatch):
    data = Histogram.random(LINE, n=1000, seed=1)
    adversary = Adversary(CELLS.answer(data), 10**6)
    boosted = boosted_by(adversary, data)
    monkeypatch.setattr(BoostedQueries, "rounds", 1)
    release = boosted(data, rng=SeededRandom(1))

    assert (abs(release.answers - adversary.true) > 10**5).mean() == 0.25


@pytest.mark.parametrize(("queries", "rounds"), [(2, 5), (200, 37), (10**4, 65)])
def test_rounds_are_the_least_of_the_theorem(queries, rounds):
    """And fewer than ln k / (2 eta^2) + 1, which is 74 for ten thousand queries."""
    boosted = BoostedQueries(None, thresholds(queries), budget=ZCDP(1), sample=1, error=0)
    shrink = math.sqrt(1 - 4 / 16)

    assert boosted.rounds == rounds
    assert queries * shrink**boosted.rounds < 1 <= queries * shrink ** (boosted.rounds - 1)
    assert boosted.rounds <= math.floor(math.log(queries) / (2 / 16)) + 1


def test_the_loss_of_one_draw_is_that_of_the_theorem():
    """Ten thousand queries, span 1e-5 of the range 0.1: .01604 in round 73 of 74, as published."""
    boosted = BoostedQueries(None, thresholds(10**4), budget=PureDP(1), n=10**5, sample=1, error=0)
    epsilon = boosted.draws(73).epsilon * boosted.slack / 10**4  # as if the slack were 0.1 of 1e5

    assert float(epsilon) == pytest.approx(0.01604, abs=1e-5)


@pytest.mark.parametrize("after", [1, 3])
def test_neighbours_differ_by_at_most_epsilon_in_a_draw(after):
    """Exactly, from the integer weights: whatever was answered before, on all datasets of three rows."""
    domain = Domain({"row": Integer(0, 2)})
    workload = marginals(domain, 1)
    boosted = BoostedQueries(None, workload, budget=PureDP(40), n=3, sample=1, error=0)
    answers, slack = [[0, 0, 0]] * after, boosted.slack

    def weights(rows):
        true = np.bincount(np.array(rows), minlength=3)
        return sum(np.clip(slack - 2 * abs(true - np.array(given)), -slack, slack) for given in answers)

    def law(rows, scale=1):
        mechanism = boosted.draws(after)
        return dict(enumerate(mechanism.probabilities(-scale * weights(rows)).tolist()))

    claimed = float(boosted.draws(after).epsilon)
    exact = FiniteMechanism.from_function(law, universe=range(3), n=3, relation=Replace).epsilon()
    twin = FiniteMechanism.from_function(lambda rows: law(rows, 2), universe=range(3), n=3, relation=Replace).epsilon()

    assert 0.6 * claimed < exact <= claimed * (1 + 1e-12)
    assert twin > claimed


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(0.2), ApproxDP(1.0, 1e-6), ApproxDP(2, 0)], ids=repr)
@pytest.mark.parametrize("n", [1000, None])
def test_everything_together_costs_the_budget_and_no_slack_less_would(budget, n):
    boosted = BoostedQueries(None, CELLS, budget=budget, n=n, sample=50, error=3)
    spent = price(boosted.event())

    assert boosted.privacy().neighbours is (Replace if n else AddRemove)
    if isinstance(budget, PureDP) or (isinstance(budget, ApproxDP) and budget.delta == 0):
        assert Fraction("0.999") * Fraction(str(budget.epsilon)) < spent.epsilon <= Fraction(str(budget.epsilon))
    elif isinstance(budget, ZCDP):
        assert Fraction("0.99") * Fraction(str(budget.rho)) < concentrated([boosted.event()]).rho <= budget.rho
    else:
        assert 0.9 * budget.epsilon < best([boosted.event()], budget.delta).epsilon <= budget.epsilon


def test_a_base_that_promises_less_privacy_is_refused():
    data = Histogram.random(LINE, n=1000, seed=1)
    greedy = BoostedQueries(
        lambda sample, budget: LeastSquaresProjection(sample, budget=ZCDP(1), n=1000),
        CELLS, budget=ZCDP(1), n=1000, sample=5, error=5,
    )  # fmt: skip
    elsewhere = BoostedQueries(
        lambda sample, budget: LeastSquaresProjection(sample, budget=ZCDP(budget.rho)),
        CELLS, budget=ZCDP(1), n=1000, sample=5, error=5,
    )  # fmt: skip
    for boosted in (greedy, elsewhere):
        with pytest.raises(UnsupportedError, match="not within its share"):
            boosted(data)


@pytest.mark.parametrize(("kind", "error"), [("projection", 1500), ("mwem", 4000)])
def test_real_bases_answer_queries_that_were_never_sampled(kind, error):
    domain = Domain({f"b{i}": Boolean() for i in range(5)})
    data, workload = Histogram.random(domain, n=100_000, seed=1), marginals(domain, 2)

    def base(sample, budget):
        if kind == "mwem":
            return MWEM(sample, budget=budget, n=100_000, rounds=12)
        return LeastSquaresProjection(sample, budget=budget, n=100_000)

    boosted = BoostedQueries(base, workload, budget=ZCDP(0.5), n=100_000, sample=20, error=error)
    release = boosted(data, rng=SeededRandom(1))
    once = base(workload[:8], boosted._parts()[2])(data, rng=SeededRandom(1))

    assert abs(release.answers - workload.answer(data)).max() <= boosted.accuracy()
    assert abs(once.answer(workload) - workload.answer(data)).max() > boosted.accuracy()
    assert release.privacy() == ZCDP(0.5, neighbours=Replace)


def test_the_span_is_that_of_the_relation():
    """Where rows are changed, queries move as far as two values are apart; the slack grows with it."""
    signs = Junta(LINE, ("row",), np.where(np.arange(LINE.size) % 2, 1, -1))
    made = {
        relation: BoostedQueries(None, signs, budget=ZCDP(1, neighbours=relation), sample=5, error=1, n=10)
        for relation in (Replace, Local, AddRemove)
    }

    assert [made[relation].span for relation in (Replace, Local, AddRemove)] == [2, 2, 1]
    with pytest.raises(UnsupportedError, match="about graphs"):
        BoostedQueries(None, signs, budget=ZCDP(1, neighbours=NodeNeighbours), sample=5, error=1)


def test_samples_large_enough_for_the_class_of_answers():
    """Hoeffding over 2^bits tables: the chance that one with a bad distribution looks good on the sample."""
    size = sample_for(20, margin=0.1, beta=1e-3)

    assert 2**20 * math.exp(-2 * size * 0.01) <= 1e-3 < 2**20 * math.exp(-2 * (size - 1) * 0.01)
    assert error_from_mean(3, advantage=Fraction(1, 10)) == 8


@pytest.mark.parametrize(
    "parameters",
    [
        {"sample": 0}, {"sample": 1.0}, {"error": -1}, {"error": True}, {"advantage": 0}, {"advantage": 0.5},
        {"share": 0}, {"share": 1}, {"beta": 0}, {"budget": PureDP(0)}, {"budget": ZCDP(0)}, {"n": 0},
        {"budget": ApproxDP(0, 1e-6)}, {"advantage": float("nan")},
    ],
)  # fmt: skip
def test_rejects_bad_parameters(parameters):
    with pytest.raises(ParameterError):
        BoostedQueries(None, CELLS, **{"budget": ZCDP(1), "sample": 5, "error": 1, "n": 10} | parameters)


@pytest.mark.parametrize("base", [Replace, lambda: None, lambda sample: None, lambda sample, *, budget: None])
def test_rejects_a_base_that_takes_no_workload_and_budget(base):
    with pytest.raises(ParameterError, match="a base that takes a workload and a budget"):
        BoostedQueries(base, CELLS, budget=ZCDP(1), sample=5, error=1, n=10)


def test_an_error_of_the_base_is_its_own():
    """What is raised in a base that takes both is no sentence about what it takes."""
    with pytest.raises(TypeError, match="int"):
        BoostedQueries(lambda sample, budget: len(1), CELLS, budget=ZCDP(1), sample=5, error=1, n=10)


def test_refuses_other_currencies_and_fractions():
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        BoostedQueries(None, CELLS, budget=GaussianDP(1), sample=5, error=1)
    with pytest.raises(UnsupportedError, match="integer values"):
        BoostedQueries(None, Fraction(1, 2) * CELLS, budget=ZCDP(1), sample=5, error=1)
