"""A plan for people: a table in the terminal and in HTML."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.planning.plan import Plan

HEADER = ("mechanism", "largest error", "expected", "typical", "by", "seconds", "memory")


def text(plan: Plan) -> str:
    """The table, the choice, the floors and why the others are out."""
    lines = [_title(plan), ""]
    table = [HEADER, *_cells(plan)]
    widths = [max(len(row[i]) for row in table) for i in range(len(HEADER))]
    for number, row in enumerate(table):
        left = f"{row[0]:<{widths[0]}}"
        rest = "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append(f"{'->' if number == 1 else '  '} {left}  {rest}")
    lines.append("")
    lines += [f"   {note}" for note in _floors(plan)]
    lines += [f"   not {row.name}: {row.reason}" for row in plan.refused]
    lines += [f"   {note}" for note in _unseen(plan)]
    return "\n".join(lines)


def html(plan: Plan) -> str:
    """The same for notebooks."""
    head = "".join(f"<th>{escape(name)}</th>" for name in HEADER)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in [(f"<- {row[0]}" if i == 0 else row[0], *row[1:]) for i, row in enumerate(_cells(plan))]
    )
    notes = _floors(plan) + [f"not {row.name}: {row.reason}" for row in plan.refused] + _unseen(plan)
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<p>{escape(_title(plan))}</p><table><tr>{head}</tr>{body}</table><ul>{listed}</ul>"


def record(plan: Plan) -> dict[str, object]:
    """The same for programs."""
    question = plan.question
    rows = [
        {
            "name": row.name,
            "largest": _finite(row.largest),
            "expected": _finite(row.expected),
            "typical": _finite(row.typical),
            "basis": row.basis,
            "seconds": _finite(row.cost.seconds),
            "memory": _finite(row.cost.memory),
        }
        for row in plan.rows
    ]
    return {
        "queries": question.workload.shape[0],
        "cells": question.workload.shape[1],
        "n": question.n,
        "budget": str(question.budget),
        "beta": question.beta,
        "objective": plan.objective,
        "chosen": plan.chosen.name,
        "mechanisms": rows,
        "refused": [{"name": row.name, "reason": row.reason} for row in plan.refused],
        "unseen": list(plan.unseen),
        "bound": None if plan.bound is None else plan.bound.to_dict(),
        "bounds": [floor.to_dict() for floor in plan.floors],
        "gaussian": None if plan.gaussian is None else plan.gaussian.to_dict(),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _floors(plan: Plan) -> list[str]:
    """What nobody, or nobody unbiased, can do, the best bound first, with what proves it; then Gaussian noise."""
    lines = [
        f"{floor.who}: {floor.what} at least {_number(floor.value)} ({floor.name}: {floor.witness})"
        for floor in plan.floors
    ]
    if plan.gaussian is not None:
        limit = f"{plan.gaussian.what} at least {_number(plan.gaussian.value)}"
        lines.append(f"for comparison, {plan.gaussian.who}: {limit}; other noise may have less")
    return lines


def _unseen(plan: Plan) -> list[str]:
    """What the seconds did not reach, by forecast."""
    if not plan.unseen:
        return []
    return [f"not looked at, as seconds={plan.question.seconds:g} do not reach so far: {', '.join(plan.unseen)}"]


def _title(plan: Plan) -> str:
    question = plan.question
    queries, cells = question.workload.shape
    size = f"{cells:,}" if cells < 10**9 else f"{cells:.2g}"
    least = "expected" if plan.objective == "max" else "typical"  # the columns by which rows are in order
    return (
        f"{queries:,} queries over {size} cells, assuming n = {question.n:,}, {question.budget}; "
        f"least {least} error first\n"
        f"errors in counts: the largest of all queries (probability {1 - question.beta:g}; simulated: of all runs), "
        "its median, and the root mean square"
    )


def _cells(plan: Plan) -> list[tuple[str, ...]]:
    return [
        (
            row.name,
            _number(row.largest),
            _number(row.expected),
            _number(row.typical),
            row.basis,
            _number(row.cost.seconds),
            _bytes(row.cost.memory),
        )
        for row in plan.rows
    ]


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.3g} {unit}"
        size /= 1000
    raise AssertionError
