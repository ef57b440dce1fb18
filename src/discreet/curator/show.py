"""An answer for people: a table in the terminal and in HTML, with error bars beside the values."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from discreet.curator.answer import Answer

if TYPE_CHECKING:
    from rich.table import Table as RichTable

SHOWN = 50  # rows


def cells(answer: Answer) -> tuple[list[str], list[list[str]]]:
    """Header and rows as text; each aggregate as `value +- half-width`, or its interval where it is lopsided."""
    rows = answer.errors().to_pylist()
    names = [output.name for output in answer.plan.query.outputs]
    measured = {output.name for output in answer.measured}
    body = [[_cell(row, name) if name in measured else _key(row[name]) for name in names] for row in rows]
    return names, body


def _key(value: object) -> str:
    """A group's key; a text that somebody wrote may hold what a terminal would obey, and is then spelled out."""
    if value is None:
        return "NULL"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _cell(row: dict[str, object], name: str) -> str:
    value, low, high = row[name], float(row[f"{name}_low"]), float(row[f"{name}_high"])  # type: ignore[arg-type]
    if value is None:
        return f"unknown ({_number(low)} to {_number(high)})"
    number = float(value)  # type: ignore[arg-type]
    if abs((high - number) - (number - low)) <= 0.05 * (high - low):
        return f"{_number(value)} ± {_number((high - low) / 2)}"
    return f"{_number(value)} ({_number(low)} to {_number(high)})"


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{float(value):,.6g}"  # type: ignore[arg-type]


def caption(answer: Answer) -> str:
    """What the error bars mean and what was paid."""
    paid = "asked before: free" if answer.receipt.replayed else f"paid {answer.cost}"
    return f"each interval holds with probability {1 - answer.beta:.0%}; {paid}"


def rich_table(answer: Answer) -> RichTable:
    """A table for the terminal."""
    from rich.table import Table as RichTable
    from rich.text import Text

    names, body = cells(answer)
    measured = {output.name for output in answer.measured}
    table = RichTable(caption=caption(answer))
    for name in names:
        table.add_column(
            Text(name), justify="right" if name in measured else "left", style="cyan" if name not in measured else ""
        )
    for row in body[:SHOWN]:
        table.add_row(*map(Text, row))  # not as markup
    if len(body) > SHOWN:
        table.add_row(*(["..."] + [""] * (len(names) - 1)))
    return table


def html(answer: Answer) -> str:
    """A table for a notebook or a report."""
    names, body = cells(answer)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body[:SHOWN])
    more = f"<tr><td colspan={len(names)}>... {len(body) - SHOWN:,} more</td></tr>" if len(body) > SHOWN else ""
    note = escape(caption(answer))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}{more}</tbody><caption>{note}</caption></table>"
