"""How smooth the sensitivities of graph counts are made, and the noise that fits.

Local sensitivities here grow by at most a few units a step, and r^s LS(s) with r = 1 - 1 / reach
stays at LS once LS is as large as `reach`.  A larger reach costs less noise for each unit of
sensitivity and more units where the sensitivity is small: reach = 10 / epsilon keeps both within a
fifth of their least.  The choice depends on epsilon alone.  Theory: docs/theory/graphs.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import require
from discreet.mechanisms.admissible_noise import LomaxNoise
from discreet.privacy.enclosure import log_up
from discreet.privacy.number import Number, exact, up

PARTS = 10  # the smoothness is about epsilon / PARTS


@dataclass(frozen=True, slots=True)
class EdgeSmoothing:
    """reach, the smoothness -ln(1 - 1 / reach), and two-sided Lomax noise for it: pure, with light enough tails.

    >>> EdgeSmoothing(1).reach
    10
    """

    epsilon: Number

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)

    @property
    def reach(self) -> int:
        """A whole number, at least 2."""
        return max(2, math.ceil(PARTS / exact(self.epsilon)))  # 2 from PARTS / 2 on

    @property
    def noise(self) -> LomaxNoise:
        """The noise, calibrated to the smoothness rounded up."""
        smoothness = up(log_up(Fraction(self.reach, self.reach - 1)))
        return LomaxNoise.best(epsilon=self.epsilon, smoothness=smoothness)
