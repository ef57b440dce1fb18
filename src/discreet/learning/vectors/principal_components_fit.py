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
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.learning.rounds.sums import means, moments
from discreet.learning.rounds.vectors import FINE, Lattice, lattice_centre, lattice_radius
from discreet.learning.row_by_row import squares
from discreet.learning.vectors.clipped_moments import (
    SCALE,
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

    in_engine = isinstance(vectors, Lattice)
    width = vectors.design.width if in_engine else vectors.shape[1]
    one = np.zeros(0 if in_engine else len(vectors), dtype=np.int64)
    later = (1 - MEAN - RADIUS) * amount
    if in_engine:
        reach = lattice_radius(largest)
        sums = means(vectors.moved(np.zeros(width, dtype=np.int64)), reach)[None]
        rough = released_means(sums, reach / FINE, allowance, MEAN * amount, rng)
    else:
        rough = noisy_means(vectors, one, 1, radius=largest, allowance=allowance, share=MEAN * amount, rng=rng)
    centre = np.clip(shrunk(rough.means[0], rough.sum_sd / max(float(rough.counts[0]), rough.count_sd, 1.0)), -1.0, 1.0)
    if in_engine:
        away, centre = vectors.moved(lattice_centre(centre)), lattice_centre(centre) / FINE
    else:
        moved = vectors - centre
    radius, chosen = noisy_radius(
        away.outside if in_engine else np.sqrt(squares(moved)),
        largest + float(np.sqrt((centre * centre).sum())),
        width,
        rows=float(rough.counts[0]),
        allowance=allowance,
        share=RADIUS * amount,
        later=later,
        rng=rng,
    )
    if in_engine:
        inside = lattice_radius(radius)
        radius = inside / FINE
        found = released_moments(moments(away, inside, SCALE // 2)[None], width, radius, allowance, later, rng)
    else:
        found = noisy_moments(moved, one, 1, radius=radius, allowance=allowance, share=later, rng=rng)
    count = max(float(found.counts[0]), found.count_sd, 1.0)
    offset = shrunk(found.means[0], found.sum_sd / count)
    values, columns = np.linalg.eigh(found.seconds[0] / count - np.outer(offset, offset))
    return Subspace(
        count=count,
        mean=centre + offset,
        directions=_signed(columns[:, ::-1].T),
        variances=corrected(values[::-1], found.sd / count * math.sqrt(width)),
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
