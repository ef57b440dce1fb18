"""discreet.mechanisms.smooth_sensitivity: smooth bounds by brute force, and the law of what is released."""

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.attacks import audit, audit_exact
from discreet.attacks.broken import LocalSensitivityNoise
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import SmoothSensitivity
from discreet.mechanisms.smooth_sensitivity import brute_force_smooth
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace, neighbouring_pairs
from discreet.privacy.number import exact
from discreet.privacy.sensitivity import local
from tests.scale import counts

SIZES = [(5, 3), (3, 5)]  # |X|, n
QUERIES = counts(quick=3, full=18)


def table(universe, n, seed):
    """An arbitrary query: a random whole number for each dataset."""
    draw = random.Random(seed)
    return {rows: draw.choice((0, 0, 0, 1, 3, 40)) for rows in product(range(universe), repeat=n)}


def smooth_table(query, universe, b):
    """S_b of every dataset, as the definition has it, in floats: the largest e^(-b distance) LS."""
    rows = np.array(list(query))
    values = np.array(list(query.values()))
    distance = (rows[:, None, :] != rows[None, :, :]).sum(axis=2)
    sensitivity = np.where(distance <= 1, np.abs(values[:, None] - values[None, :]), 0).max(axis=1)
    best = (np.exp(-b * distance) * sensitivity[None, :]).max(axis=1)
    return dict(zip(query, best.tolist(), strict=True)), dict(zip(query, sensitivity.tolist(), strict=True))


# The framework.


@pytest.mark.parametrize(("size", "n"), SIZES)
@pytest.mark.parametrize("seed", range(QUERIES))
def test_the_smooth_sensitivity_is_a_smooth_bound_and_the_least(size, n, seed):
    query, b = table(size, n, seed), 0.5
    smooth, sensitivity = smooth_table(query, size, b)
    pairs = list(neighbouring_pairs(range(size), n=n, relation=Replace))
    ratios = [smooth[x] / smooth[y] for x, y in pairs if smooth[y] > 0]

    assert all(abs(query[x] - query[y]) <= min(smooth[x], smooth[y]) for x, y in pairs)
    assert max(max(ratios), 1 / min(ratios)) <= math.exp(b) * (1 + 1e-12)
    assert all(smooth[x] >= sensitivity[x] for x in query)
    assert max(max(ratios), 1 / min(ratios)) > math.exp(b / 2)  # with half the exponent it would not be smooth


@pytest.mark.parametrize(("size", "n"), SIZES)
def test_the_oracle_agrees_with_the_definition(size, n):
    query = table(size, n, seed=1)
    smooth, sensitivity = smooth_table(query, size, 0.5)
    for rows in random.Random(2).sample(list(query), 2):
        found = brute_force_smooth(query.__getitem__, rows, 0.5, universe=range(size))

        assert float(found) == pytest.approx(smooth[rows], rel=1e-12)
        assert local(query.__getitem__, rows, universe=range(size), relation=Replace) == sensitivity[rows]


def test_the_oracle_counts_added_and_removed_rows():
    """The number of rows has local sensitivity 1 everywhere, so every smooth bound is 1."""
    assert brute_force_smooth(len, (0, 1), 1, universe=(0, 1), n=3, relation=AddRemove) == 1


# Why the local sensitivity itself will not do: the story of the notes.


def laplace_law(answer, sensitivity, epsilon, reach):
    """The law of answer + noise of scale sensitivity / epsilon, everything beyond `reach` in one outcome."""
    if sensitivity == 0:
        return {answer: 1.0}
    a = math.exp(-epsilon / sensitivity)
    inside = {answer + z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-reach, reach + 1)}
    return {**inside, "beyond": 1 - math.fsum(inside.values())}


class Story:
    """x ~ x1 ~ x2 with answers 0, 0, 10^9: the local sensitivity is 0 at x and 10^9 at x1."""

    def law(self, value):
        return laplace_law(*{"x": (0, 0), "x1": (0, 10**9)}[value], epsilon=1, reach=50)

    def privacy(self):
        return PureDP(1)


@pytest.mark.parametrize("epsilon", [1, 5, 10])
def test_noise_at_the_local_sensitivity_gives_everything_away(epsilon):
    found = audit_exact(Story(), ("x", "x1"), claim=PureDP(epsilon))

    assert found.violates()
    assert found.found > 0.99999  # delta(epsilon) is 1 for every finite epsilon, but for the atom at 0


def test_smooth_noise_on_the_same_story_is_private():
    """S(x) = e^-b 10^9: the noise is wide at x too."""
    b = 0.5
    smooth = {"x": math.exp(-b) * 10**9, "x1": 10**9, "x2": 10**9}
    answers = {"x": 0, "x1": 0, "x2": 10**9}
    mechanism = SmoothSensitivity(
        query=answers.get, smooth=lambda x, _: smooth[x], epsilon=1, delta=0, smoothness=b, noise="cauchy"
    )
    laws = {x: rounded_law(mechanism, answers[x], smooth[x], range(-50, 51)) for x in answers}

    for x, y in (("x", "x1"), ("x1", "x2")):
        assert worst_ratio(laws[x], laws[y]) <= 1
    assert audit(LocalSensitivityNoise(epsilon=1), ((0, 0), (0, 10**9)), 1000, rng=SeededRandom(1)).violates()


# What is released, exactly: the law of the nearest integer.


def cdf(law, z):
    if law.name == "cauchy":
        return 0.5 + math.atan(z) / math.pi if z < 0 else 1 - cdf(law, -z)
    tail = (1 + abs(z)) ** (1 - float(exact(law.exponent))) / 2
    return tail if z < 0 else 1 - tail


def survival(law, z):
    return cdf(law, -z)


def rounded_law(mechanism, answer, sensitivity, integers):
    """Probabilities of the integers given, and of everything below and above them."""
    law = mechanism.noise_law
    scale = float(law.scale) * float(sensitivity)
    low, high = integers[0] - 0.5 - answer, integers[-1] + 0.5 - answer
    inside = [interval(law, (n - 0.5 - answer) / scale, (n + 0.5 - answer) / scale) for n in integers]
    return np.array([cdf(law, low / scale), *inside, survival(law, high / scale)])


def interval(law, start, end):
    return cdf(law, end) - cdf(law, start) if end <= 0 else survival(law, start) - survival(law, end)


def worst_ratio(p, q):
    return float(np.abs(np.log(p / q)).max())


@pytest.mark.parametrize("noise", ["cauchy", "lomax"])
@pytest.mark.parametrize(("size", "n"), SIZES)
def test_all_neighbours_of_a_small_universe_are_within_epsilon(noise, size, n):
    """Every pair of neighbouring datasets, every outcome; the twin's bound is smooth with twice the exponent."""
    query, b, epsilon = table(size, n, seed=7), 0.6, 1
    mechanism, worst = None, {}
    for exponent in (b, 2 * b):
        smooth, _ = smooth_table(query, size, exponent)
        mechanism = SmoothSensitivity(
            query=query.get, smooth=smooth.get, epsilon=epsilon, delta=0, smoothness=b, noise=noise
        )
        laws = {
            key: rounded_law(mechanism, *key, range(-150, 190)) if key[1] > 0 else None
            for key in {(query[x], smooth[x]) for x in query}
        }
        pairs = {
            ((query[x], smooth[x]), (query[y], smooth[y]))
            for x, y in neighbouring_pairs(range(size), n=n, relation=Replace)
        }
        worst[exponent] = max(worst_ratio(laws[p], laws[q]) for p, q in pairs)

    assert worst[b] <= epsilon
    assert worst[2 * b] > epsilon


def test_a_sensitivity_of_zero_releases_the_value():
    mechanism = SmoothSensitivity(query=len, smooth=lambda x, b: 0, epsilon=1, delta=0, smoothness=0.5)

    assert mechanism([1, 2, 3]) == 3


def test_the_bound_is_asked_for_the_smoothness_of_the_noise():
    asked = []
    mechanism = SmoothSensitivity(query=len, smooth=lambda x, b: asked.append(b) or 1, epsilon=1, delta=0)
    mechanism([1])

    assert asked == [exact(mechanism.noise_law.smoothness)]


def test_noise_is_chosen_by_name_or_by_error():
    def smooth(x, b):
        return 1

    laws = {
        noise: SmoothSensitivity(query=len, smooth=smooth, epsilon=1, delta=1e-6, smoothness=0.02, noise=noise)
        for noise in ("auto", "cauchy", "lomax", "power", "laplace", "gaussian")
    }

    assert all(laws[name].noise_law.name == name for name in laws if name != "auto")
    assert laws["auto"].accuracy(0.05, sensitivity=100) == min(m.accuracy(0.05, sensitivity=100) for m in laws.values())
    assert laws["laplace"].privacy() == ApproxDP(1, 1e-6)
    assert laws["cauchy"].privacy() == PureDP(1)  # a pure law costs no delta
    with pytest.raises(UnsupportedError, match="no laplace noise"):
        SmoothSensitivity(query=len, smooth=smooth, epsilon=1, delta=0, smoothness=0.1, noise="laplace")
    with pytest.raises(UnsupportedError, match="needs a smoothness"):
        SmoothSensitivity(query=len, smooth=smooth, epsilon=1, delta=0, noise="cauchy")


@pytest.mark.statistical
def test_the_error_at_a_known_sensitivity():
    mechanism = SmoothSensitivity(query=len, smooth=lambda x, b: 40, epsilon=1, delta=0, smoothness=0.3)
    draws = mechanism.releases([0] * 5, 200_000, rng=SeededRandom(1))
    band = math.sqrt(math.log(2 / 1e-6) / (2 * 200_000))

    for beta in (0.5, 0.05):
        alpha = mechanism.accuracy(beta, sensitivity=40)
        assert (np.abs(draws - 5) > alpha).mean() <= beta + band
        assert (np.abs(draws - 5) > 0.9 * alpha - 1).mean() > beta - band
    with pytest.raises(UnsupportedError, match="depends on the data"):
        mechanism.accuracy(0.05)


@pytest.mark.parametrize("more", [{"query": 3}, {"smooth": 3}, {"noise": "normal"}, {"beta": 0}, {"smoothness": 1}])
def test_bad_parameters_are_refused(more):
    with pytest.raises(ParameterError):
        SmoothSensitivity(**({"query": len, "smooth": len, "epsilon": 1, "delta": 0} | more))


def test_two_mechanisms_print_their_functions_by_name():
    mechanism = SmoothSensitivity(query=len, smooth=max, epsilon=1, delta=0, smoothness=Fraction(1, 2))

    assert repr(mechanism).startswith("SmoothSensitivity(query=len, smooth=max, epsilon=1, delta=0")
