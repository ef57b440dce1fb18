"""discreet.hazmat.one_process: one process, one object, one user at a time."""

from __future__ import annotations

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from discreet.errors import UnsupportedError
from discreet.hazmat import one_process
from discreet.hazmat.one_process import OneProcess


class Counted(OneProcess):
    """Three uses."""

    WHAT, INSTEAD = "a count", "make another"

    def __init__(self) -> None:
        self.used = 0

    def use(self) -> int:
        with self._alone():
            seen = self.used
            for _ in range(50):  # long enough for another thread to come between
                pass
            self.used = seen + 1
            return self.used


@dataclass(frozen=True, slots=True)
class Frozen(OneProcess):
    """One that cannot be assigned to."""

    held: list[int] = field(default_factory=list)


def in_a_child(work) -> str:
    """What is raised by `work` in a forked child; "none" if nothing is."""
    inward, out = os.pipe()
    child = os.fork()
    if not child:
        try:
            work()
            said = "none"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(out, said.encode())
        os._exit(0)
    os.close(out)
    os.waitpid(child, 0)
    with os.fdopen(inward) as heard:
        return heard.read()


def test_it_is_refused_in_a_forked_child_and_goes_on_in_the_parent():
    counted = Counted()
    said = in_a_child(counted.use)

    assert said == "UnsupportedError: a count cannot be carried into a forked process; make another"
    assert counted.use() == 1


def test_a_child_is_refused_while_a_thread_of_the_parent_is_at_work():
    """It waits for no lock that nobody will give back."""
    counted = Counted()
    with counted._alone():
        assert "forked" in in_a_child(counted.use)


def test_a_process_that_has_the_makers_number_is_refused_all_the_same(monkeypatch):
    """The numbers of processes come back."""
    counted = Counted()
    monkeypatch.setattr(one_process, "_mark", object())
    with pytest.raises(UnsupportedError, match="forked"):
        counted.use()


def test_a_fork_that_python_did_not_make_is_seen_by_its_number(monkeypatch):
    counted = Counted()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(UnsupportedError, match="forked"):
        counted.use()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("kind", [Counted, Frozen])
def test_it_cannot_be_duplicated(kind, duplicate):
    with pytest.raises(UnsupportedError, match="cannot be copied or pickled"):
        duplicate(kind())


def test_threads_use_it_one_after_another():
    counted = Counted()
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: counted.use(), range(2000)))

    assert sorted(seen) == list(range(1, 2001))


def test_what_is_made_in_a_child_is_the_childs():
    assert in_a_child(lambda: Counted().use()) == "none"
