"""Anonymisation as it was done before: two baselines that are not private, kept to be attacked.

Removing names leaves everything else, which is a key to the person for whoever knows a
few facts about them.  Hiding small counts leaves the large ones exact, so one person
moves a released number, and two questions that differ by one person reveal that person.
Neither has an epsilon: `FiniteMechanism` finds an output that rules a neighbour out.

Each carries `private = False`; whatever serves answers to analysts must refuse those.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Generic, ParamSpec, TypeVar

from discreet.errors import require

P = ParamSpec("P")
R = TypeVar("R")


class Baseline(Generic[P, R]):
    """A function marked as not private."""

    private = False

    def __init__(self, function: Callable[P, R]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)


@Baseline
def drop_identifiers(rows: Iterable[Mapping[str, object]], *, columns: Collection[str]) -> list[dict[str, object]]:
    """The table without the named columns.  Not private.

    >>> drop_identifiers([{"name": "Ada", "age": 36}], columns={"name"})
    [{'age': 36}]
    """
    require(not isinstance(columns, str), "a collection of column names", columns=columns)
    return [{name: value for name, value in row.items() if name not in columns} for row in rows]


@Baseline
def suppress_small_counts(counts: Mapping[Hashable, int], *, threshold: int) -> dict[Hashable, int | None]:
    """Exact counts of at least `threshold`, and None for the others.  Not private.

    >>> suppress_small_counts({"flu": 40, "plague": 2}, threshold=5)
    {'flu': 40, 'plague': None}
    """
    require(threshold >= 0, "threshold >= 0", threshold=threshold)
    return {cell: count if count >= threshold else None for cell, count in counts.items()}
