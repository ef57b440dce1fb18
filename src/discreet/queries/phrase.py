"""Texts whose values nobody declared: equality and prefixes, character by character."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.data.columns import Text
from discreet.errors import UnsupportedError
from discreet.queries.expression import Expression, Unary, text
from discreet.queries.types import Free, Truth


@dataclass(frozen=True, slots=True)
class Phrase(Expression):
    """A text constant, to be compared with a text."""

    value: str

    @property
    def type(self) -> Free:
        """A text that is not missing."""
        return Free(Text(max(1, len(self.value.encode()))), nullable=False)

    def code(self) -> str:
        """Itself."""
        return text(self.value)

    def __str__(self) -> str:
        return text(self.value)


@dataclass(frozen=True, slots=True)
class Prefix(Unary):
    """Whether a text begins with some characters."""

    inner: Expression
    start: str

    def __post_init__(self) -> None:
        if not isinstance(self.inner.type, Free):
            raise UnsupportedError(f"LIKE needs a text or a categorical column, got {self.inner}")

    @property
    def type(self) -> Truth:
        """NULL if the text is."""
        return Truth(self.inner.type.nullable)

    def code(self) -> str:
        """The first characters, compared."""
        return f"SUBSTRING({self.inner.code()}, 1, {len(self.start)}) = {text(self.start)}"

    def __str__(self) -> str:
        escaped = self.start.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        return f"({self.inner} LIKE {text(escaped + '%')}{' ESCAPE ' + text('!') if escaped != self.start else ''})"
