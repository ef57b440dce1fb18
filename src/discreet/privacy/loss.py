"""The privacy loss: how much one output moves the odds between two neighbours.

L(y) = ln(Pr[M(x) = y] / Pr[M(x') = y]) with y drawn from M(x); L = infinity where the
output rules x' out.  Then

    delta(epsilon) = E[max(0, 1 - e^(epsilon - L))]          exactly,
    E[L]           = KL(M(x) || M(x')) <= epsilon tanh(epsilon / 2)   if M is epsilon-DP,

the losses of independent mechanisms add, and (epsilon, delta)-DP gives
Pr[L > epsilon + t] <= delta / (1 - e^-t) for t > 0.  Pr[L > epsilon] <= delta is enough
for (epsilon, delta)-DP but does not follow from it.  Proofs: docs/theory/finite.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import require
from discreet.privacy.enclosure import exp_down, exp_up, expm1_bounds, log_up
from discreet.privacy.finite import FiniteMechanism, Input
from discreet.privacy.number import Number, exact, tidy, up


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivacyLoss:
    """The law of the loss of one ordered pair: e^L -> probability, and the probability that L is infinite.

    >>> from discreet.privacy import FiniteMechanism
    >>> coin = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])
    >>> loss = privacy_loss(coin, 0, 1)
    >>> loss.delta(0), loss.tail(1)
    (0.5, Fraction(3, 4))
    """

    ratios: tuple[tuple[Fraction, Fraction], ...]  # (e^L, probability), by increasing ratio
    infinite: Fraction

    def delta(self, epsilon: Number) -> float | Fraction:
        """E[max(0, 1 - e^(epsilon - L))], exact at epsilon = 0 and rounded up elsewhere."""
        value = exact(epsilon)
        require(value >= 0, "epsilon >= 0", epsilon=epsilon)
        factor = exp_down(value)
        gains = (p * (1 - factor / ratio) for ratio, p in self.ratios if ratio > factor)
        total = sum(gains, self.infinite)
        return tidy(total) if value == 0 else up(total)

    def tail(self, threshold: Number) -> Fraction:
        """Pr[L > threshold]; a loss that cannot be told from the threshold counts as above it."""
        floor = exp_down(exact(threshold))
        return sum((p for ratio, p in self.ratios if ratio > floor), self.infinite)

    def mean(self) -> float:
        """E[L], the Kullback-Leibler divergence, rounded up."""
        if self.infinite:
            return math.inf
        return up(sum((p * log_up(ratio) for ratio, p in self.ratios), Fraction(0)))

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        """The loss of running two mechanisms with independent coins on the same pair."""
        law: dict[Fraction, Fraction] = {}
        for ratio, p in self.ratios:
            for second, q in other.ratios:
                law[ratio * second] = law.get(ratio * second, Fraction(0)) + p * q
        return PrivacyLoss(
            ratios=tuple(sorted(law.items())),
            infinite=self.infinite + other.infinite - self.infinite * other.infinite,
        )


def privacy_loss(mechanism: FiniteMechanism, x: Input, other: Input) -> PrivacyLoss:
    """The privacy loss of the outputs of M(x) against M(other).

    >>> response = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])
    >>> loss = privacy_loss(response, 0, 1)
    >>> loss.delta(0), loss.mean() <= largest_mean_loss(response.epsilon())
    (0.5, True)
    """
    law: dict[Fraction, Fraction] = {}
    infinite = Fraction(0)
    against = mechanism.law(other)
    for y, p in mechanism.law(x).items():
        if p and against[y]:
            ratio = p / against[y]
            law[ratio] = law.get(ratio, Fraction(0)) + p
        elif p:
            infinite += p
    return PrivacyLoss(ratios=tuple(sorted(law.items())), infinite=infinite)


def largest_mean_loss(epsilon: Number) -> float:
    """epsilon tanh(epsilon / 2): the largest KL divergence of an epsilon-DP pair, rounded up.

    Attained by randomized response; at most epsilon^2 / 2.

    >>> round(largest_mean_loss(1), 6)
    0.462117
    """
    value = exact(epsilon)
    require(value >= 0, "epsilon >= 0", epsilon=epsilon)
    # tanh(epsilon / 2) = 1 - 2 / (e^epsilon + 1) is at most 1 and at most epsilon / 2
    tanh = 1 - 2 / (exp_up(value) + 1) if value < 100 else Fraction(1)
    return up(value * min(tanh, value / 2))


def converse_tail(delta: Number, gap: Number) -> float:
    """delta / (1 - e^-t): the most that Pr[L > epsilon + t] can be under (epsilon, delta)-DP, rounded up."""
    t = exact(gap)
    require(t > 0, "gap > 0", gap=gap)
    require(0 <= exact(delta) <= 1, "0 <= delta <= 1", delta=delta)
    # 1 - e^-t from below, with full relative precision: by subtraction it could come out negative
    gained = expm1_bounds(min(t, Fraction(1000)))[0] * exp_down(-min(t, Fraction(1000)))
    return up(min(Fraction(1), exact(delta) / gained))
