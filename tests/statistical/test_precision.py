"""Ports of the floating-point attacks: low bits, exponents and grains of what is published tell nothing more.

(Mironov 2012; Haney, Desfontaines, Hartman, Shrestha, Hay 2022.)  Neighbours' outputs differ by
design, so the figures are: no event of low bits beyond epsilon, and the same lattice on both sides.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.attacks.broken import FloatAfterExact, FloatLaplace
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from tests.scale import counts

EXPONENTS = [round(-40 + 80 * i / 23) for i in range(24)]
SAMPLES = counts(quick=20_000, full=1_000_000)
STEPS = 1024  # lattice points a unit of scale


@dataclass(frozen=True)
class Published:
    """A float moved to a lattice of 1/1024 of the scale, noised as an integer, and written back as a float."""

    mechanism: Any
    unit: float  # a power of two
    through_json: bool = False

    def releases(self, value, count, *, rng=None):
        steps = round(value / self.unit * STEPS)
        noisy = self.mechanism(np.full(count, steps), rng=rng) * (self.unit / STEPS)
        return np.array(json.loads(json.dumps(noisy.tolist()))) if self.through_json else noisy

    def __call__(self, value, *, rng=None):
        return float(self.releases(value, 1, rng=rng)[0])

    def privacy(self) -> Guarantee:
        return self.mechanism.privacy()


def pairs(unit):
    """Values one unit apart at several places, and one bit apart."""
    return [(0.0, unit), (unit, float(np.nextafter(unit, np.inf))), (1024 * unit, 1025 * unit), (-unit / 2, unit / 2)]


@pytest.mark.statistical
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_low_bits_of_laplace_noise_tell_no_more_than_epsilon(exponent):
    """Four audits at beta = 1e-5."""
    published = Published(Laplace.with_scale(STEPS, sensitivity=STEPS), 2.0**exponent)
    found = [audit(published, pair, SAMPLES, rng=SeededRandom(exponent)) for pair in pairs(2.0**exponent)]

    assert not any(one.violates(PureDP(1)) for one in found)
    assert found[1].epsilon == 0.0  # one bit apart is the same lattice point: the same law
    assert found[0].epsilon > 0.8


@pytest.mark.statistical
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_low_bits_of_gaussian_noise_tell_no_more_than_its_claim(exponent):
    """1/2-zCDP, audited at delta = 0.01."""
    published = Published(Gaussian.with_sigma(STEPS, sensitivity=STEPS), 2.0**exponent)
    found = [audit(published, pair, SAMPLES, delta=0.01, rng=SeededRandom(exponent)) for pair in pairs(2.0**exponent)]

    assert not any(one.violates(ZCDP(0.5)) for one in found)
    assert found[1].epsilon == 0.0


@pytest.mark.statistical
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_the_naive_twin_is_caught_at_every_scale(exponent):
    twin = FloatLaplace(scale=2.0**exponent, pair=pairs(2.0**exponent)[0])
    found = audit(twin, twin.worst, 20_000, rng=SeededRandom(exponent))

    assert found.violates(PureDP(1))
    assert found.hits[1] == 0  # outputs that the other neighbour never produces


@pytest.mark.statistical
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_the_naive_gaussian_twin_is_caught_at_every_scale(exponent):
    def gaussian(value, *, rng=None):
        return value + np.random.Generator(np.random.PCG64(rng.bits(64))).normal(0, 2.0**exponent, np.shape(value))

    found = audit(gaussian, (0.0, 2.0**exponent), 20_000, batched=True, delta=0.01, rng=SeededRandom(exponent))

    assert found.violates(ZCDP(0.5))
    assert found.hits[1] == 0


@pytest.mark.statistical
def test_adding_exact_noise_in_floating_point_is_caught():
    twin = FloatAfterExact(epsilon=1, step=2.0**-10, pair=(0.1, 1.1))
    found = audit(twin, twin.worst, 20_000, rng=SeededRandom(5))

    assert found.violates()
    assert found.hits[1] == 0


@pytest.mark.statistical
def test_writing_numbers_as_text_changes_nothing():
    plain, written = (
        Published(Laplace.with_scale(STEPS, sensitivity=STEPS), 2.0**-7, through_json=text) for text in (False, True)
    )
    first, second = (p.releases(1.0, 2000, rng=SeededRandom(6)) for p in (plain, written))

    assert np.array_equal(first, second)
    assert not audit(written, (0.0, 2.0**-7), 20_000, rng=SeededRandom(7)).violates(PureDP(1))
