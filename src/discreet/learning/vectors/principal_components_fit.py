"""A private mean and the private directions in which vectors vary most.

Four releases: counts and sums about the public centre; a radius; second moments of the vectors moved by that mean and
clipped to that radius; and from these, free, what the directions are.

Theorem.  The steps cost their shares, which are fixed.  The matrix is the true one plus symmetric noise of standard
deviation `sd` beside the diagonal: an eigenvalue l of the true matrix with l > t = sd sqrt(w) appears near
l + t^2 / l (Benaych-Georges, Nadakuditi 2011), and one below t cannot be told from noise.  So what appears as m > 2 t
is reported as (m + sqrt(m^2 - 4 t^2)) / 2 and what is less as 0.  Proof: docs/theory/principal_components.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.hazmat.entropy import RandomSource
from discreet.learning.rounds.sums import means, moments
from discreet.learning.rounds.vectors import FINE, Lattice, lattice_centre, lattice_radius
from discreet.learning.row_by_row import squares
from discreet.learning.vectors.clipped_moments import (
    SCALE,
    Moments,
    noisy_means,
    noisy_moments,
    noisy_radius,
    released_means,
    released_moments,
    shrunk,
)
from discreet.privacy.event import Event
from discreet.release.allowance import Allowance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

MEAN, RADIUS = Fraction(1, 5), Fraction(1, 20)  # shares of the amount; the moments get the rest


@dataclass(frozen=True, slots=True)
class Subspace:
    """A mean, orthonormal directions by falling variance, and those variances, in units of the vectors."""

    count: float
    mean: Floats  # (width,)
    directions: Floats  # (width, width), one a row
    variances: Floats  # (width,)
    radius: float
    events: tuple[Event, ...]


def entries(width: int) -> int:
    """How many integers get noise."""
    return (width + 1) + (width + 1) * (width + 2) // 2


def subspace(
    vectors: Floats | Lattice, largest: float, *, allowance: Allowance, amount: Fraction, rng: RandomSource | None
) -> Subspace:
    """Learn from vectors no longer than `largest`, in memory or in an engine, for `amount` of the allowance."""
    import numpy as np

    steps = _InEngine(vectors) if isinstance(vectors, Lattice) else _InMemory(vectors)
    shared: dict[str, Any] = {"allowance": allowance, "rng": rng}
    later = (1 - MEAN - RADIUS) * amount
    rough = steps.means(largest, share=MEAN * amount, **shared)
    centre = np.clip(shrunk(rough.means[0], rough.sum_sd / max(float(rough.counts[0]), rough.count_sd, 1.0)), -1.0, 1.0)
    centre = steps.move(centre)
    radius, chosen = noisy_radius(
        steps.outside,
        largest + float(np.sqrt((centre * centre).sum())),
        steps.width,
        rows=float(rough.counts[0]),
        share=RADIUS * amount,
        later=later,
        **shared,
    )
    radius, found = steps.moments(radius, share=later, **shared)
    count = max(float(found.counts[0]), found.count_sd, 1.0)
    offset = shrunk(found.means[0], found.sum_sd / count)
    values, columns = np.linalg.eigh(found.seconds[0] / count - np.outer(offset, offset))
    return Subspace(
        count=count,
        mean=centre + offset,
        directions=_signed(columns[:, ::-1].T),
        variances=corrected(values[::-1], found.sd / count * math.sqrt(steps.width)),
        radius=radius,
        events=rough.events + chosen + found.events,
    )


def corrected(values: Floats, threshold: float) -> Floats:
    """Eigenvalues without what symmetric noise adds to them; 0 where they cannot be told from noise.

    >>> import numpy as np
    >>> corrected(np.array([2.5, 1.9]), 1.0)
    array([2., 0.])
    """
    import numpy as np

    seen = np.maximum(values, 0.0)
    return np.where(seen > 2 * threshold, (seen + np.sqrt(np.maximum(seen**2 - 4 * threshold**2, 0.0))) / 2, 0.0)


def _signed(rows: Floats) -> Floats:
    """Each direction with its largest entry positive, as scikit-learn has it."""
    import numpy as np

    largest = np.abs(rows).argmax(axis=1)
    return rows * np.sign(rows[np.arange(len(rows)), largest])[:, None]


class _InMemory:
    """The three looks at vectors in memory."""

    def __init__(self, vectors: Floats) -> None:
        self.vectors, self.moved, self.width = vectors, vectors, vectors.shape[1]

    def _groups(self) -> npt.NDArray[np.int64]:
        import numpy as np

        return np.zeros(len(self.vectors), dtype=np.int64)

    def means(self, radius: float, **how: Any) -> Moments:  # noqa: ANN401
        return noisy_means(self.vectors, self._groups(), 1, radius=radius, **how)

    def move(self, centre: Floats) -> Floats:
        self.moved = self.vectors - centre
        return centre

    def outside(self, radii: Floats) -> npt.NDArray[np.int64]:
        import numpy as np

        lengths = np.sqrt(squares(self.moved))
        return np.array([np.count_nonzero(lengths > radius) for radius in radii], dtype=np.int64)

    def moments(self, radius: float, **how: Any) -> tuple[float, Moments]:  # noqa: ANN401
        return radius, noisy_moments(self.moved, self._groups(), 1, radius=radius, **how)


class _InEngine:
    """The same looks at rows in an engine: the sums of `discreet.learning.rounds`."""

    def __init__(self, lattice: Lattice) -> None:
        import numpy as np

        self.lattice, self.width = lattice, lattice.design.width
        self.moved = lattice.moved(np.zeros(self.width, dtype=np.int64))

    def means(self, radius: float, **how: Any) -> Moments:  # noqa: ANN401
        whole = lattice_radius(radius)
        return released_means(means(self.moved, whole)[None], whole / FINE, **how)

    def move(self, centre: Floats) -> Floats:
        self.moved = self.lattice.moved(lattice_centre(centre))
        return lattice_centre(centre) / FINE

    def outside(self, radii: Floats) -> npt.NDArray[np.int64]:
        return self.moved.outside(radii)

    def moments(self, radius: float, **how: Any) -> tuple[float, Moments]:  # noqa: ANN401
        whole = lattice_radius(radius)
        sums = moments(self.moved, whole, SCALE // 2)[None]
        return whole / FINE, released_moments(sums, self.width, whole / FINE, **how)
