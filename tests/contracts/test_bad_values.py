"""No row's value decides whether a call fails: every public call that takes private numbers, with values that are none.

A call on rows of which one is bad gives, with the same draws, what it gives on the rows that the rule of
`discreet.hazmat.bad_values` puts in its place: the same without it, with a public value, or with the nearest end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import discreet.local as local
import discreet.mechanisms as mechanisms
import discreet.structured as structured
from discreet.data import Boolean, Domain, Histogram, Integer, Real, Records
from discreet.errors import ParameterError
from discreet.hazmat.bad_values import nearest_of, number_in, settle, whole_in
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.lattice import Lattice
from discreet.learning import NaiveBayes, Ridge
from discreet.privacy import ZCDP, PureDP, Replace
from discreet.queries import counts
from discreet.release import IndependentNoise
from tests.local.protocols import SIMPLE
from tests.statistical.cases import public_names

NULLS = [None, math.nan, np.float32("nan"), Decimal("NaN"), np.ma.masked]
OTHERS = [pd.NA, "many", 1j, object(), [1], b"7"]  # of another type, which is a fault of the caller among integers
FAR = [math.inf, -math.inf, np.float16("inf"), Decimal("-Infinity"), 2**2000, -(2**2000)]
FAR += [Decimal("1e999999999"), Decimal("-1e4001")]
TINY = [-0.0, 5e-324, -5e-324, np.float32(1e-45), Fraction(1, 3), Decimal("1e-999999999"), Decimal("0." + "3" * 5000)]
END = 1 << 63
Kind = Literal["reals", "integers", "users"]
BAD = {"reals": [*NULLS, *OTHERS, *FAR, *TINY], "integers": [*NULLS, *FAR], "users": [*NULLS, *OTHERS, *FAR, *TINY]}


@dataclass(frozen=True)
class Case:
    """A call on a list of private numbers, good rows for it, and what stands for a bad one."""

    name: str
    call: Callable[[Any], Any]
    kind: Kind
    rows: list[Any]
    null: list[Any]  # what a NULL is replaced by: nothing where rows are dropped
    low: Any = None
    high: Any = None

    def __str__(self) -> str:
        return self.name

    def stands(self, bad: object) -> list[Any]:
        """The rows in the place of a bad one."""
        if any(bad is one for one in [*NULLS, *OTHERS]) or (self.kind == "users" and any(bad is one for one in TINY)):
            return self.null
        number = number_in(bad)
        assert number is not None
        if self.kind != "reals" and isinstance(bad, float | Decimal | np.floating):
            number = END - 1 if number > 0 else -END
        number = number if self.low is None else max(number, self.low)
        return [number if self.high is None else min(number, self.high)]


def seeded(mechanism: Any, *, as_rows: Callable[[Any], Any] = lambda rows: rows) -> Callable[[Any], Any]:
    return lambda rows: mechanism(as_rows(rows), rng=SeededRandom(3))


def stream(rows: Any) -> Any:
    counter = structured.ContinualCounter(horizon=50, upper=9, budget=ZCDP(1), rng=SeededRandom(2))
    return counter.add_many(rows)


BOUNDS = {"lower": 2, "upper": 60, "step": "0.5"}
MEDIANS = {
    "SmoothMedian": lambda **more: structured.SmoothMedian(epsilon=1, **BOUNDS, **more),
    "StableMedian": lambda **more: structured.StableMedian(epsilon=1, delta="1e-3", bound=40, **BOUNDS, **more),
}
LINE = Domain({"x": Integer(0, 4)})
ROWS = [3, 7.5, 50, 12, 12, 40, 9]
WHOLE = [3, 7, 50, 12, 12, 40, 9]
INTEGERS: dict[str, Any] = {
    "BoundedLaplace": mechanisms.BoundedLaplace(epsilon=1, sensitivity=1, lower=0, upper=9, dimension=8),
    "Exponential": mechanisms.Exponential(epsilon=1, sensitivity=1),
    "Gaussian": mechanisms.Gaussian(epsilon=1, delta=1e-6, sensitivity=1),
    "Laplace": mechanisms.Laplace(epsilon=1, sensitivity=1),
    "NoisyMax": mechanisms.NoisyMax(epsilon=1, sensitivity=1, noise="laplace"),
    "PartitionSelection": mechanisms.PartitionSelection(epsilon=1, delta="1e-3"),
    "PermuteAndFlip": mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1),
    "SparseVector": mechanisms.SparseVector(epsilon=1, sensitivity=1, threshold=10, count=3),
    "Staircase": mechanisms.Staircase(epsilon=1, sensitivity=1),
    "TruncatedLaplace": mechanisms.TruncatedLaplace(epsilon=1, delta="1e-3", sensitivity=1),
}
INTEGERS["NumericSparse"] = mechanisms.NumericSparse(above=INTEGERS["SparseVector"], answers=INTEGERS["Laplace"])
INTEGERS["Thresholded"] = mechanisms.Thresholded(noise=INTEGERS["Laplace"], delta="1e-3")
COIN = mechanisms.RandomizedResponse(epsilon=1, categories=5)
LATTICE = mechanisms.OnLattice(mechanism=INTEGERS["Laplace"], lattice=Lattice("0.5"))

MOST = (END - 1) // 5  # of the count of one cell of five


def histogram(rows: Any) -> Histogram:
    return Histogram(LINE, rows)


def client(protocol: Any) -> Callable[[Any], Any]:
    return lambda rows: protocol.client().report(rows, rng=SeededRandom(5))


NOISE = IndependentNoise(counts(LINE), budget=PureDP(1))
QUANTILES = structured.PrivateQuantile([0.25, 0.5], epsilon=1, **BOUNDS)
GRID = structured.GridQuantile(quantile=0.5, epsilon=1, size=4)
GRIDS = structured.GridQuantiles([0.5], epsilon=1, size=4)
USERS = [
    *(protocol for protocol in SIMPLE if hasattr(protocol, "size")),
    local.HierarchicalRanges(epsilon=1, size=5),
    local.SampledThresholds(epsilon=1, size=5),
    local.LocalFactorization(np.eye(5), epsilon=1),
    local.Memoised(local.RandomizedResponse(epsilon=1, size=5), instant=1),
]
CASES = [
    Case("PrivateQuantile", seeded(QUANTILES), "reals", ROWS, [], 2, 60),
    *(Case(name, seeded(made()), "reals", ROWS, [], 2, 60) for name, made in MEDIANS.items()),
    *(
        Case(f"{name} under Replace", seeded(made(neighbours=Replace)), "reals", ROWS, [2], 2, 60)
        for name, made in MEDIANS.items()
    ),
    Case("OnLattice", seeded(LATTICE), "reals", ROWS, [0]),
    *(Case(name, seeded(made), "integers", WHOLE, [0]) for name, made in INTEGERS.items()),
    Case("RandomizedResponse", seeded(COIN), "integers", [0, 4, 2], [0], 0, 4),
    Case("GridQuantile", seeded(GRID), "integers", WHOLE[:3], [0], 0, 1 << 62),
    Case("GridQuantiles", seeded(GRIDS), "integers", WHOLE[:3], [0], 0, 1 << 62),
    Case("ContinualCounter", stream, "integers", [1, 2, 3], [0], 0, 9),
    Case("Histogram", lambda rows: histogram(rows).counts, "integers", WHOLE[:4], [0], -MOST, MOST),
    Case(
        "IndependentNoise", lambda rows: seeded(NOISE)(histogram(rows)).answers, "integers", WHOLE[:4], [0], -MOST, MOST
    ),
    *(Case(type(made).__name__, client(made), "users", [0, 1, 1], [0], 0, 4) for made in USERS),
    *(
        Case(type(made).__name__, client(made), "reals", [0.25, -1, 1], [-1], -1, 1)
        for made in SIMPLE
        if hasattr(made, "lower")
    ),
    Case("HeavyHitters", local.HeavyHitters(bits=8, epsilon=1).checked, "users", [200, 3], [0], 0, 255),
]


ELSEWHERE = {
    # of a graph, whose edges are dropped one by one: tests/data/test_graph.py
    "DegreeBound", "DegreeHistogram", "DegreeSequence", "EdgeCount", "Ladder", "NodeDegreeHistogram", "NodeEdgeCount",
    "NodeTriangleCount", "NoisyLocal", "SensitivityBound", "StarCount", "TriangleBound", "TriangleCount",
    "TrianglePlan",
    # of a histogram, records or a frame, which are tested here
    "ChebyshevConjunctions", "MarginalRelease", "ParityProjection", "PrefixTree", "ProjectedParities",
    "boosted_parities",
    # whose numbers are answers of the caller's own functions: these must be what they say
    "ProposeTestRelease", "SmoothSensitivity", "SampleAndAggregate",
    # that are made by others, hold results, or take public numbers
    "AdmissibleNoise", "CauchyNoise", "GaussianNoise", "LaplaceNoise", "LomaxNoise", "PowerNoise", "Mechanism",
    "Refused", "analytic_sigma", "best_noise", "classical_sigma", "noises", "ConjunctionSummary", "ParityAnswers",
    "nearest_correlation", "parities_from_tables", "tables_from_parities",
    "Candidate", "Choice", "choose", "Client", "Devices", "Hitters", "LocalLedger", "LocalProtocol", "ParityAdversary",
    "Question", "Server", "Shuffler", "central_delta", "shuffled", "parity_users", "run", "users_needed",
    # of vectors, tested with their protocols: tests/local/test_vectors.py
    "DuchiVector", "PrivUnit", "PrivUnitG",
    # of bits and of rows that the caller's functions look at: their tests are in tests/local
    "Rounds", "SimulatedUsers", "LocalStatisticalOracle",
}  # fmt: skip


def given(case: Case, bad: object) -> list[Any]:
    """The good rows with a bad one among them."""
    return [*case.rows[:2], bad, *case.rows[2:]]


def same(one: Any, other: Any) -> bool:
    return repr(np.asarray(one).tolist()) == repr(np.asarray(other).tolist())


def test_every_public_name_takes_no_private_numbers_or_is_tested():
    names = {name for room in ("mechanisms", "structured", "local") for name in public_names(room)}

    assert names - {case.name.split()[0] for case in CASES} - ELSEWHERE == set()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_bad_row_among_a_list_stands_for_what_the_rule_says(case):
    for bad in BAD[case.kind]:
        wanted = case.call([*case.rows[:2], *case.stands(bad), *case.rows[2:]])
        rows = given(case, bad)
        objects = np.empty(len(rows), dtype=object)
        for place, value in enumerate(rows):
            objects[place] = value

        assert same(case.call(rows), wanted), repr(bad)
        assert same(case.call(objects), wanted), repr(bad)


@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "reals"], ids=str)
def test_an_array_of_floats_is_read_in_the_same_way(case):
    for bad in (math.nan, math.inf, -math.inf, -0.0):
        wanted = case.call([*case.rows[:2], *case.stands(bad), *case.rows[2:]])
        for kind in (np.float64, np.float32, np.longdouble):
            if case.low is not None:  # an array without bounds is cut at the ends of 64 bits
                assert same(case.call(np.array(given(case, bad), dtype=kind)), wanted), (bad, kind)
            case.call(np.array(given(case, bad), dtype=kind))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_but_bad_rows_is_no_failure(case):
    for bad in (None, math.inf):
        case.call([bad] * len(given(case, bad)))


BAD_CELLS = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    "many",
    2**70,
    -0.0,
    5e-324,
    Decimal("NaN"),
    b"\xff",
    object(),
    [1],
    1j,
]


@pytest.mark.parametrize("bad", BAD_CELLS, ids=lambda bad: type(bad).__name__)
def test_a_bad_value_in_a_frame_drops_its_row_and_fails_no_fit(bad):
    """Columns of objects, as pandas reads them: one value of any kind among numbers."""
    domain = Domain({"a": Real(0, 10, step=1), "b": Boolean()})
    good = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 5, "b": [True, False] * 10})
    frame = good.astype(object)
    frame.at[3, "a"] = bad
    left, wanted = len(Records.from_frame(frame, domain)), len(good)

    assert left in (wanted, wanted - 1)
    NaiveBayes(budget=PureDP(1), domain=domain).fit(frame, [0, 1] * 10)
    Ridge(budget=ZCDP(1), domain=domain, bounds=(0, 1)).fit(frame, [0.0, 1.0] * 10)


@pytest.mark.parametrize(
    "bad", [None, math.nan, math.inf, "many", 17, -1, 2**70, object()], ids=lambda bad: type(bad).__name__
)
def test_a_bad_target_fails_no_fit(bad):
    domain = Domain({"a": Real(0, 10, step=1)})
    rows = pd.DataFrame({"a": [1.0, 2.0] * 10})
    target = np.array([*[0, 1] * 9, 1, bad], dtype=object)

    NaiveBayes(budget=PureDP(1), domain=domain, classes=[0, 1]).fit(rows, target)
    Ridge(budget=ZCDP(1), domain=domain, bounds=(0, 1)).fit(rows, target)


def test_public_types_are_still_refused():
    for bad in (np.array(["1"]), np.array([True]), np.array([1j]), [[1, 2]]):
        for case in CASES[:5]:
            with pytest.raises(ParameterError):
                case.call(bad)
    with pytest.raises(ParameterError):
        settle("many", null=0)


def test_the_rule_itself():
    assert [number_in(value) for value in (*NULLS, *OTHERS)] == [None] * len(NULLS + OTHERS)
    assert number_in(np.float32(0.1)) == Fraction(1, 10)
    assert number_in("3/4") == Fraction(3, 4)
    assert [whole_in(value) for value in (None, math.nan, -math.inf, np.int8(3), 0.5, True)] == [
        0,
        0,
        -END,
        3,
        None,
        None,
    ]
    assert nearest_of(np.array([2**64 - 1], dtype=np.uint64), size=7).tolist() == [6]
    assert settle(np.array([np.nan, 1], dtype=np.float32), null=None).dtype == np.float32


def test_a_rule_that_looks_at_other_rows_would_be_caught():
    """The twin fills a NULL with the mean of the others, so that one row moves many."""
    rows, other = [1.0, 2.0, None], [1.0, 50.0, None]
    twin = [np.nanmean([1.0, 2.0]), np.nanmean([1.0, 50.0])]

    assert twin[0] != twin[1]
    assert settle(rows, null=5)[2] == settle(other, null=5)[2] == 5


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.float64, float, Decimal, Fraction])
@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "reals"], ids=str)
def test_no_row_decides_what_the_others_count_as(case, kind):
    """A NULL among numbers of single precision moved all of them, and dropped those of extended precision."""
    row = kind("20.1") if case.low == 2 else kind("0.1")
    for more in [], [None], [1.5], [Fraction(1, 3)], ["many"], [2**70], [Decimal(1)]:
        found = [number_in(one) for one in [row] * 9 + more]
        stand = [one for number in found for one in (case.null if number is None else [number])]

        assert np.array_equal(case.call([row] * 9 + more), case.call(stand))


def test_a_null_among_truth_values_is_no_failure():
    report = seeded(COIN)

    assert report([True, None, np.bool_(False)]).tolist() == report([1, 0, 0]).tolist()
