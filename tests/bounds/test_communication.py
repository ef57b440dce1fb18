"""discreet.bounds.communication and classifiers: lists of runs, and two exercises of the notes."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.bounds.classifiers import agreement, joint_agreement, network_cost
from discreet.bounds.communication import ListProtocol, list_length, message_bits, rows_enough, rows_needed
from discreet.bounds.sample_formulas import entropy
from discreet.bounds.samples import samples
from discreet.errors import ParameterError

POINTS, N, ALPHA = 16, 3, 0.25


def errors_of(data):
    return np.array([sum((x >= t) != y for x, y in data) for t in range(POINTS + 1)])


def law(data, epsilon):
    """The exponential mechanism over thresholds."""
    weights = np.exp(-epsilon / 2 * errors_of(data))
    return weights / weights.sum()


def good(target):
    return {t for t in range(POINTS + 1) if abs(t - target) <= ALPHA * POINTS}


def worst_failure(epsilon, target):
    """Pr[the learner is not good], over three uniform rows, exactly."""
    bad = [t for t in range(POINTS + 1) if t not in good(target)]
    cases = [law([(x, x >= target) for x in xs], epsilon)[bad].sum() for xs in product(range(POINTS), repeat=N)]
    return float(np.mean(cases))


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_a_list_of_runs_on_a_fixed_dataset_holds_a_good_hypothesis_for_every_target(epsilon):
    fixed, g = law([(0, False)] * N, epsilon), 0.05
    for target in (0, 5, 16):
        beta = worst_failure(epsilon, target)
        length = list_length(epsilon=epsilon, n=N, failure=g, beta=beta)

        assert ListProtocol(fixed.tolist(), length=length).failure(good(target)) <= g


def test_the_twin_that_forgets_group_privacy_is_caught():
    """A list as long as if the fixed dataset were the right one."""
    epsilon, g, target = 3.0, 0.05, 0
    fixed, beta = law([(0, False)] * N, epsilon), worst_failure(3.0, 0)
    short = list_length(epsilon=epsilon, n=0, failure=g, beta=beta)

    assert ListProtocol(fixed.tolist(), length=short).failure(good(target)) > g


def test_what_alice_sends_tells_bob_a_good_hypothesis():
    protocol = ListProtocol(law([(0, False)] * N, 1.0).tolist(), length=64)
    for seed in range(20):
        shared = protocol.runs(seed=seed)
        place = protocol.message(shared, good=lambda t: t in good(7))

        assert place is None or (protocol.received(shared, place) in good(7) and place < 2**protocol.bits)
    assert protocol.bits == 6
    assert protocol.message(np.array([3, 3]), good=lambda t: t == 4) is None


def test_the_length_is_the_least_and_below_the_formula_of_the_notes():
    length = list_length(epsilon=1, n=10, failure=0.05, beta=0.1)
    one = 0.9 * math.exp(-10)

    assert (1 - one) ** length <= 0.05 < (1 - one) ** (length - 1)
    assert length == 73316
    assert length <= math.ceil(math.exp(10) * math.log(20) / 0.9)
    assert message_bits(epsilon=1, n=10, failure=0.05, beta=0.1) == pytest.approx(16.16, abs=0.005)


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("epsilon", [0.1, 1, 2.5])
def test_rows_and_bits_are_inverse_up_to_one_bit(n, epsilon):
    bits = message_bits(epsilon=epsilon, n=n, failure=0.05, beta=0.1)

    assert rows_needed(bits, epsilon=epsilon, failure=0.05, beta=0.1) <= n
    assert rows_needed(bits + 1.01, epsilon=epsilon, failure=0.05, beta=0.1) >= n - 1 - 1 / epsilon


def test_from_no_bit_nothing_follows():
    """A protocol that may fail nearly always has a list of one: no bit, and no row is needed for it."""
    for failure, beta in ((0.9, 0.05), (0.999, 0.5), (0.05, 0.05)):
        assert rows_needed(0, epsilon=1, failure=failure, beta=beta) == 0
        assert rows_needed(0.7, epsilon=1, failure=failure, beta=beta) == 0
    assert list_length(epsilon=1, n=0, failure=0.9, beta=0.05) == 1
    assert rows_needed(1, epsilon=1, failure=0.9, beta=0.05) == 3  # one bit: more than one run, of which 0.9 may fail


@pytest.mark.parametrize("d", [2, 3])
def test_no_protocol_tells_the_digits_of_a_threshold_with_fewer_bits(d):
    """All ways to send 2^d numbers as messages; Bob knows the digits before the one he asks for, and guesses best."""
    numbers = list(product((0, 1), repeat=d))
    asked = [[(i, x[:i]) for i in range(d)] for x in numbers]
    for bits in range(d + 1):
        best = 1.0
        every = product(range(2**bits), repeat=len(numbers) - 1) if bits < 3 else [range(1, 8)]
        for messages in every:
            said: dict[object, list[int]] = {}
            for x, message, known in zip(numbers, (0, *messages), asked, strict=True):
                for i, before in known:
                    said.setdefault((message, i, before), []).append(x[i])
            wrong = sum(min(sum(seen), len(seen) - sum(seen)) for seen in said.values())
            best = min(best, wrong / (d * len(numbers)))

        assert bits >= d * (1 - entropy(best)) - 1e-12
        assert bits < d * (1 - entropy(best / 4)) or bits == d  # a quarter of the errors would need more


def test_a_protocol_of_c_bits_is_learned_as_a_class_of_that_size():
    table = samples("finite", size=2**12, alpha=0.1, beta=0.05, epsilon=1.0)

    assert rows_enough(12, alpha=0.1, beta=0.05, epsilon=1.0) == table["private, realizable, by moments"].n


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"epsilon": float("nan")}, {"n": -1}, {"n": 1.5}, {"n": 701}, {"failure": 0}, {"beta": 1}]
)
def test_what_is_no_protocol_is_refused(wrong):
    with pytest.raises(ParameterError):
        list_length(**{"epsilon": 1, "n": 10, "failure": 0.05, "beta": 0.1, **wrong})


@pytest.mark.parametrize("law", [(0.5, 0.6), (1.5, -0.5), ()])
def test_a_law_must_sum_to_one(law):
    with pytest.raises(ParameterError, match="sum to 1"):
        ListProtocol(law, length=3)


LAW = {("a", 0): "1/3", ("a", 1): "1/6", ("b", 0): "1/8", ("b", 1): "3/8"}


@pytest.mark.parametrize("values", list(product([0, 1], repeat=2)))
def test_errors_on_independent_pairs_are_independent(values):
    """Exercise 17, for all classifiers of two points, exactly."""
    g = dict(zip("ab", values, strict=True)).get

    assert joint_agreement(LAW, g) == agreement(LAW, g) ** 2


def test_errors_on_the_same_pair_twice_are_not():
    g = {"a": 0, "b": 1}.get
    same = agreement(LAW, g)  # both right exactly when one is

    assert same != agreement(LAW, g) ** 2
    assert isinstance(same, Fraction)


def test_a_law_that_does_not_sum_to_one_is_refused():
    with pytest.raises(ParameterError, match="sum to 1"):
        agreement({("a", 0): 0.5}, {"a": 0}.get)


class Counted(float):
    """A number that counts what is done with it."""

    done: dict[str, int] = {}

    def __mul__(self, other):
        Counted.done["*"] += 1
        return Counted(float(self) * float(other))

    def __add__(self, other):
        Counted.done["+"] += 1
        return Counted(float(self) + float(other))


@pytest.mark.parametrize(("d", "layers", "width"), [(1, 1, 1), (3, 2, 4), (5, 3, 2)])
def test_a_network_that_counts_its_operations_agrees(d, layers, width):
    """Exercise 18: a forward pass with weights and biases of 1."""
    Counted.done = {"*": 0, "+": 0, "s": 0, "w": 0}

    def layer(inputs, outputs):
        found = []
        for _ in range(outputs):
            total = Counted(1.0)  # the bias
            for value in inputs:
                total = total + Counted(1.0) * value
            Counted.done["w"] += len(inputs) + 1
            Counted.done["s"] += 1
            found.append(Counted(1 / (1 + math.exp(-total))))
        return found

    values = [Counted(0.5)] * d
    for _ in range(layers):
        values = layer(values, width)
    layer(values, 1)
    cost = network_cost(d, layers=layers, width=width)

    assert [cost.multiplications, cost.additions, cost.sigmoids, cost.parameters] == list(Counted.done.values())
    assert cost.bytes == 8 * cost.parameters


def test_the_network_of_the_notes():
    assert network_cost(784, layers=2, width=128).bytes == 936968
    with pytest.raises(ParameterError, match="an integer layers >= 1"):
        network_cost(3, layers=0, width=2)
