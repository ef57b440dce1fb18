"""discreet.structured.parities.correlation, grothendieck and parity_projection_exact: against other solvers."""

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.structured.parities.correlation import nearest_correlation, positive_part
from discreet.structured.parities.grothendieck import KRIVINE, nearest_inner_products
from discreet.structured.parities.parity_projection_exact import best_cut, nearest_in_polytope

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
SIZES = [(2, 5), (5, 30), (10, 20), (30, 50), (30, 500), (100, 10), (100, 1000)]


def noisy(d: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The true parities of biased rows, as a matrix of fractions, and the same with Gaussian noise."""
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((n, d)) < rng.random(d), 1.0, -1.0)
    noise = np.triu(rng.normal(0, 4.2247 * d / n, (d, d)), 1)
    true = rows.T @ rows / n
    return true, true + noise + noise.T


def distance(a: np.ndarray, b: np.ndarray) -> float:
    pairs = np.triu_indices(len(a), 1)
    return float(np.sqrt(((a - b)[pairs] ** 2).sum()))


def alternated(target: np.ndarray) -> np.ndarray:
    """Dykstra's alternating projections (Higham 2002): slow, and simple."""
    y, correction = target.copy(), np.zeros_like(target)
    np.fill_diagonal(y, 1)
    for _ in range(20_000):
        r = y - correction
        x = positive_part((r + r.T) / 2)
        correction, last = x - r, y
        y = x.copy()
        np.fill_diagonal(y, 1)
        if np.abs(y - last).max() < 1e-11:
            break
    return y


@pytest.mark.parametrize(("d", "n"), SIZES)
def test_the_result_is_a_correlation_matrix(d, n):
    found = nearest_correlation(noisy(d, n)[1])

    assert (np.diag(found) == 1).all()
    assert np.linalg.eigvalsh(found)[0] > -1e-9
    assert (found == found.T).all()


@pytest.mark.parametrize(("d", "n"), [(5, 30), (10, 20), (30, 50), (30, 500)])
def test_newton_agrees_with_alternating_projections(d, n):
    target = noisy(d, n)[1]

    assert np.abs(nearest_correlation(target) - alternated(target)).max() < 1e-8


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_newton_agrees_with_a_semidefinite_program():
    cp = pytest.importorskip("cvxpy")
    target = noisy(10, 20)[1]
    x = cp.Variable((10, 10), PSD=True)
    mask = 1 - np.eye(10)
    goal = cp.Minimize(cp.sum_squares(cp.multiply(mask, x - target)))
    cp.Problem(goal, [cp.diag(x) == 1]).solve("SCS", eps_abs=1e-11, eps_rel=1e-11, max_iters=200_000)

    assert np.abs(nearest_correlation(target) - x.value).max() < 1e-8


@pytest.mark.parametrize(("d", "n"), SIZES)
@pytest.mark.parametrize("project", [nearest_correlation, nearest_inner_products])
def test_the_projection_never_moves_away_from_the_truth(project, d, n):
    true, target = noisy(d, n)
    found = project(target)

    assert distance(found, true) <= distance(target, true) + 1e-6
    assert distance(found, target) <= distance(true, target) + 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_smaller_bodies_are_further_from_the_target(seed):
    target = noisy(8, 40, seed)[1]
    exact, elliptope, inner = (
        distance(project(target), target)
        for project in (nearest_in_polytope, nearest_correlation, nearest_inner_products)
    )

    assert exact >= elliptope - 1e-6 >= inner - 2e-6


def test_a_point_of_the_body_stays():
    true = noisy(12, 100)[0]

    assert np.abs(nearest_correlation(true) - true).max() < 1e-8
    assert np.abs(nearest_in_polytope(true) - true).max() < 1e-4
    assert distance(nearest_inner_products(-true), -true) < 1e-4  # the elliptope does not have it


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_the_exact_projection_agrees_with_a_quadratic_program_over_all_vertices():
    cp = pytest.importorskip("cvxpy")
    target = noisy(6, 20)[1]
    pairs = np.triu_indices(6, 1)
    signs = 1 - 2 * ((np.arange(32)[:, None] >> np.arange(6)) & 1)
    vertices = signs[:, pairs[0]] * signs[:, pairs[1]]
    weights = cp.Variable(32, nonneg=True)
    goal = cp.Minimize(cp.norm(vertices.T @ weights - target[pairs]))
    cp.Problem(goal, [cp.sum(weights) == 1]).solve("CLARABEL", **TIGHT)

    assert np.abs(nearest_in_polytope(target)[pairs] - vertices.T @ weights.value).max() < 1e-6


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_the_inner_products_agree_with_a_semidefinite_program():
    cp = pytest.importorskip("cvxpy")
    target = noisy(6, 30)[1]
    x = cp.Variable((12, 12), PSD=True)
    mask = 1 - np.eye(6)
    goal = cp.Minimize(cp.norm(cp.vec(cp.multiply(mask, x[:6, 6:] - target), order="C")))
    cp.Problem(goal, [cp.diag(x) == 1, x[:6, 6:] == x[:6, 6:].T]).solve("CLARABEL", **TIGHT)

    assert np.abs((nearest_inner_products(target, tolerance=1e-8) - x.value[:6, 6:]) * mask).max() < 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_the_best_inner_products_lie_between_the_best_signs_and_grothendieck_times_it(seed):
    """max <G, H> over L against max u^T G w over signs, by trying all; projecting far along G finds the former."""
    rng = np.random.default_rng(seed)
    d, far = 12, 1e3
    g = np.triu(rng.normal(size=(d, d)), 1)
    g += g.T
    signs = 1 - 2 * ((np.arange(1 << d)[:, None] >> np.arange(d)) & 1)
    best_signs = np.abs(signs @ g).sum(axis=1).max()
    reached = (nearest_inner_products(far * g) * g).sum()

    assert best_signs <= reached + d * d / far
    assert reached <= KRIVINE * best_signs


@pytest.mark.parametrize("seed", range(3))
def test_the_best_correlation_is_at_least_the_best_cut(seed):
    rng = np.random.default_rng(seed)
    d, far = 12, 1e4
    g = np.triu(rng.normal(size=(d, d)), 1)
    g += g.T
    reached = (np.triu(g, 1) * nearest_correlation(far * g)).sum()

    assert best_cut(g) - d * d / far <= reached <= 1.25 * best_cut(g)


def test_half_a_correlation_is_not_one():
    """The twin that forgets the diagonal: the nearest positive semidefinite matrix is no correlation matrix."""
    forgetful = positive_part(noisy(30, 50)[1])

    assert np.abs(np.diag(forgetful) - 1).max() > 0.1


@pytest.mark.parametrize("bad", [np.zeros((2, 3)), np.full((2, 2), np.nan), np.zeros(4)])
@pytest.mark.parametrize("project", [nearest_correlation, nearest_inner_products])
def test_rejects_what_is_no_finite_square_matrix(project, bad):
    with pytest.raises(ParameterError, match="a finite square matrix"):
        project(bad)


def test_rejects_too_many_attributes_for_all_sign_vectors():
    with pytest.raises(ParameterError, match="at most 20 attributes"):
        nearest_in_polytope(np.eye(21))
