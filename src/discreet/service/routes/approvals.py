"""Requests that wait for a steward: one's own, or all of them for a steward, who decides."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from starlette.requests import Request

from discreet.service import approvals
from discreet.service.access import Principal, current
from discreet.service.wire import Closed, Reason

router = APIRouter(tags=["approvals"])
Who = Annotated[Principal, Depends(current)]


class Decision(Closed):
    """What a steward decides, and why."""

    decision: Literal["approve", "refuse"]
    reason: Reason


@router.get("/v1/approvals")
def listed(request: Request, who: Who) -> dict[str, object]:
    """The waiting requests first, and then the newest."""
    whose = None if who.role == "steward" else who.name
    return {"approvals": approvals.listed(request.app.state.store, whose)}


@router.post("/v1/approvals/{id}")
def decide(request: Request, who: Who, id: str, body: Decision) -> dict[str, object]:
    """Approve or refuse; a decision stands, and an approval is used up by one charge."""
    given = {"decision": body.decision, "reason": body.reason, "steward": who.name}
    return approvals.decide(request.app.state.store, id, **given)
