"""A lower bound on the epsilon of any mechanism, from its outputs alone.

Theorem.  Let p and q be the probabilities of an event T under two neighbouring
inputs.  If the mechanism is (epsilon, delta)-DP then epsilon >= ln((p - delta) / q).
Choose T on one part of the sample and count it on the rest: the counts are
binomial, and the bound of `log_ratio_bound` on ln((p - delta) / q) is below the true
epsilon with probability at least 1 - beta, whatever the mechanism and whatever T.
Proof: docs/theory/audit.md.

Outputs of any kind are read as rows of numbers by one function, both sides alike, which is fixed by the first tenth of
the sample (`reading`).  A run that fails is an output too: if it fails more often on one side, that is a finding.

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
from discreet.attacks.reading import Raised, learn_reading
from discreet.errors import DiscreetError, ParameterError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.base import Mechanism
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]  # of integers or floats

TRAINING = 0.2  # the share of the sample on which the event is learnt: half to order cells, half to choose
PATIENCE = 20  # failures in a row, on either input, after which there is nothing to audit


Releases = Callable[..., object]
"""Anything that releases a value, f(value, *, rng=None): a mechanism, a function, a whole system."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Audit:
    """What an audit found: with probability 1 - beta the true epsilon is at least `epsilon`.

    `event` is the witness and `example` an output in it; `hits` is how often it happened under its
    likelier input and under the other, each out of `tested` releases that played no part in choosing it.
    `unread` is the share of these that hold something of a kind not seen before, a word or a place: near 1 the audit
    was blind, and says nothing.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.mechanisms import Laplace
    >>> found = audit(Laplace(epsilon=1, sensitivity=1), (0, 1), 20_000, rng=SeededRandom(1))
    >>> 0.8 < found.epsilon <= 1, found.violates()
    (True, False)
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
    unread: float = 0.0

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
    raw = both(mechanism, inputs, samples, batched=batched, rng=rng)
    read = learn_reading([side[: cuts[0]] for side in raw])
    sides, known = zip(*(read(side) for side in raw), strict=True)
    order, choose, test = ([y[a:b] for y in sides] for a, b in zip((0, *cuts), (*cuts, samples), strict=True))
    event = learn(order, choose, delta=float(exact(delta)), ordered=read.ordered)
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
        claimed=claim_of(mechanism),
        unread=1 - float(sum(one[cuts[1] :].mean() for one in known)) / 2,
    )


def claim_of(mechanism: object) -> Guarantee | None:
    """The guarantee that a mechanism claims; None where it claims none."""
    privacy = getattr(mechanism, "privacy", None)
    claim = privacy() if callable(privacy) else None
    return claim if isinstance(claim, Guarantee) else None


def both(
    mechanism: Releases, inputs: Sequence[object], count: int, *, batched: bool | None, rng: RandomSource | None
) -> list[Array | list[object]]:
    """`count` independent releases of either input; where one fails, one by one, with its failures among them."""
    try:
        return [releases(mechanism, value, count, batched=batched, rng=rng) for value in inputs]
    except Exception as error:  # what failed, and on which side how often, is the finding
        if batched:
            raise
        first = error
    tried = [[_attempt(mechanism, value, rng) for _ in range(PATIENCE)] for value in inputs]
    if all(isinstance(one, Raised) for side in tried for one in side):
        raise first
    return [[*side, *(_attempt(mechanism, value, rng) for _ in range(count - PATIENCE))] for side, value in
            zip(tried, inputs, strict=True)]  # fmt: skip


def _attempt(mechanism: Releases, value: object, rng: RandomSource | None) -> object:
    try:
        return mechanism(value, rng=rng)
    except Exception as error:  # an output like any other
        return Raised(type(error).__name__, str(error))


def releases(
    mechanism: Releases, value: object, count: int, *, batched: bool | None, rng: RandomSource | None
) -> Array | list[object]:
    """`count` independent releases of the same value."""
    import numpy as np

    own = getattr(mechanism, "releases", None)
    if callable(own) and batched is None:
        return _as_drawn(own(value, count, rng=rng))
    if batched or (batched is None and _takes_arrays(mechanism, value, rng)):
        out = _as_drawn(mechanism(np.full(count, value), rng=rng))
        require(len(out) == count, "one release for each copy", received=len(out))
        return out
    return [mechanism(value, rng=rng) for _ in range(count)]


def _as_drawn(outputs: Any) -> Array | list[object]:  # noqa: ANN401 - whatever was released
    """An array as it is; anything else one by one, since an array of them would make one type of many."""
    import numpy as np

    return outputs if isinstance(outputs, np.ndarray) else list(outputs)


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
