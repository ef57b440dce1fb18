"""discreet.attacks.audit: it sees what is there, and does not see what is not."""

import math

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.attacks.broken import LinearResponse
from discreet.attacks.confidence import log_ratio_bound
from discreet.attacks.events import learn
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.samplers import bernoulli, discrete_laplace, uniform_below
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from tests.scale import counts
from tests.work import calls

MILLION = 1_000_000


class Response:
    """Randomized response with truth probability p = 3/4, all at once: epsilon is ln 3."""

    def releases(self, value, count, *, rng=None):
        return (bernoulli("3/4", shape=(count,), rng=rng) == bool(value)).astype(int)

    def __call__(self, value, *, rng=None):
        return int(self.releases(value, 1, rng=rng)[0])


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "share"), [(0.1, 0.88), (0.5, 0.95), (1, 0.95), (4, 0.95)])
def test_finds_nearly_all_of_a_tight_claim_and_not_more(epsilon, share):
    """Each half can fail with probability below 1e-4; the seed makes it certain."""
    found = audit(Laplace(epsilon=epsilon, sensitivity=1), (0, 1), MILLION, rng=SeededRandom(1))

    assert share * epsilon <= found.epsilon <= epsilon
    assert not found.violates()
    assert found.violates(PureDP(0.85 * epsilon))


def test_a_million_a_side_is_drawn_and_compared_as_arrays():
    laplace = Laplace(epsilon=0.5, sensitivity=1)

    assert calls(lambda: audit(laplace, (0, 1), MILLION, rng=SeededRandom(2))) < 3_000_000


@pytest.mark.statistical
def test_exceeds_the_truth_no_more_often_than_beta_says():
    """At beta = 0.05: more than 5 % + 5 sigma of audits above ln 3 would be a bug."""
    runs = counts(quick=400, full=4000)
    above = sum(
        audit(Response(), (0, 1), 2000, beta=0.05, rng=SeededRandom(seed)).epsilon > math.log(3) for seed in range(runs)
    )

    assert above <= runs * 0.05 + 5 * math.sqrt(runs * 0.05 * 0.95)


def test_testing_on_the_training_sample_would_invent_a_leak():
    """The broken twin of the split: with one sample for all, pure noise looks like a leak."""
    rng = SeededRandom(3)

    def fooled():
        sides = [uniform_below(200, shape=(2000,), rng=rng) for _ in range(2)]
        event = learn(sides, sides, delta=0.0)
        hits = [int(event.holds(y).sum()) for y in (reversed(sides) if event.swapped else sides)]
        return log_ratio_bound((hits[0], hits[1]), (2000, 2000), beta=0.05) > 0

    def honest(value, *, rng=None):
        return uniform_below(200, rng=rng)

    assert sum(fooled() for _ in range(50)) >= 25
    assert sum(audit(honest, (0, 1), 2000, beta=0.05, rng=rng).epsilon > 0 for _ in range(50)) <= 10


@pytest.mark.statistical
def test_outputs_that_are_never_seen_twice_are_no_leak():
    def nonce(value, *, rng=None):
        return f"{rng.bits(64)}"

    found = audit(nonce, (0, 1), 20_000, rng=SeededRandom(4))

    assert found.epsilon == 0.0


def rarely_a_float(value, *, rng=None):
    """Says nothing about its input: two bits, and once in 1,024 times [0.5, 0]."""
    return [0.5, 0] if rng.bits(10) == 0 else [rng.bits(1), rng.bits(1)]


@pytest.mark.statistical
def test_a_rare_float_on_one_side_is_no_leak():
    """Each of these fails with probability 1e-5 at most.  With a type for each side, three of these ten are accused:
    rows of integers and the same rows of floats do not look alike."""
    runs = counts(quick=10, full=40)
    found = [audit(rarely_a_float, (0, 1), 1000, rng=SeededRandom(seed)) for seed in range(runs)]

    assert [one.epsilon for one in found] == [0.0] * runs


class Drawn:
    """Says nothing about its input, in one call: labels that are numbers but for a rare word."""

    def releases(self, value, count, *, rng=None):
        return ["none" if rng.bits(10) == 0 else rng.bits(1) for _ in range(count)]


@pytest.mark.statistical
def test_a_rare_word_on_one_side_is_no_leak():
    """A list turned into an array is one of words on the side with a word, and of numbers on the other."""
    found = [audit(Drawn(), (0, 1), 1000, rng=SeededRandom(seed)) for seed in range(10)]

    assert [one.epsilon for one in found] == [0.0] * 10


@pytest.mark.statistical
@pytest.mark.parametrize(
    "dress",
    [lambda bit: bit, bool, float, str, lambda bit: (bit, "x"), lambda bit: [bit, 0], lambda bit: np.array([bit, 1]),
     lambda bit: None if bit else "yes"],
    ids=["int", "bool", "float", "str", "tuple", "list", "array", "none"],
)  # fmt: skip
def test_reads_outputs_of_any_kind(dress):
    def warner(value, *, rng=None):
        return dress(value if rng.bits(2) else 1 - value)

    found = audit(warner, (0, 1), 10_000, rng=SeededRandom(5))

    assert 0.9 < found.epsilon <= math.log(3)


@pytest.mark.statistical
def test_finds_the_flaw_of_the_notes_with_a_hundred_thousand():
    found = audit(LinearResponse(epsilon=0.5), (0, 1), 100_000, rng=SeededRandom(6))

    assert found.violates(PureDP(0.5))
    assert 1.05 < found.epsilon <= math.log(3)


@pytest.mark.statistical
def test_names_the_event_and_the_likelier_input():
    found = audit(Laplace(epsilon=2, sensitivity=1), (0, 1), 100_000, rng=SeededRandom(7))
    outputs = np.array([-3, 0, 1, 5])
    inside = found.event.holds(outputs)

    assert list(inside) == ([False, False, True, True] if found.event.swapped else [True, True, False, False])
    assert str(found.event).startswith("output ")
    assert found.hits[0] > found.hits[1]
    assert bool(found.event.holds(np.array([found.example]))[0])


@pytest.mark.statistical
def test_looks_both_ways():
    """An output possible only under the second input, then only under the first."""

    def confess(value, *, rng=None):
        return "guilty" if value and not rng.bits(3) else "silent"

    there, back = (audit(confess, pair, 10_000, rng=SeededRandom(8)) for pair in ((0, 1), (1, 0)))

    assert min(there.epsilon, back.epsilon) > 3
    assert there.example == back.example == "guilty"
    assert (there.event.swapped, back.event.swapped) == (True, False)


@pytest.mark.statistical
def test_takes_delta_into_account():
    """Leaking with probability 1/8 is (0, 1/8)-DP: nothing is left at delta = 1/8."""

    def confess(value, *, rng=None):
        return int(bool(value) and not rng.bits(3))

    assert audit(confess, (0, 1), 20_000, delta=0.125, rng=SeededRandom(9)).epsilon < 0.05
    assert audit(confess, (0, 1), 20_000, delta=0.0625, rng=SeededRandom(9)).violates(ApproxDP(1, 0.0625))
    assert not audit(confess, (0, 1), 20_000, delta=0.125, rng=SeededRandom(9)).violates(ApproxDP(0.05, 0.125))


def test_measures_a_claim_in_any_currency():
    found = audit(Laplace(epsilon=1, sensitivity=1), (0, 1), 100_000, delta=1e-4, rng=SeededRandom(10))

    assert not found.violates(PureDP(1))
    assert not found.violates(ZCDP(0.5))
    assert found.violates(ZCDP(0.001))


@pytest.mark.statistical
def test_vectors_are_judged_by_all_their_entries():
    class Pair:
        def releases(self, value, count, *, rng=None):
            return np.array(value) + discrete_laplace(2, shape=(count, 2), rng=rng)

        __call__ = None

    found = audit(Pair(), ((0, 1), (1, 0)), 200_000, rng=SeededRandom(11))

    assert 0.9 < found.epsilon <= 1.0


@pytest.mark.statistical
def test_noise_shared_by_an_array_is_not_taken_for_independent_copies():
    """On an array this function draws one bit for all entries; only a `Mechanism` is called on arrays."""

    def shared(value, *, rng=None):
        return value if rng.bits(2) else 1 - value

    assert not any(audit(shared, (0, 1), 2000, rng=SeededRandom(s)).violates(PureDP(1.0987)) for s in range(20))
    assert any(audit(shared, (0, 1), 2000, batched=True, rng=SeededRandom(s)).epsilon > 1.0987 for s in range(20))


def test_the_claim_is_read_from_the_mechanism():
    assert audit(Laplace(epsilon=1, sensitivity=1), (0, 1), 1000, rng=SeededRandom(13)).claimed == PureDP(1)
    bare = audit(lambda value, rng=None: value, (0, 0), 100)
    assert bare.claimed is None
    with pytest.raises(ParameterError, match="need a guarantee"):
        bare.violates()


@pytest.mark.parametrize(
    "bad",
    [{"inputs": (0,)}, {"inputs": (0, 1, 2)}, {"samples": 10}, {"samples": 1e6}, {"delta": 1}, {"delta": -0.1},
     {"delta": math.nan}, {"beta": 0.0}, {"beta": 1.0}, {"beta": math.nan}],
    ids=str,
)  # fmt: skip
def test_bad_input_is_refused_before_anything_is_drawn(bad):
    def never(value, *, rng=None):
        raise AssertionError("drawn")

    with pytest.raises(ParameterError):
        audit(never, **({"inputs": (0, 1), "samples": 1000} | bad))
