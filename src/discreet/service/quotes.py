"""What an order would cost and what would be left, from declarations and the ledger; nothing is read or spent.

What could not be run for its columns, workload, model or settings is refused here as the run would refuse it, free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.composition.price import Price
from discreet.errors import ParameterError, UnsupportedError
from discreet.service.running.work import estimator_of, price_of, synthesis_of, text_of, workload_of

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

TABLES = 10_000  # of marginals in one release: more would keep a process from the others


def cost_of(curator: Curator, kind: str, body: Mapping[str, Any]) -> Price:
    """The price of an order for a release, synthetic data or a model."""
    match kind:
        case "release":
            return _release(curator, body)
        case "synthesis":
            return _synthesis(curator, body)
        case "fit":
            return _fit(curator, body)
        case _:
            raise ParameterError(f"need an order that has a price, got {kind}")


def _release(curator: Curator, body: Mapping[str, Any]) -> Price:
    from discreet.curator.batch import batch
    from discreet.curator.release_run import private, sets_of

    table = text_of(body, "table")
    private(curator, table)
    _few(curator, table, body.get("workload"))
    workload = workload_of(curator, table, body.get("workload"))
    reading = curator._reading(workload.domain, table, sets=sets_of(workload))
    mechanism = text_of(body, "mechanism", otherwise="auto")
    return batch(workload, table, reading, mechanism=mechanism, **price_of(body)).cost


def _few(curator: Curator, table: str, workload: object) -> None:
    """Count the tables before they are listed."""
    match workload:
        case {"marginals": int(ways), **rest} if ways >= 0:
            named = rest.get("columns")
            columns = len(named) if isinstance(named, list) else len(curator.tables[table].domain)
            if math.comb(columns, ways) > TABLES:
                raise UnsupportedError(
                    f"a service releases at most {TABLES:,} tables at once; name fewer columns, or fewer in each table"
                )


def _synthesis(curator: Curator, body: Mapping[str, Any]) -> Price:
    from discreet.curator.synthesis_run import ordered

    asked = synthesis_of(body)
    named = {name: asked.pop(name) for name in ("table", "columns", "method", "epsilon", "budget") if name in asked}
    return ordered(curator, settings=asked, **named).cost


def _fit(curator: Curator, body: Mapping[str, Any]) -> Price:
    from discreet.curator.fit_run import settle

    paid = {"epsilon": None, "budget": None} | price_of(body)
    asked = {"target": body.get("target"), "columns": body.get("columns")}
    return settle(curator, estimator_of(body), table=text_of(body, "table"), **asked, **paid).cost
