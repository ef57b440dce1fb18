"""discreet.learning.foreign_tools: tools of scikit-learn that would spend unseen are refused before a row is read.

Every class and function of scikit-learn that takes an estimator is found by its signature, and a new one is walked too.
"""

from __future__ import annotations

import inspect
import pickle
import sys
import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.model_selection import GridSearchCV
from sklearn.model_selection import cross_val_score as theirs
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.utils.discovery import all_estimators, all_functions

from discreet import learning
from discreet.data import Domain, Integer, Real
from discreet.errors import UnsupportedError
from discreet.learning import (
    PCA,
    DeclaredScaler,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
    Pipeline,
    PrivateBounds,
    Ridge,
    ThresholdLearner,
    cross_val_score,
    unaccounted,
)
from discreet.learning.foreign_tools import _ROW_BY_ROW, row_by_row
from discreet.privacy.guarantee import PureDP

DOMAIN = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})
DRAW = np.random.default_rng(1)
X = DRAW.integers(0, 10, (60, 2))
Y = (X[:, 0] > 4).astype(int)
TAKES = {
    "estimator",
    "base_estimator",
    "regressor",
    "classifier",
    "estimators",
    "transformers",
    "transformer_list",
    "steps",
}
SAYS = r"discreet\.learning\.unaccounted\(\)"


@pytest.fixture
def fits(monkeypatch):
    """How often rows were learned from."""
    seen = Counter()
    for kind in (NaiveBayes, Ridge):

        def learn(self, rows, *more, real=kind._learn, **how):
            seen["fits"] += 1
            return real(self, rows, *more, **how)

        monkeypatch.setattr(kind, "_learn", learn)
    return seen


def private(*, regression=False):
    if regression:
        return Ridge(budget=PureDP(1), domain=DOMAIN, bounds=(0, 1))
    return NaiveBayes(budget=PureDP(1), domain=DOMAIN)


def built(kind, model):
    """A tool around a model, by the names of its parameters."""
    given = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if name in ("estimators", "steps", "transformer_list"):
            given[name] = [("model", model)]
        elif name == "transformers":
            given[name] = [("model", model, [0, 1])]
        elif name in TAKES:
            given[name] = model
        elif name in ("param_grid", "param_distributions"):
            given[name] = {"domain": [DOMAIN, Domain({"b": DOMAIN["b"], "a": DOMAIN["a"]})]}
        elif name == "param_name":
            given[name] = "domain"
        elif name == "param_range":
            given[name] = [DOMAIN]
        elif name == "n_iter":
            given[name] = 2
        elif parameter.default is parameter.empty and name not in ("X", "y"):
            raise AssertionError(f"say how {kind.__name__} is built: {name}")
    return given


def halving():
    __import__("sklearn.experimental.enable_halving_search_cv")
    __import__("sklearn.experimental.enable_iterative_imputer")


def meta_estimators():
    halving()
    found = [kind for _, kind in all_estimators() if TAKES & set(inspect.signature(kind).parameters)]
    return [kind for kind in found if kind.__name__ != "FrozenEstimator"]  # which never fits


def functions():
    """The functions that fit; displays and inspections take fitted models, and need matplotlib."""
    return [one for name, one in all_functions() if one.__module__.startswith("sklearn.model_selection")
            and "estimator" in inspect.signature(one).parameters]  # fmt: skip


def test_the_walk_finds_the_tools_that_people_use():
    names = {kind.__name__ for kind in meta_estimators()} | {one.__name__ for one in functions()}

    assert {"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "Pipeline", "BaggingClassifier", "RFE",
            "StackingClassifier", "VotingRegressor", "CalibratedClassifierCV", "OneVsRestClassifier",
            "ColumnTransformer", "FeatureUnion", "cross_val_score", "cross_validate", "cross_val_predict",
            "learning_curve", "validation_curve", "permutation_test_score"} <= names  # fmt: skip
    assert len(names) > 35


def said_by(call):
    """What a caller is told: by an error and its causes, or by warnings where a tool goes on without what failed."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            call()
        except Exception as error:
            return f"{error} {error.__cause__} {error.__context__}"
    return " ".join(str(one.message) for one in warned)


# These stop before they fit anything that has no sample_weight, random_state or transform.
STOP_BEFORE = {"AdaBoostClassifier", "AdaBoostRegressor", "ColumnTransformer", "FeatureUnion", "RANSACRegressor"}


@pytest.mark.parametrize("kind", meta_estimators(), ids=lambda kind: kind.__name__)
def test_no_meta_estimator_of_scikit_learn_fits_a_private_one_unseen(kind, fits):
    """Whatever it does with the refusal, nothing was learned; alone in a pipeline a model spends once."""
    alone = kind.__name__ == "Pipeline"
    told = []
    for regression in (False, True):
        model = private(regression=regression)
        y = np.c_[Y, Y] if "MultiOutput" in kind.__name__ or "Chain" in kind.__name__ else Y
        told.append(said_by(lambda model=model, y=y: kind(**built(kind, model)).fit(X, y)))

    assert fits["fits"] == (2 if alone else 0)
    assert alone or kind.__name__ in STOP_BEFORE or any("unaccounted()" in one for one in told)


@pytest.mark.parametrize("function", functions(), ids=lambda one: one.__name__)
def test_no_function_of_scikit_learn_fits_a_private_estimator_unseen(function, fits):
    told = said_by(lambda: function(X=X, y=Y, **built(function, private())))

    assert not fits
    assert "unaccounted()" in told


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_search_is_refused_here_and_in_the_workers_of_joblib(jobs, fits):
    search = GridSearchCV(private(), {"classes": [(0, 1), (1, 0)]}, cv=2, n_jobs=jobs)
    with pytest.raises(UnsupportedError, match=SAYS):
        search.fit(X, Y)
    assert not fits
    with unaccounted():
        search.fit(X, Y)

    assert search.best_estimator_.privacy().epsilon == 1  # of its own fit: the others were not accounted for


@pytest.mark.parametrize("model", [private(), Pipeline([("one", NaiveBayes())], budget=PureDP(1), domain=DOMAIN)])
def test_a_clone_is_refused_to_a_tool_that_leaves_the_fit_to_somebody_else(model):
    class Cluster(BaseEstimator):
        def __init__(self, model):
            self.model = model

        def fit(self, X, y):
            self.sent_ = pickle.dumps(clone(self.model))
            return self

    with pytest.raises(UnsupportedError, match=SAYS):
        Cluster(model).fit(X, Y)
    with unaccounted():
        sent = Cluster(model).fit(X, Y).sent_

    assert pickle.loads(sent).fit(X, Y).privacy() == model.fit(X, Y).privacy()


def test_a_tool_from_elsewhere_is_seen_and_one_that_states_its_price_is_not(fits):
    class Bagging(BaseEstimator):
        def __init__(self, model=None):
            self.model = model

        def fit(self, X, y):
            self.models_ = [clone(self.model).fit(X, y) for _ in range(3)]
            return self

    class Accounting(Bagging):
        def privacy(self):
            return self.models_[0].privacy().repeat(3)

    with pytest.raises(UnsupportedError, match=f"Bagging fits NaiveBayes .* PureDP.* {SAYS}"):
        Bagging(private()).fit(X, Y)
    assert not fits
    assert Accounting(private()).fit(X, Y).privacy().epsilon == 3


STEPS = [
    StandardScaler(),
    FunctionTransformer(lambda rows: rows - rows.mean(axis=0)),
    PrivateBounds(budget=PureDP(1), domain=DOMAIN),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_a_model_behind_a_step_that_learns_is_refused_and_told_what_to_use(step):
    with pytest.raises(UnsupportedError, match=r"what steps beside it learn .* DeclaredScaler"):
        make_pipeline(step, private()).fit(X, Y)


def test_a_step_that_learns_behind_a_private_one_is_refused():
    for tool in (
        make_pipeline(PCA(budget=PureDP(1), domain=DOMAIN), Plain()),
        FeatureUnion([("one", PCA(budget=PureDP(1), domain=DOMAIN)), ("two", PCA(budget=PureDP(1), domain=DOMAIN))]),
        make_column_transformer((PCA(budget=PureDP(1), domain=DOMAIN), [0, 1])),
    ):
        with pytest.raises(UnsupportedError, match=SAYS):
            tool.fit(X, Y)


def test_a_pipeline_of_steps_that_learn_nothing_is_fitted():
    scaled = Domain({f"scaled{i}": Real(-1, 1, step="0.001") for i in range(2)})
    model = NaiveBayes(budget=PureDP(50), domain=scaled)
    found = make_pipeline(DeclaredScaler(domain=DOMAIN), "passthrough", model).fit(X, Y)

    assert found[-1].privacy() == model.privacy()
    assert found.predict(X).shape == (60,)


def test_every_transformer_that_may_stand_before_a_model_treats_rows_one_by_one():
    """And all others are refused, also those that a later version of scikit-learn brings."""
    rows = {"HashingVectorizer": ["a b", "b c c", "d"], "FeatureHasher": [{"a": 1}, {"b": 2, "a": 5}, {"c": -1}]}
    kinds, passed = dict(all_estimators(type_filter="transformer")), set()

    def made(step, row):
        return scipy.sparse.csr_array(step.fit([row]).transform([row])).toarray()[0].tolist()

    for name, kind in kinds.items():
        if not row_by_row(kind.__new__(kind)):
            continue
        passed.add(f"sklearn.{name}")
        whole = rows.get(name, [[1.0, -2.0], [0.0, 3.0], [5.0, 5.0]])
        together = scipy.sparse.csr_array(kind().fit(whole).transform(whole)).toarray().tolist()
        assert together == [made(kind(), row) for row in whole]

    assert passed == _ROW_BY_ROW
    assert len(kinds) > 70


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(budget=PureDP(1), domain=DOMAIN), LinearSVC(budget=PureDP(1), domain=DOMAIN), private()],
    ids=lambda model: type(model).__name__,
)
def test_our_own_tools_and_a_callers_own_clones_are_fitted(model):
    assert clone(model).fit(X, Y).privacy() == PureDP(1).under(model.fit(X, Y).privacy().neighbours)
    assert len(cross_val_score(model, X, Y, budget=PureDP(10), folds=2)) == 2
    assert make_pipeline(Normalizer(), clone(model)).fit(X, Y)


def test_learners_of_the_theory_are_refused_behind_a_scaler_too():
    class Behind(BaseEstimator):
        """scikit-learn's own pipeline writes attributes into its steps, which learners that are values do not take."""

        def fit(self, X, y):
            return ThresholdLearner(10, epsilon=1).fit(X, y)

    with pytest.raises(UnsupportedError, match=SAYS):
        Behind().fit(X[:, 0], Y == 1)


def fitting():
    """Every public class of discreet.learning with a `fit`."""
    found = [getattr(learning, name) for name in dir(learning)]
    return [kind for kind in found if inspect.isclass(kind) and hasattr(kind, "fit") and kind is not DeclaredScaler]


@pytest.mark.parametrize("kind", fitting(), ids=lambda kind: kind.__name__)
def test_every_public_estimator_asks_before_it_reads(kind, monkeypatch):
    """Its own `fit`, or the one that it calls."""

    class Asked(Exception):
        pass

    def asked(model):
        raise Asked

    for name, module in list(sys.modules.items()):
        if name.startswith("discreet.learning.") and hasattr(module, "refuse_tools"):
            monkeypatch.setattr(module, "refuse_tools", asked)
    with pytest.raises(Asked):
        kind.fit(kind.__new__(kind), None, None)


def test_unaccounted_lets_them_all_and_ends_with_its_block(fits):
    with unaccounted(), unaccounted():
        assert theirs(private(), X, Y, cv=2).shape == (2,)
        assert make_pipeline(StandardScaler(), FunctionTransformer(np.round), private()).fit(X, Y)
    assert fits["fits"] == 3
    with pytest.raises(UnsupportedError, match=SAYS):
        make_pipeline(StandardScaler(), private()).fit(X, Y)
