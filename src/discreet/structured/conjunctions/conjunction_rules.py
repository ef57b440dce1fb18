"""Which combination of noisy counts answers a question of so many literals.

The levels are measured for questions of t literals.  A question of fewer has several rules that are right up to alpha:
the exact one, where its sets were counted, and those made for its own number of literals or for t.  The exact one is
taken where it is at most twice as noisy as an answer for t literals; otherwise the least noisy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from discreet.structured.conjunctions.chebyshev_polynomial import coefficients
from discreet.structured.conjunctions.conjunction_levels import level_coefficients, padded, tuned

Rule = tuple[Fraction, ...]
Method = Literal["lp", "chebyshev"]
NOISIER = 2  # how much noise is worth an exact rule


def full_rule(method: Method, d: int, t: int, alpha: Fraction) -> Rule:
    """The rule for t literals.

    >>> [str(c) for c in full_rule("chebyshev", 9, 2, Fraction(0))]
    ['0', '1', '-1']
    """
    return coefficients(t, alpha) if method == "chebyshev" else level_coefficients(d, t, alpha)


@lru_cache(maxsize=64)
def rules(method: Method, d: int, t: int, alpha: Fraction, sds: tuple[float, ...]) -> tuple[Rule, ...]:
    """The rules for 1, ..., t literals, where counts of s-sets have standard deviation sds[s]."""
    full = full_rule(method, d, t, alpha)
    bound = spread(full, t, sds)
    found = []
    for r in range(1, t):
        right = full_rule(method, d, r, Fraction(0))
        if len(right) <= len(full) and spread(right, r, sds) <= NOISIER * bound:
            found.append(right)
            continue
        made = [full, coefficients(r, alpha)] if method == "chebyshev" else [padded(full, t - r), tuned(r, alpha, sds)]
        fitting = [rule for rule in (*made, right) if rule is not None and len(rule) <= len(full)]
        found.append(min(fitting, key=lambda rule: spread(rule, r, sds)))
    return (*found, full)


def exactly(method: Method, rule: Rule, literals: int) -> bool:
    """Whether a rule is the exact one for so many literals."""
    return rule == full_rule(method, literals, literals, Fraction(0))


def worse(rule: Rule) -> Rule:
    """The rule or the one for the opposite connective, n less it: the one with more of the noise of n."""
    return (max(abs(rule[0]), abs(1 - rule[0])), *rule[1:])


def spread(rule: Rule, literals: int, sds: Sequence[float]) -> float:
    """The standard deviation of an answer."""
    return math.sqrt(sum(math.comb(literals, s) * (float(c) * sds[s]) ** 2 for s, c in enumerate(rule)))
