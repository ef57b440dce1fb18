"""discreet.release.net: every dataset is near a small one."""

import itertools
import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.neighbours import AddRemove, EdgeNeighbours, Local, NodeNeighbours, NullRow, Replace
from discreet.queries.combined import Kronecker
from discreet.queries.local import Junta
from discreet.queries.marginals import conjunctions, marginals
from discreet.queries.ordered import ranges, thresholds
from discreet.queries.products import monotone_conjunctions, monotone_disjunctions, parities
from discreet.queries.written import Dense, random_counting
from discreet.release.net import covering, extremes, multisets, net_distance, net_rows, widest
from discreet.release.online_session import span, spans
from tests.work import calls

EVERY = np.array([[i >> bit & 1 for bit in range(3)] for i in range(8)])  # all counting queries of three cells


def fractions(histograms):
    return (histograms @ EVERY.T) / histograms.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("rows", range(1, 9))
@pytest.mark.parametrize("n", range(1, 7))
def test_every_histogram_is_near_some_small_one(n, rows):
    """All datasets of n <= 6 rows over three cells, and all eight counting queries."""
    data, small = fractions(multisets(3, n)), fractions(multisets(3, rows))
    nearest = abs(data[:, None, :] - small[None, :, :]).max(axis=2).min(axis=1)

    assert nearest.max() <= net_distance(queries=8, cells=3, n=n, rows=rows) + 1e-12


def test_the_distance_is_not_loose():
    """Rounding is tight where cells / 4 is whole: half of four cells, with two rows."""
    data, small = multisets(4, 4), multisets(4, 2)
    queries = np.array([[i >> bit & 1 for bit in range(4)] for i in range(16)])
    answers = [(part @ queries.T) / part.sum(axis=1, keepdims=True) for part in (data, small)]
    nearest = abs(answers[0][:, None, :] - answers[1][None, :, :]).max(axis=2).min(axis=1)

    assert nearest.max() == net_distance(queries=16, cells=4, n=4, rows=2) == 0.5


@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.1])
def test_the_net_of_the_theorem_reaches_everything(alpha):
    rows = net_rows(8, alpha)

    assert math.sqrt(math.log(16) / (2 * rows)) < alpha <= math.sqrt(math.log(16) / (2 * max(rows - 1, 1))) or rows == 1


def test_multisets_are_all_there():
    listed = multisets(4, 5)
    expected = {tuple(rows.count(cell) for cell in range(4)) for rows in combinations_with_replacement(range(4), 5)}

    assert len(listed) == math.comb(8, 5)
    assert {tuple(row) for row in listed.tolist()} == expected
    assert multisets(1, 3).tolist() == [[3]]


def test_a_greedy_cover_reaches_the_family_with_fewer_candidates():
    family = fractions(multisets(3, 6))
    chosen = covering(family, family, 0.2)
    nearest = abs(family[:, None, :] - family[chosen][None, :, :]).max(axis=2).min(axis=1)

    assert nearest.max() <= 0.2
    assert len(chosen) < len(family) / 2
    with pytest.raises(ParameterError, match="reach the whole family"):
        covering(family, family[:1], 0.2)


def test_the_widest_query_is_found_in_every_form():
    domain = Domain({"age": Integer(0, 4)})

    assert widest(marginals(domain, 1), Replace) == 1
    assert widest(thresholds(5), Replace) == 1
    assert widest(3 * thresholds(5), AddRemove) == 3


@pytest.mark.parametrize("relation", [Replace, Local, AddRemove, NullRow])
def test_a_query_moves_as_far_as_two_rows_are_apart_where_rows_are_changed(relation):
    """Local changes a row as Replace does; the largest absolute value would be half of what it moves."""
    signs = Junta(Domain({"row": Integer(0, 2)}), ("row",), np.array([-2, 0, 2]))

    assert widest(signs, relation) == (4 if relation in (Replace, Local) else 2)
    assert widest(signs, relation) == signs.absolute(relation)


@pytest.mark.parametrize("relation", [EdgeNeighbours, NodeNeighbours])
def test_relations_about_graphs_are_refused(relation):
    for workload in (thresholds(5), marginals(Domain({"age": Integer(0, 4)}), 1)):
        with pytest.raises(UnsupportedError, match="about graphs"):
            widest(workload, relation)


def test_what_cannot_be_listed_is_refused_with_its_number():
    with pytest.raises(UnsupportedError, match=r"e\+\d+ datasets of 100 rows over 100 cells"):
        multisets(100, 100)
    for bad in ({"queries": 0, "alpha": 0.1}, {"queries": 1, "alpha": 0}, {"queries": 1, "alpha": float("nan")}):
        with pytest.raises(ParameterError):
            net_rows(**bad)


BITS4, ONE = Domain({f"b{i}": Boolean() for i in range(4)}), Domain({"one": Integer(7, 7)})
FORMS = [
    thresholds(1), thresholds(5), ranges(1), ranges(4), parities(4, 2), parities(4, 2, at_most=True), parities(4, 0),
    monotone_conjunctions(4, 2), monotone_conjunctions(4, 2, at_most=True), monotone_disjunctions(4, 2, at_most=True),
    marginals(BITS4, 2), marginals(Domain({"one": Integer(7, 7), "b": Boolean()}), 1), 3 * marginals(BITS4, 1),
    -2 * parities(4, 2, at_most=True), thresholds(5) + 7 * ranges(5), marginals(BITS4, 1, weights=[1, 5, 2, 3]),
    Kronecker([-1 * ranges(3), thresholds(Domain({"y": Integer(0, 2)})), parities(2, 1, at_most=True)]),
    Dense([[0, 3, -5], [2, 2, 2]], Domain({"x": Integer(0, 2)})), thresholds(6)[1:4],
]  # fmt: skip


@pytest.mark.parametrize("workload", FORMS, ids=repr)
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_how_far_each_query_moves_is_read_off_its_form_as_off_its_matrix(workload, relation):
    matrix = workload.matrix()
    low, high = extremes(workload)
    moved = matrix.max(axis=1) - matrix.min(axis=1) if relation is Replace else abs(matrix).max(axis=1)

    assert (low == matrix.min(axis=1)).all()
    assert (high == matrix.max(axis=1)).all()
    assert widest(workload, relation) == moved.max()
    assert spans(low, high, relation).tolist() == [span(query, relation) for query in workload]


def test_how_far_random_queries_move_is_bounded_without_their_bits():
    workload = random_counting(BITS4, 30, seed=1)
    low, high = extremes(workload)

    assert (low <= workload.matrix().min(axis=1)).all()
    assert (high >= workload.matrix().max(axis=1)).all()


def test_billions_of_queries_are_not_looked_at_one_by_one():
    """34,220 queries took 6 seconds, and 700 million never ended."""
    made = []
    for workload in (
        parities(1000, 3),
        conjunctions(40, 4),
        3 * ranges(1000),
        Kronecker([thresholds(3000), parities(8, 2)]),
    ):
        assert calls(lambda workload=workload: made.append(widest(workload, Replace))) < 10**5

    assert made == [2, 1, 3, 2]


def test_a_query_of_many_is_found_without_those_before_it():
    many = parities(60, 5)
    place = len(many) - 3

    assert calls(lambda: many.row(place)) < 10**4
    assert many.row(place).names == next(itertools.islice(itertools.combinations(many.domain, 5), place, None))
