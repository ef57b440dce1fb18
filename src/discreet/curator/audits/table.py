"""Findings as a table: for a terminal, for a page of the documentation, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from discreet.curator.audits.finding import Finding

HEAD = ("", "claimed", "exact", "replayed", "lower bound", "releases", "twin", "caught", "")


def text(findings: Sequence[Finding]) -> str:
    """Columns of equal width, and a line that sums up.

    >>> from discreet.curator.audits.finding import Finding
    >>> found = Finding(name="Laplace", room="mechanisms", unit="epsilon", pairs=1, inputs="0 | 1", claimed=1.0,
    ...     delta=0.0, exact=1.0, bound=0.97, samples=1000, twin=1.15, twin_bound=1.1, power=1.0, violated=False,
    ...     seconds=2.0)
    >>> print(text([found]))
                        claimed  exact  replayed  lower bound  releases  twin   caught
    mechanisms.Laplace  1.000    1.000            0.970        1000      x1.15  1.00    holds
    1 audited, 0 violated; a twin is caught in 99 of 100 redraws of its counts or more for 1 of 1
    """
    rows = [HEAD, *(_cells(one) for one in findings)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, summary(findings)])


def markdown(findings: Sequence[Finding]) -> str:
    """A table of a Markdown page."""
    head = "| | claimed | exact | replayed | lower bound | releases | twin: budget | caught | |\n" + "|---" * 9 + "|"
    rows = ["| " + " | ".join((f"`{cells[0]}`", *cells[1:])) + " |" for cells in map(_cells, findings)]
    return "\n".join([head, *rows, "", summary(findings) + "."])


def as_csv(findings: Sequence[Finding]) -> str:
    """One line a finding, with all its fields."""
    made = io.StringIO()
    writer = csv.DictWriter(made, list(findings[0].row()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(one.row() for one in findings)
    return made.getvalue()


def as_json(findings: Sequence[Finding]) -> str:
    """A list of objects."""
    return json.dumps([one.row() for one in findings], indent=2)


def summary(findings: Sequence[Finding]) -> str:
    """How many, how many false, and how many twins are caught."""
    twins = [one.power for one in findings if one.power is not None]
    seen = sum(power >= 0.99 for power in twins)
    false = sum(one.violated for one in findings)
    caught = f"a twin is caught in 99 of 100 redraws of its counts or more for {seen} of {len(twins)}"
    return f"{len(findings)} audited, {false} violated" + (f"; {caught}" if twins else "")


def _cells(one: Finding) -> tuple[str, ...]:
    claimed = f"{one.claimed:.3f}" + (" mu" if one.unit == "mu" else f" at {one.delta:g}" if one.delta else "")
    return (
        f"{one.room}.{one.name}",
        claimed,
        "" if one.exact is None else f"{one.exact:.3f}",
        "" if one.replayed is None else f"{one.replayed:.2f}",
        f"{one.bound:.3f}",
        str(one.samples),
        "" if one.twin is None else f"x{one.twin:g}",
        "" if one.power is None else f"{one.power:.2f}",
        one.verdict,
    )
