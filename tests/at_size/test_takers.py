"""Every public callable that takes rows is checked at size, or is exempt for a reason that is written here."""

from __future__ import annotations

import re
import sys
import types

import pytest

from tests.at_size import takers as walked
from tests.at_size import test_arrays, test_estimators, test_memory, test_sources

LEARNERS = "|".join(test_estimators.NAMES)
SAYS = "|".join(test_estimators.SAYS)
PROTOCOLS = "|".join(sorted({type(one).__name__ for one in test_arrays.SIMPLE}))
FRAMES = "Factorization|IndependentNoise|MarginalRelease|PrefixTree"

CHECKED_BY = {
    test_estimators.test_what_is_said_of_a_row_is_about_that_row: (rf"learning\.({LEARNERS})\.({SAYS})"),
    test_estimators.test_a_fit_to_chunks_is_the_fit_to_the_whole: (
        rf"learning\.({LEARNERS})\.(fit|fit_rows|score|__init__)"
    ),
    test_estimators.test_steps_and_folds_pair_rows_with_their_labels: (
        r"learning\.(Pipeline|DeclaredScaler)\.(?!fit_)\w+|learning\.cross_val(_score|idate)"
    ),
    test_sources.test_rows_are_read_in_order_and_counted_exactly: (r"data\.(Histogram|Records)\.from_frame"),
    test_sources.test_counts_and_sums_are_those_of_numpy: (r"discreet\.Table\.__init__|discreet\.Curator\.(ask|query)"),
    test_sources.test_releases_are_those_of_the_counts: (
        rf"(release|structured)\.({FRAMES})\.__call__|release\.PrivateMultiplicativeWeights\.histogram"
    ),
    test_sources.test_synthetic_data_are_fitted_to_the_rows: (r"synthesis\.Synthesizer\.fit|synthesis\.quality"),
    test_sources.test_linked_tables_are_joined_by_their_unit: (r"synthesis\.LinkedSynthesizer\.fit"),
    test_arrays.test_reports_are_tallied_in_any_parts_and_order: (
        rf"local\.({PROTOCOLS})\.(checked|draw|tally|to_bytes)"
    ),
    test_arrays.test_a_workload_of_the_whole_is_the_sum_of_its_parts: (
        r"queries\.(Marginals|Products|Thresholds|Workload)\.answer"
    ),
    test_arrays.test_errors_of_hypotheses_add_up: (
        r"learning\.(Thresholds|Parities|Conjunctions|HypothesisClass)\.errors"
    ),
    test_arrays.test_learners_of_classes_find_the_same_in_any_order: (
        r"learning\.(ThresholdLearner|ExponentialLearner)\.(fit|predict)"
    ),
    test_arrays.test_quantiles_are_those_of_the_values_in_any_order: (r"structured\.PrivateQuantile\.__call__"),
    test_arrays.test_a_graph_is_its_edges_in_any_order: (
        r"discreet\.Graph\.from_edges|structured\.EdgeCount\.__call__"
    ),
    test_arrays.test_combinations_that_single_somebody_out_are_counted_alike: (r"attacks\.unique"),
    test_arrays.test_statistical_queries_are_of_the_rows_they_are_given: (
        r"learning\.(StatisticalQueryOracle\.__init__|LearnedConjunction\.predict)"
    ),
}
EXEMPT_BECAUSE = {
    "reads a frame by `release.counted` alone, as those that are checked, and then sees counts": (
        r"release\.(BoostedQueries|LeastSquaresProjection|MWEM|OfflineWeights|SmallDatabase)\.__call__|"
        r"release\.PrivateMultiplicativeWeights\.(open|resume)|"
        r"structured\.(ChebyshevConjunctions|ParityProjection|ProjectedParities)\.__call__"
    ),
    "reads by `positions` or as `ask`, and then is a release or model that is checked": (
        r"discreet\.Curator\.(release|session|oracle|synthesize|clipping_bounds|fit)"
    ),
    "prices a question or makes up rows: no row of the table is read": (
        r"discreet\.Curator\.(explain|explain_synthesis|marginals|mock|sweep)"
    ),
    "sends a request; the service's curator answers it": (r"discreet\.Client\..*"),
    "goes on with `fit` from a checkpoint, on rows in order": (
        r"learning\.(NeuralNetwork|NeuralNetworkRegressor)\.resume"
    ),
    "`fit` and then what is said of the same rows, both checked": (
        r"learning\.(DeclaredScaler|PCA|PrivateBounds)\.fit_transform|"
        r"learning\.KMeans\.fit_predict"
    ),
    "fits and scores by `cross_validate` and `fit`": (r"learning\.accuracy_curve"),
    "counts mistakes of given classifiers: a sum over an array": (r"learning\.best_of_panel"),
    "arrays in memory, through the learner within": (
        r"learning\.(Amplified|BoostedLearner|ParityLearner|Sampled)\.(fit|predict)"
    ),
    "maps each row to its value by numpy alone, elementwise, and keeps the place": (
        r"learning\.(LearnedHalfspace|LearnedLinear|LearnedMeans|LearnedTree)\.predict|"
        r"learning\.BitRows\.pack|"
        r"learning\.Thresholds\.runs|"
        r"queries\.(Affine\.on|Piece\.values|RowFunction\.values)|"
        r"local\.(HadamardResponse\.rows|OptimalLocalHashing\.hashes)"
    ),
    "holds a function of the engine, which is checked as `Curator.ask`": (r"learning\.AggregateSource\.__init__"),
    "a function of a few rows that are Python tuples, for proofs by enumeration": (
        r"queries\.(Counting|Linear|Max|Proportion|Stack|Distance)\.__call__|"
        r"queries\.(Holds|Members)\.distance"
    ),
    "a question; it holds no row": (r"queries\.(Builder|Query|Dense)\.__init__"),
    "takes marginal tables in place of rows": (r"queries\.\w+\.from_marginals"),
    "of `Histogram` and `Records` alone: a sum over counts": (
        r"queries\.(Box|Dense|Junta|Kronecker|RandomCounting|Ranges|Stacked|Weighted)\.answer"
    ),
    "counts, which have no order of rows": (r"data\.Histogram\.__init__"),
    "numbers the edges and goes on as `from_edges`": (r"discreet\.Graph\.(from_networkx|from_scipy)"),
    "a function of a `Graph`, whose order is its own": (
        r"structured\.((Node)?(Degree\w+|EdgeCount|TriangleCount)|StarCount|TriangleBound)(?<!\.EdgeCount)\.\w+"
    ),
    "of counts on a grid": (r"structured\.(GridQuantiles?)\.\w+"),
    "adds noise to the cells of a table": (r"structured\.MarginalRelease\.noisy"),
    "sorts or deals out an array in memory": (
        r"structured\.(SampleAndAggregate\.results|(Smooth|Stable)Median\.window)"
    ),
    "protocols made of those that are checked": (
        r"local\.(HierarchicalRanges|LocalFactorization|Memoised|SampledThresholds|LocalProtocol)\.\w+"
    ),
    "hands values to a protocol": (
        r"local\.(Client|Devices|Rounds|Server|Shuffler|LocalStatisticalOracle|run)(\.\w+)?"
    ),
    "numbers that were counted before, or published ones": (
        r"mechanisms\.(NumericSparse|RandomizedResponse|SparseVector|Thresholded)\.\w+|"
        r"planning\.Plan\.__init__|"
        r"privacy\.(FiniteMechanism\.law|privacy_loss)|"
        r"bounds\.(CapacityTable|Determinant|NoiseTable|QuestionTable|SampleTable)\.__init__"
    ),
    "noisy values that were released": (r"release\.(Estimate|Measurement)\.__init__"),
    "made by `quality`": (r"synthesis\.Quality\.__init__"),
    "the attacker's own arrays": (r"attacks\.(Circuit|Reconstruction|SignedRows|TraitorTracing)\.\w+"),
}
CHECKED, EXEMPT = list(CHECKED_BY.values()), list(EXEMPT_BECAUSE.values())


@pytest.mark.parametrize("label", walked.takers())
def test_it_is_checked_or_exempt(label):
    checked = [pattern for pattern in CHECKED if re.fullmatch(pattern, label)]
    exempt = [pattern for pattern in EXEMPT if re.fullmatch(pattern, label)]

    assert len(checked) + len(exempt) == 1, (checked, exempt)


@pytest.mark.parametrize("pattern", [*CHECKED, *EXEMPT])
def test_no_entry_is_about_nothing(pattern):
    assert any(re.fullmatch(pattern, label) for label in walked.takers())


def test_the_memory_of_readers_is_bounded():
    assert {"Records.from_frame", "predict", "ask"} <= set(test_memory.STEPS)


def test_a_public_callable_that_is_forgotten_is_seen(monkeypatch):
    def forgotten(data: object) -> int:
        return 0

    room = types.ModuleType("discreet.room")
    room.forgotten = forgotten  # type: ignore[attr-defined]
    forgotten.__module__ = room.__name__
    monkeypatch.setitem(sys.modules, room.__name__, room)
    monkeypatch.setattr(walked, "ROOMS", (room.__name__,))
    found = walked.takers.__wrapped__()

    assert list(found) == ["room.forgotten"]
    assert not any(re.fullmatch(pattern, "room.forgotten") for pattern in (*CHECKED, *EXEMPT))
