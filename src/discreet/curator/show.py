"""An answer for people: a table in the terminal and in HTML, with error bars beside the values."""

from __future__ import annotations

import math
from collections.abc import Callable
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
    return interval(value if value is None or isinstance(value, int) else float(value), low, high)  # type: ignore[arg-type]


def interval(value: float | None, low: float, high: float) -> str:
    """A value as precise as its error bar is, which is rounded outwards to three digits.

    >>> interval(28_369, 27_832, 28_906), interval(1702.3612, 1610.1785, 1794.5439)
    ('28,369 ± 537', '1,702.4 ± 92.3')
    >>> interval(0.177181, 0.109955, 0.253074), interval(None, 0.0, 5000.0)
    ('0.1772 (0.1099 to 0.2531)', 'unknown (0 to 5,000)')
    """
    if value is None:
        return f"unknown ({_number(low)} to {_number(high)})"
    half = (high - low) / 2
    if not 0 < half < math.inf:
        return f"{_number(value)} ± 0" if half == 0 else f"{_number(value)} ({_number(low)} to {_number(high)})"
    places = 0 if isinstance(value, int) else max(0, 2 - math.floor(math.log10(half)))
    middle = value if isinstance(value, int) else round(value, places)
    text = f"{middle:,}" if isinstance(middle, int) else f"{middle:,.{places}f}"
    if abs((high - value) - (value - low)) > 0.1 * half:  # lopsided
        return f"{text} ({_out(low, places, math.floor)} to {_out(high, places, math.ceil)})"
    return f"{text} ± {_out(max(high - middle, middle - low), places, math.ceil)}"


def _out(value: float, places: int, outwards: Callable[[float], int]) -> str:
    """The next number of so many places; what is one but for the last digits of a float stays."""
    steps = value * 10**places
    close = abs(steps - round(steps)) <= 1e-9 * max(1.0, abs(steps))
    return f"{(round(steps) if close else outwards(steps)) / 10**places:,.{places}f}"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


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
