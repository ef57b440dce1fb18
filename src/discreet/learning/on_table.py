"""Estimators on a declared table: at most so many rows of a unit are read, and the promise is for one unit.

Theorem.  Let at most k rows of every unit be kept, chosen by that unit's rows alone.  An estimator that keeps
epsilon / k, or rho / k^2, for one row keeps epsilon, or rho, for one unit added or removed.
Proof: docs/theory/estimators.md.

    model.fit(table, "readmitted")     reads, and charges nobody
    curator.fit(model, table=...)      charges first
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.data.domain import Domain, missing
from discreet.data.engines.choose import engine_for
from discreet.data.engines.integer_sums import IntegerSums
from discreet.data.engines.tables_of_counts import TablesOfCounts
from discreet.data.table import Table
from discreet.errors import DomainError, UnsupportedError
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.release.group import as_event, for_a_unit, for_one_row
from discreet.release.reading import Read, Reading, columns_of, rows_of

if TYPE_CHECKING:
    from discreet.learning.estimator import PrivateEstimator

Model = TypeVar("Model", bound="PrivateEstimator")


def fit_table(model: Model, table: Table, target: str | None, budget: Guarantee, rng: RandomSource | None) -> Model:
    """Fit to a table in its engine, under a budget for one unit added or removed."""
    may_leave(model)
    if table.public:
        raise DomainError("the table is public: there is nothing to protect in it")
    domain = columns_for(table, model, None, target)
    engine = table.engine or engine_for(table.source)
    reading = Reading(table, domain, engine, sets=tables_of(model, domain, target), rounds=model.by_rounds)
    promise = budget.under(AddRemove)
    row = promise
    if table.rows_per_unit > 1:
        if not isinstance(promise, PureDP | ZCDP):
            raise UnsupportedError(f"units of several rows are paid in PureDP or ZCDP, got {budget!r}")
        row = for_one_row(promise, table.rows_per_unit)
    reading.ready()
    return reading.through(lambda data: fit_read(model, data, reading, target, (promise, row), rng))


def may_leave(model: PrivateEstimator) -> None:
    """Refuse a model that holds rows or does not hide them: what is fitted to a table is given away."""
    if not model.hides_rows:
        raise UnsupportedError("this model hides labels, not rows: fit it outside the curator, on public features")
    if model.keeps_rows:
        raise UnsupportedError("a model with queries= holds private rows and stays with them: leave out queries=")


def fit_read(
    model: Model,
    data: Read,
    reading: Reading,
    target: str | None,
    paid: tuple[Guarantee, Guarantee],
    rng: RandomSource | None,
) -> Model:
    """Fit to what was read: `paid` is the promise for one unit, and what one row may cost for that."""
    enough = isinstance(data, TablesOfCounts | IntegerSums)  # for models that need no rows
    rows: Any = data if enough else rows_of(data)
    declared = None if target is None else reading.domain[target]
    promise, row = paid
    model.fit_rows(rows, target=target, declared=declared, budget=row, rng=rng)
    model.guarantee_ = promise
    with suppress(UnsupportedError):
        model.event_ = for_a_unit(model.event_, reading.table.rows_per_unit)
        return model
    model.event_ = as_event(promise)  # a group of such events has no event of its own
    return model


def columns_for(table: Table, model: PrivateEstimator, columns: Sequence[str] | None, target: str | None) -> Domain:
    """The named columns, those of the model's domain, or all; and the target."""
    named = list(model.domain) if columns is None and model.domain is not None else columns
    domain = columns_of(table, named)
    if model.domain is not None:
        for name, declared in model.domain.items():
            if name in domain and domain[name] != declared:
                raise DomainError(f"the table declares column {name!r} otherwise than the model")
    if target is None or target in domain:
        return domain
    if target not in table.domain:
        raise DomainError(missing(target, list(table.domain), what="column"))
    return columns_of(table, [*domain, target])


def tables_of(model: PrivateEstimator, domain: Domain, target: str | None) -> tuple[tuple[str, ...], ...]:
    """The marginal tables that are all a model needs, so that any engine can count them; none for most."""
    needed = getattr(model, "tables", None)
    return () if needed is None else tuple(needed(domain, target))
