"""The budget: what is left, how it went, who spent what as far as one may see, and whether the record is whole."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction

from starlette.responses import Response

from discreet.service.console.api import Declined
from discreet.service.console.gauge import CURRENCIES, Timeline, gauges, present, timeline
from discreet.service.console.page import amount, document, listed, mapped
from discreet.service.console.visit import Visit

ENTRIES = 100  # on one page


async def budget(visit: Visit) -> Response:
    """Gauges, the timeline and the latest entries."""
    finding, problem = None, None
    if visit.request.method == "POST":
        try:
            finding = await visit.api.get("/v1/ledger/verify")
        except Declined as error:
            problem = error.problem
    found = await visit.api.get("/v1/budget")
    start = visit.request.query_params.get("start")
    told = await visit.api.get("/v1/ledger", limit=str(ENTRIES), **({"start": start} if start else {}))
    entries = [entry_of(entry) for entry in listed(told.get("entries"))]
    units = gauges(found)
    return visit.page(
        "budget.html",
        units=units,
        heads={unit: present(accounts) for unit, accounts in units.items()},
        lines=_timelines(found, entries, analyst=visit.role == "analyst") if start is None else {},
        entries=list(reversed(entries)),
        earlier=told.get("earlier"),
        finding=finding,
        problem=problem,
    )


async def report(visit: Visit) -> Response:
    """The whole report for an auditor, as the ledger writes it."""
    reply = await visit.api.call("GET", "/v1/ledger/report", accept="text/html")
    return document(reply.content)


def entry_of(entry: Mapping[str, object]) -> dict[str, object]:
    """One entry of the ledger as a line of a table."""
    record = mapped(entry.get("body")) or entry
    price = mapped(record.get("price"))
    return {
        "id": record.get("id", entry.get("id")),
        "time": record.get("time"),
        "kind": record.get("kind"),
        "unit": record.get("unit"),
        "analyst": record.get("analyst"),
        "price": price,
        "amounts": {name: float(Fraction(str(value))) for name, value in price.items() if value not in (None, "0", 0)},
        "what": what(record),
    }


def what(record: Mapping[str, object]) -> str:
    """What an entry says besides who and how much.

    >>> cap = {"kind": "cap", "scope": "analyst", "name": "ada", "cap": {"kind": "PureDP", "epsilon": "1/2"}}
    >>> what(cap), what({**cap, "reason": "the pilot"})
    ('cap of the analyst ada: epsilon 0.5', 'cap of the analyst ada: epsilon 0.5; the pilot')
    >>> what({"kind": "answer", "of": 4})
    'stored answer to entry 4'
    """
    match record:
        case {"kind": "spend", "query": query}:
            return str(query)
        case {"kind": "cap", "scope": scope, "name": name}:
            return _capped(f"cap of the {scope} {name}", record)
        case {"kind": "top_up"}:
            return _capped("cap raised", record)
        case {"kind": "renewal", "period": period}:
            return _capped(f"period {period}", record)
        case {"kind": "answer", "of": spend}:
            return f"stored answer to entry {spend}"
        case {"kind": "genesis"}:
            return "the ledger begins"
        case _:
            return str(record.get("reason", ""))


def _capped(subject: str, record: Mapping[str, object]) -> str:
    """Whose cap, how much, and why, as far as the entry says so."""
    cap = mapped(record.get("cap"))
    much = ", ".join(f"{name} {amount(float(Fraction(str(cap[name]))))}" for name in CURRENCIES if name in cap)
    return subject + (f": {much}" if much else "") + (f"; {record['reason']}" if record.get("reason") else "")


def _timelines(found: Mapping[str, object], entries: list[dict[str, object]], *, analyst: bool) -> dict[str, Timeline]:
    """One for each unit that was charged twice or more, against the cap that decides now."""
    lines, now = {}, time.time()
    for unit, records in mapped(found.get("units")).items():
        accounts = [record for record in listed(records) if record.get("scope") in ("unit", "period")]
        decides = next((one for one in accounts if one["scope"] == "period" and not one.get("state")), None)
        account = decides or next(iter(accounts), None)
        if analyst:  # of whose entries only their own are seen
            mine = mapped(mapped(found.get("allotment")).get(unit))
            scaled = {name: account[name] for name in ("exact", "rho_cap")} if account else {}
            account = mine if mine.get("cap") else {**mine, **scaled} if mine and decides is None else None
        begun = max(
            [int(str(one["id"])) for one in entries if one["kind"] == "renewal" and one["unit"] == unit] or [-1]
        )
        spends = [
            (datetime.fromisoformat(str(entry["time"])).timestamp(), mapped(entry["price"]))
            for entry in entries
            if entry["kind"] == "spend" and entry["unit"] == unit and int(str(entry["id"])) > begun
        ]
        line = timeline(account, spends, until=now) if account else None
        if line is not None:
            lines[unit] = line
    return lines
