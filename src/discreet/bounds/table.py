"""Tables of what is known: entries that are exact, and shapes whose constants nobody knows.

An entry says which it is.  A shape has the constant 1, and no entry of a shape is a promise or a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact", "shape only", "no number", "suppressed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One line: what is bounded, by whom, and the number, if it is one."""

    name: str
    claim: str
    value: float | None
    kind: Kind
    note: str = ""

    @property
    def shown(self) -> str:
        """The number as it is printed; a suppressed one is not."""
        return "-" if self.value is None or self.kind == "suppressed" else f"{self.value:.4g}"


@dataclass(frozen=True, slots=True)
class BoundsTable:
    """Entries under a title; `str` is a table in Markdown, and `table[name]` one entry.

    >>> print(BoundsTable("Errors", (Entry(name="tree", claim="h(h+1)", value=2.0, kind="exact"),)))
    Errors
    <BLANKLINE>
    | method | bound | value | kind | note |
    |---|---|---|---|---|
    | tree | h(h+1) | 2 | exact |  |
    """

    title: str
    entries: tuple[Entry, ...]

    def __getitem__(self, name: str) -> Entry:
        return {entry.name: entry for entry in self.entries}[name]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __str__(self) -> str:
        head = [self.title, "", "| method | bound | value | kind | note |", "|---|---|---|---|---|"]
        lines = [f"| {e.name} | {e.claim} | {e.shown} | {e.kind} | {e.note} |" for e in self.entries]
        return "\n".join(head + lines)
