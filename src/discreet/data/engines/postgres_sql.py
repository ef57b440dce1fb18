"""PostgreSQL's SQL, from version 14 on, in a database whose encoding is UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.columns import Column, Date, Integer
from discreet.data.engines import codes, hashing, postgres_codes
from discreet.data.engines.dialect import UnitKind, no_name, widened
from discreet.data.engines.postgres_codes import FLOATS, INTEGERS, TEXTS, matches, plain

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

    def whole(self, text: str) -> str:
        number = f"CAST({text} AS NUMERIC)"
        cases = (
            f"WHEN {number} BETWEEN -{1 << 63} AND {(1 << 63) - 1} THEN CAST({number} AS BIGINT)",
            f"WHEN {number} BETWEEN {1 << 63} AND {(1 << 64) - 1} THEN CAST({number} - {1 << 64} AS BIGINT)",
        )
        return f"CASE WHEN {matches(text, hashing.WHOLE_TEXT)} THEN CASE {' '.join(cases)} END END"

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
            return _numeric_text(raw), "VARCHAR"
        if physical.startswith(("date", "timestamp")):
            return f"regexp_replace({plain(raw)}, '^(\\S+)(.*) BC$', '\\1 (BC)\\2')", "VARCHAR"
        if physical not in TEXTS | {"boolean", "uuid", "time without time zone"}:
            raise no_name(name, physical)
        return plain(raw), "VARCHAR"


def _numeric_text(raw: str) -> str:
    """Without zeros at its end; NaN and the infinities name nobody."""
    odd = ", ".join(f"CAST('{word}' AS NUMERIC)" for word in ("NaN", "Infinity", "-Infinity"))
    return f"CASE WHEN {raw} NOT IN ({odd}) THEN {plain(f'trim_scale({raw})')} END"


def _float_text(raw: str) -> str:
    """A whole number as one, else the shortest digits of the double, without an exponent from 10^-4 on."""
    value = f"CAST({raw} AS DOUBLE PRECISION)"
    text = plain(value)
    cases = (
        f"WHEN NOT abs({value}) <= CAST('{1 << 53}' AS DOUBLE PRECISION) THEN NULL",  # nor is NaN, above all
        f"WHEN {value} = floor({value}) THEN {plain(f'CAST({value} AS BIGINT)')}",
        f"WHEN abs({value}) >= CAST('1e-4' AS DOUBLE PRECISION) THEN {plain(f'CAST({text} AS NUMERIC)')}",
    )
    return f"CASE {' '.join(cases)} ELSE {text} END"


POSTGRES = PostgreSQL()
