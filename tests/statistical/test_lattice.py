"""Outputs lie on one lattice fixed by public parameters, the same for both neighbours.

The broken twin is numpy's Laplace noise on floats: more than a quarter of what it releases for
the value 0 cannot be released for the value 1.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks.broken import FloatLaplace
from discreet.attacks.views import grain
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Laplace
from tests.scale import counts
from tests.statistical.additive import ADDITIVE, BOUNDED_NOISE

COUNT = counts(quick=500_000, full=10_000_000)
CHUNK = 1_000_000
OFTEN = math.ceil(40 * math.exp(4))


def releases(mechanism, value, rng):
    for start in range(0, COUNT, CHUNK):
        yield mechanism(np.full(min(CHUNK, COUNT - start), value), rng=rng)


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ADDITIVE, ids=repr)
def test_every_output_is_an_integer_and_no_value_belongs_to_one_neighbour(mechanism):
    """The ratios of these laws are at most e^4 where they are likely: OFTEN times here, 40 times expected there."""
    rng, step = SeededRandom(1), int(mechanism.sensitivity)
    seen = []
    for value in (0, step):
        counts_of: dict[int, int] = {}
        for part in releases(mechanism, value, rng):
            assert part.dtype == np.int64
            values, times = np.unique(part, return_counts=True)
            for v, t in zip(values.tolist(), times.tolist(), strict=True):
                counts_of[v] = counts_of.get(v, 0) + t
        seen.append(counts_of)
    one_sided = [v for a, b in (seen, seen[::-1]) for v, times in a.items() if times >= OFTEN and v not in b]

    assert one_sided == []


@pytest.mark.parametrize("mechanism", [*ADDITIVE, *BOUNDED_NOISE], ids=repr)
def test_a_single_release_is_a_python_integer_on_the_same_lattice(mechanism):
    rng = SeededRandom(2)

    assert all(type(mechanism(value, rng=rng)) is int for value in (0, 1, -(2**70), 2**70) for _ in range(20))


@pytest.mark.parametrize("step", [Fraction(1, 2**10), Fraction(1, 100), Fraction(3)])
def test_a_value_moved_to_a_lattice_stays_on_it(step):
    laplace = Laplace.with_scale(1 / step if step < 1 else 1, sensitivity=1)
    moved = [round(Fraction(x) / step) for x in (0, 1, Fraction(1, 3))]
    outputs = [step * laplace(value, rng=SeededRandom(3)) for value in moved]

    assert all((y / step).denominator == 1 for y in outputs)


@pytest.mark.statistical
def test_the_floating_point_twin_is_off_the_lattice():
    """numpy's law: 27.2 % of outputs for the value 0 are no multiples of 2^-53, and none for the value 1."""
    twin, rng, n = FloatLaplace(scale=1.0), SeededRandom(4), counts(quick=500_000, full=10_000_000)
    off = [float((grain(twin.releases(value, n, rng=rng)) < -53).mean()) for value in twin.worst]

    assert off[0] == pytest.approx(0.272, abs=0.005)
    assert off[1] == 0.0
