"""Amplification: by a secret sample, and by a shuffler.

Theorem (Balle, Barthe, Gaboardi 2018).  If M is (epsilon, delta)-DP, then M on a secret
sample is (ln(1 + rate (e^epsilon - 1)), rate delta)-DP, where

    Poisson sampling (each unit kept with probability rate)   AddRemove in, AddRemove out
    rate * n of n rows without replacement                     Replace in, Replace out.

Base and result are in the same relation; Poisson sampling under Replace is not covered.

Theorem (Feldman, McMillan, Talwar 2021).  If each of n users reports through an epsilon0-DP
local randomizer and the reports are shuffled, the result is (epsilon, delta)-DP under Replace
for every delta in (0, 1] with epsilon0 <= ln(n / (16 ln(2 / delta))), where

    epsilon = ln(1 + (e^epsilon0 - 1) / (e^epsilon0 + 1) (8 sqrt(e^epsilon0 ln(4/delta) / n) + 8 e^epsilon0 / n)).

Proofs and limits: docs/theory/amplification.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from discreet.composition.price import amplify
from discreet.errors import UnsupportedError, require
from discreet.privacy.enclosure import LARGEST, exp_down, exp_up, expm1_bounds, log_down, log_up, root_bounds
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Local, Replace
from discreet.privacy.number import Number, down, exact, up

Sampling = Literal["poisson", "without replacement"]
_RELATION = {"poisson": AddRemove, "without replacement": Replace}


def subsampled(base: Guarantee, *, rate: Number, sampling: Sampling) -> Guarantee:
    """The guarantee of running a mechanism with guarantee `base` on a secret sample.

    >>> round(subsampled(PureDP(1.0), rate=0.1, sampling="poisson").epsilon, 6)
    0.158565
    """
    require(sampling in _RELATION, "sampling 'poisson' or 'without replacement'", sampling=sampling)
    fraction = exact(rate)
    require(0 <= fraction <= 1, "0 <= rate <= 1", rate=rate)
    relation = _RELATION[sampling]
    if base.neighbours not in (None, relation):
        raise UnsupportedError(
            f"{sampling} sampling amplifies guarantees under {relation.__name__},"
            f" and this one is under {base.neighbours.__name__}"
        )
    match base:
        case PureDP():
            return PureDP(amplify(exact(base.epsilon), fraction), neighbours=relation)
        case ApproxDP():
            epsilon = amplify(exact(base.epsilon), fraction)
            return ApproxDP(epsilon, fraction * exact(base.delta), neighbours=relation)
        case _:
            raise UnsupportedError(
                f"sampling is stated for PureDP and ApproxDP, not {type(base).__name__};"
                " compose a PoissonSampledEvent numerically instead"
            )


def sampling_rate(base: PureDP, target: PureDP) -> Fraction:
    """The largest rate at which a sample turns `base` into `target`: (e^target - 1) / (e^base - 1), rounded down.

    It is less than target / base: the notes' fraction is right in the limit only.  Both promises are in one relation,
    AddRemove (Poisson sampling) or Replace (without replacement).

    >>> round(float(sampling_rate(PureDP(1), PureDP("0.1"))), 7)
    0.061207
    """
    stated = {base.neighbours, target.neighbours} - {None}
    if len(stated) > 1 or not stated <= {AddRemove, Replace}:
        raise UnsupportedError(
            "sampling amplifies a promise under AddRemove, or one under Replace, to the same relation"
        )
    wanted, given = exact(target.epsilon), exact(base.epsilon)
    if wanted >= given:
        return Fraction(1)
    require(given <= LARGEST, f"epsilon <= {LARGEST}", epsilon=base.epsilon)
    return exact(down(expm1_bounds(wanted)[0] / expm1_bounds(given)[1]))


def shuffled(local: PureDP, *, users: int, delta: Number) -> ApproxDP:
    """The central guarantee of shuffling the reports of `users` users, refused where the theorem is silent.

    >>> round(shuffled(PureDP(1.0), users=10_000, delta=1e-6).epsilon, 6)
    0.214026
    """
    require(isinstance(users, int) and not isinstance(users, bool) and users >= 1, "users >= 1", users=users)
    small = exact(delta)
    require(0 < small < 1, "0 < delta < 1", delta=delta)
    if not isinstance(local, PureDP):
        raise UnsupportedError(f"shuffling is stated for pure local randomizers, not {type(local).__name__}")
    if local.neighbours not in (None, Local, Replace):
        raise UnsupportedError("shuffling amplifies a local guarantee: any change of one user's record")
    epsilon = exact(local.epsilon)
    inside = users / (16 * log_up(2 / small))
    if inside <= 1 or epsilon > log_down(inside):
        raise UnsupportedError(
            "shuffling amplifies by this theorem only if epsilon <= ln(n / (16 ln(2/delta)));"
            f" got epsilon={local.epsilon}, n={users}, delta={delta}: use the local guarantee itself"
        )
    e = exp_up(epsilon)
    gain = expm1_bounds(epsilon)[1] / (exp_down(epsilon) + 1)
    spread = 8 * root_bounds(e * log_up(4 / small) / users)[1] + 8 * e / users
    return ApproxDP(min(epsilon, exact(up(log_up(1 + gain * spread)))), delta, neighbours=Replace)
