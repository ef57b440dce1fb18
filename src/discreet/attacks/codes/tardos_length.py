"""How long a Tardos code must be: exact exponential bounds, over every joint strategy of the pirates.

The bias of a position is p = sin^2 r with r uniform on [r0, pi/2 - r0], sin^2 r0 = t.  A user with bit X scores, where
the word has y = +1 for a one and -1 for a zero,  y (X - p) / sqrt(p (1 - p)).

Theorem.  Accuse scores above Z.  For every l, a > 0 and every strategy of c pirates,

    Pr[a given innocent is accused]  <=  e^(-l Z) A(l)^m,    A(l) = E_p max_y E[e^(l score)]
    Pr[no pirate is accused]         <=  e^(a c Z) M(a)^m,   M(a) = sum_k C(c, k) max_y E_p[p^k (1-p)^(c-k) e^(-a y g)]

with g = (k - c p) / sqrt(p (1 - p)), y free for 0 < k < c and fixed by the marking condition at the ends.  Given the
coalition's columns the positions are independent, so that the worst case is taken position by position.  With c' < c
pirates the second probability is at most (c - c') times the first larger.
Proof: docs/theory/codes.md.  The integrals are computed by Gauss-Legendre quadrature in floating point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.threads import threads_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

NODES = 800
CUTOFFS = tuple(
    mantissa * 10.0**-power for power in range(1, 6) for mantissa in (5.0, 4.0, 2.5, 2.0, 1.6667, 1.25, 1.0)
)
GRID = 120  # exponents tried


@dataclass(frozen=True, slots=True)
class TardosLength:
    """Positions, threshold and cutoff for so many pirates at these error probabilities."""

    pirates: int
    length: int
    threshold: float
    cutoff: float


@lru_cache(maxsize=64)
def tardos_length(pirates: int, *, innocent: float, miss: float) -> TardosLength:
    """The least length found over the cutoffs.

    >>> found = tardos_length(5, innocent=1e-4, miss=0.01)
    >>> found.length <= 1896, round(found.threshold)
    (True, 196)
    """
    require(
        isinstance(pirates, int) and not isinstance(pirates, bool) and pirates >= 1, "pirates >= 1", pirates=pirates
    )
    require(0 < innocent < 1 and 0 < miss < 1, "probabilities between 0 and 1", innocent=innocent, miss=miss)
    guess = 1 / (8 * pirates**2)
    near = [cutoff for cutoff in CUTOFFS if guess / 8 <= cutoff <= min(0.3, guess * 8)] or [guess]
    return min((_at(pirates, cutoff, innocent, miss) for cutoff in near), key=lambda found: found.length)


@threads_by(lambda pirates, *_: NODES * (pirates + 1))
def _at(pirates: int, cutoff: float, innocent: float, miss: float) -> TardosLength:
    import numpy as np

    p, weight = _biases(cutoff)
    up = math.sqrt(cutoff / (1 - cutoff))  # scores are at most 1 / up
    exponents = np.geomspace(1e-3, 2.0, GRID) * up * 2
    log_a = np.log([_innocent(p, weight, one) for one in exponents])
    shares = np.geomspace(1e-3, 2.0, GRID) * up * 2
    log_m = np.log([_coalition(p, weight, pirates, one) for one in shares])

    def threshold(length: int) -> tuple[float, float]:
        least = float(((length * log_a - math.log(innocent)) / exponents).min())
        most = float(((math.log(miss) - length * log_m) / (shares * pirates)).max())
        return least, most

    low, high = 1, 2
    while threshold(high)[0] > threshold(high)[1]:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        least, most = threshold(middle)
        low, high = (low, middle) if least <= most else (middle, high)
    return TardosLength(pirates, high, threshold(high)[0], cutoff)


def _biases(cutoff: float) -> tuple[Floats, Floats]:
    """Nodes and weights of the law of p."""
    import numpy as np

    start = math.asin(math.sqrt(cutoff))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    angle = start + (nodes + 1) / 2 * (math.pi / 2 - 2 * start)
    return np.sin(angle) ** 2, weights / 2


def _innocent(p: Floats, weight: Floats, exponent: float) -> float:
    import numpy as np

    up, down = np.sqrt((1 - p) / p), np.sqrt(p / (1 - p))
    one = p * np.exp(exponent * up) + (1 - p) * np.exp(-exponent * down)
    zero = p * np.exp(-exponent * up) + (1 - p) * np.exp(exponent * down)
    return float(weight @ np.maximum(one, zero))


def _coalition(p: Floats, weight: Floats, pirates: int, exponent: float) -> float:
    import numpy as np
    from scipy.special import gammaln

    k = np.arange(pirates + 1)[:, None]
    log_choose = gammaln(pirates + 1) - gammaln(k + 1) - gammaln(pirates - k + 1)
    score = (k - pirates * p) / np.sqrt(p * (1 - p))
    log_law = log_choose + k * np.log(p) + (pirates - k) * np.log1p(-p)
    one = np.exp(log_law - exponent * score) @ weight
    zero = np.exp(log_law + exponent * score) @ weight
    worst = np.maximum(one, zero)
    worst[0], worst[-1] = zero[0], one[-1]
    return float(worst.sum())
