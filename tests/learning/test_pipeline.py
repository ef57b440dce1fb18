"""discreet.learning.pipeline and cross_validation: each claim in the module docstrings, in order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chisquare
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from discreet.data.columns import Boolean, Integer, Real
from discreet.data.domain import Domain
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import cross_validation as cv
from discreet.learning.budget_curve import accuracy_curve
from discreet.learning.cross_validation import cross_val_score, cross_validate
from discreet.learning.linear.ridge import Ridge
from discreet.learning.pipeline import Pipeline
from discreet.learning.pipeline_budget import divided
from discreet.learning.scaling import DeclaredScaler, PrivateBounds
from discreet.learning.vectors.k_means import KMeans
from discreet.learning.vectors.maximum_likelihood import MaximumLikelihoodClassifier
from discreet.learning.vectors.nearest_neighbours import KNeighborsClassifier
from discreet.learning.vectors.nearest_neighbours_labels import LabelPrivateNeighbors
from discreet.learning.vectors.principal_components import PCA
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import exact
from tests.learning.replay import cost, moved
from tests.scale import counts

DOMAIN = Domain({f"x{place}": Integer(0, 1000) for place in range(3)})


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = (500 + 40 * y[:, None] * [1, 1, 0] + rng.normal(0, 15, (n, 3))).clip(0, 1000).round()
    return pd.DataFrame(X, columns=list(DOMAIN)), pd.Series(y, name="y")


def classes(**how):
    return MaximumLikelihoodClassifier(classes=(0, 1), **how)


def steps():
    return [("components", PCA(2)), ("classes", classes())]


def with_row(pair, value=0.0, label=1):
    X, y = pair
    extra = pd.DataFrame([[value] * 3], columns=X.columns)
    return pd.concat([X, extra], ignore_index=True), pd.concat([y, pd.Series([label], name="y")], ignore_index=True)


def test_divided_budgets_add_up_to_what_was_given():
    for budget in (PureDP(1), ZCDP(Fraction(1, 3)), ApproxDP(1.0, 0.0)):
        parts = divided(budget, [1, 2, 4])
        total = sum(exact(getattr(part, "epsilon", None) or part.rho) for part in parts)

        assert total == exact(getattr(budget, "epsilon", None) or budget.rho)


def test_an_approximate_budget_is_divided_as_rho_that_implies_it():
    whole = sum((exact(part.rho) for part in divided(ApproxDP(1.0, 1e-6), [1] * 10)), Fraction(0))

    assert ZCDP(whole).to_approx(1e-6) <= ApproxDP(1.0, 1e-6)
    assert not ZCDP(whole * Fraction(101, 100)).to_approx(1e-6) <= ApproxDP(1.0, 1e-6)


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(0.1), ApproxDP(1.0, 1e-6)], ids=repr)
def test_no_row_moves_any_step_by_more_than_it_declares(budget, monkeypatch):
    def run(pair):
        return Pipeline(steps(), budget=budget, domain=DOMAIN).fit(*pair, rng=SeededRandom(1))

    for value, label in ((0.0, 1), (1e300, 0), (float("nan"), 0), (3.0, 9)):
        parts = moved(monkeypatch, run, data(25), with_row(data(25), value, label))

        assert len(parts) == 7
        assert max(parts) <= 1


def test_the_steps_add_up_to_the_budget():
    made = Pipeline(steps(), shares=[1, 3], budget=ZCDP(0.4), domain=DOMAIN).fit(*data(100))

    assert 0.999 < float(cost(made.event(), ZCDP(0.4)) / Fraction(4, 10)) <= 1 + 1e-9
    assert made.privacy() == ZCDP(0.4, neighbours=AddRemove)
    assert [float(step.privacy().rho) for _, step in made.steps_] == pytest.approx([0.1, 0.3])


def test_each_step_reads_what_the_one_before_declares():
    long = [("bounds", PrivateBounds()), ("scale", DeclaredScaler()), ("components", PCA(2)), ("classes", classes())]
    made = Pipeline(long, budget=ZCDP(2), domain=DOMAIN).fit(*data(4000), rng=SeededRandom(1))
    without = classes(budget=ZCDP(2), domain=DOMAIN).fit(*data(4000), rng=SeededRandom(1))

    assert made.score(*data(1000, seed=1)) > 0.95
    assert without.score(*data(1000, seed=1)) > 0.9
    assert list(made.last_.domain_) == ["pca0", "pca1"]


def test_a_target_in_the_domain_is_no_feature():
    domain = Domain({**DOMAIN, "y": Integer(0, 1)})
    X, y = data(500)
    made = Pipeline([("components", PCA(2)), ("classes", MaximumLikelihoodClassifier())], budget=ZCDP(1), domain=domain)

    assert made.fit(X, y).last_.classes_.tolist() == [0, 1]


def test_a_pipeline_may_end_in_a_transformation_or_in_clusters():
    X, _ = data(500)

    assert Pipeline([("components", PCA(2))], budget=ZCDP(1), domain=DOMAIN).fit(X).transform(X).shape == (500, 2)
    made = Pipeline([("components", PCA(2)), ("groups", KMeans(2))], budget=ZCDP(1), domain=DOMAIN).fit(X)
    assert set(made.predict(X)) <= {0, 1}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ([("scale", StandardScaler()), ("classes", classes())], "private estimators"),
        ([("classes", classes()), ("components", PCA())], "transforms rows without labels"),
        ([("a", PCA()), ("a", classes())], "different names"),
        ([], "different names"),
        ([("scale", DeclaredScaler())], "one share a step"),
    ],
)
def test_wrong_steps_are_refused_before_a_row_is_read(wrong, says):
    with pytest.raises(ParameterError, match=says):
        Pipeline(wrong, budget=ZCDP(1), domain=DOMAIN).fit(None, None)


def test_wrong_budgets_are_refused():
    for budget, domain, says in (
        (None, DOMAIN, "budget"),
        (ZCDP(1), None, "domain"),
        (PureDP(1, neighbours=Replace), DOMAIN, "one row added or removed"),
    ):
        with pytest.raises(ParameterError, match=says):
            Pipeline(steps(), budget=budget, domain=domain).fit(*data(5))
    with pytest.raises(ParameterError, match="shares above 0"):
        Pipeline(steps(), shares=[1, 0], budget=ZCDP(1), domain=DOMAIN).fit(*data(5))
    with pytest.raises(UnsupportedError, match="divided as PureDP, ApproxDP or ZCDP"):
        Pipeline(steps(), budget=GaussianDP(1), domain=DOMAIN).fit(*data(5))
    with pytest.raises(ParameterError, match="call fit first"):
        Pipeline(steps(), budget=ZCDP(1), domain=DOMAIN).predict(data(5)[0])
    assert clone(Pipeline(steps(), budget=ZCDP(1), domain=DOMAIN)).budget == ZCDP(1)


FOLDS, EACH = 3, 5  # four steps of a training, and a score


def validated(pair, budget=None):
    made = classes(domain=DOMAIN)
    return cross_validate(made, *pair, budget=budget or ZCDP(1), folds=FOLDS, rng=SeededRandom(1))


def by_place(bound, *, shape, rng=None):
    """Coins that stay with their rows when another is put at the end."""
    return np.arange(shape[0]) * 7 % bound


def test_a_row_is_in_all_training_sets_but_one_and_in_one_score(monkeypatch):
    monkeypatch.setattr(cv, "uniform_below", by_place)
    for n in (30, 31, 32):
        parts = np.array(moved(monkeypatch, validated, data(n), with_row(data(n)))).reshape(FOLDS, EACH)
        fold = n * 7 % FOLDS

        assert parts.max() <= 1
        assert (parts[fold, :4] == 0).all()  # not trained on
        assert parts[fold, 4] > 0
        assert (np.delete(parts, fold, axis=0)[:, 4] == 0).all()  # not scored elsewhere
        assert (np.delete(parts, fold, axis=0)[:, 0] > 0).all()


def test_the_twin_with_folds_by_position_is_caught(monkeypatch):
    monkeypatch.setattr(
        cv, "uniform_below", lambda bound, *, shape, rng=None: np.arange(shape[0]) * bound // max(shape[0], 1)
    )
    X, y = data(30)
    X.loc[::2] = 0.0
    shorter = X[1:].reset_index(drop=True), y[1:].reset_index(drop=True)
    parts = np.array(moved(monkeypatch, validated, (X, y), shorter)).reshape(FOLDS, EACH)

    assert (parts[:, 4] > 0).sum() > 1 or parts.max() > 1


@pytest.mark.parametrize(("watched", "progress"), [(True, True), (True, False), (False, True)])
def test_a_bar_shows_the_folds_where_somebody_watches(monkeypatch, capsys, watched, progress):
    monkeypatch.setattr("rich.console.Console.is_terminal", watched)
    model = classes(domain=DOMAIN)
    cross_validate(model, *data(30), budget=ZCDP(1), folds=FOLDS, progress=progress, rng=SeededRandom(1))
    out, error = capsys.readouterr()

    assert out == ""
    assert ("each fold" in error) == (watched and progress)


DRAWS = counts(quick=120, full=3000)


def folds_drawn(monkeypatch, seeds=DRAWS, n=12):
    """The fold of each row, by which rows each score is of: what a whole validation does."""
    found = []
    monkeypatch.setattr(MaximumLikelihoodClassifier, "fit", lambda self, X, y, rng=None: self)
    for seed in range(seeds):
        scored = []

        def losses(fitted, rows, labels, scored=scored):
            scored.append(rows.column("x0").to_numpy())
            return np.zeros(rows.num_rows, dtype=np.int64), 1.0

        monkeypatch.setattr(cv, "_losses", losses)
        X = pd.DataFrame({name: np.arange(float(n)) for name in DOMAIN})
        cross_validate(classes(domain=DOMAIN), X, np.zeros(n), budget=ZCDP(1), folds=FOLDS, rng=SeededRandom(seed))
        of = np.empty(n, dtype=int)
        for place, rows in enumerate(scored):
            of[rows.astype(int)] = place
        found.append(of)
    return np.array(found)


def fair(found):
    """The least p-value: of every row's fold, and of how many rows the first fold has."""
    each = [chisquare(np.bincount(column, minlength=FOLDS)).pvalue for column in found.T]
    sizes = np.bincount((found == 0).sum(axis=1), minlength=found.shape[1] + 1)
    law = binom.pmf(np.arange(len(sizes)), found.shape[1], 1 / FOLDS) * len(found)
    wide = law > 5
    tails = chisquare([*sizes[wide], sizes[~wide].sum()], [*law[wide], law[~wide].sum()]).pvalue
    return min(min(each) * found.shape[1], tails)


@pytest.mark.statistical
def test_every_row_draws_its_fold_by_a_coin_of_its_own(monkeypatch):
    found = folds_drawn(monkeypatch)

    assert len({tuple(one) for one in found}) == len(found)
    assert fair(found) > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize(
    "twin",
    [lambda n, draw: np.arange(n) % FOLDS, lambda n, draw: draw.permutation(np.arange(n) % FOLDS)],
    ids=["by place", "of one size"],
)
def test_folds_by_place_or_of_one_size_are_caught(monkeypatch, twin):
    draw = np.random.default_rng(3)
    monkeypatch.setattr(cv, "uniform_below", lambda bound, *, shape, rng=None: twin(shape[0], draw))

    assert fair(folds_drawn(monkeypatch)) < 1e-6


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(0.1), ApproxDP(1.0, 1e-6)], ids=repr)
def test_what_a_row_takes_part_in_adds_up_to_the_budget(budget):
    found = validated(data(60), budget)
    if isinstance(budget, ApproxDP):
        rho = cost(found.event(), ZCDP(1))
        assert ZCDP(rho).to_approx(1e-6).epsilon <= 1.0 + 1e-9
        assert ZCDP(rho).to_approx(1e-6).epsilon > 0.999
    else:
        total = 1 if isinstance(budget, PureDP) else Fraction(1, 10)
        assert 0.999 < float(cost(found.event(), budget) / total) <= 1 + 1e-9
    assert found.privacy() == budget.under(AddRemove)


def test_scores_are_near_the_truth():
    pair = data(6000)
    found = cross_validate(classes(domain=DOMAIN), *pair, budget=ZCDP(5), folds=4, rng=SeededRandom(2))
    truth = classes(domain=DOMAIN, budget=ZCDP(1)).fit(*pair).score(*data(5000, seed=8))

    assert abs(found.mean - truth) < 0.02
    assert found.sd < 0.01
    assert len(found.scores) == 4
    assert max(abs(score - truth) for score in found.scores) < 0.04


def test_a_regression_is_scored_by_its_mean_absolute_error():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1000, (4000, 3)).round()
    y = (X @ [0.05, 0.02, 0.0] + rng.normal(0, 2, 4000)).clip(0, 70)
    found = cross_validate(Ridge(domain=DOMAIN, bounds=(0, 70)), X, y, budget=ZCDP(20), folds=3, rng=SeededRandom(1))

    assert -2.5 < found.mean < -1.2  # 2 sqrt(2 / pi) = 1.6


def test_a_pipeline_is_validated_as_a_whole():
    found = cross_val_score(
        Pipeline(steps(), domain=DOMAIN), *data(3000), budget=ZCDP(20), folds=3, rng=SeededRandom(1)
    )

    assert found.shape == (3,)
    assert found.min() > 0.9


def test_no_rows_are_scored_without_an_error():
    found = cross_validate(classes(domain=DOMAIN), *data(0), budget=ZCDP(1), folds=3)

    assert all(0 <= score <= 1 for score in found.scores)


def test_no_rows_are_scored_on_the_scale_of_the_declaration(monkeypatch):
    seen = []
    real = cv._losses
    monkeypatch.setattr(cv, "_losses", lambda *given: seen.append(real(*given)) or seen[-1])
    monkeypatch.setattr(cv, "uniform_below", by_place)
    for rows in (0, 1, 2, 9):
        X, y = data(rows)
        cross_validate(Ridge(domain=DOMAIN, bounds=(0, 70)), X, y, budget=ZCDP(1), folds=3, rng=SeededRandom(1))

    assert len(seen) == 12
    assert {span for _, span in seen} == {70.0}  # not 1 where a fold is empty
    assert min(len(lost) for lost, _ in seen) == 0


def test_labels_that_cannot_be_read_are_losses_and_never_errors(monkeypatch):
    monkeypatch.setattr(cv, "uniform_below", by_place)
    seen = []
    real = cv._losses
    monkeypatch.setattr(cv, "_losses", lambda *given: seen.append(real(*given)[0].tolist()) or real(*given))
    X = [[1, 2, 3]] * 6
    numbers = Ridge(domain=DOMAIN, bounds=(0, 1))
    for model, y in ((classes(domain=DOMAIN), [0, 1, 0, 1, 0]), (numbers, [0, 0.5, 1, 1, 0])):
        for odd in (None, "x", pd.NA, [1], 2**70, float("nan"), np.array([1, 2])):
            cross_validate(model, X, [*y, odd], budget=ZCDP(1), folds=3, rng=SeededRandom(1))

            assert seen[-1][-1] == cv.UNIT or odd == 2**70  # the last row is in the last fold, and 2^70 is clamped to 1


def test_a_nullable_series_is_validated_like_any_other():
    X, y = data(40)
    truth = (y == 1).astype("boolean")
    truth[3] = pd.NA
    found = cross_validate(
        MaximumLikelihoodClassifier(domain=DOMAIN), X, truth, budget=ZCDP(100), folds=2, rng=SeededRandom(1)
    )

    assert found.mean > 0.8


def test_a_regression_of_truth_values_is_validated():
    X, y = data(3000)
    domain = Domain({**DOMAIN, "y": Boolean()})
    found = cross_validate(Ridge(domain=domain), X, y, budget=ZCDP(100), folds=2, rng=SeededRandom(1))

    assert -0.5 < found.mean < 0


@pytest.mark.parametrize(
    "wrap", [lambda step, **how: step.set_params(**how), lambda step, **how: Pipeline([("a", step)], **how)]
)
def test_what_hides_labels_only_is_not_sold_as_hiding_rows(wrap):
    X, y = data(20)
    with pytest.raises(UnsupportedError, match="labels only"):
        cross_validate(wrap(LabelPrivateNeighbors(), domain=DOMAIN), X, y, budget=PureDP(1))
    with pytest.raises(UnsupportedError, match="labels only"):
        accuracy_curve(wrap(LabelPrivateNeighbors(), domain=DOMAIN), X, y, budgets=[PureDP(1)], public=False)


def test_a_pipeline_refuses_what_hides_labels_only_before_a_row_is_read():
    for steps in ([LabelPrivateNeighbors()], [PrivateBounds(), LabelPrivateNeighbors()]):
        named = [(f"s{place}", step) for place, step in enumerate(steps)]
        with pytest.raises(UnsupportedError, match="labels only"):
            Pipeline(named, budget=PureDP(1), domain=DOMAIN).fit(None, None)


@pytest.mark.parametrize("n", [6, 60])
def test_models_with_declared_queries_are_refused_whatever_the_number_of_rows(n):
    X, y = data(n)
    asked = KNeighborsClassifier(3, queries=5, domain=DOMAIN, classes=(0, 1))
    for model in (asked, Pipeline([("a", DeclaredScaler()), ("b", asked)], domain=DOMAIN)):
        with pytest.raises(UnsupportedError, match="leave out queries="):
            cross_validate(model, X, y, budget=PureDP(1))
        with pytest.raises(UnsupportedError, match="leave out queries="):
            accuracy_curve(model, X, y, budgets=[PureDP(1)], public=False)


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"folds": 1}, ParameterError),
        ({"folds": True}, ParameterError),
        ({"folds": 2.0}, ParameterError),
        ({"share": 0}, ParameterError),
        ({"share": 1}, ParameterError),
        ({"budget": 1.0}, ParameterError),
        ({"budget": PureDP(1, neighbours=Replace)}, ParameterError),
        ({"budget": GaussianDP(1)}, UnsupportedError),
    ],
)
def test_wrong_settings_are_refused(how, error):
    with pytest.raises(error):
        cross_validate(classes(domain=DOMAIN), *data(5), **({"budget": ZCDP(1)} | how))


def test_what_cannot_be_validated_is_refused():
    with pytest.raises(UnsupportedError, match="private classifier or regression"):
        cross_validate(KMeans(2, domain=DOMAIN), *data(5), budget=ZCDP(1))
    with pytest.raises(ParameterError, match="domain"):
        cross_validate(classes(), *data(5), budget=ZCDP(1))
    with pytest.raises(ParameterError, match="as many labels as rows"):
        cross_validate(classes(domain=DOMAIN), data(5)[0], [1, 0], budget=ZCDP(1))
    assert Real(0, 1).size > 2


def test_networks_are_not_scored_on_private_rows():
    from discreet.learning import NeuralNetwork

    network = NeuralNetwork((4,), rows=100, batch=10, epochs=1, domain=Domain({"a": Integer(0, 9)}))
    with pytest.raises(UnsupportedError, match="public rows"):
        cv.cross_validate(network, [[1], [2]], [0, 1], budget=ZCDP(1), folds=2)
