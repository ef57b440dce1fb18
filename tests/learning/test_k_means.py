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
from discreet.learning.vectors import one_centre as one_centre_module
from discreet.learning.vectors.k_means import KMeans
from discreet.learning.vectors.k_means_grid import HEAVIEST, cells, side
from discreet.learning.vectors.one_centre import in_two_steps, one_centre
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
    few = 500 if isinstance(budget, PureDP) else 50  # rows for which one centre is worth two steps, if they are wide
    steps_of = {None: (2, 3), 1: (1,), few: (2,), 10**6: (5,)} if len(domain) > 6 else {None: (3,), 10**6: (2,)}
    for n, expected in [(0, None), *((30, expected) for expected in steps_of)]:
        data, model = frame(domain, n), KMeans(2, budget=budget, domain=domain, expected_rows=expected)
        for value in (0.0, 1e300, -1e300, float("nan")):
            run = lambda X, n=n, model=model: clone(model).fit(X, rng=SeededRandom(n))  # noqa: E731
            parts = moved(monkeypatch, run, data, with_row(data, domain, value))
            assert len(parts) in steps_of[expected]
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
@pytest.mark.parametrize("expected_rows", [None, 100, 10**6])
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_shares_add_up_to_the_budget(budget, expected_rows, domain):
    model = KMeans(2, budget=budget, domain=domain, expected_rows=expected_rows).fit(frame(domain, 50))

    assert 0.999 < spent(model, budget) <= 1 + 1e-9


def wide(n, width=20, seed=0):
    """Two groups far from the middle of wide ranges."""
    rng = np.random.default_rng(seed)
    X = rng.normal(20, 3, (n, width)) + 8 * rng.integers(0, 2, (n, 1))
    return X.clip(0, 100).round(), Domain({f"x{place}": Integer(0, 100) for place in range(width)})


def inertia(X, centres):
    return float(((X[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1).mean())


def test_few_wide_rows_get_one_centre_and_many_get_all():
    X, domain = wide(300)
    few = KMeans(2, budget=ApproxDP(0.2, 1e-6), domain=domain, expected_rows=300).fit(X, rng=SeededRandom(1))
    many = KMeans(2, budget=ApproxDP(0.2, 1e-6), domain=domain, expected_rows=300_000).fit(X, rng=SeededRandom(1))

    assert len(np.unique(few.centres_, axis=0)) == 1
    assert len(np.unique(many.centres_, axis=0)) == 2
    assert KMeans(1, budget=ZCDP(1), domain=domain).fit(X).centres_.shape == (1, 20)


def test_one_centre_is_nearly_as_good_as_the_mean_where_groups_would_be_noise(monkeypatch):
    """At epsilon 0.2 and 600 rows in twenty wide columns; the twin that looks for groups all the same is far worse."""
    X, domain = wide(600)
    alone = inertia(X, X.mean(axis=0)[None])

    def found():
        model = KMeans(2, budget=ApproxDP(0.2, 1e-6), domain=domain)
        return np.mean([inertia(X, clone(model).fit(X, rng=SeededRandom(seed)).cluster_centers_) for seed in range(5)])

    ours = found()
    monkeypatch.setattr(k_means, "directions_are_lost", lambda *a, **k: False)

    assert ours < 3 * alone
    assert found() > 2 * ours


@pytest.mark.parametrize("budget", [ZCDP(0.001), PureDP(0.5)], ids=repr)
def test_the_second_mean_has_less_noise_than_one_mean_for_all(budget):
    X, _ = wide(2000)
    rows = (X - 50) / 50
    whole, off, once = Allowance(budget, entries=100), [], []
    for seed in range(20):
        how = {"allowance": whole, "rng": SeededRandom(seed)}
        one = np.zeros(len(rows), dtype=np.int64)
        centre, events = one_centre(rows, 20**0.5, rows=2000.0, amount=whole.total, **how)
        off.append(centre - rows.mean(axis=0))
        plain = clipped_moments.noisy_means(rows, one, 1, radius=20**0.5, share=whole.total, **how)
        once.append(plain.means[0] - rows.mean(axis=0))

    assert len(events) == 2
    assert np.square(off).sum(axis=1).mean() < 0.9 * np.square(once).sum(axis=1).mean()


@pytest.mark.parametrize(
    ("budget", "width", "number"),
    [(PureDP(0.1), 10, 442), (PureDP(0.2), 30, 569), (PureDP(0.5), 10, 442), (ZCDP(1e-4), 20, 900)],
    ids=repr,
)
def test_one_mean_or_two_steps_whichever_has_less_noise(monkeypatch, budget, width, number):
    """Without the shortening, which is another matter: the way that is chosen by public numbers is the better one."""
    monkeypatch.setattr(one_centre_module, "shrunk", lambda vector, sd: vector)
    rows, whole = np.full((number, width), 0.3), Allowance(budget, entries=width + 1)
    chosen = in_two_steps(width, float(number), width**0.5, allowance=whole, amount=whole.total)
    errors = {}
    for twice in (True, False):
        monkeypatch.setattr(one_centre_module, "in_two_steps", lambda *a, twice=twice, **k: twice)
        how = {"rows": float(number), "allowance": whole, "amount": whole.total}
        made = [one_centre(rows, width**0.5, rng=SeededRandom(seed), **how)[0] for seed in range(60)]
        errors[twice] = np.square(np.array(made) - 0.3).sum(axis=1).mean()

    assert errors[chosen] < 1.1 * errors[not chosen]


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
