"""discreet.learning.row_by_row: a row's numbers are its own, to the last bit."""

import numpy as np
import pytest
from sklearn.base import clone

from discreet.data.columns import Integer
from discreet.data.domain import Domain
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.linear import classifier as linear_classifier
from discreet.learning.linear.logistic import LogisticRegression
from discreet.learning.linear.ridge import LinearRegression
from discreet.learning.row_by_row import products, squares
from discreet.learning.trees.boosted import GradientBoostedTrees
from discreet.learning.trees.random_forest import RandomForestClassifier
from discreet.learning.vectors import principal_components
from discreet.learning.vectors.k_means import KMeans
from discreet.learning.vectors.maximum_likelihood import MaximumLikelihoodClassifier
from discreet.learning.vectors.nearest_neighbours import KNeighborsClassifier
from discreet.learning.vectors.principal_components import PCA
from discreet.privacy.guarantee import ZCDP

ROWS = 1000
NUMBERS = (1, 2, 3, 5, 17, 100, 895)
DOMAIN = Domain({f"x{place}": Integer(0, 997) for place in range(12)})


def matrices(rows, axes):
    return rows @ axes.T


def sums_of_squares(rows):
    return (rows * rows).sum(axis=1)


def changed(function, rows, *rest):
    """Whether some row's result is another one among other rows, in either order of memory."""
    whole = function(rows, *rest)
    alone = np.concatenate([function(rows[place : place + 1], *rest) for place in range(0, len(rows), 50)])
    fewer = [
        np.array_equal(function(np.array(rows[-number:], order=order), *rest), whole[-number:])
        for number in NUMBERS
        for order in "CF"
    ]
    return not (np.array_equal(alone, whole[::50]) and all(fewer))


def sample(width):
    rng = np.random.default_rng(width)
    return rng.uniform(-1, 1, (ROWS, width)), rng.normal(size=(1 + width % 5, width))


def test_products_and_lengths_are_the_same_alone_and_among_others():
    for width in range(1, 101):
        rows, axes = sample(width)

        assert not changed(products, rows, axes)
        assert not changed(squares, rows)
        assert np.allclose(products(rows, axes), rows @ axes.T)
        assert np.allclose(squares(rows), (rows * rows).sum(axis=1))


def test_products_of_matrices_are_not():
    """The twin that this module replaces."""
    assert any(changed(matrices, *sample(width)) for width in range(1, 101))
    assert any(changed(sums_of_squares, sample(width)[0]) for width in range(1, 101))


def test_rows_in_many_blocks_and_no_rows_at_all():
    rng = np.random.default_rng(0)
    rows, axes = rng.uniform(-1, 1, (40_000, 3)), rng.normal(size=(2, 3))

    assert np.array_equal(products(rows, axes)[-5:], products(rows[-5:], axes))
    assert np.array_equal(squares(rows)[-5:], squares(rows[-5:]))
    assert products(rows[:0], axes).shape == (0, 2)
    assert squares(rows[:0]).shape == (0,)


X = np.random.default_rng(3).integers(0, 998, (ROWS, len(DOMAIN)))
Y = np.random.default_rng(4).integers(0, 2, ROWS)
FACES = [
    (KMeans(3), (), KMeans.transform),
    (PCA(5), (), PCA.transform),
    (LogisticRegression(bins=0), (Y,), LogisticRegression.decision_function),
    (LogisticRegression(classes=(0, 1, 2)), (Y,), LogisticRegression.decision_function),
    (MaximumLikelihoodClassifier(), (Y,), lambda model, rows: model._scores(model._read(rows))),
    (RandomForestClassifier(trees=10), (Y,), RandomForestClassifier.predict_proba),
    (GradientBoostedTrees(sweeps=2), (Y,), lambda model, rows: model._scores(model._read(rows))),
    (LinearRegression(bounds=(0, 1)), (Y,), LinearRegression.predict),
    (KNeighborsClassifier(), (Y,), lambda model, rows: model._points(model.design_.floats(model._read(rows)))),
]


def says_another(model, labels, face):
    found = clone(model).set_params(budget=ZCDP(1), domain=DOMAIN).fit(X, *labels, rng=SeededRandom(1))
    whole = face(found, X)
    return any(not np.array_equal(face(found, X[-number:]), whole[-number:]) for number in (1, 3, 95))


@pytest.mark.parametrize(("model", "labels", "face"), FACES, ids=lambda part: type(part).__name__)
def test_what_a_model_says_of_a_row_is_the_same_among_other_rows(model, labels, face):
    assert not says_another(model, labels, face)


@pytest.mark.parametrize(("place", "module"), [(1, principal_components), (2, linear_classifier)])
def test_a_model_with_products_of_matrices_is_caught(place, module, monkeypatch):
    monkeypatch.setattr(module, "products", matrices)

    assert says_another(*FACES[place])
