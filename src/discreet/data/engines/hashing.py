"""The keyed hash that chooses which groups and rows of a unit are kept.

It is built from 32-bit words by addition, shifts, exclusive or, and products below 2^63, so that any engine
computes it without overflow: the same integers in Python, in SQL and in compiled code.

    mix(x)          a bijection of the 32-bit words (the form of Wellons 2018, both factors below 2^31)
    absorb(s, w)    mix(s + w mod 2^32)
    of a unit       the two words of a whole number from -2^63 to 2^64 - 1, or of another text the first two of its MD5

A unit has one canonical form, whatever type holds it: a whole number is that number as an integer, as the text that
`str(n)` writes, as a decimal and as a float, so that the same rows of it are kept.  "01", "+1" and " 1" are other
texts.  A float beyond 2^53 stands for several whole numbers and names nobody, as NULL does.

It decides nothing but which rows are kept: no privacy claim rests on its quality or on its being secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.data.engines.dialect import Dialect, UnitKind

MASK = (1 << 32) - 1
FIRST = 0x21F0AAAD
SECOND = 0x735A2D97
GROUPS, ROWS, JOINED = 1, 2, 3  # what is chosen
WHOLE_TEXT = "0|-?[1-9][0-9]{0,19}"


def mix(x: int) -> int:
    """A word that depends on every bit of x.

    >>> mix(1), mix(2)
    (2261973619, 229111015)
    """
    x ^= x >> 16
    x = (x * FIRST) & MASK
    x ^= x >> 15
    x = (x * SECOND) & MASK
    return x ^ (x >> 15)


def absorb(state: int, word: int) -> int:
    """The state after one more word."""
    return mix((state + word) & MASK)


def start(salt: int, purpose: int) -> int:
    """The state before the unit is known."""
    state = 0
    for word in (salt & MASK, (salt >> 32) & MASK, purpose):
        state = absorb(state, word)
    return state


def words(value: int) -> tuple[int, int]:
    """The low and the high word of a 64-bit integer in two's complement."""
    return value & MASK, (value >> 32) & MASK


def absorb_sql(state: str, word: str, dialect: Dialect) -> str:
    """`absorb` as an expression in BIGINT; it repeats its arguments, so they should be short."""

    def folded(x: str, bits: int) -> str:
        return dialect.xor(x, dialect.shift(x, bits))

    x = f"((({state}) + ({word})) & {MASK})"
    x = f"(({folded(x, 16)} * {FIRST}) & {MASK})"
    x = f"(({folded(x, 15)} * {SECOND}) & {MASK})"
    return folded(x, 15)


def hashed_sql(sql: str, name: str, start: int, words: list[str], dialect: Dialect) -> str:
    """A SELECT with one column more: the state after all words, one layer a word or in one expression."""
    whole = dialect.folded(start, words, lambda state, word: absorb_sql(state, word, dialect))
    if whole is not None:
        return f"SELECT *, {whole} AS {dialect.quoted(name)} FROM {dialect.layer(sql)}"
    last = str(start)
    for step, word in enumerate(words):
        state = dialect.quoted(name if step == len(words) - 1 else f"{name}{step}")
        sql = f"SELECT *, {absorb_sql(last, word, dialect)} AS {state} FROM {dialect.layer(sql)}"
        last = state
    return sql


def words_sql(value: str, dialect: Dialect) -> tuple[str, str]:
    """`words` of a BIGINT."""
    return f"({value} & {MASK})", f"({dialect.shift(value, 32)} & {MASK})"


def unit_words_sql(unit: str, kind: UnitKind, dialect: Dialect) -> tuple[str, str]:
    """The words of a unit: those of the whole number that it writes, if it does."""
    if kind == "BIGINT":
        return words_sql(unit, dialect)
    whole = words_sql(dialect.whole(unit), dialect)
    first, second = (
        f"COALESCE({one}, {other})" for one, other in zip(whole, text_words_sql(unit, dialect), strict=True)
    )
    return first, second


def text_words_sql(value: str, dialect: Dialect) -> tuple[str, str]:
    """The first two 32-bit words of the MD5 of a text, most significant byte first."""
    return dialect.md5_word(value, 0), dialect.md5_word(value, 1)
