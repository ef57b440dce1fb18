"""The parameters of private multiplicative weights: threshold, noise, number of updates, and the error they prove.

All lengths are in counts.  Let S = ln |X|, k questions, and C a bound on |n - n0| (0 where n is public).  For U updates

    gap        s   the least integer with S < 2 (U - V + 1) ((s - 1/2 - C) / (n0 + C))^2, V declared suspensions
    noise      A = ceil(query_scale ln(2 k / beta_1)),   B = the least B with (thresholds) Pr[R > B] <= beta_2
    threshold  T = s + A,    error   alpha = T + B = s + A + B.

Noise is one-sided geometric, and an epoch with threshold_scale = 1 / e1 and query_scale = 2 / e2 is (e1 + e2)-DP.
Either every epoch has a fresh threshold, and U of them are composed optimally; or one threshold serves all of them,
with query_scale = 2 U / e2, for e1 + e2 in total.  Of all U and both forms the one with the least alpha is taken,
before any data is seen.  Proof: docs/theory/multiplicative_weights.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from discreet.composition.choose import calibrate
from discreet.composition.filter import largest_rho
from discreet.composition.optimal import optimal
from discreet.errors import UnsupportedError, require
from discreet.privacy.convert import gaussian_delta
from discreet.privacy.enclosure import root_bounds
from discreet.privacy.event import Event, PureEvent, RepeatedEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact

MOST = 4_000_000  # updates
EXACT = 1 << 12  # updates up to which the share of an epoch is found to four digits


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What a session runs with; see the module docstring."""

    updates: int
    gap: int
    above: int  # A: no noise of a question exceeds it
    below: int  # B: no noise of a threshold exceeds it
    off: int  # C: how far the number of rows may be from the one used
    n: int
    fresh: bool  # a new threshold after every update
    epsilon: Fraction  # of an epoch if fresh, else of all
    first: Fraction  # the part of epsilon that pays for the threshold

    @property
    def threshold(self) -> int:
        """T = s + A."""
        return self.gap + self.above

    @property
    def alpha(self) -> int:
        """T + B: the error of every answer to a counting query, but with probability beta."""
        return self.threshold + self.below

    @property
    def step(self) -> float:
        """The least gap at an update, as a fraction of the rows."""
        return (self.gap - 0.5 - self.off) / (self.n + self.off)

    @property
    def threshold_scale(self) -> Fraction:
        """1 / e1."""
        return 1 / self.first

    @property
    def query_scale(self) -> Fraction:
        """2 / e2, times the number of updates where they share a threshold."""
        return (2 if self.fresh else 2 * self.updates) / (self.epsilon - self.first)

    def event(self) -> Event:
        """What runs."""
        epoch = PureEvent(epsilon=self.epsilon)
        return RepeatedEvent(event=epoch, count=self.updates) if self.fresh and self.updates > 1 else epoch


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What is asked for, in public numbers; `betas` are the probabilities that some noise exceeds A, or B.

    `spared` updates are paid for and not counted on: each suspension gives up one.
    """

    cells: int
    n: int
    queries: int
    betas: tuple[float, float]
    off: int = 0
    spared: int = 0

    def settings(self, epsilon: Fraction, updates: int, *, fresh: bool) -> Settings:
        """The least error with this many updates of this price."""
        entropy = math.sqrt(math.log(self.cells) / (2 * (updates - self.spared + 1)))
        gap = math.floor(0.5 + self.off + (self.n + self.off) * entropy) + 1
        times = 2 if fresh else 2 * updates
        heavy = math.log(2 * self.queries / self.betas[0])
        light = math.log((updates if fresh else 1) / self.betas[1])
        ratio = math.sqrt(light / (times * heavy))  # of e1 to e2, where light / e1 + times heavy / e2 is least
        first = epsilon * Fraction(max(1, round(2**20 * ratio / (1 + ratio))), 2**20)
        above = math.ceil(times / (epsilon - first) * Fraction(heavy))
        below = max(0, math.ceil(Fraction(light) / first) - 1)
        return Settings(
            updates=updates, gap=gap, above=above, below=below, off=self.off, n=self.n, fresh=fresh, epsilon=epsilon,
            first=first,
        )  # fmt: skip


@lru_cache(maxsize=256)
def settle(budget: Guarantee, task: Task) -> Settings:
    """The settings with the least error.

    >>> task = Task(cells=2**10, n=10**5, queries=10**4, betas=(0.025, 0.025))
    >>> found = settle(ApproxDP(1.0, 1e-6), task)
    >>> found.updates, round(found.alpha, -2)
    (569, 14900)
    """
    rough = _rough(budget)
    found = []
    for fresh in (True,) if task.spared else (True, False):  # one threshold for all cannot be suspended
        updates = min(_grid(task.spared + 1), key=lambda u, f=fresh: task.settings(rough(u, f), u, fresh=f).alpha)
        found.append(task.settings(share(budget, updates, fresh=fresh), updates, fresh=fresh))
    return min(found, key=lambda settings: settings.alpha)


def settle_passes(budget: Guarantee, task: Task) -> Settings:
    """Settings for passes over a workload: every update may be followed by a whole pass of questions."""
    asked = task.queries
    found = settle(budget, task)
    while asked < task.queries * (found.updates + 1):
        asked = 2 * task.queries * (found.updates + 1)
        found = settle(budget, replace(task, queries=asked))
    return found


def _grid(updates: int) -> Iterator[int]:
    while updates <= MOST:
        yield updates
        updates = max(updates + 1, updates * 21 // 20)


def share(budget: Guarantee, updates: int, *, fresh: bool) -> Fraction:
    """The largest epsilon found for each of `updates` epochs, or for one that holds all of them, within the budget."""
    match budget:
        case PureDP():
            require(exact(budget.epsilon) > 0, "epsilon > 0", epsilon=budget.epsilon)
            return exact(budget.epsilon) / (updates if fresh else 1)
        case ZCDP():
            require(exact(budget.rho) > 0, "rho > 0", rho=budget.rho)
            return _short(root_bounds(2 * exact(budget.rho) / (updates if fresh else 1))[0])
        case ApproxDP():
            require(exact(budget.epsilon) > 0, "epsilon > 0", epsilon=budget.epsilon)
            if not fresh or updates == 1 or exact(budget.delta) == 0:
                return exact(budget.epsilon) / (updates if fresh else 1)
            return _composed(budget, updates)
    raise UnsupportedError(f"multiplicative weights are paid in PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")


def _composed(budget: ApproxDP, updates: int) -> Fraction:
    """By optimal composition; every value returned was checked."""
    plain = exact(budget.epsilon) / updates
    noise = math.sqrt(updates) / _mu(budget)

    def run(noise: float) -> Event:
        return RepeatedEvent(event=PureEvent(epsilon=1 / exact(noise)), count=updates)

    if updates <= EXACT:
        return max(plain, 1 / exact(calibrate(run, budget, by=optimal, start=min(noise, 1 / plain), tolerance=1e-4)))
    for more in (1.0005, 1.002, 1.01, 1.05):
        if updates <= 10**6 and optimal([run(more * noise)], budget.delta) <= budget:
            return max(plain, 1 / exact(more * noise))
    rho = largest_rho(exact(budget.epsilon), exact(budget.delta))
    return max(plain, _short(root_bounds(2 * rho / updates)[0]))


def _rough(budget: Guarantee) -> Callable[[int, bool], Fraction]:
    """`share` as a formula, to search with: many small losses add up to a Gaussian one."""
    if not isinstance(budget, ApproxDP) or exact(budget.delta) == 0:
        return lambda updates, fresh: share(budget, updates, fresh=fresh)
    epsilon, mu = share(budget, 1, fresh=False), _mu(budget)
    return lambda updates, fresh: max(epsilon / updates, Fraction(mu / math.sqrt(updates))) if fresh else epsilon


@lru_cache(maxsize=256)
def _mu(budget: ApproxDP) -> float:
    """The mu of the Gaussian mechanism at this (epsilon, delta), roughly."""
    epsilon, delta = float(exact(budget.epsilon)), float(exact(budget.delta))
    low, high = 1e-9, 100.0
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low


def _short(value: Fraction) -> Fraction:
    """A nearby fraction below, of few digits."""
    unit = 2 ** max(0, 40 - math.floor(math.log2(value)))
    return Fraction(math.floor(value * unit), unit)
