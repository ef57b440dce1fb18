"""A lower bound on mu, for what is claimed to be Gaussian differential privacy, from two worlds.

Theorem (Dong, Roth, Su 2022; Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini, Terzis 2023).
Let p and q be the probabilities of an event under two neighbouring inputs.  If the
mechanism is mu-Gaussian DP then Phi^-1(p) - Phi^-1(q) <= mu.  Choose the event {score > t} on
one part of the sample and count it on the rest: the bound of `shift_bound` is below the true
mu with probability at least 1 - beta, whatever the mechanism, the score and t.
Proof: docs/theory/audit.md.

For Gaussian noise every threshold shows all of mu, where an audit of epsilon at a small delta
would need events too rare to count: this is the audit with power for noisy training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.attacks.audit import Releases, both, claim_of
from discreet.attacks.confidence import shift_bound
from discreet.attacks.reading import learn_reading
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import GaussianDP, Guarantee

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

TRAINING = 0.1  # the share of the sample on which the threshold is chosen
CAUTION = 3.0  # standard deviations held back while choosing
Score = Callable[[Any], "Floats"]
"""Outputs, one a row, to numbers: the larger, the likelier the second input."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianAudit:
    """What an audit found: with probability 1 - beta the true mu is at least `mu`.

    `hits` is how often the score was above `threshold` under the second input and under the first
    (below it, where `swapped`), each out of `tested` releases that played no part in choosing it.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.mechanisms import Gaussian
    >>> found = audit_gaussian(Gaussian.with_sigma(50, sensitivity=50), (0, 50), 20_000, rng=SeededRandom(1))
    >>> 0.9 < found.mu <= 1
    True
    """

    mu: float
    beta: float
    threshold: float
    swapped: bool
    hits: tuple[int, int]
    tested: int
    samples: int
    claimed: Guarantee | None = None

    def violates(self, guarantee: Guarantee | None = None) -> bool:
        """Whether the finding refutes the guarantee, by default the one the mechanism claims."""
        claim = self.claimed if guarantee is None else guarantee
        if claim is None:
            raise ParameterError("need a guarantee: the audited callable claims none")
        if not isinstance(claim, GaussianDP):
            raise UnsupportedError(f"no mu is claimed by {type(claim).__name__}; claim GaussianDP, or use audit")
        return self.mu > float(claim.mu)


def audit_gaussian(
    mechanism: Releases,
    inputs: Sequence[object],
    samples: int = 100_000,
    *,
    score: Score | None = None,
    beta: float = 1e-5,
    batched: bool | None = None,
    rng: RandomSource | None = None,
) -> GaussianAudit:
    """Run `mechanism` on two neighbouring inputs, `samples` times each, and bound its mu from below.

    Releases are drawn as by `audit`.  Vectors need a `score`; without one they are projected on the
    difference of the two means over the training part, weighed by the variances of the entries.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.mechanisms import Gaussian
    >>> found = audit_gaussian(Gaussian.with_sigma(2, sensitivity=2), (0, 2), 20_000, rng=SeededRandom(1))
    >>> 0.9 < found.mu < 1.011, found.violates(GaussianDP(0.8))  # discrete noise is 1.0106-GDP
    (True, True)
    """
    import numpy as np

    require(len(inputs) == 2, "two inputs", inputs=len(inputs))
    whole = isinstance(samples, int) and not isinstance(samples, bool) and samples >= 100
    require(whole, "an integer samples >= 100", samples=samples)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    raw = both(mechanism, inputs, samples, batched=batched, rng=rng)
    training = math.ceil(samples * TRAINING)
    if score is not None:
        rows = [np.asarray(side) for side in raw]
    else:
        read = learn_reading([side[:training] for side in raw])
        rows = [read(side)[0] for side in raw]
        score = _projection([side[:training] for side in rows]) if rows[0].ndim > 1 else _plain
    first, second = (np.asarray(score(side), dtype=np.float64) for side in rows)
    return audit_scores(first, second, beta=beta, claimed=claim_of(mechanism))


def audit_scores(
    first: npt.ArrayLike, second: npt.ArrayLike, *, beta: float = 1e-5, claimed: Guarantee | None = None
) -> GaussianAudit:
    """The same from numbers that were observed in the two worlds, independently, such as losses of a canary.

    >>> import numpy as np
    >>> worlds = np.random.default_rng(1).normal([0, 1], 1, (20_000, 2))
    >>> 0.9 < audit_scores(worlds[:, 0], worlds[:, 1]).mu < 1
    True
    """
    import numpy as np

    sides = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    alike = sides[0].ndim == 1 and sides[0].shape == sides[1].shape and len(sides[0]) >= 100
    require(alike, "as many numbers in both worlds, 100 or more", first=sides[0].shape, second=sides[1].shape)
    require(all(not np.isnan(side).any() for side in sides), "numbers that can be compared")
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    samples = len(sides[0])
    training = math.ceil(samples * TRAINING)
    threshold, swapped = _threshold(*(side[:training] for side in sides))
    above = [int((side[training:] > threshold).sum()) for side in sides]
    tested = samples - training
    hits = (tested - above[1], tested - above[0]) if swapped else (above[1], above[0])
    return GaussianAudit(
        mu=shift_bound(hits, (tested, tested), beta=beta),
        beta=beta,
        threshold=threshold,
        swapped=swapped,
        hits=hits,
        tested=tested,
        samples=samples,
        claimed=claimed,
    )


def _plain(outputs: Any) -> Floats:  # noqa: ANN401 - numbers of any kind
    return outputs


def _projection(sides: Sequence[Any]) -> Score:
    """The direction that tells Gaussian worlds with independent entries apart best, as estimated."""
    import numpy as np

    first, second = (np.asarray(side, dtype=np.float64).reshape(len(side), -1) for side in sides)
    spread = (first.var(axis=0) + second.var(axis=0)) / 2
    gap = second.mean(axis=0) - first.mean(axis=0)
    direction = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
    return lambda outputs: np.asarray(outputs, dtype=np.float64).reshape(len(outputs), -1) @ direction


def _threshold(first: Floats, second: Floats) -> tuple[float, bool]:
    """Where the two samples promise the largest mu, and whether smaller scores speak for the second world."""
    import numpy as np
    from scipy.special import ndtri

    pooled = np.sort(np.concatenate([first, second]))
    cuts = np.unique(pooled[np.linspace(0, len(pooled) - 1, 400).astype(int)])
    q, p = ((len(side) - np.searchsorted(np.sort(side), cuts, side="right") + 0.5) / (len(side) + 1) for side in
            (first, second))  # fmt: skip
    z = [ndtri(rate) for rate in (p, q)]
    heights = [np.exp(-one * one / 2) / math.sqrt(2 * math.pi) for one in z]
    spread = sum(np.sqrt(rate * (1 - rate) / len(first)) / height for rate, height in zip((p, q), heights, strict=True))
    promises = [way * (z[0] - z[1]) - CAUTION * spread for way in (1, -1)]
    swapped = float(promises[1].max()) > float(promises[0].max())
    return float(cuts[int(np.argmax(promises[int(swapped)]))]), swapped
