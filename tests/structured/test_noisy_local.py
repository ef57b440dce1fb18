"""discreet.structured.graphs.noisy_local: the margin is the least one, and delta is exact on the discrete law."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.attacks.confidence import clopper_pearson
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import ApproxEvent, LaplaceEvent
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import EdgeNeighbours
from discreet.structured.graphs.noisy_local import NoisyLocal, SensitivityBound
from tests.scale import counts


def bound_law(local, rate, margin, most, far=400):
    """Pr[bound = b] for b = 0 .. most."""
    a = math.exp(-rate)
    law = np.zeros(most + 1)
    z = np.arange(-far * 10, far * 10 + 1)
    np.add.at(law, np.clip(local + z + margin, 0, most), (1 - a) / (1 + a) * a ** np.abs(z))
    return law


def delta_of(epsilon, *, e1, e2, margin, locals_, move, most=3000):
    """The hockey-stick divergence of (bound, continuous noisy value): at least that of the rounded release.

    For each b the values are two Laplace laws `move` apart, of scale b / e2, weighed p and q:
    their divergence at e^epsilon is p H(e^epsilon q / p), and H has a closed form.
    """
    p, q = (bound_law(local, e1, margin, most) for local in locals_)
    total = 0.0
    for b in range(most + 1):
        if p[b] == 0:
            continue
        shift = math.inf if b == 0 and move else (move * e2 / b if b else 0.0)
        log_ratio = epsilon + (math.log(q[b] / p[b]) if q[b] else -math.inf)
        total += p[b] * _laplace_divergence(log_ratio, shift)
    return total


def _laplace_divergence(e, shift):
    """sup_T P(T) - e^e Q(T) for unit Laplace laws `shift` apart."""
    if e >= shift:
        return 0.0
    if e <= -shift:
        return -math.expm1(e)
    return -math.expm1((e - shift) / 2)


@pytest.mark.parametrize("epsilon", ["0.01", "0.25", "0.5", "1", "3"])
@pytest.mark.parametrize("delta", ["0.4", "0.01", "1e-6", "1e-12"])
def test_the_margin_is_the_least_that_holds(epsilon, delta):
    margin = SensitivityBound(epsilon=epsilon, delta=delta).margin
    with mpmath.workdps(60):
        a = mpmath.exp(-mpmath.mpf(epsilon))
        tail = [a ** (c + 1) / (1 + a) for c in (margin, margin - 1)]

    assert tail[0] <= mpmath.mpf(delta)
    assert margin == 0 or tail[1] > mpmath.mpf(delta)


@pytest.mark.statistical
def test_the_bound_fails_with_probability_delta():
    bound, runs = SensitivityBound(epsilon=0.5, delta=0.1), counts(quick=20_000, full=1_000_000)
    rng = SeededRandom(1)
    failures = sum(bound(30, most=1000, rng=rng) < 30 for _ in range(runs))
    low, high = clopper_pearson(failures, runs, beta=1e-6)
    exactly = math.exp(-0.5 * (bound.margin + 1)) / (1 + math.exp(-0.5))

    assert low <= exactly <= high
    assert exactly <= 0.1


@pytest.mark.parametrize(("e1", "e2"), [(0.25, 0.75), (1, 1)])
@pytest.mark.parametrize("local", [0, 1, 5, 20, 100])
def test_delta_is_at_most_the_one_claimed(e1, e2, local):
    margin = SensitivityBound(epsilon=e1, delta=1e-6).margin
    for there in {max(0, local - 1), local, local + 1}:
        for move in {min(local, there), 0}:
            found = delta_of(e1 + e2, e1=e1, e2=e2, margin=margin, locals_=(local, there), move=move)

            assert found <= 1e-6 * (1 + 1e-9)


def test_a_margin_one_smaller_would_be_caught():
    """At a local sensitivity of 1 a bound of 0 fails surely, and the notes' own threshold is too small on a lattice."""
    margin = SensitivityBound(epsilon=2, delta=0.01).margin
    found = [
        delta_of(3, e1=2, e2=1, margin=c, locals_=(1, 1), move=1, most=50) for c in (margin, margin - 1)
    ]  # fmt: skip

    assert found[0] <= 0.01 < found[1]


@pytest.mark.parametrize(("local", "at_least"), [(1, 0.018), (20, 0.14), (100, 0.2), (1000, 0.22)])
def test_the_claim_of_the_notes_is_false_by_orders_of_magnitude(local, at_least):
    """(e, delta) for e1 = e2 = e, where (2 e, delta) holds."""
    margin = SensitivityBound(epsilon=1, delta=5e-7).margin
    sold = delta_of(1, e1=1, e2=1, margin=margin, locals_=(local, local - 1), move=local)
    true = delta_of(2, e1=1, e2=1, margin=margin, locals_=(local, local - 1), move=local)

    assert sold > at_least
    assert true <= 5e-7


@pytest.mark.statistical
def test_the_error_exceeds_alpha_with_probability_at_most_beta():
    noisy, rng, runs = NoisyLocal(epsilon=1, delta=1e-6), SeededRandom(3), 20_000
    drawn = [noisy(5000, local=40, most=1000, rng=rng) for _ in range(runs)]
    errors = np.array([abs(value - 5000) for value, _ in drawn])

    for beta in (0.5, 0.05):
        alpha = noisy.accuracy(beta, local=40, most=1000)
        assert clopper_pearson(int((errors > alpha).sum()), runs, beta=1e-6)[0] <= beta
    assert (errors > noisy.accuracy(0.05, local=1, most=1000) / 4).mean() > 0.05  # the bound can fail
    assert min(bound for _, bound in drawn) >= 40


def test_a_public_bound_is_never_exceeded_and_nothing_has_no_noise():
    rng = SeededRandom(4)
    drawn = [NoisyLocal(epsilon=1, delta=1e-6)(9, local=3, most=5, rng=rng) for _ in range(200)]

    assert max(bound for _, bound in drawn) == 5
    assert NoisyLocal(epsilon=1, delta=1e-6)(0, local=0, most=0, rng=rng) == (0, 0)


def test_events_and_guarantees_say_what_ran():
    noisy = NoisyLocal(epsilon=1, delta=1e-6, neighbours=EdgeNeighbours)

    assert noisy.privacy() == ApproxDP(1, 1e-6, neighbours=EdgeNeighbours)
    assert noisy.event() == ApproxEvent(epsilon=1, delta=1e-6)
    assert noisy.bound.privacy() == PureDP(0.25, neighbours=EdgeNeighbours)
    assert noisy.bound.event() == LaplaceEvent(scale=4, sensitivity=1)
    assert noisy.bound.privacy().epsilon + float(noisy.rate) == 1
    assert noisy.rate == Fraction(3, 4)


@pytest.mark.parametrize("make", [NoisyLocal, SensitivityBound])
@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.1), (math.nan, 0.1), (1, 0), (1, 1), (1, math.nan), (True, 0.1)])
def test_rejects_bad_numbers(make, epsilon, delta):
    with pytest.raises(ParameterError):
        make(epsilon=epsilon, delta=delta)
