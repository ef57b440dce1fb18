"""discreet.attacks.broken: every twin is labelled, claims what is false, and is caught."""

import inspect
import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from discreet.attacks import audit, audit_exact, broken
from discreet.attacks.broken import ENUMERATED, SAMPLED, Twin
from discreet.attacks.broken.sparse import answers_law, renewed_law
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP

TWINS = [*SAMPLED, *ENUMERATED]
CLASSES = [item for _, item in inspect.getmembers(broken, inspect.isclass) if item is not Twin]


def test_every_twin_is_in_a_list():
    assert {type(twin) for twin in TWINS} == set(CLASSES)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_twin_says_what_is_wrong(cls):
    assert cls.flaw
    assert cls.__doc__


@pytest.mark.parametrize("twin", TWINS, ids=repr)
def test_a_twin_is_a_frozen_value_with_a_claim(twin):
    assert isinstance(twin.privacy(), Guarantee)
    assert replace(twin) == twin
    assert hash(replace(twin)) == hash(twin)


@pytest.mark.statistical
@pytest.mark.parametrize("twin", SAMPLED, ids=repr)
def test_the_audit_catches_it_and_does_not_exaggerate(twin):
    found = audit(twin, twin.worst, 300_000 if twin.privacy().epsilon >= 0.5 else 1_000_000, rng=SeededRandom(1))

    assert found.violates()
    assert found.epsilon <= (math.inf if twin.true_epsilon is None else twin.true_epsilon)


@pytest.mark.parametrize("twin", ENUMERATED, ids=repr)
def test_the_exact_audit_catches_it(twin):
    assert audit_exact(twin, twin.worst).violates()


def test_one_release_is_one_of_many():
    for twin in SAMPLED:
        many = twin.releases(twin.worst[0], 3, rng=SeededRandom(2))

        assert len(many) == 3
        assert type(twin(twin.worst[0], rng=SeededRandom(2))) is type(many[0])


def test_the_losses_of_the_notes():
    """Errata with numbers: the linear bias, the resampled answer on the integers, permute-and-flip's price."""
    bias = [broken.LinearResponse(epsilon=e).true_epsilon for e in (0.1, 0.5, 0.9)]
    resampled = broken.ResampledUntilNonNegative(epsilon=1).true_epsilon
    flip = broken.UnderchargedFlip(epsilon=0.1)

    assert bias == pytest.approx([0.200671, 1.098612, 2.944439], abs=1e-6)
    assert 1 < resampled < 1 + math.log(2 - math.exp(-1)) == pytest.approx(1.489880, abs=1e-6)  # the continuous loss
    assert audit_exact(flip, flip.worst).found / (0.1**2 / 8) == pytest.approx(3.81, abs=0.01)
    assert broken.UnderchargedFlip(epsilon=1).law((10, 0))[1] == pytest.approx(0.00336897, abs=1e-8)


def test_the_notes_cauchy_noise_and_their_triangle_count():
    """The limits are 1.14265 and 0.137937; the bound for free has delta 0.19 where it claims one in a million."""
    losses = [broken.FullSmoothness(epsilon=e).true_epsilon for e in ("1/10", 1)]
    limits = [math.acosh(1 + (e**2 + math.expm1(e) ** 2) / (2 * math.exp(e))) for e in (0.1, 1)]
    free, cheap = (broken.BoundForFree(epsilon=1, delta=d) for d in (1e-6, 1e-3))

    assert limits == pytest.approx([0.137937, 1.14265], abs=1e-5)
    assert losses == pytest.approx(limits, rel=0.03)
    assert audit_exact(free, free.worst).found == pytest.approx(0.189, abs=0.005)
    assert not audit_exact(free, free.worst, claim=ApproxDP(2, 1e-3)).violates()  # what they do satisfy, and the rare
    assert audit(cheap, cheap.worst, 100_000, delta=1e-3, rng=SeededRandom(4)).violates()


@pytest.mark.parametrize(("local", "delta"), [(1, 0.0182), (20, 0.149), (100, 0.215)])
def test_the_triangle_count_of_the_notes_with_continuous_noise(local, delta):
    """The bound for free, integrated: delta of 1 between local sensitivities L and L + 1, answers L apart."""
    bounds, step = np.linspace(1e-6, local + 60, 60_001, retstep=True)
    margin = math.log(1e6)
    first, second = (np.exp(-abs(bounds - one - margin)) / 2 for one in (local, local + 1))
    loss = np.log(first / second) - 1
    cut = (local + np.clip(loss * bounds, -local, local)) / 2  # the answer up to which the first law is larger

    def below(y):
        return np.where(y >= 0, 1 - np.exp(-abs(y) / bounds) / 2, np.exp(-abs(y) / bounds) / 2)

    excess = first * below(cut) - math.e * second * below(cut - local)
    found = float(np.maximum(0, np.where(loss > -local / bounds, excess, 0)).sum() * step)

    assert found == pytest.approx(delta, rel=0.01)


@pytest.mark.parametrize(("epsilon", "ratio"), [(8, 0.797), (9, 1.359), (10, 2.265)])
def test_the_classical_gaussian_is_false_from_about_8_on_and_not_because_of_a_lattice(epsilon, ratio):
    """The delta of the continuous law over the one claimed (Balle, Wang 2018)."""
    twin = broken.ClassicalGaussian(epsilon=epsilon, delta=1e-5)
    s = twin.sigma
    true = norm.cdf(1 / (2 * s) - epsilon * s) - math.exp(epsilon) * norm.cdf(-1 / (2 * s) - epsilon * s)
    found = audit_exact(twin, twin.worst)

    assert found.found / 1e-5 == pytest.approx(true / 1e-5, rel=1e-3)
    assert found.found / 1e-5 == pytest.approx(ratio, rel=0.01)
    assert found.violates() == (epsilon > 8)


def test_a_law_that_is_not_written_down_is_refused():
    with pytest.raises(UnsupportedError, match="count=1"):
        broken.SparseVectorWithAnswers(epsilon=1, count=2).law((0, 0))


@dataclass(frozen=True)
class Published:
    """A sparse vector of Lyu, Su and Li, by its law: `fresh` is their Algorithm 2, the textbook's; else Algorithm 1."""

    epsilon: int
    count: int
    fresh: bool
    shrunk: Fraction = Fraction(1)

    def law(self, value):
        half = Fraction(self.epsilon, 2)
        threshold = (self.count if self.fresh else 1) / half
        scales = {"threshold": self.shrunk * threshold, "noise": self.shrunk * 2 * self.count / half}
        return (renewed_law if self.fresh else answers_law)(value, count=self.count, **scales)

    def privacy(self):
        return PureDP(self.epsilon)


PAIRS = [
    ((0,) * 6, (1,) * 3 + (-1,) * 3),
    ((-2,) * 4 + (-1,) * 2, (-1,) * 4 + (-2,) * 2),
    ((0, 1), (1, 0)),
    ((0, 0, 0, 0, 1), (1, 1, 1, 1, 0)),
    ((0,) * 8, (1,) * 8),
    ((5, -5, 5, -5), (4, -4, 4, -4)),
]


@pytest.mark.parametrize("fresh", [False, True], ids=["Algorithm 1", "Algorithm 2"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_two_private_algorithms_of_lyu_su_and_li_pass(count, fresh):
    """Where their Algorithms 3 to 6 fail: by the same exact law, on the same inputs and others."""
    honest = Published(1, count, fresh)
    twin = replace(honest, shrunk=Fraction(1, 6))

    assert all(sum(honest.law(pair[0]).values()) == pytest.approx(1, abs=1e-12) for pair in PAIRS)
    assert not any(audit_exact(honest, pair).violates() for pair in PAIRS)
    assert any(audit_exact(twin, pair).violates() for pair in PAIRS)


def test_the_law_of_answers_is_that_of_the_sampler():
    """By likelihood-ratio statistics, at 1e-6: the sum over cells of 2 n O ln(O / E) is about chi-squared."""
    for twin in (broken.SparseVectorUnscaled(epsilon=1, count=2), broken.SparseVectorWithoutEnd(epsilon=1)):
        value = (0, -2, 1, 0)
        law, drawn = twin.law(value), twin.releases(value, 40_000, rng=SeededRandom(5))
        counts = Counter(map(tuple, drawn.tolist()))
        cells = sorted(law)

        assert set(counts) <= set(cells)
        assert chisquare([counts[cell] for cell in cells], [40_000 * law[cell] for cell in cells]).pvalue > 1e-6


def test_the_unscaled_sparse_vector_stays_below_its_own_bound():
    twin = broken.SparseVectorUnscaled(epsilon=1, count=4)
    found = audit(twin, twin.worst, 300_000, rng=SeededRandom(3))

    assert 1 < found.epsilon <= twin.bound == 6.25
