"""The ledger: entries, verification, anchor and report.

`GET /v1/ledger` gives the latest entries, or those from number `start` on: {"entries": [{"body", "hash"}], "earlier",
"next"}; the last two are numbers to start from, or null.  An analyst sees their own spends and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from discreet.ledger import Entry, Ledger
from discreet.service.access import Principal, current
from discreet.service.problems import Problem
from discreet.service.wire import HTML, JSON, accepted

router = APIRouter(tags=["ledger"])
Who = Annotated[Principal, Depends(current)]
MOST = 1000  # entries in one reply
SCANNED = 20_000  # entries that one request looks through for one's own
Start = Annotated[int | None, Query(ge=0, lt=2**63)]


@router.get("/v1/ledger")
def entries(
    request: Request, who: Who, start: Start = None, limit: Annotated[int, Query(ge=1, le=MOST)] = 100
) -> dict[str, object]:
    """Entries of the ledger, in order."""
    ledger = request.app.state.desk.curator.ledger
    mine = _own(who.name) if who.role == "analyst" else _all
    return latest(ledger, limit, mine) if start is None else following(ledger, start, limit, mine)


@router.get("/v1/ledger/verify")
def verify(request: Request) -> dict[str, object]:
    """Replay the whole ledger and check every hash."""
    last = request.app.state.desk.curator.ledger.verify()
    return {"verified": True, "entries": last.id + 1, "anchor": {"id": last.id, "hash": last.hash}}


@router.get("/v1/ledger/anchor")
def anchor(request: Request) -> dict[str, object]:
    """Number and hash of the last entry, to keep elsewhere."""
    last = request.app.state.desk.curator.ledger.anchor()
    return {"id": last.id, "hash": last.hash}


@router.get("/v1/ledger/report")
def report(request: Request) -> Response:
    """The report for an auditor: a page, or JSON."""
    form = accepted(request.headers.get("accept"), (JSON, HTML))
    if form is None:
        raise Problem("not-acceptable", f"a report comes as {HTML} or {JSON}")
    found = request.app.state.desk.curator.ledger.report()
    return HTMLResponse(found.to_html()) if form == HTML else Response(found.to_json(), media_type=JSON)


def latest(ledger: Ledger, limit: int, mine: Callable[[Entry], bool]) -> dict[str, object]:
    """The last entries that are to be seen."""
    low = ledger.anchor().id + 1
    least, found = max(0, low - SCANNED), list[Entry]()
    while low > least and len(found) < limit:
        high, low = low, max(least, low - MOST)
        found = [entry for entry in _between(ledger, low, high) if mine(entry)] + found
    shown = found[-limit:]
    first = shown[0].id if len(found) >= limit else low
    return _page(shown, earlier=max(0, first - limit) if first else None, after=None)


def following(ledger: Ledger, start: int, limit: int, mine: Callable[[Entry], bool]) -> dict[str, object]:
    """The entries from a number on."""
    shown, after = list[Entry](), None
    for entry in _between(ledger, start, start + SCANNED):
        after = entry.id + 1
        shown += [entry] if mine(entry) else []
        if len(shown) == limit:
            break
    ended = after is None or after > ledger.anchor().id
    return _page(shown, earlier=max(0, start - limit) if start else None, after=None if ended else after)


def _between(ledger: Ledger, low: int, high: int) -> Iterator[Entry]:
    return takewhile(lambda entry: entry.id < high, ledger.entries(start=low))


def _all(entry: Entry) -> bool:
    return True


def _own(name: str) -> Callable[[Entry], bool]:
    def mine(entry: Entry) -> bool:
        record = entry.record
        return record.get("kind") == "spend" and record.get("analyst") == name

    return mine


def _page(shown: list[Entry], *, earlier: int | None, after: int | None) -> dict[str, object]:
    told = [{"body": entry.record, "hash": entry.hash} for entry in shown]
    return {"entries": told, "earlier": earlier, "next": after}
