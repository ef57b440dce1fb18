"""discreet.attacks.broken: every twin is labelled, claims what is false, and is caught."""

import inspect
import math
from dataclasses import replace

import pytest

from discreet.attacks import audit, audit_exact, broken
from discreet.attacks.broken import ENUMERATED, SAMPLED, Twin
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import Guarantee

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


def test_the_unscaled_sparse_vector_stays_below_its_own_bound():
    twin = broken.SparseVectorUnscaled(epsilon=1, count=4)
    found = audit(twin, twin.worst, 300_000, rng=SeededRandom(3))

    assert 1 < found.epsilon <= twin.bound == 6.25
