"""The walk of synthetic data: settle the synthesizer, spend, read, fit; a failure after the spend is still paid for.

Theorem.  Let at most k rows of every unit be read, chosen by that unit's rows alone.  A synthesizer whose noise is for
units of k rows then keeps its whole budget for one unit added or removed, and rows drawn from its model cost nothing
more.  Proof: docs/theory/synthesis.md.

An (epsilon, delta) budget is spent on the largest rho that implies it, because the ledger adds up rho.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.composition.price import Price, price
from discreet.curator.plan import PLANNER, rho_of, spending_of
from discreet.curator.reading import Reading, columns_of
from discreet.curator.release_run import guarded, private
from discreet.data.columns import Text
from discreet.data.histogram import Histogram
from discreet.data.records import Records
from discreet.errors import DomainError, ParameterError, UnsupportedError, require
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact
from discreet.queries.workload import Workload
from discreet.synthesis.stored import from_bytes, settings_of, to_bytes
from discreet.synthesis.synthesizer import Method, Synthesizer

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.data.domain import Domain
    from discreet.data.engines.tables_of_counts import TablesOfCounts
    from discreet.data.table import Table
    from discreet.privacy.guarantee import Guarantee
    from discreet.synthesis.synthetic import Synthetic

SETTINGS = ("rounds", "cells", "time_limit", "bins", "most", "zeros")  # of a synthesizer, which anyone may choose


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
        parts = [
            "synthesis",
            settings_of(made),
            str(made.time_limit),
            [str(self.cost.epsilon), str(self.cost.rho), str(self.cost.delta)],
            [self.name, table.unit, table.version, table.rows_per_unit],
            PLANNER,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

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
    if workload is not None and not isinstance(workload, Workload):
        raise ParameterError(f"need a Workload, such as marginals(domain, 2), got {type(workload).__name__}")
    held = private(curator, table)
    domain = columns_for(held, columns, workload)
    paid, cost = lane(epsilon, budget)
    reading = curator._reading(domain, table)  # an engine that cannot read it is refused here
    synthesizer = _synthesizer(held, domain, paid, workload, method, settings)
    order = Order(table, reading, synthesizer, cost)
    key = order.key()
    with curator.ledger.turn(key, analyst=analyst):
        if fresh or curator.ledger.recall(key, analyst=analyst) is None:
            reading.ready()  # a missing file or column is free
        receipt, stored = curator._charge(cost, [table], text=order.text(), key=key, analyst=analyst, fresh=fresh)
        if stored is None:
            made = guarded(lambda: reading.through(lambda data: synthesizer.fit(_rows(data), rng=curator._rng)))
            curator.ledger.store(receipt, to_bytes(made))
        else:
            made = from_bytes(stored, synthesizer)
    return replace(made, wanted=rows, receipt=receipt)


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


def lane(epsilon: Number | None, budget: Guarantee | None) -> tuple[PureDP | ZCDP, Price]:
    """What the synthesizer may spend for one unit, and the same as a price."""
    spending = spending_of(epsilon, budget)
    rho = rho_of(spending)
    if rho is not None:
        return ZCDP(rho, neighbours=AddRemove), Price(None, rho, exact(0))
    assert not isinstance(spending, ZCDP)
    pure = PureDP(spending.epsilon, neighbours=AddRemove)
    return pure, price(pure)


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
            raise ParameterError(f"need settings among {', '.join(SETTINGS)}, got {name!r}")
    given = {"workload": workload, "method": method, "rows_per_unit": table.rows_per_unit, **settings}
    made = Synthesizer(domain, budget=budget, **given)
    if made.zeros:
        made.encoding.within(made.zeros)
    if made.privacy() != budget:
        raise UnsupportedError(f"the synthesizer promises {made.privacy()!r}; {budget!r} is needed")
    return made


def _rows(data: Histogram | Records | TablesOfCounts) -> Records:
    """Rows, where an engine counted the cells."""
    import numpy as np

    if isinstance(data, Records):
        return data
    assert isinstance(data, Histogram)
    cells = np.asarray(data.counts, dtype=np.int64)
    flat = np.repeat(np.arange(cells.size), cells.reshape(-1))
    return Records(data.domain, list(np.unravel_index(flat, cells.shape)))
