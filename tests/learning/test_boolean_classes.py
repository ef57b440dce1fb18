"""discreet.learning.pac.boolean_classes: transforms count what the functions count, block by block."""

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.learning.pac import boolean_classes
from discreet.learning.pac.boolean_classes import Conjunctions, Parities
from discreet.learning.pac.hypotheses import Listed


@pytest.mark.parametrize("make", [Parities, Conjunctions])
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_the_functions(make, d, weighted):
    rng = np.random.default_rng(d)
    x, y = rng.integers(0, 2, (50, d)), rng.integers(0, 2, 50)
    weights = rng.integers(0, 2**20, 50) if weighted else None
    made = make(d)
    listed = Listed([made.hypothesis(index) for index in range(made.size)])

    assert made.errors(x, y, 0, made.size, weights=weights).tolist() == (
        listed.errors(x, y, 0, made.size, weights=weights).tolist()
    )


@pytest.mark.parametrize(("make", "low"), [(Parities, "LOW"), (Conjunctions, "LOW_TERNARY")])
def test_blocks_are_parts_of_the_whole(make, low, monkeypatch):
    rng = np.random.default_rng(0)
    x, y, made = rng.integers(0, 2, (40, 6)), rng.integers(0, 2, 40), make(6)
    whole = made.errors(x, y, 0, made.size)
    monkeypatch.setattr(boolean_classes, low, 2)

    for start, stop in [(0, made.size), (3, 5), (4, 30), (made.size - 7, made.size)]:
        assert made.errors(x, y, start, stop).tolist() == whole[start:stop].tolist()


def test_a_parity_and_a_conjunction_are_named_by_their_digits():
    assert Parities(3).hypothesis(0b110).vector == (0, 1, 1)
    assert Conjunctions(3).hypothesis(1 + 2 * 9).literals == (1, 0, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Parities(0),
        lambda: Parities(True),
        lambda: Parities(27),
        lambda: Conjunctions(21),
        lambda: Parities(2).errors(np.zeros((3, 3), dtype=int), np.zeros(3, dtype=int), 0, 4),
        lambda: Parities(2).errors(np.zeros((3, 2)), np.zeros(3, dtype=int), 0, 4),
    ],
)
def test_what_is_no_class_of_bits_is_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
