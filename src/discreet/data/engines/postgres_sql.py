"""PostgreSQL's SQL, from version 14 on, in a database whose encoding is UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.columns import Column, Date, Integer
from discreet.data.engines import codes, postgres_codes
from discreet.data.engines.dialect import UnitKind, no_name, widened
from discreet.data.engines.postgres_codes import FLOATS, INTEGERS, TEXTS, plain, scale

if TYPE_CHECKING:
    from sqlglot import Expr


@dataclass(frozen=True, slots=True)
class PostgreSQL:
    """PostgreSQL's SQL."""

    name: str = "PostgreSQL"

    def quoted(self, name: str) -> str:
        return codes.quoted(name)

    def literal(self, value: str) -> str:
        return codes.literal(value)

    def layer(self, select: str) -> str:
        """OFFSET 0 keeps the planner from copying a layer's expressions into every place where they are used."""
        return f"({select} OFFSET 0) AS layer"

    def render(self, tree: Expr) -> str:
        from sqlglot import expressions as exp

        made = exp.Paren(this=widened(tree))
        for node in reversed(list(made.find_all(exp.IntDiv))):  # the innermost first
            top, bottom = exp.Paren(this=node.this), exp.Paren(this=node.expression)
            # integers over integers: / drops the fraction, and no dividend is negative
            node.replace(exp.Paren(this=exp.Div(this=top, expression=bottom, typed=True, safe=False)))
        return made.sql(dialect="postgres", identify=True)

    def integers(self, sql: str) -> str:
        """Integers over integers: / drops the fraction, and no dividend is negative."""
        return sql.replace("//", "/")

    def truth(self, predicate: str) -> str:
        return f"CAST({predicate} AS INTEGER)"

    def total(self, value: str) -> str:
        """The sum of BIGINTs is a NUMERIC."""
        return f"SUM(CAST({value} AS BIGINT))"

    def quotient(self, top: str, bottom: str) -> str:
        return f"div({top}, CAST({bottom} AS NUMERIC))"

    def xor(self, left: str, right: str) -> str:
        return f"({left} # {right})"

    def shift(self, value: str, bits: int) -> str:
        return f"({value} >> {bits})"

    def folded(self, start: int, words: list[str], absorb: Callable[[str, str], str]) -> str | None:
        return None

    def md5_word(self, text: str, index: int) -> str:
        return f"CAST(CAST('x' || substr(md5({text}), {8 * index + 1}, 8) AS BIT(32)) AS BIGINT)"

    def code(self, column: Column, *, name: str, physical: str) -> str:
        return postgres_codes.code(column, name=name, physical=physical)

    def raw(self, column: Column, code: int, *, physical: str) -> str | None:
        if isinstance(column, Integer) and physical in INTEGERS:
            return f"CAST({code} AS BIGINT)"
        return f"DATE '{column.decode(code)}'" if isinstance(column, Date) and physical == "date" else None

    def unit(self, name: str, *, physical: str) -> tuple[str, UnitKind]:
        """Texts are those that DuckDB has for the same value, so that the same rows are kept."""
        raw = self.quoted(name)
        if physical in INTEGERS:
            return f"CAST({raw} AS BIGINT)", "BIGINT"
        if physical in FLOATS:
            return _float_text(raw), "VARCHAR"
        if physical.startswith("numeric"):
            return _numeric_text(raw, physical), "VARCHAR"
        if physical.startswith(("date", "timestamp")):
            return f"regexp_replace({plain(raw)}, '^(\\S+)(.*) BC$', '\\1 (BC)\\2')", "VARCHAR"
        if physical not in TEXTS | {"boolean", "uuid", "time without time zone"}:
            raise no_name(name, physical)
        return plain(raw), "VARCHAR"


def _numeric_text(raw: str, physical: str) -> str:
    """With all places where there is a scale, else without trailing zeros; NaN names nobody."""
    decimal = scale(physical)
    text = plain(f"trim_scale({raw})" if decimal is None else raw)
    if decimal is not None and decimal[0] == decimal[1]:
        text = f"regexp_replace({text}, '^(-?)0[.]', '\\1.')"
    return f"CASE WHEN {raw} <> CAST('NaN' AS NUMERIC) THEN {text} END"


def _float_text(raw: str) -> str:
    """The shortest digits of the double; without an exponent from 10^-4 to 10^16, and then always with a point.

    DuckDB drops one more digit of some doubles above 2^53, which no longer tell integers apart: of a unit with
    such a name the two engines may keep different rows.
    """
    value = f"CAST({raw} AS DOUBLE PRECISION)"
    text = plain(value)
    fixed = plain(f"CAST({text} AS NUMERIC)")
    cases = (
        f"WHEN {value} = 0 THEN '0.0'",
        f"WHEN {value} = CAST('NaN' AS DOUBLE PRECISION) THEN NULL",
        f"WHEN abs({value}) = CAST('inf' AS DOUBLE PRECISION) THEN replace({text}, 'Infinity', 'inf')",
        f"WHEN abs({value}) >= CAST('1e-4' AS DOUBLE PRECISION) AND abs({value}) < CAST('1e16' AS DOUBLE PRECISION) "
        f"THEN CASE WHEN strpos({fixed}, '.') > 0 THEN {fixed} ELSE {fixed} || '.0' END",
    )
    return f"CASE {' '.join(cases)} ELSE {text} END"


POSTGRES = PostgreSQL()
