"""Several private quantiles for every group, from counts on a grid.

Theorem.  Let adding or removing a unit add or remove at most `rows_per_unit` rows, over all groups and cells
together.  Finding the quantiles of every group by `quantile_many` is epsilon-DP for all groups
together: a group in which d rows change costs epsilon d / rows_per_unit, since every loss is linear in
the rows.  The ways of finding them and their errors are those of `quantile_many`; the independent way
takes all groups at once.  Proof: docs/theory/quantiles.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource, source
from discreet.privacy.event import Event
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact
from discreet.structured.quantiles.quantile_grid import GridQuantile
from discreet.structured.quantiles.quantile_many import ManyQuantiles, Method, listed
from discreet.structured.quantiles.rank_index import CountIndex
from discreet.structured.quantiles.rank_loss import grid_counts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MOST_GROUPS = {"joint": 100, "recursive": 3000, "independent": 1 << 62}  # that a method takes seconds for


@dataclass(frozen=True, slots=True)
class GridQuantiles:
    """The indices of the cells that hold the quantiles, for each group of counts: the last axis is the quantiles.

    `groups` says how many groups there will be, a public fact: for many of them a quicker method is chosen.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> quartiles = GridQuantiles([0.25, 0.5, 0.75], epsilon=1, size=5)
    >>> quartiles([[0, 100, 800, 100, 0], [300, 0, 300, 0, 300]], rng=SeededRandom(7))
    array([[2, 2, 2],
           [0, 2, 4]])
    >>> quartiles.privacy()
    PureDP(epsilon=1.0)
    """

    quantiles: Sequence[Number]
    _: KW_ONLY
    epsilon: Number
    size: int
    rows_per_unit: int = 1
    method: Method = "auto"
    groups: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantiles", tuple(listed(self.quantiles)))  # a mechanism is a frozen value
        whole = isinstance(self.groups, int) and not isinstance(self.groups, bool)
        require(whole and 1 <= self.groups <= 1 << 62, "an integer 1 <= groups <= 2^62", groups=self.groups)
        self._many()

    def _many(self) -> tuple[ManyQuantiles, list[int]]:
        def made(method: Method) -> tuple[ManyQuantiles, list[int]]:
            return ManyQuantiles.of(
                self.quantiles,
                epsilon=self.epsilon,
                size=self.size,
                rows_per_unit=self.rows_per_unit,
                method=method,
            )

        many, places = made(self.method)
        if self.method == "auto":
            quick = [way for way in many.alternatives() if self.groups <= MOST_GROUPS[way]]
            return made(quick[0])  # type: ignore[arg-type]
        return many, places

    def __call__(self, counts: object, *, rng: RandomSource | None = None) -> npt.NDArray[np.int64]:
        """One index a group and quantile, all in one release."""
        import numpy as np

        many, places = self._many()
        table = grid_counts(counts, size=self.size)
        groups, random = table.reshape(-1, self.size), source(rng)
        if many.chosen == "independent":
            found = np.stack([self._one(q, len(many.quantiles))(groups, rng=random) for q in many.quantiles], axis=-1)
        else:
            each = [many.find(CountIndex(row), rng=random) for row in groups]
            found = np.array(each, dtype=np.int64).reshape(len(groups), len(many.quantiles))
        return found[:, places].reshape(*table.shape[:-1], len(places))

    def _one(self, quantile: Number, share: int) -> GridQuantile:
        return GridQuantile(
            quantile=quantile,
            epsilon=exact(self.epsilon) / share,
            size=self.size,
            rows_per_unit=self.rows_per_unit,
            method="exponential",
        )

    def privacy(self) -> PureDP:
        """epsilon, for all groups and quantiles together."""
        return PureDP(self.epsilon, neighbours=AddRemove)

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> float:
        """Rows between each quantile and the nearest rank in its cell, for all quantiles of `size` groups at once."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(isinstance(size, int) and not isinstance(size, bool) and size >= 1, "size >= 1", size=size)
        return self._many()[0].accuracy(beta / size)

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
