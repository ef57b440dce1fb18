"""More budget, less error: every public estimator, from 10^-6 to 10^6 in every kind of guarantee."""

from __future__ import annotations

import inspect
import sys
from functools import partial

import numpy as np
import pytest

from discreet import learning, local, mechanisms, release, structured, synthesis
from discreet.privacy.guarantee import PureDP
from discreet.structured.graphs import extension_choice
from discreet.structured.graphs.extension_choice import ExtensionChoice
from tests.scale import FULL
from tests.sweeps.estimators import KINDS, SWEPT, Swept, learner, synthetic
from tests.sweeps.sweeping import flaws, growth, sweep

ROOMS = {"mechanisms": mechanisms, "structured": structured, "release": release, "learning": learning, "local": local,
         "synthesis": synthesis}  # fmt: skip
NOT_SWEPT = {
    "PartitionSelection": "it answers yes or no: what is kept, and when, is in tests/mechanisms",
    "ProposeTestRelease": "needs a query of one's own; StableMedian is one",
    "SmoothSensitivity": "needs a query of one's own; SmoothMedian is one",
    "SparseVector": "it answers yes or no",
    "noises": "a list of noises, each swept by itself",
    "Ladder": "needs a ladder of one's own; TriangleCount is one",
    "NoisyLocal": "needs a local sensitivity of one's own; TriangleCount is one",
    "ChebyshevConjunctions": "its error is at most alpha, which is asked for: a degree, not a budget, makes it small",
    "boosted_parities": "a base and a number of rounds; its parts are swept",
    "Amplified": "a learner around another one",
    "BoostedLearner": "a class of hypotheses of one's own",
    "ExponentialLearner": "a class of hypotheses of one's own",
    "ParityLearner": "it finds a parity or says so",
    "Sampled": "a learner around another one",
    "ThresholdLearner": "a threshold among points of one's own",
    "best_of_panel": "a selection; Exponential is swept",
    "StatisticalNoise": "the noise of the oracle",
    "StatisticalQueryOracle": "questions of one's own",
    "cross_val_score": "a model that is swept, several times",
    "cross_validate": "a model that is swept, several times",
    "Choice": "a comparison of protocols",
    "LocalStatisticalOracle": "questions of one's own",
    "central_delta": "a calculator", "choose": "a comparison of protocols", "parity_users": "a calculator",
    "users_needed": "a calculator",
    "ParityProjection": "ProjectedParities is it, as a release",
}  # fmt: skip
CASES = [
    pytest.param(one, kind, n, id=f"{one}-{kind}-{n}")
    for one in SWEPT
    for kind in one.kinds
    for n in (one.sizes if FULL else one.sizes[:1])
]
ROWS = [one for one in SWEPT if len(one.sizes) > 1 and (FULL or not one.slow)]


def test_no_public_estimator_is_forgotten():
    """A name that takes a budget is swept, or says why not."""
    swept = {part.removeprefix(f"{room}.") for one in SWEPT for part in one.names for room in ROOMS}
    for room in ROOMS.values():
        for name in dir(room):
            found = getattr(room, name)
            if name.startswith("_") or inspect.ismodule(found) or not callable(found):
                continue
            if {"epsilon", "budget"} & set(inspect.signature(found).parameters):
                assert name in swept or name in NOT_SWEPT, f"{name} is not swept: add it to tests/sweeps/estimators.py"


def test_every_floor_and_every_loose_bound_has_its_reason():
    for one in SWEPT:
        assert not one.left(1) or one.why, one


@pytest.mark.statistical
@pytest.mark.parametrize(("one", "kind", "n"), CASES)
def test_more_budget_is_never_worse_and_the_end_is_the_answer_itself(one, kind, n):
    assert flaws(one, sweep(one, kind, n)) == []


@pytest.mark.statistical
@pytest.mark.parametrize("one", ROWS, ids=str)
def test_more_rows_are_never_worse_nor_is_more_budget_with_them(one):
    """One budget of every day and two that buy the answer itself, at the least size and at a hundred times as many."""
    kind = one.kinds[0]
    sizes = (*one.sizes, *((10**6,) if FULL and not one.slow else ()))
    few, *more = [sweep(one, kind, n, budgets=("1", "1e5", "1e6"), runs=3) for n in sizes]

    for many in more:
        assert growth(one, few, many) + flaws(one, many) == []


def test_the_twin_whose_scores_are_rounded_up_is_caught(monkeypatch):
    def scores(self, values, moves):
        cost = [2 * move - value for value, move in zip(values, moves, strict=True)]  # each of both terms up to 1
        places = range(len(values))
        return [-max(1024 * (cost[i] - cost[j]) // (moves[i] + moves[j]) for j in places) for i in places]

    monkeypatch.setattr(ExtensionChoice, "scores", scores)
    monkeypatch.setattr(extension_choice, "UNIT", 1024)
    (one,) = [one for one in SWEPT if one.names == ("NodeTriangleCount", "DegreeBound")]

    assert any("is left" in flaw for flaw in flaws(one, sweep(one, "pure", 1000, budgets=("10", "1e6"))))


def test_the_twin_that_chooses_a_design_too_early_is_caught(monkeypatch):
    def early(name, budget, n, rng):
        return learner(name, budget, n, rng, bins=16 if budget >= PureDP(1) else 0)

    twin = Swept(names=("twin",), run=partial(early, "LinearSVC"), floor=0.02, why="as the right one", slow=True)

    assert any("and" in flaw for flaw in flaws(twin, sweep(twin, "pure", 20_000, budgets=("0.5", "1"))))


def test_the_twin_with_weights_that_leave_the_floats_is_caught(monkeypatch):
    """Standard deviations as they are: 1 / sd^2 is infinite, or a division by zero."""
    monkeypatch.setattr(sys.modules["discreet.release.models.estimate"], "SHARPEST", 0.0)
    twin = Swept(names=("twin",), run=partial(synthetic, "adaptive"), floor=2e-4, why="as the right one", slow=True)
    with np.errstate(all="ignore"):
        try:
            caught = flaws(twin, sweep(twin, "pure", 1000, budgets=("10", "3000", "20000")))
        except (ZeroDivisionError, ValueError, OverflowError, FloatingPointError):
            caught = ["died of its own arithmetic"]

    assert caught


def test_all_kinds_of_guarantee_are_swept():
    assert {kind for one in SWEPT for kind in one.kinds} == set(KINDS)
