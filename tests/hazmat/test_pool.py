"""discreet.hazmat.pool: a draw is handed out once, in whichever thread or process."""

import copy
import pickle
import subprocess
import sys
import threading
from collections import Counter
from itertools import count

import pytest

from discreet.errors import EntropyError
from discreet.hazmat import entropy
from discreet.hazmat.entropy import SystemRandom
from discreet.hazmat.pool import BATCH, Pool
from discreet.hazmat.samplers import discrete_gaussian, discrete_laplace, geometric
from tests.scale import counts

WORKERS = counts(quick=8, full=64)


def numbered():
    """A pool whose draws are 0, 1, 2, ..., so that each can be told from all others."""
    numbers = count()
    return Pool(lambda size: [next(numbers) for _ in range(size)])


def test_every_draw_is_handed_out_once():
    pool = numbered()

    assert sorted(pool.take() for _ in range(10 * BATCH)) == list(range(10 * BATCH))


def test_threads_share_a_pool():
    pool, taken, old = numbered(), [], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: taken.append([pool.take() for _ in range(3_000)])) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(old)

    assert max(Counter(number for some in taken for number in some).values()) == 1


FORKS = """
import ctypes, os, sys
from discreet.hazmat.samplers import discrete_laplace

how, workers = sys.argv[1], int(sys.argv[2])
draw = lambda: discrete_laplace(2**100)  # two of these agree with probability about 2^-100
first = draw()  # the parent's pool is full
fork = ctypes.CDLL(None).fork if how == "behind python's back" else os.fork
pipes = []
for worker in range(workers):
    read, write = os.pipe()
    if fork() == 0:
        os.write(write, " ".join(str(draw()) for _ in range(100)).encode())
        os._exit(0)
    os.close(write)
    pipes.append(read)
drawn = [first] + [draw() for _ in range(100)]
for read in pipes:
    with os.fdopen(read) as pipe:
        drawn += map(int, pipe.read().split())
for _ in pipes:
    os.wait()
print(len(drawn), len(drawn) - len(set(drawn)))
"""


@pytest.mark.parametrize("how", ["through python", "behind python's back"])
def test_forked_workers_never_take_the_same_draw(how):
    arguments = [sys.executable, "-c", FORKS, how, str(WORKERS)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=600)

    assert done.stdout.split() == [str(100 * WORKERS + 101), "0"]


def test_a_new_generation_empties_the_pool(monkeypatch):
    """A twin that only pops would go on with number 254."""
    pool = numbered()
    first = pool.take()
    monkeypatch.setattr(entropy, "_system", SystemRandom())

    assert first == BATCH - 1
    assert pool.take() >= BATCH


def test_a_fork_in_the_middle_of_a_batch_throws_it_away():
    forked = []

    def draw(size):
        if not forked:
            forked.append(1)
            entropy.system()._after_fork()
            return [-1] * size
        return list(range(size))

    assert Pool(draw).take() >= 0


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_pool_cannot_be_copied(duplicate):
    with pytest.raises(EntropyError, match="cannot be pickled or copied"):
        duplicate(numbered())


def test_no_entropy_means_no_draw_even_from_a_full_pool(monkeypatch):
    """A generator that has lost its key has a new generation, so old draws are not used up."""
    discrete_laplace(3)

    def failing(size):
        raise OSError("no entropy")

    monkeypatch.setattr(entropy.os, "urandom", failing)
    monkeypatch.setattr(entropy, "_system", SystemRandom())

    for draw in (discrete_laplace, discrete_gaussian, geometric):
        with pytest.raises(EntropyError, match="nothing was drawn"):
            draw(3)
