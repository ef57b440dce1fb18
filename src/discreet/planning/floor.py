"""The floors under a plan: errors that nobody, or nobody unbiased, can go below (docs/theory/lower_bounds.md).

What binds continuous Gaussian noise alone is kept apart: Laplace noise and discrete noise may lie below it.
"""

from __future__ import annotations

from discreet.bounds.best import LowerBound, lower_bounds
from discreet.errors import UnsupportedError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Neighbours
from discreet.queries.workload import Workload


def floors(
    workload: Workload, *, budget: Guarantee, n: int, neighbours: type[Neighbours], beta: float
) -> tuple[LowerBound, ...]:
    """Every bound that is known for this workload, the best first; none for budgets about which nothing is known.

    The last may be one on Gaussian noise alone, which is no floor: `gaussian` says so.

    >>> from discreet.privacy.guarantee import ZCDP
    >>> from discreet.privacy.neighbours import AddRemove
    >>> from discreet.queries import thresholds
    >>> found = floors(thresholds(64), budget=ZCDP(0.1), n=1000, neighbours=AddRemove, beta=0.05)
    >>> found[-1].who, round(found[-1].value, 1)
    ('every unbiased mechanism', 4.5)
    """
    try:
        return lower_bounds(workload, n=n, guarantee=budget, neighbours=neighbours, beta=beta)
    except UnsupportedError:
        return ()
