"""What a child may take: memory, processor time, and nothing of its parent's secrets.

Limits are public numbers, set by the child on itself before its first order, and kept by the kernel.  Address space
is limited to what the idle child has mapped and the memory of its settings: libraries reserve far more than they use.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
from pathlib import Path

LARGEST_FILE = 64 * 2**30  # bytes; the ledger is one of them
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_KEPT = ("PATH", "LANG", "TZ", "HOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH", "SSL_CERT_FILE")
_KEPT_PREFIXES = ("LC_", "NUMBA_", "PG")  # PG: how the ledger's and the data's server is reached


def environment() -> dict[str, str]:
    """The environment of children: how to run, and none of the parent's secrets.

    >>> "PATH" in environment(), "DISCREET_TOKEN" in environment()
    (True, False)
    """
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return single | kept | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}


def alone() -> None:
    """Leave no core file, write no endless one, and end with the parent."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    ctypes.CDLL(None, use_errno=True).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    os.umask(0o077)


def confine(megabytes: int) -> None:
    """Take no more memory than this beyond what is mapped now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def allow(seconds: float | None) -> None:
    """Let the order that comes next use so much processor time, and end the process if it uses more."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    soft = resource.RLIM_INFINITY if seconds is None else math.ceil(used + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
