"""The audit page: what the last audit found, and a new one for a steward."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import Response

from discreet.service.console import forms
from discreet.service.console.api import Declined
from discreet.service.console.page import listed
from discreet.service.console.visit import Visit, go


async def audit(visit: Visit) -> Response:
    """The stored table; a steward may order a new one."""
    if visit.request.method == "POST":
        key = visit.form.get("key") or None
        made = await visit.api.call("POST", "/v1/jobs", body={"kind": "audit", "quick": True}, key=key)
        return go(f"/jobs/{quote(str(made.json()['id']), safe='')}")
    try:
        found: dict[str, object] = await visit.api.get("/v1/audit")
    except Declined as error:
        if error.status not in (400, 404):
            raise
        found = {}
    rows = listed(found.get("findings"))
    return visit.page("audit.html", audit=found, rows=rows, key=forms.new_key())
