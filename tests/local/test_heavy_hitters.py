"""discreet.local.heavy_hitters: each claim in the module docstring, in order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import HeavyHitters, RandomizedResponse, heavy_hitters
from discreet.local.chernoff import share_interval
from discreet.local.heavy_hitters import Level, _misses
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Local
from tests.scale import counts

USERS = counts(quick=200_000, full=1_000_000)
RUNS = counts(quick=15, full=300)


def _planted(n: int, bits: int, fractions: list[float], seed: int) -> tuple[np.ndarray, list[int]]:
    """Strings of which some are frequent, in an order that says nothing, and the frequent ones."""
    rng = np.random.default_rng(seed)
    limit = (1 << bits) - 1
    names = rng.integers(0, limit, len(fractions), dtype=np.uint64, endpoint=True)
    strings = rng.integers(0, limit, n, dtype=np.uint64, endpoint=True)
    at = 0
    for name, fraction in zip(names, fractions, strict=True):
        strings[at : at + round(fraction * n)] = name
        at += round(fraction * n)
    return rng.permutation(strings), names.tolist()


def test_each_user_is_asked_once_and_the_levels_cover_the_string():
    finder = HeavyHitters(bits=64, epsilon=2)

    assert sum(finder.steps) == 64
    assert finder.levels == 5
    assert finder.privacy() == PureDP(2, neighbours=Local)
    assert finder.event().epsilon == 2


@pytest.mark.parametrize("bits", [1, 7, 16, 17, 33, 64])
def test_steps_add_up_for_every_length(bits):
    steps = HeavyHitters(bits=bits, epsilon=1).steps

    assert sum(steps) == bits
    assert min(steps) >= 1


def test_a_string_has_the_place_of_the_prefix_that_begins_it():
    level = Level(number=1, prefixes=(0b0011, 0b1010), known=4, next=2)
    strings = np.array([0b00110111, 0b10101100, 0b11111111], dtype=np.uint64)

    assert level.place(strings, 8).tolist() == [0 * 4 + 0b01, 1 * 4 + 0b11, 8]


def test_a_report_is_that_of_an_oracle_with_the_whole_epsilon_and_no_more():
    """The level does not look at the value, and oracles are verified exactly elsewhere; here with 2 + 1 candidates."""
    finder = HeavyHitters(bits=1, epsilon=1)
    oracle = finder.oracle(finder.question(0))

    assert isinstance(oracle, RandomizedResponse)
    assert oracle.table().epsilon() == pytest.approx(1, rel=1e-9)
    assert oracle.table().epsilon() <= 1


@pytest.mark.statistical
def test_frequent_64_bit_strings_are_found_and_nothing_else_is():
    """Recall and precision of at least 0.9 above the stated threshold; the theorem says 1 with probability 0.95."""
    finder = HeavyHitters(bits=64, epsilon=2)
    threshold = finder.threshold(USERS)
    strings, names = _planted(USERS, 64, [threshold * (1 + i / 20) for i in range(12)], seed=1)
    found = finder(strings, rng=SeededRandom(5))
    heavy = [name for name in names if (strings == np.uint64(name)).mean() >= found.threshold]

    assert found.threshold <= threshold * 1.05
    assert len(heavy) >= 10
    assert len(set(found.values()) & set(heavy)) >= 0.9 * len(heavy)
    assert len(set(found.values()) & set(names)) >= 0.9 * len(found.items)
    for item in found.items:
        assert item.low <= (strings == np.uint64(item.value)).mean() <= item.high


@pytest.mark.statistical
def test_the_promise_holds_as_often_as_it_says(monkeypatch):
    """beta = 0.05: with at most that chance each, more than 7 failures of 15 have a chance below 1e-6."""
    monkeypatch.setattr(heavy_hitters, "FIRST", 6)  # small levels, for speed
    monkeypatch.setattr(heavy_hitters, "STEP", 4)
    monkeypatch.setattr(heavy_hitters, "ROOM", 1 << 8)
    finder = HeavyHitters(bits=14, epsilon=3)
    failures = 0
    for seed in range(RUNS):
        strings, names = _planted(20_000, 14, [0.2, 0.1, 0.05], seed=seed)
        found = finder(strings, rng=SeededRandom(seed))
        true = {name: float((strings == np.uint64(name)).mean()) for name in {*names, *found.values()}}
        missed = any(true[name] >= found.threshold and name not in found.values() for name in names)
        invented = any(true[value] == 0 for value in found.values())
        outside = any(not item.low <= true[item.value] <= item.high for item in found.items)
        failures += missed or invented or outside

    assert failures <= max(7, 0.1 * RUNS)


def test_the_twin_that_forgets_how_many_candidates_there_are_invents_strings():
    """At level beta instead of beta / candidates, thousands of the 65,536 candidates that nobody holds pass."""
    finder = HeavyHitters(bits=16, epsilon=1)
    level = finder.question(0)
    oracle = finder.oracle(level)
    server = oracle.server()
    server.add(oracle.client().report(np.zeros(5000, dtype=np.int64), rng=SeededRandom(1)))
    support = oracle.support(server._tally)[1 : level.candidates]

    assert (support >= _misses(oracle, server.n, 0.05)[0]).sum() > 100
    assert (support >= _misses(oracle, server.n, finder.each(0, server.n))[0]).sum() == 0


def test_the_threshold_is_the_upper_end_of_the_last_interval_that_holds_the_noise():
    oracle = RandomizedResponse(epsilon=1, size=10)
    least, missed = _misses(oracle, 5000, 1e-4)
    noise, gap = float(oracle.noise), float(oracle.truth - oracle.noise)

    assert float(share_interval(least, 5000, 1e-4)[0]) > noise >= float(share_interval(least - 1, 5000, 1e-4)[0])
    assert missed == pytest.approx((float(share_interval(least - 1, 5000, 1e-4)[1]) - noise) / gap)


def test_strings_without_room_raise_the_threshold(monkeypatch):
    monkeypatch.setattr(heavy_hitters, "FIRST", 8)
    monkeypatch.setattr(heavy_hitters, "STEP", 4)
    monkeypatch.setattr(heavy_hitters, "ROOM", 1 << 5)  # two prefixes
    finder = HeavyHitters(bits=12, epsilon=4)
    strings, names = _planted(40_000, 12, [0.3, 0.2, 0.15, 0.12], seed=3)
    found = finder(strings, rng=SeededRandom(2))

    assert len(found.items) <= 2
    assert found.threshold >= 0.15
    assert all((strings == np.uint64(name)).mean() < found.threshold for name in set(names) - set(found.values()))


def test_devices_and_servers_apart_find_the_same(monkeypatch):
    """Level by level: the question goes out, bytes come back to two servers, and these are merged."""
    monkeypatch.setattr(heavy_hitters, "FIRST", 6)
    monkeypatch.setattr(heavy_hitters, "STEP", 6)
    monkeypatch.setattr(heavy_hitters, "ROOM", 1 << 9)
    finder = HeavyHitters(bits=12, epsilon=3)
    strings, names = _planted(30_000, 12, [0.3, 0.2], seed=5)
    kept, random = [0], SeededRandom(4)
    for number, group in enumerate(np.array_split(strings, finder.levels)):
        level = finder.question(number, kept)
        oracle = finder.oracle(level)
        east, west = oracle.server(), oracle.server()
        for server, part in zip((east, west), np.array_split(group, 2), strict=True):
            sent = oracle.to_bytes(oracle.client().report(level.place(part, 12), rng=random))
            server.add(oracle.from_bytes(sent))
        east.merge(west)
        kept, items, missed = finder.heard(level, east, users=len(strings))

    assert set(names) == set(kept) == {item.value for item in items}
    assert 0 < missed < 0.2


def test_nobody_frequent_means_an_empty_list():
    strings = np.random.default_rng(1).integers(0, 1 << 32, 3000, dtype=np.uint64)
    found = HeavyHitters(bits=32, epsilon=1)(strings, rng=SeededRandom(1))

    assert found.items == ()
    assert 0 < found.threshold <= 1


def test_bad_parameters_and_strings_are_refused_without_quoting_them():
    for bad in (
        {"bits": 0},
        {"bits": 65},
        {"bits": 8.0},
        {"epsilon": 0},
        {"epsilon": math.nan},
        {"beta": 0.0},
        {"beta": 1.5},
    ):
        with pytest.raises(ParameterError):
            HeavyHitters(**{"bits": 8, "epsilon": 1, **bad})
    for strings in (np.array([0.5]), [[1]], np.array(["a"])):
        with pytest.raises(ParameterError):
            HeavyHitters(bits=8, epsilon=1)(strings)
    assert HeavyHitters(bits=8, epsilon=1).checked([777, -5, None, 2**70, 9]).tolist() == [255, 0, 0, 255, 9]
    assert HeavyHitters(bits=64, epsilon=1).checked([2**64 - 1]).tolist() == [2**64 - 1]
    with pytest.raises(UnsupportedError, match="so few users"):
        HeavyHitters(bits=8, epsilon=0.1)([1, 2, 3])
