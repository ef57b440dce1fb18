"""The walk of synthetic data: settle the synthesizer, spend, read, fit; a failure after the spend is still paid for.

Theorem.  Let at most k rows of every unit be read, chosen by that unit's rows alone.  A synthesizer whose noise is for
units of k rows then keeps its whole budget for one unit added or removed, and rows drawn from its model cost nothing
more.  Proof: docs/theory/synthesis.md.

An (epsilon, delta) budget is spent on the largest rho that implies it, because the ledger adds up rho.

A run with a checkpoint that was stopped before its model was stored goes on, under the charge that is named in the file
and for no other: what was drawn and not saved died with the run, so that each round is released once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.composition.price import Price
from discreet.curator.plan import PLANNER, lane_of, spending_of
from discreet.curator.release_run import guarded, private
from discreet.data.canonical import digest
from discreet.data.columns import Text
from discreet.data.engines.choose import engine_for
from discreet.data.engines.tables_of_counts import TablesOfCounts
from discreet.data.records import Records
from discreet.errors import DomainError, ParameterError, UnsupportedError, require
from discreet.ledger.request import Receipt, receipt_of
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.privacy.number import Number
from discreet.queries.workload import Workload
from discreet.release.once import remove
from discreet.release.reading import Read, Reading, columns_of, rows_of
from discreet.synthesis.stored import from_bytes, load_progress, mark_of, settings_of, to_bytes
from discreet.synthesis.synthesizer import Method, Synthesizer

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.declared import Declared
    from discreet.data.domain import Domain
    from discreet.data.table import Table
    from discreet.privacy.guarantee import Guarantee
    from discreet.synthesis.synthetic import Synthetic

SETTINGS = (
    "rounds",
    "cells",
    "memory",
    "time_limit",
    "bins",
    "most",
    "zeros",
)  # of a synthesizer, for anyone to choose
RUN = ("progress", "checkpoint")  # of the fit, which change nothing of what is made


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """What is to be made, from which table, at which price: public facts only."""

    name: str
    reading: Reading
    synthesizer: Synthesizer
    cost: Price

    def key(self) -> str:
        """What makes two of them the same; how many rows are drawn does not matter."""
        table, made = self.reading.table, self.synthesizer
        return digest(
            "synthesis",
            made,
            settings_of(made),
            self.cost,
            [self.name, table.unit, table.version, table.rows_per_unit],
            PLANNER,
        )

    def text(self) -> str:
        """What was asked, of whom and how, for the ledger."""
        table, made = self.reading.table, self.synthesizer
        who = "row" if table.unit is None else f"{table.unit} with at most {table.rows_per_unit} rows"
        promise = f"{made.privacy()!r} for one {who} added or removed"
        return f"SYNTHESIZE {self.name} BY {made.method}; {promise}; {', '.join(made.domain)}"[:5000]


def synthesize(
    curator: Curator,
    *,
    table: str,
    columns: Sequence[str] | None,
    workload: Workload | None,
    epsilon: Number | None,
    budget: Guarantee | None,
    method: Method,
    rows: int | None,
    analyst: str | None,
    fresh: bool,
    settings: Mapping[str, object],
) -> Synthetic:
    """One fitted model, or the same one again."""
    if rows is not None:
        require(isinstance(rows, int) and not isinstance(rows, bool) and rows >= 1, "an integer rows >= 1", rows=rows)
    run = {name: value for name, value in settings.items() if name in RUN}
    order = ordered(
        curator,
        table=table,
        columns=columns,
        workload=workload,
        epsilon=epsilon,
        budget=budget,
        method=method,
        settings={name: value for name, value in settings.items() if name not in RUN},
    )
    key, synthesizer, reading = order.key(), order.synthesizer, order.reading
    checkpoint = _file(run.get("checkpoint"), method)
    with curator.ledger.turn(key, analyst=analyst):
        stored = None if fresh else curator.ledger.recall(key, analyst=analyst)
        if stored is None:
            reading.ready()  # a missing file or column is free
        receipt = (
            None if checkpoint is None or stored is not None else _owed(curator, checkpoint, order, analyst, fresh)
        )
        if receipt is not None:
            curator.ledger.resume(receipt)
        else:
            receipt, stored = curator._charge(
                order.cost, [table], text=order.text(), key=key, analyst=analyst, fresh=fresh
            )
        if stored is None:
            fit = {"rng": curator._rng, "progress": run.get("progress", False)}
            fit |= {} if checkpoint is None else {"checkpoint": checkpoint, "mark": receipt.hash}
            made = guarded(lambda: reading.through(lambda data: synthesizer.fit(_rows(data), **fit)))
            curator._keep(receipt, to_bytes(made), ends=checkpoint is not None)
            if checkpoint is not None:
                remove(checkpoint)
        else:
            made = from_bytes(stored, synthesizer)
    return replace(made, wanted=rows, receipt=receipt)


def ordered(
    curator: Declared,
    *,
    table: str,
    columns: Sequence[str] | None = None,
    workload: Workload | None = None,
    epsilon: Number | None = None,
    budget: Guarantee | None = None,
    method: Method = "adaptive",
    settings: Mapping[str, object] = MappingProxyType({}),
) -> Order:
    """What would be made and at which price, from public facts: what cannot be made is refused here."""
    if workload is not None and not isinstance(workload, Workload):
        raise ParameterError(f"need a Workload, such as marginals(domain, 2), got {type(workload).__name__}")
    held = private(curator, table)
    domain = columns_for(held, columns, workload)
    paid, cost = lane_of(spending_of(epsilon, budget))
    synthesizer = _synthesizer(held, domain, paid, workload, method, settings)
    return Order(table, _reading(curator, table, synthesizer), synthesizer, cost)


def _reading(curator: Declared, table: str, synthesizer: Synthesizer) -> Reading:
    """The columns on the engine: rows or cells, or on other engines the tables that may be measured, in intervals."""
    held, encoding = private(curator, table), synthesizer.encoding
    engine = held.engine or curator._engine or engine_for(held.source)
    alone = tuple((name,) for name in encoding.coarse)
    sets = () if synthesizer.method == "mwem" else (*alone, *synthesizer.weights)
    return Reading(held, encoding.domain, engine, sets=sets, coarse=encoding.coarse, cuts=encoding.cuts)


def _file(given: object, method: Method) -> Path | None:
    """Where a stopped run may go on from."""
    if given is None:
        return None
    require(isinstance(given, str | Path), "a path for the checkpoint", checkpoint=type(given).__name__)
    require(method != "mwem", "no checkpoint for mwem, whose runs are short", method=method)
    return Path(given)  # type: ignore[arg-type]


def _owed(curator: Curator, checkpoint: Path, order: Order, analyst: str | None, fresh: bool) -> Receipt | None:  # noqa: FBT001 - as it was asked
    """The charge that paid for a checkpoint whose model was never stored; None where there is no file yet.

    A file of another order, an edited one, or one beside a wish for a fresh model, is refused before anything is paid
    or read.
    """
    if not checkpoint.exists():
        return None
    mark, key = mark_of(checkpoint), order.key()
    if mark is not None and not fresh:
        last = None
        for entry in curator.ledger.entries():
            record = entry.record
            if record["kind"] == "spend" and (record["key"], record["analyst"]) == (key, analyst):
                last = entry
        if last is not None and last.hash == mark:
            load_progress(checkpoint, order.synthesizer, mark=mark)
            return receipt_of(last)
    raise ParameterError(f"the checkpoint {str(checkpoint)!r} was paid for by another order; take another file")


def columns_for(table: Table, columns: Sequence[str] | None, workload: Workload | None) -> Domain:
    """The named columns, those of the workload, or all: identifiers and the unit are left out, text is refused."""
    if columns is None and workload is not None:
        return workload.domain
    named = table.domain if columns is None else columns
    for name, declared in table.domain.items():
        if isinstance(declared, Text) and name != table.unit and name in named:
            rest = list(columns_of(table))
            raise DomainError(f"column {name!r} is text, of which no rows can be made up; name others: columns={rest}")
    return columns_of(table, columns)


def _synthesizer(
    table: Table,
    domain: Domain,
    budget: PureDP | ZCDP,
    workload: Workload | None,
    method: Method,
    settings: Mapping[str, object],
) -> Synthesizer:
    """Built and held to what it was given; bad settings are refused before anything is paid."""
    for name in settings:
        if name not in SETTINGS:
            raise ParameterError(f"need settings among {', '.join((*SETTINGS, *RUN))}, got {name!r}")
    given = {"workload": workload, "method": method, "rows_per_unit": table.rows_per_unit, **settings}
    made = Synthesizer(domain, budget=budget, **given)
    if made.zeros:
        made.encoding.within(made.zeros)
    if made.privacy() != budget:
        raise UnsupportedError(f"the synthesizer promises {made.privacy()!r}; {budget!r} is needed")
    return made


def _rows(data: Read) -> Records | TablesOfCounts:
    """Rows, where an engine counted the cells; tables as they are."""
    return data if isinstance(data, TablesOfCounts) else rows_of(data)
