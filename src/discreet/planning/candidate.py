"""What the planner chooses among: ways to build a release mechanism, and what they cost to run.

A candidate is a name, a function that builds the mechanism (an `UnsupportedError` says why it does not apply) and a
forecast of seconds and memory.  `register` adds one of your own: the planner then predicts its error as it does for
the others, from `variances()` and `accuracy()` where it has them and by simulation where it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import Guarantee
from discreet.queries.workload import Workload
from discreet.release.release import Release


class ReleaseMechanism(Protocol):
    """Anything that is called on data and returns a `Release`, and knows what it promises."""

    def __call__(self, data: object, /, *, rng: RandomSource | None = None) -> Release: ...

    def privacy(self) -> Guarantee: ...

    def accuracy(self, beta: float = 0.05) -> float: ...


@dataclass(frozen=True, slots=True)
class Cost:
    """A forecast for two ordinary cores: seconds and bytes of memory to run; seconds to build it and state its error.

    It is a function of public sizes, and made before anything is built: the planner looks at what it has time for.

    >>> Cost(seconds=0.1, memory=1e6)
    Cost(seconds=0.1, memory=1000000.0, planning=0.0)
    """

    seconds: float
    memory: float
    planning: float = 0.0


Build = Callable[[Workload, Guarantee, int | None], ReleaseMechanism]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One way to release a workload.

    `build(workload, budget, n)` gets the public n, or None where one row may be added or removed.  `improved` says
    that answers are improved afterwards in a way that depends on the data (made non-negative, say), so that a
    simulation tells more than the variances.

    >>> Candidate(name="mine", build=lambda workload, budget, n: None, cost=lambda workload: Cost(1e-3, 1e6)).improved
    False
    """

    name: str
    build: Build
    cost: Callable[[Workload], Cost]
    improved: bool = False


_registered: dict[str, Candidate] = {}


def register(candidate: Candidate) -> Candidate:
    """Let the planner consider a mechanism of your own; its privacy is your own claim.

    >>> from discreet.release import IndependentNoise
    >>> mine = Candidate(
    ...     name="my noise",
    ...     build=lambda workload, budget, n: IndependentNoise(workload, budget=budget, n=n),
    ...     cost=lambda workload: Cost(1e-3, 1e6),
    ... )
    >>> register(mine).name
    'my noise'
    >>> unregister("my noise")
    """
    require(isinstance(candidate, Candidate), "a Candidate", candidate=type(candidate).__name__)
    from discreet.planning.builtin import BUILTIN

    if candidate.name in _registered or candidate.name in {one.name for one in BUILTIN}:
        raise ParameterError(f"there is a mechanism called {candidate.name!r} already")
    _registered[candidate.name] = candidate
    return candidate


def unregister(name: str) -> None:
    """Forget a registered mechanism.

    >>> unregister("nobody's")
    Traceback (most recent call last):
    discreet.errors.ParameterError: need a registered mechanism among [], got name="nobody's"
    """
    require(name in _registered, f"a registered mechanism among {sorted(_registered)}", name=name)
    del _registered[name]


def candidates() -> tuple[Candidate, ...]:
    """All mechanisms: those that come with the library and those registered.

    >>> "Factorization" in {one.name for one in candidates()}
    True
    """
    from discreet.planning.builtin import BUILTIN

    return (*BUILTIN, *_registered.values())
