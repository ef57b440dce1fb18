"""A lower bound on the epsilon of any mechanism, from its outputs alone.

Theorem.  Let p and q be the probabilities of an event T under two neighbouring
inputs.  If the mechanism is (epsilon, delta)-DP then epsilon >= ln((p - delta) / q).
Choose T on one part of the sample and count it on the rest: the counts are
binomial, and the bound of `log_ratio_bound` on ln((p - delta) / q) is below the true
epsilon with probability at least 1 - beta, whatever the mechanism and whatever T.
Proof: docs/theory/audit.md.

An audit can refute a claim; it cannot prove one.  It sees epsilon to a few per cent
with a million samples and cannot see a delta much below ten over the sample size:
compute deltas by enumeration (`audit_exact`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.attacks.confidence import log_ratio_bound
from discreet.attacks.events import LearntEvent, learn
from discreet.errors import DiscreetError, ParameterError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.base import Mechanism
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]  # of integers or floats

TRAINING = 0.2  # the share of the sample on which the event is learnt: half to order cells, half to choose


Releases = Callable[..., object]
"""Anything that releases a value, f(value, *, rng=None): a mechanism, a function, a whole system."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Audit:
    """What an audit found: with probability 1 - beta the true epsilon is at least `epsilon`.

    `event` is the witness and `example` an output in it; `hits` is how often it happened under its
    likelier input and under the other, each out of `tested` releases that played no part in choosing it.
    """

    epsilon: float
    delta: float
    beta: float
    event: LearntEvent
    example: object
    hits: tuple[int, int]
    tested: int
    samples: int
    claimed: Guarantee | None = None

    def violates(self, guarantee: Guarantee | None = None) -> bool:
        """Whether the finding refutes the guarantee, by default the one the mechanism claims."""
        claim = self.claimed if guarantee is None else guarantee
        if claim is None:
            raise ParameterError("need a guarantee: the audited callable claims none")
        return self.epsilon > float(claim.to_approx(self.delta).epsilon)


def audit(
    mechanism: Releases,
    inputs: Sequence[object],
    samples: int = 1_000_000,
    *,
    delta: Number = 0,
    beta: float = 1e-5,
    batched: bool | None = None,
    rng: RandomSource | None = None,
) -> Audit:
    """Run `mechanism` on two neighbouring inputs, `samples` times each, and bound its epsilon from below.

    Releases are drawn in this order of preference: by the mechanism's own
    `releases(value, count, rng=)`, an array of `count` independent releases; in one call on an
    array of `count` copies (`batched=True`); one by one.  The second assumes that a call on an
    array treats its entries independently and alike, as additive noise does; noise shared by the
    entries would make the audit say anything at all.  By default it is assumed of a `Mechanism`
    that maps an array of integers to an array of the same shape, and of no other callable.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> def warner(bit, *, rng):  # the truth with probability 3/4: epsilon is ln 3 = 1.0986
    ...     return bit if rng.bits(2) else 1 - bit
    >>> audit(warner, (0, 1), 10_000, rng=SeededRandom(1)).epsilon > 0.9
    True
    """
    require(len(inputs) == 2, "two inputs", inputs=len(inputs))
    require(isinstance(samples, int) and samples >= 100, "samples >= 100", samples=samples)
    require(0 <= exact(delta) < 1, "0 <= delta < 1", delta=delta)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    cuts = (math.floor(samples * TRAINING / 2), math.floor(samples * TRAINING))
    raw = [releases(mechanism, value, samples, batched=batched, rng=rng) for value in inputs]
    numbers = _numbers(raw)
    sides = numbered(raw, cuts[0]) if numbers is None else numbers
    order, choose, test = ([y[a:b] for y in sides] for a, b in zip((0, *cuts), (*cuts, samples), strict=True))
    event = learn(order, choose, delta=float(exact(delta)), ordered=numbers is not None)
    likelier, other = reversed(test) if event.swapped else test
    inside = event.holds(likelier)
    hits, tested = (int(inside.sum()), int(event.holds(other).sum())), len(likelier)
    return Audit(
        epsilon=log_ratio_bound(hits, (tested, tested), delta=float(exact(delta)), beta=beta),
        delta=float(exact(delta)),
        beta=beta,
        event=event,
        example=raw[int(event.swapped)][cuts[1] + int(inside.argmax())] if hits[0] else None,
        hits=hits,
        tested=tested,
        samples=samples,
        claimed=_claim(mechanism),
    )


def _claim(mechanism: object) -> Guarantee | None:
    privacy = getattr(mechanism, "privacy", None)
    claim = privacy() if callable(privacy) else None
    return claim if isinstance(claim, Guarantee) else None


def releases(
    mechanism: Releases, value: object, count: int, *, batched: bool | None, rng: RandomSource | None
) -> Array | list[object]:
    """`count` independent releases of the same value."""
    import numpy as np

    own = getattr(mechanism, "releases", None)
    if callable(own) and batched is None:
        return np.asarray(own(value, count, rng=rng))
    if batched or (batched is None and _takes_arrays(mechanism, value, rng)):
        out = np.asarray(mechanism(np.full(count, value), rng=rng))
        require(len(out) == count, "one release for each copy", received=out.shape)
        return out
    return [mechanism(value, rng=rng) for _ in range(count)]


def _takes_arrays(mechanism: Releases, value: object, rng: RandomSource | None) -> bool:
    """Whether this is a mechanism on integers that returns two releases for two copies."""
    import numpy as np

    if not isinstance(mechanism, Mechanism) or not isinstance(value, (int, np.integer)):
        return False
    try:
        out = mechanism(np.full(2, value), rng=rng)
    except DiscreetError:
        return False
    return isinstance(out, np.ndarray) and out.shape == (2,)


def _numbers(sides: Sequence[Array | list[object]]) -> list[Array] | None:
    """Both sides as arrays of numbers of one shape, (samples,) or (samples, width); None if they are not."""
    import numpy as np

    try:
        arrays = [_narrow(np.asarray(side)) for side in sides]
    except ValueError:  # ragged
        return None
    if any(a.dtype.kind not in "biuf" for a in arrays) or arrays[0].shape[1:] != arrays[1].shape[1:]:
        return None
    signed = [a.astype(np.int64) if a.dtype.kind in "bu" else a for a in arrays]
    return [a.reshape(len(a), -1) if a.ndim > 1 else a for a in signed]


def _narrow(outputs: Array) -> Array:
    """Python integers as 64-bit ones where they fit; anything else as it is."""
    import numpy as np

    if outputs.dtype != object or not all(type(y) is int for y in outputs.flat):
        return outputs
    try:
        return outputs.astype(np.int64)
    except OverflowError:
        return outputs


def numbered(sides: Sequence[Array | list[object]], seen: int) -> list[Array]:
    """A number for each distinct output among the first `seen` of either side, and -1 for every other.

    The numbering must not look at the outputs that test the event: numbering all outputs
    in order of appearance would itself tell the two sides apart.
    """
    import numpy as np

    number: dict[object, int] = {}
    for side in sides:
        for output in side[:seen]:
            number.setdefault(_key(output), len(number))
    return [np.array([number.get(_key(y), -1) for y in side], dtype=np.int64) for side in sides]


def _key(output: object) -> object:
    try:
        hash(output)
    except TypeError:
        return repr(output)
    return output
