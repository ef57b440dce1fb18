"""Numerical composition of privacy-loss distributions, with Google's dp-accounting.

Theorem (Sommer, Meiser, Mohammadi 2019; Koskela, Jalko, Honkela 2020; Doroshenko et al. 2022).
The loss of mechanisms fixed in advance is the sum of their losses, so its law is a
convolution, and delta(epsilon) = E[(1 - e^(epsilon - L))_+] of the sum.  Laws come
from `losses`, rounded toward more loss; dp-accounting convolves them.  Its transforms
round in both directions, so the l1 error of every convolution is bounded after the fact,

    error <= sqrt(N) u (16 log2 N + 64) (k + 1) ||p^(k-1)||_2    (Parseval; Higham 2002)

and taken off delta before epsilon is read.  Where that would cost a percent of delta,
or there are many different mechanisms, the tilted transform of `transform` is used.

Never a filter: the mechanisms must be declared before the first answer is seen.
Proof: docs/theory/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from discreet.composition.losses import REACH, losses
from discreet.composition.price import Batch, Item, gather, one
from discreet.composition.transform import MASS_ERROR, UNIT, Law, least_epsilon
from discreet.errors import UnsupportedError, require
from discreet.privacy.event import GaussianEvent, PoissonSampledEvent
from discreet.privacy.guarantee import ApproxDP
from discreet.privacy.number import Number, down, exact, up

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    Floats = npt.NDArray[np.float64]

TAIL = 1e-13  # of the mass that a convolution may cut off: it is counted as lost, at every loss
FEW = 24  # different mechanisms that are convolved one after another


def numerical(items: Iterable[Item], delta: Number) -> ApproxDP:
    """The epsilon of the composed privacy loss at this delta, from above.

    >>> from discreet.privacy.event import LaplaceEvent, RepeatedEvent
    >>> round(numerical([RepeatedEvent(event=LaplaceEvent(scale=10, sensitivity=1), count=100)], delta=1e-6).epsilon, 4)
    4.7746
    """
    batch = gather(items)
    wanted = exact(delta)
    require(0 < wanted < 1, "0 < delta < 1", delta=delta)
    if not batch.counts:
        return ApproxDP(0, delta)
    step = lattice(batch)
    found = [(losses(leaf, step), count) for leaf, count in batch.counts.items()]
    shift = sum(single.shift * count for single, count in found)
    directions = [[(single.forward, count) for single, count in found]]
    if any(single.backward is not single.forward for single, _ in found):
        directions.append([(single.backward, count) for single, count in found])
    epsilon = max(_epsilon(laws, step, down(wanted)) for laws in directions) + shift
    if not math.isfinite(epsilon):
        raise UnsupportedError("no finite epsilon holds at this delta; delta is at or below the mechanisms' own")
    return ApproxDP(up(epsilon * (1 + 2.0**-48)), delta, neighbours=batch.relation)


def lattice(batch: Batch) -> float:
    """A step so fine that splitting adds 1 part in 10^4 to the variance, if a million cells allow it."""
    variances = {leaf: _variance(leaf) for leaf in batch.counts}
    total = sum(variances[leaf] * count for leaf, count in batch.counts.items())
    if total == 0:
        return 1e-6
    widest = 2 * REACH * math.sqrt(max(variances.values()))
    step = min(0.02 * math.sqrt(total / batch.size), math.sqrt(total) / 2000)
    return max(step, 24 * math.sqrt(total) / 2**20, widest / 2**19)


def _variance(leaf: Item) -> float:
    """About the variance of the loss of one mechanism; it sets the lattice and no promise."""
    known = 2 * float(one(leaf).rho)
    if isinstance(leaf, PoissonSampledEvent) and isinstance(leaf.event, GaussianEvent):
        return min(known, float(exact(leaf.rate)) ** 2 * math.expm1(min(known, 20.0)))
    return known


def _epsilon(laws: Sequence[tuple[Law, int]], step: float, delta: float) -> float:
    if len(laws) <= FEW:
        composed, error = _composed(laws, step, delta)
        if error <= delta / 100:
            return _read(composed, laws, delta - error)
    return least_epsilon(laws, step, delta)


def _composed(laws: Sequence[tuple[Law, int]], step: float, delta: float) -> tuple[DensePLDPmf, float]:
    """The convolution by dp-accounting, and a bound on its l1 error."""
    import numpy as np

    tail = min(TAIL, delta * 1e-5) / (2 * len(laws))
    composed: DensePLDPmf | None = None
    error = 0.0
    for law, count in laws:
        pmf = _pmf(law, step)
        if count > 1:
            longer = pmf.self_compose(count, tail)
            error += _power_error(_probabilities(pmf), count, longer.size)
            pmf = longer
        if composed is not None:
            left, right = _probabilities(composed), _probabilities(pmf)
            size = 2 * (composed.size + pmf.size)
            error += 2 * math.sqrt(size) * _per_transform(size) * float(np.linalg.norm(left) + np.linalg.norm(right))
            pmf = composed.compose(pmf, tail)
        composed = pmf
    assert composed is not None
    return composed, error


def _pmf(law: Law, step: float) -> DensePLDPmf:
    import numpy as np
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    low = int(law.indices[0])
    dense = np.zeros(int(law.indices[-1]) - low + 1)
    dense[law.indices - low] = law.masses
    return DensePLDPmf(step, low, dense, law.infinite, pessimistic_estimate=True)


def _probabilities(pmf: DensePLDPmf) -> Floats:
    return pmf._probs  # dp-accounting offers no public access to the masses


def _per_transform(size: int) -> float:
    return UNIT * (16 * math.log2(size) + 64)


def _power_error(probabilities: Floats, count: int, size: int) -> float:
    """The bound of the module docstring for one k-fold convolution."""
    import numpy as np

    size = 2 * max(size, len(probabilities))
    spectrum = np.minimum(1.0, np.abs(np.fft.rfft(probabilities, size)))
    norm = math.sqrt(2 * float(np.mean(spectrum ** (2 * (count - 1)))))
    return math.sqrt(size) * _per_transform(size) * (count + 1) * min(1.0, norm)


def _read(composed: DensePLDPmf, laws: Sequence[tuple[Law, int]], delta: float) -> float:
    """The epsilon for a delta, moved up until the delta at that epsilon, summed afresh, is met."""
    slack = 2 * MASS_ERROR * sum(count for _, count in laws) + 2.0**-36
    target = delta * math.exp(-slack)
    epsilon = float(composed.get_epsilon_for_delta(target))
    grow = 2.0**-44
    while math.isfinite(epsilon) and float(composed.get_delta_for_epsilon(epsilon)) > target:
        epsilon, grow = epsilon * (1 + grow) + grow * 1e-3, 4 * grow
    return epsilon


def composed_masses(laws: Sequence[tuple[Law, int]], step: float) -> tuple[Floats, Floats, float]:
    """Losses, their masses, and the mass at infinity, of the composition: for pictures and export."""
    import numpy as np

    composed, _ = _composed(laws, step, 1e-10)
    masses = np.maximum(_probabilities(composed), 0.0)
    first = composed._lower_loss
    at = step * (first + np.arange(len(masses), dtype=np.float64))
    return at, masses, float(composed._infinity_mass)
