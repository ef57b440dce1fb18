"""The walk of a release and of a session: plan, spend, read, draw; a failure after the spend is still paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from discreet.curator.batch import batch, lanes
from discreet.curator.plan import spending_of
from discreet.curator.session import Session
from discreet.data.domain import missing
from discreet.data.engines.results import logged
from discreet.errors import DiscreetError, DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.queries.workload import Workload
from discreet.release.errors import Errors
from discreet.release.online import PrivateMultiplicativeWeights
from discreet.release.reading import Reading, columns_of, sets_of
from discreet.release.release import Release
from discreet.release.stored import from_bytes, to_bytes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.curator.batch import Choice
    from discreet.curator.curator import Curator
    from discreet.curator.declared import Declared
    from discreet.data.table import Table

Made = TypeVar("Made")


class SimilarRelease(Protocol):
    """What is like a release and has more to it, such as quantiles."""

    @property
    def workload(self) -> Workload: ...

    @property
    def answers(self) -> npt.NDArray[np.float64]: ...

    @property
    def errors(self) -> Errors: ...

    def privacy(self) -> Guarantee: ...


def run(
    curator: Curator,
    workload: Workload,
    *,
    table: str,
    price: dict[str, object],
    mechanism: Choice,
    n: int | None,
    analyst: str | None,
    fresh: bool,
) -> Release:
    """One release, or the same one again."""
    if not isinstance(workload, Workload):
        raise ParameterError(f"need a Workload, such as marginals(domain, 2), got {type(workload).__name__}")
    private(curator, table)
    reading = curator._reading(workload.domain, table, sets=sets_of(workload))
    step = batch(workload, table, reading, mechanism=mechanism, n=n, **price)  # type: ignore[arg-type]
    built = None if step.named else step.mechanism()
    key = step.key(built)
    with curator._turn(key, analyst=analyst):
        stored = None if fresh else curator._recall(key, analyst=analyst)
        ready = built or (step.mechanism() if stored is None else None)
        if stored is None:
            _fits(reading, ready)
            reading.ready()  # a missing file or column is free
        item = step.cost if ready is None else step.item(ready)
        receipt, stored = curator._charge(item, [table], text=step.text(), key=key, analyst=analyst, fresh=fresh)
        if stored is not None:
            return replace(from_bytes(stored), receipt=receipt)
        assert ready is not None
        made = guarded(lambda: reading.through(lambda data: _plain(ready(data, rng=curator._rng))))
        release = replace(made, guarantee=step.promise, receipt=receipt)
        curator._keep(receipt, to_bytes(release))
    return release


def open_session(
    curator: Curator,
    *,
    table: str,
    columns: Sequence[str] | None,
    budget: Guarantee,
    queries: int,
    beta: float,
    analyst: str | None,
) -> Session:
    """Pay, read once, and answer from then on."""
    held = private(curator, table)
    domain = columns_of(held, columns)
    spending = spending_of(None, budget)
    if not isinstance(spending, PureDP):
        raise UnsupportedError(
            "a session stays open beside other questions, which is proven safe for pure budgets: pass PureDP(epsilon)"
        )
    ((row, cost),) = lanes(spending, held.rows_per_unit)
    reading = curator._reading(domain, table, whole=True)
    weights = PrivateMultiplicativeWeights(domain, budget=row, queries=queries, n=held.n or None, beta=beta)
    reading.ready()
    text = f"SESSION OF {queries} QUESTIONS ON {', '.join(domain)} FROM {table}"[:5000]
    receipt, _ = curator._charge(cost, [table], text=text, key=None, analyst=analyst, fresh=True)
    rng: RandomSource | None = curator._rng
    online = guarded(lambda: reading.through(lambda data: weights.open(data, rng=rng)))
    return Session(online, replace(spending, neighbours=AddRemove), receipt)


def guarded(work: Callable[[], Made]) -> Made:
    """Read and draw.  A failure here may depend on private rows: all of them say the same, and stay paid for."""
    try:
        return work()
    except Exception as error:
        mark = logged("release", error)
    raise DiscreetError(f"the run failed; see the operator log, reference {mark}")


def _plain(made: Release | SimilarRelease) -> Release:
    """Answers, promise and errors of whatever a mechanism returned."""
    if isinstance(made, Release):
        return made
    return Release(workload=made.workload, answers=made.answers, guarantee=made.privacy(), errors=made.errors)


def _fits(reading: Reading, mechanism: object) -> None:
    """Tables that an engine counts one by one may keep other rows of a unit each: not every proof allows that."""
    from discreet.release.independent import IndependentNoise
    from discreet.structured.marginals.marginal_release import MarginalRelease

    if reading.by_tables and not isinstance(mechanism, IndependentNoise | MarginalRelease):
        raise UnsupportedError(
            f"this engine counts the tables of so large a universe one by one, which {type(mechanism).__name__}"
            " cannot use; pass mechanism=MarginalRelease"
        )


def private(curator: Declared, name: str) -> Table:
    """The table of this name, with people in it to protect."""
    if name not in curator.tables:
        raise DomainError(missing(name, list(curator.tables), what="table"))
    if curator.tables[name].public:
        raise DomainError(f"table {name!r} is public: there is nothing to protect in it")
    return curator.tables[name]
