"""A question as the curator handles it: read as a value, as passes over its table, and by its key in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.curator.plan import PLANNER, Plan
from discreet.data.canonical import digest
from discreet.errors import DomainError, ParameterError
from discreet.privacy.neighbours import AddRemove
from discreet.queries.builder import Builder
from discreet.queries.compile import aggregation, grid
from discreet.queries.query import Query
from discreet.queries.sql import parse

if TYPE_CHECKING:
    from discreet.data.aggregation import Aggregation
    from discreet.data.table import Table


def read(question: str | Query | Builder, tables: Mapping[str, Table]) -> Query:
    """SQL text, a `Query` or a `Builder` as a question about these tables."""
    if isinstance(question, str):
        return parse(question, tables)
    if isinstance(question, Builder):
        question = question.query()
    if not isinstance(question, Query):
        raise ParameterError(f"need SQL text, a Query or a Builder, got {type(question).__name__}")
    found = parse(str(question), tables)
    if found != question:
        raise DomainError("the question is not about the declared columns of the declared tables")
    return found


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
