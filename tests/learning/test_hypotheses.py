"""discreet.learning.pac.hypotheses: errors of a class are those of its functions; a row moves them by at most 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.learning.pac.bit_rows import BitRows
from discreet.learning.pac.boolean_classes import bits_of
from discreet.learning.pac.hypotheses import Listed, RunsOfErrors, Threshold, Thresholds, labelled, sums

rows = st.lists(st.tuples(st.integers(-2, 9), st.booleans(), st.integers(0, 2**40)), max_size=12)


def _arrays(given_rows):
    x, y, w = (
        np.array([row[place] for row in given_rows], dtype=kind) for place, kind in ((0, int), (1, bool), (2, int))
    )
    return x, y, w


@given(rows, st.integers(1, 8), st.data())
def test_errors_of_thresholds_are_those_of_the_functions(given_rows, points, data):
    x, y, w = _arrays(given_rows)
    thresholds = Thresholds(points)
    start = data.draw(st.integers(0, points))
    stop = data.draw(st.integers(start + 1, points + 1))
    inside = np.clip(x, 0, points - 1)
    listed = Listed([thresholds.hypothesis(t) for t in range(points + 1)])

    assert thresholds.errors(x, y, start, stop).tolist() == listed.errors(inside, y, start, stop).tolist()
    weighted = listed.errors(inside, y, start, stop, weights=w)
    assert thresholds.errors(x, y, start, stop, weights=w).tolist() == weighted.tolist()


@given(rows, st.integers(1, 8))
def test_runs_are_the_errors_run_by_run(given_rows, points):
    x, y, _ = _arrays(given_rows)
    thresholds = Thresholds(points)
    runs = thresholds.runs(x, y)

    assert runs.widths.sum() == thresholds.size
    assert np.repeat(runs.errors, runs.widths).tolist() == thresholds.errors(x, y, 0, thresholds.size).tolist()
    assert runs.starts.tolist() == [0, *np.cumsum(runs.widths)[:-1].tolist()]


@given(rows, st.tuples(st.integers(-2, 9), st.booleans()))
def test_one_row_more_raises_every_count_by_one_at_most(given_rows, row):
    x, y, _ = _arrays(given_rows)
    moved = Thresholds(6).errors(np.append(x, row[0]), np.append(y, row[1]), 0, 7) - Thresholds(6).errors(x, y, 0, 7)

    assert set(moved.tolist()) <= {0, 1}


def test_a_function_of_the_whole_column_is_no_hypothesis():
    """The twin: a threshold at the mean moves many labels when one row moves."""
    twin = Listed([lambda x: x >= x.mean()])
    x, y = np.arange(10), np.arange(10) >= 5
    there = np.append(x, 1000)

    assert twin.errors(there, np.append(y, True), 0, 1)[0] - twin.errors(x, y, 0, 1)[0] > 1


def test_large_unsigned_numbers_count_at_the_upper_end():
    x = np.array([2**64 - 1, 0], dtype=np.uint64)

    assert Thresholds(4).errors(x, np.array([1, 0]), 0, 5).tolist() == [1, 0, 0, 0, 1]
    assert Thresholds(300).errors(np.array([255, 0], dtype=np.uint8), np.array([1, 0]), 254, 258).tolist() == [
        0,
        0,
        1,
        1,
    ]


def test_runs_are_a_shortcut_that_only_some_classes_have():
    assert isinstance(Thresholds(4), RunsOfErrors)
    assert not isinstance(Listed([Threshold(1)]), RunsOfErrors)


def test_sums_are_exact_beyond_floats():
    assert sums(np.array([0, 0, 1]), np.array([2**60, 1, -(2**61)]), 2).tolist() == [2**60 + 1, -(2**61)]


def test_rows_and_labels_must_match_and_no_message_tells_how_many_there_are():
    with pytest.raises(ParameterError, match="one label for each row") as refused:
        labelled(np.arange(12345), np.arange(3), n=None)

    assert "12345" not in str(refused.value)
    with pytest.raises(ParameterError, match="n is public, got n=4") as refused:
        labelled(np.arange(12345), np.arange(12345), n=4)
    assert "12345" not in str(refused.value)


REFUSED = ["f4", "f8", "c16", "U3", "M8[D]", "O"]


@pytest.mark.parametrize("dtype", REFUSED)
@pytest.mark.parametrize("values", [[], [0], [0, 1], [1, 1, 1]])
@pytest.mark.parametrize(
    "read",
    [
        lambda array: Thresholds(4).errors(array, np.ones(len(array), dtype=bool), 0, 5),
        lambda array: Thresholds(4).runs(array, np.ones(len(array), dtype=bool)),
        lambda array: Thresholds(4).errors(np.zeros(len(array), dtype=int), array, 0, 5),
        lambda array: bits_of(array[:, None], 1),
        lambda array: BitRows.pack(array[:, None]),
    ],
)
def test_a_dtype_is_refused_whatever_it_holds_and_however_many_rows_there_are(read, values, dtype):
    """An empty array of floats was accepted, so that one row more decided whether there is an answer."""
    with pytest.raises(ParameterError):
        read(np.array(values, dtype=dtype))


@pytest.mark.parametrize("values", [[], [0], [-7, 9], [1, 120, 1]])
@pytest.mark.parametrize("dtype", ["b1", "i1", "i8", "u1", "u8"])
def test_a_dtype_is_accepted_whatever_it_holds(values, dtype):
    array = np.array(values, dtype="i8").astype(dtype)

    assert Thresholds(4).errors(array, array, 0, 5).shape == (5,)
    assert len(BitRows.pack(array[:, None])) == len(bits_of(array[:, None], 1)) == len(values)


def test_an_empty_list_has_whole_numbers_and_an_array_its_own_dtype():
    assert [array.dtype.kind for array in labelled([], [], n=None)] == ["i", "i"]
    assert labelled(np.zeros(0), np.zeros(0, dtype=bool), n=None)[0].dtype.kind == "f"
    with pytest.raises(ParameterError, match="equal lengths") as refused:
        labelled([[1, 2]] * 12345 + [[1]], [0] * 12346, n=None)
    assert "1234" not in str(refused.value)
    assert refused.value.__context__ is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Thresholds(0),
        lambda: Thresholds(True),
        lambda: Thresholds(2.0),
        lambda: Thresholds(2**62),
        lambda: Listed([]),
        lambda: Listed([1]),
        lambda: Thresholds(4).errors(np.array([0.5]), np.array([1]), 0, 5),
        lambda: Thresholds(4).errors(np.array([1]), np.array([0.5]), 0, 5),
        lambda: Listed([lambda x: x[:1]]).errors(np.arange(3), np.arange(3), 0, 1),
        lambda: labelled(np.float64(1), [1], n=None),
    ],
)
def test_what_is_no_class_and_no_rows_is_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
