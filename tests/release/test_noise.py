"""discreet.release.noise, independent and errors: the promises, exactly, and the twins that break them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import dlaplace, norm

from discreet.data import Boolean, Domain, Histogram, Integer, Records
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Neighbours, Replace, datasets
from discreet.privacy.number import exact
from discreet.queries import Workload, counts, marginals, parities, random_counting, ranges, thresholds
from discreet.release import IndependentNoise
from discreet.release.errors import Bounded, Independent, SubGaussian, Unproven
from discreet.release.noise import noise_for, relation_for, variance
from tests.scale import counts as repeated

RUNS = repeated(quick=20_000, full=200_000)
BITS = Domain({"a": Boolean(), "b": Boolean()})
WORKLOADS = [counts(BITS), marginals(BITS, 1), thresholds(3), ranges(3), parities(2, 2, at_most=True)]
BUDGETS = [PureDP(0.5), ZCDP("1/50"), ApproxDP(0.5, 0)]


def worst(workload: Workload, relation: type[Neighbours], noise: Laplace | Gaussian) -> Fraction:
    """The largest privacy loss over all pairs of neighbours of at most two rows, from the laws themselves.

    Discrete Laplace: ln of the ratio at the output that maximises it is |v - v'|_1 / scale.
    Discrete Gaussian: the Renyi divergence of order a is at most a |v - v'|_2^2 / (2 sigma^2), and equal at integer a.
    """
    universe = range(workload.domain.size)
    found = Fraction(0)
    for dataset in datasets(universe, n=2, relation=relation):
        for other in relation.of(dataset, universe):  # type: ignore[attr-defined]
            first, second = (
                workload.apply(np.bincount(rows, minlength=len(universe)).astype(np.int64))
                for rows in (np.array(dataset, dtype=int), np.array(other, dtype=int))
            )
            moved = [int(value) for value in first - second]
            if isinstance(noise, Laplace):
                loss = sum(map(abs, moved)) / exact(noise.scale)
            else:
                loss = sum(value**2 for value in moved) / (2 * exact(noise.sigma) ** 2)
            found = max(found, loss)
    return found


def claim(budget: Guarantee) -> Fraction:
    return exact(budget.rho) if isinstance(budget, ZCDP) else exact(budget.epsilon)  # type: ignore[attr-defined]


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("n", [None, 2], ids=["AddRemove", "Replace"])
@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_all_neighbours_of_a_tiny_universe_stay_within_the_budget(workload, n, budget):
    """The definition, tight: the loss reaches the budget but for the rounding of sigma."""
    noisy = IndependentNoise(workload, budget=budget, n=n)
    loss = worst(workload, noisy.neighbours, noisy.noise)

    assert loss <= claim(budget)
    assert loss >= claim(budget) * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("budget", BUDGETS[:2], ids=repr)
def test_broken_twins_exceed_the_budget(budget):
    """Replace sold as add-remove; the sensitivity of one table for two; noise times 0.9."""
    tables = marginals(BITS, 1)
    honest = IndependentNoise(tables, budget=budget)
    one_table = IndependentNoise(marginals(BITS, [("a",)]), budget=budget)
    noise = honest.noise
    smaller = (
        Laplace.with_scale(noise.scale * Fraction(9, 10), sensitivity=noise.sensitivity)
        if isinstance(noise, Laplace)
        else Gaussian.with_sigma(exact(noise.sigma) * Fraction(9, 10), sensitivity=noise.sensitivity)
    )

    assert worst(tables, AddRemove, noise) <= claim(budget)
    assert worst(tables, Replace, noise) > claim(budget)
    assert worst(tables, AddRemove, one_table.noise) > claim(budget)
    assert worst(tables, AddRemove, smaller) > claim(budget)


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [PureDP(0.5), ZCDP(0.05)], ids=repr)
def test_answers_are_the_truth_plus_the_stated_noise(budget):
    """Mean and variance within 5 standard errors (failure below 1e-6)."""
    domain = Domain({"x": Integer(0, RUNS - 1)})
    cells = np.arange(RUNS) % 7
    noisy = IndependentNoise(counts(domain), budget=budget)
    errors = noisy(Histogram(domain, cells), rng=SeededRandom(3)).answers - cells
    sd = math.sqrt(noisy.variances()[0])

    assert abs(errors.mean()) < 5 * sd / math.sqrt(RUNS)
    assert abs((errors**2).mean() / sd**2 - 1) < 5 * math.sqrt(6 / RUNS)


@pytest.mark.parametrize("beta", [0.3, 0.05, 1e-4])
def test_accuracy_is_the_quantile_of_the_largest_of_all(beta):
    noisy = IndependentNoise(ranges(5), budget=PureDP(0.3))
    alpha = int(noisy.accuracy(beta))
    law = dlaplace(a=1 / float(noisy.noise.scale))  # type: ignore[union-attr]

    assert 1 - (1 - 2 * law.sf(alpha)) ** 15 <= beta * (1 + 1e-9)
    assert 1 - (1 - 2 * law.sf(alpha - 1)) ** 15 > beta
    assert noisy.errors().each(beta)[0] <= alpha


def test_a_release_has_its_budget_and_relation():
    w = marginals(BITS, 1)
    private, public = IndependentNoise(w, budget=PureDP(1)), IndependentNoise(w, budget=PureDP(1), n=10)
    named = IndependentNoise(w, budget=PureDP(1, neighbours=AddRemove), n=10)

    assert private.privacy().neighbours is AddRemove
    assert public.privacy().neighbours is Replace
    assert named.privacy().neighbours is AddRemove
    assert named.noise == private.noise
    assert public.noise.sensitivity == 2 * private.noise.sensitivity
    assert private.event().to_dict() == private.noise.event().to_dict()
    assert relation_for(PureDP(1, neighbours=Replace), n=None) is Replace


def test_the_baseline_of_ten_thousand_queries():
    """k = 10^4 counting queries, n = 10^5, (1, 10^-6): sd sqrt(k) 4.2247 = 422.5 counts, 0.0042 as a fraction."""
    domain = Domain({f"b{i}": Boolean() for i in range(14)})
    noisy = IndependentNoise(random_counting(domain, 10_000, seed=1), budget=ApproxDP(1.0, 1e-6), n=100_000)
    sd = math.sqrt(noisy.variances()[0])

    assert 422.46 <= sd <= 422.6
    assert round(sd / 100_000, 5) == 0.00422


def test_the_least_noise_is_chosen():
    """One histogram is cheaper by Laplace noise, many tables by Gaussian noise."""
    one = IndependentNoise(counts(BITS), budget=ApproxDP(1, 1e-6))
    many = IndependentNoise(marginals(Domain({f"b{i}": Boolean() for i in range(12)}), 3), budget=ApproxDP(1, 1e-6))

    assert isinstance(one.noise, Laplace)
    assert isinstance(many.noise, Gaussian)
    assert variance(many.noise) < variance(Laplace(epsilon=1, sensitivity=220))


def test_variances_are_those_of_the_noise():
    assert variance(Laplace(epsilon=1, sensitivity=1)) == pytest.approx(dlaplace(a=1.0).var())
    assert variance(noise_for(ZCDP(0.5), absolute=2, square=4, size=4)) == pytest.approx(4)
    for exponent in range(1, 150, 7):  # 1 - exp(-1 / scale) is zero in floats from 1e16 on
        scale = float(f"1e{exponent}")
        assert variance(Laplace(epsilon=f"1e-{exponent}", sensitivity=1)) == pytest.approx(2 * scale * scale - 1 / 6)
    for beyond in ("1e-170", "1e-400"):
        assert variance(Laplace(epsilon=beyond, sensitivity=1)) == math.inf
        assert variance(noise_for(ZCDP(exact(beyond) ** 2), absolute=1, square=1, size=1)) == math.inf
    for tiny in (1e3, "1e400"):
        assert variance(Laplace(epsilon=tiny, sensitivity=1)) < 1e-300


def test_rows_frames_and_histograms_give_the_same_truth():
    records = Records.random(BITS, 50, seed=1)
    noisy = IndependentNoise(marginals(BITS, 1), budget=PureDP(1))
    answers = [noisy(data, rng=SeededRandom(5)).answers for data in (records, records.histogram())]

    assert np.array_equal(*answers)
    with pytest.raises(DomainError):
        noisy(Histogram.random(Domain({"c": Boolean()}), n=3, seed=1))


def test_bad_budgets_are_refused_before_anything_is_drawn():
    w = marginals(BITS, 1)
    for budget in (PureDP(0), ZCDP(0), ApproxDP(0, 1e-6)):
        with pytest.raises(ParameterError):
            IndependentNoise(w, budget=budget)
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        IndependentNoise(w, budget=GaussianDP(1))
    with pytest.raises(UnsupportedError, match="integer entries"):
        IndependentNoise("1/2" * w, budget=PureDP(1))
    for n in (0, -1, True, 2.5):
        with pytest.raises(ParameterError, match="integer n"):
            IndependentNoise(w, budget=PureDP(1), n=n)  # type: ignore[arg-type]


def test_a_domain_of_one_cell_still_gets_noise():
    noisy = IndependentNoise(thresholds(1), budget=PureDP(1), n=7)

    assert noisy.noise.sensitivity == 1


def test_sub_gaussian_bars_hold_for_the_normal_law_and_are_not_loose():
    sd = np.array([1.0, 2.0, 0.0, 3.0])
    errors = SubGaussian(sd)
    for beta in (0.2, 0.01, 1e-6):
        alpha = errors.accuracy(beta)
        union = sum(2 * norm.sf(alpha / s) for s in sd if s)

        assert union <= beta
        assert sum(2 * math.exp(-((alpha / s) ** 2) / 2) for s in sd if s) == pytest.approx(beta, rel=1e-6)
        assert (2 * norm.sf(errors.each(beta)[:2] / sd[:2]) <= beta).all()
    assert SubGaussian(np.zeros(3)).accuracy(0.1) == 0


def test_a_bound_holds_for_its_beta_and_larger_ones():
    bound = Bounded(4.0, 0.01, 3)

    assert bound.accuracy(0.05) == 4
    assert bound.each(0.01).tolist() == [4.0] * 3
    with pytest.raises(UnsupportedError, match=r"beta=0\.01"):
        bound.accuracy(0.001)


def test_every_form_refuses_a_bad_beta():
    noise = Laplace(epsilon=1, sensitivity=1)
    for errors in (Independent(noise, 2), SubGaussian(np.ones(2)), Bounded(1, 0.1, 2), Unproven("no")):
        for beta in (0, 1, -1, float("nan")):
            with pytest.raises(ParameterError):
                errors.accuracy(beta)
    assert Independent(noise, 2, 4).accuracy(0.1) == Independent(noise, 2).accuracy(0.1) / 4
    assert replace(Independent(noise, 2), size=3).each(0.1).shape == (3,)
