"""discreet.hazmat.integers: nothing but integers goes in, and nothing wraps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.hazmat.integers import add, integers, shape_of

int64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(int64, int64), min_size=1, max_size=20))
def test_array_sums_are_exact_or_saturated(pairs):
    value, noise = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    expected = [min(max(a + b, -(2**63)), 2**63 - 1) for a, b in pairs]

    assert add(value, noise).tolist() == expected


@given(st.integers(), st.integers())
def test_python_integers_are_exact_at_any_size(value, noise):
    assert add(value, noise) == value + noise


def test_object_arrays_are_exact_beyond_64_bits():
    huge = np.array([2**80, -(2**90)], dtype=object)

    assert add(integers(huge), np.array([1, 1], dtype=np.int64)).tolist() == [2**80 + 1, -(2**90) + 1]


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64, np.uint64])
def test_lists_of_numpy_integers_are_exact_too(kind):
    """numpy adds two of its own integers modulo their size, and refuses a Python one that does not fit it."""
    end = int(np.iinfo(kind).max)
    for values in ([kind(end), kind(0)], np.array([kind(end), kind(0)], dtype=object)):
        assert add(integers(values), np.array([1, -1000], dtype=np.int64)).tolist() == [end + 1, -1000]


@pytest.mark.parametrize("good", [5, np.int32(5), np.array([5], dtype=np.uint8), [1, 2**70], np.zeros((2, 3), int)])
def test_integers_of_every_kind_are_taken(good):
    assert shape_of(integers(good)) == (None if np.ndim(good) == 0 else np.shape(good))


@pytest.mark.parametrize(
    "bad",
    [2.0, True, "5", None, np.array([1.0]), np.array([True]), np.array([1], dtype=np.uint64), [1.5], [[1], 2.0],
     np.array([1.0, 2], dtype=object), np.float64(3), 1j, float("nan")],
    ids=repr,
)  # fmt: skip
def test_everything_else_is_refused_and_not_quoted(bad):
    with pytest.raises(ParameterError, match="need integers") as caught:
        integers(bad)
    assert "nan" not in str(caught.value)


def test_long_and_strided_arrays_are_added_entry_by_entry():
    """Longer than the working arrays, in any memory order, with a saturated entry at the end."""
    value = np.arange(3 * 40_000).reshape(3, 40_000).T
    noise = np.arange(40_000)[:, None] * np.array([1, -1, 2])
    value[-1, -1] = 2**63 - 1
    expected = value.astype(object) + noise.astype(object)
    expected[-1, -1] = 2**63 - 1

    assert (add(value, noise) == expected).all()
