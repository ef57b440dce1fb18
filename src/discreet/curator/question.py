"""A question as the curator handles it: read as a value, as passes over its table, and by its key in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.curator.plan import PLANNER, Plan
from discreet.data.canonical import digest
from discreet.errors import DomainError, ParameterError
from discreet.privacy.neighbours import AddRemove
from discreet.queries.builder import Builder
from discreet.queries.compile import aggregation, grid
from discreet.queries.query import Query
from discreet.queries.source import bound
from discreet.queries.sql import parse

if TYPE_CHECKING:
    from discreet.data.aggregation import Aggregation
    from discreet.data.table import Table


def read(question: str | Query | Builder, tables: Mapping[str, Table]) -> Query:
    """SQL text, a `Query` or a `Builder` as a question about the declarations of these tables: it holds no rows."""
    declared = {name: table.declaration for name, table in tables.items()}
    if isinstance(question, str):
        return parse(question, declared)
    if isinstance(question, Builder):
        question = question.query()
    if not isinstance(question, Query):
        raise ParameterError(f"need SQL text, a Query or a Builder, got {type(question).__name__}")
    found = parse(f"{question}", declared)
    if found != replace(question, source=bound(question.source, lambda named: named.declared.declaration)):
        raise DomainError("the question is not about the declared columns of the declared tables")
    return found


def table_of(query: Query, tables: Mapping[str, Table]) -> Table:
    """The rows that a question is about, in place of their declarations."""
    return bound(query.source, lambda named: tables[named.name]).table()


def passes_of(step: Plan) -> list[Aggregation]:
    """The passes over the table that a plan needs: counts and sums together, and one for each grid."""
    bounds = {"rows": step.rows, "groups": step.groups}
    passes = [aggregation(step.query, step.table, step.added, **bounds)] if step.added else []
    return passes + [grid(step.query, step.table, rank, rows=step.rows) for rank in step.ranked]


def key_of(step: Plan) -> str:
    """What makes two questions the same: text, price, bounds, declaration, version of table and planner."""
    tables = [
        [name, table.domain, table.unit, table.version, table.rows_per_unit, table.public]
        for name, table in step.query.source.tables()
    ]
    text = f"{step.query}"  # injective: docs/theory/queries.md
    return digest("question", text, step.budget.under(AddRemove), step.price, [step.rows, step.groups], tables, PLANNER)
