"""Orders above the threshold: what a steward sees before deciding, and how an approved one is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import Response

from discreet.service.console import forms
from discreet.service.console.api import Declined
from discreet.service.console.gauge import Gauge, change
from discreet.service.console.page import listed, mapped
from discreet.service.console.visit import Visit, go

REMOTE = ("fresh", "whole_counts")  # said of an answer, and nothing to its price
PLACES = {"ask": "/ask/answer", "fit": "/models"}
EXPLAINED = 20  # of one page; each is planned anew


async def approvals(visit: Visit) -> Response:
    """Those that wait, with all that was ordered and what it would leave; an approved one for its owner to send."""
    found = listed((await visit.api.get("/v1/approvals")).get("approvals"))
    left = EXPLAINED
    for one in found:
        mine = one.get("principal") == visit.me.get("principal")
        one["sends"] = mine and one.get("state") == "approved"
        one["decides"] = one.get("state") == "waiting" and visit.role == "steward"
        shown = left > 0 and (one["sends"] or one["decides"])
        one["forecast"] = await _forecast(visit, one, mine=mine) if shown else None
        left -= shown
        if one["sends"]:
            one["place"] = PLACES.get(str(one.get("kind")), "/releases")
            body = mapped(one.get("body"))
            sent = {"body": json.dumps(body), "key": forms.new_key(), "step": "send"}
            one["sent"] = (forms.filled(body) if one.get("kind") == "ask" else {}) | sent
    return visit.page("approvals.html", approvals=found)


async def _forecast(visit: Visit, one: Mapping[str, object], *, mine: bool) -> Mapping[str, object] | None:
    """What is left before and after, of the accounts that whoever looks may see; None where it cannot be said."""
    body = mapped(one.get("body"))
    path = "/v1/explain" if one.get("kind") == "ask" else "/v1/jobs/explain"
    wanted = {name: value for name, value in body.items() if path != "/v1/explain" or name not in REMOTE}
    try:
        told = await visit.api.post(path, wanted)
    except Declined as error:
        if error.status == 401:
            raise
        return None
    return {"change": _seen(change(told), mine=mine), "fits": told.get("fits")}


def _seen(pairs: list[tuple[Gauge, Gauge]], *, mine: bool) -> list[tuple[Gauge, Gauge]]:
    """Without the allotment of whoever looks, which is not that of whoever asks."""
    return [pair for pair in pairs if mine or pair[0].scope != "analyst"]


async def decide(visit: Visit) -> Response:
    """Approve or refuse."""
    decision = visit.form.get("decision", "")
    body = {"decision": decision, "reason": visit.form.get("reason", "").strip()}
    await visit.api.post(f"/v1/approvals/{quote(visit.request.path_params['id'], safe='')}", body)
    return go(f"/approvals?done={'approved' if decision == 'approve' else 'refused'}")
