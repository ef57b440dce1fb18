"""discreet.local: the claims of the protocols for means of numbers, over all of them."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import HybridMean, LaplaceMean, OneBitMean, PiecewiseMean, run
from discreet.local.laplace_mean import STEPS
from discreet.local.means import PLACES, scatter_law, scattered
from discreet.privacy.event import LaplaceEvent
from tests.local.protocols import MEANS
from tests.scale import counts

DRAWS = counts(quick=40_000, full=1_000_000)
RUNS = counts(quick=40, full=400)
LISTED = [OneBitMean(epsilon=1), PiecewiseMean(epsilon=1, slots=16), HybridMean(epsilon=2, slots=16)]


@pytest.mark.parametrize("protocol", LISTED, ids=lambda p: type(p).__name__)
def test_the_estimate_is_unbiased_by_its_law(protocol):
    """The mean over the law of what one report says is the value, between places of the window too."""
    for value in [Fraction(-1), Fraction(-3, 10), Fraction(1, 3), Fraction(1)]:
        moved = Fraction(2 * protocol.place(value), PLACES) - 1
        said = sum(
            chance * Fraction(protocol.decode(protocol.tally(np.array([y])), 1))
            for y, chance in protocol.law(value).items()
        )

        assert float(said) == pytest.approx(float(moved), abs=1e-12)


@pytest.mark.parametrize("protocol", LISTED, ids=lambda p: type(p).__name__)
def test_the_variance_is_that_of_the_law(protocol):
    for value in [Fraction(-1), Fraction(0), Fraction(1)]:
        law = protocol.law(value)
        said = {y: protocol.decode(protocol.tally(np.array([y])), 1) for y in law}
        found = sum(float(chance) * (said[y] - float(value)) ** 2 for y, chance in law.items())
        claimed = 4 * protocol.share_variance((value + 1) / 2)

        assert found <= claimed * (1 + 1e-9)
        assert found >= claimed * (0.99 if value else 0.9)  # the rounding in the middle is bounded, not computed


def test_the_variances_are_the_published_ones():
    assert OneBitMean(epsilon=1).variance(1) == pytest.approx(4.6827, rel=1e-5)
    assert LaplaceMean(epsilon=1).variance(1) == pytest.approx(8, rel=1e-5)
    for epsilon, wanted in [(1, 5.2236), (2, 1.2276), (4, 0.2414)]:
        assert PiecewiseMean(epsilon=epsilon).variance(1) == pytest.approx(wanted, rel=3e-4)


def test_one_bit_beats_laplace_noise_below_the_published_epsilon_only():
    assert OneBitMean(epsilon=2.31).variance(1) < LaplaceMean(epsilon=2.31).variance(1)
    assert OneBitMean(epsilon=2.33).variance(1) > LaplaceMean(epsilon=2.33).variance(1)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.61, 0.7, 1, 2, 4, 8])
def test_the_hybrid_is_never_worse_than_its_parts(epsilon):
    parts = [kind(epsilon=epsilon).variance(1) for kind in (OneBitMean, PiecewiseMean)]

    assert HybridMean(epsilon=epsilon).variance(1) <= min(parts) * (1 + 1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("protocol", LISTED, ids=lambda p: type(p).__name__)
def test_reports_follow_their_law(protocol):
    for value in (-1.0, 0.3, 1.0):
        law = protocol.law(value)
        seen = Counter(protocol.client().report(np.full(DRAWS, value), rng=SeededRandom(4)).tolist())

        assert chisquare([seen[y] for y in law], [float(p) * DRAWS for p in law.values()]).pvalue > 1e-6


@pytest.mark.statistical
def test_a_slope_above_the_hyperbolic_tangent_is_caught():
    """The twin that reports 1 with probability (1 + x) / 2 tells the sign of an end."""
    law = {x: {1: (1 + x) / 2, 0: (1 - x) / 2} for x in (Fraction(-9, 10), Fraction(9, 10))}

    assert law[Fraction(9, 10)][1] / law[Fraction(-9, 10)][1] > Fraction(271829, 100000)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 3])
@pytest.mark.parametrize("kind", MEANS)
def test_the_mean_squared_error_is_at_most_the_predicted_one_and_errors_hold(kind, epsilon):
    protocol = kind(epsilon=epsilon, lower=0, upper=10)
    values = np.random.default_rng(1).choice([0.0, 5.0, 10.0], 4_000)
    servers = [run(protocol, values) for _ in range(RUNS)]
    off = np.array([server.estimate() - values.mean() for server in servers])
    bounds = np.array([server.error(0.05) for server in servers])
    predicted = protocol.variance(len(values))

    assert np.mean(off**2) <= 2.1 * predicted  # chi-squared with 40 degrees: above that with probability 1e-5
    assert np.mean(off**2) >= 0.25 * predicted
    assert (np.abs(off) > bounds).mean() <= 0.05
    assert bounds.max() <= 3.3 * math.sqrt(predicted)


def test_laplace_noise_has_the_scale_of_the_whole_width():
    protocol = LaplaceMean(epsilon=Fraction(1, 2), lower=-1, upper=1)

    assert protocol.scale == 2 * STEPS
    assert protocol.event() == LaplaceEvent(scale=2 * STEPS, sensitivity=STEPS)


@pytest.mark.statistical
def test_laplace_reports_vary_as_stated():
    draws = LaplaceMean(epsilon=1).client().report(np.zeros(DRAWS), rng=SeededRandom(2)) / STEPS * 2 - 1
    spread = np.mean(draws**2)

    assert spread == pytest.approx(8, rel=6 * math.sqrt(5 / DRAWS))  # kurtosis 6; six standard errors
    assert spread != pytest.approx(2, rel=0.5)  # the twin with the scale 1 / epsilon


@pytest.mark.parametrize("place", [0, 1, 12345, PLACES - 1, PLACES])
def test_scattering_keeps_the_mean_exactly(place):
    law = scatter_law(place, 1000)

    assert sum(law.values()) == 1
    assert sum(step * chance for step, chance in law.items()) == Fraction(place * 1000, PLACES)
    drawn = scattered(np.full(1000, place), 1000, SeededRandom(1))
    assert set(drawn.tolist()) <= set(law)


@pytest.mark.parametrize("kind", MEANS)
@pytest.mark.parametrize("bad", [np.array(["a"]), [[0.5]], np.array([True]), 0.5])
def test_what_holds_no_numbers_is_refused(kind, bad):
    with pytest.raises(ParameterError):
        kind(epsilon=1).client().report(bad)


@pytest.mark.parametrize("kind", MEANS)
def test_a_number_outside_the_interval_counts_at_its_nearest_end_and_none_at_the_lower(kind):
    held = kind(epsilon=1).checked([1.5, -1.01, math.nan, math.inf, -math.inf, None, "a", 2**2000, 0.25])

    assert held.tolist() == kind(epsilon=1).checked([1, -1, -1, 1, -1, -1, -1, 1, 0.25]).tolist()


@pytest.mark.parametrize("kind", MEANS)
@pytest.mark.parametrize(
    "bad", [{"epsilon": 0}, {"epsilon": math.nan}, {"lower": 1}, {"upper": math.inf}, {"upper": True}]
)
def test_bad_parameters_are_refused(kind, bad):
    with pytest.raises(ParameterError):
        kind(**{"epsilon": 1} | bad)


def test_a_few_slots_are_enough_and_one_is_refused():
    assert PiecewiseMean(epsilon=1, slots=2).table().epsilon() <= 1
    for kind in (PiecewiseMean, HybridMean):
        with pytest.raises(ParameterError, match="slots >= 2"):
            kind(epsilon=1, slots=1)


@pytest.mark.parametrize("kind", MEANS)
@pytest.mark.parametrize(
    ("lower", "upper"),
    [(-1e308, 1e308), ("-1e400", 0), (0, "1e400"), (0, "1e-320"), (0, "1e-400"), (1, "1." + "0" * 30 + "1")],
)
def test_intervals_whose_width_is_no_float_are_refused(kind, lower, upper):
    """An infinite width put every value at one place or at none, and reports went around the 64 bits."""
    with pytest.raises(ParameterError, match="within 2"):
        kind(epsilon=1, lower=lower, upper=upper)


@pytest.mark.parametrize("kind", MEANS)
@pytest.mark.parametrize(("lower", "upper"), [(-1e300, 1e300), (0, 1e-300), (-1e-300, 0)])
def test_the_widest_and_the_narrowest_interval_keep_every_value_at_its_place(kind, lower, upper):
    protocol = kind(epsilon=1, lower=lower, upper=upper)

    assert protocol.checked(np.array([lower, lower / 2 + upper / 2, upper])).tolist() == [0, PLACES // 2, PLACES]


@pytest.mark.parametrize("kind", [PiecewiseMean, HybridMean])
def test_more_slots_than_64_bits_have_room_for_are_refused(kind):
    """With 2^40 slots the product of place and slots went around, and the window was anywhere."""
    for slots in (2**31 + 1, 2**40):
        with pytest.raises(ParameterError, match="slots <= 2\\^31"):
            kind(epsilon=1, slots=slots)
    most = kind(epsilon=3, slots=2**31)
    starts = scattered(np.array([0, PLACES // 2, PLACES]), most.window.starts, SeededRandom(1))
    reports = most.client().report(np.ones(2_000), rng=SeededRandom(2))

    assert starts.tolist()[0] == 0
    assert starts.tolist()[2] == most.window.starts
    assert abs(starts[1] - most.window.starts / 2) <= 1
    assert reports.min() >= 0
    assert reports.max() < 2**31 + 2


def test_an_epsilon_too_small_for_the_slope_is_refused():
    with pytest.raises(ParameterError, match="32-bit slopes"):
        OneBitMean(epsilon=1e-12).client().report([0.5])
