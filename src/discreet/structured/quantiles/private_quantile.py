"""Private quantiles of numbers: any number of them, in one release.

Theorem (McSherry, Talwar 2007; Smith 2011; Gillenwater, Joseph, Kulesza 2021; Kaplan, Schnapp, Stemmer 2022).
Move every number to the nearest point of a public lattice and find the quantiles there by the
exponential mechanism on the rank loss: one by one, jointly, or the middle one first and then those on
either side (`quantile_many`).  This is epsilon-DP when adding or removing a unit adds or removes at most
`rows_per_unit` numbers; n is private.  With probability 1 - beta every released value is within
`accuracy(beta)` rows of its quantile and half a step of rounding, whatever the numbers are, as long as fewer than
2^24 of them are equal.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource, source
from discreet.privacy.event import Event
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact
from discreet.structured.quantiles.quantile_many import ManyQuantiles, Method, listed
from discreet.structured.quantiles.rank_index import RankIndex, reals

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class PrivateQuantile:
    """Quantiles of an array, as points of the lattice lower, lower + step, .., upper.

    One quantile gives a number, a list of them an array.  Numbers outside the bounds count at the bounds.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> x = np.random.default_rng(0).normal(50, 10, 100_000)
    >>> quartiles = PrivateQuantile([0.25, 0.5, 0.75], epsilon=1, lower=0, upper=100, step=0.01)
    >>> quartiles(x, rng=SeededRandom(1))
    array([43.27, 49.96, 56.76])
    >>> quartiles.privacy()
    PureDP(epsilon=1.0)
    >>> {method: round(rows, 1) for method, rows in quartiles.alternatives().items()}
    {'recursive': 2.2, 'joint': 2.4, 'independent': 4.0}
    >>> quartiles.statement()
    'at most 89.75 rows off with probability 0.95, whatever the numbers are; about 8.833 where they are spread'
    """

    quantiles: Sequence[Number] | Number
    _: KW_ONLY
    epsilon: Number
    lower: Number
    upper: Number
    step: Number
    rows_per_unit: int = 1
    method: Method = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.quantiles, (int, float, str, Fraction)):
            object.__setattr__(self, "quantiles", tuple(listed(self.quantiles)))  # a mechanism is a frozen value
        require(exact(self.step) > 0, "step > 0", step=self.step)
        require(exact(self.lower) < exact(self.upper), "lower < upper", lower=self.lower, upper=self.upper)
        self._many()

    @property
    def size(self) -> int:
        """How many lattice points there are."""
        return math.floor((exact(self.upper) - exact(self.lower)) / exact(self.step)) + 1

    def _many(self) -> tuple[ManyQuantiles, list[int]]:
        return ManyQuantiles.of(
            self.quantiles,
            epsilon=self.epsilon,
            size=self.size,
            rows_per_unit=self.rows_per_unit,
            method=self.method,
        )

    def __call__(self, values: object, *, rng: RandomSource | None = None) -> float | npt.NDArray[np.float64]:
        """The private quantiles, in the order in which they were asked for."""
        import numpy as np

        many, places = self._many()
        index = RankIndex(reals(values), lower=float(exact(self.lower)), step=float(exact(self.step)), size=self.size)
        found = many.find(index, rng=source(rng))
        points = [float(exact(self.lower) + found[place] * exact(self.step)) for place in places]
        return np.array(points) if isinstance(self.quantiles, tuple) else points[0]

    def privacy(self) -> PureDP:
        """epsilon, for all quantiles together."""
        return PureDP(self.epsilon, neighbours=AddRemove)

    def accuracy(self, beta: float = 0.05) -> float:
        """Rows between each quantile and the nearest rank at its released value, for all of them at once."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return self._many()[0].accuracy(beta)

    def statement(self, beta: float = 0.05) -> str:
        """The bound of `accuracy`, which every row at one end of the lattice may force, and the estimate beside it."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return self._many()[0].statement(beta)

    def event(self) -> Event:
        """What ran: exponential mechanisms one after another."""
        return self._many()[0].event()

    def alternatives(self) -> dict[str, float]:
        """Each method that applies with the mean rank error expected of it, in rows, the best first."""
        return self._many()[0].alternatives()
