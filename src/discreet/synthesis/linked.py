"""Synthetic data for linked tables: people and their visits, with keys that join and belong to nobody.

A unit has one row in the parent table and at most k rows in each child table.  The parent's model has the parent's
columns and, for each child, the number of rows that the unit has in it (0, ..., k).  A child's model has its own
columns and all those of the parent's model; its rows are drawn given the parent's row (`conditional`).

Theorem.  Let the parent's synthesizer spend a share of the budget for units of one row, and each child's a share for
units of k rows, the shares adding up to the budget.  Let the rows of a unit that are kept, and their number, be chosen
by that unit's rows alone.  The models together keep the budget for one unit added or removed with all its rows in all
tables, and rows drawn from them cost nothing.  Proof: docs/theory/synthesis.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.columns import Column, Integer
from discreet.data.domain import Domain
from discreet.data.engines.linked_positions import linked_positions
from discreet.data.records import Records, countable
from discreet.errors import DomainError, ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact
from discreet.release.noise import relation_for
from discreet.synthesis.adaptive import CELLS
from discreet.synthesis.encoding import MOST
from discreet.synthesis.linked_synthetic import LinkedSynthetic
from discreet.synthesis.small_universe import share
from discreet.synthesis.synthesizer import Method, Synthesizer

if TYPE_CHECKING:
    from discreet.data.engines.duckdb import DuckDB

PARENT = Fraction(1, 2)  # of the budget; the children share the rest


@dataclass(frozen=True, slots=True, repr=False)
class LinkedSynthesizer:
    """Fit models of a parent table and of its children under one budget.

    `rows_per_unit` names the children, each with the most rows that a unit may have in it: further ones are left out.
    Children are independent given their parent.  A pure budget is divided; others are spent as the rho they allow.
    `cells`, `memory`, `time_limit` and `most` are those of a `Synthesizer`, for each table.

    >>> import pandas as pd
    >>> from discreet.data.columns import Boolean
    >>> people = pd.DataFrame({"who": range(300), "age": [i % 10 for i in range(300)]})
    >>> visits = pd.DataFrame({"who": [i // 2 for i in range(300)], "icu": [i % 3 == 0 for i in range(300)]})
    >>> domains = {"people": Domain({"age": Integer(0, 9)}), "visits": Domain({"icu": Boolean()})}
    >>> made = LinkedSynthesizer(domains, parent="people", rows_per_unit={"visits": 2}, budget=ZCDP(1)).fit(
    ...     {"people": people, "visits": visits}, unit="who"
    ... )
    >>> tables = made.sample(50)
    >>> tables["people"].num_rows, set(tables["visits"]["who"].to_pylist()) <= set(tables["people"]["who"].to_pylist())
    (50, True)
    """

    domains: Mapping[str, Domain]
    parent: str = field(kw_only=True)
    rows_per_unit: Mapping[str, int] = field(kw_only=True)
    budget: Guarantee = field(kw_only=True)
    method: Method = field(default="adaptive", kw_only=True)
    cells: int = field(default=CELLS, kw_only=True)
    memory: int | None = field(default=None, kw_only=True)
    time_limit: float = field(default=math.inf, kw_only=True)
    most: int = field(default=MOST, kw_only=True)

    def __post_init__(self) -> None:
        require(self.parent in self.domains, "a parent among the tables", parent=self.parent, tables=list(self.domains))
        children = [name for name in self.domains if name != self.parent]
        require(bool(children), "at least one child table", tables=list(self.domains))
        if set(self.rows_per_unit) != set(children):
            raise ParameterError(f"need rows_per_unit for the children {children}, got {list(self.rows_per_unit)}")
        for name, most in self.rows_per_unit.items():
            whole = isinstance(most, int) and not isinstance(most, bool)
            require(whole and most >= 1, "an integer rows_per_unit >= 1", **{name: most})
        if relation_for(self.budget, n=None) is not AddRemove:
            raise UnsupportedError(
                "linked tables are protected for units added or removed: pass a budget under AddRemove"
            )
        if self.method == "mwem":
            raise UnsupportedError("rows of children are drawn given their parents, which a model of mwem does not do")
        self.synthesizers()  # refuse a bad budget or method now

    @property
    def children(self) -> tuple[str, ...]:
        """The child tables, in the order of the declaration."""
        return tuple(name for name in self.domains if name != self.parent)

    def shares(self) -> dict[str, Guarantee]:
        """What each table's model may spend: they add up to the budget."""
        part = (1 - PARENT) / len(self.children)
        return {name: _part(self.budget, PARENT if name == self.parent else part) for name in self._order}

    @property
    def _order(self) -> tuple[str, ...]:
        return (self.parent, *self.children)

    def synthesizers(self) -> dict[str, Synthesizer]:
        """One for each table, the parent's first: its noise is for one row a unit, a child's for all of them."""
        made = {}
        for name, paid in self.shares().items():
            domain, rows = self.joined(name), self.rows_per_unit.get(name, 1)
            made[name] = Synthesizer(
                domain,
                budget=paid,
                method=self.method,
                rows_per_unit=rows,
                cells=self.cells,
                memory=self.memory,
                time_limit=self.time_limit,
                most=self.most,
                bins=self._numbers(name),
            )
        return made

    def _numbers(self, name: str) -> dict[str, int]:
        """The columns that count rows are never cut into intervals."""
        prefix = "" if name == self.parent else f"{self.parent}."
        return {prefix + number_of(child): most + 1 for child, most in self.rows_per_unit.items()}

    def joined(self, name: str) -> Domain:
        """The columns of a table's model: the parent's with the numbers of rows, a child's with all of these besides.

        Columns of the parent are called `table.column` in a child's model.
        """
        own = countable(self.domains[self.parent])
        numbers: dict[str, Column] = {
            number_of(child): Integer(0, self.rows_per_unit[child]) for child in self.children
        }
        parent = _distinct(own, numbers)
        if name == self.parent:
            return parent
        return _distinct(
            countable(self.domains[name]), {f"{self.parent}.{column}": kind for column, kind in parent.items()}
        )

    def countable(self) -> dict[str, Domain]:
        """The columns that are read of each table, the parent first: identifiers are left out."""
        return {name: countable(self.domains[name]) for name in self._order}

    def fit(
        self,
        data: Mapping[str, object],
        *,
        unit: str,
        rng: RandomSource | None = None,
        salts: Mapping[str, int] | None = None,
        progress: bool = False,
        engine: DuckDB | None = None,
    ) -> LinkedSynthetic:
        """Measure and fit: frames or files by name, in each of which the column `unit` says whose row it is.

        Which rows of a unit are kept depends on the `salts` of the tables, which are public.  `progress=True` shows the
        rounds of each table in turn; `engine` is what joins them.
        """
        require(set(data) == set(self.domains), "data for every table", tables=list(data))
        domains = self.countable()
        for name, domain in domains.items():
            if unit in domain:
                raise DomainError(f"the unit {unit!r} is a column of {name!r}: leave it out of the domain")
        limits = {name: self.rows_per_unit[name] for name in self.children}
        rows = linked_positions(data, domains, unit=unit, rows_per_unit=limits, salts=salts, engine=engine)
        models = {
            name: one.fit(Records(one.domain, rows[name]), rng=rng, progress=progress)
            for name, one in self.synthesizers().items()
        }
        return LinkedSynthetic(unit=unit, parent=self.parent, models=models, guarantee=self.privacy())

    def privacy(self) -> Guarantee:
        """The budget, for one unit added or removed with all its rows."""
        return self.budget.under(AddRemove)

    def event(self) -> Event:
        """What runs, for the accountant."""
        return ComposedEvent(events=tuple(one.event() for one in self.synthesizers().values()))

    def __repr__(self) -> str:
        return f"LinkedSynthesizer({', '.join(self._order)}, {self.budget!r})"


def number_of(child: str) -> str:
    """The column of the parent's model that counts the rows of a child.

    >>> number_of("visits")
    'number of visits'
    """
    return f"number of {child}"


def _distinct(own: Domain, more: Mapping[str, Column]) -> Domain:
    for name in more:
        if name in own:
            raise DomainError(f"the column name {name!r} is taken: rename the column")
    return Domain({**own, **more})


def _part(budget: Guarantee, part: Fraction) -> Guarantee:
    """A share of the budget: of epsilon, or of the rho that the budget allows."""
    whole = share(budget)
    return PureDP(exact(whole.epsilon) * part) if isinstance(whole, PureDP) else ZCDP(exact(whole.rho) * part)
