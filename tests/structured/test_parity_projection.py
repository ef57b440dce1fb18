"""discreet.structured.parities.parity_projection: each claim in the module docstring, in order."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet.attacks.audit import audit
from discreet.composition.price import price
from discreet.data.columns import Boolean
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.gaussian_profile import gaussian_vector_delta
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, NullRow, Replace
from discreet.queries.products import parities as workload_of_parities
from discreet.structured.parities.correlation import nearest_correlation
from discreet.structured.parities.parity_projection import ParityProjection
from discreet.structured.parities.parity_projection_lift import as_matrix, as_pairs, gram, nearest_moments, structure
from discreet.structured.parities.parity_projection_release import ProjectedParities
from tests.scale import counts

BUDGET = ApproxDP(1.0, 1e-6)
ALMOST_NONE = ZCDP(10**9)  # so much budget that the integer noise is zero
TRIES = counts(quick=20, full=200)


def parities(rows: np.ndarray, t: int = 2) -> np.ndarray:
    """The sums of products, by their definition."""
    return np.array([rows[:, list(u)].prod(axis=1).sum() for u in combinations(range(rows.shape[1]), t)])


def biased(d: int, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < rng.random(d), 1, -1)


def rms(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt(((a - b) ** 2).mean()))


@pytest.mark.parametrize(("d", "t"), [(2, 2), (3, 2), (4, 2), (5, 2), (6, 2), (7, 2), (4, 4), (5, 4), (6, 4), (7, 4)])
def test_the_sensitivity_is_that_of_the_worst_pair_of_rows(d, t):
    """All pairs of rows: for t = 2 it is 4 floor(d^2 / 4), and 4 max N(a) in general."""
    every = np.array(list(product([-1, 1], repeat=d)))
    value = np.stack([every[:, list(u)].prod(axis=1) for u in combinations(range(d), t)], axis=1)
    replaced = max(int(((value - one) ** 2).sum(axis=1).max()) for one in value)
    absolute = max(int(np.abs(value - one).sum(axis=1).max()) for one in value)
    gaussian = ParityProjection(d=d, t=t, n=10, budget=ZCDP(1)).noise
    laplace = ParityProjection(d=d, t=t, n=10, budget=PureDP(1)).noise

    assert gaussian.square == replaced
    assert laplace.sensitivity == absolute
    if t == 2:
        assert replaced == 4 * (d * d // 4)


@pytest.mark.parametrize(("d", "t"), [(5, 2), (8, 2), (6, 4)])
@pytest.mark.parametrize("relation", [AddRemove, NullRow])
def test_an_added_row_moves_every_parity_and_the_number_of_rows(d, t, relation):
    projection = ParityProjection(d=d, t=t, budget=ZCDP(1, neighbours=relation))
    m = projection.multiplier

    assert m >= 1
    assert projection.noise.square == math.comb(d, t) + m * m
    assert projection.privacy().neighbours is relation


@pytest.mark.parametrize("d", [4, 5, 16, 30])
def test_the_sensitivity_of_an_added_row_sold_for_a_replaced_one_is_caught(d):
    """sqrt(d (d - 1) / 2) where d is needed."""
    rho = Fraction(1, 10)
    twin = Gaussian.with_sigma(math.sqrt(math.comb(d, 2) / (2 * float(rho))), sensitivity=math.sqrt(math.comb(d, 2)))
    right = ParityProjection(d=d, n=10, budget=ZCDP(rho))
    moved = 4 * (d * d // 4)

    assert moved / (2 * Fraction(twin.sigma) ** 2) > rho
    assert moved / (2 * Fraction(right.noise.sigma) ** 2) <= rho


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_the_event_costs_the_budget(relation):
    for budget in (ZCDP(0.3, neighbours=relation), PureDP(0.7, neighbours=relation)):
        projection = ParityProjection(d=9, n=50, budget=budget)
        cost = price(projection.event())

        assert projection.privacy() == budget
        if isinstance(budget, PureDP):
            assert cost.epsilon == Fraction(7, 10)
        else:
            assert Fraction(3, 10) * (1 - Fraction(1, 10**12)) < cost.rho <= Fraction(3, 10)


def test_a_tenth_less_noise_would_be_caught():
    noise = ParityProjection(d=30, n=500, budget=BUDGET).noise
    variance, delta = Fraction(noise.sigma) ** 2, Fraction(1, 10**6)

    assert gaussian_vector_delta(variance, 900, 435, Fraction(1)) <= delta
    assert gaussian_vector_delta(variance * Fraction(81, 100), 900, 435, Fraction(1)) > 2 * delta


@pytest.mark.statistical
def test_an_audit_of_the_whole_release_finds_no_more_than_epsilon_and_catches_the_twin():
    """One pair of attributes, one of 30 rows replaced; the twin is calibrated to an added row, 1 and not 2."""
    rows = np.where(np.arange(30)[:, None] < [30, 15], 1, -1)
    other = rows.copy()
    other[0, 0] = -1
    right = ParityProjection(d=2, n=30, budget=PureDP(1.0), body="elliptope")
    short = ParityProjection(d=2, n=30, budget=PureDP(2.0), body="elliptope")

    def released(mechanism):
        return lambda data, *, rng=None: mechanism(data, rng=rng).counts[0].round()

    samples = counts(quick=2_000, full=40_000)

    assert audit(released(right), (rows, other), samples, rng=SeededRandom(1)).epsilon <= 1
    assert audit(released(short), (rows, other), samples, rng=SeededRandom(1)).epsilon > 1


@pytest.mark.parametrize("body", ["elliptope", "grothendieck", "exact"])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_without_noise_the_answers_are_the_truth(body, relation):
    rows = biased(6, 200)
    budget = ZCDP(10**9, neighbours=relation)
    release = ParityProjection(d=6, n=200, budget=budget, body=body)(rows)

    assert np.abs(release.answers - parities(rows) / 200).max() < 1e-4
    assert np.abs(release.counts - parities(rows)).max() < 0.02
    assert release.n == 200


def test_answers_come_pair_by_pair_in_row_order():
    rows = biased(5, 100)
    release = ParityProjection(d=5, n=100, budget=ALMOST_NONE, body="elliptope")(rows)

    assert [round(release.answer(i, j) * 100) for i, j in combinations(range(5), 2)] == parities(rows).tolist()
    assert release.answer(3, 1) == release.matrix[1, 3] == release.answers[5]
    with pytest.raises(ParameterError, match="2 distinct attributes below 5"):
        release.answer(1, 1)


def test_every_form_of_the_same_rows_gives_the_same_answers():
    rows = biased(4, 60)
    domain = Domain({name: Boolean() for name in "abcd"})
    records = Records(domain, [(column > 0).astype(int) for column in rows.T])
    forms = [rows, rows > 0, rows.astype(float), records, records.histogram()]
    found = [ParityProjection(d=4, n=60, budget=BUDGET)(form, rng=SeededRandom(3)).answers for form in forms]

    assert all((one == found[0]).all() for one in found)


def test_sums_of_products_are_exact_integers():
    rows = biased(7, 3000).astype(np.int8)

    assert (gram(rows) == rows.astype(np.int64).T @ rows.astype(np.int64)).all()


@pytest.mark.parametrize("body", ["elliptope", "grothendieck", "exact"])
@pytest.mark.parametrize("seed", range(4))
def test_the_projected_error_is_never_more_than_the_raw_one(body, seed):
    rows = biased(10, 80, seed)
    projection = ParityProjection(d=10, n=80, budget=BUDGET, body=body)
    raw = projection.noise(parities(rows), rng=SeededRandom(seed)) / 80
    release = projection(rows, rng=SeededRandom(seed))

    assert rms(release.answers, parities(rows) / 80) <= rms(raw, parities(rows) / 80) + 1e-6


PUBLISHED = [  # d, n, raw, clipped, projected
    (30, 500, 0.2535, 0.2433, 0.1445),
    (100, 100, 4.233, 0.980, 0.481),
    (100, 1000, 0.421, 0.401, 0.1505),
    (100, 10_000, 0.0424, 0.0424, 0.0388),
]


@pytest.mark.statistical
def test_the_table_of_errors_is_reproduced():
    """To every digit with the table's rows and noise; and about so with its rows and ours."""
    rng = np.random.default_rng(0)
    np.where(rng.random((50, 30)) < rng.random(30), 1, -1)  # a line of the table that is not shown
    rng.normal(size=435)
    for d, n, *published in PUBLISHED:
        rows = np.where(rng.random((n, d)) < rng.random(d), 1, -1)
        true = gram(rows.astype(np.int8))[np.triu_indices(d, 1)] / n
        raw = true + rng.normal(0, 4.224679 * d, math.comb(d, 2)) / n
        projected = as_pairs(nearest_correlation(as_matrix(raw, d)))
        projection = ParityProjection(d=d, n=n, budget=BUDGET)

        assert [rms(raw, true), rms(raw.clip(-1, 1), true), rms(projected, true)] == pytest.approx(published, rel=2e-3)
        assert float(projection.noise.sigma) / n == pytest.approx(4.2247 * d / n, rel=1e-3)
        assert rms(projection(rows).answers, true) == pytest.approx(published[2], rel=0.25)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("d", "n", "relation"),
    [(12, 60, Replace), (40, 100, Replace), (40, 1000, Replace), (40, 2000, AddRemove), (6, 50, Replace)],
)
def test_the_bound_on_the_error_holds_and_is_not_loose(d, n, relation):
    """At beta = 1/4: the theorem allows a quarter of the runs to exceed it, and none does."""
    projection = ParityProjection(d=d, n=n, budget=ApproxDP(1.0, 1e-6, neighbours=relation))
    errors = []
    for seed in range(TRIES):
        rows = biased(d, n, seed)
        errors.append(rms(projection(rows).answers, parities(rows) / n))

    assert max(errors) <= projection.rms(0.25)
    assert projection.rms(0.25) <= 4 * np.mean(errors)
    assert projection.accuracy(0.25) == min(2, math.sqrt(math.comb(d, 2)) * projection.rms(0.25))


def test_the_bound_falls_as_the_root_of_n_and_then_as_n():
    few, more, many = (ParityProjection(d=200, n=n, budget=BUDGET).rms() for n in (400, 1600, 10**6))

    assert few == pytest.approx(2 * more, rel=0.01)
    assert many == pytest.approx(4.2247 * 200 / 10**6, rel=0.05)
    assert few < 1.6 * math.sqrt(2 * 4.2247 * math.sqrt(200) / 400)


def test_it_says_when_projection_cannot_help():
    too_few, right, too_many = (ParityProjection(d=100, n=n, budget=BUDGET) for n in (40, 1000, 50_000))

    assert (too_few.helps, right.helps, too_many.helps) == (False, True, False)
    assert "nothing is learnt" in too_few.explain()
    assert "it helps" in right.explain()
    assert "raw noise is about as good" in too_many.explain()
    low, high = right.useful
    assert low == pytest.approx(4.2247 * 10, rel=0.03)
    assert high == pytest.approx(2 * 4.2247 * 1000, rel=0.01)
    assert "Projection gains for" in ParityProjection(d=100, budget=BUDGET).explain()


@pytest.mark.parametrize(("d", "n", "t"), [(5, 40, 3), (6, 60, 3), (5, 40, 4), (6, 60, 4), (6, 40, 5)])
def test_parities_of_more_are_entries_of_the_lifted_matrix(d, n, t):
    rows = biased(d, n)
    release = ParityProjection(d=d, n=n, t=t, budget=ALMOST_NONE)(rows)

    assert np.abs(release.answers - parities(rows, t) / n).max() < 1e-3
    assert release.answer(*range(1, t)[::-1], 0) == release.answers[0]


@pytest.mark.statistical
@pytest.mark.parametrize(("d", "n", "t"), [(8, 400, 3), (8, 400, 4)])
def test_the_bound_for_more_attributes_holds(d, n, t):
    projection = ParityProjection(d=d, n=n, t=t, budget=BUDGET)
    errors = [rms(projection(biased(d, n, seed)).answers, parities(biased(d, n, seed), t) / n) for seed in range(5)]

    assert max(errors) <= projection.rms(0.25) <= 6 * np.mean(errors)


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_the_counts_are_a_release_of_the_workload_of_parities(relation):
    rows = biased(6, 5000)
    budget = ApproxDP(1.0, 1e-6, neighbours=relation)
    answers = ParityProjection(d=6, n=5000, budget=budget)(rows)
    release = answers.release()
    true = release.workload.answer(Records(release.workload.domain, [(column > 0).astype(int) for column in rows.T]))

    assert (true == parities(rows)).all()
    assert np.abs(release.answers - true).max() <= release.accuracy(0.05)
    assert release.privacy() == answers.privacy()
    with pytest.raises(ParameterError, match="parities of 2 of 6 bits"):
        answers.release(workload_of_parities(6, 3))


def test_a_release_with_a_private_number_of_rows_bounds_its_error_from_what_was_measured():
    rows = biased(20, 3000)
    answers = ParityProjection(d=20, budget=BUDGET)(rows)
    forecast = ParityProjection(d=20, n=3000, budget=ApproxDP(1.0, 1e-6, neighbours=AddRemove))

    assert rms(answers.answers, parities(rows) / 3000) <= answers.rms(0.05)
    assert answers.rms(0.05) == pytest.approx(forecast.rms(0.05), rel=0.1)


def test_equal_parities_of_the_lifted_matrix_are_one_number():
    entries, distinct, measured = structure(5, 4)
    pairs = list(combinations(range(5), 2))

    assert (entries == entries.T).all()
    assert (np.diag(entries) == distinct - 1).all()
    assert (
        entries[pairs.index((0, 1)), pairs.index((2, 3))]
        == entries[pairs.index((0, 2)), pairs.index((1, 3))]
        < measured
    )
    assert (
        entries[pairs.index((0, 1)), pairs.index((1, 2))]
        == entries[pairs.index((0, 3)), pairs.index((2, 3))]
        >= measured
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_lifted_projection_never_moves_away_from_the_truth(seed):
    rows = biased(6, 50, seed)
    true = parities(rows, 4) / 50
    noise = np.random.default_rng(seed).normal(0, 0.7, len(true))

    assert rms(nearest_moments(true + noise, d=6, t=4), true) <= rms(noise, np.zeros_like(noise)) + 1e-5


def test_lifting_pairs_is_the_elliptope():
    noisy = np.random.default_rng(1).normal(0, 1, 45)

    assert np.abs(nearest_moments(noisy, d=10, t=2) - as_pairs(nearest_correlation(as_matrix(noisy, 10)))).max() < 1e-4


def test_a_private_number_of_rows_is_measured_and_not_read():
    rows = biased(20, 300)
    projection = ParityProjection(d=20, budget=BUDGET)
    sizes = {projection(rows, rng=SeededRandom(seed)).n for seed in range(8)}

    assert len(sizes) > 4
    assert all(abs(size - 300) < 6 * float(projection.noise.sigma) / projection.multiplier for size in sizes)


def test_a_public_number_of_rows_that_is_wrong_is_refused():
    with pytest.raises(DomainError, match="declared public"):
        ParityProjection(d=4, n=99, budget=BUDGET)(biased(4, 100))


@pytest.mark.parametrize(
    "rows", [np.ones((3, 5)), np.ones(4), np.full((3, 4), "a"), np.full((3, 4), None), ["a"]], ids=range(5)
)
def test_arrays_of_another_shape_or_type_are_refused(rows):
    with pytest.raises(DomainError):
        ParityProjection(d=4, n=3, budget=BUDGET)(rows)


@pytest.mark.parametrize("value", [0, 2, -3, np.nan, np.inf])
def test_no_error_tells_of_a_value(value):
    """Numbers above 0 are read as 1, and all others as -1."""
    odd, plain = np.ones((3, 4)), np.ones((3, 4))
    odd[1, 2], plain[1, 2] = value, 1 if value > 0 else -1
    projection = ParityProjection(d=4, n=3, budget=BUDGET)
    here, there = (projection(rows, rng=SeededRandom(1)).answers.tolist() for rows in (odd, plain))

    assert here == there


@pytest.mark.parametrize(
    "bad",
    [
        {"d": 1}, {"d": 2.0}, {"d": True}, {"n": 0}, {"n": True}, {"n": 1.5}, {"t": 1}, {"t": 0}, {"t": 10},
        {"body": "cube"}, {"d": 30, "body": "exact"}, {"t": 4, "body": "grothendieck"}, {"budget": PureDP(0)},
        {"budget": ZCDP(0)}, {"n": None, "budget": PureDP(1, neighbours=Replace)}, {"d": 200, "t": 4},
    ],
)  # fmt: skip
def test_rejects_bad_parameters(bad):
    with pytest.raises(ParameterError):
        ParityProjection(**({"d": 8, "n": 10, "budget": PureDP(1)} | bad))


def test_a_forecast_needs_a_number_of_rows():
    with pytest.raises(UnsupportedError, match="say about how many"):
        ParityProjection(d=4, budget=BUDGET).rms(0.05)
    with pytest.raises(ParameterError, match="0 < beta < 1"):
        ParityProjection(d=4, n=4, budget=BUDGET).rms(1.0)


def test_pure_budgets_have_a_bound_too():
    projection = ParityProjection(d=6, n=4000, budget=PureDP(1.0))
    rows = biased(6, 4000)

    assert rms(projection(rows).answers, parities(rows) / 4000) <= projection.rms(0.05) < 0.1
    assert repr(projection(rows)) == "ParityAnswers(answers=15, PureDP(epsilon=1.0))"


@pytest.mark.parametrize("n", [None, 800])
def test_as_a_release_mechanism_it_answers_the_workload_in_counts(n):
    workload = workload_of_parities(7, 2)
    data = Records.random(workload.domain, 800, seed=1)
    mechanism = ProjectedParities(workload, budget=ZCDP(10**9), n=n)
    release = mechanism(data)

    assert np.abs(release.answers - workload.answer(data)).max() < 0.5
    assert release.privacy() == mechanism.privacy() == ZCDP(10**9, neighbours=Replace if n else AddRemove)
    assert price(mechanism.event()).rho <= 10**9
    if n is None:
        with pytest.raises(UnsupportedError, match="private"):
            mechanism.accuracy(0.05)
    else:
        assert mechanism.accuracy(0.05) < 50
    assert repr(mechanism).startswith("ProjectedParities(21 queries")


def test_as_a_release_mechanism_it_refuses_other_workloads():
    for other in (workload_of_parities(5, 3), workload_of_parities(5, 2, at_most=True), workload_of_parities(5, 1)):
        with pytest.raises(UnsupportedError, match="t even"):
            ProjectedParities(other, budget=BUDGET, n=9)
