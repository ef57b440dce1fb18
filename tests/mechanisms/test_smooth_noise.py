"""discreet.mechanisms.admissible, admissible_noise, dilated_gaussian: each constant against a numeric supremum."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import CauchyNoise, GaussianNoise, LaplaceNoise, LomaxNoise, PowerNoise, best_noise, noises
from discreet.mechanisms.admissible import (
    cauchy_scale,
    laplace_delta,
    laplace_scale,
    lomax_scale,
    power_scale,
    slide_cost,
)  # fmt: skip
from discreet.mechanisms.admissible_noise import SLACK, growth, rounded_up
from discreet.mechanisms.dilated_gaussian import dilated_alpha, dilated_delta, excess
from discreet.privacy.number import exact
from tests.scale import counts

GRID = [(0.1, 0.05), (0.1, 0.01), (0.5, 0.2), (1.0, 0.1), (1.0, 0.7), (1.0, 0.95), (2.0, 0.5), (4.0, 1.5)]
HALF_LINE = np.concatenate([[0.0], np.geomspace(1e-6, 1e8, counts(quick=4_000, full=40_000))])
LINE = np.concatenate([-HALF_LINE[::-1], HALF_LINE])


def cauchy(z):
    return -np.log1p(z * z)


def lomax(a):
    return lambda z: -a * np.log1p(np.abs(z))


def power(g):
    return lambda z: -np.log1p(np.abs(z) ** g)


def loss(log_density, scale, smoothness):
    """The largest log-ratio over neighbours at the ends of smoothness, on a fine grid: S, S', D and z."""
    worst = 0.0
    for ratio in np.exp(np.linspace(0, smoothness, 9)):
        for s, r in ((1.0, ratio), (ratio, 1.0)):
            for shift in np.linspace(0, 1, 5):
                z = np.concatenate([LINE, LINE + shift])
                here = log_density(z / (scale * s)) - math.log(s)
                there = log_density((z - shift) / (scale * r)) - math.log(r)
                worst = max(worst, float(np.abs(here - there).max()))
    return worst


@pytest.mark.parametrize(("epsilon", "smoothness"), GRID)
def test_cauchy_noise_spends_exactly_epsilon(epsilon, smoothness):
    scale = float(cauchy_scale(exact(epsilon), exact(smoothness)))

    assert loss(cauchy, scale, smoothness) == pytest.approx(epsilon, rel=1e-3)
    assert loss(cauchy, scale, smoothness) <= epsilon * (1 + 1e-9)
    assert loss(cauchy, 0.9 * scale, smoothness) > epsilon  # nine tenths of the noise is not private


@pytest.mark.parametrize(("epsilon", "smoothness"), GRID)
def test_cauchy_loss_is_the_hyperbolic_distance(epsilon, smoothness):
    """cosh = 1 + (D^2 + (s - s')^2) / (2 s s')."""
    scale = float(cauchy_scale(exact(epsilon), exact(smoothness)))
    distances = [
        math.acosh(1 + ((1 / scale) ** 2 + (1 - r) ** 2) / (2 * r)) for r in np.exp(np.linspace(0, smoothness, 101))
    ]

    assert max(distances) == pytest.approx(epsilon, rel=1e-12)


def test_the_constants_of_the_notes_are_too_small():
    """Smoothness epsilon and Cauchy noise S / epsilon: the true losses."""
    losses = [math.acosh(1 + (e * e + math.expm1(e) ** 2) / (2 * math.exp(e))) for e in (1, 0.1)]

    assert losses == pytest.approx([1.14265, 0.137937], abs=1e-5)
    assert loss(cauchy, 1.0, 1.0) == pytest.approx(1.14265, abs=1e-4)
    with pytest.raises(ParameterError):
        CauchyNoise(epsilon=1, smoothness=1)


def test_smoothing_is_free_for_cauchy_noise_up_to_a_point():
    free = math.log(2 * math.cosh(1) - 1)
    scales = [cauchy_scale(Fraction(1), exact(b)) for b in (0.01, free - 1e-6, free + 1e-3)]

    assert free == pytest.approx(0.735326, abs=1e-6)
    assert 1 / float(scales[0]) == pytest.approx(1.042191, abs=1e-6) == 1 / float(scales[1])
    assert scales[2] > scales[1]


@pytest.mark.parametrize(("epsilon", "smoothness"), GRID)
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_lomax_noise_spends_exactly_epsilon(epsilon, smoothness, share):
    most = 1 + exact(epsilon) / exact(smoothness)
    a = max(Fraction(2), 1 + (most - 1) * exact(share))
    scale = float(lomax_scale(exact(epsilon), exact(smoothness), a))
    law = lomax(float(a))

    assert loss(law, scale, smoothness) == pytest.approx(epsilon, rel=1e-3)
    assert loss(law, scale, smoothness) <= epsilon * (1 + 1e-9)
    assert loss(law, 0.9 * scale, smoothness) > epsilon


def test_lomax_figures():
    scale = float(lomax_scale(Fraction(1), Fraction(1, 10), Fraction(11)))
    sds = [
        float(lomax_scale(exact(e), exact(b), 1 + exact(e) / exact(b))) * math.sqrt(2 / ((e / b - 1) * (e / b - 2)))
        for e, b in ((1, 0.1), (1, 0.2), (0.1, 0.01))
    ]

    assert scale == pytest.approx(10.613, abs=1e-3)
    assert sds == pytest.approx([1.769, 2.343, 20.09], rel=1e-3)


def test_a_heavier_tail_than_the_largest_exponent_is_private_and_a_lighter_is_not():
    b, e = 0.2, 1.0
    scale = float(lomax_scale(Fraction(1), Fraction(1, 5), Fraction(6)))

    assert loss(lomax(6.5), 10 * scale, b) > e  # however much noise: the tail alone costs (a - 1) b
    with pytest.raises(ParameterError):
        LomaxNoise(epsilon=1, smoothness=0.2, exponent=6.5)


def test_a_large_epsilon_wants_an_exponent_in_between():
    noise = LomaxNoise.best(epsilon=8, smoothness=0.16)
    largest = LomaxNoise(epsilon=8, smoothness=0.16, exponent=50.9)

    assert 2 < float(noise.exponent) < 20
    assert noise.error(0.05) < largest.error(0.05)


@pytest.mark.parametrize("g", [2, 3, 4, 6])
@pytest.mark.parametrize(("epsilon", "smoothness"), [(0.1, 0.01), (1.0, 0.1), (1.0, 0.15), (4.0, 0.3)])
def test_power_noise_spends_at_most_epsilon(epsilon, smoothness, g):
    scale = float(power_scale(exact(epsilon), exact(smoothness), g))

    assert 0.5 * epsilon < loss(power(g), scale, smoothness) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("g", [2, 3, 4, 6])
def test_the_two_terms_of_power_noise_are_each_tight(g):
    z = np.geomspace(1e-4, 1e4, 200_001)
    slope = g * z ** (g - 1) / (1 + z**g)
    stretched = -math.log(math.exp(0.01)) + power(g)(z * math.exp(-0.01)) - power(g)(z)

    assert slope.max() == pytest.approx(float(slide_cost(g)), rel=1e-6)
    assert slope.max() <= float(slide_cost(g))
    assert np.abs(stretched).max() == pytest.approx(0.01 * (g - 1), rel=1e-3)


def test_the_published_constants_are_safe_and_loose():
    tight, published = (PowerNoise(epsilon=1, smoothness=0.09, published=flag) for flag in (False, True))

    assert float(published.scale) == 10
    assert float(tight.scale) < 3.2
    assert loss(power(4), 10.0, 0.1) < 0.7
    with pytest.raises(ParameterError):
        PowerNoise(epsilon=1, smoothness=0.11, published=True)


def laplace_excess(epsilon, slide, smoothness):
    """The hockey-stick divergence by integration over z, the worst over scales in both directions."""
    worst = 0.0
    for ratio in np.exp(np.linspace(0, smoothness, 9)):
        for s, r in ((ratio, 1.0), (1.0, ratio)):
            for shift in (slide, slide / 2):
                start = 0.9 * (epsilon - slide) / max(1 / r - 1 / s, 1e-3)
                z = np.linspace(-start - 60 * s, start + 60 * s, 400_001)
                p, q = np.exp(-np.abs(z) / s) / (2 * s), np.exp(-np.abs(z - shift) / r) / (2 * r)
                worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (z[1] - z[0])))
    return worst


@pytest.mark.parametrize(("epsilon", "slide", "b"), [(1, 0.5, 0.2), (1, 0.5, 0.4), (2, 1.0, 0.5), (0.5, 0.3, 0.15)])
def test_the_delta_of_laplace_noise_is_exact(epsilon, slide, b):
    found = float(laplace_delta(exact(epsilon), exact(slide), exact(b)))

    assert laplace_excess(epsilon, slide, b) == pytest.approx(found, rel=1e-3)


def test_laplace_figures():
    """The largest smoothness at (1, 1e-6) with half of epsilon for the slide; the published one stops at .034462."""
    at = [float(laplace_delta(Fraction(1), Fraction(1, 2), exact(b))) for b in (0.053007, 0.0531, 0.034462)]

    assert at[0] == pytest.approx(1e-6, rel=1e-3)
    assert at[1] > 1e-6
    assert at[2] < 8.13e-9


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
@pytest.mark.parametrize("share", [0.01, 0.03, 0.1])
def test_laplace_noise_meets_delta_and_hardly_less_would(delta, share):
    scale = laplace_scale(Fraction(1), exact(delta), exact(share))
    if scale is None:
        assert laplace_delta(Fraction(1), Fraction(1, 10**6), exact(share)) > exact(delta)
        return
    slide = 1 / scale

    assert laplace_delta(Fraction(1), slide, exact(share)) <= exact(delta)
    more = slide * Fraction(101, 100)
    assert more + exact(share) > 1 or laplace_delta(Fraction(1), more, exact(share)) > exact(delta)


def normal_excess(s, shift, r, weight):
    z = np.linspace(-12 * max(s, r), 12 * max(s, r), 2_000_001)
    p, q = stats.norm.pdf(z, 0, s), stats.norm.pdf(z, shift, r)
    return float(np.maximum(p - weight * q, 0).sum() * (z[1] - z[0]))


@pytest.mark.parametrize(
    ("s", "shift", "r", "weight"),
    [(1.1, 0.3, 1, 2.7), (1, 0.5, 1.1, 1.2), (1, 0.5, 1, 2.0), (1.05, 0.2, 1, 1.5), (1, 0.2, 1.4, 1.2), (2, 0, 1, 1.1)],
)
def test_the_excess_of_two_normal_laws(s, shift, r, weight):
    found = float(excess(exact(s), exact(shift), exact(r), exact(weight)))

    assert found == pytest.approx(normal_excess(s, shift, r, weight), rel=1e-5)


def test_the_excess_grows_with_the_shift():
    for s, r in ((1.2, 1.0), (1.0, 1.2), (1.0, 1.0)):
        found = [excess(exact(s), Fraction(k, 10), exact(r), Fraction(6, 5)) for k in range(1, 9)]

        assert found == sorted(found)


@pytest.mark.parametrize(
    ("epsilon", "b", "delta"), [(1, 0.02, 1e-6), (1, 0.1, 0.01), (0.5, 0.01, 1e-4), (4, 0.1, 1e-9)]
)
def test_gaussian_noise_meets_delta_and_hardly_less_would(epsilon, b, delta):
    alpha = float(dilated_alpha(exact(b), exact(epsilon), exact(delta)))

    def worst(a):
        ratios = np.exp(np.linspace(0, b, 33))
        weight = math.exp(epsilon)
        return max(max(normal_float(t, a, 1, weight), normal_float(1, a, t, weight)) for t in ratios)

    assert 0.9 * delta < worst(alpha) <= delta * (1 + 1e-9)
    assert worst(1.1 * alpha) > delta


def normal_float(s, shift, r, weight):
    """The excess by its closed form, in scipy's floats: independent of the code under test."""
    a, b = (1 / r**2 - 1 / s**2) / 2, -shift / r**2
    c = shift**2 / (2 * r**2) + math.log(r / s / weight)
    roots = [-c / b] if a == 0 else sorted(np.roots([a, b, c]).real) if b * b > 4 * a * c else []
    if not roots:
        return 0.0
    p, q = stats.norm(0, s), stats.norm(shift, r)
    if a > 0:
        return p.cdf(roots[0]) + p.sf(roots[1]) - weight * (q.cdf(roots[0]) + q.sf(roots[1]))
    if a == 0:
        return p.cdf(roots[0]) - weight * q.cdf(roots[0])
    return p.cdf(roots[1]) - p.cdf(roots[0]) - weight * (q.cdf(roots[1]) - q.cdf(roots[0]))


def test_the_published_gaussian_constants_are_very_loose():
    logs = math.log(2 / 1e-6)
    found = dilated_delta(exact(1 / (5 * math.sqrt(2 * logs))), exact(1 / (4 * (1 + logs))), Fraction(1), cells=8)

    assert 0 < found < Fraction(1, 10**12)


def test_no_gaussian_noise_where_the_dilation_alone_exceeds_delta():
    assert dilated_alpha(Fraction(1, 2), Fraction(1), Fraction(1, 10**6)) == 0
    with pytest.raises(UnsupportedError, match="take a smaller one"):
        GaussianNoise(epsilon=1, delta=1e-6, smoothness=0.5)
    with pytest.raises(UnsupportedError):
        LaplaceNoise(epsilon=1, delta=1e-6, smoothness=0.5)


ALL = [
    CauchyNoise(epsilon=1, smoothness=0.5),
    LomaxNoise(epsilon=1, smoothness=0.25, exponent=4.5),
    PowerNoise(epsilon=1, smoothness=0.1),
    PowerNoise(epsilon=1, smoothness=0.1, exponent=3),
    LaplaceNoise(epsilon=1, delta=1e-6, smoothness=0.03),
    GaussianNoise(epsilon=1, delta=1e-6, smoothness=0.02),
]


@pytest.mark.statistical
@pytest.mark.parametrize("noise", ALL, ids=repr)
def test_the_sampler_follows_the_quantiles(noise):
    """A DKW band at 1e-6 around the law of |Z|, through its quantiles."""
    runs, sensitivity = 200_000, 10**6
    draws = np.abs(noise.release(0, sensitivity, shape=(runs,), rng=SeededRandom(1))) / sensitivity
    band = math.sqrt(math.log(2 / 1e-6) / (2 * runs))

    for beta in (0.9, 0.5, 0.25, 0.05, 0.01):
        assert abs((draws > noise.error(beta)).mean() - beta) <= band
        assert abs((draws > 0.95 * noise.error(0.25)).mean() - 0.25) > band  # five per cent less would show


@pytest.mark.parametrize("exponent", [3, 4, 8])
def test_quantiles_of_the_power_law(exponent):
    t = PowerNoise(epsilon=9, smoothness=0.1, exponent=exponent).quantile(0.1)
    inside = integrate.quad(lambda z: 1 / (1 + z**exponent), 0, t)[0]

    assert inside / (math.pi / exponent / math.sin(math.pi / exponent)) == pytest.approx(0.9, rel=1e-9)


def test_a_sensitivity_is_rounded_up_by_very_little():
    for value in (Fraction(1, 3), Fraction(10**40, 7), Fraction(1), Fraction(1, 10**50)):
        short = rounded_up(value)

        assert value <= short <= value * (1 + Fraction(1, 2**31))
        assert (short.numerator // (short.numerator & -short.numerator)).bit_length() <= 33
    assert rounded_up(Fraction(0)) == 0


def test_the_slack_covers_both_roundings():
    assert math.log1p(2.0**-31) + math.log1p(2.0**-32) < SLACK
    for noise in ALL:
        assert noise.dilation == exact(noise.smoothness) + SLACK


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_best_noise_is_the_best(delta):
    offered = noises(epsilon=1, delta=delta, smoothness=0.02, beta=0.05)
    errors = [noise.error(0.05) for noise in offered]

    assert best_noise(epsilon=1, delta=delta, smoothness=0.02) == offered[0]
    assert errors == sorted(errors)
    assert {noise.name for noise in offered} == {"cauchy", "lomax", "power"} | (
        {"laplace", "gaussian"} if delta else set()
    )


def test_a_smoothness_is_chosen_for_even_growth():
    chosen = best_noise(epsilon=1, delta=0, beta=0.5)
    score = chosen.error(0.5) * growth(float(chosen.smoothness))

    assert score == pytest.approx(0.96, abs=0.01)  # about one gap: the error of a median of dense data
    for b in (0.1, 0.3, 0.5, 0.9):
        assert best_noise(epsilon=1, delta=0, smoothness=b, beta=0.5).error(0.5) * growth(b) >= score
    assert growth(0.2) == max((k + 1) * math.exp(-0.2 * k) for k in range(100))


@pytest.mark.parametrize(
    "bad",
    [
        lambda: CauchyNoise(epsilon=0, smoothness=0.1),
        lambda: CauchyNoise(epsilon=1, smoothness=0),
        lambda: CauchyNoise(epsilon=1, smoothness=math.nan),
        lambda: LomaxNoise(epsilon=1, smoothness=0.1, exponent=1.5),
        lambda: PowerNoise(epsilon=1, smoothness=0.1, exponent=1),
        lambda: PowerNoise(epsilon=1, smoothness=0.1, exponent=4.0),
        lambda: PowerNoise(epsilon=1, smoothness=0.4),
        lambda: LaplaceNoise(epsilon=1, delta=0, smoothness=0.1),
        lambda: GaussianNoise(epsilon=1, delta=1, smoothness=0.1),
        lambda: noises(epsilon=1, delta=1, smoothness=0.1),
        lambda: best_noise(epsilon=-1, delta=0),
        lambda: CauchyNoise(epsilon=1, smoothness=0.1).quantile(0),
    ],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ParameterError):
        bad()


def test_messages_carry_no_private_number():
    for value, sensitivity in ((1, -123456), ("123456x", 1), ([123456], 1)):
        with pytest.raises(ParameterError) as caught:
            CauchyNoise(epsilon=1, smoothness=0.5).release(value, sensitivity)

        assert "123456" not in str(caught.value)
