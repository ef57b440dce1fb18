"""The sums of a round: weighted moments inside a ball, and gradients at given weights.

Theorem.  With the integers u of `vectors` and h = (constant, u), a row added or removed moves

    `means`      sums of (SCALE / 2, u), by what `clipped_moments.mean_sensitivities` says,
    `moments`    weighted sums of the products of h, by what `clipped_moments.sensitivities` says,
    `gradient`   sums of h r^T, by what `noisy_gradient.sensitivities` says for the bound that residuals are cut to,
    `right`      the number of rows that given weights put into their class, by one.

Proof: docs/theory/rounds.md.  Those are the bounds for rows in memory, so that one noise serves both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from discreet.data.whole import Whole, added, constant, largest, named, where
from discreet.errors import require
from discreet.learning.linear.losses import STEPS, Loss
from discreet.learning.linear.noisy_gradient import WEIGHT
from discreet.learning.rounds.slopes import residuals
from discreet.learning.rounds.vectors import FINE, Moved
from discreet.learning.vectors.clipped_moments import OFF, ON, SCALE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

PRODUCTS = 4000  # sums of one round of moments
ENTRIES = 600  # sums of one round of gradients
STEPS_AT_MOST = 50  # rounds of a descent


def means(moved: Moved, radius: int) -> Ints:
    """Sums of (SCALE / 2, u)."""
    layers, units = moved.ball(radius)
    return moved.rows.sums(layers, [constant(SCALE // 2), *units])


def moments(moved: Moved, radius: int, first: int) -> Ints:
    """Weighted sums of products of h = (first, u): the upper triangle, row by row."""
    layers, units = moved.ball(radius)
    lifted = [constant(first), *units]
    pairs = [(i, j) for i in range(len(lifted)) for j in range(i, len(lifted))]
    require(len(pairs) <= PRODUCTS, f"at most {PRODUCTS} products of entries where an engine adds", products=len(pairs))
    return moved.rows.sums(layers, [lifted[i] * lifted[j] * (ON if i == j else OFF) for i, j in pairs])


def gradient(
    moved: Moved, radius: int, first: int, label: Whole, columns: int, loss: Loss, bound: int
) -> Callable[[Floats], Ints]:
    """A function of whole weights (width, columns): the sums of h r^T, of the same shape."""
    layers, units = moved.ball(radius)
    lifted, prefix = [constant(first), *units], moved.rows.prefix

    def sums(weights: Floats) -> Ints:
        scores = {
            f"{prefix}m{k}": added([one * int(w) for one, w in zip(lifted, weights[:, k], strict=True)]).over(
                WEIGHT // STEPS
            )
            for k in range(columns)
        }
        places = [named(name, one.low, one.high) for name, one in scores.items()]
        more, errors = residuals(loss, places, label, bound, lifted, SCALE**2 + first**2, prefix)
        asked = [one * error for one in lifted for error in errors]
        return moved.rows.sums([*layers, scores, *more], asked).reshape(len(lifted), columns)

    return sums


def right(moved: Moved, radius: int, first: int, label: Whole, columns: int, weights: Floats) -> int:
    """How many rows have their largest score in their class; of one score, on its side of 0.  A row moves it by one."""
    layers, units = moved.ball(radius)
    lifted, prefix = [constant(first), *units], moved.rows.prefix
    scores = {
        f"{prefix}m{k}": added([one * int(w) for one, w in zip(lifted, weights[:, k], strict=True)])
        for k in range(columns)
    }
    places = [named(name, one.low, one.high) for name, one in scores.items()]
    if columns == 1:
        said = where(places[0].at_least(1), where(label.equals(1), 1, 0), where(label.equals(0), 1, 0))
        return int(moved.rows.sums([*layers, scores], [said])[0])
    top = places[0]
    for place in places[1:]:
        top = largest(top, place)
    best = {f"{prefix}b": top}
    most = named(f"{prefix}b", top.low, top.high)
    hits = added([where(label.equals(k), where(place.at_least(most), 1, 0), 0) for k, place in enumerate(places)])
    return int(moved.rows.sums([*layers, scores, best], [hits.within(0, 1)])[0])


def target_places(entry: Whole) -> Whole:
    """An entry of a vector, moved, in places of a score."""
    return entry.over(FINE // STEPS)
