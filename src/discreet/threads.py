"""How many threads dense linear algebra runs on: one while a small problem is solved, all the process has elsewhere.

A product of two 100 x 100 matrices takes some ten microseconds, and waking a thread takes as long.  Solvers that make
thousands of such products on all cores spend nearly all their time waiting for one another, and on a machine that is
busy anyway they slow everything else too.  The results do not change: only who computes them.

The number of threads belongs to the process, not to whoever sets it.  So it is counted who needs one: the first lowers
it, the last restores what the first had found, in whatever order they end and in whichever threads they run.  Nothing
is set when a module is imported.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import LibController

P = ParamSpec("P")
R = TypeVar("R")

SMALL = 1 << 18  # entries of a matrix whose products gain little from a second core


class _Gate:
    """Who runs on one thread now, over the whole process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mine = _Mine()
        self._inside = 0
        self._before: list[tuple[LibController, int]] = []
        self._shared: list[LibController] = []  # libraries with one number for the process
        self._own: list[LibController] = []  # and those with one for each thread (OpenMP)
        self._found = False

    def forget(self) -> None:
        """In a forked child, which has one thread: those who were inside in others are gone."""
        self._lock = threading.Lock()
        self._inside = self._mine.depth

    def enter(self) -> None:
        with self._lock:
            self._find()
            if not self._inside and not self._before:
                self._before = _lowered(self._shared)
            self._inside += 1
        if not self._mine.depth:
            self._mine.before = _lowered(self._own)
        self._mine.depth += 1

    def leave(self) -> None:
        self._mine.depth -= 1
        if not self._mine.depth:
            _restore(self._mine.before)
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _restore(self._before)
                self._before = []

    def _find(self) -> None:
        if self._found:
            return
        # numpy and scipy bring a library each: one that is loaded later would not be lowered.
        import numpy as np  # noqa: F401
        import scipy.linalg  # noqa: F401
        from threadpoolctl import ThreadpoolController

        for library in ThreadpoolController().select(user_api="blas").lib_controllers:
            each = getattr(library, "threading_layer", None) == "openmp"
            (self._own if each else self._shared).append(library)
        self._found = True


class _Mine(threading.local):
    """How deep this thread is inside, and what its own libraries had."""

    depth: int = 0
    before: Sequence[tuple[LibController, int]] = ()


def _lowered(libraries: list[LibController]) -> list[tuple[LibController, int]]:
    before = [(library, library.num_threads or 1) for library in libraries]
    _restore([(library, 1) for library in libraries])
    return before


def _restore(counts: Sequence[tuple[LibController, int]]) -> None:
    for library, count in counts:
        # threadpoolctl lets the first thread that set a number set it again, and nobody else: here the last one does.
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)
        library.set_num_threads(count)
        if release is not None:
            release(force=True)


_GATE = _Gate()
os.register_at_fork(after_in_child=_GATE.forget)


@contextmanager
def one_thread() -> Iterator[None]:
    """Dense linear algebra on one thread inside; what was before comes back when the last one has left.

    >>> from threadpoolctl import threadpool_info
    >>> with one_thread():
    ...     {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    {1}
    """
    _GATE.enter()
    try:
        yield
    finally:
        _GATE.leave()


def threads_for(entries: int) -> AbstractContextManager[None]:
    """One thread where the largest matrix has at most `SMALL` entries; all that there are for larger ones.

    >>> with threads_for(100 * 100):
    ...     pass
    """
    return one_thread() if entries <= SMALL else nullcontext()


def threads_by(entries: Callable[..., int]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same for a whole solver: `entries` tells the size of the largest matrix from its arguments.

    >>> threads_by(lambda rows: len(rows) ** 2)(sum)([1, 2])
    3
    """

    def decorate(solve: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(solve)
        def limited(*args: P.args, **kwargs: P.kwargs) -> R:
            with threads_for(entries(*args, **kwargs)):
                return solve(*args, **kwargs)

        return limited

    return decorate
