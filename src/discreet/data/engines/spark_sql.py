"""Spark's way of saying what the generated SQL needs; nothing here depends on the settings of the session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.columns import Column, Date, Integer
from discreet.data.engines import hashing, spark_codes
from discreet.data.engines.dialect import UnitKind, no_name

if TYPE_CHECKING:
    from sqlglot import Expr

LAYERS = 5  # words of a hash that are absorbed in a layer each


@dataclass(frozen=True, slots=True)
class SparkSQL:
    """Spark's SQL."""

    name: str = "Spark"

    def quoted(self, name: str) -> str:
        return spark_codes.quoted(name)

    def literal(self, value: str) -> str:
        return spark_codes.literal(value)

    def layer(self, select: str) -> str:
        return f"({select}) AS layer"

    def render(self, tree: Expr) -> str:
        """Texts become `literal`s, and every constant but a place in a text a BIGINT."""
        from sqlglot import expressions as exp

        def constant(node: Expr) -> Expr:
            if not isinstance(node, exp.Literal):
                return node
            if not node.is_string:
                return node if isinstance(node.parent, exp.Substring) else exp.cast(node, "BIGINT")
            text = str(node.this).encode(errors="surrogatepass").hex().upper()
            return exp.cast(exp.HexString(this=text), "STRING")

        return tree.copy().transform(constant).sql(dialect="spark")

    def integers(self, sql: str) -> str:
        return sql.replace("//", "DIV").replace('"', "`")

    def truth(self, predicate: str) -> str:
        return f"CAST({predicate} AS INTEGER)"

    def total(self, value: str) -> str:
        return f"SUM(CAST({value} AS DECIMAL(38, 0)))"

    def quotient(self, top: str, bottom: str) -> str:
        return f"({top} DIV {bottom})"

    def xor(self, left: str, right: str) -> str:
        return f"({left} ^ {right})"

    def shift(self, value: str, bits: int) -> str:
        return f"shiftright({value}, {bits})"

    def folded(self, start: int, words: list[str], absorb: Callable[[str, str], str]) -> str | None:
        """Spark resolves no more than a hundred layers; a few are faster than a fold."""
        if len(words) <= LAYERS:
            return None
        listed = ", ".join(f"CAST({word} AS BIGINT)" for word in words)
        return f"aggregate(array({listed}), {start}L, (s, w) -> {absorb('s', 'w')})"

    def md5_word(self, text: str, index: int) -> str:
        return f"CAST(conv(substr(md5({text}), {8 * index + 1}, 8), 16, 10) AS BIGINT)"

    def whole(self, text: str) -> str:
        number = f"TRY_CAST({text} AS DECIMAL(20, 0))"
        large = f"CAST({number} - {1 << 64}BD AS BIGINT)"
        cases = (
            f"WHEN {number} BETWEEN -{1 << 63}BD AND {(1 << 63) - 1}BD THEN CAST({number} AS BIGINT)",
            f"WHEN {number} BETWEEN {1 << 63}BD AND {(1 << 64) - 1}BD THEN {large}",
        )
        return f"CASE WHEN {spark_codes.matches(text, hashing.WHOLE_TEXT)} THEN CASE {' '.join(cases)} END END"

    def code(self, column: Column, *, name: str, physical: str) -> str:
        return spark_codes.code(column, name=name, physical=physical)

    def raw(self, column: Column, code: int, *, physical: str) -> str | None:
        if isinstance(column, Integer) and physical in spark_codes.WHOLE:
            return f"{code}L"
        return f"DATE '{column.decode(code)}'" if isinstance(column, Date) and physical == "date" else None

    def unit(self, name: str, *, physical: str) -> tuple[str, UnitKind]:
        """Integers, texts byte for byte, and what has the same text on every engine."""
        raw = self.quoted(name)
        if physical in spark_codes.WHOLE:
            return f"CAST({raw} AS BIGINT)", "BIGINT"
        if spark_codes.is_text(physical):
            return spark_codes.bytewise(raw, physical), "VARCHAR"
        size = spark_codes.decimal(physical)
        if physical in ("boolean", "date") or (size is not None and size[1] == 0):
            return f"CAST({raw} AS STRING)", "VARCHAR"
        raise no_name(name, physical)


SPARK = SparkSQL()
