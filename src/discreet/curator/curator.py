"""The curator: question, plan, spend, read, mechanism, answer, in that order."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from discreet.composition.price import Item, Price, price
from discreet.curator.answer import Answer, from_bytes
from discreet.curator.batches import Batches
from discreet.curator.boundary import boundary, kept, paid, paying
from discreet.curator.delta import doubts, people
from discreet.curator.plan import Plan, added_or_removed, plan
from discreet.curator.question import key_of, passes_of, table_of
from discreet.curator.release import release
from discreet.data.engines.base import Engine
from discreet.data.engines.choose import engine_for
from discreet.data.engines.results import logged
from discreet.data.engines.sealing import keep_copies, place_beside
from discreet.data.table import Table
from discreet.errors import DiscreetError, ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.ledger import Budget, Ledger, Receipt
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import Number
from discreet.queries.builder import Builder
from discreet.queries.query import Query

if TYPE_CHECKING:
    from discreet.curator.estimate import Noisy
    from discreet.curator.release import Groups
    from discreet.data.aggregation import Aggregation
    from discreet.ledger import Witness


class Curator(Batches):
    """Holds private tables and answers questions about them, as long as the budget lasts.

    `budget` is the cap of every privacy unit: tables whose unit column has the same name share it.
    `rng` is for tests; with a predictable one only a testing ledger pays.  Text files are read once, into copies in the
    folder `sealed`: beside the ledger where it is a file, and else in one that is gone with the process.
    A `witness` outside the ledger, such as a file on another volume, sees each charge before data is read: an old copy
    of the ledger is refused.

    >>> import discreet as dc
    >>> import pyarrow as pa
    >>> rows = pa.table({"patient": [1, 1, 2, 3], "ward": ["icu", "er", "er", "er"]})
    >>> domain = dc.Domain({"patient": dc.Identifier(), "ward": dc.Categorical(["er", "icu"])})
    >>> visits = dc.Table(rows, domain=domain, unit="patient", rows_per_unit=2)
    >>> curator = dc.Curator({"visits": visits}, budget=dc.PureDP(1), ledger=":memory:")
    >>> answer = curator.ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=0.5)
    >>> answer.table["ward"].to_pylist(), answer.cost
    (['er', 'icu'], PureDP(epsilon=0.5))
    >>> curator.close()
    """

    @boundary
    def __init__(
        self,
        tables: Mapping[str, Table],
        *,
        budget: Guarantee,
        ledger: str | Path | Ledger,
        engine: Engine | None = None,
        rng: RandomSource | None = None,
        sealed: str | Path | None = None,
        witness: Witness | str | Path | None = None,
    ) -> None:
        if not isinstance(tables, Mapping):
            raise ParameterError(f'need tables by name, such as {{"visits": table}}, got {type(tables).__name__}')
        require(bool(tables), "at least one table", tables=list(tables))
        for name, table in tables.items():
            if not isinstance(table, Table):
                raise ParameterError(f"need a Table for {name!r}, got {type(table).__name__}")
        added_or_removed(budget)
        given = isinstance(ledger, Ledger)
        require(not given or witness is None, "the witness where the ledger is opened: Ledger.open(..., witness=)")
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger, witness=witness)
        copies = place_beside(self.ledger.file) if sealed is None else str(sealed)
        self.tables = {name: keep_copies(table, copies) for name, table in tables.items()}
        self._engine = engine
        self._rng = rng
        self._ready: set[tuple[Table, tuple[str, ...]]] = set()
        for unit in self._units():
            self.ledger.register(unit=unit, cap=budget, inherit=True)

    @classmethod
    @boundary
    def open(cls, path: str | Path, *, verify: bool = True) -> Curator:
        """A curator from its file, `curator.toml`; `verify=False` leaves the ledger to be verified by the caller."""
        from discreet.curator.config import load

        return load(path, verify=verify)

    def _unit(self, name: str) -> str:
        """What is protected: the people named by a column, or the rows of one table."""
        unit = self.tables[name].unit
        return f"row of {name}" if unit is None else unit

    def _units(self) -> list[str]:
        return sorted({self._unit(name) for name, table in self.tables.items() if not table.public})

    @boundary
    def ask(
        self,
        question: str | Query | Builder,
        *,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        beta: float = 0.05,
        analyst: str | None = None,
        fresh: bool = False,
        whole_counts: bool = False,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
    ) -> Answer:
        """Plan, spend, run, answer: the whole life of a question, in that order.

        The ledger is charged, durably, before any private row is read.  If the run then fails the
        charge stands: a refund would itself depend on the data.  The same question by the same
        analyst gets the same answer, free; `fresh=True` pays for another draw.
        """
        require(1e-300 <= beta < 1, "0 < beta < 1, not below 1e-300", beta=beta)
        query = self.query(question)
        step = plan(
            query,
            query.source.table(),
            epsilon=epsilon,
            budget=budget,
            rows_per_unit=rows_per_unit,
            groups_per_unit=groups_per_unit,
        )
        passes = passes_of(step)
        engine, held = self._engine_for(step), table_of(query, self.tables)
        for pass_ in passes:  # a missing file or column is free
            self._make_ready(engine, held, pass_)
        with self.ledger.turn(key_of(step), analyst=analyst):  # who asks the same meanwhile gets the same answer
            receipt, stored = self._pay(step, analyst=analyst, fresh=fresh)
            if stored is not None:
                told = from_bytes(step, stored, receipt, beta=beta, whole_counts=whole_counts)
                return replace(told, sealed=self._sealed(query))
            noisy, groups = self._release(step, passes, engine, held)
            answer = Answer(step, noisy, receipt, beta, whole_counts, groups, self._sealed(query))
            self._keep(receipt, answer.to_bytes())
        return answer

    def _sealed(self, query: Query) -> str:
        return "".join(f" {name!r} was {said}." for name, said in self._standings(query))

    def _release(
        self, step: Plan, passes: list[Aggregation], engine: Engine, held: Table
    ) -> tuple[Noisy, Groups | None]:
        """Read and draw.  From here on a failure may depend on private rows: all of them say the same."""
        try:
            return release(step, passes, lambda pass_: engine.run(held, pass_), rng=self._rng)
        except DiscreetError:
            raise
        except Exception as error:  # its text may quote a private value
            mark = logged("run", error)
        raise DiscreetError(f"the run failed; see the operator log, reference {mark}")

    def _pay(self, step: Plan, *, analyst: str | None, fresh: bool) -> tuple[Receipt, bytes | None]:
        """Charge for a plan, or find the answer that was paid for before."""
        item = step.event if price(step.event) == step.price else step.price
        private = [name for name in step.query.tables if not self.tables[name].public]
        return self._charge(item, private, text=str(step.query), key=key_of(step), analyst=analyst, fresh=fresh)

    def _turn(self, key: str | None, *, analyst: str | None) -> AbstractContextManager[None]:
        """Be the only one who pays for an order; one without a key is never the same as another."""
        return nullcontext() if key is None else self.ledger.turn(key, analyst=analyst)

    def _recall(self, key: str | None, *, analyst: str | None) -> bytes | None:
        """What was kept of an order; nothing of one without a key."""
        return None if key is None else self.ledger.recall(key, analyst=analyst)

    def _charge(
        self,
        item: Price | Item,
        names: list[str],
        *,
        text: str,
        key: str | None,
        analyst: str | None,
        fresh: bool,
    ) -> tuple[Receipt, bytes | None]:
        """Charge the people of these tables, or find what was paid for under this key before."""
        request = {
            "unit": self._unit(names[0]),
            "tables": names,
            "analyst": analyst,
            "query": text,
            "key": key,
            "version": ", ".join(str(self.tables[name].version) for name in names),
            "secure": self._rng is None or self._rng.secure,
        }
        cost = item if isinstance(item, Price) else price(item)
        with paying(cost):
            receipt = self.ledger.spend(item, fresh=fresh, **request)
            if key is not None and receipt.replayed:
                stored = self.ledger.recall(key, analyst=analyst)
                if stored is not None:
                    return receipt, stored
                receipt = self.ledger.spend(item, fresh=True, **request)  # paid once, but never stored: a new release
        paid(receipt, cost)
        return receipt, None

    def _keep(self, receipt: Receipt, answer: bytes, *, ends: bool = False) -> None:
        """Store what was paid for: from now on the same order is free, and what it `ends` is not resumed."""
        self.ledger.store(receipt, answer, ends=ends)
        kept()

    def _engine_for(self, step: Plan) -> Engine:
        """The engine of all tables of a question; tables of different engines never meet."""
        held = [self.tables[name] for name, _ in step.query.source.tables()]
        found = [table.engine or self._engine or engine_for(table.source) for table in held]
        if any(engine != found[0] for engine in found):
            raise UnsupportedError("the tables of one question must be on one engine")
        return found[0]

    def _make_ready(self, engine: Engine, table: Table, pass_: Aggregation) -> None:
        """Let the engine look at the schema, once for each set of columns."""
        known = (table, pass_.columns)
        if known not in self._ready:
            engine.ready(table, pass_)
            if table in self.tables.values():  # not what a question made of them
                self._ready.add(known)

    def _doubts_of_cap(self, query: Query) -> tuple[str, ...]:
        """A cap whose delta is large for the people that a question is about promises them little."""
        private = next(name for name in query.tables if not self.tables[name].public)
        cap = self.ledger.budget(self._unit(private)).balance.cap
        return () if cap is None else doubts(cap, people(query), what="the cap's delta")

    @property
    def budget(self) -> Budget | dict[str, Budget]:
        """Caps, spent and remaining amounts in every lane: of the one unit, or by unit."""
        units = self._units()
        found = {unit: self.ledger.budget(unit) for unit in units}
        return found[units[0]] if len(units) == 1 else found

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a curator holds private tables and cannot be copied or stored")

    def __repr__(self) -> str:
        return f"Curator({', '.join(self.tables)})"
