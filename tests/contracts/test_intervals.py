"""Every interval's parts share its beta: what is asked of the laws of the noise, in all, adds up to no more than it.

An interval made of several noisy numbers holds with probability 1 - beta if each of them is within its own alpha_i with
probability 1 - beta_i, and the beta_i add up to beta.  Coverage alone would not show that it was forgotten: the box
around an average is wide enough to cover 95 % with 90 % corners on most data, and not on the worst.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from scipy.stats import binom

import discreet as dc
from discreet import mechanisms
from discreet.curator.plan import BETA
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.neighbours import Replace
from discreet.queries.compile import Rank
from discreet.queries.marginals import marginals
from discreet.release.mwem import MWEM
from discreet.structured.quantiles.quantile_bound import QuantileBound
from discreet.structured.quantiles.quantile_grid import GridQuantile
from tests.contracts.orders import AGGREGATES, GROUPS, QUESTIONS, ask, curator, rows
from tests.contracts.programs import PROGRAMS
from tests.contracts.test_releases import NAMES, built, data
from tests.scale import counts

NOISES = [
    *(getattr(mechanisms, name) for name in dir(mechanisms) if hasattr(getattr(mechanisms, name), "accuracy")),
    QuantileBound,
    GridQuantile,
]
BETAS = (0.2, 0.05, 0.001)
BUDGETS = [dc.PureDP(1), dc.ZCDP("0.1")]
TOGETHER = 1 + 1e-9


@dataclass(frozen=True)
class Asked:
    """One question to the law of a noise, by somebody who is no noise."""

    beta: float
    size: int


@pytest.fixture
def asked(monkeypatch):
    """What accuracies were asked for, and at which beta; what they ask one another is theirs."""
    found, inside = [], []
    for kind in {kind for kind in NOISES if isinstance(kind, type) and "accuracy" in vars(kind)}:

        def accuracy(self, beta=0.05, *given, real=kind.accuracy, **more):
            if not inside:
                found.append(Asked(beta, more.get("size", 1)))
            inside.append(1)
            try:
                return real(self, beta, *given, **more)
            finally:
                inside.pop()

        monkeypatch.setattr(kind, "accuracy", accuracy)
    return found


def names(answer):
    return [output.name for output in answer.measured]


def added(answer, name):
    """The noisy sums and counts that an output is computed from."""
    aggregate = next(output.value for output in answer.measured if output.name == name)
    places = answer.plan.of(aggregate)
    return [i for i in places if not isinstance(answer.plan.releases[i].part, Rank)]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("sql", QUESTIONS.values(), ids=QUESTIONS)
def test_the_parts_of_an_answers_interval_share_its_beta(sql, budget, asked):
    with curator() as held:
        answer = ask(held, sql, budget)
    for name in names(answer):
        for beta in BETAS:
            for together in (False, True):
                asked.clear()
                answer.estimate(name, beta=beta, simultaneous=together)

                assert len(asked) == len(added(answer, name))
                assert sum(one.beta for one in asked) <= beta * TOGETHER
                assert {one.size for one in asked} <= {answer.cells if together else 1}


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("view", ["difference", "ratio"])
@pytest.mark.parametrize("name", AGGREGATES)
def test_two_cells_share_the_beta_of_their_difference_and_ratio(name, view, budget, asked):
    with curator() as held:
        answer = ask(held, QUESTIONS[f"{name} of groups"], budget)
    for beta in BETAS:
        asked.clear()
        getattr(answer, view)("v", 0, 1, beta=beta)

        assert sum(one.beta for one in asked) <= beta * TOGETHER
        assert len(asked) == 2 * len(added(answer, "v"))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("sql", [QUESTIONS[one] for one in ("median", "quantile of groups", "least", "two averages")])
def test_the_two_ends_of_a_quantile_share_the_beta_that_they_were_drawn_for(sql, budget):
    """They were drawn once; for a smaller beta, or for all cells, only the declared range is certain."""
    with curator() as held:
        answer = ask(held, sql, budget)
    ends = [one for one in answer.plan.releases if isinstance(one.mechanism, QuantileBound)]
    per = {one.part.argument for one in ends}
    whole = (0.0, 100.0)
    name = next(o.name for o in answer.measured if o.value.function == "quantile")

    assert len(ends) == 2 * len(per)
    for argument in per:
        assert sum(one.mechanism.beta for one in ends if one.part.argument == argument) <= BETA * TOGETHER
    for beta, together in ((BETA * 0.999, False), (0.001, False), *([(BETA, True)] if answer.cells > 1 else [])):
        found = answer.estimate(name, beta=beta, simultaneous=together)
        assert (set(found.low.tolist()), set(found.high.tolist())) == ({whole[0]}, {whole[1]})


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_a_releases_error_share_its_beta(name, asked):
    """Every mechanism of the planner; where all answers are meant, the law of the largest of them is asked."""
    for made, workload, _, _ in built()[name]:
        for beta in BETAS:
            asked.clear()
            try:
                made.accuracy(beta)
            except UnsupportedError:
                continue
            assert sum(one.beta for one in asked) <= beta * TOGETHER
            if name == "IndependentNoise":
                assert asked == [Asked(beta, len(workload))]
        found = made(data(workload), rng=SeededRandom(1))
        asked.clear()
        try:
            getattr(found, "release", found).errors.each(0.05)
        except UnsupportedError:
            continue
        assert all(one.beta <= 0.05 * TOGETHER for one in asked)


def test_the_parts_of_the_error_of_averaged_mwem_share_its_beta(asked):
    """Its choices are as many as its rounds, and each is asked about once for all of them."""
    workload = marginals(dc.Domain({name: dc.Boolean() for name in "abc"}), 2)
    for budget in BUDGETS:
        for rounds in (1, 4):
            made = MWEM(workload, budget=budget.under(Replace), rounds=rounds, n=100, estimate="average")
            for beta in BETAS:
                asked.clear()
                made.accuracy(beta)

                times = [1 if one.size == rounds and one.size != len(workload) else rounds for one in asked]
                assert len(asked) == 2
                assert sum(one.beta * count for one, count in zip(asked, times, strict=True)) <= beta * TOGETHER


@pytest.mark.parametrize("program", [one for one in PROGRAMS if hasattr(one.made, "accuracy")], ids=str)
def test_the_parts_of_a_programs_error_share_its_beta(program, asked):
    for beta in BETAS:
        asked.clear()
        try:
            program.made.accuracy(beta)
        except (UnsupportedError, TypeError):  # none is known, or only at a sensitivity
            return
        assert sum(one.beta for one in asked) <= beta * TOGETHER


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [dc.PureDP("0.5"), dc.ZCDP("0.02")], ids=str)
@pytest.mark.parametrize("name", ["rows", "sum", "avg", "variance", "stddev", "median", "share"])
def test_intervals_hold_as_often_as_they_say(name, budget):
    """40 groups, the same noise read at three betas: counts and sums miss beta of the time, neither more nor much less.

    The failure probability is 1e-6 each: groups have noise of their own.  Averages and the like miss less often.
    """
    frame, times, betas = rows(2000, seed=3), counts(quick=6, full=200), (0.05, 0.1, 0.3)
    exact = {
        "rows": frame.groupby("place").size(), "sum": frame.groupby("place").x.sum(),
        "avg": frame.groupby("place").x.mean(), "variance": frame.groupby("place").x.var(ddof=0),
        "stddev": frame.groupby("place").x.std(ddof=0), "median": frame.groupby("place").x.median(),
        "share": frame.groupby("place").sick.mean(),
    }[name].reindex(range(GROUPS)).to_numpy(dtype=float)  # fmt: skip
    with curator(frame) as held:
        answers = [ask(held, QUESTIONS[f"{name} of groups"], budget) for _ in range(times)]
    for beta in betas:
        missed = 0
        for answer in answers:
            found = answer.estimate("v", beta=beta)
            missed += int((~((found.low <= exact + 1e-9) & (exact - 1e-9 <= found.high))).sum())

        assert missed <= binom.isf(1e-6, times * GROUPS, beta)
        if name in ("rows", "sum") and beta == betas[-1]:
            assert missed >= binom.ppf(1e-6, times * GROUPS, beta * 0.7)  # the quantile of whole noise is rounded up
