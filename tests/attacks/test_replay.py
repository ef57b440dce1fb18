"""discreet.attacks.replay: what it compares, what it repeats, and the ways in which programs leak past their noise."""

from __future__ import annotations

import importlib
import inspect
import math
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import pytest

from discreet.attacks import Hook, replay
from discreet.attacks.hooks import HOOKS
from discreet.attacks.hooks_elsewhere import elsewhere
from discreet.attacks.replay import Tape, same
from discreet.composition.price import price
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.lattice import Lattice
from discreet.hazmat.samplers import uniform_below
from discreet.learning import ExponentialLearner, ParityLearner, ThresholdLearner
from discreet.local import RandomizedResponse as Reports
from discreet.local import run as collect
from discreet.mechanisms import (
    BoundedLaplace,
    Exponential,
    Gaussian,
    Laplace,
    NoisyMax,
    NumericSparse,
    OnLattice,
    PartitionSelection,
    PermuteAndFlip,
    ProposeTestRelease,
    RandomizedResponse,
    SmoothSensitivity,
    SparseVector,
    Staircase,
    Thresholded,
)
from discreet.privacy.neighbours import AddRemove
from discreet.structured import GridQuantile, Ladder

COUNT, SUM = Laplace(epsilon=1, sensitivity=1), Laplace(epsilon=1, sensitivity=10)
ROWS = [3, 9, 1, 10, 4, 4, 7]
PAIR = (ROWS, [*ROWS, 10])


def honest(rows):
    """A count decides whether there is a sum; the mean is what is left of both; then a coin of its own."""
    n = max(1, COUNT(len(rows)))
    total = SUM(sum(min(row, 10) for row in rows)) if n > 2 else 0
    return total / n, int(uniform_below(100, rng=SeededRandom(5)))


def test_an_honest_program_has_no_violations_in_either_order():
    for pair in (PAIR, PAIR[::-1]):
        for _ in range(50):
            found = replay(honest, pair)

            assert found.violations == ()
            assert max(found.parts) == 1
            assert found.results[0] == found.results[1]


def test_the_second_run_repeats_what_was_released_and_draws_nothing():
    found = replay(lambda rows: [COUNT(len(rows)), COUNT(0), COUNT(7)], PAIR)

    assert found.results[0] == found.results[1] == [step.released for step in found.steps]
    assert [step.fed for step in found.steps] == [7, 0, 7]
    assert list(found.again) == [8, 0, 7]


def test_a_release_that_the_program_changes_in_place_is_repeated_as_it_was():
    def run(rows):
        noisy = COUNT(np.array([len(rows), 0]))
        noisy *= 0
        return noisy

    assert replay(run, PAIR).violations == ()


def test_calls_that_are_fed_something_else_cost_what_their_mechanisms_say():
    found = replay(lambda rows: [COUNT(len(rows)), SUM(rows[-1]), COUNT(rows[0])], PAIR)
    draws = replay(lambda rows: Exponential(epsilon=1, sensitivity=1).releases([len(rows), 0], 5).tolist(), PAIR)

    assert found.price() == price(COUNT.event()) + price(SUM.event())
    assert draws.price() == price(Exponential(epsilon=1, sensitivity=1).event()).repeat(5)


def test_the_mechanisms_are_as_they_were_afterwards():
    before = [vars(hook.owner)[hook.name] for hook in HOOKS]
    replay(honest, PAIR)
    with pytest.raises(ZeroDivisionError):
        replay(lambda rows: 1 // 0, PAIR)

    assert [vars(hook.owner)[hook.name] for hook in HOOKS] == before


def test_a_program_that_fails_on_both_is_not_audited_and_two_datasets_are_needed():
    with pytest.raises(ParameterError, match="two datasets"):
        replay(honest, [ROWS])
    with pytest.raises(ParameterError, match="a nothing of its own"):
        replay(honest, PAIR, hooks=[Hook(owner=Laplace, name="nothing", distance=lambda *_: 0.0)])
    with pytest.raises(KeyError):
        replay(lambda rows: {}["missing"], PAIR)


def test_calls_inside_a_call_are_part_of_it():
    with Tape().recording(HOOKS) as tape:
        ProposeTestRelease(query=len, distance=len, bound=1, epsilon=1, delta=1e-3)(ROWS)

    assert len(tape.steps) == 1


def first(pair):
    return pair[0]


def second(pair, smoothness=None):
    return pair[1]


SMOOTH = SmoothSensitivity(query=first, smooth=second, epsilon=1, delta=0, smoothness=0.5, noise="cauchy")
SELECTIONS = [kind(epsilon=1, sensitivity=2) for kind in (Exponential, PermuteAndFlip, NoisyMax)]
CENTS = OnLattice(mechanism=Laplace(epsilon=1, sensitivity=100), lattice=Lattice("0.01"))
SPARSE = SparseVector(epsilon=1, sensitivity=1, threshold=3, count=2)
FED = [  # a mechanism, and three inputs: the second is its neighbour in the worst case, the third is not
    (COUNT, 5, 6, 7),
    (SUM, [1, 2, 3], [6, 2, -2], [6, 2, -3]),
    (Gaussian.with_sigma(3, sensitivity=5), [0, 0], [3, 4], [3, 5]),
    *((one, [5, 5, 5], [3, 7, 5], [3, 8, 5]) for one in SELECTIONS),
    (NoisyMax(epsilon=1, sensitivity=1, monotone=True, neighbours=AddRemove), [1, 1], [2, 2], [2, 0]),
    (RandomizedResponse(epsilon=1), [0, 1, 1], [0, 0, 1], [1, 0, 1]),
    (PartitionSelection(epsilon=1, delta=0.1, groups_per_unit=2), [4, 4, 4], [5, 5, 4], [5, 5, 5]),
    (Thresholded(noise=SUM, delta=0.1, groups_per_unit=2, change=5), [4, 4, 4], [9, 9, 4], [10, 4, 4]),
    (CENTS, 0.0, 1.0, 1.01),
    (SPARSE, [0, 9, 9], [1, 8, 9], [2, 9, 9]),
    (NumericSparse(above=SPARSE, answers=COUNT), [99, 99], [98, 99], [90, 99]),
    (SMOOTH, [0, 100], [100, 164], [100, 170]),
    (SMOOTH, [0, 100], [100, 100], [101, 101]),
    (ProposeTestRelease(query=first, distance=second, bound=3, epsilon=1, delta=0.1), [0, 5], [3, 4], [4, 4]),
    (ProposeTestRelease(query=first, distance=second, bound=3, epsilon=1, delta=0.1), [0, 0], [2, 1], [99, 1]),
]


@pytest.mark.parametrize(("mechanism", "base", "near", "far"), FED, ids=lambda one: str(one)[:40])
def test_what_a_mechanism_is_fed_may_move_as_far_as_it_declares_and_no_farther(mechanism, base, near, far):
    runs = [(base, near), (near, base), (base, far), (far, base)]
    found = [replay(lambda value: str(mechanism(value)), pair) for pair in runs]

    assert found[0].violations == found[1].violations == ()
    assert max(found[0].parts) == pytest.approx(1, abs=0.02)
    assert found[2].violations
    assert found[3].violations


def test_a_session_goes_over_the_tape_and_keeps_its_count():
    def run(values):
        session = SPARSE.open(rng=SeededRandom(1))
        return [session.margin(value) for value in values if session.left], session.left

    assert replay(run, ([0, 50, 1, 60, 2], [1, 49, 0, 61, 2])).violations == ()
    assert replay(run, ([0, 50, 1, 60, 2], [1, 48, 0, 61, 2])).violations


def sessions(count):
    def run(value):
        opened = [SPARSE.open(rng=SeededRandom(1)) for _ in range(count)]
        return [session.margin(value) for session in opened]

    return run


@pytest.mark.parametrize("count", [1, 5])
def test_every_session_is_paid_for_by_itself_and_all_its_answers_once(count):
    """The twin: five sessions sold at the price of one; equal parameters do not make one session of them."""

    def twice(values):
        session = SPARSE.open(rng=SeededRandom(1))
        return [session.margin(value) for value in values], session.margins(list(values)).tolist()

    found = replay(sessions(count), (0, 1))

    assert found.violations == ()
    assert found.price() == price(SPARSE.event()).repeat(count)
    assert replay(twice, ((-90, -91), (-91, -90))).price() == price(SPARSE.event())


def test_a_session_of_another_number_is_another_call():
    def run(value):
        opened = [SPARSE.open(), SPARSE.open()]
        return [opened[value].margin(0), opened[1 - value].margin(0), opened[0].margin(0)]

    assert replay(run, (0, 1)).violations


def test_the_coins_of_a_program_are_its_own_beside_a_session():
    """A session draws from the tape, in both runs, and leaves the program's generator as it was."""

    def run(value):
        rng = SeededRandom(1)
        session = SPARSE.open(rng=rng)
        session.margin(value)
        return rng.bits(32)

    assert replay(run, (0, 0)).violations == ()
    assert replay(run, (0, 1)).violations == ()


def test_a_price_that_is_not_known_is_not_nothing():
    hook = Hook(owner=Laplace, distance=lambda _self, a, b: abs(a - b), event=None)

    assert replay(COUNT, (5, 5), hooks=[hook]).price() == price(COUNT.event()).repeat(0)
    with pytest.raises(UnsupportedError, match="no price is known"):
        replay(COUNT, (5, 6), hooks=[hook]).price()


def test_what_releases_nothing_over_the_tape_is_refused():
    """It was called private, with no steps and at no price."""
    with pytest.raises(UnsupportedError, match="nothing was audited"):
        replay(lambda rows: int(uniform_below(100, rng=SeededRandom(5))), PAIR)


BITS = (np.array([[1, 0], [0, 1], [1, 1], [1, 0]]), np.array([1, 0, 1, 1]))
ROW = (np.array([3, 9, 1, 10]), np.array([0, 1, 0, 1]))


def longer(given, times):
    rows, labels = given
    return np.concatenate([rows, rows[:1].repeat(times, axis=0)]), np.append(labels, [1 - labels[0]] * times)


def fitted(made, name):
    return lambda given: str(getattr(made().fit(*given, rng=SeededRandom(3)), name))


LEARNERS = [
    (fitted(lambda: ThresholdLearner(16, epsilon=1000), "threshold_"), ROW, 1000),
    (fitted(lambda: ExponentialLearner([np.zeros_like, np.ones_like], epsilon=2), "index_"), ROW, 2),
    (fitted(lambda: ParityLearner(epsilon=1, blocks=1), "parity_"), BITS, 1),
]


@pytest.mark.parametrize(("run", "given", "epsilon"), LEARNERS)
def test_learners_are_on_the_tape_at_their_price(run, given, epsilon):
    one, four = (replay(run, (given, longer(given, times))) for times in (1, 4))

    assert one.violations == ()
    assert one.price().epsilon == epsilon
    assert four.violations


def test_local_reports_are_on_the_tape_and_draw_from_it():
    def run(values):
        rng = SeededRandom(3)
        return collect(Reports(epsilon=1, size=4), values, rng=rng).estimate().tolist(), rng.bits(32)

    held = np.arange(40) % 4
    one, many = held.copy(), (held + 1) % 4
    one[0] = 3

    assert replay(run, (held, one)).violations == ()
    assert replay(run, (held, one)).price().epsilon == 1
    assert replay(run, (held, many)).violations


LADDER = Ladder(epsilon=1)
BOLD = ProposeTestRelease(query=lambda pair: pair[0], distance=lambda pair: pair[1], bound=3, epsilon=1, delta=0.1)
MANY = [  # draws many at once: a neighbour in the worst case, and what is not one
    (SPARSE, (0, 9, 9), (1, 8, 9), (40, 49, 49)),
    (Gaussian.with_sigma(3, sensitivity=1), 0, 1, 40),
    (Staircase(epsilon=1, sensitivity=2), 0, 2, 3),
    (BoundedLaplace(epsilon=1, sensitivity=1, lower=0, upper=9), 0, 1, 2),
    (GridQuantile(quantile=0.5, epsilon=1, size=3), (1, 2, 3), (1, 3, 3), (1, 2, 13)),
    (BOLD, (0, 5), (3, 4), (0, 99)),
    (NoisyMax(epsilon=1, sensitivity=2), (5, 5, 5), (3, 7, 5), (3, 8, 5)),
    (SmoothSensitivity(query=min, smooth=lambda x, b: 2, epsilon=1, delta=0, smoothness=0.5), (0, 1), (2, 4), (9, 9)),
]


@pytest.mark.parametrize(("mechanism", "base", "near", "far"), MANY, ids=lambda one: type(one).__name__)
def test_many_releases_at_once_are_as_many_releases(mechanism, base, near, far):
    def run(value):
        return str(mechanism.releases(value, 5, rng=SeededRandom(3)))

    found = replay(run, (base, near))

    assert found.violations == ()
    assert found.price() == price(mechanism.event()).repeat(5)
    assert replay(run, (base, far)).violations


def test_a_ladder_of_many_releases_is_on_the_tape():
    def run(value):
        return LADDER.releases(value, lambda t: min(2 + t, 9), 3, most=9, rng=SeededRandom(3)).tolist()

    assert replay(run, (10, 12)).price() == price(LADDER.event()).repeat(3)
    assert replay(run, (10, 13)).violations


THROUGH = {  # what draws and is not hooked itself, because all of it goes through what is
    ("SparseVector", "open"),  # its session
    ("PartitionSelection", "select"),  # the call
    ("SmoothSensitivity", "releases"),  # the noise
    ("MarginalRelease", "__call__"),  # its pieces
    ("Memoised", "devices"),  # permanent reports are drawn by the protocol
    ("Memoised", "tell"),  # of a report that was drawn
    ("DuchiVector", "pairs"),  # inside draw
}


def test_everything_that_draws_and_belongs_to_a_hooked_class_is_on_the_tape():
    every = [*HOOKS, *elsewhere()]
    hooked = {}
    for hook in every:
        hooked.setdefault(hook.owner, set()).add(hook.name)
    left = {
        (owner.__name__, name)
        for owner, names in hooked.items()
        for name, item in vars(owner).items()
        if inspect.isfunction(item)
        and {"rng", "random"} & set(inspect.signature(item).parameters)
        and (not name.startswith("_") or name in ("__call__", "__init__"))
        and name not in names
    }

    assert left == THROUGH


def test_every_mechanism_that_draws_many_at_once_is_on_the_tape():
    """Of the rooms that `attacks` may import."""
    owners = {(hook.owner.__name__, hook.name) for hook in HOOKS}
    drawing = {
        (name, "releases")
        for room in ("mechanisms", "structured")
        for name, item in vars(importlib.import_module(f"discreet.{room}")).items()
        if inspect.isclass(item) and "releases" in vars(item)
    }

    assert drawing - owners <= {
        ("SmoothSensitivity", "releases"), ("SmoothMedian", "releases"),  # through the noise
        ("StarCount", "releases"), ("TriangleCount", "releases"),  # through the noise, or the ladder
    }  # fmt: skip


def test_results_are_compared_to_the_last_bit():
    assert not same([0.0], [-0.0])
    assert not same(np.array([0.0]), np.array([-0.0]))
    assert not same(complex(0, 0.0), complex(0, -0.0))
    assert not same(np.float32(0.0), np.float32(-0.0))
    assert same(np.array([1 + 1j, math.nan]), np.array([1 + 1j, math.nan]))
    assert same([1.0, {"a": np.array([1, math.nan])}], [1.0, {"a": np.array([1, math.nan])}])
    assert not same(np.array([1]), np.array([1.0]))
    assert not same((1,), [1])
    assert not same({"a": 1, "b": 2}, {"b": 2, "a": 1})  # an order can tell something


# Programs that leak beside their noise: the bugs that libraries have had


def bounds_from_data(rows):
    return Laplace(epsilon=1, sensitivity=max(rows))(sum(rows))


def clamped_too_late(rows):
    return min(SUM(sum(rows)), 10**6)


def true_count_in_the_mean(rows):
    return SUM(sum(min(row, 10) for row in rows)) / len(rows)


def nothing_if_few(rows):
    return COUNT(len(rows)) if len(rows) > 7 else 0


def one_call_a_row(rows):
    return [COUNT(1) for _ in rows]


def one_cell_a_value(rows):
    return COUNT(np.bincount(rows)).tolist()


def until_it_looks_right(rows):
    noisy = COUNT(len(rows))
    while abs(noisy - len(rows)) > 1:
        noisy = COUNT(len(rows))
    return noisy


def budget_by_size(rows):
    return Laplace(epsilon=len(rows), sensitivity=1)(len(rows))


def in_the_order_of_size(rows):
    sizes = np.bincount([min(row // 10, 1) for row in rows], minlength=2)
    noisy = COUNT(np.sort(sizes)).tolist()
    return sorted(noisy, key=lambda one: noisy.index(one) * (1 if sizes[0] > 3 * sizes[1] else -1)), noisy


def half_the_sensitivity(rows):
    return Laplace(epsilon=1, sensitivity=5)(sum(rows))


def euclid_for_manhattan(rows):
    return COUNT(np.array([len(rows), sum(row > 5 for row in rows)])).tolist()


def two_ways_sold_as_one(rows):
    scores = [len(rows), -len(rows)]
    return Exponential(epsilon=1, sensitivity=1, monotone=True, neighbours=AddRemove)(scores)


def fails_on_a_value(rows):
    return 1 // (rows[-1] % 10) and COUNT(len(rows))


class Opaque:
    """Equal only to itself."""


@dataclass(frozen=True)
class Timed:
    """What it says, and how long it took."""

    said: int
    seconds: float = field(compare=False)


class Colour(Enum):
    RED = 1
    BLUE = 2


def test_results_that_are_equal_only_to_themselves_are_refused_and_not_called_different():
    with pytest.raises(UnsupportedError, match="Opaque objects are equal only to themselves"):
        replay(lambda rows: (COUNT(len(rows)), Opaque()), PAIR)


def test_members_classes_and_nothing_are_compared_as_what_they_are():
    assert same([Colour.RED, None, int], [Colour.RED, None, int])
    assert not same(Colour.RED, Colour.BLUE)
    assert not same(int, str)


def test_fields_that_a_dataclass_does_not_compare_are_not_compared():
    seconds = iter([0.1, 0.2])

    assert replay(lambda rows: Timed(COUNT(len(rows)), next(seconds)), PAIR).violations == ()
    assert not same(Timed(1, 0.1), Timed(2, 0.1))


def its_own_noise(rows):
    return COUNT(len(rows)), len(rows) + np.random.default_rng(0).laplace()


def category_codes_from_data(rows):
    return COUNT(np.bincount(np.unique(rows, return_inverse=True)[1], minlength=30)).tolist()


def every_category_that_is_there(rows):
    return COUNT(len(rows)), sorted(set(rows))


LEAKS = [
    bounds_from_data,
    clamped_too_late,
    true_count_in_the_mean,
    nothing_if_few,
    one_call_a_row,
    one_cell_a_value,
    until_it_looks_right,
    budget_by_size,
    half_the_sensitivity,
    euclid_for_manhattan,
    two_ways_sold_as_one,
    fails_on_a_value,
    its_own_noise,
    in_the_order_of_size,
    category_codes_from_data,
    every_category_that_is_there,
]


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_a_leak_beside_the_noise_is_seen(leak):
    pairs = [
        PAIR,
        PAIR[::-1],
        (ROWS, [*ROWS, 25]),
        ([3, 9], [3, 9, 12]),
        ([1, 1], [1, 1, 11]),
        ([3, 3, 9], [3, 3, 9, 1]),
    ]

    assert any(replay(leak, pair).violations for pair in pairs for _ in range(8))
