"""Record and replay of every learner: with the releases as they were, one more row changes neither steps nor model."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from discreet.attacks import replay
from discreet.attacks.hooks import ENTRY_BY_ENTRY, HOOKS
from discreet.attacks.hooks_elsewhere import learners
from discreet.composition.price import price
from discreet.data import Domain, Integer
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import (
    Amplified,
    BoostedLearner,
    ExponentialLearner,
    KMeans,
    MaximumLikelihoodClassifier,
    NaiveBayes,
    Pipeline,
    PrivateBounds,
    Ridge,
    Sampled,
    StatisticalQueryOracle,
    ThresholdLearner,
    cross_validate,
    learn_conjunction,
)
from discreet.learning.estimator import PrivateClassifier, PrivateRegressor
from discreet.learning.stored import to_bytes
from discreet.privacy.guarantee import PureDP
from tests.arrays import torch
from tests.contracts.test_estimators import BUDGETS, DOMAIN, NAMES, made, rows
from tests.contracts.test_replay import within
from tests.scale import counts

SEEDS = counts(quick=1, full=30)
KNOWN, _, _ = rows(20, seed=7)
ODD = [  # rows that are as odd as they can be: far out, unreadable, of a class and a ward that are not declared
    {"age": 99, "cost": 1e9, "ward": "c", "icu": True, "weight": 200.0, "label": 1, "value": 50.0},
    {"age": 0, "cost": 0.0, "ward": "b", "icu": True, "weight": math.nan, "label": 0, "value": 1e9},
    {"age": 50, "cost": math.nan, "ward": "nowhere", "icu": True, "weight": 1.0, "label": 7, "value": -5.0},
]
NEURAL = [name for name in NAMES if name.startswith("Neural")]
CENTRAL = [name for name in NAMES if name not in ("LabelPrivateNeighbors", *NEURAL)]


def data(seed, odd=None, times=1):
    """Sixty rows, and an odd one so many times."""
    frame, label, value = rows(60, seed=seed)
    for _ in range(times if odd else 0):
        row = pd.DataFrame({name: [odd[name]] for name in frame.columns}).astype(frame.dtypes)
        frame = pd.concat([frame, row], ignore_index=True)
        label, value = np.append(label, odd["label"]), np.append(value, odd["value"])
    return frame, label, value


class Fit:
    """Fit an estimator, and show all that is public of it."""

    def __init__(self, name, budget):
        self.name, self.budget, self.model = name, budget, None

    def __call__(self, given):
        frame, label, value = given
        self.model = made(self.name, self.budget)
        y = [label] if isinstance(self.model, PrivateClassifier) else []
        y = [value] if isinstance(self.model, PrivateRegressor) else y
        self.model.fit(frame, *y, rng=SeededRandom(3))
        shown = self.model.predict if hasattr(self.model, "predict") else self.model.transform
        try:
            stored = to_bytes(self.model)
        except UnsupportedError:
            stored = b""  # holds rows, and so is never handed out
        return pd.DataFrame(shown(KNOWN)).to_numpy(), stored


def audits(name, pair, hooks=HOOKS):
    """The estimator under all budgets that it takes."""
    for budget in BUDGETS.values():
        fit = Fit(name, budget)
        try:
            yield fit, replay(fit, pair, hooks=hooks)
        except UnsupportedError:
            continue


@pytest.mark.parametrize("name", CENTRAL)
def test_one_row_moves_no_step_by_more_than_declared_and_nothing_else(name):
    for seed in range(CENTRAL.index(name), CENTRAL.index(name) + SEEDS):
        pair = (data(seed), data(seed, ODD[seed % 3]))
        for fit, found in audits(name, pair if seed % 2 else pair[::-1]):
            assert found.violations == ()
            assert found.steps
            assert within(found.price(), price(fit.model.event()))


@pytest.mark.parametrize("name", CENTRAL)
def test_several_rows_of_one_person_are_seen(name):
    """The twin: eight rows at the noise of one."""
    _, found = next(audits(name, (data(1), data(1, ODD[0], times=8))))

    assert found.violations


def test_one_label_changes_one_report_and_the_rows_are_everybodys():
    frame, label, value = data(1)
    other = np.where(np.arange(len(label)) == 5, 1 - label, label)
    two = np.where(np.arange(len(label)) < 2, 1 - label, label)

    for _, found in audits("LabelPrivateNeighbors", ((frame, label, value), (frame, other, value))):
        assert found.violations == ()
        assert found.parts == (1.0,)
    for _, found in audits("LabelPrivateNeighbors", ((frame, label, value), (frame, two, value))):
        assert found.violations


# Networks: the coins of a row are its own, so they are the same in both runs; the sums are what is released


class Coupled:
    """Samples in which row i is in or out by a coin that depends on the step and on i alone; row 60 is always in."""

    def __init__(self, *, rows, rate, bands, rng):
        self.rows, self.rate = rows, float(rate)

    def take(self, step):
        held = np.random.default_rng(step).random(200)[: self.rows] < self.rate
        held[60:] = True
        return np.flatnonzero(held)


@pytest.mark.parametrize("name", NEURAL)
def test_a_network_is_a_function_of_its_noisy_sums(name, monkeypatch):
    torch.set_num_threads(1)  # skipped where there is no PyTorch
    monkeypatch.setattr("discreet.learning.neural.training.Batches", Coupled)
    for odd in ODD[: counts(quick=1, full=3)]:
        for _, found in audits(name, (data(1), data(1, odd)), hooks=(*HOOKS, *learners())):
            assert found.violations == ()
            assert len(found.steps) >= 4
    _, twin = next(audits(name, (data(1), data(1, ODD[0], times=8)), hooks=(*HOOKS, *learners())))

    assert twin.violations


# Learners of classes of hypotheses, and of statistical queries


X = np.random.default_rng(0).integers(0, 16, 80)
TESTS = [lambda x, t=t: x >= t for t in range(17)]
LEARNERS = [
    ExponentialLearner(TESTS, epsilon=1.0),
    ExponentialLearner(TESTS, epsilon=1.0, n=80),
    ThresholdLearner(16, epsilon=1.0),
    BoostedLearner(TESTS, budget=PureDP(1.0), rounds=4, advantage=0.15),
    Amplified(ThresholdLearner(16, epsilon=1.0), blocks=3, epsilon=1.0),
    Sampled(ThresholdLearner(16, epsilon=1.0), epsilon=0.5),
]


def learnt(learner):
    def run(given):
        return learner.fit(*given, rng=SeededRandom(3)).predict(np.arange(16))

    return run


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_learners_of_hypotheses_are_functions_of_their_draws(learner):
    y = X >= 6
    if getattr(learner, "n", None):
        pair = ((X, y), (X, np.where(np.arange(80) == 79, ~y, y)))
        far = ((X, y), (X, ~y))
    else:
        pair = ((X, y), (np.append(X, 3), np.append(y, True)))
        far = ((X, y), (np.append(X, [3] * 9), np.append(y, [True] * 9)))

    for one in (pair, pair[::-1]):
        found = replay(learnt(learner), one)
        assert found.violations == ()
        assert found.steps
    assert replay(learnt(learner), far).violations


@pytest.mark.parametrize("known", [None, 80])
def test_statistical_learners_are_functions_of_their_answers(known):
    bits = np.random.default_rng(1).integers(0, 2, (80, 4))
    labels = bits[:, 1] & bits[:, 3]

    def run(given):
        oracle = StatisticalQueryOracle(given, queries=4, epsilon=1.0, n=known, rng=SeededRandom(3))
        return learn_conjunction(oracle, d=4, alpha=0.1).literals, price(oracle.event())

    other = (bits.copy(), labels.copy()) if known else (np.append(bits, [[1, 0, 1, 1]], axis=0), np.append(labels, 1))
    if known:
        other[0][79], other[1][79] = 1 - bits[79], 1
    for pair in (((bits, labels), other), (other, (bits, labels))):
        found = replay(run, pair, hooks=ENTRY_BY_ENTRY)

        assert found.violations == ()
        assert within(found.price(), found.results[0][1])


SMALL = Domain({"a": Integer(0, 100), "b": Integer(0, 100)})


def pairs_of_numbers():
    draw = np.random.default_rng(2)
    y = draw.integers(0, 2, 50)
    features = draw.normal(40 + 20 * y[:, None], 10, (50, 2)).round()
    return (features, y), (np.append(features, [[100, 0]], axis=0), np.append(y, 1))


def piped(given):
    steps = [("bounds", PrivateBounds()), ("classes", MaximumLikelihoodClassifier(classes=(0, 1)))]
    model = Pipeline(steps, shares=[1, 3], budget=PureDP(2), domain=SMALL).fit(*given, rng=SeededRandom(3))
    return model.predict(np.array([[10, 90], [60, 60]])), price(model.event())


def validated(given):
    model = MaximumLikelihoodClassifier(domain=SMALL, classes=(0, 1))
    found = cross_validate(model, *given, budget=PureDP(2), folds=3, rng=SeededRandom(3))
    return found.scores, price(found.event())


@pytest.mark.parametrize("run", [piped, validated])
def test_pipelines_and_cross_validation_are_functions_of_their_releases(run):
    pair = pairs_of_numbers()
    for one in (pair, pair[::-1]):
        found = replay(run, one)

        assert found.violations == ()
        assert within(found.price(), found.results[0][1])


# What estimators elsewhere have read off the data


def classes_from_data(frame, label, value):
    return NaiveBayes(budget=PureDP(1.0), domain=DOMAIN, classes=tuple(np.unique(label).tolist())).fit(frame, label)


def domain_from_data(frame, label, value):
    wards = {**DOMAIN, "age": Integer(int(frame["age"].min()), int(frame["age"].max()) + 1)}
    return NaiveBayes(budget=PureDP(1.0), domain=Domain(wards)).fit(frame, label)


def bounds_from_data(frame, label, value):
    return Ridge(budget=PureDP(1.0), domain=DOMAIN, bounds=(int(value.min()), int(value.max()) + 1)).fit(frame, value)


def score_for_free(frame, label, value):
    return NaiveBayes(budget=PureDP(1.0), domain=DOMAIN).fit(frame, label).score(frame.fillna(0.0), label)


def clusters_by_size(frame, label, value):
    return KMeans(n_clusters=2 + len(frame) % 2, budget=PureDP(1.0), domain=DOMAIN).fit(frame)


@pytest.mark.parametrize(
    "twin", [classes_from_data, domain_from_data, bounds_from_data, score_for_free, clusters_by_size]
)
def test_what_is_read_off_the_data_is_seen(twin):
    def run(given):
        model = twin(*given)
        return model if isinstance(model, float) else to_bytes(model)

    frame, label, value = data(1)
    kept = frame["age"] < 90
    row = pd.DataFrame({name: [ODD[0][name]] for name in frame.columns}).astype(frame.dtypes)
    less = frame[kept], label[kept], value[kept]
    more = pd.concat([less[0], row], ignore_index=True), np.append(less[1], 7), np.append(less[2], 99.0)

    assert replay(run, (less, more)).violations
