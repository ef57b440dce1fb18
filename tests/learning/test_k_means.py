"""discreet.learning.vectors.k_means: each claim in the module docstring, in order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans as Exact

from discreet.data.columns import Boolean, Categorical, Integer, Real
from discreet.data.domain import Domain
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.stored import from_bytes, to_bytes
from discreet.learning.vectors import clipped_moments, k_means
from discreet.learning.vectors.k_means import KMeans
from discreet.learning.vectors.k_means_grid import HEAVIEST, cells, side
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.release.allowance import Allowance
from tests.learning.replay import moved, spent
from tests.scale import counts

BUDGETS = [PureDP(0.5), ZCDP(0.1), ApproxDP(1.0, 1e-6)]
NARROW = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})
WIDE = Domain({**{f"x{place}": Integer(0, 100) for place in range(7)}, "ward": Categorical(["p", "q", "r"])})
MIXED = Domain({"a": Real(-1, 1), "icu": Boolean()})
TRIALS = counts(quick=10, full=100)


def frame(domain, n, seed=0):
    import pandas as pd

    rng = np.random.default_rng(seed)
    made = {}
    for name, column in domain.items():
        if isinstance(column, Categorical):
            made[name] = rng.choice(list(column.values), n)
        elif isinstance(column, Boolean):
            made[name] = rng.random(n) < 0.5
        else:
            low, high = float(column.low), float(column.high)
            made[name] = rng.uniform(low, high, n).round(2)
    return pd.DataFrame(made)


def with_row(data, domain, value):
    import pandas as pd

    odd = {
        name: ["nowhere"] if isinstance(column, Categorical) and value != value else [value]
        for name, column in domain.items()
    }
    for name, column in domain.items():
        if isinstance(column, Categorical) and odd[name] != ["nowhere"]:
            odd[name] = [column.values[0]]
        elif isinstance(column, Boolean):
            odd[name] = [True]
    return pd.concat([data, pd.DataFrame(odd)], ignore_index=True)


@pytest.mark.parametrize("domain", [NARROW, WIDE, MIXED], ids=["narrow", "wide", "mixed"])
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_no_row_moves_any_step_by_more_than_it_declares(budget, domain, monkeypatch):
    model = KMeans(2, budget=budget, domain=domain)
    for n in (0, 30):
        data = frame(domain, n)
        for value in (0.0, 1e300, -1e300, float("nan")):
            run = lambda X, n=n: clone(model).fit(X, rng=SeededRandom(n))  # noqa: E731
            parts = moved(monkeypatch, run, data, with_row(data, domain, value))
            assert len(parts) == (5 if len(domain) > 6 else 3)
            assert max(parts) <= 1


def test_the_twin_with_half_the_sensitivity_is_caught(monkeypatch):
    real = clipped_moments.mean_sensitivities
    monkeypatch.setattr(clipped_moments, "mean_sensitivities", lambda width: tuple(one // 2 for one in real(width)))
    model = KMeans(2, budget=ZCDP(1), domain=NARROW)
    data = frame(NARROW, 30)
    run = lambda X: clone(model).fit(X, rng=SeededRandom(1))  # noqa: E731

    assert max(moved(monkeypatch, run, data, with_row(data, NARROW, 0.0))) > 1


def test_the_twin_that_does_not_clip_is_caught(monkeypatch):
    def unclipped(vectors, radius, *, scale=clipped_moments.SCALE):
        return np.trunc(vectors * scale / radius).astype(np.int64)

    monkeypatch.setattr(clipped_moments, "within", unclipped)
    model = KMeans(1, budget=ZCDP(100), domain=NARROW)
    data = frame(NARROW, 400) // 10  # all in one corner
    run = lambda X: clone(model).fit(X, rng=SeededRandom(1))  # noqa: E731

    assert max(moved(monkeypatch, run, data, with_row(data, NARROW, 100.0))) > 1


def test_the_twin_that_reads_the_number_of_rows_is_caught(monkeypatch):
    real = k_means.side
    data = frame(NARROW, 3)
    monkeypatch.setattr(k_means, "side", lambda rows, sd, **how: real(10.0 ** len(data), 1.0, **how))
    model = KMeans(2, budget=ZCDP(1), domain=NARROW)
    run = lambda X: clone(model).fit(X, rng=SeededRandom(1))  # noqa: E731
    data = frame(NARROW, 3)
    held = [data, with_row(data, NARROW, 0.0)]

    def honest(X):
        nonlocal data
        data = X
        return run(X)

    with pytest.raises((AssertionError, ValueError)):  # a grid of another size
        moved(monkeypatch, honest, *held)


@pytest.mark.parametrize("domain", [NARROW, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize("expected_rows", [None, 100])
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_shares_add_up_to_the_budget(budget, expected_rows, domain):
    model = KMeans(2, budget=budget, domain=domain, expected_rows=expected_rows).fit(frame(domain, 50))

    assert 0.999 < spent(model, budget) <= 1 + 1e-9


def test_the_twin_with_less_noise_is_caught(monkeypatch):
    real = Allowance.noise
    monkeypatch.setattr(Allowance, "noise", lambda self, share, **how: real(self, share / Fraction(9, 10), **how))
    model = KMeans(2, budget=PureDP(1), domain=NARROW).fit(frame(NARROW, 50))

    assert spent(model, PureDP(1)) > 1.1


def blobs(n, clusters, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[20, 20], [80, 30], [40, 80]])[:clusters]
    which = rng.integers(0, clusters, n)
    return (centres[which] + rng.normal(0, 5, (n, 2))).clip(0, 100).round(), centres


def test_without_noise_it_is_lloyds_algorithm():
    X, _ = blobs(2000, 3)
    ours = KMeans(3, budget=ZCDP(1e12), domain=NARROW).fit(X, rng=SeededRandom(1)).cluster_centers_
    best = Exact(3, n_init=5, random_state=0).fit(X).cluster_centers_

    np.testing.assert_allclose(ours[ours[:, 0].argsort()], best[best[:, 0].argsort()], atol=0.1)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_separate_groups_are_found_within_a_tenth_of_their_deviation(budget):
    X, centres = blobs(10_000, 2)
    found = KMeans(2, budget=budget, domain=NARROW).fit(X, rng=SeededRandom(2)).cluster_centers_

    means = [X[np.abs(X - centre).sum(axis=1) < 40].mean(axis=0) for centre in centres]
    assert np.abs(found[found[:, 0].argsort()] - np.array(means)).max() < 0.5


def test_on_iris_it_is_nearer_to_the_best_than_peers_are():
    from sklearn.datasets import load_iris

    X = load_iris().data
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    domain = Domain({f"x{place}": Real(0, 1) for place in range(4)})

    def inertia(epsilon):
        budget = ApproxDP(epsilon, 1e-6)
        models = (KMeans(3, budget=budget, domain=domain).fit(X, rng=SeededRandom(s)) for s in range(TRIALS))
        return np.mean([-model.score(X) / len(X) / 4 for model in models])  # half ranges are 1/2

    assert inertia(0.1) < 0.22  # diffprivlib 0.281
    assert inertia(1.0) < 0.10  # 0.177
    assert inertia(10.0) < 0.052  # 0.060; at best 0.0465


def test_wide_rows_are_clustered_along_their_main_directions():
    rng = np.random.default_rng(5)
    which = rng.integers(0, 3, 4000)
    X = (50 + 25 * np.eye(8)[which] * 1.5 + rng.normal(0, 4, (4000, 8))).clip(0, 100).round()
    domain = Domain({f"x{place}": Integer(0, 100) for place in range(8)})
    model = KMeans(3, budget=ApproxDP(2.0, 1e-6), domain=domain).fit(X, rng=SeededRandom(1))
    best = Exact(3, n_init=5, random_state=0).fit((X - 50) / 50).inertia_
    alone = (((X - X.mean(axis=0)) / 50) ** 2).sum()

    assert -model.score(X) < best + 0.1 * (alone - best)


def test_a_release_of_noise_spreads_the_centres_over_the_box():
    model = KMeans(4, budget=PureDP(1e-6), domain=NARROW).fit(frame(NARROW, 10))

    assert (np.abs(model.centres_) <= 1).all()
    assert len(np.unique(model.centres_.round(3), axis=0)) == 4


def test_every_point_has_one_cell():
    points = np.array([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.999], [-7.0, 9.0]])

    assert cells(points, 2).tolist() == [0, 3, 3, 1]
    assert side(10, 1e9, axes=3, clusters=8) ** 3 >= 32


def test_distances_and_predictions_are_of_the_centres():
    X, _ = blobs(3000, 3)
    model = KMeans(3, budget=PureDP(5), domain=NARROW).fit(X, rng=SeededRandom(1))
    away = model.transform(X[:50])

    assert (away.argmin(axis=1) == model.predict(X[:50])).all()
    assert (away <= float(model.domain_out_["kmeans0"].high)).all()
    assert model.get_feature_names_out().tolist() == list(model.domain_out_)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")
    assert model.fit_predict(X).shape == (3000,)


def test_it_is_stored_without_its_rows():
    X, _ = blobs(300, 2)
    model = KMeans(2, budget=PureDP(1), domain=NARROW).fit(X)
    again = from_bytes(to_bytes(model), clone(model))

    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize(
    "wrong",
    [{"n_clusters": 0}, {"n_clusters": True}, {"n_clusters": 2.0}, {"n_clusters": HEAVIEST + 1}, {"expected_rows": 0}],
)
def test_wrong_numbers_are_refused_before_anything_is_drawn(wrong):
    with pytest.raises(ParameterError, match="an integer"):
        KMeans(**({"n_clusters": 2} | wrong), budget=PureDP(1), domain=NARROW).fit(frame(NARROW, 5))


def test_it_has_scikit_learns_face():
    model = KMeans(2, budget=PureDP(1), domain=NARROW)

    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_clusters=5).n_clusters == 5
