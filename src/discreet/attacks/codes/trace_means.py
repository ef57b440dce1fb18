"""Tracing: who is in the data behind a list of averages (Homer et al. 2008; Dwork, Smith, Steinke et al. 2015).

The attacker knows the averages of many attributes among n people, those of the population, and one person's attributes.

Theorem.  Let the attributes be independent bits with means p_j; score x by  <a - p, x - p>  for the released means a.
For somebody who is not in the data, given a, the score has mean 0 and variance sum (a_j - p_j)^2 p_j (1 - p_j).  For a
member, with exact means, its mean is sum p_j (1 - p_j) / n.  So d attributes tell members from others once d is well
above n for exact means, and once d is well above n^2 even for means that are off by a constant.

The means of a sample of m people are not p: the score of an outsider then has a mean of sum p_j (1 - p_j) / m, and a
variance of sum (a_j - p_j)^2 p_j (1 - p_j) (1 + 1/m) + p_j^2 (1 - p_j)^2 (1/m + 2/m^2), to lower orders in 1/m, if the
sample is of neither the released data nor the people scored.  Both are taken into account where m is told.
Proof: docs/theory/codes.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Tracing:
    """Scores in standard deviations of an outsider's, and who is accused at this rate of false accusations.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> biases = rng.random(500)
    >>> rows = (rng.random((10, 500)) < biases).astype(np.int64)
    >>> trace_means(rows.mean(axis=0), biases, rows).scores.shape
    (10,)
    """

    scores: Floats = field(repr=False)
    threshold: float

    @property
    def accused(self) -> npt.NDArray[np.bool_]:
        """Whose score is above the threshold."""
        return self.scores > self.threshold


def trace_means(
    released: npt.ArrayLike,
    reference: npt.ArrayLike,
    people: npt.ArrayLike,
    *,
    false_positive: float = 1e-3,
    sample: int | None = None,
) -> Tracing:
    """Score people, one a row of zeros and ones, against released means.

    `reference` has the population's means; `sample` says that it has those of so many other people instead, without
    which outsiders would be accused far more often than at the rate asked for.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> means = rng.uniform(0.1, 0.9, 5000)
    >>> data, others = (rng.random((100, 5000)) < means), (rng.random((100, 5000)) < means)
    >>> found = trace_means(data.mean(axis=0), means, np.vstack([data, others]))
    >>> bool(found.accused[:100].mean() > 0.9), int(found.accused[100:].sum())
    (True, 0)
    """
    import numpy as np
    from scipy.special import ndtri

    require(0 < false_positive < 1, "0 < false_positive < 1", false_positive=false_positive)
    a, p, x = (np.asarray(one, dtype=np.float64) for one in (released, reference, people))
    if a.ndim != 1 or a.shape != p.shape or x.ndim != 2 or x.shape[1] != len(a):
        raise ParameterError("need d released means, d reference means, and people with d attributes each")
    if not (np.isfinite(a).all() and ((p > 0) & (p < 1)).all()):
        raise ParameterError("need finite released means, and reference means strictly between 0 and 1")
    whole = isinstance(sample, int) and not isinstance(sample, bool)
    require(sample is None or (whole and sample >= 2), "a sample of at least 2 people, or None", sample=sample)
    away, each = a - p, p * (1 - p)  # each: the variance of an attribute
    drift, square = 0.0, float((away**2 * each).sum())
    if sample is not None:
        each = each * (sample / (sample - 1))
        drift = float(each.sum()) / sample
        # `away` holds the error of the reference already, whose share of the first sum is each^2 / sample.
        square = float((away**2 * each).sum()) * (1 + 1 / sample) + 2 * float((each**2).sum()) / sample**2
    spread = math.sqrt(square)
    scores = ((x - p) @ away - drift) / spread if spread > 0 else np.zeros(len(x))
    return Tracing(scores, float(-ndtri(false_positive)))


def tracing_power(scores: npt.ArrayLike, members: npt.ArrayLike) -> list[tuple[float, float]]:
    """The curve of false against true accusations, over all thresholds: (false, true) pairs, false ones increasing.

    >>> tracing_power([3.0, 1.0, 2.0, 0.0], [True, True, False, False])
    [(0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0)]
    """
    import numpy as np

    given, inside = np.asarray(scores, dtype=np.float64), np.asarray(members, dtype=bool)
    both = bool(inside.any()) and not bool(inside.all())
    require(given.shape == inside.shape and both, "scores of members and of others")
    order = np.argsort(-given, kind="stable")
    true = np.cumsum(inside[order]) / inside.sum()
    false = np.cumsum(~inside[order]) / (~inside).sum()
    return list(zip(false.tolist(), true.tolist(), strict=True))
