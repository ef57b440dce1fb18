"""What every model of a distribution can do, however it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from discreet.data.domain import Domain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from discreet.data.histogram import Histogram
    from discreet.data.records import Records
    from discreet.hazmat.entropy import RandomSource


class Model(Protocol):
    """Non-negative weights over the cells of a domain, with a total.

    Workloads answer themselves on a model as on data: `workload.answer(model)`.
    """

    @property
    def domain(self) -> Domain:
        """The columns, with declared values."""
        ...

    @property
    def total(self) -> float:
        """The number of rows it stands for."""
        ...

    def marginal(self, names: Sequence[str], /) -> npt.NDArray[np.float64]:
        """The table of the named columns, in counts."""
        ...

    def histogram(self) -> Histogram:
        """All cells, where they can be listed."""
        ...

    def sample(self, rows: int, *, rng: RandomSource | None = None) -> Records:
        """Synthetic rows: post-processing, at no cost."""
        ...
