"""The walk of synthetic data for linked tables: settle the models, spend once, read, fit; failures stay paid for.

Theorem.  Let the tables have one unit, and let at most one row of it in the first table and k_t in each other be read,
chosen by that unit's rows alone.  One charge of the budget pays for the models of all tables, for one unit added or
removed with all its rows.  Proof: docs/theory/synthesis.md.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.composition.price import Price
from discreet.curator.plan import PLANNER, lane_of, spending_of
from discreet.curator.release_run import guarded, private
from discreet.curator.synthesis_run import columns_for
from discreet.data.canonical import digest
from discreet.data.engines import linked_positions
from discreet.data.engines.choose import engine_for
from discreet.data.engines.duckdb import DuckDB
from discreet.errors import DomainError, ParameterError, UnsupportedError, require
from discreet.privacy.number import Number
from discreet.synthesis.linked import LinkedSynthesizer
from discreet.synthesis.linked_synthetic import LinkedSynthetic
from discreet.synthesis.stored import from_bytes, settings_of, to_bytes
from discreet.synthesis.synthesizer import Method

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.data.table import Table
    from discreet.privacy.guarantee import Guarantee

SETTINGS = ("cells", "memory", "time_limit", "most")  # of a linked synthesizer, which anyone may choose


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """What is to be made, from which tables, at which price: public facts only."""

    tables: Mapping[str, Table]
    engine: DuckDB
    synthesizer: LinkedSynthesizer
    cost: Price

    @property
    def unit(self) -> str:
        """Whose rows they are."""
        found = next(iter(self.tables.values())).unit
        assert found is not None
        return found

    def key(self) -> str:
        """What makes two of them the same; how many units are drawn does not matter."""
        return digest(
            "linked synthesis",
            self.synthesizer,
            [[name, settings_of(one)] for name, one in self.synthesizer.synthesizers().items()],
            self.cost,
            [[name, table.unit, table.version] for name, table in self.tables.items()],
            PLANNER,
        )

    def text(self) -> str:
        """What was asked, of whom and how, for the ledger."""
        made = self.synthesizer
        rows = ", ".join(f"{most} rows in {name}" for name, most in made.rows_per_unit.items())
        who = f"one {self.unit} with at most one row in {made.parent} and {rows} added or removed"
        return f"SYNTHESIZE {', '.join(self.tables)} BY {made.method}; {made.privacy()!r} for {who}"[:5000]

    def ready(self) -> None:
        """Refuse a source or column that is not there, before anything is paid."""
        linked_positions.ready(self._sources, self.synthesizer.countable(), unit=self.unit, engine=self.engine)

    @property
    def _sources(self) -> dict[str, object]:
        return {name: table.source for name, table in self.tables.items()}

    def fit(self, curator: Curator, *, progress: bool) -> LinkedSynthetic:
        """Read and fit: the only look at the rows."""
        salts = {name: table.salt for name, table in self.tables.items()}
        given = {"unit": self.unit, "rng": curator._rng, "salts": salts, "progress": progress, "engine": self.engine}
        return guarded(lambda: self.synthesizer.fit(self._sources, **given))


def synthesize_linked(
    curator: Curator,
    tables: Sequence[str],
    *,
    epsilon: Number | None = None,
    budget: Guarantee | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    method: Method = "adaptive",
    units: int | None = None,
    analyst: str | None = None,
    fresh: bool = False,
    progress: bool = False,
    **settings: object,
) -> LinkedSynthetic:
    """Models of linked tables, or the same ones again; the first table is the parent, with one row for each unit.

    `units` is how many `sample()` draws where it is not told; drawing is free.  `settings` are those of a
    `LinkedSynthesizer`: cells, memory, time_limit and most; `progress=True` shows the rounds.
    """
    if units is not None:
        whole = isinstance(units, int) and not isinstance(units, bool)
        require(whole and units >= 1, "an integer units >= 1", units=units)
    for name in settings:
        if name not in SETTINGS:
            raise ParameterError(f"need settings among {', '.join(SETTINGS)}, got {name!r}")
    held, engine = _linked(curator, tables)
    for name, named in (columns or {}).items():
        if name not in held:
            raise ParameterError(f"need columns of the tables {', '.join(held)}, got {name!r}")
        if held[name].unit in named:
            raise DomainError(
                f"the unit column {held[name].unit!r} is made up: leave it out of the columns of {name!r}"
            )
    domains = {name: columns_for(table, (columns or {}).get(name), None) for name, table in held.items()}
    paid, cost = lane_of(spending_of(epsilon, budget))
    parent, *children = held
    limits = {name: held[name].rows_per_unit for name in children}
    given = {"method": method, **settings}
    synthesizer = LinkedSynthesizer(domains, parent=parent, rows_per_unit=limits, budget=paid, **given)
    order = Order(held, engine, synthesizer, cost)
    key = order.key()
    with curator.ledger.turn(key, analyst=analyst):
        if fresh or curator.ledger.recall(key, analyst=analyst) is None:
            order.ready()  # a missing file or column is free
        receipt, stored = curator._charge(cost, list(held), text=order.text(), key=key, analyst=analyst, fresh=fresh)
        if stored is None:
            made = order.fit(curator, progress=progress)
            curator._keep(receipt, _packed(made))
        else:
            made = _unpacked(stored, order)
    return replace(made, wanted=units, receipt=receipt)


def _linked(curator: Curator, names: Sequence[str]) -> tuple[dict[str, Table], DuckDB]:
    """The tables, when they can be linked: two or more of one unit, on DuckDB, the first with one row for each.

    They are joined on the engine of the first.
    """
    if isinstance(names, str) or len(names) < 2 or len(set(names)) < len(names):
        raise ParameterError(f"need the names of at least two tables, the parent first, got {names!r}")
    held = {name: private(curator, name) for name in names}
    parent = held[names[0]]
    if parent.unit is None or any(table.unit != parent.unit for table in held.values()):
        raise DomainError(f"linked tables share the column that names their unit; {', '.join(held)} do not")
    if parent.rows_per_unit != 1:
        raise DomainError(f"the first table has one row for each {parent.unit}; {names[0]!r} declares more")
    engines = []
    for name, table in held.items():
        engine = table.engine or curator._engine or engine_for(table.source)
        if not isinstance(engine, DuckDB):
            raise UnsupportedError(f"linked tables are joined in DuckDB; {name!r} is on another engine")
        engines.append(engine)
    return held, engines[0]


def _packed(made: LinkedSynthetic) -> bytes:
    """All models, in order: the same models are always the same bytes."""
    return json.dumps({name: base64.b64encode(to_bytes(one)).decode() for name, one in made.models.items()}).encode()


def _unpacked(stored: bytes, order: Order) -> LinkedSynthetic:
    """Read back what `_packed` wrote."""
    linked, text = order.synthesizer, json.loads(stored)
    models = {name: from_bytes(base64.b64decode(text[name]), one) for name, one in linked.synthesizers().items()}
    return LinkedSynthetic(unit=order.unit, parent=linked.parent, models=models, guarantee=linked.privacy())
