"""How often each level of a summary is counted: integer multiples, so that one noise serves all levels exactly.

Theorem.  Let every set of s literals be measured as q_s m_S + Z with the same noise Z, and answer by sum over s of c_s
times the sum of m_S over the s-sets of r literals.  One row moves the measured vector, in squared l2 and in l1, by

                        AddRemove                  Replace (n public; the empty set is known)
    parity              sum q_s^p C(d, s)          max over a of 2^p sum q_s^p N_s(a)
    conjunction         the same                   2 sum q_s^p C(d, s)
    monotone            the same                   sum q_s^p C(d, s)

with p = 2 and 1, N_s(a) = sum over odd u of C(a, u) C(d - a, s - u), and each is attained.  With e_s = |c_s| sqrt(C(r,
s) C(d, s)) the variance is least for q_s^2 ~ e_s / C(d, s), where it is (sum of e)^2 times that of the noise for a
movement of 1; for Laplace noise it is least for q_s^3 ~ (e_s / C(d, s))^2.  Proof: docs/theory/chebyshev.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.structured.conjunctions.conjunction_counts import Kind

FINEST = 64  # the least multiple: rounding to integers changes no weight by more than a 128th
SHARE = 40  # every level gets at least so small a part of the whole: questions of fewer literals may need it


def efforts(d: int, t: int, rule: Sequence[float], *, first: int) -> list[float]:
    """e_s for levels `first` and above, none much smaller than the others; 0 below."""
    found = [abs(c) * math.sqrt(math.comb(t, s) * math.comb(d, s)) for s, c in enumerate(rule)]
    least = sum(found) / SHARE
    return [max(effort, least) if s >= first else 0.0 for s, effort in enumerate(found)]


def multiples(d: int, effort: Sequence[float], *, pure: bool) -> tuple[int, ...]:
    """q_s, integers; 0 for levels that are not measured.

    >>> multiples(100, [1.0, 5.0, 20.0], pure=False)
    (1007, 225, 64)
    """
    power = 2 / 3 if pure else 1 / 2
    wanted = [(e / math.comb(d, s)) ** power for s, e in enumerate(effort)]
    least = min(w for w in wanted if w > 0)
    return tuple(round(FINEST * w / least) for w in wanted)


def moved(kind: Kind, d: int, q: Sequence[int], *, power: int, replaced: bool) -> int:
    """The sensitivity of the measured vector: the sum of |change|^power, exactly."""
    levels = [(s, multiple**power) for s, multiple in enumerate(q) if multiple]
    if not replaced or kind == "monotone":
        return sum(weight * math.comb(d, s) for s, weight in levels)
    if kind == "conjunction":
        return 2 * sum(weight * math.comb(d, s) for s, weight in levels)
    return 2**power * max(sum(weight * odd(d, s, a) for s, weight in levels) for a in range(1, d + 1))


def odd(d: int, s: int, a: int) -> int:
    """How many s-sets contain an odd number of a given attributes.

    >>> odd(4, 2, 2)
    4
    """
    return sum(math.comb(a, u) * math.comb(d - a, s - u) for u in range(1, s + 1, 2))
