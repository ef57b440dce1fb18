"""discreet.attacks.reading: whatever an output is dressed in, a value in clear is seen, and nothing is invented."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.attacks.reading import Leaves, Numbers, Word, learn_reading, leaves
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import PureDP


@dataclass(frozen=True)
class Answer:
    name: str
    total: float


class Colour(Enum):
    RED = 1


def rarely(rng):
    return rng.bits(7) == 0


DRESSED = {
    "plain": lambda x, rng: x,
    "nothing now and then": lambda x, rng: None if rarely(rng) else x,
    "named": lambda x, rng: ("total", x),
    "dictionary": lambda x, rng: {"total": x},
    "fraction": lambda x, rng: Fraction(x),
    "decimal": lambda x, rng: Decimal(x),
    "ragged": lambda x, rng: [x, 0.5] if rarely(rng) else [x],
    "dataclass": lambda x, rng: Answer("total", x),
    "written out": lambda x, rng: f"{x:.17g}",
    "deep": lambda x, rng: [{"a": (None, {"b": [x]})}, rng.bits(1)],
    "behind a nonce": lambda x, rng: (f"no. {rng.bits(64)}", x),
    "large": lambda x, rng: 2**80 + int(x * 2**20),
}


@pytest.mark.statistical
@pytest.mark.parametrize("dress", DRESSED.values(), ids=DRESSED)
def test_a_value_in_clear_is_seen_in_whatever_it_is_dressed(dress):
    """The value with noise of a millionth, sold for epsilon = 1."""

    def released(value, *, rng=None):
        return dress(value + rng.bits(40) / 2**40 * 1e-6, rng)

    assert audit(released, (0, 1), 2000, rng=SeededRandom(1)).violates(PureDP(1))


@pytest.mark.statistical
@pytest.mark.parametrize("dress", DRESSED.values(), ids=DRESSED)
def test_nothing_is_invented_where_nothing_is_released(dress):
    def noise(value, *, rng=None):
        return dress(rng.bits(40) / 2**40, rng)

    assert [audit(noise, (0, 1), 500, rng=SeededRandom(seed)).epsilon for seed in range(5)] == [0.0] * 5


def test_a_negative_zero_is_another_output():
    def signed(value, *, rng=None):
        return -0.0 if value else 0.0

    found = [audit(dress, (0, 1), 1000) for dress in (signed, lambda v, rng=None: [signed(v), float("nan")])]

    assert all(one.violates(PureDP(1)) for one in found)
    assert "negative zeros" in str(found[0].event)


def test_failing_is_an_output():
    """It fails every other time on one side; elsewhere it says nothing."""

    def fails(value, *, rng=None):
        if value and rng.bits(1):
            raise OverflowError("too many")
        return rng.bits(1)

    assert audit(fails, (0, 1), 2000, rng=SeededRandom(1)).violates(PureDP(1))
    assert audit(fails, (1, 0), 2000, rng=SeededRandom(1)).violates(PureDP(1))
    assert audit(fails, (1, 1), 2000, rng=SeededRandom(1)).epsilon == 0.0
    with pytest.raises(ZeroDivisionError):
        audit(lambda value, rng=None: 1 // 0, (0, 1), 2000)


def test_what_is_never_seen_twice_is_not_read_and_that_is_said():
    def nonce(value, *, rng=None):
        return f"no. {rng.bits(64)}"

    assert audit(nonce, (0, 1), 1000, rng=SeededRandom(1)).unread == 1.0
    assert audit(lambda value, rng=None: value, (0, 1), 1000).unread == 0.0


def test_equal_numbers_are_read_alike_whatever_their_type_and_that_of_what_holds_them():
    """The twin of a type for each side: one float must not change how other outputs are read."""
    read = learn_reading([[(0, 1), [2, 1]], [(3.0, 1.0), np.array([0, 1])]])
    big = learn_reading([[2**60 + 1, 5], [7, 8]])

    assert isinstance(read, Numbers)
    assert read([(4, 1), np.array([4.0, 1.0]), [4.0, True]])[0].tolist() == [[4, 1]] * 3
    assert big([2**60 + 1, 2**60 + 3, 0.5])[0].tolist() == [2**60 + 1, 2**60 + 3, 0]
    assert big([2**60 + 1, 0.5])[1].tolist() == [True, False]


def test_the_tested_outputs_choose_nothing():
    """Words and places that the first part did not hold are read as nothing, on both sides alike."""
    read = learn_reading([["a", "b"], ["a", None]])
    rows, known = read(["a", "c", "d", {"x": 1}, None])

    assert isinstance(read, Leaves)
    assert not read.ordered
    assert rows[1] == rows[2]
    assert known.tolist() == [True, False, False, False, True]


def test_leaves_are_numbers_and_words():
    found = dict(leaves([None, Colour.RED, b"\x07", 1j, {"k"}, math.inf, Decimal("nan"), np.float32(0.5)]))
    words = {leaf.key for leaf in found.values() if isinstance(leaf, Word)}

    assert words == {None, Colour.RED, "NaN"}
    assert {7.0, 1.0, 0.5, math.inf} <= set(found.values())
