"""Rows of a linear model as integers inside a ball: about a private mean, within a private radius.

Theorem.  Three releases about one set of vectors, each of length at most `largest`, with shares fixed in advance: a
count, their sum, and a radius chosen by how many rows lie outside.  What follows is free: integers u for every row, a
function of that row and of the releases alone, with |u|^2 <= SCALE^2, and in front a constant c <= SCALE, so that
|(c, u)|^2 <= SCALE^2 + c^2.  Proof: docs/theory/linear_models.md.

Why: noise is as large as the longest row that may exist.  Declared ranges are wide, and the rows lie in a small ball
somewhere inside the declared one; a fifth of the budget finds it, and the noise falls by the ratio of the radii.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.engines.integer_sums import IntegerSums
from discreet.data.records import Records
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.rounds.vectors import FINE as FINE_ENTRY
from discreet.learning.rounds.vectors import Lattice, lattice_centre, lattice_radius
from discreet.learning.row_by_row import squares
from discreet.learning.vectors.clipped_moments import SCALE, shrunk, within
from discreet.privacy.event import Event
from discreet.privacy.guarantee import PureDP
from discreet.release.allowance import Allowance
from discreet.release.noise import variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

COUNT, MEAN, RADIUS = Fraction(1, 50), Fraction(3, 20), Fraction(3, 100)  # shares of the amount
LEFT = 1 - COUNT - MEAN - RADIUS  # for the fit itself
WIDEST = 4000  # entries of a vector
WORTH = 20  # rows outside that are as bad as the noise of one
RADII = 17  # candidates, each the one before divided by the fourth root of 2
FINE = 16  # intervals of an ordered column
EACH, SEEN = 50, 40  # rows for each entry of a vector; times the noise
PLAIN, FINER, PICKED = Fraction(5, 20), Fraction(14, 20), Fraction(1, 20)  # of what two designs and a choice share
ROUNDS = 10  # about as many steps as a pure budget is good for


@dataclass(frozen=True, slots=True)
class Count:
    """A noisy number of rows, and the standard deviation of its noise."""

    rows: float
    sd: float
    event: Event

    @property
    def least(self) -> float:
        """Never below what the noise alone could be, so that it can be divided by."""
        return max(self.rows, self.sd, 1.0)


@dataclass(frozen=True, slots=True)
class Ball:
    """Where the rows are: what was released of them, and how vectors become integers."""

    design: Design
    centre: Floats  # (width,)
    radius: float
    rows: float  # a noisy count, at least 1
    events: tuple[Event, ...]

    @property
    def constant(self) -> int:
        """The entry in front of every row's integers: 1 in units of the vectors, or the radius if that is less."""
        return min(SCALE, math.ceil(SCALE / self.radius))

    @property
    def unit(self) -> float:
        """What 1 is worth among the integers."""
        return self.radius / SCALE

    def integers(self, rows: Records) -> Whole:
        """The vectors of rows moved by the centre and clipped to the radius, with the constant in front."""
        import numpy as np

        made = np.empty((len(rows), self.design.width + 1), dtype=np.int64)
        made[:, 0] = self.constant
        made[:, 1:] = within(self.design.floats(rows) - self.centre, self.radius)
        return made

    def moved(self, rows: Records) -> Floats:
        """The vectors of rows to predict, moved by the centre and not clipped."""
        return self.design.floats(rows) - self.centre


def noisy_count(rows: Records | IntegerSums, *, allowance: Allowance, rng: RandomSource | None) -> Count:
    """How many rows there are, for the share of a count."""
    noise = allowance.noise(COUNT * allowance.total, absolute=SCALE, square=SCALE**2)
    total = rows.count() if isinstance(rows, IntegerSums) else len(rows)
    return Count(float(noise(total * SCALE, rng=rng)) / SCALE, math.sqrt(variance(noise)) / SCALE, noise.event())


def spread(allowance: Allowance, entries: int) -> float:
    """The length of the noise on so many entries that a row moves by 1 in l2, if all of the budget were spent on them.

    Under a pure budget a row moves them by sqrt(entries) in l1, and steps share epsilon itself and not its square.
    """
    one = math.sqrt(variance(allowance.noise(allowance.total, absolute=SCALE, square=SCALE**2))) / SCALE
    return one * (entries * math.sqrt(ROUNDS) if isinstance(allowance.budget, PureDP) else math.sqrt(entries))


def ball(
    rows: Records | IntegerSums,
    design: Design,
    count: Count,
    *,
    noise: float,
    allowance: Allowance,
    rng: RandomSource | None,
) -> Ball:
    """A mean and a radius, for their shares.

    A radius is worth its noise, `noise` rows for the longest, as much as the rows that it leaves outside.
    """
    import numpy as np

    sums, sd, event = noisy_sums(rows, design, allowance=allowance, rng=rng)
    centre = np.clip(shrunk(sums / count.least, sd / count.least), -1.0, 1.0)
    if isinstance(rows, IntegerSums):
        centre = lattice_centre(centre) / FINE_ENTRY
    choice = allowance.choice(RADIUS * allowance.total, sensitivity=1)
    shorter = 2.0 ** (-np.arange(RADII) / 4)
    radii = (math.sqrt(design.square) + float(np.sqrt((centre * centre).sum()))) * shorter
    price = np.floor(min(noise * WORTH, count.least / 2) * shorter).astype(np.int64)  # of the noise, in rows
    radius = float(radii[choice(-_outside(rows, design, centre, radii) - price, rng=rng)])
    if isinstance(rows, IntegerSums):
        radius = lattice_radius(radius) / FINE_ENTRY
    return Ball(design, centre, radius, count.least, (count.event, event, choice.event()))


def noisy_sums(
    rows: Records | IntegerSums, design: Design, *, allowance: Allowance, rng: RandomSource | None
) -> tuple[Floats, float, Event]:
    """The sums of the rows' vectors, for the share of a mean, and the standard deviation of each."""
    import numpy as np

    in_engine = isinstance(rows, IntegerSums)
    scale = FINE_ENTRY if in_engine else SCALE
    noise = allowance.noise(MEAN * allowance.total, absolute=scale * design.square, square=scale**2 * design.square)
    sums = Lattice(rows, design).sums() if in_engine else design.integers(rows, scale=scale).sum(axis=0)
    noisy = noise(sums, rng=rng)
    return np.asarray(noisy, dtype=np.float64) / scale, math.sqrt(variance(noise)) / scale, noise.event()


def _outside(rows: Records | IntegerSums, design: Design, centre: Floats, radii: Floats) -> Whole:
    if isinstance(rows, IntegerSums):
        return Lattice(rows, design).moved(lattice_centre(centre)).outside(radii)
    return outside(design.floats(rows) - centre, radii)


def outside(vectors: Floats, radii: Floats) -> Whole:
    """How many vectors are longer than each radius: a row moves each number by at most 1.

    >>> import numpy as np
    >>> outside(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([6.0, 2.0])).tolist()
    [0, 1]
    """
    import numpy as np

    lengths = np.sqrt(squares(vectors))
    return np.array([np.count_nonzero(lengths > radius) for radius in radii], dtype=np.int64)


def designs_for(
    domain: Domain, bins: int | None, count: Count, *, allowance: Allowance, columns: int, widest: int = WIDEST
) -> tuple[Design, ...]:
    """Ordered columns as numbers, and in intervals too where there are rows enough: a rule of public numbers.

    Which of two is better depends on the rows: intervals follow what is not linear, and lose what is.  So where there
    are two both are fitted, and the better is chosen for a part of the budget.
    """
    if bins is not None:
        return (Design(domain, bins),)
    plain, fine = Design(domain), Design(domain, FINE)
    enough = (
        plain.width < fine.width <= widest
        and count.rows >= EACH * fine.width
        and count.rows >= SEEN * spread(allowance, fine.width * columns)
    )
    return (plain, fine) if enough else (plain,)
