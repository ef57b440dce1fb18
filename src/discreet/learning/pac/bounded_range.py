"""What a delta buys the exponential mechanism: the largest rate that is still (epsilon, delta)-DP, exactly.

Theorem (after Dong, Durfee, Rogers 2020).  Let all log-ratios of two laws lie in one interval of length range, which
holds 0.  Then for every epsilon <= range they are (epsilon, delta)-close for

    delta = (1 - e^(-(range - epsilon) / 2))^2 / (1 - e^-range),

and some pair of laws attains it.  The exponential mechanism at rate range (monotone) or range / 2 is such a pair.
So delta > 0 buys range - epsilon = -2 ln(1 - sqrt(delta (1 - e^-range))): about 2 sqrt(delta).
Proof: docs/theory/pac_learning.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from discreet.errors import require
from discreet.privacy.enclosure import exp_up, log_up, root_bounds
from discreet.privacy.number import Number, down, exact

STEPS = 60  # at most; each uses the range found before, which is too small and therefore safe


@lru_cache(maxsize=256)
def _longest(epsilon: Fraction, delta: Fraction) -> Fraction:
    """epsilon - 2 ln(1 - sqrt(delta (1 - e^-range))), put into itself until it no longer moves."""
    found = epsilon
    for _ in range(STEPS):
        root = root_bounds(delta * (1 - exp_up(-found)))[0]
        longer = exact(down(epsilon - 2 * log_up(1 - root)))
        if longer <= found:
            break
        found = longer
    return found


def bounded_range(epsilon: Number, delta: Number) -> Fraction:
    """The range of log-ratios that (epsilon, delta) allows, rounded down; epsilon itself where delta is 0.

    >>> bounded_range(1, 0)
    Fraction(1, 1)
    >>> round(float(bounded_range(1.0, 1e-6)), 6), round(float(bounded_range(1.0, 0.01)), 6)
    (1.001591, 1.173536)
    """
    least, small = exact(epsilon), exact(delta)
    require(least > 0, "epsilon > 0", epsilon=epsilon)
    require(0 <= small < 1, "0 <= delta < 1", delta=delta)
    return _longest(least, small) if small else least
