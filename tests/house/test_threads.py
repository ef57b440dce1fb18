"""discreet.threads: who needs one thread is counted, and no small solver wakes the others.

Wakes are counted, not seconds: the kernel keeps how often each thread of a process went to sleep.
"""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its library is counted too
from threadpoolctl import ThreadpoolController, threadpool_limits

from discreet.threads import SMALL, one_thread, threads_by, threads_for

LIBRARIES = ThreadpoolController().select(user_api="blas")


def threads():
    return {library.num_threads for library in LIBRARIES.lib_controllers}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_one_inside_and_what_was_before_afterwards():
    with one_thread():
        inside = threads()

    assert (inside, threads()) == ({1}, {2})


def test_nested_ones_end_with_the_outermost():
    with one_thread():
        with one_thread():
            pass
        between = threads()

    assert (between, threads()) == ({1}, {2})


def test_a_failure_inside_restores_what_was():
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018 - the failure

    assert threads() == {2}


def test_two_that_overlap_restore_what_the_first_found():
    def overlapping(limited):
        entered, left = threading.Event(), threading.Event()

        def second():
            with limited():
                entered.set()
                left.wait()

        other = threading.Thread(target=second)
        with limited():
            other.start()
            entered.wait()
        left.set()
        other.join()
        return threads()

    assert overlapping(one_thread) == {2}


def test_a_forked_child_counts_itself_alone():
    """The thread that was inside is not in the child: its first use there must not be its last."""
    entered, done = threading.Event(), threading.Event()

    def inside():
        with one_thread():
            entered.set()
            done.wait()

    other = threading.Thread(target=inside)
    other.start()
    entered.wait()
    child = os.fork()
    if not child:
        with one_thread():
            pass
        os._exit(0 if threads() == {2} else 1)
    done.set()
    other.join()

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_large_problems_keep_all_threads():
    with threads_for(SMALL + 1):
        large = threads()
    seen = threads_by(lambda rows: rows.size)(lambda rows: threads())

    assert large == {2}
    assert (seen(np.zeros(SMALL)), seen(np.zeros(SMALL + 1))) == ({1}, {2})


def test_importing_the_package_sets_nothing():
    code = (
        "import numpy, scipy.linalg\nfrom threadpoolctl import threadpool_info\nbefore = threadpool_info()\n"
        "import discreet.bounds, discreet.attacks, discreet.release\nassert threadpool_info() == before"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


WAKES = '''
import os, threading
import numpy as np
import scipy.linalg

def asleep():
    """How often the other threads of this process went to sleep, once all of them do: each wake ends so."""
    others = [name for name in os.listdir("/proc/self/task") if int(name) != threading.get_native_id()]
    read = lambda name: open(f"/proc/self/task/{name}/status").read()
    while any("State:\\tS" not in read(name) for name in others):
        os.sched_yield()
    return sum(int(read(name).split("\\nvoluntary_ctxt_switches:")[1].split()[0]) for name in others)

rng = np.random.default_rng(0)
bits = rng.integers(0, 2, (100, 100))
from discreet.attacks.codes.tardos_length import tardos_length
from discreet.attacks.reconstruction.least_deviations import least_deviations
from discreet.attacks.trained import LinearScore
from discreet.bounds.discrepancy_vector import vector_bound
from discreet.bounds.discrepancy_walk import edge_walk
from discreet.data import Domain, Integer
from discreet.local.factors import factors_of
from discreet.privacy import ZCDP
from discreet.queries.written import Dense
from discreet.release.factorization import Factorization
from discreet.release.gamma2 import gamma2
from discreet.release.strategies_pure import overlay
from discreet.structured.parities.correlation import nearest_correlation
noise = rng.normal(size=(100, 100))
SOLVERS = {
    "vector_bound": lambda: vector_bound(bits[:40], 100, enough=1),
    "edge_walk": lambda: edge_walk(bits, 100, starts=1),
    "gamma2": lambda: gamma2(bits, tolerance=0.05),
    "tardos_length": lambda: tardos_length(3, innocent=0.01, miss=0.1),
    "least_deviations": lambda: least_deviations(bits.astype(np.uint8), bits @ bits[0] + noise[0]),
    "nearest_correlation": lambda: nearest_correlation(noise),
    "overlay": lambda: overlay(np.eye(100)),
    "factors": lambda: factors_of(bits[:40, :40]),
    "Factorization": lambda: Factorization(Dense(bits[:40], Domain({"x": Integer(0, 99)})), budget=ZCDP(1)).variances(),
    "LinearScore": lambda: LinearScore.learn(noise, noise + 1),
    "products": lambda: [bits.astype(float) @ noise for _ in range(20)],
}
for name, solve in SOLVERS.items():
    before = asleep()
    solve()
    print(name, asleep() - before)
'''


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="the kernel does not count wakes")
def test_no_small_solver_wakes_another_thread():
    """The twin is the same products outside of every solver."""
    env = os.environ | {"OPENBLAS_NUM_THREADS": "4", "OPENBLAS_THREAD_TIMEOUT": "4"}  # they do not wait awake
    done = subprocess.run([sys.executable, "-c", WAKES], capture_output=True, text=True, check=True, env=env)
    wakes = {name: int(count) for name, count in (line.split() for line in done.stdout.splitlines())}

    assert wakes.pop("products") > 0
    assert set(wakes.values()) == {0}, wakes
