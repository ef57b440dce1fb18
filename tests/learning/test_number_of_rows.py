"""No estimator uses how many rows there are, other than by what it released of that.

Fitted to sixty rows and to four thousand, with every release of the second fit as it was in the first, an estimator has
to end in the same model, to the last bit: then the true number of rows is nowhere in it.  What the mechanisms are fed
differs by far more than a row, and that is all that may differ.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.attacks import replay
from discreet.attacks.replay import same
from discreet.data import Domain, Integer
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.estimator import PrivateRegressor
from discreet.learning.linear import rows as linear_rows
from discreet.learning.stored import estimators, named, to_bytes
from discreet.learning.trees import random_forest
from discreet.learning.vectors import k_means, nearest_neighbours
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.release.noise import Noise

NAMES = [name for name in estimators() if not name.startswith(("Neural", "Label"))]
BUDGETS = [PureDP(0.5), ZCDP(0.05), ApproxDP(0.5, 1e-6)]
WIDTHS = [3, 10]
FEW, MANY = 60, 4000


def fitted(name, budget, width, n):
    """All that is public of a fit to so many rows."""
    domain = Domain({f"x{place}": Integer(0, 99) for place in range(width)})
    draw = np.random.default_rng(n)
    X, kind = pd.DataFrame(draw.integers(0, 100, (n, width)), columns=list(domain)), named(name)
    how = {"bounds": (0, 1)} if issubclass(kind, PrivateRegressor) else {}
    y = [(X["x0"] > 50).astype(int).to_numpy()] if kind.supervised else []
    return to_bytes(kind(budget=budget, domain=domain, **how).fit(X, *y, rng=SeededRandom(1)))


def differences(name, budget, width):
    """What two fits differ in beyond what their mechanisms are fed; (the first comparison stops at that)."""
    found = replay(lambda n: fitted(name, budget, width, n), (FEW, MANY))
    other = [wrong for wrong in found.violations if "times as far apart" not in wrong]
    return other or ([] if same(*found.results) else ["another model"])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_rows_is_nowhere_but_in_what_was_released(name, width):
    for budget in BUDGETS:
        assert differences(name, budget, width) == []


# Twins: the true number in place of the noisy one


def count_of_linear_models(monkeypatch):
    real = linear_rows.noisy_count

    def true(rows, **how):
        made = real(rows, **how)
        return linear_rows.Count(float(len(rows)), made.sd, made.event)

    for place in ("linear.classifier", "linear.sufficient_statistics", "linear.ridge", "linear.rows"):
        monkeypatch.setattr(f"discreet.learning.{place}.noisy_count", true, raising=False)


class Told:
    """A count that is released, and then told as it is."""

    def __init__(self, noise: Noise):
        self._noise = noise

    def __call__(self, count, rng=None):
        self._noise(count, rng=rng)
        return count

    def event(self):
        return self._noise.event()


def count_of_a_forest(monkeypatch):
    real = random_forest.divided
    monkeypatch.setattr(random_forest, "divided", lambda budget: (Told(real(budget)[0]), real(budget)[1]))


def rows_of_one_centre(monkeypatch):
    """By the true number directions are lost in noise, or not."""
    real = k_means.KMeans._number

    def number(self, rows, allowance, rng):
        _, *rest = real(self, rows, allowance, rng)
        return float(rows), *rest

    monkeypatch.setattr(k_means.KMeans, "_number", number)


def cells_of_neighbours(monkeypatch):
    real, seen = nearest_neighbours.side, []
    release = nearest_neighbours.KNeighborsClassifier._release

    def noting(self, vectors, *rest):
        seen.append(len(vectors))
        return release(self, vectors, *rest)

    monkeypatch.setattr(nearest_neighbours.KNeighborsClassifier, "_release", noting)
    monkeypatch.setattr(nearest_neighbours, "side", lambda count, sd, **how: real(seen[-1], sd, **how))


@pytest.mark.parametrize(
    ("twin", "name", "width"),
    [
        (count_of_linear_models, "LogisticRegression", 3),
        (count_of_linear_models, "Ridge", 3),
        (count_of_a_forest, "RandomForestClassifier", 3),
        (rows_of_one_centre, "KMeans", 10),
        (cells_of_neighbours, "KNeighborsClassifier", 3),
    ],
)
def test_the_true_number_of_rows_in_place_of_the_noisy_one_is_caught(monkeypatch, twin, name, width):
    twin(monkeypatch)

    assert any(differences(name, budget, width) for budget in BUDGETS)
