"""How far one patient moves what the mechanisms of a question are fed: the user-level distance, measured.

The patient has hundreds of rows (ten thousand at full counts) in both private tables, of every kind.  Two
worlds, with and without, go through the same passes; nothing is drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.curator.plan import Plan, plan
from discreet.curator.question import passes_of
from discreet.data.aggregation import Aggregation, Sealed, SealedGroups
from discreet.data.engines.duckdb import DuckDB
from discreet.data.table import Table
from discreet.queries.compile import Part
from discreet.queries.sql import parse
from tests.queries.clinic import lab, people, schema, visit

HEAVY = 0  # the patient that comes and goes
Pass = Callable[[Aggregation], Aggregation]


@dataclass(frozen=True)
class Neighbours:
    """The clinic with the heavy patient, and without."""

    whole: dict[str, Table]
    less: dict[str, Table]


def neighbours(seed: int, *, heavy: int, rows: int, groups: int) -> Neighbours:
    """Rows of a few patients, and all those of the heavy one somewhere among them."""
    draw = random.Random(seed)
    visits, labs = people(draw, patients=[6, 2, 9, 0, 4][seed % 5], most=3)
    mine = [visit(draw, HEAVY) for _ in range(heavy)], [lab(draw, HEAVY) for _ in range(heavy)]
    return Neighbours(
        schema(mine[0] + visits, labs + mine[1], rows=rows, groups=groups),
        schema(visits, labs, rows=rows, groups=groups),
    )


def planned(sql: str, tables: dict[str, Table], **asked: object) -> Plan:
    """The plan of a question."""
    query = parse(sql, tables)
    return plan(query, query.source.table(), **(asked or {"epsilon": 1}))  # type: ignore[arg-type]


def same(pass_: Aggregation) -> Aggregation:
    """An honest pass."""
    return pass_


def fed(step: Plan, *, plain: bool, altered: Pass = same) -> list[Sealed | SealedGroups]:
    """What each pass of a plan finds."""
    engine = DuckDB(threads=1, plain=plain)
    return [engine.run(step.table, altered(pass_)) for pass_ in passes_of(step)]


def violations(sql: str, found: Neighbours, *, plain: bool = False, altered: Pass = same, **asked: object) -> list[str]:
    """Where the inputs of mechanisms are farther apart than declared."""
    steps = [planned(sql, tables, **asked) for tables in (found.whole, found.less)]
    one, two = (fed(step, plain=plain, altered=altered) for step in steps)
    step, wrong = steps[0], []
    for place, (first, second) in enumerate(zip(one, two, strict=True)):
        if place == 0 and step.added:
            cells = _aligned(first, second) if isinstance(first, SealedGroups) else _both(first, second)
            wrong += _added(step, *cells)
        else:
            a, b = _both(first, second)
            moved = int(np.abs(a - b).sum())
            wrong += [f"a grid moved by {moved} rows, declared {step.rows}"] if moved > step.rows else []
    return wrong


def _both(first: Sealed, second: Sealed) -> tuple[np.ndarray, np.ndarray]:
    a, b = (one.through(lambda cells: cells.astype(object)) for one in (first, second))
    return a, b


def _aligned(first: SealedGroups, second: SealedGroups) -> tuple[np.ndarray, np.ndarray]:
    """Groups by name; one that is not there has zeros."""
    tables = [
        one.through(lambda groups, cells: dict(zip(groups, cells.astype(object), strict=True)))
        for one in (first, second)
    ]
    names = sorted({*tables[0], *tables[1]}, key=repr)
    width = len(next((row for table in tables for row in table.values()), []))
    zero = np.zeros(width, dtype=object)
    a, b = (np.array([table.get(name, zero) for name in names]).reshape(len(names), width) for table in tables)
    return a, b


def _added(step: Plan, a: np.ndarray, b: np.ndarray) -> list[str]:
    wrong, change = [], np.abs(a - b)
    if not change.size:
        return wrong
    for place, part in enumerate(step.added):
        l1, square = part.sensitivity(step.rows, step.groups)
        moved, squared = int(change[:, place].sum()), int((change[:, place] ** 2).sum())
        if moved > l1 or squared > square:
            wrong.append(f"{part} moved by {moved} (squares {squared}), declared {l1} (squares {square})")
    if step.selection is not None:
        units = change[:, step.added.index(Part("units"))]
        if int((units > 0).sum()) > step.selection.groups_per_unit or int(units.max()) > 1:
            wrong.append(f"{int((units > 0).sum())} groups gained or lost a unit, by {int(units.max())} at most")
    return wrong
