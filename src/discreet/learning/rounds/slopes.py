"""Residuals of a linear model's losses in integers that any engine computes: minus the slope, from pieces of lines.

Theorem.  Each residual is a function of the places of a row's scores and of its class.  It is an integer of at most
RESIDUAL in absolute value; of several, the squares sum to at most `square` RESIDUAL^2 before they are cut, and after
`cut` with a bound C the residuals r and the row's integers h have |h|^2 |r|^2 <= C^2.  Proof: docs/theory/rounds.md.

The slope of the logistic loss and the odds of softmax are read off lines between the points of a table: a
line in place of the curve is off by less than 0.004 in a slope.  No bound depends on how near it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.data.whole import Whole, added, chosen, constant, largest, named, smallest, toward_zero, where
from discreet.learning.linear.losses import RESIDUAL, STEPS, Loss, Margin, Softmax
from discreet.learning.rounds.vectors import root

MARGIN, SEGMENT = 8, 4  # margins beyond have the slope at this one; pieces for a margin of 1
GAP, PART = 14, 8  # scores that are so far below the largest have no odds; pieces for a gap of 1
ODDS = 1 << 20  # what odds of 1 become

Layer = dict[str, Whole]


def residuals(
    loss: Loss,
    places: Sequence[Whole],
    label: Whole,
    bound: int,
    rows: Sequence[Whole],
    square_of_row: int,
    prefix: str,
) -> tuple[list[Layer], list[Whole]]:
    """Layers, and the cut residuals by name, one a score; `label` is the place of the class, or of the target."""
    raw: Layer = {}
    layers: list[Layer] = []
    if isinstance(loss, Margin):
        for k, place in enumerate(places):
            own = label.equals(k if len(places) > 1 else 1)
            signed = f"{prefix}s{k}"
            layers.append({signed: where(own, place, -place).within(-MARGIN * STEPS, MARGIN * STEPS - 1)})
            slope = line(loss.slope, named(signed, -MARGIN * STEPS, MARGIN * STEPS - 1))
            raw[f"{prefix}e{k}"] = where(own, slope, -slope)
    elif isinstance(loss, Softmax):
        layers, raw = _softmax(places, label, prefix)
    else:
        (place,) = places
        raw[f"{prefix}e0"] = (label - place).within(-RESIDUAL, RESIDUAL)
    layers.append(raw)
    errors = [named(name, -RESIDUAL, RESIDUAL) for name in raw]
    more, made = cut(errors, bound, rows, square_of_row, loss.square(len(places)), prefix)
    return [*layers, *more], made


def cut(
    errors: Sequence[Whole], bound: int, rows: Sequence[Whole], square_of_row: int, square: int, prefix: str
) -> tuple[list[Layer], list[Whole]]:
    """Residuals made smaller, toward 0, until |row|^2 |residuals|^2 <= bound^2; as they are if none is longer."""
    if square_of_row * square * RESIDUAL**2 <= bound**2:
        return [], list(errors)
    layers, own = root(named(f"{prefix}h", 0, square_of_row), f"{prefix}hr")
    layers = [{f"{prefix}h": added([one * one for one in rows]).within(0, square_of_row)}, *layers]
    most = min(bound, RESIDUAL * math.isqrt(square) + RESIDUAL)
    layers.append({f"{prefix}t": constant(bound).over(own).within(0, most)})
    left = named(f"{prefix}t", 0, most)  # how long the residuals may be
    if len(errors) == 1:
        made = {f"{prefix}c0": largest(smallest(errors[0], left), -left)}
    else:
        together = added([one * one for one in errors]).within(0, square * RESIDUAL**2)
        more, size = root(named(f"{prefix}q", 0, together.high), f"{prefix}qr")
        layers += [{f"{prefix}q": together}, *more]
        made = {
            f"{prefix}c{k}": where(left.below(size), toward_zero(one * left, size).within(-RESIDUAL, RESIDUAL), one)
            for k, one in enumerate(errors)
        }
    layers.append(made)
    return layers, [named(name, max(one.low, -RESIDUAL), min(one.high, RESIDUAL)) for name, one in made.items()]


def line(slope: object, margin: Whole) -> Whole:
    """A slope between 0 and 1 as 0 .. RESIDUAL, straight between the points of a table."""
    import numpy as np

    step = STEPS // SEGMENT
    points = np.arange(-MARGIN * SEGMENT, MARGIN * SEGMENT + 1) / SEGMENT
    heights = np.rint(np.clip(slope(points), 0.0, 1.0) * RESIDUAL).astype(np.int64)  # type: ignore[operator]
    return _lines(margin, -MARGIN * STEPS, step, [int(one) for one in heights]).within(0, RESIDUAL)


def _lines(value: Whole, start: int, step: int, heights: Sequence[int]) -> Whole:
    """Straight pieces between heights at start, start + step, ..."""
    edges = [start + step * place for place in range(1, len(heights) - 1)]
    pieces = []
    for place in range(len(heights) - 1):
        left, rise = start + step * place, heights[place + 1] - heights[place]
        inside = (value - left).within(0, step)
        pieces.append((inside * rise).over(step) + heights[place])
    return chosen(value, edges, pieces)


def _softmax(places: Sequence[Whole], label: Whole, prefix: str) -> tuple[list[Layer], Layer]:
    """RESIDUAL less the share of the odds for the class, minus that share for the others."""
    import numpy as np

    heights = [int(one) for one in np.rint(np.exp(-np.arange(GAP * PART + 1) / PART) * ODDS)]
    heights[-1] = 0
    top = places[0]
    for place in places[1:]:
        top = largest(top, place)
    best = named(f"{prefix}b", top.low, top.high)
    gaps = {f"{prefix}g{k}": (best - place).within(0, GAP * STEPS) for k, place in enumerate(places)}
    odds = {
        f"{prefix}o{k}": _lines(named(name, 0, GAP * STEPS), 0, STEPS // PART, heights).within(0, ODDS)
        for k, name in enumerate(gaps)
    }
    each = [named(name, 0, ODDS) for name in odds]
    total = {f"{prefix}z": added(each).within(ODDS, ODDS * len(each))}
    whole = named(f"{prefix}z", ODDS, ODDS * len(each))
    raw = {
        f"{prefix}e{k}": (where(label.equals(k), RESIDUAL, 0) - (one * RESIDUAL).over(whole)).within(
            -RESIDUAL, RESIDUAL
        )
        for k, one in enumerate(each)
    }
    return [{f"{prefix}b": top}, gaps, odds, total], raw
