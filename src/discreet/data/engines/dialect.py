"""What differs between engines in the SQL that is generated for them, and nothing else.

An aggregation is written once (`reference.py`): casts to BIGINT and INTEGER, `+ - * &`, comparisons, CASE, COALESCE,
GREATEST, LEAST, COUNT, DENSE_RANK and ROW_NUMBER mean the same everywhere.  The rest is asked of a `Dialect`.
Its answers are expressions that are total: they give a value or NULL on every row and never raise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from discreet.data.columns import Column, Date, Integer
from discreet.data.engines import codes, hashing
from discreet.errors import SourceError

if TYPE_CHECKING:
    from sqlglot import Expr

UnitKind = Literal["BIGINT", "VARCHAR"]


LAYERS = 40  # words of a hash that are absorbed in a layer each


def unused_prefix(names: Iterable[str]) -> str:
    """Underscores with which none of these names begins, in upper or lower case: what follows them is a new name.

    >>> unused_prefix(["age", "_Kept"])
    '__'
    """
    taken, prefix = [name.lower() for name in names], "_"
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    return prefix


class Dialect(Protocol):
    """One engine's way of saying what the generated SQL needs."""

    @property
    def name(self) -> str:
        """The engine, for people."""
        ...

    def quoted(self, name: str) -> str:
        """A name in SQL."""
        ...

    def literal(self, value: str) -> str:
        """A text in SQL."""
        ...

    def layer(self, select: str) -> str:
        """A SELECT as something to select from, whose expressions are computed once a row."""
        ...

    def render(self, tree: Expr) -> str:
        """A compiled expression over codes (`discreet.queries`): every constant is a BIGINT, // never rounds up."""
        ...

    def integers(self, sql: str) -> str:
        """The text of an `IntegerSQL`, whose names and quotients each engine writes in its own way."""
        ...

    def truth(self, predicate: str) -> str:
        """A predicate that is true or false, as the INTEGER 1 or 0."""
        ...

    def total(self, value: str) -> str:
        """The exact sum of integers, however many there are."""
        ...

    def quotient(self, top: str, bottom: str) -> str:
        """A nonnegative sum over a positive count, rounded down; NULL where the count is."""
        ...

    def xor(self, left: str, right: str) -> str:
        """The exclusive or of two nonnegative BIGINTs."""
        ...

    def shift(self, value: str, bits: int) -> str:
        """A BIGINT shifted right; a negative one stays negative."""
        ...

    def folded(self, start: int, words: list[str], absorb: Callable[[str, str], str]) -> str | None:
        """`absorb` over all words in one expression, where layers upon layers are more than the engine bears."""
        ...

    def md5_word(self, text: str, index: int) -> str:
        """The 32-bit word at that index of the MD5 of a text in UTF-8, most significant byte first, as a BIGINT."""
        ...

    def whole(self, text: str) -> str:
        """The whole number from -2^63 to 2^64 - 1 that a text writes canonically, less 2^64 from 2^63 on; else NULL."""
        ...

    def code(self, column: Column, *, name: str, physical: str) -> str:
        """The integer code of the raw column `name`, as `codes.py` defines it."""
        ...

    def raw(self, column: Column, code: int, *, physical: str) -> str | None:
        """The raw value with that code, where the code of every value is itself, clamped; None where it is not so."""
        ...

    def unit(self, name: str, *, physical: str) -> tuple[str, UnitKind]:
        """The unit as BIGINT or text, and which, in its canonical form (`hashing.py`); NULL where nobody is named.

        Two other values give one result if and only if they are equal.
        """
        ...


def widened(tree: Expr) -> Expr:
    """The tree with every number cast to BIGINT, so that none can overflow 32 bits; but for places in a text."""
    from sqlglot import expressions as exp

    def widen(node: Expr) -> Expr:
        if isinstance(node, exp.Literal) and not node.is_string and not isinstance(node.parent, exp.Substring):
            return exp.cast(node, "BIGINT")
        return node

    return tree.copy().transform(widen)


def without_labels(physical: str) -> str:
    """A type as it may be told: labels of an ENUM and fields of a structure may be somebody's values.

    >>> [without_labels(one) for one in ("ENUM('Smith')[]", "struct<smith:int>", "DECIMAL(9,2)[]")]
    ['ENUM', 'struct', 'DECIMAL(9,2)[]']
    """
    plain = re.fullmatch(r"[\w ]+(\([\d, ]*\)[\w ]*)?(\[\d*\])*", physical)
    return physical if plain else re.split(r"\W", physical.lstrip(), maxsplit=1)[0]


def no_name(name: str, physical: str) -> SourceError:
    """The refusal of a unit whose type has no text of its own."""
    said = f"column {name!r} is of type {without_labels(physical)}, which cannot name a unit; use integers or text"
    return SourceError(said, declared=name)


# types whose values all have a text, and one of their own: extreme moments in seconds and milliseconds, and times of
# day, may have none, and a list, a structure or a union may share its text with another
_NAMES = codes.SMALL | codes.WIDE | codes.FLOATS | {
    "VARCHAR", "JSON", "BIGNUM", "BOOLEAN", "UUID", "BLOB", "BIT", "DATE", "TIMESTAMP_NS", '"NULL"',
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DuckDBSQL:
    """DuckDB's SQL."""

    name: str = "DuckDB"

    def quoted(self, name: str) -> str:
        return codes.quoted(name)

    def literal(self, value: str) -> str:
        return codes.literal(value)

    def layer(self, select: str) -> str:
        return f"({select}) AS layer"

    def render(self, tree: Expr) -> str:
        return widened(tree).sql(dialect="duckdb")

    def integers(self, sql: str) -> str:
        return sql

    def truth(self, predicate: str) -> str:
        return f"CAST({predicate} AS INTEGER)"

    def total(self, value: str) -> str:
        return f"SUM(CAST({value} AS HUGEINT))"

    def quotient(self, top: str, bottom: str) -> str:
        return f"({top} // {bottom})"

    def xor(self, left: str, right: str) -> str:
        return f"xor({left}, {right})"

    def shift(self, value: str, bits: int) -> str:
        return f"({value} >> {bits})"

    def folded(self, start: int, words: list[str], absorb: Callable[[str, str], str]) -> str | None:
        """Each layer has memory of its own for every column: many of them take the square of their number."""
        if len(words) <= LAYERS:
            return None
        listed = ", ".join(f"CAST({word} AS BIGINT)" for word in words)
        return f"list_reduce([{listed}], lambda s, w: {absorb('s', 'w')}, CAST({start} AS BIGINT))"

    def md5_word(self, text: str, index: int) -> str:
        return f"CAST('0x' || substr(md5({text}), {8 * index + 1}, 8) AS BIGINT)"

    def whole(self, text: str) -> str:
        large = f"TRY_CAST(CAST(TRY_CAST({text} AS UBIGINT) AS HUGEINT) - {1 << 64} AS BIGINT)"
        made = f"COALESCE(TRY_CAST({text} AS BIGINT), {large})"
        return f"CASE WHEN regexp_full_match({text}, '{hashing.WHOLE_TEXT}') THEN {made} END"

    def code(self, column: Column, *, name: str, physical: str) -> str:
        return codes.code(column, name=name, physical=physical)

    def raw(self, column: Column, code: int, *, physical: str) -> str | None:
        if isinstance(column, Integer) and physical in codes.SMALL:
            return f"CAST({code} AS BIGINT)"
        return f"DATE '{column.decode(code)}'" if isinstance(column, Date) and physical == "DATE" else None

    def unit(self, name: str, *, physical: str) -> tuple[str, UnitKind]:
        """Texts are equal byte for byte, whatever collation their column has."""
        raw = self.quoted(name)
        if physical in codes.SMALL:
            return f"CAST({raw} AS BIGINT)", "BIGINT"
        if physical == "UBIGINT":
            large = f"CAST(CAST({raw} AS HUGEINT) - {1 << 64} AS BIGINT)"
            return f"CASE WHEN {raw} < {1 << 63} THEN CAST({raw} AS BIGINT) ELSE {large} END", "BIGINT"
        if physical in codes.FLOATS:
            value = f"CAST({raw} AS DOUBLE)"  # a FLOAT has no shortest text here
            whole = f"WHEN {value} = floor({value}) THEN CAST(CAST({value} AS BIGINT) AS VARCHAR)"
            named = f"abs({value}) <= {1 << 53} AND NOT isnan({value})"
            return f"CASE WHEN NOT ({named}) THEN NULL {whole} ELSE CAST({value} AS VARCHAR) END", "VARCHAR"
        if (decimal := codes.scale(physical)) is not None:
            return _decimal_text(raw, *decimal), "VARCHAR"
        if physical in (
            "TIMESTAMP",
            "TIMESTAMP WITH TIME ZONE",
        ):  # the engine has no text for those before its first day, and dies of them
            kind = "TIMESTAMPTZ" if physical.endswith("ZONE") else "TIMESTAMP"
            ends = (f"CAST('{day}' AS {kind})" for day in ("0001-01-02", "9999-12-31"))
            return f"CASE WHEN {raw} BETWEEN {' AND '.join(ends)} THEN CAST({raw} AS VARCHAR) END COLLATE C", "VARCHAR"
        sized = physical.startswith("ENUM(") and physical.endswith(")")
        if physical not in _NAMES and not sized:
            raise no_name(name, physical)
        return f"CAST({raw} AS VARCHAR) COLLATE C", "VARCHAR"


def _decimal_text(raw: str, width: int, scale: int) -> str:
    """Without zeros at its end, and with one before the point."""
    text = f"CAST({raw} AS VARCHAR)"
    if width == scale:
        text = f"regexp_replace({text}, '^(-?)[.]', '\\10.')"
    return f"regexp_replace({text}, '[.]0+$|([.][0-9]*[1-9])0+$', '\\1')" if scale else text


DUCKDB = DuckDBSQL()
