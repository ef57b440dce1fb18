"""Conditions on raw columns that a filter implies, so that an engine can leave out partitions, files and row groups.

A filter is written over codes, and no engine looks through a CASE to see which partitions it needs.

Theorem.  Let the code of a value v be v clamped to low .. high.  Then for every integer k and every v, NULL included,

    code >= k  is true if and only if  v >= k  is     where low < k <= high,   and so for <
    code <= k  is true if and only if  v <= k  is     where low <= k < high,   and so for >
    code =  k  is true if and only if  v = k is where low < k < high,  v <= low for k = low,  v >= high for k = high.

Proof.  Clamping is monotone, and the identity from low to high.  If low < k <= high and v >= k then code >= k,
since both v and high are at least k; if v < k then code < k, since both v and low are less.  The others are alike.
So a row that fails the raw condition fails the filter, if the comparison is one of its conjuncts: nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from discreet.data.columns import Date, Integer

if TYPE_CHECKING:
    from sqlglot import Expr

    from discreet.data.domain import Domain
    from discreet.data.engines.dialect import Dialect

FLIPPED = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "=": "="}


def implied(where: Expr | None, *, domain: Domain, physical: Mapping[str, str], dialect: Dialect) -> list[str]:
    """The raw conditions, in SQL, of the filter's conjuncts that compare a column with a constant.

    >>> import sqlglot
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.engines.dialect import DUCKDB
    >>> where = sqlglot.parse_one('"age" >= 65 AND "age" < 500 AND "x" = 1', dialect="duckdb")
    >>> ages = Domain({"age": Integer(0, 119)})
    >>> implied(where, domain=ages, physical={"age": "INTEGER"}, dialect=DUCKDB)
    ['"age" >= CAST(65 AS BIGINT)']
    """
    made = []
    for name, operator, bound in _comparisons(where):
        if name not in domain or name not in physical or not isinstance(domain[name], (Integer, Date)):
            continue
        low, high = domain[name].codes
        if operator == "=" and low < high and bound in (low, high):
            operator = "<=" if bound == low else ">="
        inside = {
            ">=": low < bound <= high, "<": low < bound <= high, "<=": low <= bound < high, ">": low <= bound < high,
            "=": low < bound < high,
        }  # fmt: skip
        raw = dialect.raw(domain[name], bound, physical=physical[name]) if inside[operator] else None
        if raw is not None:
            made.append(f"{dialect.quoted(name)} {operator} {raw}")
    return made


def _comparisons(where: Expr | None) -> Iterator[tuple[str, str, int]]:
    """Column, operator and constant of each conjunct of that form."""
    from sqlglot import expressions as exp

    operators = {exp.GTE: ">=", exp.LTE: "<=", exp.GT: ">", exp.LT: "<", exp.EQ: "="}
    waiting = [] if where is None else [where]
    while waiting:
        term = waiting.pop().unnest()
        if isinstance(term, exp.And):
            waiting += [term.expression, term.this]
        elif (operator := operators.get(type(term))) is not None:
            left, right = term.this.unnest(), term.expression.unnest()
            if isinstance(right, exp.Column):
                left, right, operator = right, left, FLIPPED[operator]
            constant = _constant(right)
            if isinstance(left, exp.Column) and constant is not None:
                yield left.name, operator, constant


def _constant(tree: Expr) -> int | None:
    from sqlglot import expressions as exp

    if isinstance(tree, exp.Neg):
        inner = _constant(tree.this.unnest())
        return None if inner is None else -inner
    return int(tree.name) if isinstance(tree, exp.Literal) and not tree.is_string else None
