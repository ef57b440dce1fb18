"""discreet.learning.vectors.principal_components: each claim in the module docstring, in order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA as Exact

from discreet.data.columns import Boolean, Categorical, Integer
from discreet.data.domain import Domain
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.stored import from_bytes, to_bytes
from discreet.learning.vectors import clipped_moments
from discreet.learning.vectors.clipped_moments import shrunk
from discreet.learning.vectors.principal_components import PCA
from discreet.learning.vectors.principal_components_fit import corrected
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import Replace
from discreet.release.allowance import Allowance
from tests.learning.replay import moved, spent
from tests.scale import counts

DOMAIN = Domain({"a": Integer(0, 100), "b": Integer(0, 100), "c": Categorical(["x", "y", "z"]), "d": Boolean()})
BUDGETS = [PureDP(0.5), ZCDP(0.1), ApproxDP(1.0, 1e-6)]
TRIALS = counts(quick=6, full=40)


def rows(n: int, seed: int = 0) -> dict[str, list]:
    import pandas as pd

    rng = np.random.default_rng(seed)
    a = rng.normal(50, 20, n)
    return pd.DataFrame(
        {
            "a": a.round(),
            "b": (a + rng.normal(0, 5, n)).round(),
            "c": rng.choice(["x", "y", "z"], n),
            "d": rng.random(n) < 0.3,
        }
    )


def extremes():
    import pandas as pd

    for a, b, c, d in (
        (0, 0, "x", True),
        (1e300, -1e300, "z", False),
        (float("nan"), 3, "y", True),
        (5, 5, "w", False),
    ):
        yield pd.DataFrame({"a": [a], "b": [b], "c": [c], "d": [d]})


def add(frame, row):
    import pandas as pd

    return pd.concat([frame, row], ignore_index=True) if len(frame) else row


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_no_row_moves_any_step_by_more_than_it_declares(budget, monkeypatch):
    model = PCA(2, budget=budget, domain=DOMAIN)
    for n in (0, 1, 25):
        data = rows(n)
        for row in extremes():
            parts = moved(monkeypatch, lambda X, n=n: clone(model).fit(X, rng=SeededRandom(n)), data, add(data, row))
            assert len(parts) == 3  # sums, radius, moments
            assert max(parts) <= 1


def test_the_twins_with_half_the_sensitivity_are_caught(monkeypatch):
    real, sums = clipped_moments.sensitivities, clipped_moments.mean_sensitivities
    row = next(extremes())
    for name, function in (("sensitivities", real), ("mean_sensitivities", sums)):
        with monkeypatch.context() as patch:
            patch.setattr(clipped_moments, name, lambda *a, f=function: tuple(one // 2 for one in f(*a)))
            model = PCA(2, budget=ZCDP(1), domain=DOMAIN)
            parts = moved(patch, lambda X, m=model: clone(m).fit(X, rng=SeededRandom(1)), rows(20), add(rows(20), row))

        assert max(parts) > 1


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_shares_add_up_to_the_budget(budget):
    model = PCA(2, budget=budget, domain=DOMAIN).fit(rows(50), rng=SeededRandom(1))

    assert 0.999 < spent(model, budget) <= 1 + 1e-9
    assert model.privacy() == budget.under(model.privacy().neighbours)


def test_the_twin_with_less_noise_is_caught(monkeypatch):
    real = Allowance.noise
    monkeypatch.setattr(Allowance, "noise", lambda self, share, **how: real(self, share / Fraction(81, 100), **how))
    model = PCA(2, budget=ZCDP(0.1), domain=DOMAIN).fit(rows(50), rng=SeededRandom(1))

    assert spent(model, ZCDP(0.1)) > 1.1


@pytest.mark.parametrize("budget", [ZCDP(1e12), PureDP(1e12)], ids=repr)
def test_without_noise_it_is_scikit_learns(budget):
    rng = np.random.default_rng(1)
    mix = rng.normal(size=(4, 4)) * [10, 5, 3, 1]
    X = (rng.normal(size=(2000, 4)) @ mix.T).round().clip(-100, 100)
    domain = Domain({name: Integer(-100, 100) for name in "abcd"})
    ours = PCA(2, budget=budget, domain=domain).fit(X, rng=SeededRandom(1))
    exact = Exact(2).fit(X / 100)

    assert np.abs(ours.components_ @ exact.components_.T).round(2).tolist() == [[1, 0], [0, 1]]
    np.testing.assert_allclose(ours.explained_variance_, exact.explained_variance_, rtol=0.01)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, Exact(4).fit(X / 100).explained_variance_ratio_[:2], 0.02
    )
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(exact.transform(X / 100)), atol=0.02)


def _captured(X, directions):
    centred = X - X.mean(axis=0)
    return ((centred @ directions.T) ** 2).sum() / (centred**2).sum()


def test_on_digits_it_captures_more_than_chance_where_peers_capture_less():
    from sklearn.datasets import load_digits

    X = load_digits().data
    domain = Domain({f"p{place}": Integer(0, 16) for place in range(64)})
    found = {
        epsilon: np.mean(
            [
                _captured(
                    X, PCA(5, budget=ApproxDP(epsilon, 1e-6), domain=domain).fit(X, rng=SeededRandom(s)).components_
                )
                for s in range(TRIALS)
            ]
        )
        for epsilon in (0.1, 1.0, 10.0)
    }

    assert found[0.1] > 0.09  # 0.065 by diffprivlib; 5 / 64 by chance
    assert found[1.0] > 0.3
    assert found[10.0] > 0.53  # 0.545 at best


def test_eigenvalues_are_corrected_for_what_noise_adds():
    rng, width, sd, large = np.random.default_rng(3), 80, 0.1, 2.0
    noise = np.triu(rng.normal(0, sd, (width, width)), 1)
    noise = noise + noise.T + np.diag(rng.normal(0, sd * np.sqrt(2), width))
    truth = np.zeros((width, width))
    truth[0, 0] = large
    values = np.linalg.eigvalsh(truth + noise)[::-1]
    mended = corrected(values, sd * np.sqrt(width))

    assert values[0] > large + 0.25
    assert abs(mended[0] - large) < (values[0] - large) / 2
    assert (mended[2:] == 0).all()


def test_a_vector_that_is_all_noise_becomes_zero():
    assert (shrunk(np.array([1.0, 1.0]), 1.0) == 0).all()
    assert (shrunk(np.zeros(3), 1.0) == 0).all()


def test_what_it_gives_is_declared():
    model = PCA(2, budget=ZCDP(10), domain=DOMAIN).fit(rows(3000), rng=SeededRandom(1))
    made = model.transform(rows(100, seed=1))
    high = float(model.domain_out_["pca0"].high)

    assert made.shape == (100, 2)
    assert (np.abs(made) <= high).mean() > 0.95
    assert model.get_feature_names_out().tolist() == list(model.domain_out_)


def test_it_is_stored_without_its_rows():
    model = PCA(2, budget=ZCDP(1), domain=DOMAIN).fit(rows(200), rng=SeededRandom(1))
    again = from_bytes(to_bytes(model), clone(model))

    assert (again.transform(rows(5)) == model.transform(rows(5))).all()
    assert again.privacy() == model.privacy()


@pytest.mark.parametrize("components", [0, -1, True, 1.5, 7])
def test_a_wrong_number_of_components_is_refused(components):
    with pytest.raises(ParameterError, match="n_components from 1 to 6"):
        PCA(components, budget=ZCDP(1), domain=DOMAIN).fit(rows(5))


def test_what_no_proof_covers_is_refused():
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        PCA(budget=GaussianDP(1), domain=DOMAIN).fit(rows(5))
    with pytest.raises(ParameterError, match="one row added or removed"):
        PCA(budget=PureDP(1, neighbours=Replace), domain=DOMAIN).fit(rows(5))
    with pytest.raises(ParameterError, match="call fit first"):
        PCA(budget=PureDP(1), domain=DOMAIN).transform(rows(5))


def test_it_has_scikit_learns_face():
    model = PCA(2, budget=ZCDP(1), domain=DOMAIN)

    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_components=1).n_components == 1
    assert "ZCDP" in repr(model)
