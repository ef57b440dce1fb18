"""Private k-means: a noisy grid for a first guess, then one round of Lloyd's algorithm with noisy sums.

Theorem.  `fit` keeps the budget for one row added or removed.  Its steps have fixed shares: a count of the rows (unless
`expected_rows` says how many to expect), in more than AXES entries the directions of `principal_components_fit`, the
counts of a grid along them, which a row moves by 1, and for each centre the number of rows that are nearest to it and
the sum of their distances from it, clipped to a public radius, which a row moves by (SCALE / 2, u) with
|u| <= SCALE.  In more than AXES entries, for one cluster, or where by the count noise would drown all directions,
everything else is spent on `one_centre`, and all centres are that one.  Proof: docs/theory/clustering.md.

Under (epsilon, delta) all noise is Laplace at epsilon or all of it Gaussian, whichever has less by public numbers: with
two or three steps Laplace noise is less.  Lloyd's algorithm with noise is due to Blum, Dwork, McSherry, Nissim 2005, a
grid before it to Su, Cao, Li, Bertino, Jin 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import ClusterMixin, TransformerMixin

from discreet.data.columns import Real
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.learning.design import Design
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.row_by_row import products, squares
from discreet.learning.scaling_units import in_units
from discreet.learning.vectors.clipped_moments import mean_sensitivities, noisy_means
from discreet.learning.vectors.k_means_grid import CELLS, HEAVIEST, first_centres, side
from discreet.learning.vectors.least_noise import least_noise
from discreet.learning.vectors.one_centre import directions_are_lost, one_centre
from discreet.learning.vectors.principal_components_fit import entries, subspace
from discreet.privacy.event import ComposedEvent, Event
from discreet.privacy.guarantee import Guarantee
from discreet.release.allowance import Allowance
from discreet.release.noise import variance

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

AXES = 6  # of a grid over the vectors themselves; of wider ones, over their main directions
MAIN = 4  # directions, at most
COUNT, GRID = Fraction(1, 20), Fraction(1, 2)  # shares where the grid is over the vectors
DIRECTIONS, GRID_ALONG = Fraction(1, 2), Fraction(1, 5)  # shares where it is along main directions
DEVIATIONS = 3  # of a direction that its axis covers on either side
CLIP = 1.5  # root mean square distances at which a row's distance from its centre is clipped


@dataclass(frozen=True, slots=True)
class First:
    """A first guess at the centres, made of releases only."""

    centres: Floats
    clip: float  # how far from its centre a row may pull it
    doubt: float  # the variance of an entry of a centre, before its rows are seen
    events: tuple[Event, ...]
    spent: Fraction


class KMeans(ClusterMixin, TransformerMixin, PrivateEstimator):
    """Centres of `n_clusters` groups of rows, with every column scaled by its declared range.

    There are at most 4096 clusters.  `expected_rows` is a public guess of how many rows there are; without it a noisy
    count is bought.  After `fit`: `cluster_centers_` (in units of the columns; a category has one entry a value), and
    `centres_` between -1 and 1.
    Where wide rows are so few for the budget that groups cannot be told from noise, all centres are one and the same.
    There are no `labels_` and no `inertia_`: both would be about the private rows.

    >>> import numpy as np
    >>> from discreet.data.columns import Integer
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(25, 5, (2000, 2)), rng.normal(75, 5, (2000, 2))]).round()
    >>> from discreet.privacy.guarantee import PureDP
    >>> model = KMeans(2, budget=PureDP(1), domain=Domain({"a": Integer(0, 100), "b": Integer(0, 100)}))
    >>> np.sort(model.fit(X, rng=SeededRandom(1)).cluster_centers_.round(), axis=0).tolist()
    [[25.0, 25.0], [75.0, 75.0]]
    >>> model.privacy()
    PureDP(epsilon=1.0)
    """

    supervised = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        budget: Guarantee | None = None,
        domain: Domain | None = None,
        expected_rows: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.budget = budget
        self.domain = domain
        self.expected_rows = expected_rows

    def _learn(self, rows: Records, target: str | None, budget: Guarantee, rng: RandomSource | None) -> None:
        import numpy as np

        k = whole("n_clusters", self.n_clusters, most=HEAVIEST)
        if self.expected_rows is not None:
            whole("expected_rows", self.expected_rows)
        design = Design(rows.domain)
        wide = design.width > AXES
        allowance = allowance_for(budget, design.width, k)
        vectors = design.floats(rows)
        number, counted, paid = self._number(len(vectors), allowance, rng)
        amount = DIRECTIONS * allowance.total
        if wide and (k == 1 or directions_are_lost(design.width, number, allowance=allowance, amount=amount)):
            longest = math.sqrt(design.square)
            centre, events = one_centre(vectors, longest, rows=number, allowance=allowance, amount=paid, rng=rng)
            self._keep(design, np.repeat(centre[None, :], k, axis=0), counted + events)
            return
        first = (self._along if wide else self._over)(vectors, design, number, allowance, rng)
        nearest = _nearest(vectors, first.centres)
        found = noisy_means(
            vectors - first.centres[nearest],
            nearest,
            k,
            radius=min(first.clip, 2 * math.sqrt(design.square)),
            allowance=allowance,
            share=paid - first.spent,
            rng=rng,
        )
        sd = found.sum_sd / np.maximum(found.counts, max(found.count_sd, 1.0))  # of each entry of a mean
        moves = found.means * (first.doubt / (first.doubt + sd**2))[:, None]
        self._keep(design, np.clip(first.centres + moves, -1.0, 1.0), counted + first.events + found.events)

    def _keep(self, design: Design, centres: Floats, events: tuple[Event, ...]) -> None:
        """What a fitted model has."""
        self.design_, self.centres_, self.event_ = design, centres, ComposedEvent(events=events)
        self.cluster_centers_ = in_units(design, centres)
        longest = 2 * (math.isqrt(design.width - 1) + 1)  # vectors and centres have entries between -1 and 1
        self.domain_out_ = Domain({f"kmeans{place}": Real(0, longest) for place in range(len(centres))})

    def _number(
        self, rows: int, allowance: Allowance, rng: RandomSource | None
    ) -> tuple[float, tuple[Event, ...], Fraction]:
        """How many rows there are, as far as it is public or bought, what ran, and what is left to spend."""
        if self.expected_rows is not None:
            return float(self.expected_rows), (), allowance.total
        counting = allowance.noise(COUNT * allowance.total, absolute=1, square=1)
        return float(counting(rows, rng=rng)), (counting.event(),), (1 - COUNT) * allowance.total

    def _over(
        self, vectors: Floats, design: Design, rows: float, allowance: Allowance, rng: RandomSource | None
    ) -> First:
        """A grid over the vectors themselves."""
        noise = allowance.noise(GRID * allowance.total, absolute=1, square=1)
        axes = design.width
        parts = side(rows, math.sqrt(variance(noise)), axes=axes, clusters=self.n_clusters)
        centres, spread = first_centres(vectors, self.n_clusters, rows, parts=parts, noise=noise, rng=rng)
        return First(
            centres=centres,
            clip=CLIP * max(spread, math.sqrt(axes / 3) / parts),
            doubt=1 / (3 * parts**2),  # the variance of a place inside a cell
            events=(noise.event(),),
            spent=GRID * allowance.total,
        )

    def _along(
        self, vectors: Floats, design: Design, rows: float, allowance: Allowance, rng: RandomSource | None
    ) -> First:
        """A grid along the main directions of wide vectors, at most one fewer than there are clusters."""
        import numpy as np

        amount = DIRECTIONS * allowance.total
        found = subspace(vectors, math.sqrt(design.square), allowance=allowance, amount=amount, rng=rng)
        axes = max(1, min(MAIN, self.n_clusters - 1))
        widths = DEVIATIONS * np.sqrt(found.variances[:axes])
        widths[widths == 0] = (
            DEVIATIONS * found.radius / math.sqrt(design.width)
        )  # no more than noise: as any direction
        noise = allowance.noise(GRID_ALONG * allowance.total, absolute=1, square=1)
        parts = side(rows, math.sqrt(variance(noise)), axes=axes, clusters=self.n_clusters)
        points = products(vectors - found.mean, found.directions[:axes]) / widths
        middle, _ = first_centres(points, self.n_clusters, rows, parts=parts, noise=noise, rng=rng)
        return First(
            centres=found.mean + (middle * widths) @ found.directions[:axes],
            clip=found.radius,
            doubt=found.radius**2 / (4 * design.width),
            events=(*found.events, noise.event()),
            spent=amount + GRID_ALONG * allowance.total,
        )

    def fit(self, X: object, y: object = None, *, rng: RandomSource | None = None) -> Self:
        """Fit to rows in memory; y is ignored.  `rng` is for tests."""
        return super().fit(X, rng=rng)

    def predict(self, X: object) -> npt.NDArray[np.int64]:
        """The nearest centre of every row."""
        rows = self._read(X)
        return _nearest(self.design_.floats(rows), self.centres_)

    def transform(self, X: object) -> npt.NDArray[np.float64]:
        """The distance of every row to every centre, with columns scaled by their ranges."""
        import numpy as np

        rows = self._read(X)
        return np.sqrt(_squares(self.design_.floats(rows), self.centres_))

    def score(self, X: object, y: object = None) -> float:
        """Minus the sum of squared distances of these rows to their centres; on private rows it is not private."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())

    def fit_predict(self, X: object, y: object = None, **how: Any) -> npt.NDArray[np.int64]:  # noqa: ANN401
        """`fit`, then `predict` of the same rows: these labels are about private rows and stay with them."""
        return self.fit(X, **how).predict(X)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """kmeans0, kmeans1, ..: one distance a centre."""
        import numpy as np

        return np.array([f"kmeans{place}" for place in range(len(self.centres_))], dtype=object)


def allowance_for(budget: Guarantee, width: int, clusters: int) -> Allowance:
    """The budget as Laplace noise at epsilon or as Gaussian noise, whichever is less by public numbers.

    >>> from discreet.privacy.guarantee import ApproxDP
    >>> allowance_for(ApproxDP(1.0, 1e-6), 4, 3).budget
    PureDP(epsilon=1.0)
    >>> allowance_for(ApproxDP(1.0, 1e-6), 64, 10).budget
    ApproxDP(epsilon=1.0, delta=1e-06)
    """
    numbers = 1 + CELLS + clusters * (width + 1) + entries(width)
    if width > AXES:
        return Allowance(budget, entries=numbers)
    return least_noise(budget, [(GRID, 1, 1), (1 - COUNT - GRID, *mean_sensitivities(width))], entries=numbers)


def whole(name: str, value: object, *, most: int | None = None) -> int:
    """An integer of at least 1."""
    good = isinstance(value, int) and not isinstance(value, bool) and value >= 1 and (most is None or value <= most)
    require(good, f"an integer {name} >= 1" + (f" and <= {most}" if most else ""), **{name: value})
    assert isinstance(value, int)
    return value


def _squares(vectors: Floats, centres: Floats) -> Floats:
    """Squared distances, (rows, centres)."""
    import numpy as np

    return np.stack([squares(vectors - centre) for centre in centres], axis=1)


def _nearest(vectors: Floats, centres: Floats) -> npt.NDArray[np.int64]:
    return _squares(vectors, centres).argmin(axis=1)
