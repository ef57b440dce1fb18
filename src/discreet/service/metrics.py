"""Counters for Prometheus: requests by route and status, orders by how they ended, overruns, the line.

No private value is in them.

A label is a route's template, a status or a kind of order: never a principal, a dataset, a question or a price.
Several worker processes share their counters through files where PROMETHEUS_MULTIPROC_DIR says so; `discreet serve`
sets it.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


@cache
def _registry() -> CollectorRegistry:
    """Ours alone: nothing of the process or the interpreter."""
    from prometheus_client import CollectorRegistry

    return CollectorRegistry()


@cache
def _requests() -> Counter:
    from prometheus_client import Counter

    return Counter("discreet_requests", "Requests served", ["method", "route", "status"], registry=_registry())


@cache
def _seconds() -> Histogram:
    from prometheus_client import Histogram

    told = "Seconds until the reply, charged answers excepted"
    return Histogram("discreet_request_seconds", told, ["route"], registry=_registry())


@cache
def _orders() -> Counter:
    from prometheus_client import Counter

    return Counter("discreet_orders", "Orders by how they ended", ["kind", "outcome"], registry=_registry())


@cache
def _overruns() -> Counter:
    from prometheus_client import Counter

    return Counter("discreet_overruns", "Questions that were withheld for being late", registry=_registry())


@cache
def _turned_away() -> Counter:
    from prometheus_client import Counter

    return Counter("discreet_turned_away", "Orders that were turned away from a full line", registry=_registry())


@cache
def _line() -> Gauge:
    from prometheus_client import Gauge

    told = "Questions that wait for a child"
    return Gauge("discreet_line", told, registry=_registry(), multiprocess_mode="livesum")


def served(*, method: str, route: str | None, status: int, seconds: float, charged: bool) -> None:
    """Count a request."""
    named = route or "none"
    _requests().labels(method=method if route else "other", route=named, status=str(status)).inc()
    if not charged:  # those take their slot
        _seconds().labels(route=named).observe(seconds)


def ended(*, kind: str, outcome: str) -> None:
    """Count an order, question or job: answered, withheld, refused or cancelled."""
    _orders().labels(kind=kind, outcome=outcome).inc()


def overrun() -> None:
    """Count a question that was not answered in its slot."""
    _overruns().inc()


def turned_away() -> None:
    """Count an order that found no place in the line."""
    _turned_away().inc()


def line(length: int) -> None:
    """Say how many questions wait in this process."""
    _line().set(length)


def exposition() -> tuple[bytes, str]:
    """The page that Prometheus reads, and its media type; what is not counted yet is there with zero."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    for made in (_overruns, _turned_away, _line):
        made()
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder is None:
        return generate_latest(_registry()), CONTENT_TYPE_LATEST
    from prometheus_client.multiprocess import MultiProcessCollector

    _bury(Path(folder))
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _bury(folder: Path) -> None:
    """Forget the lines of workers that are gone: nobody waits in them."""
    for file in folder.glob("gauge_live*_*.db"):
        if not Path("/proc", file.stem.rpartition("_")[2]).exists():
            file.unlink(missing_ok=True)
