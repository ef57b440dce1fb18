"""At a million people, in chunks and permuted: what takes an array says the same of its parts and of their sum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet import learning, structured
from discreet.attacks import unique
from discreet.data import Graph, Records
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.pac.boolean_classes import Conjunctions, Parities
from discreet.learning.pac.hypotheses import Thresholds
from discreet.queries import Workload, marginals, parities, thresholds
from discreet.structured import PrivateQuantile
from tests.at_size.rows import DOMAIN, N, in_chunks, order, table
from tests.local.protocols import SIMPLE, some_values


@pytest.mark.parametrize("protocol", SIMPLE, ids=lambda one: type(one).__name__)
def test_reports_are_tallied_in_any_parts_and_order(protocol):
    values = some_values(protocol, N // 10)
    reports = protocol.draw(protocol.checked(values), SeededRandom(1))
    whole = protocol.tally(reports)
    parts = sum(protocol.tally(reports[first : first + N // 100]) for first in range(0, N // 10, N // 100))

    assert np.array_equal(parts, whole)
    assert np.array_equal(protocol.tally(reports[order(N // 10)]), whole)
    assert len(protocol.to_bytes(reports)) > 0


WORKLOADS = {
    "marginals": marginals(DOMAIN.project(["age", "ward"]), 2),
    "thresholds": thresholds(100),
    "parities": parities(3, 2),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_of_the_whole_is_the_sum_of_its_parts(name):
    workload: Workload = WORKLOADS[name]
    rows = Records.random(workload.domain, N, seed=1)
    columns = [rows.column(name) for name in workload.domain]

    def answer(places):
        return np.asarray(workload.answer(Records(workload.domain, [column[places] for column in columns])))

    whole = np.asarray(workload.answer(rows))
    edges = [0, 0, 1, N // 3, N // 3 + 1, N]
    parts = sum(answer(slice(a, b)) for a, b in itertools.pairwise(edges))

    assert np.array_equal(parts, whole)
    assert np.array_equal(answer(order()), whole)


@pytest.mark.parametrize("kind", [Thresholds(1000), Parities(4), Conjunctions(3)], ids=lambda one: type(one).__name__)
def test_errors_of_hypotheses_add_up(kind):
    rng = np.random.default_rng(1)
    width = {Parities: 4, Conjunctions: 3}.get(type(kind))
    x = rng.integers(0, 1000, N) if width is None else rng.integers(0, 2, (N // 10, width))
    y, most = rng.integers(0, 2, len(x)), min(kind.size, 16)
    whole = kind.errors(x, y, 0, most)
    parts = sum(kind.errors(x[a : a + len(x) // 10], y[a : a + len(x) // 10], 0, most)
                for a in range(0, len(x), len(x) // 10))  # fmt: skip
    mixed = order(len(x))

    assert np.array_equal(parts, whole)
    assert np.array_equal(kind.errors(x[mixed], y[mixed], 0, most), whole)


def test_learners_of_classes_find_the_same_in_any_order():
    x = np.random.default_rng(1).integers(0, 1000, N)
    for learner in (
        learning.ThresholdLearner(1000, epsilon=1),
        learning.ExponentialLearner([lambda x, t=t: x >= t for t in range(0, 1001, 50)], epsilon=1),
    ):
        found = [learner.fit(rows, rows >= 300, rng=SeededRandom(1)) for rows in (x, x[order()])]
        whole = found[0].predict(x)

        assert np.array_equal(found[1].predict(x), whole)
        assert np.array_equal(found[0].predict(x[order()]), np.asarray(whole)[order()])
        assert (whole == (x >= 300)).mean() > 0.9


def test_quantiles_are_those_of_the_values_in_any_order():
    x = np.random.default_rng(1).normal(50, 10, N)
    quartiles = PrivateQuantile([0.25, 0.5, 0.75], epsilon=1, lower=0, upper=100, step="0.01")
    first, second = (quartiles(values, rng=SeededRandom(1)) for values in (x, x[order()]))

    assert np.array_equal(first, second)
    assert np.abs(np.asarray(first) - np.quantile(x, [0.25, 0.5, 0.75])).max() < 0.1


def test_a_graph_is_its_edges_in_any_order():
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 200_000, (N, 2))
    whole = Graph.from_edges(edges, vertices=200_000)
    mixed = Graph.from_edges(edges[order()][:, ::-1], vertices=200_000)
    apart = edges[edges[:, 0] != edges[:, 1]]
    distinct = np.unique(np.sort(apart, axis=1), axis=0)

    assert np.array_equal(whole.edges, distinct)
    assert np.array_equal(mixed.edges, distinct)
    first, second = (structured.EdgeCount(epsilon=1)(one, rng=SeededRandom(1)) for one in (whole, mixed))
    assert first == second


def test_combinations_that_single_somebody_out_are_counted_alike():
    rows = table(N).select(["age", "cost", "ward"])
    codes = np.unique(np.array([rows["age"].to_numpy(), rows["cost"].to_numpy()]), axis=1, return_counts=True)[1]
    found = [unique(frame, ["age", "cost"]) for frame in (rows, in_chunks(rows.take(order())))]

    assert found[0] == found[1]
    assert float(found[0]) == pytest.approx((codes == 1).sum() / N)


def test_statistical_queries_are_of_the_rows_they_are_given():
    x = np.random.default_rng(1).integers(0, 2, (N // 10, 3))
    found = []
    for rows in (x, x[order(N // 10)]):
        oracle = learning.StatisticalQueryOracle((rows, rows[:, 1]), queries=5, epsilon=10**4, rng=SeededRandom(1))
        found.append(learning.learn_conjunction(oracle, d=3, alpha=0.1))
        whole = found[-1].predict(x)

        assert np.array_equal(found[-1].predict(x[order(N // 10)]), np.asarray(whole)[order(N // 10)])
        assert np.array_equal(whole, x[:, 1])
    assert found[0] == found[1]
