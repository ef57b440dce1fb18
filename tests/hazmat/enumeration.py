"""Run a sampler on every string of bits up to a length, and add up the mass of each outcome."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

import mpmath


class OutOfBitsError(Exception):
    """The sampler asked for more bits than this branch has."""

    def __init__(self, wanted: int) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class Tape:
    """A source that plays a string of bits and then stops the sampler."""

    secure = False

    def __init__(self, bits: int, length: int) -> None:
        self.bits_left, self.length = bits, length

    def bits(self, count: int) -> int:
        if count > self.length:
            raise OutOfBitsError(count - self.length)
        self.length -= count
        value, self.bits_left = self.bits_left >> self.length, self.bits_left & ((1 << self.length) - 1)
        return value

    def words(self, count: int):
        raise AssertionError("enumeration runs the scalar sampler")


def masses(sampler: Callable[[Tape], object], *, depth: int) -> tuple[dict[object, Fraction], Fraction]:
    """The decided mass of each outcome after at most `depth` bits, and the mass still undecided."""
    decided: dict[object, Fraction] = defaultdict(Fraction)
    undecided = Fraction(0)
    branches = [(0, 0)]
    while branches:
        bits, length = branches.pop()
        try:
            decided[sampler(Tape(bits, length))] += Fraction(1, 1 << length)
        except OutOfBitsError as more:
            if length + more.wanted > depth:
                undecided += Fraction(1, 1 << length)
            else:
                branches += [(bits << more.wanted | i, length + more.wanted) for i in range(1 << more.wanted)]
    return decided, undecided


def agrees(sampler: Callable[[Tape], object], probability: Callable[[object], mpmath.mpf], *, depth: int) -> bool:
    """Whether each outcome's true probability lies between its decided and its possible mass."""
    decided, undecided = masses(sampler, depth=depth)
    slack = mpmath.mpf(10) ** -40
    assert sum(decided.values()) + undecided == 1
    assert undecided < 1
    return all(
        mpmath.mpf(mass.numerator) / mass.denominator - slack
        <= probability(outcome)
        <= mpmath.mpf((mass + undecided).numerator) / (mass + undecided).denominator + slack
        for outcome, mass in decided.items()
    )
