"""The privacy-loss distribution of each event, on a lattice, from its own discrete law.

For neighbours with output laws P and Q the privacy loss is L = ln P(y)/Q(y) at y drawn
from P, and delta(epsilon) = E[(1 - e^(epsilon - L))_+] exactly.  A pair of laws
dominates a mechanism if its delta is at least the mechanism's at every epsilon, for all
neighbours; dominating pairs compose (Zhu, Dong, Wang 2022).  The pairs used here:

    (epsilon, delta)         randomized response that fails with probability delta
    discrete Laplace         the shift by `sensitivity` of one coordinate: noise with a
                             log-concave law loses most when all of the l1 change falls there
    discrete Gaussian        the shift by 1 if sensitivity^2 < 2, else a normal pair whose
                             variance is smaller by about `SMOOTHING`, with a proven correction
    mu-GDP                   the normal pair N(mu, 1), N(0, 1)
    exponential mechanism    Pr_P[L > x] = (e^epsilon - e^((epsilon + x)/2)) / (e^epsilon - 1)
    Poisson sample           (1 - rate) Q + rate P against Q, and P against (1 - rate) P + rate Q

The discrete Gaussian is not dominated by the continuous one with the same sigma (at
sigma 4.2247 delta is 1.02e-6 instead of 1e-6).  Proofs: docs/theory/accounting.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.composition.price import Item, one
from discreet.composition.transform import Law, split
from discreet.errors import UnsupportedError
from discreet.privacy.event import ExponentialEvent, GaussianEvent, LaplaceEvent, PoissonSampledEvent
from discreet.privacy.guarantee import GaussianDP
from discreet.privacy.number import exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

REACH = 10.5  # standard deviations kept; a normal tail beyond is 4.4e-26, and it is moved up and not dropped
SMOOTHING = 2.0  # variance of the rounding that turns a normal into a discrete Gaussian
WIDEST = 1_000_000  # atoms of the largest law built atom by atom
_SAFE = 1 + Fraction(1, 2**40)  # math.sqrt(3) is below the root of 3; it is read as that root, as `Gaussian` does


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """A dominating pair with countably many losses: their masses under P; `infinite` is the rest."""

    losses: Floats
    masses: Floats
    infinite: float = 0.0


@dataclass(frozen=True, slots=True)
class Smooth:
    """A dominating pair with a smooth loss density under P on [low, high]; `infinite` lies above."""

    low: float
    high: float
    width: float  # six-point Gauss quadrature is exact to a rounding on intervals this wide
    mean: float = 0.0
    deviation: float = 0.0  # of a normal loss; 0 for the exponential mechanism
    infinite: float = 0.0

    def density(self, loss: Floats) -> Floats:
        """The density of the loss under P."""
        import numpy as np

        if self.deviation:
            z = (loss - self.mean) / self.deviation
            return np.exp(-z * z / 2) / (self.deviation * math.sqrt(2 * math.pi))
        return np.exp((loss - self.high) / 2) / (2 * -math.expm1(-self.high))


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """Both directions on the lattice; `shift` is to be added to every finite loss."""

    forward: Law
    backward: Law
    shift: float = 0.0


def losses(leaf: Item, step: float) -> Losses:
    """The privacy loss of one mechanism on the multiples of `step`, from above."""
    rate = 1.0
    if isinstance(leaf, PoissonSampledEvent):
        rate, inner = float(exact(leaf.rate)), leaf.event
        if not isinstance(inner, (GaussianEvent, LaplaceEvent, ExponentialEvent)):
            return _both(_response(leaf), step, 1.0)
        leaf = inner
    pair, shift, lost = _pair(leaf)
    if rate == 0:
        return _both(_zero(), step, 1.0)
    found = _both(pair, step, rate)
    if lost:
        forward, backward = (_weakened(law, lost) for law in (found.forward, found.backward))
        return Losses(forward, backward, shift)
    return found


def _weakened(law: Law, lost: float) -> Law:
    """The law after losing everything with probability `lost`."""
    return Law(law.indices, law.masses * (1 - lost), lost + (1 - lost) * law.infinite)


def _pair(leaf: Item) -> tuple[Atoms | Smooth, float, float]:
    """A dominating pair, what to add to its losses, and the probability of losing everything besides."""
    match leaf:
        case LaplaceEvent() if leaf.sensitivity <= WIDEST:
            return laplace_atoms(float(exact(leaf.scale)), leaf.sensitivity), 0.0, 0.0
        case ExponentialEvent() if 0 < exact(leaf.epsilon) <= 500:
            epsilon = float(exact(leaf.epsilon))
            return Smooth(-epsilon, epsilon, min(1.0, epsilon)), 0.0, 0.0
        case GaussianDP():
            return _normal(math.sqrt(float(leaf.square)) * (1 + 1e-15)), 0.0, 0.0
        case GaussianEvent():
            return _gaussian(leaf)
        case _:
            return _response(leaf), 0.0, 0.0


def _zero() -> Atoms:
    import numpy as np

    return Atoms(np.zeros(1), np.ones(1))


def _response(leaf: Item) -> Atoms:
    """Randomized response, for a mechanism of which only (epsilon, delta) is known."""
    import numpy as np

    known = one(leaf)
    if known.epsilon is None:
        raise UnsupportedError(f"no privacy-loss distribution is known for {type(leaf).__name__}; use concentrated")
    epsilon, delta = float(known.epsilon), float(known.delta)
    p = 1 / (1 + math.exp(-epsilon))
    masses = (1 - delta) * np.array([math.exp(-epsilon) * p, p])
    return Atoms(np.array([-epsilon, epsilon]) * (1 + 1e-15), masses, delta * (1 + 1e-15))


def laplace_atoms(scale: float, shift: int) -> Atoms:
    """Noise Z against shift + Z: the loss is (|Z - shift| - |Z|) / scale."""
    import numpy as np

    z = np.arange(shift + 1)
    masses = np.exp(-z / scale) * math.tanh(1 / (2 * scale))
    masses[0] = 1 / (1 + math.exp(-1 / scale))
    masses[-1] = math.exp(-shift / scale) / (1 + math.exp(-1 / scale))
    return Atoms((shift - 2 * z) / scale * (1 + 1e-15), masses)


def _gaussian(leaf: GaussianEvent) -> tuple[Atoms | Smooth, float, float]:
    sigma, square = float(exact(leaf.sigma)), math.floor(exact(leaf.sensitivity) ** 2 * _SAFE)
    if square == 0:  # an integer vector that moves by less than 1 does not move
        return _zero(), 0.0, 0.0
    if square == 1 and sigma <= WIDEST / (4 * REACH):
        return _discrete_gaussian(sigma), 0.0, 0.0
    smoothing = SMOOTHING + max(0.0, math.log(square) - 7) / (2 * math.pi**2)  # square x ripple stays below 1e-13
    if sigma**2 <= 2 * smoothing:
        raise UnsupportedError(
            "no tight bound is known for so small a sigma and a sensitivity above 1; use concentrated"
        )
    ripple = 2.1 * math.exp(-2 * math.pi**2 * smoothing)  # of a Gaussian summed over the integers
    correction = square * 2.1 * ripple
    mu = math.sqrt(square / (sigma**2 - smoothing)) * (1 + 1e-15)
    return _normal(mu), correction, -math.expm1(-correction)


def _discrete_gaussian(sigma: float) -> Atoms:
    """Noise Z against 1 + Z: the loss is (1 - 2 Z) / (2 sigma^2)."""
    import numpy as np

    reach = math.ceil(sigma * REACH) + 1
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z**2) / (2 * sigma**2))
    tail = 2 * math.exp(-(reach**2) / (2 * sigma**2))  # Canonne, Kamath, Steinke 2020
    return Atoms((1 - 2 * z) / (2 * sigma**2) * (1 + 1e-15), weights / weights.sum(), tail)


def _normal(mu: float) -> Atoms | Smooth:
    if mu == 0:
        return _zero()
    mean = mu * mu / 2
    return Smooth(mean - REACH * mu, mean + REACH * mu, mu / 10, mean, mu, _beyond())


def _beyond() -> float:
    """The mass of a normal law beyond what is kept of it, on either side, from above."""
    return math.erfc(REACH / math.sqrt(2)) / 2 * (1 + 2.0**-40)


def _both(pair: Atoms | Smooth, step: float, rate: float) -> Losses:
    if rate == 1:
        law = _on_lattice(_nodes(pair, step) if isinstance(pair, Smooth) else pair, step)
        return Losses(law, law)
    forward, backward = (
        _sampled(_nodes(pair, step, rate, sign) if isinstance(pair, Smooth) else pair, rate, sign) for sign in (1, -1)
    )
    return Losses(_on_lattice(forward, step), _on_lattice(backward, step))


def _on_lattice(atoms: Atoms, step: float) -> Law:
    return split(atoms.losses, atoms.masses, step, atoms.infinite)


def _sampled(base: Atoms, rate: float, sign: int) -> Atoms:
    """The pair after Poisson sampling: `sign` 1 if the unit is in the first dataset, else -1."""
    import numpy as np

    if sign < 0:
        losses = np.append(-np.log1p(rate * np.expm1(-base.losses)), -math.log1p(-rate))
        return Atoms(losses, np.append(base.masses, base.infinite))
    other = base.masses * np.exp(-base.losses)
    masses = (1 - rate) * other + rate * base.masses
    missing = max(0.0, 1 - float(other.sum()))
    losses = np.append(np.log1p(rate * np.expm1(base.losses)), math.log1p(-rate))
    return Atoms(losses, np.append(masses, (1 - rate) * missing), rate * base.infinite)


def _nodes(pair: Smooth, step: float, rate: float = 1.0, sign: int = 1) -> Atoms:
    """Quadrature nodes as atoms: no interval crosses a cell of the lattice on which they will be split."""
    import numpy as np

    def sampled(loss: Floats) -> Floats:
        return sign * np.log1p(rate * np.expm1(sign * loss))

    first, last = sampled(np.array([pair.low, pair.high])) / step
    lattice = step * np.arange(math.ceil(first), math.floor(last) + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        back = sign * np.log1p(np.expm1(sign * lattice) / rate)
    pieces = max(1, math.ceil((pair.high - pair.low) / pair.width))
    uniform = np.linspace(pair.low, pair.high, pieces + 1)
    edges = np.unique(np.concatenate([uniform, back[(back > pair.low) & (back < pair.high)]]))
    points, weights = np.polynomial.legendre.leggauss(6)
    half = np.diff(edges)[:, None] / 2
    at = (edges[:-1, None] + edges[1:, None]) / 2 + half * points  # (intervals, 6)
    masses = half * weights * pair.density(at)
    inside = Atoms(at.ravel(), masses.ravel(), pair.infinite)
    if not pair.deviation:
        return inside
    below = np.array([pair.low]), np.array([_beyond()])  # the lower tail, moved up
    return Atoms(np.append(inside.losses, below[0]), np.append(inside.masses, below[1]), pair.infinite)
