"""What each way of counting triangles would err by, from public facts, and which one to take.

Public are the number of vertices n, epsilon and delta, and whatever has been declared or paid for: a
largest degree, or a released bound on the local sensitivity LS.  The error of every method but one
grows with LS, which is private; so a prediction is a row of errors, one for each LS that the facts
allow.  `choose` takes the pure method whose error is never far from the least one: over all LS
that the number of vertices allows, the largest ratio to the best method is as small as possible.
It looks at n and epsilon and at nothing else.  Proofs of the bounds: docs/theory/graphs.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from discreet.errors import UnsupportedError, require
from discreet.mechanisms.admissible_noise import LEAST, nearest
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.guarantee import ApproxDP, Guarantee
from discreet.structured.graphs.edge_smoothing import EdgeSmoothing
from discreet.structured.graphs.ladder import Ladder
from discreet.structured.graphs.noisy_local import NoisyLocal

PURE = ("smooth", "ladder", "laplace")
METHODS = ("noisy-local", *PURE)
Errors = Callable[[int], float]  # LS -> the error


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """One method: the error that is exceeded with probability beta, for each local sensitivity."""

    method: str
    privacy: Guarantee
    errors: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrianglePlan:
    """Every method side by side, and the one that "auto" takes.

    >>> from discreet.structured import TriangleCount
    >>> TriangleCount(epsilon=1.0, delta=1e-6).explain(vertices=4000).chosen
    'smooth'
    """

    vertices: int
    beta: float
    locals: tuple[int, ...]
    predictions: tuple[Prediction, ...]
    chosen: str

    def __str__(self) -> str:
        head = f"triangles of a graph on {self.vertices:,} vertices: error exceeded with probability {self.beta:g}"
        lines = [head, f"{'if two vertices share at most':32}" + "".join(f"{local:>12,}" for local in self.locals)]
        for row in self.predictions:
            mark = "*" if row.method == self.chosen else " "
            lines.append(
                f"{mark} {row.method:12}{_shown(row.privacy):18}" + "".join(f"{e:>12,.0f}" for e in row.errors)
            )
        return "\n".join([*lines, "* what auto takes: from the vertices and epsilon alone"])


def _shown(claim: Guarantee) -> str:
    """epsilon, or (epsilon, delta)."""
    return f"({claim.epsilon}, {claim.delta})" if isinstance(claim, ApproxDP) else f"{getattr(claim, 'epsilon', claim)}"


def errors(method: str, *, epsilon: Fraction, delta: Fraction, most: int, beta: float) -> Errors:
    """The error of a method as a function of LS: exceeded with probability beta, or a little less."""
    if method == "laplace":
        alpha = Laplace(epsilon=epsilon, sensitivity=max(1, most)).accuracy(beta)
        return lambda local: alpha
    if method == "smooth":
        smoothing = EdgeSmoothing(epsilon)
        factor, reach = smoothing.noise.error(beta), smoothing.reach
        return lambda local: nearest(factor * smoothed(local, most, reach))
    if method == "ladder":
        ladder = Ladder(epsilon=epsilon)
        return lambda local: ladder.accuracy(beta, steps=lambda t: min(local + t, most), most=most)
    noisy = NoisyLocal(epsilon=epsilon, delta=delta)
    return lambda local: noisy.accuracy(beta, local=local, most=most)


def serving(epsilon: Fraction, most: int) -> tuple[str, ...]:
    """The pure methods that serve this epsilon: smooth noise has a least one, and a ladder a most of rungs."""
    able = {"smooth": epsilon >= LEAST, "ladder": Ladder(epsilon=epsilon).serves(most), "laplace": True}
    return tuple(method for method in PURE if able[method])


def smoothed(local: int, most: int, reach: int) -> float:
    """The largest (1 - 1 / reach)^s min(local + s, most): no smooth sensitivity with this LS is larger."""
    s = max(0, min(reach - 1 - local, most - local))
    return (1 - 1 / reach) ** s * min(local + s, most) * (1 + 1e-9)


def ladder_bound(epsilon: Fraction, local: int, most: int, beta: float) -> int:
    """alpha with Pr[|error| > alpha] <= beta for every graph whose LS is at most `local`."""
    rate = float(epsilon) / 2
    if _off(rate, local, most) <= beta:
        return 0
    top = max(1, math.ceil(-math.log(beta) / rate))
    while _above(rate, top) > beta:
        top += 1 + top // 20
    return list(accumulate(min(local + t, most) for t in range(top)))[-1]


def _off(rate: float, local: int, most: int) -> float:
    """The largest probability of any rung but that of the count itself, where LS is at most `local`."""
    w = math.exp(-rate)
    rungs = 2 * w * min(most / (1 - w), local / (1 - w) + w / (1 - w) ** 2)  # a ladder rises by at most one a rung
    return rungs / (1 + rungs)


def _above(rate: float, top: int) -> float:
    """The largest probability of a rung above `top`, over all ladders that rise by at most one a rung.

    With p = I_(top-1), which is 0 .. top or large: see docs/theory/ladder.md.
    """
    import numpy as np

    w = math.exp(-rate)
    terms = np.exp(-rate * (top - np.arange(top)))  # w^(top - j)
    below = 1 + 2 * np.concatenate([[0.0], np.cumsum(np.cumsum(terms))])  # 1 + 2 sum of (p - j) w^(top - j), j < p
    above = 2 * w ** (top + 1) * (np.arange(top + 1) / (1 - w) + 1 / (1 - w) ** 2)
    return max(float((above / (above + below)).max()), w**top)


@lru_cache(maxsize=256)
def choose(vertices: int, epsilon: Fraction, beta: float = 0.05) -> str:
    """The pure method whose error is least far from the best one's, over all local sensitivities.

    >>> choose(5000, Fraction(1))
    'smooth'
    >>> choose(4, Fraction(1))
    'laplace'
    """
    most = max(1, vertices - 2)
    able = serving(epsilon, most)
    rows = {m: errors(m, epsilon=epsilon, delta=Fraction(0), most=most, beta=beta) for m in able}
    table = {m: [max(1.0, row(local)) for local in _spread(most)] for m, row in rows.items()}
    least = [min(column) for column in zip(*table.values(), strict=True)]
    return min(able, key=lambda m: max(e / b for e, b in zip(table[m], least, strict=True)))


def _spread(most: int) -> tuple[int, ...]:
    """1, 2, 5, 10, ... up to `most`."""
    steps = (d * 10**k for k in range(len(str(most))) for d in (1, 2, 5))
    return tuple(sorted({min(step, most) for step in steps} | {most}))


def explain(
    *, vertices: int, epsilon: Fraction, delta: Fraction, at_most: int | None, beta: float, claims: dict[str, Guarantee]
) -> TrianglePlan:
    """The table; `claims` names the methods to list."""
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    most = max(0, vertices - 2)
    spread = _spread(most) if at_most is None else (min(at_most, most),)
    shown = spread if len(spread) <= 4 else tuple(spread[i * (len(spread) - 1) // 3] for i in range(4))
    rows = tuple(
        Prediction(method=m, privacy=claim, errors=tuple(row(local) for local in shown))
        for m, claim in claims.items()
        if m not in PURE or m in serving(epsilon, most)
        for row in (errors(m, epsilon=epsilon, delta=delta, most=most, beta=beta),)
    )
    chosen = choose(vertices, epsilon)
    return TrianglePlan(vertices=vertices, beta=beta, locals=shown, predictions=rows, chosen=chosen)


def proven(
    method: str, *, vertices: int | None, largest: int | None, epsilon: Fraction, delta: Fraction, beta: float
) -> int:
    """alpha with Pr[|error| > alpha] <= beta for every graph with these public facts."""
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    if vertices is None:
        raise UnsupportedError("the error depends on the graph; pass vertices=, and max_degree= if it is public")
    most = max(0, vertices - 2)
    local = most if largest is None else min(largest, most)
    if method == "ladder":
        return ladder_bound(epsilon, local, most, beta)
    return math.ceil(errors(method, epsilon=epsilon, delta=delta, most=most, beta=beta)(local))
