"""Workloads read back from their descriptions: names, domains and exact numbers, never code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.data.domain import Domain
from discreet.errors import ParameterError
from discreet.queries.combined import Kronecker, Stacked, Weighted
from discreet.queries.local import Box, Junta
from discreet.queries.marginals import Marginals
from discreet.queries.ordered import Ranges, Thresholds
from discreet.queries.products import Products
from discreet.queries.workload import Rows, Workload
from discreet.queries.written import Dense, RandomCounting

Stored = Mapping[str, Any]


def from_dict(stored: Stored) -> Workload:
    """Read back what `to_dict` of a workload wrote.

    >>> from discreet.queries.ordered import thresholds
    >>> from_dict((2 * thresholds(3)).to_dict()).matrix().tolist()
    [[2, 0, 0], [2, 2, 0], [2, 2, 2]]
    """
    kind = stored.get("type")
    if kind not in _KINDS:
        raise ParameterError(f"need a workload among {', '.join(_KINDS)}, got {kind!r}")
    try:
        return _KINDS[str(kind)](stored)
    except (KeyError, TypeError) as error:
        raise ParameterError(f"a stored workload of type {kind} lacks or misspells an entry: {error}") from None


def _domain(stored: Stored) -> Domain:
    return Domain.from_dict(stored["domain"])


def _marginals(s: Stored) -> Workload:
    return Marginals(_domain(s), tuple(tuple(names) for names in s["sets"]), s.get("weights"))


def _box(s: Stored) -> Workload:
    from discreet.privacy.number import exact

    return Box(_domain(s), s["names"], s["low"], s["high"], exact(s["value"]))


def _junta(s: Stored) -> Workload:
    import numpy as np

    return Junta(_domain(s), s["names"], np.array(s["table"]))


_KINDS: dict[str, Callable[[Stored], Workload]] = {
    "marginals": _marginals,
    "thresholds": lambda s: Thresholds(_domain(s)),
    "ranges": lambda s: Ranges(_domain(s)),
    "products": lambda s: Products(_domain(s), s["k"], kind=s["kind"], at_most=s["at_most"]),
    "box": _box,
    "junta": _junta,
    "dense": lambda s: Dense(s["matrix"], _domain(s)),
    "random": lambda s: RandomCounting(_domain(s), s["count"], seed=s["seed"]),
    "rows": lambda s: Rows(from_dict(s["base"]), tuple(s["indices"])),
    "stacked": lambda s: Stacked([from_dict(part) for part in s["parts"]]),
    "weighted": lambda s: Weighted(from_dict(s["base"]), s["weight"]),
    "kronecker": lambda s: Kronecker([from_dict(factor) for factor in s["factors"]]),
}
