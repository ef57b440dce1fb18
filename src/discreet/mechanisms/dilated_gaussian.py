"""The delta of Gaussian noise whose scale differs between neighbours, from above.

Theorem.  Let P = N(0, s^2) and Q = N(D, r^2) with |D| <= alpha min(s, r) and s / r between
e^-b and e^b.  The excess sup_A P(A) - e^epsilon Q(A) grows with |D|, so it is at most its
supremum over the two arcs

    wide     P = N(0, t^2),  Q = N(alpha, 1)        1 <= t <= e^b,
    narrow   P = N(0, 1),    Q = N(alpha, t^2)      1 <= t <= e^b.

If t0 <= t <= t1, then with c = t1 / t0 the density of N(., t^2) is at most c times that of
N(., t1^2) and at least 1 / c times that of N(., t0^2).  So on such a cell the wide arc is at
most c times its excess at t1, and the narrow one at most its excess at t0, both with
e^epsilon / c for e^epsilon.  `CELLS` cells cover each arc, with Phi bracketed by rationals.
Proof: docs/theory/smooth_sensitivity.md, section 7.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from discreet.privacy.enclosure import exp_down, exp_up, log_down, log_up, root_bounds
from discreet.privacy.normal import LARGEST, cdf_bounds
from discreet.privacy.number import down, up

CELLS = 32  # of each arc; smoothness / CELLS is what the bound gives away in epsilon
PLACES = 200  # binary places of the ends of an event, rounded outward
_NOTHING = Fraction(1, 10**400)  # above Phi(-200)

Bounds = tuple[Fraction, Fraction]


def dilated_delta(
    alpha: Fraction, smoothness: Fraction, epsilon: Fraction, *, digits: int = 40, cells: int = CELLS
) -> Fraction:
    """delta(epsilon) of the noise (S / alpha) N(0, 1) for a smooth sensitivity S, from above.

    >>> f"{float(dilated_delta(Fraction(1, 5), Fraction(1, 100), Fraction(1))):.1e}"
    '1.4e-06'
    """
    ends = [Fraction(1), *(Fraction(up(exp_up(smoothness * k / cells))) for k in range(1, cells + 1))]
    least, worst = exp_down(epsilon), Fraction(0)
    for t0, t1 in pairwise(ends):
        worst = max(worst, *_cell(alpha, t0, t1, least, digits))
    return min(Fraction(1), worst)


def _cell(alpha: Fraction, t0: Fraction, t1: Fraction, weight: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """The excess on one cell of the wide arc and of the narrow arc, from above."""
    factor = t1 / t0
    wide = factor * excess(t1, alpha, Fraction(1), weight / factor, digits=digits)
    return wide, excess(Fraction(1), alpha, t0, weight / factor, digits=digits)


def excess(s: Fraction, shift: Fraction, r: Fraction, weight: Fraction, *, digits: int = 40) -> Fraction:
    """sup over A of N(0, s^2)(A) - weight N(shift, r^2)(A), from above."""
    # ln(p / q) - ln(weight) = a z^2 + b z + c, and the best event is where it is positive
    a = (1 / (r * r) - 1 / (s * s)) / 2
    b = -shift / (r * r)
    fixed = shift * shift / (2 * r * r)
    low, high = fixed + log_down(r / s / weight), fixed + log_up(r / s / weight)
    outer, inner = _event(a, b, high, outward=True), _event(a, b, low, outward=False)
    probability = sum((_mass(part, Fraction(0), s, digits)[1] for part in outer), Fraction(0))
    other = sum((_mass(part, shift, r, digits)[0] for part in inner), Fraction(0))
    return max(Fraction(0), probability - weight * other)


def _event(a: Fraction, b: Fraction, c: Fraction, *, outward: bool) -> list[tuple[Fraction | None, Fraction | None]]:
    """Intervals of {a z^2 + b z + c > 0}, each a little too long or a little too short; None is an infinite end."""
    if a == 0:
        if b == 0:
            return [(None, None)] if c > 0 else []
        return [(None, _short(-c / b, over=outward))]  # b < 0
    square = b * b - 4 * a * c
    if square <= 0:
        return [(None, None)] if a > 0 else []
    least, most = root_bounds(square, bits=2 * PLACES)
    root = most if outward == (a < 0) else least  # a longer root widens what lies between the roots
    first, last = sorted(((-b - root) / (2 * a), (-b + root) / (2 * a)))
    if a > 0:
        return [(None, _short(first, over=outward)), (_short(last, over=not outward), None)]
    return [(_short(first, over=not outward), _short(last, over=outward))]


def _short(z: Fraction, *, over: bool) -> Fraction:
    """The number with `PLACES` binary places, rounded up or down."""
    unit = 1 << PLACES
    return Fraction(math.ceil(z * unit) if over else math.floor(z * unit), unit)


def _mass(part: tuple[Fraction | None, Fraction | None], mean: Fraction, sigma: Fraction, digits: int) -> Bounds:
    """The probability of an interval under N(mean, sigma^2), from below and above."""
    start = (Fraction(0), Fraction(0)) if part[0] is None else _phi((part[0] - mean) / sigma, digits)
    end = (Fraction(1), Fraction(1)) if part[1] is None else _phi((part[1] - mean) / sigma, digits)
    return max(Fraction(0), end[0] - start[1]), max(Fraction(0), end[1] - start[0])


def _phi(x: Fraction, digits: int) -> Bounds:
    if abs(x) > LARGEST:
        return (Fraction(0), _NOTHING) if x < 0 else (1 - _NOTHING, Fraction(1))
    return cdf_bounds(x, digits=digits)


@lru_cache(maxsize=256)
def dilated_alpha(smoothness: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest alpha with dilated_delta <= delta, from below; 0 if there is none.

    >>> round(float(dilated_alpha(Fraction(1, 50), Fraction(1), Fraction(1, 10**6))), 3)
    0.153
    """
    given = float(smoothness / CELLS)  # what a cell gives away in epsilon, and as a factor of delta
    b, e, d = float(smoothness), float(epsilon) - given, float(delta) * math.exp(-given)
    low, high = 0.0, max(1.0, 2 * math.sqrt(2 * e))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _near(middle, b, e) <= d else (low, middle)
    digits = 20 + len(str(delta.denominator // delta.numerator))
    for slack in (1e-9, 1e-4, 1e-2):
        alpha = Fraction(down(Fraction(low) * Fraction(1 - slack)))
        if alpha > 0 and _within(delta, alpha, (Fraction(0), smoothness), epsilon, digits, CELLS):
            return alpha
    return Fraction(0)


def _within(
    delta: Fraction, alpha: Fraction, part: tuple[Fraction, Fraction], epsilon: Fraction, digits: int, cells: int
) -> bool:
    """Whether dilated_delta <= delta, cutting only those cells whose first bound is too large."""
    t0, t1 = (Fraction(1) if b == 0 else Fraction(up(exp_up(b))) for b in part)
    if max(_cell(alpha, t0, t1, exp_down(epsilon), digits)) <= delta:
        return True
    if cells == 1:
        return False
    middle = (part[0] + part[1]) / 2
    halves = ((middle, part[1]), (part[0], middle))
    return all(_within(delta, alpha, half, epsilon, digits, cells // 2) for half in halves)


def _near(alpha: float, smoothness: float, epsilon: float) -> float:
    """The supremum over both arcs in floating point, on a few points of each."""
    weight = math.exp(epsilon)
    ratios = [math.exp(smoothness * k / 8) for k in range(9)]
    return max(max(_plain(t, alpha, 1.0, weight), _plain(1.0, alpha, t, weight)) for t in ratios)


def _plain(s: float, shift: float, r: float, weight: float) -> float:
    """`excess` in floating point."""
    a, b = (1 / (r * r) - 1 / (s * s)) / 2, -shift / (r * r)
    c = shift * shift / (2 * r * r) + math.log(r / s / weight)

    def gain(z: float) -> float:  # of the half-line below z
        return math.erfc(-z / s / math.sqrt(2)) / 2 - weight * math.erfc(-(z - shift) / r / math.sqrt(2)) / 2

    def loss(z: float) -> float:  # of the half-line above z
        return math.erfc(z / s / math.sqrt(2)) / 2 - weight * math.erfc((z - shift) / r / math.sqrt(2)) / 2

    square = b * b - 4 * a * c
    if a == 0 or (square > 0 and abs(a * c) < 1e-12 * b * b):
        return gain(-c / b) if b else 0.0
    if square <= 0:
        return max(0.0, 1 - weight) if a > 0 else 0.0
    q = (-b + math.sqrt(square)) / 2  # b <= 0, so nothing cancels
    first, last = sorted((q / a, c / q))
    return gain(first) + loss(last) if a > 0 else gain(last) - gain(first)
