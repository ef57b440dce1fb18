"""When a delta is too large to mean much: what is said in words before anything is paid.

A mechanism that publishes each row with probability delta keeps (0, delta)-DP, and of n rows it publishes n delta.
So a delta promises little unless it is far below 1 / n, whatever the epsilon.  And where it is not below epsilon, it is
the larger part of the promise: a delta of 1e-6 beside an epsilon of 1e-6 says that an event may be as likely as that
with somebody and impossible without.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.guarantee import ApproxDP, Guarantee
from discreet.privacy.number import exact
from discreet.queries.query import Query

USUAL = Fraction(1, 10**6)  # where nothing asks for less
PLAUSIBLE = 100_000  # people, where no number is declared
FAR = 10  # a delta is far below 1 / n where n delta is at most 1 / FAR


def sensible(epsilon: Fraction, n: int | None) -> Fraction:
    """A delta to recommend: a power of ten, a hundred times below 1 / n and a thousand times below epsilon.

    >>> [float(sensible(Fraction(epsilon), n)) for epsilon, n in ((1, None), ("1e-6", None), (1, 10**6), (1, 100))]
    [1e-06, 1e-09, 1e-08, 1e-06]
    """
    least = min(USUAL, Fraction(1, 100 * max(1, n or 1)), epsilon / 1000)
    power = math.ceil(-math.log10(least) - 1e-9)
    return Fraction(1, 10**power)


def doubts(promise: Guarantee, n: int | None, *, what: str = "delta") -> tuple[str, ...]:
    """What a person should know of the delta of a promise about so many people; nothing where it is small.

    >>> doubts(ApproxDP(1, 1e-6), None)
    ()
    >>> print(doubts(ApproxDP(1, 0.5), 100)[0])
    delta 0.5 is not far below 1/n: of 100 people it lets a mechanism publish 50 whole; at most 0.001, better 1e-06
    """
    if not isinstance(promise, ApproxDP) or not exact(promise.delta) > 0:
        return ()
    epsilon, delta, people = exact(promise.epsilon), exact(promise.delta), n or PLAUSIBLE
    better = f"better {float(sensible(epsilon, n)):g}" if epsilon > 0 else "better far less"
    told = f"{people:,} people" if n else f"{people:,} people, say,"
    found = []
    if delta * people * FAR > 1:
        most = min(people, float(delta * people))
        found.append(
            f"{what} {float(delta):g} is not far below 1/n: of {told} it lets a mechanism publish {most:g} whole; at"
            f" most {1 / (FAR * people):g}, {better}"
        )
    if 0 < epsilon < FAR * delta and delta < 1:
        found.append(
            f"{what} {float(delta):g} is not far below epsilon {float(epsilon):g}: it is most of the promise; {better}"
        )
    return tuple(found)


def people(query: Query) -> int | None:
    """How many rows the private tables of a question are declared to have, the fewest of them; None where none is."""
    declared = [table.n for _, table in query.source.tables() if not table.public and table.n]
    return min(declared, default=None)
