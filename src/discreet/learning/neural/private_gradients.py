"""Sums of clipped gradients with noise: private gradient descent, its noise independent or correlated.

Theorem (Abadi et al. 2016; Choquette-Choo et al. 2023; the finite arithmetic is ours).  Each row belongs to one of
`bands` classes, drawn for it once.  Step t takes each row of class t mod bands with probability `rate`, puts the taken
rows in random order, and cuts them into blocks.  A block's clipped gradients (length at most 1 + 2^-20 in units of the
clipping length) are added up in floating point and rounded to multiples of 2^-POINT; blocks are added as integers to
x_t.  Released is

    h_t = a_0 x_t + ... + a_(bands-1) x_(t-bands+1) + Z_t,   Pr[Z_t = z] ~ exp(-|z|^2 / (2 sigma^2)),

with the integers a_k of `Banded`; what is learned is computed from h.  All steps together are as private, for one row
added or removed, as steps / bands Poisson samples at `rate` of a Gaussian mechanism with parameter sigma and
sensitivity |a| D, where, for d parameters, blocks of b rows and the unit roundoff u,

    D = 2^POINT (1 + 2^-20) (1 + 4 b g) + 2 sqrt(d),   g = b u / (1 - b u).

The number of rows taken is nowhere in it.  Proof, and what it asks of a product of matrices:
docs/theory/private_gradients.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.composition.numerical import numerical
from discreet.errors import UnsupportedError, require
from discreet.hazmat.samplers import ARRAY_SCALE
from discreet.privacy.convert import root_up
from discreet.privacy.event import Event, GaussianEvent, PoissonSampledEvent, RepeatedEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, down, exact, up
from discreet.structured.streams.banded import Banded

POINT = 26  # bits of a gradient below the clipping length
SLACK = Fraction(1, 2**20)  # by which a clipped gradient may be too long
UPPER = 1 << 12  # makes the first coefficient of the noise 2^10
TOLERANCE = 1e-3  # relative, of the noise multiplier: the noise is at most so much larger than it need be


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateGradients:
    """The noise of a training run, and what it promises: `noise_multiplier` is sigma over the sensitivity.

    >>> run = PrivateGradients(noise_multiplier=1, rate="0.01", steps=1000, parameters=101_770)
    >>> round(run.privacy(delta=1e-5).epsilon, 2)
    1.83
    >>> round(float(run.sensitivity) / 2**POINT, 4)
    1.001
    """

    noise_multiplier: Number
    rate: Number
    steps: int
    parameters: int
    bands: int = 1
    block: int = 64
    bits: int = 24  # of the significand in which a block is added up

    def __post_init__(self) -> None:
        require(exact(self.noise_multiplier) > 0, "noise_multiplier > 0", noise_multiplier=self.noise_multiplier)
        require(0 < exact(self.rate) <= 1, "0 < rate <= 1", rate=self.rate)
        for name in ("steps", "parameters", "bands", "block"):
            number = getattr(self, name)
            whole = isinstance(number, int) and not isinstance(number, bool)
            require(whole and number >= 1, f"an integer {name} >= 1", **{name: number})
        require(self.bits in (24, 53), "24 or 53 bits", bits=self.bits)
        require(self.block <= 1 << (self.bits // 2 - 1), "blocks short enough for their precision", block=self.block)
        require(self.steps % self.bands == 0, "a multiple of bands steps", steps=self.steps, bands=self.bands)
        require(self.parameters <= 1 << 28, "at most 2^28 parameters", parameters=self.parameters)
        fits = self.sigma <= ARRAY_SCALE
        require(
            fits, "noise of at most 2^52 units: a larger budget, or fewer steps or bands", bits=self.sigma.bit_length()
        )

    @property
    def coefficients(self) -> tuple[int, ...]:
        """a_0, ..., a_(bands-1); a single 1 for independent noise."""
        if self.bands == 1:
            return (1,)
        return Banded(horizon=self.steps, upper=UPPER, bands=self.bands).coefficients

    @property
    def single(self) -> Fraction:
        """D: by how much one row moves the integers of one step, in l2, at most."""
        roundoff = Fraction(self.block, 1 << self.bits)
        grown = roundoff / (1 - roundoff)
        return 2**POINT * (1 + SLACK) * (1 + 4 * self.block * grown) + 2 * (math.isqrt(self.parameters) + 1)

    @property
    def sensitivity(self) -> Fraction:
        """|a| D."""
        return exact(root_up(Fraction(sum(a * a for a in self.coefficients)))) * self.single

    @property
    def sigma(self) -> int:
        """The parameter of the noise."""
        return math.ceil(exact(self.noise_multiplier) * self.sensitivity)

    def event(self) -> Event:
        """What ran, for the accountant."""
        one = GaussianEvent(sigma=self.sigma, sensitivity=self.sensitivity)
        return RepeatedEvent(event=PoissonSampledEvent(rate=self.rate, event=one), count=self.steps // self.bands)

    def privacy(self, delta: Number) -> ApproxDP:
        """The least epsilon at this delta, by the law of the privacy loss."""
        return numerical([self.event()], delta).under(AddRemove)

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha, in clipping lengths: with probability 1 - beta no entry of one step is off by more than alpha.

        A discrete Gaussian has lighter tails than the normal law; the roundings are left out.
        """
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        spread = self.sigma * math.sqrt(inverse_square(self.coefficients, self.steps)) / 2**POINT
        return spread * math.sqrt(2 * math.log(2 * self.parameters / beta))

    @classmethod
    def meeting(
        cls,
        budget: Guarantee,
        *,
        rate: Number,
        steps: int,
        parameters: int,
        bands: int = 1,
        block: int = 64,
        bits: int = 24,
    ) -> PrivateGradients:
        """The run with the least noise, to a thousandth, that keeps the budget.

        Sampling helps an ApproxDP budget; one in zCDP is charged as if all rows were taken.

        >>> budget = ApproxDP(1.0, 1e-5)
        >>> run = PrivateGradients.meeting(budget, rate=Fraction(1, 50), steps=100, parameters=1000)
        >>> round(run.noise_multiplier, 1), run.privacy(1e-5) <= budget
        (1.2, True)
        """
        if budget.neighbours not in (None, AddRemove):
            raise UnsupportedError(f"sampled gradients hide one row added or removed, not {budget.neighbours.__name__}")
        draft = cls(
            noise_multiplier=1, rate=rate, steps=steps, parameters=parameters, bands=bands, block=block, bits=bits
        )
        found = _multiplier(budget.under(AddRemove), draft)
        return cls(
            noise_multiplier=found, rate=rate, steps=steps, parameters=parameters, bands=bands, block=block, bits=bits
        )


@lru_cache(maxsize=256)
def _multiplier(budget: Guarantee, draft: PrivateGradients) -> float:
    """The least noise multiplier for the steps of `draft`."""
    count = draft.steps // draft.bands
    match budget:
        case ApproxDP() if down(budget.epsilon) > 0 and exact(budget.delta) > 0:
            return _least(budget, draft)
        case ZCDP() if exact(budget.rho) > 0:
            return up(exact(root_up(count / (2 * exact(budget.rho)))))
        case _:
            raise UnsupportedError(
                f"noisy gradients need a budget such as ApproxDP(1.0, 1e-6), got {type(budget).__name__}"
            )


def _least(budget: ApproxDP, draft: PrivateGradients) -> float:
    """The least noise multiplier, to TOLERANCE, by secants of ln epsilon over ln noise; it was itself checked."""
    target = down(budget.epsilon)
    fails, holds = 0.0, math.inf  # the largest noise seen to be too little, and the least seen to be enough
    noise, slope = 1.0, -1.5
    last: tuple[float, float] | None = None
    for _ in range(60):
        epsilon = _epsilon(draft, noise, budget.delta)
        fails, holds = (fails, min(holds, noise)) if epsilon <= target else (max(fails, noise), holds)
        if holds < math.inf and holds - fails <= TOLERANCE * holds:
            return holds
        if math.isfinite(epsilon) and epsilon > 0:
            here = math.log(noise), math.log(epsilon)
            if last is not None and here[0] != last[0]:
                slope = min(-0.2, max(-6.0, (here[1] - last[1]) / (here[0] - last[0])))
            last = here
            guess = noise * (epsilon / target) ** (-1 / slope)
            noise = guess * (1 + TOLERANCE / 3) if holds == math.inf or guess > fails else guess
        else:
            noise *= 2
        if holds < math.inf and noise >= holds * (1 - TOLERANCE / 3):
            noise = holds * (1 - 2 * TOLERANCE / 3)
        if not fails < noise < holds:
            noise = (fails + holds) / 2 if holds < math.inf else 2 * max(fails, noise)
    raise UnsupportedError("no noise was found that meets this budget; take fewer steps or a larger budget")


def _epsilon(draft: PrivateGradients, noise: float, delta: Number) -> float:
    one = GaussianEvent(sigma=math.ceil(exact(noise) * draft.sensitivity), sensitivity=draft.sensitivity)
    count = draft.steps // draft.bands
    try:
        found = numerical([RepeatedEvent(event=PoissonSampledEvent(rate=draft.rate, event=one), count=count)], delta)
    except UnsupportedError:  # no finite epsilon at this delta: far too little noise
        return math.inf
    return up(found.epsilon)


def inverse_square(coefficients: tuple[int, ...], steps: int) -> float:
    """The sum of the squares of the first `steps` coefficients of 1 / a(z): the variance of the noise in one step."""
    import numpy as np
    from scipy.signal import lfilter

    impulse = np.zeros(steps)
    impulse[0] = 1.0
    response = lfilter([1.0], np.array(coefficients, dtype=np.float64), impulse)
    return float(np.sum(np.square(np.asarray(response))))
