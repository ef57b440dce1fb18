"""discreet.release.projection: the nearest answers, certified, and the bounds on their error."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.composition.price import price
from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries.local import Junta
from discreet.queries.marginals import marginals
from discreet.queries.ordered import thresholds
from discreet.release.factorization import Factorization
from discreet.release.independent import IndependentNoise
from discreet.release.noise import noise_for
from discreet.release.projection import LeastSquaresProjection, Projected
from discreet.release.projection_hull import ORIGIN, _of_bits, _parity_scores, hull
from discreet.release.projection_nearest import nearest
from tests.scale import counts

CUBE = Domain({f"b{i}": Boolean() for i in range(3)})


def over(corners):
    return lambda direction: int(np.argmax(corners @ direction)), lambda place: corners[place]


def test_the_nearest_point_is_that_of_the_quadratic_program():
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(1)
    for case in range(8):
        corners = marginals(CUBE, 2).matrix().T * 10.0 if case % 2 else rng.normal(size=(8, 5))
        target = rng.normal(size=corners.shape[1]) * 4 + corners.mean(axis=0)
        found = nearest(target, *over(corners), gap=1e-13, steps=1000)
        weights = cvxpy.Variable(8, nonneg=True)
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(corners.T @ weights - target)), [sum(weights) == 1])
        problem.solve(solver=cvxpy.CLARABEL)

        assert np.allclose(found.point, corners.T @ weights.value, atol=1e-5)
        assert np.sum((found.point - target) ** 2) <= problem.value + 1e-7


def test_the_gap_certifies_every_point_on_the_way():
    """||z - v||^2 <= <y - v, z - v> + gap for every v of the hull, and z is near the nearest."""
    rng = np.random.default_rng(2)
    corners = rng.normal(size=(40, 6))
    target = rng.normal(size=6) * 2
    best = nearest(target, *over(corners), gap=1e-13, steps=1000).point
    gaps = []
    for steps in range(8):
        found = nearest(target, *over(corners), gap=0.0, steps=steps)
        z = found.point
        gaps.append(found.gap)

        assert np.sum((z - best) ** 2) <= found.gap + 1e-9
        assert np.allclose(found.weights @ corners[found.places], z)
        assert found.weights.min() >= 0
        assert found.weights.sum() == pytest.approx(1)
        for v in rng.dirichlet(np.ones(40), size=20) @ corners:
            assert np.sum((z - v) ** 2) <= (target - v) @ (z - v) + found.gap + 1e-9
    assert gaps[-1] < gaps[0]


def test_a_point_inside_is_its_own_nearest():
    corners = np.vstack([np.eye(4), np.zeros(4)])
    inside = np.array([0.1, 0.2, 0.3, 0.1])
    found = nearest(inside, *over(corners), gap=1e-14, steps=100)

    assert np.allclose(found.point, inside, atol=1e-6)


@pytest.mark.parametrize(
    "workload", [marginals(CUBE, 2), thresholds(8), 2 * marginals(CUBE, 1)], ids=["tables", "steps", "twice"]
)
def test_columns_and_oracle_are_those_of_the_matrix(workload):
    oracle, column = hull(workload, 5, origin=True)
    matrix, rng = workload.matrix(), np.random.default_rng(3)

    assert all(np.allclose(column(j), 5 * matrix[:, j]) for j in range(8))
    assert np.allclose(column(ORIGIN), 0)
    for direction in rng.normal(size=(20, len(workload))):
        scores = matrix.T @ direction
        place = oracle(direction)
        assert scores[place] == pytest.approx(scores.max()) if scores.max() > 0 else place == ORIGIN


@pytest.mark.parametrize("sets", [2, [("b0",), ("b1", "b2", "b4"), ()]], ids=["pairs", "some"])
def test_parities_score_as_the_transpose_does(sets):
    domain = Domain({f"b{i}": Boolean() for i in range(6)})
    workload = marginals(domain, sets, weights=None if sets == 2 else [1, 3, 2])
    direction = np.random.default_rng(6).normal(size=len(workload))

    assert _of_bits(workload)
    assert np.allclose(_parity_scores(workload)(direction), workload.transpose(direction))
    assert not _of_bits(marginals(Domain({"row": Integer(0, 2)}), 1))


@pytest.mark.parametrize("budget", [ZCDP(0.05), PureDP(0.5), ApproxDP(1.0, 1e-6)], ids=repr)
@pytest.mark.parametrize("n", [60, None], ids=["replace", "addremove"])
def test_the_total_error_is_never_more_than_that_of_the_noise(budget, n):
    data, workload = Histogram.random(CUBE, n=60, seed=4), marginals(CUBE, 2)
    mechanism, true = LeastSquaresProjection(workload, n=n, budget=budget), workload.answer(data)
    for seed in range(15):
        release = mechanism(data, rng=SeededRandom(seed))
        noise = _noise(mechanism, true, seed)

        assert np.linalg.norm(release.answers - true) <= np.linalg.norm(noise) + math.sqrt(mechanism.gap) + 1e-6
        assert np.allclose(release.answers, workload.answer(release.histogram), atol=1e-6)
        assert release.histogram.counts.min() >= 0


def _noise(mechanism, true, seed):
    """The noise that the mechanism drew with this seed, after what measured n."""
    rng = SeededRandom(seed)
    if mechanism.measures is not None:
        mechanism.measures(60, rng=rng)
    return np.asarray(mechanism.noisy.noise(true.astype(np.int64), rng=rng)) - true


@pytest.mark.statistical
def test_the_expected_error_keeps_its_bound_and_is_far_below_the_noise():
    runs = counts(quick=12, full=400)
    domain = Domain({f"b{i}": Boolean() for i in range(7)})
    data, workload = Histogram.random(domain, n=50, seed=1), marginals(domain, 3)
    mechanism, true = LeastSquaresProjection(workload, n=50, budget=ZCDP(0.02)), workload.answer(data)
    squares, largest = [], []
    for seed in range(runs):
        error = mechanism(data, rng=SeededRandom(seed)).answers - true
        squares.append(float(np.mean(error**2)))
        largest.append(float(abs(error).max()))

    assert np.mean(squares) <= mechanism.mean_squared_error() < mechanism.noisy.variances()[0] / 4
    assert max(largest) <= mechanism.accuracy(0.05)


def laplace(scale, reach):
    """The discrete Laplace law on -reach, ..., reach."""
    places, p = np.arange(-reach, reach + 1), math.exp(-1 / float(scale))
    return places, (1 - p) / (1 + p) * p ** abs(places)


@pytest.mark.parametrize("beta", [0.05, 0.5])
def test_rows_beyond_their_bound_are_in_the_expected_error(beta):
    """One total, n private: the error is w cut from above at the noise of n plus its quantile, enumerated exactly."""
    mechanism = LeastSquaresProjection(marginals(CUBE, [()]), budget=PureDP(1), beta=beta)
    moved, chances = laplace(mechanism.measures.scale, 3000)
    noise, weights = laplace(mechanism.noisy.noise.scale, 200)
    error = np.minimum(noise[:, None], moved[None, :] + mechanism.measures.accuracy(beta / 4))
    exact = float(np.sum(weights[:, None] * chances[None, :] * error**2))
    without = float(mechanism.noisy.variances()[0]) + 2 * mechanism.gap

    assert exact <= mechanism.mean_squared_error() <= 1.1 * exact
    assert without < exact / 3  # the twin, for which the rows never are more


def test_the_squared_error_is_at_most_that_of_the_noise_and_of_the_rows_left_out():
    """||z - y||^2 <= ||w||^2 + ||y - v||^2 + 2 gap for every v of the hull, whatever the gap; and not without them."""
    rng, broken = np.random.default_rng(8), 0
    corners = np.vstack([marginals(CUBE, 1).matrix().T * 10.0, np.zeros(6)])
    for case in range(200):
        true = 1.3 * corners[rng.integers(8)] if case % 2 else corners[:8].T @ rng.dirichlet(np.ones(8))
        noise = rng.normal(size=6) * rng.uniform(0.1, 8)
        found = nearest(true + noise, *over(corners), gap=0.0, steps=int(rng.integers(1, 6)))
        outside = float(np.sum((true / 1.3 - true) ** 2)) if case % 2 else 0.0
        square = float(np.sum((found.point - true) ** 2))
        broken += square > noise @ noise + 2 * found.gap + 1e-9

        assert square <= noise @ noise + outside + 2 * found.gap + 1e-9
    assert broken > 20


def test_the_search_ends_at_the_gap_also_for_many_rows():
    """Products of corners of 10^8 rows lose the digits that a gap of a few counts needs; by default none is missed."""
    domain = Domain({f"b{i}": Boolean() for i in range(8)})
    shares = np.random.default_rng(2).dirichlet(np.ones(256))
    workload = marginals(domain, 3)
    for n, rho in ((10**3, 0.1), (10**8, 10)):
        data = Histogram(domain, np.random.default_rng(1).multinomial(n, shares).reshape([2] * 8))
        mechanism = LeastSquaresProjection(workload, n=n, budget=ZCDP(rho))
        noisy = np.asarray(mechanism.noisy(data, rng=SeededRandom(1)).answers, dtype=float)

        assert mechanism.project(noisy, rows=n).gap <= mechanism.gap


def test_an_error_is_stated_before_a_release_only_where_the_search_ends_at_the_gap():
    data = Histogram.random(CUBE, n=1000, seed=4)
    for n in (1000, None):
        short = LeastSquaresProjection(marginals(CUBE, 2), n=n, budget=ZCDP(1), steps=1)
        with pytest.raises(UnsupportedError, match="search may end"):
            short.mean_squared_error()
    short = LeastSquaresProjection(marginals(CUBE, 2), n=1000, budget=ZCDP(1), steps=1)
    full = LeastSquaresProjection(marginals(CUBE, 2), n=1000, budget=ZCDP(1))
    with pytest.raises(UnsupportedError, match="search may end"):
        short.accuracy()
    release = short(data, rng=SeededRandom(1))

    assert full.accuracy() < abs(release.answers - short.workload.answer(data)).max() <= release.accuracy()


def test_the_gap_that_was_reached_does_not_choose_the_bound():
    """The lesser of two bounds, each failing with probability beta, fails more often if chance says which is less."""
    eight, nine = (LeastSquaresProjection(marginals(CUBE, 2), n=n, budget=ZCDP(0.3)) for n in (8, 9))
    gaps = np.linspace(0, 20 * nine.gap, 50)
    product = 9 / 8 * Projected(eight, 0.0).accuracy(0.05) ** 2  # the bound that grows with n, and by 1 with the gap
    squares = np.array([Projected(nine, gap).accuracy(0.05) ** 2 for gap in gaps])

    assert np.allclose(np.diff(squares) / np.diff(gaps), 2)  # the other one throughout
    assert squares[0] < product
    assert squares[-1] > product + gaps[-1]  # where the lesser would be this one


def test_the_radius_holds_all_columns():
    rng = np.random.default_rng(5)
    domain = Domain({"row": Integer(0, 9)})
    for workload in (marginals(CUBE, 2), thresholds(10), Junta(domain, ("row",), rng.integers(-3, 4, 10))):
        columns = workload.matrix().T
        centre = nearest_centre(columns)

        assert (
            np.linalg.norm(columns - centre, axis=1).max()
            <= LeastSquaresProjection(workload, n=5, budget=ZCDP(1)).radius + 1e-3
        )


def nearest_centre(columns):
    """The centre of the least ball around points, by Badoiu and Clarkson's walk."""
    centre = columns.mean(axis=0)
    for step in range(1, 20_000):
        centre = centre + (columns[np.argmax(np.linalg.norm(columns - centre, axis=1))] - centre) / (step + 1)
    return centre


@pytest.mark.parametrize("budget", [ZCDP(0.05), PureDP(0.5), ApproxDP(1.0, 1e-6)], ids=repr)
@pytest.mark.parametrize("n", [60, None], ids=["replace", "addremove"])
def test_what_runs_costs_the_budget(budget, n):
    mechanism = LeastSquaresProjection(marginals(CUBE, 1), n=n, budget=budget)
    spent = price(mechanism.event())

    assert mechanism.privacy().neighbours is (Replace if n else AddRemove)
    if isinstance(budget, ZCDP):
        assert spent.rho <= Fraction(str(budget.rho))
    elif isinstance(budget, PureDP):
        assert spent.epsilon == Fraction(1, 2)
    else:
        kept = budget if n else ApproxDP(0.95, 1e-6)
        moved = {way: int(mechanism.workload.squared(way)) for way in (Replace, AddRemove)}
        wide = moved[Replace if n else AddRemove]
        assert mechanism.noisy.noise == noise_for(kept, absolute=wide, square=wide, size=len(mechanism.workload))


@pytest.mark.parametrize("n", [60, None], ids=["replace", "addremove"])
def test_any_base_may_make_the_noisy_answers(n):
    """The total error is never more than that of the base: the better base is the better projection."""
    domain = Domain({f"b{i}": Boolean() for i in range(5)})
    data, workload = Histogram.random(domain, n=60, seed=4), marginals(domain, 3)
    plain = LeastSquaresProjection(workload, n=n, budget=ZCDP(0.05))
    better = LeastSquaresProjection(workload, n=n, budget=ZCDP(0.05), base=Factorization)
    true, squares = workload.answer(data), []
    for seed in range(10):
        rng = SeededRandom(seed)
        if better.measures is not None:
            better.measures(60, rng=rng)
        raw = better.noisy(data, rng=rng).answers - true
        error = better(data, rng=SeededRandom(seed)).answers - true

        assert np.linalg.norm(error) <= np.linalg.norm(raw) + math.sqrt(better.gap) + 1e-6
        squares.append(np.mean(error**2))

    assert np.mean(squares) < better.mean_squared_error() <= plain.mean_squared_error() * 1.1
    assert price(better.event()).rho <= Fraction(1, 20)


def test_a_base_that_promises_less_privacy_is_refused():
    for promised in (ZCDP(1), ZCDP(0.05)):
        with pytest.raises(UnsupportedError, match="not within its share"):
            LeastSquaresProjection(
                marginals(CUBE, 1), n=10, budget=ZCDP(0.05),
                base=lambda workload, *, budget, n, promised=promised: IndependentNoise(workload, budget=promised),
            )  # fmt: skip


def test_more_rows_than_any_hull_holds_is_the_twin_that_fails():
    """Projecting on the hull of half as many rows is wrong by about the other half."""
    data, workload = Histogram.random(CUBE, n=1000, seed=4), marginals(CUBE, 2)
    true = workload.answer(data).astype(float)
    mechanism = LeastSquaresProjection(workload, n=1000, budget=ZCDP(1))

    assert np.linalg.norm(mechanism.project(true, rows=1000).point - true) <= math.sqrt(mechanism.gap) + 1e-6
    assert np.linalg.norm(mechanism.project(true, rows=500).point - true) > 200


def test_rows_serve_where_the_universe_is_large():
    domain = Domain({f"b{i}": Boolean() for i in range(12)})
    rows = Records.random(domain, 200, seed=1)
    release = LeastSquaresProjection(marginals(domain, 1), n=200, budget=ZCDP(0.5))(rows, rng=SeededRandom(1))

    assert abs(release.answers - marginals(domain, 1).answer(rows)).max() < 60


@pytest.mark.parametrize(
    "parameters",
    [
        {"n": 0}, {"n": True}, {"beta": 0}, {"beta": float("nan")}, {"steps": 0}, {"steps": True}, {"budget": ZCDP(0)},
        {"n": None, "budget": ZCDP(1, neighbours=Replace)},
    ],
)  # fmt: skip
def test_rejects_bad_parameters(parameters):
    with pytest.raises(ParameterError):
        LeastSquaresProjection(marginals(CUBE, 1), **{"n": 10, "budget": ZCDP(1)} | parameters)


def test_refuses_what_no_theorem_covers():
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        LeastSquaresProjection(marginals(CUBE, 1), n=10, budget=GaussianDP(1))
    with pytest.raises(UnsupportedError, match="integer entries"):
        LeastSquaresProjection(Fraction(1, 2) * marginals(CUBE, 1), n=10, budget=ZCDP(1))
    with pytest.raises(UnsupportedError, match="number of rows, which is private"):
        LeastSquaresProjection(marginals(CUBE, 1), budget=ZCDP(1)).accuracy()


@pytest.mark.statistical
@pytest.mark.parametrize("n", [None, 1000])
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1")], ids=repr)
def test_a_release_states_what_its_answers_were_moved_by_and_their_noise(n, budget):
    """The theorem alone bounds the length of the error: twenty times what any answer is off by."""
    data = Histogram.random(CUBE, n=1000, seed=3)
    workload = marginals(CUBE, 2)
    true, held, ratios = workload.answer(data), 0, []
    for seed in range(40):
        release = LeastSquaresProjection(workload, budget=budget, n=n)(data, rng=SeededRandom(seed))
        error = np.abs(release.answers - true).max()
        held += error <= release.accuracy(0.05)
        ratios.append(release.accuracy(0.05) / max(error, 1.0))

    assert held >= 36
    assert np.median(ratios) < 6
