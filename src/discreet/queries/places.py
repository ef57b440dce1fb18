"""Where a query stands in a workload, so that an answer already released is found again."""

from __future__ import annotations

from discreet.queries.combined import Stacked
from discreet.queries.local import Box, Local
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Ranges, Thresholds
from discreet.queries.workload import Rows, Workload

MOST = 100_000  # queries that are compared one by one


def place_of(workload: Workload, query: Workload) -> int | None:
    """The index of one query in a workload, or None where it is not there.

    >>> from discreet.queries.ordered import ranges
    >>> place_of(ranges(9), ranges(9)[17])
    17
    """
    import numpy as np

    if not isinstance(query, Local):
        return None
    match workload, query:
        case Marginals(), Box():
            return _in_marginals(workload, query)
        case Thresholds(), Box():
            return query.high[0] if query.names and (query.low[0], query.value) == (0, 1) else None
        case Ranges(), Box() if query.names and query.value == 1:
            start, size = query.low[0], workload.domain.size
            return start * size - start * (start - 1) // 2 + query.high[0] - start
        case Stacked(), _:
            first = 0
            for part in workload.parts:
                found = place_of(part, query)
                if found is not None:
                    return first + found
                first += len(part)
            return None
    if len(workload) > MOST:
        return None
    for place, row in enumerate(workload):
        if isinstance(row, Local) and row.names == query.names and np.array_equal(row.table, query.table):
            return place
    return None


def _in_marginals(workload: Marginals, box: Box) -> int | None:
    if box.low != box.high or box.names not in workload.sets:
        return None
    which = workload.sets.index(box.names)
    if box.value != workload.weights[which]:
        return None
    place = 0
    for name, position in zip(box.names, box.low, strict=True):
        place = place * workload.domain[name].size + position
    return sum(workload.sizes[:which]) + place


def places_of(workload: Workload, asked: Workload) -> list[int] | None:
    """The indices of all asked queries, or None where one is not in the workload.

    >>> from discreet.queries.ordered import thresholds
    >>> places_of(thresholds(9), thresholds(9)[3:6]), places_of(thresholds(9), thresholds(9)) == list(range(9))
    ([3, 4, 5], True)
    """
    if asked is workload or (type(asked) is type(workload) and asked.to_dict() == workload.to_dict()):
        return list(range(len(workload)))
    if isinstance(asked, Rows):
        base = places_of(workload, asked.base)
        return None if base is None else [base[index] for index in asked.indices]
    if len(asked) > 1:
        found = [place_of(workload, query) for query in asked] if len(asked) <= MOST else [None]
        return None if None in found else found  # type: ignore[return-value]
    place = place_of(workload, asked)
    return None if place is None else [place]
