"""discreet.hazmat.entropy: fair bits from the operating system, never twice the same, or none at all."""

import copy
import importlib
import inspect
import math
import os
import pickle
import pkgutil
import random
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet.hazmat
import discreet.mechanisms
from discreet.errors import EntropyError, ParameterError
from discreet.hazmat import entropy
from discreet.hazmat.entropy import SeededRandom, SystemRandom, source
from discreet.hazmat.rounded import rounded_cauchy
from discreet.hazmat.samplers import discrete_gaussian, discrete_laplace
from discreet.mechanisms.laplace import Laplace
from tests.scale import counts

RARE = 1e-6  # the chance that fair bits fail a statistical test below
WORKERS = counts(quick=8, full=64)
DRAWS = counts(quick=1_000, full=10_000)  # of 128 bits, for each worker
SAMPLE = counts(quick=200_000, full=2_000_000)

# Never twice the same.

FORKS = """
import ctypes, os, sys
from discreet.hazmat.entropy import SeededRandom, source

how, kind, workers, draws = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
random = source(None) if kind == "system" else SeededRandom(1)
random.bits(128), random.words(3)  # the parent has a key and a buffer that a child could inherit
fork = ctypes.CDLL(None).fork if how == "behind python's back" else os.fork

def report(write):
    seen = [random.bits(128) for _ in range(draws)]
    seen += [int(word) for word in random.words(draws)]
    with os.fdopen(write, "w") as out:
        out.write("".join(f"{value:x} " for value in seen))

pipes = []
for worker in range(workers):
    read, write = os.pipe()
    child = fork()
    if child == 0:
        if worker % 2:  # every other worker is a grandchild of a child that drew
            random.bits(128)
            if fork():
                os.wait()
                os._exit(0)
        report(write)
        os._exit(0)
    os.close(write)
    pipes.append(read)
texts = []
for read in pipes:
    with os.fdopen(read) as pipe:
        texts += pipe.read().split()
for _ in range(workers):
    os.wait()
texts += [f"{random.bits(128):x}" for _ in range(draws)]
print(len(texts), len(texts) - len(set(texts)))
"""


def repeats_after_forks(how, kind, *, workers=WORKERS, draws=DRAWS):
    arguments = [sys.executable, "-c", FORKS, how, kind, str(workers), str(draws)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=600)
    drawn, repeats = map(int, done.stdout.split())
    assert drawn == (2 * workers + 1) * draws
    return repeats


@pytest.mark.parametrize("how", ["through python", "behind python's back"])
def test_forked_workers_never_repeat_one_another(how):
    assert repeats_after_forks(how, "system") == 0


def test_a_generator_without_fork_safety_is_caught():
    assert repeats_after_forks("through python", "seeded", workers=4, draws=100) > 100


def in_threads(workers, work):
    found, threads = [], []
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(workers):
            threads.append(threading.Thread(target=lambda: found.append(work())))
            threads[-1].start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(old)
    assert len(found) == workers
    return [value for values in found for value in values]


def test_threads_share_out_the_stream_without_loss_or_repetition():
    """Together they draw exactly what one thread would draw; 64-bit draws fill the buffer evenly."""
    shared, alone = SeededRandom(5), SeededRandom(5)

    drawn = in_threads(8, lambda: [shared.bits(64) for _ in range(5_000)])

    assert sorted(drawn) == sorted(alone.bits(64) for _ in range(40_000))


def test_threads_never_repeat_one_another():
    shared = SystemRandom()

    drawn = in_threads(8, lambda: [shared.bits(100) for _ in range(2_000)] + shared.words(2_000).tolist())

    assert len(set(drawn)) == len(drawn) == 32_000


def test_a_buffer_read_before_it_is_advanced_is_caught():
    stream, at = [SeededRandom(5).bits(64) for _ in range(4_000)], [0]

    def draw():
        value = stream[at[0]]
        threading.Event().wait(0)  # another thread may run here
        at[0] += 1
        return value

    drawn = in_threads(4, lambda: [draw() for _ in range(500)])

    assert len(set(drawn)) < len(drawn)


def test_bits_and_words_never_come_from_the_same_place():
    rng = SeededRandom(3)
    drawn = []
    for i in range(300):
        drawn += [rng.bits(64) for _ in range(i % 7)]
        drawn += rng.words(i % 5).tolist()
        drawn.append(rng.bits(64 * 700) >> (64 * 699))  # longer than the buffer

    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("make", [SystemRandom, lambda: SeededRandom(1)], ids=["system", "seeded"])
@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_source_cannot_be_copied(make, duplicate):
    with pytest.raises(EntropyError, match="cannot be pickled or copied"):
        duplicate(make())


def test_a_mechanism_carries_no_source():
    laplace = Laplace(epsilon=1, sensitivity=1)
    laplace(5)

    assert b"entropy" not in pickle.dumps(laplace)
    assert pickle.loads(pickle.dumps(laplace)) == copy.deepcopy(laplace) == laplace


# Only from the operating system.


def test_other_generators_play_no_part(monkeypatch):
    for name in ("random", "getrandbits", "randint", "randrange", "gauss", "uniform", "randbytes"):
        monkeypatch.setattr(random, name, lambda *_, **__: 0)
    for name in ("random", "normal", "laplace", "randint", "default_rng", "Generator", "bytes", "rand", "seed"):
        monkeypatch.setattr(np.random, name, lambda *_, **__: 0)
    laplace = Laplace(epsilon=Fraction(1, 10**6), sensitivity=1)

    for draw in (
        lambda: laplace(0),
        lambda: int(laplace(np.zeros(1, dtype=int))[0]),
        lambda: discrete_laplace(10**6),
        lambda: discrete_gaussian(10**12),
        lambda: rounded_cauchy(10**6),
    ):
        assert len({draw() for _ in range(20)}) > 15


def test_seeding_the_other_generators_does_not_repeat_the_noise():
    drawn = set()
    for _ in range(20):
        random.seed(1)
        np.random.seed(1)
        drawn.add(discrete_laplace(10**9))

    assert len(drawn) == 20


def modules_of(package):
    yield package
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        yield importlib.import_module(found.name)


def public_callables():
    for package in (discreet.mechanisms, discreet.hazmat):
        for module in modules_of(package):
            for name, item in vars(module).items():
                if name.startswith("_") or not getattr(item, "__module__", "").startswith("discreet"):
                    continue
                if inspect.isfunction(item):
                    yield f"{module.__name__}.{name}", item
                elif inspect.isclass(item) and item is not SeededRandom:
                    yield f"{module.__name__}.{name}", item
                    for method, function in inspect.getmembers(item, inspect.isfunction):
                        if method == "__call__" or not method.startswith("_"):
                            yield f"{module.__name__}.{name}.{method}", function


def parameters_of(function):
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return {}


def test_nothing_that_draws_takes_a_seed():
    seen = dict(public_callables())

    assert len(seen) > 40
    assert [
        name for name, function in seen.items() if {"seed", "random_state", "key"} & set(parameters_of(function))
    ] == []


def test_the_source_is_the_systems_unless_one_is_passed():
    """Every optional rng defaults to None, and None is the system's generator."""
    defaults = {
        name: parameters_of(function)["rng"].default
        for name, function in public_callables()
        if "rng" in parameters_of(function)
    }

    assert {default for default in defaults.values() if default is not inspect.Parameter.empty} == {None}
    assert source(None).secure
    assert source(None) is source(None)


@pytest.mark.parametrize("impostor", [random.Random(1), np.random.default_rng(1), 7, "seed"])
def test_only_a_source_of_ours_is_accepted(impostor):
    with pytest.raises(ParameterError, match="need a RandomSource or None"):
        discrete_laplace(1, rng=impostor)


# Fails closed.


def failing(*_):
    raise OSError("getrandom: no entropy")


@pytest.mark.parametrize("urandom", [failing, lambda size: bytes(size - 1)], ids=["fails", "falls short"])
def test_no_entropy_means_no_draw(monkeypatch, urandom):
    monkeypatch.setattr(entropy.os, "urandom", urandom)
    fresh = SystemRandom()
    monkeypatch.setattr(entropy, "_system", fresh)

    for draw in (
        lambda: fresh.bits(1),
        lambda: fresh.words(1),
        lambda: Laplace(epsilon=1, sensitivity=1)(1000),
        lambda: Laplace(epsilon=1, sensitivity=1)(np.arange(10)),
        lambda: rounded_cauchy(1),
    ):
        with pytest.raises(EntropyError, match="nothing was drawn"):
            draw()


def test_a_key_that_runs_out_is_not_used_on(monkeypatch):
    fresh = SystemRandom()
    fresh.words(10)
    monkeypatch.setattr(entropy.os, "urandom", failing)

    with pytest.raises(EntropyError):
        fresh.words(entropy.REKEY // 8 + 1)
    with pytest.raises(EntropyError):
        fresh.bits(8 * entropy.REKEY + 8 * entropy.BUFFER)


def test_the_source_recovers_when_entropy_returns(monkeypatch):
    fresh = SystemRandom()
    with monkeypatch.context() as broken:
        broken.setattr(entropy.os, "urandom", failing)
        with pytest.raises(EntropyError):
            fresh.bits(64)

    assert fresh.bits(64) != fresh.bits(64)


def test_a_fresh_key_is_drawn_after_every_sixteen_mebibytes(monkeypatch):
    keys, urandom = [], os.urandom

    def counted(size):
        keys.append(urandom(size))
        return keys[-1]

    monkeypatch.setattr(entropy.os, "urandom", counted)
    fresh = SystemRandom()
    for _ in range(5):
        fresh.words(entropy.REKEY // 8)

    assert [len(key) for key in keys] == [48] * 5
    assert len(set(keys)) == 5


def test_negative_counts_are_refused():
    for rng in (SystemRandom(), SeededRandom(1)):
        for draw in (rng.bits, rng.words):
            with pytest.raises(ParameterError, match="need count >= 0, got count=-1"):
                draw(-1)
        assert rng.bits(0) == 0
        assert rng.words(0).size == 0


# Fair bits.


def uniformity(values, cells):
    """The p-value of the values being uniform on 0 .. cells - 1."""
    return stats.chisquare(np.bincount(np.asarray(values, dtype=np.int64), minlength=cells)).pvalue


@pytest.mark.statistical
@pytest.mark.parametrize("count", [1, 3, 7, 8, 9, 12])
def test_bits_are_uniform_at_every_length(count):
    rng = SeededRandom(count)
    values = [rng.bits(count) for _ in range(SAMPLE // 4)]

    assert max(values) < 2**count
    assert uniformity(values, 2**count) > RARE


@pytest.mark.statistical
def test_a_wrong_shift_and_a_biased_remainder_are_caught():
    rng = SeededRandom(3)
    shifted = [rng.bits(8) >> 3 for _ in range(1_000)]  # by 3 instead of 8 - 3, for 3 bits
    remainder = [rng.bits(4) % 7 for _ in range(SAMPLE // 4)]

    assert max(shifted) >= 2**3
    assert uniformity(remainder, 7) < RARE


@pytest.mark.statistical
def test_long_integers_use_all_their_bits():
    rng, runs = SeededRandom(1), 4_000
    ones = np.zeros(131)
    for _ in range(runs):
        value = rng.bits(131)
        ones += [value >> i & 1 for i in range(131)]

    worst = np.abs(ones - runs / 2).max() / math.sqrt(runs / 4)
    assert worst < stats.norm.isf(RARE / (2 * 131))


@pytest.mark.statistical
def test_words_are_uniform_and_independent():
    words = SeededRandom(9).words(SAMPLE)
    bytes_ = words.view(np.uint8)
    pairs = (bytes_[:-1].astype(np.int64) << 8 | bytes_[1:])[::2]

    assert uniformity(bytes_, 256) > RARE
    assert uniformity(pairs, 65536) > RARE


def test_a_seeded_source_repeats_itself_and_says_so():
    one, two, other = SeededRandom(7), SeededRandom(7), SeededRandom(8)

    assert [one.bits(k) for k in range(200)] == [two.bits(k) for k in range(200)]
    assert (one.words(100) == two.words(100)).all()
    assert one.bits(64) != other.bits(64)
    assert SystemRandom.secure
    assert not SeededRandom.secure
