"""What differential privacy leaves to every reconstruction attack.

Theorem.  Let x be n independent uniform bits and M any (epsilon, delta)-DP mechanism for one bit replaced.  Whatever is
computed from M(x) agrees with x, in expectation, in at most a fraction (e^epsilon + delta) / (1 + e^epsilon) of its
bits; and in all but a fraction s of them with at most that probability over 1 - s.  Randomized response attains it.

Proof.  Fix bit i and let T be the event that the guess of it is 1.  With p_b = Pr[T | x_i = b] the guess is right with
probability s = (p_1 + 1 - p_0) / 2.  Privacy says p_1 <= e^epsilon p_0 + delta and 1 - p_0 <= e^epsilon (1 - p_1) +
delta; their sum is 2 s <= e^epsilon (2 - 2 s) + 2 delta.  The second claim is Markov's inequality for the fraction of
bits that are right.  See docs/theory/reconstruction.md.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError, require
from discreet.privacy.enclosure import exp_up
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import Local, Replace
from discreet.privacy.number import exact, up


def reconstruction_bound(guarantee: Guarantee, *, missing: float = 0.5) -> float:
    """The largest expected fraction of bits that anyone can get right, for one bit replaced, rounded up.

    A promise for one row added or removed must first become one for a row replaced: `guarantee.to_replace()`.

    With `missing` below 1/2: the largest probability of getting all but that fraction right.

    >>> round(reconstruction_bound(ApproxDP(1, "0.1")), 6), round(reconstruction_bound(PureDP(1)), 6)
    (0.757953, 0.731059)
    """
    require(0 <= missing <= 0.5, "0 <= missing <= 1/2", missing=missing)
    if guarantee.neighbours not in (None, Replace, Local):
        raise ParameterError(f"need a promise for one bit replaced, got {guarantee!r}: convert it first (to_replace)")
    promise = guarantee if isinstance(guarantee, ApproxDP) else ApproxDP(_epsilon(guarantee), 0)
    least = exp_up(exact(promise.epsilon))
    right = min(Fraction(1), (least + exact(promise.delta)) / (1 + least))
    return up(right) if missing == 0.5 else min(1.0, up(right / (1 - exact(missing))))


def _epsilon(guarantee: Guarantee) -> Fraction:
    require(isinstance(guarantee, PureDP), "PureDP, or ApproxDP from to_approx(delta)", guarantee=guarantee)
    assert isinstance(guarantee, PureDP)
    return exact(guarantee.epsilon)
