"""Means of vectors in an l2 ball: what the protocols for them share.

A vector of norm r <= radius first becomes radius u or -radius u, for its direction u, with probabilities
(1 + r / radius) / 2 and (1 - r / radius) / 2: its mean is kept, and nothing of this is a matter of privacy, as the
randomizer that follows is private for every direction.  A direction has norm one up to the rounding of floats, however
short its vector; the zero vector has the first axis as its direction.
Reports are integers, so that sums are exact whatever the order.  Proof: docs/theory/local_means.md.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require
from discreet.hazmat.bad_values import listed, settle
from discreet.local.chernoff import bernstein
from discreet.local.coins import positive, whole
from discreet.local.protocol import LocalProtocol
from discreet.local.wire import Numbers
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally

    Floats = npt.NDArray[np.float64]

SHORTEST, LONGEST = 1e-150, 1e150  # radii whose squares are floats
SLACK = 1e-9  # by how much a norm may exceed the radius: the rounding of the one who computed it


class VectorProtocol(LocalProtocol):
    """A protocol for the mean of vectors with `dimension` coordinates and norm at most `radius`."""

    __slots__ = ()
    epsilon: Number
    dimension: int
    radius: Number

    def __post_init__(self) -> None:
        positive(self.epsilon)
        whole("dimension", self.dimension, least=2)
        require(SHORTEST <= exact(self.radius) <= LONGEST, f"{SHORTEST:g} <= radius <= {LONGEST:g}", radius=self.radius)

    @property
    @abstractmethod
    def length(self) -> float:
        """The root of the mean squared norm of one report's estimate."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """The bits after the point of a coordinate."""

    @property
    def unit(self) -> float:
        """What an integer of a report stands for, in the estimate."""
        return self.length / 2**self.depth

    @property
    def most(self) -> int:
        """The largest norm of a report, in units of the lattice, rounding left out: one, for points of the sphere."""
        return 1 << self.depth

    @property
    def form(self) -> Numbers:
        """A row of integers, with a norm that clients do not exceed."""
        return Numbers(columns=self.dimension, width=32, most=self.most)

    @property
    def cells(self) -> int:
        """The sums of the coordinates."""
        return self.dimension

    def checked(self, values: object) -> Array:
        """Rows as shares of the radius: longer ones are cut to it, and what is no number counts as 0."""
        import numpy as np

        array = listed(values) if isinstance(values, list | tuple) else np.asarray(values)
        if array.ndim != 2 or array.shape[1] != self.dimension or array.dtype.kind not in "fiuO":
            raise ParameterError(f"need rows of {self.dimension} numbers, one row for each user")
        radius, far = float(exact(self.radius)), 2.0**500
        rows = np.clip(settle(array, null=0), -far * radius, far * radius).astype(np.float64) / radius
        lengths = np.linalg.norm(rows, axis=1)
        return np.where(lengths > 1 + SLACK, 1 / np.maximum(lengths, 1), 1.0)[:, None] * rows

    def tally(self, reports: Array) -> Tally:
        """The sums of the coordinates."""
        import numpy as np

        return reports.sum(axis=0, dtype=np.int64)

    def decode(self, tally: Tally, n: int) -> Floats:
        """The unbiased mean vector."""
        return tally / n * self.unit

    def bound(self, tally: Tally, n: int, beta: float) -> Floats:
        """For each coordinate alone; reports of bounded norm have Bernstein's."""
        import numpy as np

        radius, reach = float(exact(self.radius)), self.reach()
        return np.full(self.dimension, bernstein(self.coordinate_variance(), reach=reach + radius, n=n, beta=beta))

    def reach(self) -> float:
        """The largest coordinate that one report can claim."""
        return self.unit * 2**self.depth

    @abstractmethod
    def coordinate_variance(self) -> float:
        """The largest mean square of one coordinate of one report's estimate."""

    def variance(self, n: int) -> float:
        """The mean squared distance (all coordinates) for the worst data."""
        whole("n", n, least=1)
        return self.length**2 / n


def directions(rows: Floats, random: RandomSource) -> Floats:
    """A unit vector for each row, the row's direction or its opposite, with the row as its mean."""
    import numpy as np

    largest = np.abs(rows).max(axis=1)
    found = rows / np.where(largest > 0, largest, 1)[:, None]  # before squares, which underflow below 2^-537
    found[largest == 0, 0] = 1
    scaled = np.linalg.norm(found, axis=1)
    found /= scaled[:, None]
    signs = np.where(uniforms((len(rows),), random) < (1 + np.minimum(largest * scaled, 1)) / 2, 1.0, -1.0)
    return found * signs[:, None]


def uniforms(shape: tuple[int, ...], random: RandomSource) -> Floats:
    """Doubles in (0, 1): the middles of 2^53 equal parts."""
    import numpy as np

    words = random.words(int(np.prod(shape))) >> np.uint64(11)
    return ((words.astype(np.float64) + 0.5) * 2.0**-53).reshape(shape)


def normals(shape: tuple[int, int], random: RandomSource) -> Floats:
    """Independent standard normal doubles, by the formula of Box and Muller."""
    import numpy as np

    rows, columns = shape
    half = (columns + 1) // 2
    length = np.sqrt(-2 * np.log(uniforms((rows, half), random)))
    angle = 2 * np.pi * uniforms((rows, half), random)
    return np.concatenate([length * np.cos(angle), length * np.sin(angle)], axis=1)[:, :columns]
