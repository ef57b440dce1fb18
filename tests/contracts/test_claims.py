"""Every public class that claims privacy, under absurd parameters: it is refused, or loses at most what it claims.

Each class is made with every parameter in turn set to every absurd value, and with all of them drawn together.  Either
an error of ours says so, after a counted amount of work, or the loss is computed apart from the class's claim: by
enumeration where the outputs are few, by the noise that will be drawn elsewhere, and for what is made of releases by
the composition of the events that it records.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet.learning as learning
import discreet.local as local
import discreet.mechanisms as mechanisms
import discreet.release as releases
import discreet.structured as structured
from discreet.composition.price import price
from discreet.curator.audits.register import public_names
from discreet.data import Boolean, Domain, Integer
from discreet.errors import DiscreetError, ParameterError
from discreet.hazmat.lattice import Lattice
from discreet.learning.stored import estimators
from discreet.mechanisms import randomized_response
from discreet.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.enclosure import exp_down, exp_up, log_down
from discreet.privacy.neighbours import AddRemove, EdgeNeighbours, Local, NullRow, Replace
from discreet.privacy.number import exact
from discreet.queries import counts, marginals, parities
from discreet.synthesis import Synthesizer
from tests.scale import FULL
from tests.scale import counts as repetitions

ABSURD = [
    0, -1, 1, 2, 3, 10**30, 10**400, Fraction(1, 10**400), 10**5000, -(10**5000), Fraction(1, 10**5000), 1e-30,
    5e-324, 1e308, math.nan, math.inf, -math.inf,
    Fraction(1, 3), Decimal("0.1"), Decimal("NaN"), Decimal("1e5000"), np.float32(0.5), np.int64(3), True, False,
    "many", "1/2", None, [], (), 0.05, 0.5, 1.5, -0.0, 1j, b"1", PureDP(1), ZCDP(1), ApproxDP(1, 1e-6),
    ApproxDP(1, 0.5), GaussianDP(1), PureDP(1, neighbours=EdgeNeighbours), PureDP(1, neighbours=Local), Replace,
    AddRemove, NullRow, Local,
]  # fmt: skip
WORK = 2_000_000  # calls of functions that a construction with its claim and its events may take
SLACK = Fraction(1, 10**20)  # what the roundings of the sums below come to
EXAMPLES = repetitions(quick=12, full=400)

LINE = Domain({"x": Integer(0, 4)})
BITS = Domain({name: Boolean() for name in "abc"})
LAPLACE = mechanisms.Laplace(epsilon=1, sensitivity=1)
SPARSE = mechanisms.SparseVector(epsilon=1, sensitivity=1, threshold=3, count=2)
COIN = local.RandomizedResponse(epsilon=1, size=3)


def positive(x: Any) -> Any:
    return x > 0


CHOICE = learning.ExponentialLearner([positive], epsilon=1)
Loss = Callable[[Any], Any]


def odds(low: Fraction, high: Fraction) -> Fraction:
    """ln(high / low) from below: a loss that is at least what the mechanism has, less 10^-25."""
    return log_down(high / low) if low > 0 else Fraction(10**9)


# The loss that the noise has, whatever is claimed: computed from what is drawn.


def of_response(made: Any) -> Fraction:
    """Both reports of both values, from the brackets that the coin is given."""
    others = made.categories - 1
    if made.given_truth is not None:
        truth = exact(made.given_truth)
        lie = (1 - truth) / others
    elif exact(made.epsilon) > 1000:
        return Fraction(0)  # the law is that of the closed form, tested apart
    else:
        a = exp_up(-exact(made.epsilon))  # more than it is: the ratio is no more than that of the coin
        truth, lie = 1 / (1 + others * a), a / (1 + others * a)
    return max(odds(truth, lie), odds(lie, truth))


def of_laplace(made: Any) -> Fraction:
    return Fraction(made.sensitivity) / made.scale


def of_selection(made: Any) -> Fraction:
    """One score rises by the sensitivity and another falls, or all rise together where the relation says so."""
    rate = made.rate if hasattr(made, "rate") else 1 / made.scale
    one_way = made.monotone and made.neighbours in (AddRemove, NullRow, EdgeNeighbours)
    return rate * made.sensitivity * (1 if one_way else 2)


def of_sparse(made: Any) -> Fraction:
    one_way = made.monotone and made.neighbours in (AddRemove, NullRow, EdgeNeighbours)
    answers = (1 if one_way else 2) * made.count * made.sensitivity / made.query_scale
    return made.sensitivity / made.threshold_scale + answers


def of_numeric(made: Any) -> Fraction:
    return of_sparse(made.above) + made.above.count * of_laplace(made.answers)


def of_gaussian(made: Any) -> Any:
    """rho of the noise, or (epsilon, delta) by the zCDP of its sigma where that alone proves it."""
    rho = Fraction(math.floor(exact(made.sensitivity) ** 2)) / (2 * exact(made.sigma) ** 2)
    return ZCDP(rho)


def of_partitions(made: Any) -> tuple[Fraction, Fraction]:
    """The exact worst (epsilon, delta) of one key, times the keys of a unit, over the steps of its rule."""
    share = exact(made.epsilon) / made.groups_per_unit
    up, worst = exp_up(share) if share < 1000 else Fraction(10**400), Fraction(0)
    before = Fraction(0)
    for units in range(made.least, made.least + 400):
        now = made.probability(units)
        worst = max(worst, now - up * before, (1 - before) - up * (1 - now))
        before = now
        if now == 1:
            break
    return exact(made.epsilon), worst * made.groups_per_unit * (1 - Fraction(1, 10**20))


def of_truncated(made: Any) -> tuple[Fraction, Fraction]:
    """The mass of the last `sensitivity` integers, which the neighbour cannot give."""
    rate, bound = 1 / made.scale, made.bound
    if bound > 3000 or rate > 1000:
        return of_laplace(made), Fraction(0)
    weights = [exp_down(-rate * abs(z)) for z in range(-bound, bound + 1)]
    return of_laplace(made), sum(weights[: made.sensitivity], Fraction(0)) / sum(weights) * (1 - Fraction(1, 10**20))


def of_bounded(made: Any) -> Fraction:
    """ln of the largest ratio between two places at the distance of the sensitivity, at the ends and in the middle."""
    span, scale = made.upper - made.lower, made.scale
    if span > 300 or made.dimension > 1 or 1 / scale > 1000:
        return made.sensitivity / scale
    a = [exp_down(-Fraction(k) / scale) for k in range(span + 1)]
    norms = [sum(a[abs(x - y)] for y in range(span + 1)) for x in range(span + 1)]
    far = min(made.sensitivity, span)
    pairs = product(range(span + 1 - far), range(span + 1))
    ratios = (a[abs(x - y)] / norms[x] / (a[abs(x + far - y)] / norms[x + far]) for x, y in pairs)
    return log_down(max(max(ratio, 1 / ratio) for ratio in ratios)) * (1 - Fraction(1, 10**15))


def of_thresholded(made: Any) -> tuple[Fraction, Fraction]:
    """The noise, and naming a key of one unit: Pr[change + Z >= cut] for each of its keys."""
    if not isinstance(made.noise, mechanisms.Laplace):
        return Fraction(0), Fraction(0)
    rate = 1 / made.noise.scale
    tail = exp_down(-rate * (made.cut - made.change)) / (1 + exp_up(-rate))
    return of_laplace(made.noise), made.groups_per_unit * tail * (1 - Fraction(1, 10**20))


def of_events(made: Any) -> Any:
    """The price of what is recorded."""
    return price(made.event())


def of_table(made: Any) -> Fraction | None:
    """All likelihoods of all reports, where they are few."""
    size = getattr(made, "size", 0)
    if not isinstance(size, int) or size > 8:
        return None
    try:
        return exact(made.table().epsilon()) - Fraction(1, 10**12)
    except DiscreetError:
        return None


@dataclass(frozen=True)
class Claim:
    """How a class is made from parameters that it takes, and what its loss is."""

    name: str
    make: Callable[..., Any]
    good: dict[str, Any]
    loss: Loss = of_events
    claims: Callable[[Any], Any] = lambda made: made.privacy()

    def __str__(self) -> str:
        return self.name


def of_local(name: str, *, loss: Loss = of_table, **good: Any) -> Claim:
    return Claim(f"local.{name}", getattr(local, name), {"epsilon": 1, **good}, loss)


SELECTION = {"epsilon": 1, "sensitivity": 1, "monotone": False, "neighbours": None}
ENDS = {"lower": 0, "upper": 9, "step": 1}
CLAIMS = [
    Claim(
        "BoundedLaplace",
        mechanisms.BoundedLaplace,
        {"epsilon": 1, "sensitivity": 1, "lower": 0, "upper": 9, "dimension": 1},
        of_bounded,
    ),
    Claim("Exponential", mechanisms.Exponential, SELECTION, of_selection),
    Claim("PermuteAndFlip", mechanisms.PermuteAndFlip, SELECTION, of_selection),
    Claim("NoisyMax", mechanisms.NoisyMax, {**SELECTION, "noise": "laplace"}, of_selection),
    Claim(
        "Gaussian",
        mechanisms.Gaussian,
        {"epsilon": 1, "delta": 1e-6, "sensitivity": 1, "dimension": 1, "given_sigma": None},
    ),
    Claim(
        "Gaussian of a sigma",
        mechanisms.Gaussian,
        {"epsilon": None, "delta": None, "sensitivity": 1, "dimension": 1, "given_sigma": 2},
        of_gaussian,
    ),
    Claim("Laplace", mechanisms.Laplace, {"epsilon": 1, "sensitivity": 1}, of_laplace),
    Claim("NumericSparse", mechanisms.NumericSparse, {"above": SPARSE, "answers": LAPLACE}, of_numeric),
    Claim(
        "OnLattice",
        mechanisms.OnLattice,
        {"mechanism": LAPLACE, "lattice": Lattice(1)},
        lambda made: of_laplace(made.mechanism),
    ),
    Claim(
        "PartitionSelection",
        mechanisms.PartitionSelection,
        {"epsilon": 1, "delta": "1e-3", "groups_per_unit": 1, "least": 1},
        of_partitions,
    ),
    Claim(
        "ProposeTestRelease",
        mechanisms.ProposeTestRelease,
        {"query": len, "distance": len, "bound": 1, "epsilon": 1, "delta": "1e-3", "neighbours": None},
    ),
    Claim(
        "RandomizedResponse",
        mechanisms.RandomizedResponse,
        {"epsilon": 1, "categories": 3, "given_truth": None},
        of_response,
    ),
    Claim(
        "SmoothSensitivity",
        mechanisms.SmoothSensitivity,
        {
            "query": len,
            "smooth": len,
            "epsilon": 1,
            "delta": 0,
            "smoothness": "0.1",
            "noise": "auto",
            "beta": 0.05,
            "neighbours": None,
        },
    ),
    Claim(
        "SparseVector",
        mechanisms.SparseVector,
        {"epsilon": 1, "sensitivity": 1, "threshold": 3, "count": 2, "monotone": False, "neighbours": None},
        of_sparse,
    ),
    Claim("Staircase", mechanisms.Staircase, {"epsilon": 1, "sensitivity": 3, "objective": "variance"}),
    Claim(
        "Thresholded",
        mechanisms.Thresholded,
        {"noise": LAPLACE, "delta": "1e-3", "groups_per_unit": 1, "change": 1},
        of_thresholded,
    ),
    Claim(
        "TruncatedLaplace", mechanisms.TruncatedLaplace, {"epsilon": 1, "delta": "1e-3", "sensitivity": 1}, of_truncated
    ),
    Claim("CauchyNoise", mechanisms.CauchyNoise, {"epsilon": 1, "smoothness": "0.1"}, lambda made: None),
    Claim(
        "GaussianNoise",
        mechanisms.GaussianNoise,
        {"epsilon": 1, "delta": "1e-6", "smoothness": "0.01"},
        lambda made: None,
    ),
    Claim(
        "LaplaceNoise",
        mechanisms.LaplaceNoise,
        {"epsilon": 1, "delta": "1e-3", "smoothness": "0.01"},
        lambda made: None,
    ),
    Claim("LomaxNoise", mechanisms.LomaxNoise, {"epsilon": 1, "smoothness": "0.1", "exponent": 4}, lambda made: None),
    Claim(
        "PowerNoise",
        mechanisms.PowerNoise,
        {"epsilon": 1, "smoothness": "0.1", "exponent": 4, "published": False},
        lambda made: None,
    ),
    Claim(
        "ChebyshevConjunctions",
        structured.ChebyshevConjunctions,
        {"d": 5, "t": 2, "alpha": "0.3", "budget": PureDP(1), "n": None, "method": "lp", "monotone": False},
    ),
    Claim(
        "ContinualCounter",
        structured.ContinualCounter,
        {
            "horizon": 10,
            "upper": 2,
            "budget": ZCDP(1),
            "mechanism": "auto",
            "steps_per_unit": 1,
            "separation": 1,
            "bands": None,
        },
    ),
    Claim("DegreeBound", structured.DegreeBound, {"epsilon": 1, "counting": 1}),
    Claim("DegreeHistogram", structured.DegreeHistogram, {"epsilon": 1, "largest": 5}),
    Claim("DegreeSequence", structured.DegreeSequence, {"epsilon": 1}),
    Claim("EdgeCount", structured.EdgeCount, {"epsilon": 1}),
    Claim(
        "GridQuantile",
        structured.GridQuantile,
        {"quantile": 0.5, "epsilon": 1, "size": 5, "rows_per_unit": 1, "method": "exponential", "widths": None},
    ),
    Claim(
        "GridQuantiles",
        structured.GridQuantiles,
        {"quantiles": [0.5, 0.9], "epsilon": 1, "size": 5, "rows_per_unit": 1, "method": "auto", "groups": 1},
    ),
    Claim("Ladder", structured.Ladder, {"epsilon": 1, "neighbours": None}),
    Claim(
        "MarginalRelease",
        structured.MarginalRelease,
        {"workload": marginals(BITS, 1), "budget": ZCDP(1), "n": None, "objective": "total"},
    ),
    Claim("NodeDegreeHistogram", structured.NodeDegreeHistogram, {"epsilon": 1, "degree_bound": 3}),
    Claim("NodeEdgeCount", structured.NodeEdgeCount, {"epsilon": 1, "degree_bound": 3}),
    Claim("NodeTriangleCount", structured.NodeTriangleCount, {"epsilon": 1, "degree_bound": 3}),
    Claim("NoisyLocal", structured.NoisyLocal, {"epsilon": 1, "delta": "1e-3", "neighbours": None}),
    Claim(
        "ParityProjection", structured.ParityProjection, {"d": 4, "budget": ZCDP(1), "n": None, "t": 2, "body": "auto"}
    ),
    Claim(
        "PrefixTree",
        structured.PrefixTree,
        {"over": 5, "budget": PureDP(1), "n": None, "branching": "auto", "consistency": True},
    ),
    Claim(
        "PrivateQuantile",
        structured.PrivateQuantile,
        {"quantiles": [0.5], "epsilon": 1, **ENDS, "rows_per_unit": 1, "method": "auto"},
    ),
    Claim(
        "ProjectedParities", structured.ProjectedParities, {"workload": parities(BITS, 2), "budget": ZCDP(1), "n": 20}
    ),
    Claim(
        "SampleAndAggregate",
        structured.SampleAndAggregate,
        {
            "statistic": len,
            "blocks": 3,
            "aggregate": structured.SmoothMedian(epsilon=1, **ENDS, neighbours=Replace),
            "fallback": 0,
            "neighbours": AddRemove,
        },
    ),
    Claim("SensitivityBound", structured.SensitivityBound, {"epsilon": 1, "delta": "1e-3", "neighbours": None}),
    Claim(
        "SmoothMedian",
        structured.SmoothMedian,
        {"epsilon": 1, **ENDS, "delta": 0, "beta": 0.25, "neighbours": AddRemove},
    ),
    Claim(
        "StableMedian",
        structured.StableMedian,
        {"epsilon": 1, "delta": "1e-3", "bound": 2, **ENDS, "neighbours": AddRemove},
    ),
    Claim("StarCount", structured.StarCount, {"epsilon": 1, "k": 2}),
    Claim("TriangleBound", structured.TriangleBound, {"epsilon": 1, "delta": "1e-3"}),
    Claim("TriangleCount", structured.TriangleCount, {"epsilon": 1, "delta": "1e-3", "method": "auto"}),
    Claim(
        "BoostedQueries",
        releases.BoostedQueries,
        {
            "base": lambda asked, budget: releases.IndependentNoise(asked, budget=budget),
            "workload": counts(LINE),
            "budget": ZCDP(1),
            "sample": 2,
            "error": 5,
            "n": None,
            "advantage": "1/4",
            "share": "1/2",
            "beta": 0.05,
        },
    ),
    Claim(
        "Factorization",
        releases.Factorization,
        {"workload": counts(LINE), "budget": PureDP(1), "n": None, "objective": "max", "strategy": "identity"},
    ),
    Claim("IndependentNoise", releases.IndependentNoise, {"workload": counts(LINE), "budget": PureDP(1), "n": None}),
    Claim(
        "LeastSquaresProjection",
        releases.LeastSquaresProjection,
        {"workload": counts(LINE), "budget": PureDP(1), "n": None, "beta": 0.05, "steps": None},
    ),
    Claim(
        "MWEM",
        releases.MWEM,
        {
            "workload": counts(LINE),
            "budget": PureDP(1),
            "rounds": 3,
            "n": None,
            "estimate": "entropy",
            "steps": 2,
            "device": None,
        },
    ),
    Claim(
        "OfflineWeights",
        releases.OfflineWeights,
        {"workload": counts(LINE), "budget": PureDP(1), "n": 20, "beta": 0.05},
    ),
    Claim(
        "PrivateMultiplicativeWeights",
        releases.PrivateMultiplicativeWeights,
        {"domain": LINE, "budget": PureDP(1), "queries": 5, "n": 20, "beta": 0.05, "suspensions": 0},
    ),
    Claim(
        "SmallDatabase",
        releases.SmallDatabase,
        {"workload": counts(LINE), "n": 10, "budget": PureDP(1), "rows": 2, "candidates": None},
    ),
    Claim(
        "Synthesizer",
        Synthesizer,
        {
            "domain": LINE,
            "budget": ZCDP(1),
            "workload": None,
            "method": "independent",
            "n": None,
            "rows_per_unit": 1,
            "rounds": None,
            "cells": 1000,
            "memory": None,
        },
    ),
    Claim("Amplified", learning.Amplified, {"learner": CHOICE, "blocks": 2, "epsilon": 1, "n": None}),
    Claim(
        "BoostedLearner",
        learning.BoostedLearner,
        {"hypotheses": [positive], "budget": ZCDP(1), "rounds": 2, "advantage": "0.1", "n": None},
    ),
    Claim("ExponentialLearner", learning.ExponentialLearner, {"hypotheses": [positive], "epsilon": 1, "n": None}),
    Claim(
        "ParityLearner",
        learning.ParityLearner,
        {"epsilon": 1, "blocks": None, "beta": 1e-6, "n": None, "neighbours": None},
    ),
    Claim(
        "PrivateGradients",
        learning.PrivateGradients,
        {"noise_multiplier": 1, "rate": "0.1", "steps": 4, "parameters": 5, "bands": 1, "block": 64, "bits": 24},
        lambda made: None,
        lambda made: made.event(),
    ),
    Claim("Sampled", learning.Sampled, {"learner": CHOICE, "epsilon": 0.5, "n": None}),
    Claim(
        "StatisticalNoise",
        learning.StatisticalNoise,
        {"queries": 5, "budget": PureDP(1), "method": "shared", "n": None, "rows_per_unit": 1},
    ),
    Claim(
        "StatisticalQueryOracle",
        learning.StatisticalQueryOracle,
        {
            "data": np.zeros((9, 1)),
            "queries": 3,
            "epsilon": 1,
            "budget": None,
            "method": "shared",
            "n": None,
            "columns": None,
        },
    ),
    Claim("ThresholdLearner", learning.ThresholdLearner, {"points": 5, "epsilon": 1, "delta": 0, "n": None}),
    *(
        of_local(name, size=5)
        for name in (
            "HadamardResponse",
            "OptimalLocalHashing",
            "OptimalUnaryEncoding",
            "ProjectiveGeometryResponse",
            "RandomizedResponse",
            "SampledThresholds",
            "SubsetSelection",
            "SymmetricUnaryEncoding",
        )
    ),
    *(of_local(name, lower=-1, upper=1) for name in ("LaplaceMean", "OneBitMean")),
    *(of_local(name, lower=-1, upper=1, slots=64) for name in ("HybridMean", "PiecewiseMean")),
    *(of_local(name, loss=of_events, dimension=3, radius=1) for name in ("DuchiVector", "PrivUnit", "PrivUnitG")),
    of_local("HeavyHitters", loss=of_events, bits=8, beta=0.05),
    of_local("HierarchicalRanges", size=8, branches=None, consistent=True),
    of_local("LocalFactorization", loss=of_events, workload=np.eye(3), strategy=None, randomizer="best"),
    of_local("LocalStatisticalOracle", loss=of_events, data=np.zeros((9, 1)), queries=2),
    Claim("local.Memoised", local.Memoised, {"protocol": COIN, "instant": 1, "periods": 1}),
    Claim("local.LocalLedger", local.LocalLedger, {"cap": 1}, lambda made: None),
    Claim(
        "local.Rounds", local.Rounds, {"values": [0, 1, 1], "cap": 1, "interaction": "sequential"}, lambda made: None
    ),
    Claim(
        "local.Shuffler",
        local.Shuffler,
        {"protocol": COIN, "n": 100},
        lambda made: None,
        lambda made: made.privacy("1e-6"),
    ),
]
ELSEWHERE = {
    # estimators claim what a fit spent: tests/contracts/test_estimators.py and test_a_bad_budget below
    *estimators(), "CrossValidated", "AccuracyCurve", "DeclaredScaler", "PrivateBounds", "Pipeline",
    # functions that draw or make, and what holds others
    "boosted_parities", "LinkedSynthesizer", "Devices", "accuracy_curve", "best_of_panel", "cross_val_score",
    "cross_validate", "run",
}  # fmt: skip


class TooMuchWork(AssertionError):
    """More calls than a refusal may take."""


@contextmanager
def counted_work(most: int = WORK) -> Iterator[None]:
    """Count the calls of functions, and stop at `most`: the same on a busy machine."""
    left = most

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal left
        if event == "call":
            left -= 1
            if left < 0:
                raise TooMuchWork(f"more than {most} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def holds(claim: Claim, **parameters: Any) -> bool | None:
    """Whether the claim is at least the loss; None where the parameters are refused."""
    try:
        with counted_work():
            made = claim.make(**parameters)
            said, lost = claim.claims(made), claim.loss(made)
    except DiscreetError:
        return None
    return True if lost is None else within(lost, said)


def within(lost: Any, said: Any) -> bool:
    """Whether a loss is at most a claim."""
    if isinstance(lost, tuple):
        epsilon, delta = lost
        return epsilon - SLACK <= exact(said.epsilon) and delta <= exact(said.delta)
    if isinstance(lost, Fraction):
        return isinstance(said, PureDP | ApproxDP) and lost - SLACK <= exact(said.epsilon)
    if isinstance(lost, ZCDP):
        return isinstance(said, ZCDP) and lost <= replace(said, neighbours=None)
    match said:
        case PureDP(epsilon=epsilon):
            return lost.epsilon is not None and lost.epsilon <= exact(epsilon) and lost.delta == 0
        case ZCDP(rho=rho):
            return lost.rho <= exact(rho) * (1 + Fraction(1, 10**9)) and lost.delta == 0
        case ApproxDP(epsilon=epsilon, delta=delta):
            direct = lost.epsilon is not None and (lost.epsilon <= exact(epsilon) and lost.delta <= exact(delta))
            return direct or lost.epsilon is None or lost.epsilon > 0
        case _:
            return False


def test_every_public_class_with_a_claim_is_made_here():
    named = {claim.name.split()[0].removeprefix("local.") for claim in CLAIMS}
    rooms = ("mechanisms", "release", "structured", "synthesis", "learning", "local")

    assert {name for room in rooms for name in public_names(room)} - named - ELSEWHERE == set()


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_good_parameters_hold(claim):
    assert holds(claim, **claim.good)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_one_absurd_parameter_is_refused_or_loses_at_most_the_claim(claim):
    for name, value in product(claim.good, ABSURD):
        assert holds(claim, **{**claim.good, name: value}) is not False, (name, value)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_all_parameters_together_are_refused_or_lose_at_most_the_claim(claim, data):
    drawn = {name: st.one_of(st.just(value), st.sampled_from(ABSURD)) for name, value in claim.good.items()}
    some = data.draw(st.fixed_dictionaries(drawn))

    assert holds(claim, **some) is not False


RESPONSE = next(claim for claim in CLAIMS if claim.name == "RandomizedResponse")
COINS = ["0", "1/100", "1/20", "1/10", "1/3", "1/2", "0.9", "1", 1.5]


@pytest.mark.parametrize("epsilon", ["0.1", 1, 10])
@pytest.mark.parametrize("categories", [2, 3, 10])
@pytest.mark.parametrize("given_truth", COINS)
def test_a_coin_that_contradicts_its_price_is_refused(epsilon, categories, given_truth):
    assert holds(RESPONSE, epsilon=epsilon, categories=categories, given_truth=given_truth) is not False


def test_the_missing_absolute_value_is_caught(monkeypatch):
    """The twin is the code that was: the logarithm of p / q, which is negative for a coin that favours lies."""
    monkeypatch.setattr(randomized_response, "_truth", lambda p, _: exact(p))
    monkeypatch.setattr(randomized_response, "_epsilon", lambda p, k: log_down(p * (k - 1) / (1 - p)))

    assert holds(RESPONSE, epsilon="0.1", categories=2, given_truth="1/100") is False
    assert holds(RESPONSE, epsilon="0.1", categories=10, given_truth="1/20") is False
    assert holds(RESPONSE, epsilon=2, categories=2, given_truth="3/4") is True


def test_monotone_noise_without_a_relation_is_caught(monkeypatch):
    """Twins of the other slips of this kind: half the noise for scores of which nothing is known."""
    monkeypatch.setattr("discreet.mechanisms.exponential.ONE_WAY", (None, AddRemove, Replace))
    choices = [claim for claim in CLAIMS if "monotone" in claim.good and claim.loss in (of_selection, of_sparse)]

    assert len(choices) == 4
    for claim, relation in product(choices, (None, Replace)):
        assert holds(claim, **{**claim.good, "monotone": True, "neighbours": relation}) is False


def test_work_without_end_is_counted():
    def forever() -> None:
        while True:
            positive(1)

    with pytest.raises(TooMuchWork), counted_work(1000):
        forever()


@pytest.mark.parametrize("name", sorted({*estimators()} - {"Pipeline"}))
def test_an_estimator_refuses_a_bad_budget_when_it_is_fitted(name):
    from discreet.learning.stored import named

    kind = named(name)
    rows, target = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    bad = [0, 1.0, "1", None, PureDP(0), ZCDP(0), GaussianDP(1), PureDP(1, neighbours=Replace), PureDP(1).repeat]
    for budget in bad if FULL else bad[::2]:
        model = kind(budget=budget, domain=LINE)
        with pytest.raises((DiscreetError, ParameterError)):
            model.fit(rows, target)
