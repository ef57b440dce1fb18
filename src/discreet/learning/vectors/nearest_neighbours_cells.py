"""Noisy counts of every class on a grid, and neighbourhoods of cells large enough to be told from noise.

Theorem.  A row is in one cell and in one class: all counts together move by 1.  Smoothing them and looking them up is
free, so a released grid answers any number of queries.

At a query the counts are averaged with normal weights of width h = 1, 2, 4, .. cells, and the least h counts whose
neighbourhood holds k rows and more than noise alone: a neighbourhood of N cells (N = (2 sqrt(pi) h)^axes) has noise of
standard deviation sd sqrt(N) in each class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.learning.vectors.k_means_grid import cells
from discreet.release.noise import Noise, variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

SURE = 3  # standard deviations of noise that a neighbourhood must exceed


@dataclass(frozen=True, slots=True)
class Cells:
    """Smoothed counts at several widths: all of it is released."""

    parts: int
    smooth: tuple[Floats, ...]  # (cells, classes) each, from the narrowest to the widest
    needed: tuple[float, ...]  # what all classes together must hold, by width

    def scores(self, points: Floats) -> Floats:
        """Counts of the classes around each point of the box from -1 to 1, at the least width that will do."""
        import numpy as np

        places = cells(points, self.parts)
        found = self.smooth[-1][places]
        for smooth, needed in zip(reversed(self.smooth[:-1]), reversed(self.needed[:-1]), strict=True):
            enough = smooth.sum(axis=1) >= needed  # of a cell, whatever points are asked about
            found = np.where(enough[places][:, None], smooth[places], found)
        return found


def released(
    points: Floats,
    classes: Whole,
    number: int,
    *,
    parts: int,
    neighbours: int,
    noise: Noise,
    rng: RandomSource | None,
) -> Cells:
    """Count rows by cell and class, add noise, and smooth."""
    import numpy as np
    from scipy.ndimage import gaussian_filter

    axes = points.shape[1]
    total = parts**axes
    counts = np.bincount(classes * total + cells(points, parts), minlength=number * total)
    noisy = np.asarray(noise(counts, rng=rng), dtype=np.float64).reshape((number,) + (parts,) * axes)
    sd = math.sqrt(variance(noise))
    smooth, needed, width = [noisy.reshape(number, total).T], [max(neighbours, SURE * sd * math.sqrt(number))], 1
    while width <= parts:
        inside = (2 * math.sqrt(math.pi) * width) ** axes
        averaged = gaussian_filter(noisy, sigma=(0, *(width,) * axes), mode="constant") * inside
        smooth.append(averaged.reshape(number, total).T)
        needed.append(max(neighbours, SURE * sd * math.sqrt(number * inside)))
        width *= 2
    everywhere = noisy.reshape(number, total).sum(axis=1)
    smooth.append(np.broadcast_to(everywhere, (total, number)))
    needed.append(0.0)
    return Cells(parts=parts, smooth=tuple(smooth), needed=tuple(needed))
