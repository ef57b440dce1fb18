"""What one output teaches: from a prior to a posterior, and how far they can be apart.

Theorem (after Kasiviswanathan, Smith 2014; constants: docs/theory/posterior.md).
Let a prior be given on the inputs of M, all of which are neighbours of one another
(one person's record, the rest of the data fixed or independent of it).  If M is
epsilon-DP then for every output

    e^-epsilon <= posterior(x) / prior(x) <= e^epsilon,   and
    statistical distance(prior, posterior) <= tanh(epsilon / 4),

which a two-point prior with mass 1 / (1 + e^(epsilon / 2)) attains.  Conversely, if the
distance is at most s for every prior and every output, then M is 4 artanh(s)-DP; from
the half-half prior alone, ln((1 + 2s) / (1 - 2s))-DP.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction

from discreet.errors import require
from discreet.privacy.enclosure import exp_down, exp_up, log_up
from discreet.privacy.finite import FiniteMechanism, Input, Output
from discreet.privacy.number import Number, exact, up


def posterior(prior: Mapping[Input, Number], mechanism: FiniteMechanism, output: Output) -> dict[Input, Fraction]:
    """Pr[x | M(x) = output] by Bayes' rule, exactly.

    >>> response = FiniteMechanism({0: {0: 0.75, 1: 0.25}, 1: {0: 0.25, 1: 0.75}}, neighbours=[(0, 1)])
    >>> posterior({0: 0.5, 1: 0.5}, response, 1)
    {0: Fraction(1, 4), 1: Fraction(3, 4)}
    """
    masses = {x: exact(p) for x, p in prior.items()}
    require(all(p >= 0 for p in masses.values()), "a prior that is nowhere negative", inputs=len(masses))
    require(sum(masses.values()) == 1, "a prior that sums to 1", sum=float(sum(masses.values())))
    joint = {x: p * mechanism.law(x).get(output, Fraction(0)) if p else p for x, p in masses.items()}
    evidence = sum(joint.values(), Fraction(0))
    require(evidence > 0, "an output that is possible under the prior", output=output)
    return {x: p / evidence for x, p in joint.items()}


def statistical_distance(left: Mapping[Hashable, Number], right: Mapping[Hashable, Number]) -> Fraction:
    """Half the l1 distance: the largest difference of the two probabilities of one event.

    >>> statistical_distance({0: "1/2", 1: "1/2"}, {0: "1/4", 1: "3/4"})
    Fraction(1, 4)
    """
    zero = Fraction(0)
    keys = dict.fromkeys((*left, *right))
    return sum((abs(exact(left.get(k, zero)) - exact(right.get(k, zero))) for k in keys), zero) / 2


def largest_shift(epsilon: Number) -> float:
    """tanh(epsilon / 4): the farthest that a posterior can be from its prior, rounded up.

    >>> round(largest_shift(1), 6)
    0.244919
    """
    value = _nonnegative(epsilon)
    # tanh(t) = 1 - 2 / (e^(2t) + 1) is at most 1 and at most t
    tanh = 1 - 2 / (exp_up(value / 2) + 1) if value < 400 else Fraction(1)
    return up(min(tanh, value / 4))


def worst_prior(epsilon: Number) -> float:
    """1 / (1 + e^(epsilon / 2)): the prior mass of the input that the largest shift favours."""
    value = min(_nonnegative(epsilon), Fraction(1400))
    return float(1 / (1 + exp_down(value / 2)))


def posterior_bound(prior: Number, epsilon: Number) -> float:
    """p e^epsilon / (1 - p + p e^epsilon): the largest posterior of an input of prior probability p, rounded up.

    >>> round(posterior_bound(0.5, 0.1), 6)
    0.524979
    """
    p, value = exact(prior), _nonnegative(epsilon)
    require(0 <= p <= 1, "0 <= prior <= 1", prior=prior)
    if p == 0 or value > 10_000:
        return 0.0 if p == 0 else 1.0
    return up(1 - (1 - p) / (1 - p + p * exp_up(value)))


def epsilon_from_shift(shift: Number) -> float:
    """4 artanh(s) = 2 ln((1 + s) / (1 - s)): what a shift of at most s for every prior proves, rounded up."""
    s = exact(shift)
    require(0 <= s < 1, "0 <= shift < 1", shift=shift)
    return up(2 * log_up((1 + s) / (1 - s)))


def epsilon_from_half_prior(shift: Number) -> float:
    """ln((1 + 2s) / (1 - 2s)): what a shift of at most s from half-half priors proves, rounded up."""
    s = exact(shift)
    require(0 <= s < Fraction(1, 2), "0 <= shift < 1/2", shift=shift)
    return up(log_up((1 + 2 * s) / (1 - 2 * s)))


def _nonnegative(epsilon: Number) -> Fraction:
    value = exact(epsilon)
    require(value >= 0, "epsilon >= 0", epsilon=epsilon)
    return value
