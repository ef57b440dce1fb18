"""The shuffle model: local reports in random order, and the central epsilon that the analyst may claim.

Theorem (Feldman, McMillan, Talwar 2021).  Let n users report through the same epsilon0-DP randomizer and let the
reports be shuffled.  Under Replace they are a function of (A, B), where, for C ~ Bin(n - 1, e^-epsilon0) clones and
A' ~ Bin(C, 1/2), the first user adds one to A' with probability e^epsilon0 / (e^epsilon0 + 1), else to C - A',
or the other way round in the other world.  Delta is at most that of the pair: a sum over C of tails of fair coins.
For randomized response on bits the same holds with C ~ Bin(n - 1, 2 / (e^epsilon0 + 1)).

Theorem (Balle, Bell, Gascon, Nissim 2019).  In randomized response among k values each user's report is uniform with
probability k / (e^epsilon0 + k - 1), whatever the value.  With M - 1 uniform reports of others the delta is

    E max(0, sum over the M reports y of (R(y | x) - e^epsilon R(y | x')) k) / M,   all M uniform and independent.

Delta is computed in floating point from above: every term is increased by a relative 2^-30, the best event is one of
three next to the rounded threshold, and what lies outside of the windows of C, M and others is added.  Of many users
the counts of a window are put into bands, each counted as the worst in it: a claim takes as long for 10^11 users as
for 10^7, and more users than those are not counted.  For epsilon0 outside of [1e-12, 300] the claim is the local one.
Proof: docs/theory/shuffle.md; the closed form is `composition.shuffled`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, cast

from discreet.composition.amplification import shuffled as closed_form
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.local.coins import positive, whole
from discreet.local.protocol import LocalProtocol
from discreet.local.randomized_response import RandomizedResponse
from discreet.privacy.exact_sums import whole as whole_numbers
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import Replace
from discreet.privacy.number import Number, exact, up

if TYPE_CHECKING:
    from discreet.local.protocol import Array

Method = Literal["best", "numerical", "closed form"]
SAFETY = 2.0**-30  # relative, for the tails of scipy, which are good to about 1e-12
COUNTS = 1 << 13  # of a window, that are looked at one by one
GROUPS = 1 << 11  # of the counts of a larger window
BANDS = 24  # groups of the number of uniform reports
SPARE = 1e-31  # probability that may lie outside of the window of C, and is added
LEAST, MOST = 1e-12, 300.0  # the local epsilons between which delta is computed
CROWD = 10**11  # users, of whom more are not counted: scipy's tails of fair coins lose digits there
TINY = 1e-290  # a delta below which it is not
NEARBY = (-1, 0, 1)  # a threshold is rounded to one of its neighbours at worst


def shuffled(
    epsilon0: Number, n: int, delta: Number, *, randomizer: LocalProtocol | None = None, method: Method = "best"
) -> ApproxDP:
    """The central guarantee of the shuffled reports of n users, each through the same epsilon0-DP randomizer.

    A `RandomizedResponse` passed as `randomizer` has a smaller epsilon than the general theorem gives.

    >>> round(shuffled(epsilon0=1.0, n=10_000, delta=1e-6).epsilon, 4)
    0.053
    >>> round(shuffled(1.0, 10_000, 1e-6, method="closed form").epsilon, 4)
    0.214
    """
    local, users, small = positive(epsilon0), whole("n", n, least=1), exact(delta)
    require(0 < small < 1, "0 < delta < 1", delta=delta)
    require(method in ("best", "numerical", "closed form"), "a known method", method=method)
    if randomizer is not None:
        require(exact(randomizer.epsilon) <= local, "epsilon0 of the randomizer at least", epsilon0=epsilon0)
    if method == "closed form":
        return closed_form(PureDP(epsilon0), users=users, delta=delta)
    values = randomizer.size if isinstance(randomizer, RandomizedResponse) else None
    return ApproxDP(min(up(local), _numerical(local, users, small, values)), delta, neighbours=Replace)


def central_delta(
    epsilon0: Number, n: int, epsilon: Number, *, values: int | None = None, spare: float = SPARE
) -> float:
    """The delta at epsilon of n shuffled reports, from above; `values` is that of randomized response, None of any.

    >>> central_delta(1.0, 1000, 0.5) < 1e-9
    True
    """
    local, users, central = float(positive(epsilon0)), whole("n", n, least=1), exact(epsilon)
    require(central >= 0, "epsilon >= 0", epsilon=epsilon)
    require(0 < spare < 1, "0 < spare < 1", spare=spare)
    if central > exact(epsilon0):
        return 0.0
    if not LEAST <= local <= MOST:  # what the reports hide before they are shuffled
        return min(1.0, -math.expm1(float(central) - local) + SAFETY)
    users = min(users, CROWD)  # the reports of the others are added by whoever has those of these: post-processing
    found = _clones(local, float(central), users, bits=values == 2, spare=spare)
    if values in (None, 2):
        return found
    return min(found, _blanket(local, float(central), users, whole("values", values, least=2), spare))


def _clones(local: float, central: float, n: int, *, bits: bool, spare: float) -> float:
    """The delta of the pair (A, B), a clone being likelier for bits."""
    import numpy as np

    odds, factor = math.exp(local), math.exp(central)
    chance = 2 / (odds + 1) if bits else 1 / odds
    clones, _, weights, outside = _grouped(n - 1, chance, spare)  # fewer clones tell more
    totals = clones + 1
    least = np.floor(totals * (math.expm1(local + central) / (math.expm1(local) * (1 + factor)))) + 1
    tried = []
    for near in NEARBY:
        edge = np.minimum(least + near, totals)
        one, none = _tail(clones, edge - 1) * weights, _tail(clones, edge) * weights
        tried.append(_differ((odds * one + none) / (odds + 1), factor * ((one + odds * none) / (odds + 1))))
    return min(1.0, _above(tried) + outside)


def _blanket(local: float, central: float, n: int, values: int, spare: float) -> float:
    """The delta of randomized response among `values`, by how many reports are uniform."""
    import numpy as np

    odds, factor = math.exp(local), math.exp(central)
    chance = values / (odds + values - 1)
    uniform, _, weights, outside = _grouped(n - 1, chance, spare)
    slope = math.expm1(local) * (1 + factor)
    step = -(-len(uniform) // BANDS)
    total = outside
    for start in range(0, len(uniform), step):  # fewer uniform reports tell more, so each band counts as its least
        m = int(uniform[start]) + 1
        # Reports of x or x'.  More of them add to the gains, and fewer to the losses.
        fewest, near, shares, beyond = _grouped(m, 2 / values, spare)
        rest = math.expm1(local + central) * fewest + math.expm1(central) * (m - fewest)
        scale = shares * chance / m
        least = np.floor(rest / slope) + 1
        edges = [np.minimum(least + nearby, near) for nearby in NEARBY]
        tried = [
            _differ(slope * near / 2 * _tail(near - 1, edge - 1) * scale, rest * _tail(near, edge) * scale)
            for edge in edges
        ]
        total += float(weights[start : start + step].sum()) * (_above(tried) + beyond * odds)
    return min(1.0, total * (1 + SAFETY))


def _differ(gains: Array, losses: Array) -> Array:
    """gain - loss, from above."""
    return gains * (1 + SAFETY) - losses * (1 - SAFETY)


def _above(tried: list[Array]) -> float:
    """The sum of the best of the events tried, the empty one among them, from above."""
    import numpy as np

    return float(np.maximum(np.max(tried, axis=0), 0).sum()) * (1 + SAFETY)


@lru_cache(maxsize=128)
def _grouped(size: int, chance: float, spare: float) -> tuple[Array, Array, Array, float]:
    """The counts of a window in groups: the first and last of each, its probability from above, and what is outside.

    One by one where they are few.  Else a probability is a difference of two tails, on the side of the mode where they
    are small.
    """
    import numpy as np
    from scipy.special import betainc

    low, high, outside = _window(size, chance, spare)
    if high - low < COUNTS:
        counts = np.arange(low, high + 1)
        return counts, counts, _binomial(counts, size, chance), outside
    edges = np.unique(whole_numbers(np.trunc(np.linspace(low, high + 1, GROUPS + 1))))
    first, after = edges[:-1], edges[1:]
    inside, left = np.clip(edges, 1, None), np.clip(size - edges + 1, 1, None)
    none, every = edges <= 0, edges > size
    above = np.where(none, 1.0, np.where(every, 0.0, betainc(inside, left, chance)))  # Pr[Bin >= edge]
    below = np.where(none, 0.0, np.where(every, 1.0, betainc(left, inside, 1 - chance)))  # Pr[Bin < edge]
    small = after <= size * chance
    one = np.where(small, below[1:], above[:-1]) * (1 + SAFETY)
    other = np.where(small, below[:-1], above[1:]) * (1 - SAFETY)
    return first, after - 1, np.maximum(one - other, 0.0), outside


def _window(size: int, chance: float, spare: float) -> tuple[int, int, float]:
    """The least and the most of Bin(size, chance) outside of which less than `spare` lies (Bernstein), and that."""
    far = math.sqrt(2 * math.log(2 / spare))
    reach = far * math.sqrt(size * chance * max(0.0, 1 - chance)) + 3 * far**2
    low, high = max(0, math.floor(size * chance - reach)), min(size, math.ceil(size * chance + reach))
    if chance >= 1:
        low = high = size
    return low, high, 0.0 if high - low == size or chance >= 1 else spare


def _tail(coins: Array, least: Array) -> Array:
    """Pr[Bin(coins, 1/2) >= least]."""
    import numpy as np
    from scipy.special import betainc

    inside = betainc(np.clip(least, 1, None), np.clip(coins - least + 1, 1, None), 0.5)
    return np.where(least <= 0, 1.0, np.where(least > coins, 0.0, inside))


def _binomial(counts: Array, size: int, chance: float) -> Array:
    """Pr[Bin(size, chance) = c] by ratios from the mode, scaled to sum to one: no logarithm of a factorial."""
    import numpy as np

    if size == 0 or chance >= 1:
        return (counts == size).astype(np.float64)
    mode = int(np.clip(math.floor((size + 1) * chance), counts[0], counts[-1])) - int(counts[0])
    steps = (size - counts[:-1]) / (counts[1:]) * (chance / (1 - chance))  # weight of c + 1 over that of c
    up_from = np.cumprod(np.append(1.0, steps[mode:]))
    down_from = np.cumprod(1 / steps[:mode][::-1])[::-1]
    weights = np.concatenate([down_from, up_from])
    return weights / weights.sum()


@lru_cache(maxsize=256)
def _numerical(local: Fraction, n: int, delta: Fraction, values: int | None) -> float:
    """The epsilon at which delta is small enough, from above; the local one if there is none below."""
    from scipy.optimize import brentq

    if not LEAST <= local <= MOST or delta < TINY:
        return up(local)
    target, most = float(delta) * (1 - SAFETY), float(local)

    def excess(epsilon: float) -> float:
        found = central_delta(local, n, epsilon, values=values, spare=1e-9 * target)
        return math.log(max(found, 1e-3 * target) / target)  # far to the right only the sign matters

    if excess(most) > 0:
        return up(local)
    if excess(0.0) <= 0:
        return 0.0
    while excess(most / 4) <= 0:
        most /= 4
    found = cast("float", brentq(excess, most / 4, most, xtol=1e-9 * most))
    while excess(found) > 0:  # a root from below
        found *= 1 + 1e-9
    return up(exact(found))


@dataclass(frozen=True, slots=True)
class Shuffler:
    """Forgets who sent what: waits for n reports, then hands all of them over in a uniform order.

    >>> from discreet.local import RandomizedResponse
    >>> shuffler = Shuffler(RandomizedResponse(epsilon=1, size=2), n=1000)
    >>> round(shuffler.privacy(delta=1e-6).epsilon, 3)
    0.149
    """

    protocol: LocalProtocol
    n: int
    _waiting: list[Array] = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        require(isinstance(self.protocol, LocalProtocol), "a protocol", protocol=type(self.protocol).__name__)
        whole("n", self.n, least=1)
        require(self.n <= 1 << 40, "n <= 2^40, more than there are people", n=self.n)

    def add(self, reports: object) -> None:
        """Take reports in; more than n are refused."""
        checked = self.protocol.form.check(reports)
        if self.waiting + len(checked) > self.n:
            raise UnsupportedError(f"this shuffler was declared for {self.n} reports; start another one")
        self._waiting.append(checked)

    @property
    def waiting(self) -> int:
        """How many reports are in."""
        return sum(map(len, self._waiting))

    def release(self, *, rng: RandomSource | None = None) -> Array:
        """All n reports in a uniform order, once; before that, nothing."""
        import numpy as np

        if self.waiting < self.n:
            raise UnsupportedError(f"a shuffle of fewer than the declared {self.n} reports has no guarantee; wait")
        together = np.concatenate(self._waiting)
        self._waiting.clear()
        return together[permutation(self.n, rng=rng)]

    def privacy(self, delta: Number) -> ApproxDP:
        """What the analyst of the shuffled reports may claim, if the shuffler is trusted and all n users report."""
        return shuffled(self.protocol.epsilon, self.n, delta, randomizer=self.protocol)


def permutation(n: int, *, rng: RandomSource | None = None) -> Array:
    """A uniform order of n things: sorted by random words of 128 bits, drawn again if two are alike.

    >>> sorted(permutation(4).tolist())
    [0, 1, 2, 3]
    """
    import numpy as np

    random = source(rng)
    while True:
        first, second = random.words(n), random.words(n)
        order = np.lexsort((second, first))
        a, b = first[order], second[order]
        if not ((a[1:] == a[:-1]) & (b[1:] == b[:-1])).any():
            return order
